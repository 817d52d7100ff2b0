"""Masks applied to the logits, on a device.

Reading order: `error_word` (the first fault of a batch), `needed` (token budgets, and masks under
one), `tensors` (checks of users' tensors, and token tables), `packed` (packed masks and logits),
`stored` (packed masks on a device), `host_masks` (the masks of a batch on the host), `kernels`
(Triton kernels for a GPU), `device` (the public class).
"""
