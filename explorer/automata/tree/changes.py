"""Suggested changes of a source, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self


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
    """The base class of sources that have options, and take another text."""

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


class NamedSpan(NamedTuple):
    """A span of a source that decides, with its label and the changes that let a text go on.

    Args:
        start, end: The span in the source's text.
        label: Its name, such as a JSON Pointer.
        changes: Gives each change in words, with the source that it leads to, the best first.
    """

    start: int
    end: int
    label: str
    changes: Callable[[], Iterable[tuple[Change, Changeable]]] = tuple
