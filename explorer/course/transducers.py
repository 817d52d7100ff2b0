"""An exercise whose answer is a transducer, given by its arcs and tested by composition.

The detokenizing transducer of a few tokens is right if every sequence of tokens is written as its
bytes, and as nothing else. Two machines are compared, so the check holds for sequences of every
length. First the tokens that the answer reads: sets of its states show whether some sequence leads
to no end. Then its text: in a right machine all ways to a state have written the same number of
characters too few or too many, because the same way can finish all of them. A sequence of tokens
that shows the fault is the hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from explorer.course.exercise import Graded

ROOT: Final = "r"
"""The state where texts begin and end."""

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
        """Compare two machines; a sequence of tokens on which they differ is the hint."""
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
        for sequence in (unread(arcs, self.tokens), miswritten(arcs)):
            if sequence is not None:
                return Graded(False, f"{_difference(arcs, sequence)} {self.hint}")
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


def unread(arcs: Sequence[TransducerArc], tokens: Sequence[str]) -> tuple[str, ...] | None:
    """A shortest sequence of tokens that leads from the root to no end; ``None`` if all end.

    Example:
        >>> unread([("r", "f", "f", "r")], ["f", "oo"])
        ('oo',)
    """
    start = _closed(arcs, {ROOT})
    waiting: list[tuple[frozenset[str], tuple[str, ...]]] = [(start, ())]
    seen = {start}
    for states, read in waiting:
        if ROOT not in states:
            return read
        for token in tokens:
            after = _closed(arcs, {b for a, r, _, b in arcs if a in states and r == token})
            if after not in seen:
                seen.add(after)
                waiting.append((after, (*read, token)))
    return None


def miswritten(arcs: Sequence[TransducerArc]) -> tuple[str, ...] | None:
    """A sequence of tokens that is written as another text, in at least one way; else ``None``.

    Example:
        >>> four = [("r", "f", "f", "1"), ("1", "f", "f", "2"), ("2", "f", "x", "r")]
        >>> miswritten([("r", "f", "f", "r"), *four])
        ('f', 'f', 'f')
    """
    ends: dict[str, tuple[tuple[str, ...], str]] = {ROOT: ((), "")}
    for state in (reached := [ROOT]):  # Backwards: how a state is finished.
        for a, read, written, b in arcs:
            if b == state and a not in ends:
                tokens, text = ends[b]
                ends[a] = ((read, *tokens) if read else tokens, written + text)
                reached.append(a)
    ways: dict[str, tuple[tuple[str, ...], str]] = {ROOT: ((), "")}
    for state in (reached := [ROOT]):
        tokens, text = ways[state]
        for a, read, written, b in arcs:
            if a != state or b not in ends:
                continue
            way = ((*tokens, read) if read else tokens, text + written)
            if b not in ways:
                ways[b] = way
                reached.append(b)
            sequence = (*way[0], *ends[b][0])
            if way[1] + ends[b][1] != "".join(sequence):
                return sequence
    return None


def _closed(arcs: Sequence[TransducerArc], states: set[str]) -> frozenset[str]:
    """Some states, and those to which arcs that read nothing lead from them."""
    waiting = [*states]
    for state in waiting:
        waiting += [b for a, read, _, b in arcs if a == state and not read and b not in waiting]
    return frozenset(waiting)


def _difference(arcs: Sequence[TransducerArc], sequence: Sequence[str]) -> str:
    """The fault in how one sequence is written, in words."""
    wanted = "".join(sequence)
    written = written_by(arcs, sequence)
    shown = " ".join(sequence) or "no token"
    if written is None:
        return f"For {shown} it writes without end: an arc that reads nothing leads in a circle."
    if not written:
        return f"Composed with {shown}, no way leads from the root back to the root."
    others = sorted(written - {wanted})
    return f"Composed with {shown} it writes {others[0] if others else wanted!r}."
