"""Masks beside the logits, on a device.

Reading order: `tensors` (as users give them), `error_word` (what went wrong first), `needed` (token
budgets), `fitting` (masks under one), `packed` (packed masks on the host), `packed_on_device`,
`words_kernel` (that as one launch on a GPU), `visited` (masks of machines without a table),
`host_masks`, `mask_kernel` (masks of tables as one launch), `device` (the public value).
"""
