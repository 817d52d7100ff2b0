"""Decoding: a language model, a constraint, a sampler, and the record of every step.

Read the folders in this order: `models` (the protocol of a language model, and its
implementations), `sampling` (drawing a token), `trace` (the record of a run), `stepping` (a run,
one token at a time), `speculation` (a second model proposes tokens), `batches` (many texts at a
time, also inside ``model.generate``), `probability` (of a text, of a whole language, and samples
given a constraint).

Nothing is imported here, because importing torch takes seconds and reading a trace does not need
it.
"""
