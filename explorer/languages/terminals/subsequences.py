"""DELIMITED_SUBSEQUENCE_OF: some of the given items, in their order, a delimiter between them.

Written out as alternatives it would have 2^n words. As an automaton it is small: after item k and a
delimiter the first letters of an item decide which of the items after k are still possible, and of
those with the same beginning only the first one that is left matters, because a text that takes it
can take all that follow. So a state is a beginning of an item and the number of the first item from
there on that begins so: as many states as the items have bytes, together, and the delimiters.

Items that are delimiters, or that go on with one, are read either way: the subset construction
takes the union. An item that is given twice may be taken twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from functools import partial
from typing import Final

import numpy as np

from explorer.automata.construction import operations
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.tree.nodes import Deferred, Node
from explorer.budget import Meter
from explorer.languages.terminals.kinds import Terminal, TerminalGroup, register_terminal

STAGE: Final = "Writing out the items in order"

_BYTES_PER_ENTRY: Final = 200
_MANY: Final = 4096


class _Beginnings:
    """A prefix tree of the items; each node knows the items below it, in order."""

    __slots__ = ("children", "ends", "items")

    def __init__(self) -> None:
        self.children: dict[int, _Beginnings] = {}
        self.items: list[int] = []
        self.ends: list[int] = []

    def first(self, low: int) -> int | None:
        """The first item from a number on that begins so."""
        at = bisect_left(self.items, low)
        return self.items[at] if at < len(self.items) else None


def subsequence_machine(items: tuple[str, ...], delimiter: str, meter: Meter) -> Dfa:
    """The minimal machine of the subsequences of some items that are not empty.

    Args:
        items: Texts that are not empty.
        delimiter: What stands between two items; not empty.
        meter: Watches states, arcs, bytes and seconds.

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
    meter.check(STAGE, states=states, arcs=states, bytes=_BYTES_PER_ENTRY * states)
    root = _Beginnings()
    for number, word in enumerate(words):
        node = root
        node.items.append(number)
        for byte in word:
            node = node.children.setdefault(byte, _Beginnings())
            node.items.append(number)
        node.ends.append(number)
    numbers: dict[tuple[int, int], int] = {(id(root), 0): 0}
    waiting: deque[tuple[_Beginnings, int, int]] = deque([(root, 0, 0)])
    arcs: list[tuple[int, int, int, int]] = []
    accepting: set[int] = set()
    count = 1

    def state(node: _Beginnings, first: int) -> int:
        nonlocal count
        key = (id(node), first)
        known = numbers.get(key)
        if known is None:
            known = numbers[key] = count
            count += 1
            waiting.append((node, first, known))
        return known

    done = 0
    while waiting:
        node, low, here = waiting.popleft()
        for byte, child in node.children.items():
            first = child.first(low)
            if first is not None:
                arcs.append((here, byte, byte, state(child, first)))
        at = bisect_left(node.ends, low)
        if at < len(node.ends):
            accepting.add(here)
            following = root.first(node.ends[at] + 1)
            if following is not None:
                source = here
                for byte in between[:-1]:
                    arcs.append((source, byte, byte, count))
                    source = count
                    count += 1
                arcs.append((source, between[-1], between[-1], state(root, following)))
        done += 1
        if done % _MANY == 0:
            meter.check(STAGE, states=count, arcs=len(arcs), bytes=_BYTES_PER_ENTRY * len(arcs))
    nfa = Nfa(
        count, 0, np.array(arcs, np.int32), np.empty((0, 2), np.int32),
        np.array(sorted(accepting), np.int32),
    )  # fmt: skip
    return operations.minimal_dfa(nfa, meter)


def _subsequence_of(group: TerminalGroup) -> Node:
    delimiter, *items = group.arguments
    if not delimiter.text:
        raise group.bad("the delimiter is empty", "Write what stands between items.", delimiter)
    for item in items:
        if not item.text:
            raise group.bad("this item is empty", "Leave it out, or write its text.", item)
    texts = tuple(item.text for item in items)
    here = ((group.start, group.end, group.name),)
    return Deferred(
        group.start, group.end,
        partial(subsequence_machine, texts, delimiter.text),
        lambda _text, _byte: here,
    )  # fmt: skip


register_terminal(
    Terminal(
        "DELIMITED_SUBSEQUENCE_OF", "(?P<DELIMITED_SUBSEQUENCE_OF>delimiter|item|item|…)", 2, None,
        _subsequence_of, closed=True,
    )
)  # fmt: skip
