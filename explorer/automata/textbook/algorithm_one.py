"""Algorithm 1 of Koo, Liu and He (2024), one executed line after the other.

`explorer.automata.textbook.detokenizing` builds the same transducer at once. Here the lines are
the result, each with the machine as it is after the line: so that the algorithm can be watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.automata.drawn import DrawnTransducer
from explorer.automata.textbook.detokenizing import readable

LINES: Final = (
    "make the root: texts start and end there",
    "for each token v:",
    "    stand at the root",
    "    for each byte b of v but the last:",
    "        make a state, draw the arc ε : b to it, stand there",
    "    draw the arc v : (the last byte of v) back to the root",
)
"""The algorithm in our words; the original form, in which tokens share no states (section 2.3)."""


@dataclass(frozen=True, slots=True)
class ExecutedLine:
    """One line that was executed.

    Args:
        line: Its number in `LINES`, from 1.
        token: The token that it works on; empty at the beginning.
        words: What it did.
        machine: The transducer after it.
    """

    line: int
    token: bytes
    words: str
    machine: DrawnTransducer


def algorithm_one(tokens: Sequence[bytes]) -> tuple[ExecutedLine, ...]:
    """Run Algorithm 1 over a few tokens.

    Args:
        tokens: Token bytes, none of them empty.

    Returns:
        The executed lines, loops without those that only say "for each"; the machine of the last
        one is the detokenizing FST.

    Example:
        >>> [f"{step.line}: {step.words}" for step in algorithm_one([b"ab"])]
        ['1: the root is 0', '3: at 0', '5: 0 -ε:a-> 1', '6: 1 -ab:b-> 0']
    """
    root = frozenset([0])
    arcs: list[tuple[int, str, str, int]] = []
    states = 1
    done = [ExecutedLine(1, b"", "the root is 0", DrawnTransducer(1, (), root))]

    def note(line: int, token: bytes, words: str) -> None:
        machine = DrawnTransducer(states, tuple(arcs), root)
        done.append(ExecutedLine(line, token, words, machine))

    for token in tokens:
        here = 0
        note(3, token, "at 0")
        letters = [readable(bytes([byte])) for byte in token]
        for letter in letters[:-1]:
            arcs.append((here, "", letter, states))
            states += 1
            note(5, token, f"{here} -ε:{letter}-> {states - 1}")
            here = states - 1
        name = readable(token)
        arcs.append((here, name, letters[-1], 0))
        note(6, token, f"{here} -{name}:{letters[-1]}-> 0")
    return tuple(done)
