"""A question about one place of a text: what comes next, or why a byte does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.tokens.walks.failing import run


def state_after(machine: ByteMachine, text: bytes) -> int:
    """The state of a machine after a text; `NO_ARC` where no word begins so."""
    if machine.start == NO_ARC:
        return NO_ARC
    return int(run(machine, machine.start, text)[-1])


@dataclass(frozen=True, slots=True)
class PlaceQuestion:
    """A question about one place of a text.

    Args:
        text: What was read; the beginning of some word.
        byte: The byte that fails there; ``None`` asks what must come before the text may end.
        begin: Where the character begins that the byte belongs to, at most ``len(text)``.
        only: Only the places that read one of these bytes; ``None`` for all.
        boundary: Where in the text a token surely begins; ``None`` if that is not known.
    """

    text: bytes
    byte: int | None
    begin: int
    only: bytes | None = None
    boundary: int | None = None

    def shifted(self, begin: int) -> PlaceQuestion:
        """The same question to a part that begins at an offset of the text."""
        known = self.boundary is not None and self.boundary >= begin
        return replace(
            self, text=self.text[begin:], begin=max(self.begin - begin, 0),
            boundary=self.boundary - begin if known and self.boundary is not None else None,
        )  # fmt: skip

    @property
    def begun(self) -> bytes:
        """The text without the bytes of a character that is not finished."""
        return self.text[: self.begin]

    def expected(self, machine: ByteMachine) -> bytes:
        """The bytes that a machine expects after it, of those that count."""
        expected = machine.expected(state_after(machine, self.begun))
        if self.only is None or self.begin != len(self.text):
            return expected
        return bytes(byte for byte in expected if byte in self.only)

    @property
    def longer(self) -> bytes:
        """The text with the byte."""
        return self.text if self.byte is None else self.text + bytes([self.byte])
