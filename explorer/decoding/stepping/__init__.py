"""A run, one token at a time: forwards, backwards, sideways.

Read in this order: `rule` (the mask at one state, and forced tokens), `tree` (all visited
positions, and the trace of a path), `healing` (output that begins inside the prompt), `settings`
(checks the caller's arguments), `feeding` (tokens from a tool or a user), `walk` (the cursor in the
tree: everything that can be read there, and its moves). A run that another library drives is
recorded by `explorer.decoding.batches.recorder`.
"""
