"""Decoding: a language model, a constraint, a sampler, and the record of every step.

In reading order: `model` (what is asked of a language model), `huggingface`, `key_values` and
`load` (real ones), `randomness` and `sampler` (how a token is drawn), `rule` (what a constraint
says at one place), `measure` and `step_record` (the numbers of a step), `tree` and `session`
(stepping), `trace`, `trace_json`, `trace_reading` and `trace_text` (the record). `reference`,
`fused`, `generate`, `processor` and `recorder` decode batches on a device. ``tiny`` holds the
embedded model.

Nothing is imported here: torch takes seconds, and not everyone who reads a trace needs it all.
"""
