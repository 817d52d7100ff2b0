"""Relations between texts, as small transducers over characters, and the image of a language.

A step of a tokenizer's preprocessing reads a text and writes another. With sets of characters on
its arcs it has a handful of states; it is composed with a constraint over the bytes of UTF-8
(`explorer.automata.construction.transduce`), and the image is a machine again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from explorer.automata.construction import transduce
from explorer.automata.construction.transduce import NOTHING, Transducer
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import (
    ENTRY,
    EXIT,
    CharSet,
    char_set,
    character,
    utf8_fragment,
)
from explorer.budget import Meter

STANDS_FOR_MARK: Final = "_"
"""The one-byte character that replaces the mark of SentencePiece where a transducer is drawn."""

STAGE: Final = "Composing with the tokenizer's preprocessing"


class Rewriting(Protocol):
    """A relation between texts, as the stage of preprocessing uses it."""

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The texts that the words of a machine become."""
        ...

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine that become words of another one; at least two if there are."""
        ...


@dataclass(frozen=True, slots=True)
class RelationArc:
    """An arc of a relation.

    Args:
        reads: The characters that the arc reads; "" for nothing.
        writes: The bytes that it writes; ``None`` for those that it reads.
    """

    source: int
    target: int
    reads: CharSet | str
    writes: bytes | None = None


@dataclass(frozen=True)
class Relation:
    """A transducer over characters; state 0 is the start."""

    num_states: int
    arcs: tuple[RelationArc, ...]
    accepting: frozenset[int]

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The texts that the words of a machine become.

        Args:
            machine: The language before.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return transduce.image_of(machine, self.over_bytes(meter), meter)

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine that become words of another one.

        Args:
            machine: The language before.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return transduce.origins_of(machine, self.over_bytes(meter), image, meter)

    def over_bytes(self, meter: Meter) -> Transducer:
        """The transducer over the bytes of UTF-8."""
        states = self.num_states
        rows: list[tuple[int, int, int, int]] = []

        def new() -> int:
            nonlocal states
            states += 1
            return states - 1

        def write(source: int, data: bytes, target: int) -> None:
            """A chain that writes some bytes."""
            for k, byte in enumerate(data):
                there = target if k == len(data) - 1 else new()
                rows.append((source, NOTHING, byte, there))
                source = there
            if not data:
                rows.append((source, NOTHING, NOTHING, target))

        for arc in self.arcs:
            copies = arc.writes is None
            if arc.reads == "":
                write(arc.source, arc.writes or b"", arc.target)
                continue
            end = arc.target if copies or not arc.writes else new()
            if isinstance(arc.reads, CharSet):
                if arc.writes and arc.reads.ranges and arc.reads.ranges[-1][1] < 0x80:
                    # One byte is read, so the first written byte goes on the same arc.
                    first = arc.target if len(arc.writes) == 1 else new()
                    rows += [
                        (arc.source, code, arc.writes[0], first)
                        for low, high in arc.reads.ranges
                        for code in range(low, high + 1)
                    ]
                    if first != arc.target:
                        write(first, arc.writes[1:], arc.target)
                    continue
                fragment = utf8_fragment(arc.reads)
                place = {ENTRY: arc.source, EXIT: end}
                for inner in range(2, 2 + fragment.num_inner):
                    place[inner] = new()
                for a, low, high, b in fragment.arcs:
                    for byte in range(low, high + 1):
                        rows.append((place[a], byte, byte if copies else NOTHING, place[b]))
            if end != arc.target:
                write(end, arc.writes or b"", arc.target)
            meter.check(STAGE, states=states, arcs=len(rows))
        table = np.array(rows, np.int32).reshape(-1, 4)
        table = table[np.argsort(table[:, 0], kind="stable")]
        accepting = np.zeros(states, np.bool_)
        accepting[list(self.accepting)] = True
        return Transducer(states, table, accepting)


def drawn(relations: Sequence[Relation], meter: Meter) -> DrawnTransducer:
    """The composition of some relations as a transducer for a drawing.

    Args:
        relations: Relations over the space, the letter a and `STANDS_FOR_MARK`.
    """
    same = RelationArc(0, 0, char_set([(0x20, 0x20), (0x61, 0x61)]))
    made = Relation(1, (same,), frozenset([0])).over_bytes(meter)
    for relation in relations:
        made = transduce.in_turn(made, relation.over_bytes(meter), meter)
    rows = [(a, _symbol(read), _symbol(wrote), b) for a, read, wrote, b in made.arcs.tolist()]
    ends = frozenset(np.flatnonzero(made.accepting).tolist())
    return DrawnTransducer(made.num_states, tuple(rows), ends)


def _symbol(label: int) -> str:
    """A label for a drawing."""
    if label == NOTHING:
        return ""
    char = chr(label)
    return {STANDS_FOR_MARK: "\u2581", "a": "other"}.get(char, char)


def character_map(changed: Iterable[tuple[str, str]], others: CharSet) -> Relation:
    """The relation that replaces each character by a text."""
    arcs = [RelationArc(0, 0, others)]
    arcs += [RelationArc(0, 0, character(char), text.encode()) for char, text in changed]
    return Relation(1, tuple(arcs), frozenset([0]))


def prefixed(prefix: str, unless: CharSet, others: CharSet) -> Relation:
    """The relation that puts a prefix before a text unless it begins with some character.

    Args:
        unless: The characters before which no prefix is put.
    """
    arcs = [
        RelationArc(0, 1, unless),
        RelationArc(0, 2, "", prefix.encode()),
        RelationArc(2, 1, others),
        RelationArc(1, 1, unless),
        RelationArc(1, 1, others),
    ]
    return Relation(3, tuple(arcs), frozenset([0, 1]))
