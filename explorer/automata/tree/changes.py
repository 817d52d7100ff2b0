"""Suggested changes of a source, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Change:
    """The words for a change that makes a constraint allow more.

    Args:
        cause: A short name of what is not allowed without it, such as ``"white space"``.
        sentence: A sentence on what the model does, and what the constraint does not allow.
        remedy: A sentence on the change.
        label: The change as the words of a button.
        missing: Whether something is missing before the token, so that more text helps as well.
    """

    cause: str
    sentence: str
    remedy: str
    label: str
    missing: bool = False


class Changeable:
    """The base class of sources that can suggest changes; the default has none."""

    @property
    def remark(self) -> str:
        """The options that the text does not show, for a view; empty if there are none."""
        return ""

    def edited(self, text: str) -> Self | None:
        """The source of another text with the same options; ``None`` if it has no text.

        Raises:
            ExplorerError: The text is wrong.
        """
        return None

    def relaxed(self, labels: Sequence[str]) -> Iterator[tuple[Change, Self]]:
        """Suggest sources of this kind that allow more, with the most common cause first.

        Args:
            labels: The labels of the places where the text fails, such as JSON Pointers.
        """
        return iter(())
