"""From logits to one token.

Read in this order: `sampler` (one uniform number per step, temperature, filters, draw), `reference`
(a whole step in torch's operations), `on_host` (the same step on allowed tokens only).
"""
