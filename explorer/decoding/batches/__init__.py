"""Many texts at a time: what runs on the model's device, and what rides in another library's loop.

Read in this order: `constrained_batch` (the rows, their machines and states, one step), `generate`
(a loop of such steps over a model), `runs` (the loop that asks the model only where it has a
choice), `prefix_masks` (the mask after any ids, for rows that somebody else reorders), `processor`
(masks inside `model.generate` of transformers), `recorder` (a trace of each row of a run that
somebody else drives), `select` (whole texts, chosen by their probability).
"""
