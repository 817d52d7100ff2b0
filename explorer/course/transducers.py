"""An exercise whose answer is a transducer, given by its arcs and tested by composition.

The detokenizing transducer of a few tokens is right if every sequence of tokens is written as its
bytes, and as nothing else. The answer is composed with each sequence of up to three tokens; the
output side of that composition is everything that it writes for the sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, cast

from explorer.course.exercise import Graded

ROOT: Final = "r"
"""The state where texts begin and end."""

LONGEST: Final = 3
"""The most tokens of a sequence that is tried."""

MOST: Final = 400
"""The most steps of one composition; a loop that reads nothing would go on for ever."""

TransducerArc = tuple[str, str, str, str]
"""An arc: its state, the token that it reads, the character that it writes, and the next state."""


def written_by(arcs: Sequence[TransducerArc], tokens: Sequence[str]) -> frozenset[str] | None:
    """All that a transducer writes for a sequence of tokens, from its root back to its root.

    Args:
        arcs: Its arcs; an empty text is ε.
        tokens: The tokens that it reads.

    Returns:
        The texts; ``None`` if a loop writes without end.

    Example:
        >>> loop = [("r", "", "o", "o"), ("o", "oo", "o", "r")]
        >>> sorted(written_by(loop, ["oo", "oo"]))
        ['oooo']
        >>> sorted(written_by(loop, ["f"]))
        []
    """
    written: set[str] = set()
    waiting = [(ROOT, 0, "")]
    seen = set(waiting)
    for steps, (state, read, text) in enumerate(waiting):
        if steps > MOST:
            return None
        if state == ROOT and read == len(tokens):
            written.add(text)
        for source, token, character, target in arcs:
            if source != state or (token and (read == len(tokens) or tokens[read] != token)):
                continue
            after = (target, read + bool(token), text + character)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return frozenset(written)


@dataclass(frozen=True)
class TransducerExercise:
    """An exercise whose answer is the detokenizing transducer of some tokens, as a list of arcs."""

    name: str
    tokens: tuple[str, ...]
    answer: tuple[TransducerArc, ...]
    right: str
    hint: str

    def grade(self, answer: object) -> Graded:
        """Compose the answer with sequences of tokens; the first difference is the hint."""
        arcs = given_arcs(answer)
        if arcs is None:
            return Graded(
                False,
                "The answer is a list of arcs (from, read, written, to), four texts each. "
                + self.hint,
            )
        for _, _, written, _ in arcs:
            if len(written) > 1:
                return Graded(
                    False,
                    f"An arc writes one character at most, and one of yours writes {written!r}. "
                    + self.hint,
                )
        for _, read, _, _ in arcs:
            if read and read not in self.tokens:
                return Graded(
                    False,
                    f"An arc reads one token or nothing, and {read!r} is not a token. {self.hint}",
                )
        for size in range(1, LONGEST + 1):
            for sequence in product(self.tokens, repeat=size):
                said = _difference(arcs, sequence)
                if said:
                    return Graded(False, f"{said} {self.hint}")
        return Graded(True, self.right)


def given_arcs(answer: object) -> tuple[TransducerArc, ...] | None:
    """An answer as arcs; ``None`` if it is not a list of four texts each."""
    if not isinstance(answer, list | tuple):
        return None
    arcs: list[TransducerArc] = []
    for arc in cast("Sequence[object]", answer):
        if not isinstance(arc, list | tuple):
            return None
        parts = [*cast("Sequence[object]", arc)]
        if len(parts) != 4 or not all(isinstance(part, str) for part in parts):
            return None
        arcs.append(cast("TransducerArc", tuple(parts)))
    return tuple(arcs)


def _difference(arcs: Sequence[TransducerArc], sequence: Sequence[str]) -> str:
    """The fault in how one sequence is written; an empty text if there is none."""
    wanted = "".join(sequence)
    written = written_by(arcs, sequence)
    shown = " ".join(sequence)
    if written is None:
        return f"For {shown} it writes without end: an arc that reads nothing leads in a circle."
    if not written:
        return f"Composed with {shown}, no way leads from the root back to the root."
    others = sorted(written - {wanted})
    if others:
        return f"Composed with {shown} it writes {others[0]!r}."
    return ""
