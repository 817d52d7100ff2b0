"""Free text up to the leftmost of some strings, where a string may hold control tokens.

A *string* here is a sequence of characters and control tokens: ``<|tool|>call``, where ``<|tool|>``
is a token, is one control token and four characters. Of two strings that overlap, the one that
begins first ends the text. Of strings that begin at the same place each may end it, even if one is
a prefix of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from explorer.automata.control_letters import control_letters_but, control_letters_of
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import (
    ENTRY,
    EXIT,
    CharSet,
    char_set,
    character,
    complement,
    utf8_fragment,
)
from explorer.automata.tree.nodes import Concat, Empty, Literal, Machine, Node
from explorer.budget import Meter
from explorer.languages.phases.control import Name
from explorer.languages.schema.text.sketch import Sketch

Marked = tuple[str | tuple[Name], ...]
"""A string: its characters one by one, and each control token in a tuple of one."""

_Symbol = str | tuple[Name]

_NOWHERE: Final = (0, 0)
_ROOT: Final = 0


def marked(text: str, names: Iterable[str]) -> Marked:
    """A text as a string, with the names of control tokens replaced by these tokens.

    Args:
        names: The names of control tokens; of several that fit, the longest is taken.

    Example:
        >>> marked("a<t>", ["<t>"])
        ('a', ('<t>',))
    """
    known = sorted(filter(None, names), key=len, reverse=True)
    if not known:
        return tuple(text)
    pieces = re.split(f"({'|'.join(map(re.escape, known))})", text)
    read: list[str | tuple[Name]] = []
    for k, piece in enumerate(pieces):
        read += [(piece,)] if k % 2 else piece
    return tuple(read)


def shown_string(string: Marked) -> str:
    """A string as text, control tokens by their names."""
    return "".join(each if isinstance(each, str) else str(each[0]) for each in string)


def string_node(string: Marked, spans: tuple[tuple[int, int], ...] = ()) -> Node:
    """The syntax tree of a string.

    Args:
        spans: The span of each of its characters and tokens; empty for none.
    """
    at = spans or (_NOWHERE,) * len(string)
    nodes: tuple[Node, ...] = tuple(
        Literal(*at[k], character(each)) if isinstance(each, str)
        else Machine(*at[k], control_letters_of(frozenset(each)))
        for k, each in enumerate(string)
    )  # fmt: skip
    if len(nodes) < 2:
        return nodes[0] if nodes else Empty(0, 0)
    return Concat(at[0][0], at[-1][1], nodes)


@lru_cache(maxsize=256)
def text_without(excluded: frozenset[Marked], every: bool = False) -> Dfa:
    """Any text in which none of some strings occurs.

    Args:
        every: Whether all control tokens may occur; those of the strings always may.

    Example:
        >>> machine = text_without(frozenset({tuple("ab")}))
        >>> machine.accepts(b"ba"), machine.accepts(b"cab")
        (True, False)
    """
    beginnings = _Prefixes(excluded)
    alive = [node for node, longest in enumerate(beginnings.longest) if not longest]
    arcs = [
        (node, symbol, after)
        for node in alive
        for symbol, after in beginnings.after[node].items()
        if not beginnings.longest[after]
    ]
    elsewhere = {node: _ROOT for node in alive}
    refused = {node: frozenset(beginnings.after[node]) for node in alive}
    return _machine(alive, arcs, elsewhere, refused, alive, beginnings.tokens, every)


@lru_cache(maxsize=256)
def text_up_to(
    string: Marked, rivals: frozenset[Marked], excluded: frozenset[Marked],
    every: bool = False,
) -> Dfa:  # fmt: skip
    """Any text up to and including a string, if it is the leftmost of all rivals.

    Args:
        rivals: Strings that would end the text too: none of them begins earlier.
        excluded: Strings that must not occur before or inside the string.
        every: As in `text_without`.

    Example:
        >>> both = frozenset({tuple("ab"), tuple("b")})
        >>> machine = text_up_to(tuple("b"), both, frozenset())
        >>> machine.accepts(b"cb"), machine.accepts(b"ab")
        (True, False)
    """
    strings = rivals | {string}
    beginnings = _Prefixes(strings | excluded)
    # A state is the longest prefix of a string that was just read, and how long ago the leftmost
    # complete string began (0 for none). From then on only strings that began no later count.
    numbers = {(_ROOT, 0): 1}
    arcs: list[tuple[int, _Symbol, int]] = []
    elsewhere: dict[int, int] = {}
    refused: dict[int, frozenset[_Symbol]] = {}
    waiting = [(_ROOT, 0)]
    for node, ago in waiting:  # The list grows while it is read.
        here = numbers[node, ago]
        if not ago:
            elsewhere[here] = 1
            refused[here] = frozenset(beginnings.after[node])
        for symbol, after in beginnings.after[node].items():
            ends = beginnings.ends[after]
            since = max(ago + 1 if ago else 0, max((len(e) for e in ends & strings), default=0))
            if ends & excluded or beginnings.depth[after] < since:
                continue
            if string in ends and since <= len(string):
                arcs.append((here, symbol, 0))
            if (state := (after, since)) not in numbers:
                numbers[state] = len(numbers) + 1
                waiting.append(state)
            arcs.append((here, symbol, numbers[state]))
    states = [1, 0, *range(2, len(numbers) + 1)]
    return _machine(states, arcs, elsewhere, refused, [0], beginnings.tokens, every)


class _Prefixes:
    """The prefixes of some strings as the automaton of Aho and Corasick (1975).

    Attributes:
        after: For each prefix and symbol, the longest prefix that ends with both, unless it is
            empty.
        ends: For each prefix, the strings that are suffixes of it.
        longest: For each prefix, the length of the longest of these.
        depth: The length of each prefix, in characters and tokens.
        tokens: The control tokens of the strings.
    """

    def __init__(self, strings: frozenset[Marked]) -> None:
        self.after: list[dict[_Symbol, int]] = [{}]
        self.ends: list[frozenset[Marked]] = [frozenset()]
        self.depth = [0]
        for string in sorted(strings, key=repr):
            node = _ROOT
            for symbol in string:
                if symbol not in self.after[node]:
                    self.after[node][symbol] = len(self.after)
                    self.after.append({})
                    self.ends.append(frozenset())
                    self.depth.append(self.depth[node] + 1)
                node = self.after[node][symbol]
            self.ends[node] |= {string}
        waiting = [(child, _ROOT) for child in self.after[_ROOT].values()]
        for node, shorter in waiting:  # The list grows while it is read.
            self.ends[node] |= self.ends[shorter]
            below = self.after[node]
            waiting += [(child, self.after[shorter].get(s, _ROOT)) for s, child in below.items()]
            self.after[node] = self.after[shorter] | below
        self.longest = [max(map(len, ends), default=0) for ends in self.ends]
        self.tokens = frozenset(s[0] for text in strings for s in text if isinstance(s, tuple))


def _machine(
    states: list[int], arcs: list[tuple[int, _Symbol, int]], elsewhere: dict[int, int],
    refused: dict[int, frozenset[_Symbol]], accepting: list[int], tokens: frozenset[Name],
    every: bool,
) -> Dfa:  # fmt: skip
    """The machine over bytes of a machine over characters and control tokens.

    Args:
        states: The states; the first is the start.
        elsewhere: The target of all symbols of a state that have no arc and are not ``refused``.
        tokens: The control tokens of the strings.
    """
    sketch = Sketch(Meter())
    number = {state: sketch.state() for state in states}
    for here, symbol, there in arcs:
        if isinstance(symbol, str):
            sketch.text(number[here], symbol.encode(), number[there])
        else:
            sketch.machine(number[here], control_letters_of(frozenset(symbol)), number[there])
    for here, there in elsewhere.items():
        named = char_set([(ord(s), ord(s)) for s in refused[here] if isinstance(s, str)])
        _characters(sketch, number[here], complement(named), number[there])
        asked = frozenset(s[0] for s in refused[here] if isinstance(s, tuple))
        if every or tokens - asked:
            others = control_letters_but(asked) if every else control_letters_of(tokens - asked)
            sketch.machine(number[here], others, number[there])
    return sketch.finish(0, [number[state] for state in accepting])


def _characters(sketch: Sketch, here: int, chars: CharSet, there: int) -> None:
    """Draw arcs that read one of some characters."""
    fragment = utf8_fragment(chars)
    place = {ENTRY: here, EXIT: there}
    place |= {EXIT + 1 + k: sketch.state() for k in range(fragment.num_inner)}
    for tail, low, high, head in fragment.arcs:
        sketch.interval(place[tail], low, high, place[head])
