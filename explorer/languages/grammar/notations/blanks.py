"""The blanks after a line break, and the ignored text between terminals, where indentation counts.

Lark's lexer reads a line break together with the blanks after it, as far as they go, and an ignored
comment up to the end of its line. So here too nothing that could still belong to them follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import (
    Branch,
    Class,
    Concat,
    Empty,
    Group,
    Machine,
    Node,
    Repeat,
    Subtract,
)
from explorer.budget import Meter
from explorer.errors import GrammarError
from explorer.languages.grammar.notations.reading import WrittenRule
from explorer.languages.schema.text.sketch import Sketch

TAB: Final = 8
"""The columns of a tab."""

STAGE: Final = "Writing out indentation"

_ANY_TEXT: Final = Repeat(0, 0, Class(0, 0, char_set([(0, 0x10FFFF)])), 0, None, False)
_SPACE, _TAB, _BREAK = b" \t\n"


class Blanks:
    """The blanks after a line break, cut from the terminal that reads both.

    Attributes:
        broken: The terminal.
        up_to_break: Its beginnings that end with a line break after which blanks may follow.
        goes_on: Whether the terminal itself reads on where another one of it would begin.
    """

    def __init__(
        self, terminal: Dfa, wrong: Callable[..., GrammarError], rule: WrittenRule
    ) -> None:
        self._dfa = terminal
        self._made: dict[int, Node] = {}
        self.broken: Node = Machine(rule.start, rule.end, terminal)
        after = terminal.table[:, terminal.symbol_class[_BREAK]]
        ends = sorted(
            {int(state) for state in after if state != NO_ARC and self._reads(int(state))}
        )
        if (
            not ends
            or any(not self._alike(ends[0], each) for each in ends)
            or self._step(ends[0], _SPACE) == NO_ARC
        ):
            raise wrong(
                f"The columns of a line cannot be told from {rule.name}",
                r"Let blanks follow its last line break, in any number: /(\r?\n[\t ]*)+/.",
                rule.start, rule.end,
            )  # fmt: skip
        self._end = ends[0]
        going_on = {
            byte
            for state in self._along()
            for byte in range(256)
            if self._step(state, byte) != NO_ARC
        }
        self._going_on = sorted(byte for byte in going_on if byte < 128)
        first = {byte for byte in range(256) if self._step(terminal.start, byte) != NO_ARC}
        self.goes_on = first <= going_on
        sketch = Sketch(Meter(), stage=STAGE)
        number = sketch.states(terminal.num_states + 1)
        for state in range(terminal.num_states):
            for byte in range(256):
                target = self._step(state, byte)
                if target != NO_ARC:
                    sketch.byte(number + state, byte, number + target)
                    if byte == _BREAK and self._reads(target):
                        sketch.byte(number + state, byte, number + terminal.num_states)
        made = sketch.finish(number + terminal.start, [number + terminal.num_states])
        self.up_to_break: Node = Machine(rule.start, rule.end, made)

    def _step(self, state: int, byte: int) -> int:
        return int(self._dfa.table[state, self._dfa.symbol_class[byte]])

    def _along(self, start: int | None = None) -> list[int]:
        """The states that blanks lead to from the one after the last line break."""
        states = [self._end if start is None else start]
        for state in states:  # The list grows while it is read.
            for byte in (_SPACE, _TAB):
                after = self._step(state, byte)
                if after != NO_ARC and after not in states:
                    states.append(after)
        return states

    def _reads(self, state: int) -> bool:
        """Whether the terminal may end after some blanks."""
        return any(bool(self._dfa.accepting[each]) for each in self._along(state))

    def _alike(self, one: int, other: int) -> bool:
        """Whether the same blanks may follow in two states."""
        pairs = [(one, other)]
        for a, b in pairs:  # The list grows while it is read.
            for byte in (_SPACE, _TAB):
                pair = self._step(a, byte), self._step(b, byte)
                if (pair[0] == NO_ARC) != (pair[1] == NO_ARC):
                    return False
                if pair[0] != NO_ARC and pair not in pairs:
                    pairs.append(pair)
        return all(bool(self._dfa.accepting[a]) == bool(self._dfa.accepting[b]) for a, b in pairs)

    def of(self, column: int) -> Node:
        """The blanks of a number of columns."""
        if column not in self._made:
            sketch = Sketch(Meter(), stage=STAGE)
            numbers: dict[tuple[int, int], int] = {(self._end, 0): sketch.state()}
            ends: list[int] = []
            waiting = [(self._end, 0)]
            while waiting:
                state, count = waiting.pop()
                number = numbers[state, count]
                if count == column and self._dfa.accepting[state]:
                    ends.append(number)
                for byte, wide in ((_SPACE, 1), (_TAB, TAB)):
                    after = self._step(state, byte), count + wide
                    if after[0] != NO_ARC and after[1] <= column:
                        if after not in numbers:
                            numbers[after] = sketch.state()
                            waiting.append(after)
                        sketch.byte(number, byte, numbers[after])
            self._made[column] = Machine(0, 0, sketch.finish(0, ends))
        return self._made[column]

    def not_after_them(self, text: Node) -> Node:
        """The texts of a node that may follow the blanks: the terminal does not read on with it."""
        first = Class(0, 0, char_set([(byte, byte) for byte in self._going_on]))
        return Subtract(0, 0, text, Concat(0, 0, (first, _ANY_TEXT)))


class Between:
    """The ignored text between terminals, cut as Lark's lexer cuts it.

    A comment that goes up to the end of its line must not end earlier: only a line break, or the
    end of the text, comes after it.

    Attributes:
        after: After a terminal, before another one.
        within: The same within brackets, where line breaks are ignored too.
        after_blanks: After the blanks of a line, before its first terminal.
        comment: The rest of what may come before a line break or the end of the text.
        blank_line: After the blanks of a line, before a line break or the end of the text.

    Args:
        pieces: What may be ignored.
        blanks: The line break and its blanks.
    """

    def __init__(self, pieces: Sequence[Node], blanks: Blanks, meter: Meter) -> None:
        def machine(node: Node) -> Node:
            return Machine(0, 0, build(node, meter))

        def cut(some: Sequence[Node]) -> tuple[Node, Node]:
            """The repeats of some pieces that end with no open comment, and those that may."""
            if not some:
                return Empty(0, 0), Empty(0, 0)
            one = one_of(some)
            dfa = build(one, meter)
            comment, going_on = open_end(dfa)
            if comment is None:
                return machine(star(one)), Empty(0, 0)
            closed = Subtract(0, 0, one, comment)
            line = Subtract(0, 0, closed, Concat(0, 0, (going_on, _ANY_TEXT)))
            every = star(Branch(0, 0, (closed, Concat(0, 0, (comment, line)))))
            return machine(every), machine(Branch(0, 0, (Empty(0, 0), comment)))

        self.after, self.comment = cut(pieces)
        self.within, _ = cut([*pieces, blanks.broken])
        self.after_blanks = machine(blanks.not_after_them(self.after))
        whole = Concat(0, 0, (self.after, self.comment))
        self.blank_line = machine(blanks.not_after_them(whole))
        self.some = machine(Subtract(0, 0, self.blank_line, Empty(0, 0)))


def open_end(dfa: Dfa) -> tuple[Node | None, Node]:
    """The words of a machine after which it may read any letter, and what it may read there."""
    letters = dfa.table[:, dfa.symbol_class[0x20:0x7F]]
    ends = np.flatnonzero(dfa.accepting & (letters != NO_ARC).all(axis=1))
    if not len(ends):
        return None, Empty(0, 0)
    nfa = dfa_to_nfa(dfa)
    made = Nfa(nfa.num_states, nfa.start, nfa.arcs, nfa.epsilons, ends.astype(np.int32))
    reads = (dfa.table[ends][:, dfa.symbol_class[:0x80]] != NO_ARC).any(axis=0)
    going_on = [(byte, byte) for byte in np.flatnonzero(reads).tolist()]
    chars = char_set([*going_on, (0x80, 0x10FFFF)])
    return Machine(0, 0, minimal_dfa(made, Meter())), Class(0, 0, chars)


def one_of(nodes: Sequence[Node]) -> Node:
    """One of some nodes."""
    if len(nodes) == 1:
        return nodes[0]
    return Group(0, 0, Branch(0, 0, tuple(nodes)), None, None)


def star(node: Node) -> Node:
    """A node any number of times."""
    return Repeat(0, 0, Group(0, 0, node, None, None), 0, None, False)
