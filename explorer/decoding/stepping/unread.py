"""The ids of a run from elsewhere that were not read, because the first of them is not allowed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from explorer.decoding.stepping.tree import StepNode
from explorer.tokens.states import DONE


@dataclass(frozen=True, slots=True)
class Unread:
    """The ids behind the end of a line.

    Args:
        ids: The first is not allowed at the end of the line.
        log_probs: The natural log-probability of each under its model, where it is known.
    """

    ids: tuple[int, ...] = ()
    log_probs: tuple[float | None, ...] = ()

    @classmethod
    def beyond(
        cls,
        line: Sequence[StepNode],
        ids: Sequence[int],
        log_probs: Sequence[float | None],
        eos_ids: Collection[int],
    ) -> Unread:
        """The ids that a line does not take in.

        After the end of text, more ends of text are padding and are left out.

        Args:
            line: From the start to the last token that is allowed.
            ids, log_probs: Of the whole run.
            eos_ids: The ids that end a text.
        """
        read = len(line) - 1
        if line[-1].state == DONE and set(ids[read:]) <= set(eos_ids):
            return cls()
        return cls(tuple(ids[read:]), tuple(log_probs[read:]))
