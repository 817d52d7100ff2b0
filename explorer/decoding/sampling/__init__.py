"""From logits to one token.

Read in this order: `sampler` (one uniform number per step, temperature, filters, draw), `reference`
(a whole step in plain torch), `on_host` (the same step on allowed tokens only), `fused` (the same
step as one launch on a GPU).
"""
