"""The verdict of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Graded:
    """Whether an answer is right, and what there is to say about it. It prints as a sentence.

    Args:
        right: Whether it is; ``None`` if there is no answer yet.
        message: Praise with the reason, or a hint.
    """

    right: bool | None
    message: str

    def __repr__(self) -> str:
        begin = {True: "Right. ", False: "Not yet. ", None: ""}[self.right]
        return begin + self.message
