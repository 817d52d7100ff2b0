"""A run, one token at a time: forwards, backwards, sideways.

Read in this order: `rule` (what the constraint says at one place, and what it forces), `tree` and
`logits_store` (everything a run has been through), `healing` and `healing_ways` (output that begins
inside the prompt), `settings` (from the arguments of a caller to a setting), `feeding` (tokens that
somebody else wrote), `standing` (the cursor in that tree, all that can be read there, its record,
and what is refused there), `walk` (its moves). A run that somebody else drives is recorded by
`explorer.decoding.batches.recorder`.
"""
