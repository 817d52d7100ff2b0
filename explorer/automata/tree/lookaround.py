"""Anchors, boundaries and lookarounds as sets of *pointed words*, removed by difference.

An assertion is a condition on a place in a text, and may look at the whole text on both sides.
So it denotes a set of pointed words ``x#y``: the text is ``xy``, the place is between ``x`` and
``y``. ``\\A`` is ``#y``; ``\\b`` is every ``x#y`` where exactly one neighbour of ``#`` is a word
character; ``(?=r)`` is ``x#uv`` with ``u`` in ``r``; ``(?<=r)`` is ``uv#y`` with ``v`` in ``r``; a
negated assertion is all other pointed words. Each of these sets is regular.

A pattern with assertions is first built with each assertion as a *mark*, a symbol of its own,
one for each distinct assertion. Then, for each mark: take the pointed words where its assertion
fails, write the mark for ``#``, and let every other mark occur anywhere in between, this mark's
other occurrences included. These are all words with at least one mark in a wrong place;
subtract them. Of what is left every mark is right, so the marks can be erased.

The body of a lookaround is itself a pattern with assertions, and goes the same way: ``x#uv`` with
marks in ``u``, wrong places subtracted, marks erased, ``#`` kept. The inner conditions are thereby
judged on the *whole* pointed word. Judging them inside the outer assertion only would be
simpler and wrong: in ``a(?<=a(?=b))b`` the inner ``(?=b)`` looks at a character that the lookbehind
does not contain.

Everything happens over the pattern's character classes, not over bytes, and is written out in
bytes at the end: characters that no set of the pattern tells apart behave alike everywhere in it,
so each class of them is one symbol (``\\bfoo\\b`` has four: ``f``, ``o``, the other word
characters, and the rest), and a boundary in Unicode costs five states where it costs hundreds over
bytes.

Costs: a millisecond for ordinary patterns. Conditions that must be remembered together multiply:
twenty lookaheads for twenty letters need 2^20 states, whatever the method, and exceed the budget.
Doubled marks cost nothing.

Anchors that always hold, and assertions that are said twice, are left out at once (see
`assertions`).

One quirk of `re` is kept because it is visible: before Python 3.14, ``\\B`` fails in the empty
text, though there is no boundary in it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa, difference, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.tree.assertions import (
    JUDGING,
    each_once,
    looks,
    meaning,
    without_edge_anchors,
)
from explorer.automata.tree.charset import (
    ANY,
    ENTRY,
    EXIT,
    FIRST_SURROGATE,
    LAST_SURROGATE,
    MAX_CODE_POINT,
    NEWLINE,
    NOT_NEWLINE,
    CharSet,
    Fragment,
    char_set,
    complement,
    utf8_fragment,
)
from explorer.automata.tree.layout import Symbols, lay_out
from explorer.automata.tree.nodes import (
    Assertion,
    AssertionKind,
    Class,
    Dot,
    Empty,
    Literal,
    Node,
    children,
    walk,
)
from explorer.budget import Meter


@dataclass(frozen=True, slots=True, eq=False)
class CharClasses:
    """A partition of all characters.

    Args:
        bounds: int64[n + 1], the first code point of each piece, ascending, and the end.
        piece_class: int32[n], the class of each piece, or −1 for the surrogates.
        num_classes: Classes are ``0 .. num_classes - 1``.
        fragments: For each set of the partition, the fragment that reads one of its symbols.
    """

    bounds: NDArray[np.int64]
    piece_class: NDArray[np.int32]
    num_classes: int
    fragments: dict[CharSet, Fragment]

    def write(self, chars: CharSet) -> Fragment:
        """The fragment of a set of the partition, over the symbols."""
        return self.fragments[chars]

    def intervals(self, chars: CharSet) -> Iterator[tuple[int, int]]:
        """The symbols of such a set, as inclusive intervals."""
        return ((low, high) for _, low, high, _ in self.fragments[chars].arcs)

    def characters(self, symbols: Iterable[int]) -> CharSet:
        """All characters of some classes."""
        chosen = np.zeros(self.num_classes + 1, np.bool_)
        chosen[list(symbols)] = True
        inside = chosen[self.piece_class]  # −1 is the last entry, which is never chosen.
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        cuts = self.bounds[edges].tolist()
        return char_set((low, past - 1) for low, past in zip(cuts[::2], cuts[1::2], strict=True))


@lru_cache(maxsize=128)
def char_classes(sets: frozenset[CharSet]) -> CharClasses:
    """The coarsest partition in which every given set is a union of classes.

    Example:
        >>> from explorer.automata.tree.charset import character
        >>> classes = char_classes(frozenset([character("a"), character("b")]))
        >>> classes.num_classes
        3
    """
    ordered = sorted(sets, key=lambda chars: chars.ranges)
    ends = [0, FIRST_SURROGATE, LAST_SURROGATE + 1, MAX_CODE_POINT + 1]
    bounds = np.unique(np.concatenate([np.array(ends, np.int64), *(s.bounds() for s in ordered)]))
    pieces = len(bounds) - 1
    # One bit per set and piece; pieces with equal bits are one class.
    member = np.zeros((len(ordered) + 1, pieces), np.bool_)
    for k, chars in enumerate(ordered):
        member[k] = np.searchsorted(chars.bounds(), bounds[:-1], side="right") % 2 == 1
    packed = np.ascontiguousarray(np.packbits(member, axis=0).T)
    piece_class = np.full(pieces, -1, np.int32)
    number: dict[bytes, int] = {}
    for piece in range(pieces):
        if not FIRST_SURROGATE <= bounds[piece] <= LAST_SURROGATE:
            piece_class[piece] = number.setdefault(packed[piece].tobytes(), len(number))
    fragments: dict[CharSet, Fragment] = {}
    for k, chars in enumerate(ordered):
        symbols = np.unique(piece_class[member[k]])
        gaps = np.flatnonzero(np.diff(symbols) > 1)
        lows = symbols[np.concatenate([[0], gaps + 1])] if len(symbols) else symbols
        highs = symbols[np.concatenate([gaps, [-1]])] if len(symbols) else symbols
        arcs = tuple(
            (ENTRY, int(low), int(high), EXIT) for low, high in zip(lows, highs, strict=True)
        )
        fragments[chars] = Fragment(arcs, 0)
    return CharClasses(bounds, piece_class, len(number), fragments)


STAGE: Final = "Writing out the lookarounds in bytes"

EMPTY_TEXT_HAS_NON_BOUNDARY: Final = re.fullmatch(r"\B", "") is not None
"""Whether this Python's ``\\B`` holds in the empty text."""


def resolve(root: Node, meter: Meter) -> Nfa:
    """The language of a pattern with assertions, as an NFA over bytes.

    Returns:
        An NFA without marks, over the 256 bytes.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    meter.check_time(JUDGING)
    root = each_once(without_edge_anchors(root, meter), meter)
    if not any(isinstance(node, Assertion) for node in _watched(root, meter)):
        return lay_out(root, meter)
    resolver = Resolver(root, meter)
    return in_bytes(resolver.language(root), resolver.classes, meter)


def _watched(root: Node, meter: Meter) -> Iterator[Node]:
    """All nodes, with time checks in between."""
    look = looks(meter)
    for node in walk(root):
        look()
        yield node


# Pointed words


@dataclass(slots=True)
class Resolver:
    """The assertions of one pattern, and the machines of their pointed words.

    Symbols are the character classes, then the point ``#``, then one mark per distinct assertion.
    """

    root: Node
    meter: Meter
    classes: CharClasses = field(init=False)
    point: int = field(init=False)
    num_symbols: int = field(init=False)
    _marks: dict[Hashable, int] = field(init=False, default_factory=dict[Hashable, int])
    _pointed: dict[int, Dfa] = field(init=False, default_factory=dict[int, Dfa])
    _everywhere: Dfa = field(init=False)

    def __post_init__(self) -> None:
        assertions: dict[Hashable, Assertion] = {}
        sets = {ANY, NEWLINE, NOT_NEWLINE}
        words: set[CharSet] = set()
        for node in _watched(self.root, self.meter):
            match node:
                case Assertion():
                    assertions.setdefault(meaning(node), node)
                    if node.word is not None:
                        words.add(node.word)
                case Literal() | Class() | Dot():
                    sets.add(node.chars)
                case _:
                    pass
        sets |= words | set(map(complement, words))
        self.classes = char_classes(frozenset(sets))
        self.point = self.classes.num_classes
        for said in assertions:
            self._marks[said] = self.point + 1 + len(self._marks)
        self.num_symbols = max(NUM_BYTES, self.point + 1 + len(self._marks))
        self._everywhere = self.machine([(0, ANY, 0), (0, None, 1), (1, ANY, 1)], accepting=[1])

    @property
    def symbols(self) -> Symbols:
        """The alphabet of the pattern: its character classes and its marks."""
        return Symbols(self.num_symbols, self.classes.write, self.mark)

    def mark(self, assertion: Assertion) -> int:
        """The symbol of an assertion."""
        return self._marks[meaning(assertion)]

    def language(self, node: Node) -> Dfa:
        """The texts that a pattern matches in full, over the character classes."""
        pattern = lay_out(node, self.meter, symbols=self.symbols)
        return self.judged(pattern, _assertions_of(node, self.meter))

    def judged(self, marked: Nfa, assertions: Iterable[Assertion]) -> Dfa:
        """Keep the words whose marks are all at places where they hold, and erase the marks."""
        kept = minimal_dfa(marked, self.meter)
        for mark, assertion in {self.mark(each): each for each in assertions}.items():
            kept = difference(kept, self.misplaced(mark, assertion), self.meter)
        return minimal_dfa(self.erased(kept), self.meter)

    def misplaced(self, mark: int, assertion: Assertion) -> Dfa:
        """All words in which some occurrence of a mark is at a place where its assertion fails."""
        failing = difference(self._everywhere, self.pointed(assertion), self.meter)
        nfa = dfa_to_nfa(failing)
        # The point never shares an interval with a character class here, as it alone leads
        # from the states before it to those after it.
        arcs = nfa.arcs.copy()
        at_point = (arcs[:, 1] <= self.point) & (arcs[:, 2] >= self.point)
        arcs[at_point, 1:3] = mark
        states = np.arange(nfa.num_states, dtype=np.int32)
        ignored = np.empty((nfa.num_states, 4), np.int32)
        ignored[:, 0] = ignored[:, 3] = states
        ignored[:, 1] = self.point
        ignored[:, 2] = self.num_symbols - 1
        return minimal_dfa(
            Nfa(
                nfa.num_states,
                nfa.start,
                np.concatenate([arcs, ignored]),
                nfa.epsilons,
                nfa.accepting,
                self.num_symbols,
            ),
            self.meter,
        )

    def erased(self, dfa: Dfa) -> Nfa:
        """The machine with every mark replaced by ε; the point stays."""
        nfa = dfa_to_nfa(dfa)
        silent = nfa.arcs[:, 2] > self.point
        spoken = nfa.arcs[nfa.arcs[:, 1] <= self.point].copy()
        np.minimum(spoken[:, 2], self.point, out=spoken[:, 2])
        epsilons = np.concatenate([nfa.epsilons, nfa.arcs[silent][:, [0, 3]]])
        return Nfa(nfa.num_states, nfa.start, spoken, epsilons, nfa.accepting, self.num_symbols)

    def pointed(self, assertion: Assertion) -> Dfa:
        """The pointed words ``x#y`` where an assertion holds."""
        mark = self.mark(assertion)
        known = self._pointed.get(mark)
        if known is None:
            known = self._holding(assertion)
            if assertion.negated:
                known = difference(self._everywhere, known, self.meter)
            self._pointed[mark] = known
        return known

    def _holding(self, assertion: Assertion) -> Dfa:
        """The pointed words of an assertion, ignoring its negation."""
        match assertion.kind:
            case AssertionKind.TEXT_START:
                return self.machine([(0, None, 1), (1, ANY, 1)], accepting=[1])
            case AssertionKind.TEXT_END:
                return self.machine([(0, ANY, 0), (0, None, 1)], accepting=[1])
            case AssertionKind.FINAL_LINE_END:
                return self.machine([(0, ANY, 0), (0, None, 1), (1, NEWLINE, 2)], accepting=[1, 2])
            case AssertionKind.LINE_START:
                # State 0 is at the start of a line, state 1 is not.
                return self.machine(
                    [(0, NEWLINE, 0), (0, NOT_NEWLINE, 1), (1, NEWLINE, 0), (1, NOT_NEWLINE, 1),
                     (0, None, 2), (2, ANY, 2)],
                    accepting=[2],
                )  # fmt: skip
            case AssertionKind.LINE_END:
                return self.machine(
                    [(0, ANY, 0), (0, None, 1), (1, NEWLINE, 2), (2, ANY, 2)], accepting=[1, 2]
                )
            case AssertionKind.BOUNDARY:
                return self._boundary(assertion)
            case AssertionKind.AHEAD | AssertionKind.BEHIND:
                return self._looked(assertion)

    def _boundary(self, assertion: Assertion) -> Dfa:
        """``\\b``: state 1 is after a word character, 0 is not; 2 to 4 are after ``#``."""
        word = assertion.word or ANY
        other = complement(word)
        arcs: list[tuple[int, CharSet | None, int]] = [
            (0, other, 0), (0, word, 1), (1, other, 0), (1, word, 1),
            (0, None, 2), (2, word, 4), (1, None, 3), (3, other, 4), (4, ANY, 4),
        ]  # fmt: skip
        accepting = [3, 4]
        if assertion.negated and not EMPTY_TEXT_HAS_NON_BOUNDARY:
            # The caller takes the complement; so count the empty text among the boundaries.
            arcs += [(5, None, 6), (5, other, 0), (5, word, 1), (6, word, 4)]
            return self.machine(arcs, accepting=[*accepting, 6], start=5)
        return self.machine(arcs, accepting=accepting)

    def _looked(self, assertion: Assertion) -> Dfa:
        """A lookaround: its body beside the point, any text around, inner marks resolved."""
        body = assertion.body or Empty(assertion.start, assertion.end)
        ahead = assertion.kind is AssertionKind.AHEAD
        inner = lay_out(body, self.meter, symbols=self.symbols)
        # Two more states: one that loops before, one that loops after.
        before, after = inner.num_states, inner.num_states + 1
        last = self.point - 1
        loops = [(before, 0, last, before), (after, 0, last, after)]
        if ahead:
            loops.append((before, self.point, self.point, inner.start))
            epsilon = (EXIT, after)
        else:
            loops.append((EXIT, self.point, self.point, after))
            epsilon = (before, inner.start)
        marked = Nfa(
            inner.num_states + 2,
            before,
            np.concatenate([inner.arcs, np.array(loops, np.int32)]),
            np.concatenate([inner.epsilons, np.array([epsilon], np.int32)]),
            np.array([after], np.int32),
            self.num_symbols,
        )
        return self.judged(marked, _assertions_of(body, self.meter))

    def machine(
        self,
        arcs: Iterable[tuple[int, CharSet | None, int]],
        *,
        accepting: list[int],
        start: int = 0,
    ) -> Dfa:
        """A small machine from its arcs; ``None`` in place of a set reads the point."""
        rows: list[tuple[int, int, int, int]] = []
        for source, chars, target in arcs:
            if chars is None:
                rows.append((source, self.point, self.point, target))
            else:
                rows += [(source, low, high, target) for low, high in self.classes.intervals(chars)]
        states = 1 + max(max(row[0], row[3]) for row in rows)
        nfa = Nfa(
            states,
            start,
            np.array(rows, np.int32),
            np.empty((0, 2), np.int32),
            np.array(accepting, np.int32),
            self.num_symbols,
        )
        return minimal_dfa(nfa, self.meter)


def _assertions_of(node: Node, meter: Meter) -> list[Assertion]:
    """The assertions of a pattern that are not inside another assertion of it."""
    outermost: list[Assertion] = []
    look = looks(meter)
    waiting = [node]
    while waiting:
        look()
        node = waiting.pop()
        match node:
            case Assertion():
                outermost.append(node)
            case _:
                waiting.extend(children(node))
    return outermost


# Back to bytes


def in_bytes(dfa: Dfa, classes: CharClasses, meter: Meter) -> Nfa:
    """The machine over UTF-8 bytes of a machine over character classes.

    Arcs into one state that read the same characters share the arcs after their first byte.

    Returns:
        An NFA over the 256 bytes, deterministic but for shared lead bytes.

    Raises:
        BudgetExceeded: The machine would be too large.
    """
    if dfa.start == NO_ARC:
        none = np.empty((0, 4), np.int32)
        return Nfa(1, 0, none, np.empty((0, 2), np.int32), np.empty(0, np.int32))
    symbols_of: dict[int, list[int]] = {}
    for symbol in range(classes.num_classes):
        symbols_of.setdefault(int(dfa.symbol_class[symbol]), []).append(symbol)
    columns = list(symbols_of)
    read: dict[tuple[int, ...], CharSet] = {}
    shared: dict[tuple[tuple[int, ...], int], int] = {}
    arcs = array("i")  # Four numbers per arc; tuples would take twice the time.
    num_states = dfa.num_states
    for state, row in enumerate(dfa.table[:, columns].tolist()):
        if state % 32 == 0:
            meter.check(STAGE, states=num_states, arcs=len(arcs) // 4, bytes=6 * len(arcs))
        columns_to: dict[int, list[int]] = {}
        for k, target in enumerate(row):
            if target != NO_ARC:
                columns_to.setdefault(target, []).append(k)
        for target, columns_read in columns_to.items():
            key = tuple(columns_read)
            chars = read.get(key)
            if chars is None:
                chars = classes.characters(symbol for k in key for symbol in symbols_of[columns[k]])
                read[key] = chars
            fragment = utf8_fragment(chars)
            shift = shared.get((key, target))
            known = shift is not None
            if shift is None:
                shift = shared[key, target] = num_states - 2
                num_states += fragment.num_inner
            for start, low, high, end in fragment.arcs:
                if start and known:
                    continue
                arcs.extend((
                    start + shift if start else state,
                    low,
                    high,
                    end + shift if end != EXIT else target,
                ))  # fmt: skip
    return Nfa(
        num_states,
        dfa.start,
        np.frombuffer(arcs, np.int32).reshape(-1, 4),
        np.empty((0, 2), np.int32),
        np.flatnonzero(dfa.accepting).astype(np.int32),
    )
