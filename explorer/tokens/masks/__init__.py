"""Masks beside the logits, on a device.

Reading order: `error_word` (what went wrong first), `needed` (token budgets, and masks under one),
`tensors` (as users give them, and token tables), `packed` (packed masks and logits), `host_masks`
(the masks of a batch on the host), `kernels` (both as one launch on a GPU), `device` (the public
value).
"""
