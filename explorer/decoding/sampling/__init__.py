"""From logits to one token, and to the numbers that are recorded of it.

Read in this order: `randomness` (one uniform number per step), `sampler` (temperature, filters,
draw), `measure` (what a trace keeps of a distribution), `reference` (a whole step in plain torch),
`on_host` (the same step with allowed
tokens alone), `fused` (the same step as one launch on a GPU).
"""
