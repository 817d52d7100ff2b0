"""Decoding: a language model, a constraint, a sampler, and the record of every step.

Read the rooms in this order: `models` (what is asked of a language model, and where one comes
from), `sampling` (how a token is drawn), `trace` (the record of a run), `stepping` (a run, one
token at a time), `speculation` (a second model proposes tokens), `batches` (many texts at a time,
also inside ``model.generate``), `probability` (of a text, of a whole language, and samples given a
constraint).

Nothing is imported here: torch takes seconds, and not everyone who reads a trace needs it all.
"""
