"""Relations between texts, as small transducers over characters, and the image of a language.

A step of a tokenizer's preprocessing reads a text and writes another. With sets of characters on
its arcs it has a handful of states; it is composed with a constraint over the bytes of UTF-8
(`explorer.automata.construction.transduce`), and the image is a machine again.

A step may cut a text into pieces. A cut is written as the byte `CUT`, which does not occur in
UTF-8.
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
    characters,
    utf8_fragment,
    without,
)
from explorer.budget import Meter

CUT: Final = 0xFF
"""The byte that stands between two pieces of a text."""

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
        reads: The characters that the arc reads; ``None`` for the cut, "" for nothing.
        writes: The bytes that it writes; ``None`` for those that it reads.
    """

    source: int
    target: int
    reads: CharSet | str | None
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
            machine: The language before; it may hold cuts.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return transduce.image_of(machine, self.over_bytes(meter), meter)

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine that become words of another one.

        Args:
            machine: The language before; it may hold cuts.

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
            if arc.reads is None:
                rows.append((arc.source, CUT, CUT if copies else NOTHING, end))
            elif isinstance(arc.reads, CharSet):
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
    if label == CUT:
        return "cut"
    char = chr(label)
    return {STANDS_FOR_MARK: "\u2581", "a": "other"}.get(char, char)


def character_map(changed: Iterable[tuple[str, str]], others: CharSet) -> Relation:
    """The relation that replaces each character by a text."""
    arcs = [RelationArc(0, 0, None), RelationArc(0, 0, others)]
    arcs += [RelationArc(0, 0, character(char), text.encode()) for char, text in changed]
    return Relation(1, tuple(arcs), frozenset([0]))


def before_pieces(prefix: str, unless: CharSet, others: CharSet, *, only_first: bool) -> Relation:
    """The relation that puts a prefix before each piece unless it begins with some character.

    Args:
        unless: The characters before which no prefix is put.
        only_first: Whether the prefix is put only before the first piece.
    """
    data = prefix.encode()
    arcs = [
        RelationArc(0, 1, unless),
        RelationArc(0, 2, "", data),
        RelationArc(2, 1, others),
        RelationArc(1, 1, unless),
        RelationArc(1, 1, others),
        RelationArc(1, 1 if only_first else 0, None),
    ]
    return Relation(3, tuple(arcs), frozenset([0, 1]))


def cut_by_class(drop: CharSet, alone: CharSet, runs: Sequence[CharSet]) -> Relation:
    """The relation that cuts a text where the class of its characters changes.

    Args:
        drop: Characters that are replaced by a cut.
        alone: Characters that are pieces by themselves.
        runs: The classes whose runs stay together.
    """
    # State 0: nothing was written yet. 1: a piece ended. k + 2: in a run of the class k.
    cut = bytes((CUT,))
    arcs: list[RelationArc] = []
    states = 2 + len(runs)
    waiting: dict[int, int] = {}

    def enter(source: int, chars: CharSet, target: int) -> None:
        """Read a character that begins a piece."""
        nonlocal states
        if source == 0:
            arcs.append(RelationArc(0, target, chars))
            return
        if source not in waiting:
            waiting[source] = states
            states += 1
            arcs.append(RelationArc(source, waiting[source], "", cut))
        arcs.append(RelationArc(waiting[source], target, chars))

    for source in range(2 + len(runs)):
        after = 0 if source == 0 else 1
        arcs += [RelationArc(source, after, drop, b""), RelationArc(source, after, None, b"")]
        enter(source, alone, 1)
        for k, chars in enumerate(runs):
            if source == k + 2:
                arcs.append(RelationArc(source, source, chars))
            else:
                enter(source, chars, k + 2)
    return Relation(states, tuple(arcs), frozenset(range(2 + len(runs))))


def stripped(spaces: CharSet, others: CharSet, *, left: bool, right: bool) -> Relation:
    """The relation that removes spaces at the ends of a text.

    Args:
        spaces: The characters that are removed.
    """
    # 0: at the left end. 1: after a character that stays. 2: in spaces that stay, because others
    # follow. 3: in spaces at the right end.
    arcs = [
        RelationArc(0, 0, spaces, b"" if left else None),
        RelationArc(0, 1, others),
        RelationArc(1, 1, others),
        RelationArc(1, 2, spaces),
        RelationArc(2, 2, spaces),
        RelationArc(2, 1, others),
        RelationArc(1, 3, spaces, b"" if right else None),
        RelationArc(3, 3, spaces, b"" if right else None),
    ]
    if not left and right:  # A text of spaces alone has both ends.
        arcs[0] = RelationArc(0, 2, spaces)
        arcs += [RelationArc(0, 3, spaces, b"")]
    return Relation(4, tuple(arcs), frozenset([0, 1, 3]))


def runs_replaced(run: CharSet, others: CharSet, least: int, content: str) -> Relation:
    """The relation that replaces each longest run of some characters, if it is long enough."""
    # 0: not in a run. 1 .. least - 1: in a run that stays. least .. 2 * least - 1: in a run that is
    # replaced, by the number of characters read; the last state loops.
    arcs = [RelationArc(0, 0, others), RelationArc(0, 0, None)]
    accepting = {0}
    for k in range(1, least):
        arcs.append(RelationArc(k - 1, k, run))
        arcs += [RelationArc(k, 0, others), RelationArc(k, 0, None)]
        accepting.add(k)
    first = least
    for k in range(least):
        source = 0 if k == 0 else first + k - 1
        arcs.append(RelationArc(source, first + k, run, content.encode() if k == 0 else b""))
    last = first + least - 1
    arcs += [RelationArc(last, last, run, b""), RelationArc(last, 0, others)]
    arcs.append(RelationArc(last, 0, None))
    accepting.add(last)
    return Relation(last + 1, tuple(arcs), frozenset(accepting))


def text_replaced(pattern: str, content: str, alphabet: CharSet) -> Relation:
    """The relation that replaces each occurrence of a text by another one, from the left.

    Args:
        pattern: The text; not empty.
    """
    arcs: list[RelationArc] = []
    states = len(pattern) + 1
    end = len(pattern)
    for held in range(len(pattern)):
        begun = pattern[:held]
        special = sorted({char for char in pattern if ord(char) in alphabet})
        for char in special:
            text = begun + char
            if text == pattern:
                arcs.append(RelationArc(held, 0, character(char), content.encode()))
                continue
            keep = next(
                n for n in range(held + 1, -1, -1) if pattern.startswith(text[held + 1 - n :])
            )
            arcs.append(RelationArc(held, keep, character(char), text[: len(text) - keep].encode()))
        rest = without(alphabet, characters(special))
        flushed = states
        states += 1
        arcs += [RelationArc(held, flushed, "", begun.encode()), RelationArc(flushed, 0, rest)]
        arcs += [RelationArc(flushed, 0, None), RelationArc(flushed, end, "", b"")]
    return Relation(states, tuple(arcs), frozenset([end]))


def pieces_joined(
    before: str, after: str, alphabet: CharSet, tight: Sequence[str] = ()
) -> Relation:
    """The relation that joins the pieces again, with a text before and after each.

    Args:
        tight: Starts of pieces before which nothing is written; none is a prefix of another.
    """
    # A piece starts at the state 1, goes on at 2, and the text ends at 3; 0 is the empty text. With
    # tight starts, the transducer guesses at the start of each piece whether it is tight.
    arcs = [RelationArc(0, 1, "", b""), RelationArc(2, 2, alphabet)]
    arcs += [RelationArc(2, 1, None, after.encode()), RelationArc(2, 3, "", after.encode())]
    nodes = sorted({start[:length] for start in tight for length in range(len(start))} | {""})
    states = 4
    for is_tight in (True, False):
        state = {node: states + number for number, node in enumerate(nodes)}
        states += len(nodes)
        arcs.append(RelationArc(1, state[""], "", b"" if is_tight else before.encode()))
        for node in nodes:
            onward = sorted(
                {start[len(node)] for start in tight if start[:-1].startswith(node)}
                | {start[-1] for start in tight if start[:-1] == node}
            )
            for char in onward:
                if ord(char) not in alphabet:
                    continue
                if node + char in state:
                    arcs.append(RelationArc(state[node], state[node + char], character(char)))
                elif is_tight:
                    arcs.append(RelationArc(state[node], 2, character(char)))
            if not is_tight:
                rest = without(alphabet, characters(onward))
                arcs.append(RelationArc(state[node], 2, rest))
                if node:
                    arcs.append(RelationArc(state[node], 1, None, after.encode()))
                    arcs.append(RelationArc(state[node], 3, "", after.encode()))
    return Relation(states, tuple(arcs), frozenset([0, 3]))
