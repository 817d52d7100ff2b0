"""What a kind of source can say about itself, for the sentences and warnings that name it.

Each ability is a protocol of one member. A kind that has it declares the member and is then asked;
any other kind is spoken of in the common way. So a new kind is written in one place, and whoever
words an explanation or looks for traps knows no kind by its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

Loop = Literal["space", "number", "string", "array", "object", "repeat"]
"""What a run may write without end: white space, digits of a number, characters of a string, items
of an array, members of an object, or any other part that repeats."""


@runtime_checkable
class ListsTexts(Protocol):
    """A source that is a list of texts, one of which is chosen.

    What is still open is then said text by text, and the texts are looked at for a first token that
    they share.
    """

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts, in the order given."""
        ...


@runtime_checkable
class NamesStates(Protocol):
    """A source that is itself a machine: it has no text to point at, only states."""

    def state_name(self, state: int) -> str:
        """What a state is called in a sentence.

        Args:
            state: A state of the machine.
        """
        ...


@runtime_checkable
class BoundsSpace(Protocol):
    """A source that says how white space without end is bounded where it was written."""

    @property
    def space_remedy(self) -> str:
        """What to write, as a sentence."""
        ...


@runtime_checkable
class BoundsLoops(Protocol):
    """A source that says with which of its settings a loop is ended."""

    def loop_remedy(self, what: Loop) -> str:
        """What to set, as a sentence.

        Args:
            what: What is written without end.
        """
        ...


@runtime_checkable
class DecidesByParts(Protocol):
    """A source that has a text exactly if its parts have it or do not, each asked by itself.

    Then the text is looked up in the machines of the parts, and nobody has to know whether the
    whole has any words: of two grammars together nobody can.
    """

    def has(self, text: bytes, of_parts: Sequence[bool]) -> bool:
        """Whether a text is a word.

        Args:
            text: The text.
            of_parts: For each child whether the text is a word of it.
        """
        ...


@runtime_checkable
class TakesAway(Protocol):
    """A source that only takes texts away from another one, such as a stage around a pattern.

    Where it excludes something it is named by its part, and not as a machine without a text.
    """

    @property
    def part_played(self) -> str:
        """What it is to the other source, as a noun: ``stage``."""
        ...
