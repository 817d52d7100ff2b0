"""Changes of a source that a person is offered, and the words for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Change:
    """A change that makes a constraint allow more, in words.

    Args:
        cause: A short name of what is not allowed without it, such as ``"white space"``.
        sentence: A sentence on what the model does, and what the constraint does not allow.
        remedy: A sentence on the change.
        label: The change as the words of a button.
        missing: Whether something is missing before the token, so that going on helps as well.
    """

    cause: str
    sentence: str
    remedy: str
    label: str
    missing: bool = False


class Changeable:
    """The part of a source that answers for changes of it; by itself it has none to offer."""

    @property
    def remark(self) -> str:
        """The options that the text does not say, for a view; empty where there are none."""
        return ""

    def edited(self, text: str) -> Self | None:
        """The source of another text with the same options; ``None`` where it has none.

        Raises:
            ExplorerError: The text is wrong.
        """
        return None

    def relaxed(self, labels: Sequence[str]) -> Iterator[tuple[Change, Self]]:
        """Propose sources of this kind that allow more, the usual cause first.

        Args:
            labels: The labels of the places that decide, such as JSON Pointers.
        """
        return iter(())
