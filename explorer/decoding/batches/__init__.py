"""Many texts at a time: loops on the model's device, and masks inside another library's loop.

Read in this order: `constrained_batch` (the rows, their machines and states, one step), `generate`
(texts for prompts), `token_by_token` (its loop over a model, captured on a GPU), `runs` (a loop
that asks the model only if it has a choice), `prefix_masks` (the mask after any ids, for rows that
a library reorders), `processor` (masks inside `model.generate` of transformers), `recorder` (a
trace of each row of a run that a library drives), `select` (a choice among whole texts by their
probability).
"""
