"""The first fault of a batch as four numbers on the device, because a device cannot raise.

A batch on a GPU runs ahead of the host. Stopping it at every step to ask whether a row is stuck
would cost more than the step, so the kernels write (fault, row, step, state) once, freeze the row,
and the host reads the word when it reads the tokens. Only the first fault is kept: later ones are
its consequences. Reading waits for the device; writing does not.
"""

from __future__ import annotations

from typing import Final, cast

import torch
from torch import Tensor

from explorer.arguments import whole_number
from explorer.errors import ExplorerError
from explorer.tokens.words import DEAD, DONE, FREE

NOTHING_ALLOWED: Final = 1
"""The mask leaves no token: the budget is too small, or the row was dead to begin with."""

TOKEN_NOT_ALLOWED: Final = 2
"""A token was taken that the state does not allow; this includes ids outside the vocabulary."""

NO_SUCH_STATE: Final = 3
"""The state is neither one of the constraint's nor a sentinel, or the constraint is unknown."""

NOTHING_TO_DRAW: Final = 4
"""Tokens are allowed, but the model gave none of them a finite logit, or gave NaN or +inf."""

_WORDS: Final = {
    NOTHING_ALLOWED: (
        "no token is allowed",
        "Give a larger token budget, or look at how the row came to be dead.",
    ),
    TOKEN_NOT_ALLOWED: (
        "a token was taken that is not allowed there",
        "Draw from logits after `mask_`, with the same states.",
    ),
    NO_SUCH_STATE: (
        "there is no such state or no such constraint",
        "Take states from `start` and `advance`, and constraint numbers from the list given.",
    ),
    NOTHING_TO_DRAW: (
        "the model's logits leave nothing to draw: NaN, +inf, or only -inf where allowed",
        "Check the model's weights and dtype; float16 overflows where bfloat16 does not.",
    ),
}


def ints(tensor: Tensor) -> list[int]:
    """The numbers of an integer vector on the host. Waits for the device.

    Args:
        tensor: int[N].
    """
    return cast("list[int]", tensor.tolist())  # pyright: ignore[reportUnknownMemberType]


LAST_STEP: Final = 2**63 - 1
"""The largest step number that the word can hold."""


class ErrorWord:
    """The first fault of a batch.

    Args:
        device: The device of the word.

    Example:
        >>> word = ErrorWord("cpu")
        >>> word.write(torch.tensor([0, 2, 1]), torch.tensor([5, 6, 7]), step=3)
        >>> word.check()
        Traceback (most recent call last):
        explorer.errors.ExplorerError: Row 1 at step 3, in state 6: a token was taken ...
    """

    def __init__(self, device: str | torch.device) -> None:
        self.word = torch.zeros(4, dtype=torch.int64, device=device)

    def write(self, fault: Tensor, states: Tensor, step: int | Tensor) -> None:
        """Note the first row with a fault, unless a fault is noted already.

        Args:
            fault: int64[B], 0 for none.
            states: int64[B].
            step: The step number: an int, or int64[] or int64[B] beside the states.
        """
        if not isinstance(step, Tensor):
            step = torch.full_like(fault, whole_number("step", step, None, LAST_STEP))
        # `gather`, because indexing with a tensor of one element would wait for the device.
        row = (fault != 0).to(torch.int32).argmax(0, keepdim=True)
        values = [
            fault,
            torch.arange(len(fault), device=fault.device),
            step.expand_as(fault),
            states,
        ]
        entry = torch.cat([value.to(torch.int64).gather(0, row) for value in values])
        entry = entry.to(self.word.device)  # Rows that are followed on the host are not there.
        fresh = (self.word[:1] == 0) & (entry[:1] != 0)
        self.word.copy_(torch.where(fresh, entry, self.word))

    def clear(self) -> None:
        """Clear the noted fault."""
        self.word.zero_()

    def check(self) -> None:
        """Raise the noted fault, if any, and clear it. Waits for the device.

        Raises:
            ExplorerError: The fault with its row, step and state.
        """
        fault, row, step, state = ints(self.word)
        if not fault:
            return
        self.clear()
        what, remedy = _WORDS[fault]
        shown = {DEAD: "DEAD", DONE: "DONE", FREE: "FREE"}.get(state, str(state))
        raise ExplorerError(
            f"Row {row} at step {step}, in state {shown}: {what}.",
            remedy=remedy,
            evidence={"fault": fault, "row": row, "step": step, "state": state},
        )
