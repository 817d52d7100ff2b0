"""From logits to one token, and to the statistics that are recorded about it.

Read in this order: `randomness` (one uniform number per step), `sampler` (temperature, filters,
draw), `measure` (the statistics of a distribution for a trace), `reference` (a whole step in plain
torch), `on_host` (the same step on allowed tokens only), `fused` (the same step as one launch on a
GPU).
"""
