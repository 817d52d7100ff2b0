"""A run, one token at a time: forwards, backwards, sideways.

Read in this order: `rule` (the mask at one state, and forced tokens), `tree` and `logits_store`
(all visited positions), `healing` and `healing_ways` (output that begins inside the prompt),
`settings` (checks the caller's arguments), `feeding` (tokens from a tool or a user), `standing`
(the cursor in the tree, and everything that can be read there), `walk` (the moves of the cursor). A
run that another library drives is recorded by `explorer.decoding.batches.recorder`.
"""
