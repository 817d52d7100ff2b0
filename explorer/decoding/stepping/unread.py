"""What of a run from elsewhere was not read, because its first id is not allowed."""

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
        """What a line leaves of the ids that it was read from.

        After the end of text, more ends of text are padding and say nothing.

        Args:
            line: From the start to the last token that is allowed.
            ids, log_probs: Of the whole run.
            eos_ids: The ids that end a text.
        """
        read = len(line) - 1
        if line[-1].state == DONE and set(ids[read:]) <= set(eos_ids):
            return cls()
        return cls(tuple(ids[read:]), tuple(log_probs[read:]))
