"""SUBSTRING_OF, the substrings of a text, and DELIMITED_SUBSEQUENCE_OF, subsequences of a list.

The suffix automaton of a text of n bytes is the smallest machine of its suffixes; with every state
accepting it reads its substrings. It has at most 2n - 1 states and is built in one pass (Blumer et
al. 1985, "The smallest automaton recognizing the subwords of a text"). It is minimised afterwards,
since some of its states differ only for suffixes.

Bytes and characters agree: UTF-8 marks where a character begins, so a run of bytes that is valid
UTF-8 is a run of characters; an intersection removes all other runs.

Cost: a row of 4 bytes per class of bytes and state; 100,000 characters of English are 0.1 s.

Items in their order, with a delimiter between them, would have 2^n words if they were written out.
As an automaton they are small: after item k and a delimiter, the first letters of an item decide
which of the items after k are still possible, and of those with the same beginning only the first
one that is left matters, because a text that takes it can take all that follow. So a state is a
beginning of an item and the number of the first item from there on that begins so: as many states
as the items have bytes, together, and the delimiters.

Items that are delimiters, or that go on with one, are read either way: the subset construction
takes the union. An item that is given twice may be taken twice.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import Final

import numpy as np

from explorer.automata.construction import operations
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.changes import NamedSpan
from explorer.automata.tree.nodes import Deferred, Node
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.terminals.kinds import Terminal, TerminalGroup, register_terminal

SUBSTRINGS: Final = "The suffix automaton"

_SECONDS_PER_CELL: Final = 2e-9


@jit
def _grow(symbols: Int32, table: Int32) -> int:
    """Fill the table of the suffix automaton of some symbols; returns the number of states."""
    room, classes = table.shape
    link = np.full(room, -1, np.int32)
    length = np.zeros(room, np.int32)
    states = 1
    last = 0
    for k in range(symbols.shape[0]):
        symbol = symbols[k]
        new = states
        states += 1
        length[new] = length[last] + 1
        here = last
        while here >= 0 and table[here, symbol] < 0:
            table[here, symbol] = new
            here = link[here]
        if here < 0:
            link[new] = 0
        else:
            there = table[here, symbol]
            if length[there] == length[here] + 1:
                link[new] = there
            else:
                copy = states
                states += 1
                length[copy] = length[here] + 1
                for c in range(classes):
                    table[copy, c] = table[there, c]
                link[copy] = link[there]
                link[there] = copy
                link[new] = copy
                while here >= 0 and table[here, symbol] == there:
                    table[here, symbol] = copy
                    here = link[here]
        last = new
    return states


def substring_machine(text: str, meter: Meter) -> Dfa:
    """The minimal machine of the non-empty substrings of a text.

    Args:
        text: At least one character.

    Raises:
        BudgetExceeded: The text is too long for the budget.

    Example:
        >>> machine = substring_machine("banana", Meter())
        >>> machine.accepts(b"nan"), machine.accepts(b"naan"), machine.accepts(b"")
        (True, False, False)
    """
    data = np.frombuffer(text.encode(), np.uint8)
    used = np.unique(data)
    classes, room = len(used) + 1, 2 * len(data) + 1
    cells = room * classes
    meter.check(
        SUBSTRINGS, states=room, arcs=cells, bytes=4 * cells, ahead=_SECONDS_PER_CELL * cells
    )
    symbol_class = np.full(256, len(used), np.int32)  # The last class: bytes that do not occur.
    symbol_class[used] = np.arange(len(used), dtype=np.int32)
    table = np.full((room, classes), NO_ARC, np.int32)
    states = _grow(symbol_class[data], table)
    accepting: Bool = np.ones(states, np.bool_)
    accepting[0] = False
    machine = operations.minimize(Dfa(symbol_class, table[:states], accepting, 0), meter)
    return machine if text.isascii() else operations.intersection(machine, any_text(), meter)


def _substring_of(group: TerminalGroup) -> Node:
    (text,) = group.arguments
    if not text.text:
        raise group.bad(
            "a text without characters has no substring but the empty one",
            "Write the text after the name: (?P<SUBSTRING_OF>some text).",
        )
    here = (NamedSpan(group.start, group.end, group.name),)
    return Deferred(
        group.start,
        group.end,
        partial(substring_machine, text.text),
        lambda _text, _byte, _rest, _offered: here,
    )


register_terminal(Terminal("SUBSTRING_OF", "text", 1, 1, _substring_of, closed=True))


ITEMS: Final = "Writing out the items in order"

_BYTES_PER_ENTRY: Final = 200


class _Beginnings:
    """A prefix tree of the items; each node knows the items below it, in order."""

    __slots__ = ("children", "ends", "items")

    def __init__(self) -> None:
        self.children: dict[int, _Beginnings] = {}
        self.items: list[int] = []
        self.ends: list[int] = []

    def first(self, low: int) -> int | None:
        """The first item from a number on that begins with this node."""
        at = bisect_left(self.items, low)
        return self.items[at] if at < len(self.items) else None


def subsequence_machine(items: tuple[str, ...], delimiter: str, meter: Meter) -> Dfa:
    """The minimal machine of the non-empty subsequences of some items.

    Args:
        items: Non-empty texts.
        delimiter: The non-empty text between two items.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> machine = subsequence_machine(("red", "green", "blue"), "+", Meter())
        >>> machine.accepts(b"red+blue"), machine.accepts(b"blue+red"), machine.accepts(b"")
        (True, False, False)
    """
    words = [item.encode() for item in items]
    between = delimiter.encode()
    total = sum(map(len, words))
    states = 1 + total + len(words) * (1 + len(between))
    meter.check(ITEMS, states=states, arcs=states, bytes=_BYTES_PER_ENTRY * states)
    root = _Beginnings()
    for number, word in enumerate(words):
        node = root
        node.items.append(number)
        for byte in word:
            node = node.children.setdefault(byte, _Beginnings())
            node.items.append(number)
        node.ends.append(number)
    sketch = Sketch(meter, stage=ITEMS)
    numbers = {(id(root), 0): sketch.state()}
    waiting = [(root, 0)]

    def state(node: _Beginnings, first: int) -> int:
        key = (id(node), first)
        if key not in numbers:
            numbers[key] = sketch.state()
            waiting.append((node, first))
        return numbers[key]

    accepting: list[int] = []
    for node, low in waiting:  # The list grows while it is read.
        here = numbers[id(node), low]
        for byte, child in node.children.items():
            first = child.first(low)
            if first is not None:
                sketch.byte(here, byte, state(child, first))
        at = bisect_left(node.ends, low)
        if at < len(node.ends):
            meter.check_time(ITEMS)
            accepting.append(here)
            following = root.first(node.ends[at] + 1)
            if following is not None:
                sketch.text(here, between, state(root, following))
    return sketch.finish(0, accepting)


def _subsequence_of(group: TerminalGroup) -> Node:
    delimiter, *items = group.arguments
    if not delimiter.text:
        raise group.bad("the delimiter is empty", "Write what stands between items.", delimiter)
    for item in items:
        if not item.text:
            raise group.bad("this item is empty", "Leave it out, or write its text.", item)
    texts = tuple(item.text for item in items)
    here = (NamedSpan(group.start, group.end, group.name),)
    return Deferred(
        group.start, group.end,
        partial(subsequence_machine, texts, delimiter.text),
        lambda _text, _byte, _rest, _offered: here,
    )  # fmt: skip


register_terminal(
    Terminal(
        "DELIMITED_SUBSEQUENCE_OF", "delimiter|item|item|…", 2, None, _subsequence_of, closed=True
    )
)
