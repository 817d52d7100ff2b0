"""Masks beside the logits, on a device.

Reading order: `tensors` (as users give them), `error_word` (what went wrong first), `needed` (token
budgets), `visited` (masks of machines without a table), `host_masks`, `mask_kernel` (one launch on
a GPU), `device` (the public value).
"""
