"""The token machine of a scheme in which a token may cross at most k borders of terminals.

``k = 0`` is the rule of systems that align tokens with a lexer: a token stays within one terminal.
``k = None`` (no limit) is the language itself, token by token; each smaller k allows less. The mask
of a state descends the subterminal trees of the possible places of the scanner, as far as the
parser and k allow (`explorer.tokens.schemes.subterminals`).

The knowledge of the text so far is a set of *threads*: for each way to cut it, the parser's chart
and the place in a terminal. Where every byte is a token, some one-byte token always goes on,
whatever k.

Cost: a mask is made in Python, some milliseconds at 4,000 tokens; a tree once for each place, up to
some hundred.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from explorer.arguments import counted, instance, whole_number
from explorer.automata.machine import NO_ARC
from explorer.budget import Budget, Meter
from explorer.tokens.compile import compile
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.filtered.token_filter import MaskedToken, MaskFilter
from explorer.tokens.machine import Mark, Refusal
from explorer.tokens.schemes.subterminals import (
    BORDER,
    ScannerPlace,
    SubterminalNode,
    cut_token,
    subterminal_tree,
)
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.tokens.words import UInt32, num_words, set_bits
from explorer.vocabulary import Vocabulary

Thread = tuple[int, ScannerPlace]
"""A chart of the parser, and the place in the terminal that is being read."""

Threads = frozenset[Thread]


class Lookahead(MaskFilter[Threads]):
    """The filter of the tokens that cross at most k borders of terminals; thread-safe.

    Args:
        most: k, the number of borders that a token may cross; ``None`` for any number.
        trees: The subterminal trees made so far, by the place of the scanner. They do not depend
            on k, so several filters may share them.
    """

    name = kind = "lookahead"

    def __init__(
        self,
        grammar: TerminalGrammar,
        vocabulary: Vocabulary,
        most: int | None,
        trees: dict[ScannerPlace, SubterminalNode] | None = None,
    ) -> None:
        self.grammar = grammar
        self.most = most
        self.start: Threads = frozenset({(grammar.first_chart, BORDER)})
        self._vocabulary = vocabulary
        self._most_parts = None if most is None else most + 1
        self._trees = {} if trees is None else trees

    def tree(self, place: ScannerPlace) -> SubterminalNode:
        """The subterminal tree of a place of the scanner, made when it is first asked for.

        Args:
            place: A terminal and a state of its machine, or `BORDER`.
        """
        known = self._trees.get(place)
        if known is None:
            made = subterminal_tree(self.grammar, self._vocabulary, place)
            known = self._trees.setdefault(place, made)
        return known

    def crossed(self, known: Threads, token: int) -> int:
        """The fewest borders of terminals that a token crosses, over all ways to cut it."""
        data = self._vocabulary.tokens[token]
        return min(_parts(self.grammar, known, data).values(), default=1) - 1 if data else 0

    def marks(self, known: Threads, token: int) -> frozenset[Mark]:
        """``"bridge"`` where a token crosses a border of terminals."""
        return frozenset(("bridge",)) if self.crossed(known, token) > 0 else frozenset()

    def after(self, known: Threads, token: int) -> Threads | None:
        """The threads after a token with few enough subterminals; ``None`` for none."""
        data = self._vocabulary.tokens[token] or b""
        return _read(self.grammar, known, data, self._most_parts) or None

    def mask(self, known: Threads) -> UInt32:
        """uint32[words], the tokens that the parser and k allow."""
        words = np.zeros(num_words(len(self._vocabulary)), np.uint32)
        for chart, place in known:
            self._set_below(self.tree(place), chart, words)
        return words

    def _set_below(self, node: SubterminalNode, chart: int, words: UInt32) -> None:
        expected = self.grammar.expected(chart)
        for (terminal, parts), ids in node.tokens.items():
            if terminal in expected and (self._most_parts is None or parts <= self._most_parts):
                set_bits(words, np.array(ids, np.int32))
        for terminal, child in node.children.items():
            after = self.grammar.after(chart, terminal)  # The parser prunes.
            if after is not None:
                self._set_below(child, after, words)

    def refusal(self, masked: MaskedToken[Threads]) -> Refusal:
        """The refusal that names the borders that a token crosses."""
        data = self._vocabulary.tokens[masked.token] or b""
        cuts = [cut for _, place in masked.known for cut in cut_token(self.grammar, data, place)]
        best = min(cuts, key=lambda cut: len(cut.parts)).parts
        shown = " | ".join(f"{name} {part}" for name, part, _ in best)
        borders = counted(len(best) - 1, "border")
        return Refusal(
            self.name,
            tuple(piece for _, _, piece in best),
            f"it crosses {borders} of terminals ({shown}), and k is {self.most}",
            f"crosses {borders}",
        )


def lookahead_machine(
    grammar: TerminalGrammar,
    vocabulary: Vocabulary,
    lookahead: int | None,
    budget: Budget | None = None,
) -> FilteredMachine[Threads]:
    """The token machine of the tokens that cross at most k borders of terminals.

    Args:
        lookahead: k, the number of borders that a token may cross; ``None`` for any number.
        budget: Limits for compiling the language.

    Raises:
        ExplorerError: An argument has the wrong type.
        IncompatibleVocabulary: The vocabulary cannot write any text of the language.

    Example:
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> vocab = Vocabulary.from_bytes([b"1", b"2", b"+", b"+1", b"0"], eos_ids=[5])
        >>> for k in (0, 1):
        ...     machine = lookahead_machine(sums, vocab, k)
        ...     after = machine.step(machine.start, 0)
        ...     print([vocab.tokens[i] for i in machine.allowed(after).nonzero()[0]])
        [b'1', b'2', b'+', b'0', None]
        [b'1', b'2', b'+', b'+1', b'0', None]
    """
    instance("grammar", grammar, TerminalGrammar, "a TerminalGrammar")
    most = None if lookahead is None else whole_number("lookahead", lookahead)
    (machine,) = lookahead_machines(grammar, vocabulary, (most,), budget)
    return machine


def lookahead_machines(
    grammar: TerminalGrammar,
    vocabulary: Vocabulary,
    lookaheads: Iterable[int | None],
    budget: Budget | None = None,
) -> tuple[FilteredMachine[Threads], ...]:
    """`lookahead_machine` for several k, over the same trees and one machine of the language."""
    language = compile(grammar.constraint, vocabulary, budget, lazy=True)
    limits, trees = Meter(budget).budget, dict[ScannerPlace, SubterminalNode]()
    rules = (Lookahead(grammar, vocabulary, k, trees) for k in lookaheads)
    return tuple(FilteredMachine(language, rule, limits) for rule in rules)


def _read(
    grammar: TerminalGrammar, threads: frozenset[Thread], data: bytes, most: int | None
) -> frozenset[Thread]:
    """The threads after a token with few enough subterminals."""
    reached = _parts(grammar, threads, data)
    return frozenset(thread for thread, parts in reached.items() if most is None or parts <= most)


def _parts(grammar: TerminalGrammar, threads: frozenset[Thread], data: bytes) -> dict[Thread, int]:
    """The threads after some bytes, each with the fewest subterminals that lead to it."""
    now = dict.fromkeys(threads, 0)
    for byte in data:
        then: dict[Thread, int] = {}
        for (chart, (name, state)), parts in now.items():
            machine = grammar.machines.get(name)
            begins: int | None = chart
            if machine is not None:
                after = machine.step(state, byte)
                if after != NO_ARC:
                    _keep(then, (chart, (name, after)), max(1, parts))
                begins = grammar.after(chart, name) if machine.is_accepting(state) else None
            if begins is None:
                continue
            for terminal in grammar.expected(begins):
                begun = grammar.machines[terminal]
                after = begun.step(begun.start, byte)
                if after != NO_ARC:
                    _keep(then, (begins, (terminal, after)), parts + 1)
        now = then
    return now


def _keep(threads: dict[Thread, int], thread: Thread, parts: int) -> None:
    """Add a thread, with the fewest subterminals seen for it."""
    threads[thread] = min(parts, threads.get(thread, parts))


def bridges_of(grammar: TerminalGrammar, vocabulary: Vocabulary, ids: tuple[int, ...]) -> int:
    """The number of a text's tokens that cross a border of terminals, over the best way to cut it.

    Returns:
        The number; tokens from the first that the grammar cannot read on are not counted.
    """
    now: dict[Thread, int] = {(grammar.first_chart, BORDER): 0}
    for token in ids:
        data = vocabulary.tokens[token] if token < len(vocabulary) else None
        if not data:
            continue
        then: dict[Thread, int] = {}
        for thread, count in now.items():
            for most in (1, None):
                for after in _read(grammar, frozenset({thread}), data, most):
                    _keep(then, after, count + (most is None))
        if not then:
            break
        now = then
    return min(now.values())
