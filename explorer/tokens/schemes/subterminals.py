"""Tokens cut at the borders of terminals: subterminal trees, Algorithm 2 of the paper.

In the middle of a terminal, or at a border, a token is read as a sequence of *subterminals*: the
**end** of the terminal that was begun before, **full** terminals, and the **start** of one that
goes on in the next token; or a **continuation**, if it crosses no border. All sequences of all
tokens of the vocabulary, from one place of the scanner, form a prefix tree over completed terminals
with tokens at its nodes. The tree does not depend on the parser, so it is made once for each place;
a parser descends only where it expects the terminal (it *prunes* the other children), and no deeper
than a lookahead of k borders.

There is no longest-match rule: where a text can be cut in several ways, all are followed, and the
parser decides. Two terminals that are never adjacent are not joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from explorer.automata.machine import NO_ARC
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.vocabulary import Vocabulary

ScannerPlace = tuple[str, int]
"""A terminal and a state of its machine; `BORDER` between terminals."""

BORDER: ScannerPlace = ("", 0)

Part = Literal["full", "start", "end", "continuation"]


@dataclass(eq=False)
class SubterminalNode:
    """A node of the tree, which stands for the terminals completed within a token.

    Args:
        children: The child for each terminal that may be completed next.
        tokens: The ids that end here, by the terminal in which they end and their number of
            subterminals.
    """

    children: dict[str, SubterminalNode] = field(
        default_factory=lambda: dict[str, SubterminalNode]()
    )
    tokens: dict[tuple[str, int], list[int]] = field(
        default_factory=lambda: dict[tuple[str, int], list[int]]()
    )

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], SubterminalNode]]:
        """This node and all below it, each with the terminals that lead there."""
        yield path, self
        for terminal, child in self.children.items():
            yield from child.walk((*path, terminal))


@dataclass(frozen=True, slots=True)
class _Cut:
    """One way to cut a prefix of a token."""

    path: tuple[str, ...]
    terminal: str
    state: int
    parts: int


def subterminal_tree(
    grammar: TerminalGrammar, vocabulary: Vocabulary, place: ScannerPlace
) -> SubterminalNode:
    """The subterminal tree of a place of the scanner.

    Args:
        grammar: The terminals, and those that may be adjacent.

    Example:
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> vocab = Vocabulary.from_bytes([b"12", b"+", b"+1"], eos_ids=[3])
        >>> inside = sums.machines["int"].step(sums.machines["int"].start, ord("1"))
        >>> tree = subterminal_tree(sums, vocab, ("int", inside))
        >>> for path, node in tree.walk():
        ...     print(path, node.tokens)
        () {('int', 1): [0]}
        ('int',) {('plus', 1): [1]}
        ('int', 'plus') {('int', 2): [2]}
    """
    root = SubterminalNode()
    begun = [_Cut((), *place, 0)]
    cuts_of: dict[bytes, list[_Cut]] = {b"": begun}
    data_of = {token: data for token, data in enumerate(vocabulary.tokens) if data}
    # Sorted, so that a common prefix of two tokens is cut once.
    for token, data in sorted(data_of.items(), key=lambda item: item[1]):
        known = len(data)
        while data[:known] not in cuts_of:
            known -= 1
        for at in range(known, len(data)):
            cuts_of[data[: at + 1]] = _further(grammar, cuts_of[data[:at]], data[at])
        for cut in cuts_of[data]:
            node = root
            for terminal in cut.path:
                node = node.children.setdefault(terminal, SubterminalNode())
            ids = node.tokens.setdefault((cut.terminal, cut.parts), [])
            if not ids or ids[-1] != token:
                ids.append(token)
    return root


def _further(grammar: TerminalGrammar, cuts: list[_Cut], byte: int) -> list[_Cut]:
    """The cuts after one more byte."""
    cuts_after: dict[_Cut, None] = {}
    for cut in cuts:
        machine = grammar.machines.get(cut.terminal)
        ends = machine is None
        if machine is not None:
            state = machine.step(cut.state, byte)
            if state != NO_ARC:
                cuts_after[_Cut(cut.path, cut.terminal, state, max(1, cut.parts))] = None
            ends = machine.is_accepting(cut.state)
        if not ends:
            continue
        path = cut.path if machine is None else (*cut.path, cut.terminal)
        options = grammar.terminals if machine is None else grammar.adjacent[cut.terminal]
        for terminal in options:
            begun = grammar.machines[terminal]
            state = begun.step(begun.start, byte)
            if state != NO_ARC:
                cuts_after[_Cut(path, terminal, state, cut.parts + 1)] = None
    return list(cuts_after)


@dataclass(frozen=True, slots=True)
class CutToken:
    """A token as a sequence of subterminals.

    Args:
        parts: The name, the part and the bytes of each terminal that the token touches.
    """

    token: int
    parts: tuple[tuple[str, Part, bytes], ...]


def cut_token(
    grammar: TerminalGrammar, data: bytes, place: ScannerPlace, token: int = -1
) -> tuple[CutToken, ...]:
    """All ways to cut a token, for a figure.

    Args:
        data: The bytes of the token, at least one.

    Example:
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> cut_token(sums, b"+1", BORDER)[0].parts
        (('plus', 'full', b'+'), ('int', 'start', b'1'))
    """
    ways: list[CutToken] = []
    # The terminal, its state, whether it began before the token, and the finished parts.
    waiting: list[tuple[int, int, str, int, bool, tuple[tuple[str, Part, bytes], ...]]] = [
        (0, 0, *place, place != BORDER, ())
    ]
    while waiting:
        at, since, terminal, state, before, parts = waiting.pop()
        machine = grammar.machines.get(terminal)
        if at == len(data):
            # A terminal that can read no further byte is complete.
            over = machine is not None and not machine.expected(state)
            part: Part = ("end" if over else "continuation") if before else "start"
            part = "full" if over and not before else part
            ways.append(CutToken(token, (*parts, (terminal, part, data[since:]))))
            continue
        ends = machine is None
        if machine is not None:
            following = machine.step(state, data[at])
            if following != NO_ARC:
                waiting.append((at + 1, since, terminal, following, before, parts))
            ends = machine.is_accepting(state)
        if not ends:
            continue
        whole: Part = "end" if before else "full"
        finished: tuple[str, Part, bytes] = (terminal, whole, data[since:at])
        done = (*parts, finished) if at > since else parts
        options = grammar.terminals if machine is None else grammar.adjacent[terminal]
        for name in options:
            begun = grammar.machines[name]
            following = begun.step(begun.start, data[at])
            if following != NO_ARC:
                waiting.append((at + 1, at, name, following, False, done))
    return tuple(sorted(ways, key=lambda cut: cut.parts))


def scanner_arcs(grammar: TerminalGrammar) -> Mapping[str, tuple[tuple[int, bytes, int], ...]]:
    """The character scanner as data: the arcs of each terminal, with the bytes of parallel arcs
    joined.

    From every accepting state of a terminal the scanner goes, without reading, to the start of
    those that may stand beside it (`TerminalGrammar.adjacent`).

    Returns:
        For each terminal, triples of a state, the bytes read, and the state after them.
    """
    arcs_of: dict[str, tuple[tuple[int, bytes, int], ...]] = {}
    for name, machine in grammar.machines.items():
        arcs: dict[tuple[int, int], bytearray] = {}
        for state in range(machine.num_states):
            for byte in machine.expected(state):
                arcs.setdefault((state, machine.step(state, byte)), bytearray()).append(byte)
        arcs_of[name] = tuple((source, bytes(read), to) for (source, to), read in arcs.items())
    return arcs_of
