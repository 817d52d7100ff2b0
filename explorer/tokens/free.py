"""The machine without a constraint: every id may come next until the end of the text is written.

It is a token machine like the others, so decoding needs no special case for "no constraint". It has
no states of its own, and begins in the sentinel `FREE`; an id that ends the text leads to `DONE`.
"""

from __future__ import annotations

from explorer.automata.machine import NO_ARC
from explorer.tokens.lost import Lost
from explorer.tokens.numbered_places import NumberedPlaces
from explorer.tokens.report import Report
from explorer.tokens.states import FREE, SENTINEL_DISTANCE, checked_state
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary


def _nothing_is_lost() -> Lost:
    return Lost((), ())


class Free(NumberedPlaces[int]):
    """A token machine that allows everything: one that numbers states and has no place.

    Args:
        vocabulary: The tokens.

    Example:
        >>> import explorer
        >>> free = Free(explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2]))
        >>> free.allowed(free.start).tolist()
        [True, True, True]
        >>> free.step(free.start, 1) == free.start, free.step(free.start, 2) == explorer.DONE
        (True, True)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary, ())

    @property
    def constraint(self) -> None:
        """``None``: every text is allowed."""
        return None

    @property
    def byte_machine(self) -> None:
        """``None``: no machine reads the bytes."""
        return None

    @property
    def report(self) -> Report:
        """An empty report: all figures are 0, and the kind is ``"free"``."""
        live = len(self._vocabulary)
        return Report({}, 0, 0, 0, 0, 0, live, 0, 0, "free", _nothing_is_lost, kind="free")

    @property
    def start(self) -> int:
        """The sentinel `FREE`."""
        return FREE

    def distance_to_end(self, state: int) -> int | None:
        """1 from `FREE`, the end of the text; 0 from `DONE`; ``None`` from `DEAD`."""
        return SENTINEL_DISTANCE[checked_state(state, 0)]

    def byte_state(self, state: int) -> int:
        """`NO_ARC`: there is no machine over bytes."""
        checked_state(state, 0)
        return NO_ARC

    # There is no place to be asked about.
    def _after(self, place: int, token: int) -> int | None:
        return None

    def _can_finish(self, place: int) -> bool:
        return False

    def _is_end(self, place: int) -> bool:
        return False

    def _set_tokens(self, place: int, words: UInt32) -> None:
        return

    def __reduce__(self) -> tuple[type[Free], tuple[Vocabulary]]:
        return Free, (self._vocabulary,)

    def __repr__(self) -> str:
        return f"Free({self._vocabulary!r})"
