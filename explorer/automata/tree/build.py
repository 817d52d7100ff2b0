"""The minimal machine of a tree, over bytes, or over bytes *and the ends of tokens*.

What Thompson's construction can express is laid out as one NFA and determinized once.
Intersections, differences and complements are products of the machines of their parts; a pattern
with assertions goes through `lookaround`. Each gives a machine, which is laid into the NFA around
it.

``(?P<PARAGRAPH_TOKEN>)`` is one token, whatever it writes, without a newline. Texts do not decide
whether a sequence of tokens is such a word: the same text may be one token or three. What decides
is the text with the places where tokens end. So the detokenizing transducer writes a mark after
each token, besides its bytes (Koo, Liu & He 2024, section 2.5.1: labels that T_V can emit), and the
constraint is a regular language over bytes and marks. Composition stays composition.

Where a terminal and an ordinary part read the same token, both are followed: the subset
construction takes the exact union, as it does for bytes. Nothing needs a precedence.

Parts are put together over an alphabet with one more symbol, the beginning of a token, so that each
part knows its own tokens and no mark belongs to two parts. In a part every byte may have a
beginning before it and an end after it:

*ordinary parts*  bytes as they are, with any beginnings and ends: they do not care about tokens;
*TEXT_TOKEN*      a beginning, bytes without marks between them, an end;
*products*        intersection, difference and complement are exact, token by token.

Last, the whole is cut down to what tokenizers write: valid UTF-8 in tokens that are not empty. Then
beginnings say nothing that ends do not say, and are taken out. A token that is not text (an
image) writes the digits of its id between its marks.

Cost: about three times the states of the tree over bytes, before minimisation.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

import numpy as np

from explorer.alphabet import (
    LETTER,
    NUM_BYTES,
    NUM_PART_SYMBOLS,
    NUM_TOKEN_SYMBOLS,
    TOKEN_BEGIN,
    TOKEN_END,
)
from explorer.automata.construction import operations
from explorer.automata.control_letters import inside_letters, letter_arcs
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.automata.tree.charset import ENTRY, EXIT, CharSet, Fragment, utf8_fragment
from explorer.automata.tree.layout import Symbols, lay_out
from explorer.automata.tree.nodes import (
    Deferred,
    Group,
    Intersect,
    Machine,
    Negate,
    Node,
    Remembered,
    Rules,
    Subtract,
    Texts,
    TokenLimit,
    TokenPiece,
    Whole,
    Written,
    children,
    walk,
)
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError, NotRegular


def build(node: Node, meter: Meter) -> Dfa:
    """The minimal machine of a tree over bytes.

    Returns:
        The minimal machine over the 256 bytes, in canonical form. It has no state if there are no
        words.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.regex import parse
        >>> build(parse("(?i)(foo)+d").whole(), Meter()).accepts(b"FoofooD")
        True
    """
    while isinstance(node, Group | Written | TokenLimit):
        node = node.body
    match node:
        case Machine():
            return node.dfa
        case Deferred():
            return node.make(meter)
        case Rules():
            return node.make(node, meter)
        case Remembered():
            return build(node.closed, meter)
        case TokenPiece():
            return node.text()
        case Whole():
            from explorer.automata.tree.lookaround import resolve  # Most patterns have none.

            return operations.minimal_dfa(resolve(node.body, meter), meter)
        case Intersect():
            return operations.intersection(build(node.left, meter), build(node.right, meter), meter)
        case Subtract():
            return operations.difference(build(node.left, meter), build(node.right, meter), meter)
        case Negate():
            return operations.difference(any_text(), build(node.body, meter), meter)
        case _:
            laid = lay_out(node, meter, machine=lambda inner: build(inner, meter))
            return operations.minimal_dfa(laid, meter)


Arc = tuple[int, int, int, int]

_NO_EPSILONS: Final[Int32] = np.empty((0, 2), np.int32)


def build_over_tokens(node: Node, meter: Meter) -> Dfa:
    """The minimal machine of a tree over bytes and the ends of tokens.

    Returns:
        A machine over `NUM_TOKEN_SYMBOLS`. It has no state if there are no words.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.regex import parse
        >>> machine = build_over_tokens(parse("ab").whole(), Meter())
        >>> state = machine.start
        >>> for symbol in (ord("a"), TOKEN_END, ord("b"), TOKEN_END):
        ...     state = machine.step(state, symbol)
        >>> machine.is_accepting(state)
        True
    """
    cut = operations.intersection(_part(node, meter), _tokenized(), meter)
    return _without_beginnings(cut, meter)


def texts_of(machine: Dfa, meter: Meter) -> Dfa:
    """The texts of a machine over token ends, in any tokenization, without control tokens.

    Args:
        machine: From `build_over_tokens`.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    nfa = operations.dfa_to_nfa(machine)
    silent = np.isin(nfa.arcs[:, 0], inside_letters(machine))
    marks = (nfa.arcs[:, 1] >= NUM_BYTES) | silent
    marks |= (nfa.arcs[:, 1] == LETTER) & (nfa.arcs[:, 2] == LETTER)
    arcs = nfa.arcs[~marks].copy()
    crossing = arcs[:, 2] >= NUM_BYTES
    epsilons = np.concatenate([nfa.arcs[marks][:, [0, 3]], arcs[crossing][:, [0, 3]]])
    arcs[:, 2] = np.minimum(arcs[:, 2], NUM_BYTES - 1)
    texts = Nfa(nfa.num_states, nfa.start, arcs, epsilons.astype(np.int32), nfa.accepting)
    return operations.minimal_dfa(texts, meter)


def texts_are_those_of(node: Node) -> bool:
    """Whether the texts of a tree over tokens are those of its machine over bytes.

    True if only limits speak about tokens, and no limit occurs in a complement or a subtracted
    part: a text that is one token keeps every limit.
    """
    match node:
        case TokenPiece():
            return False
        case Negate():
            return not speaks_of_tokens(node.body)
        case Subtract():
            return texts_are_those_of(node.left) and not speaks_of_tokens(node.right)
        case _:
            return all(map(texts_are_those_of, children(node)))


def speaks_of_tokens(node: Node) -> bool:
    """Whether a tree has a limit on tokens, or asks for specific tokens."""
    return any(isinstance(each, TokenPiece | TokenLimit) for each in walk(node))


# Parts, over beginnings, bytes, ends and digits


def _part(node: Node, meter: Meter) -> Dfa:
    """The machine of a part over the `NUM_PART_SYMBOLS` symbols."""
    while isinstance(node, Group | Written):
        node = node.body
    match node:
        case TokenPiece():
            return node.tokens()
        case TokenLimit():
            body = _part(node.body, meter)
            meter.check("Counting tokens", states=body.num_states * (2 * node.most + 1))
            return operations.intersection(body, _at_most(node.most), meter)
        case Rules():
            return in_any_tokens(_regular(node, meter), meter)
        case Machine() | Deferred() | Whole() | Texts() | Remembered():
            return in_any_tokens(build(node, meter), meter)
        case Intersect():
            return operations.intersection(_part(node.left, meter), _part(node.right, meter), meter)
        case Subtract():
            return operations.difference(_part(node.left, meter), _part(node.right, meter), meter)
        case Negate():
            return operations.difference(_any_tokens(), _part(node.body, meter), meter)
        case _:
            laid = lay_out(
                node, meter, symbols=Symbols(NUM_PART_SYMBOLS, _fragment),
                machine=lambda inner: _part(inner, meter),
            )  # fmt: skip
            return operations.minimal_dfa(laid, meter)


def _regular(node: Rules, meter: Meter) -> Dfa:
    """The machine of rules without recursion.

    Raises:
        ConstraintError: They recurse; a stack and the ends of tokens cannot be followed together.
    """
    try:
        return build(node, meter)
    except NotRegular as error:
        raise ConstraintError(
            f"{error.message.rstrip('.')}; and another part speaks about tokens, such as a limit "
            "(max_tokens) or TEXT_TOKEN. The two are not followed together.",
            remedy="Bound the grammar, grammar(...).bounded(depth=...), or leave that part out.",
        ) from error


def in_any_tokens(dfa: Dfa, meter: Meter) -> Dfa:
    """The words of a machine over bytes, with any beginnings and ends of tokens.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    if dfa.num_states == 0:
        return operations.empty_dfa(NUM_PART_SYMBOLS)
    nfa = operations.dfa_to_nfa(dfa)
    n = nfa.num_states
    meter.check("Marking tokens", states=3 * n, arcs=4 * len(nfa.arcs) + 2 * n)
    source, low, high, target = nfa.arcs.T
    states = np.arange(n, dtype=np.int32)
    # State s + n: after a beginning. State s + 2n: before an end.
    rows = [(a, low, high, b) for a in (source, source + n) for b in (target, target + 2 * n)]
    begin, end = np.full(n, TOKEN_BEGIN), np.full(n, TOKEN_END)
    rows += [(states, begin, begin, states + n), (states + 2 * n, end, end, states)]
    arcs = np.concatenate([np.column_stack(row) for row in rows]).astype(np.int32)
    marked = Nfa(3 * n, nfa.start, arcs, _NO_EPSILONS, nfa.accepting, NUM_PART_SYMBOLS)
    return operations.minimal_dfa(marked, meter)


@lru_cache(maxsize=2048)
def _fragment(chars: CharSet) -> Fragment:
    """A set of characters over its bytes, with any beginnings and ends of tokens."""
    plain = utf8_fragment(chars)
    begun = {state: k for k, state in enumerate([ENTRY, *range(2, 2 + plain.num_inner)])}
    ending = {state: k for k, state in enumerate([EXIT, *range(2, 2 + plain.num_inner)])}
    first_begun = 2 + plain.num_inner
    first_ending = first_begun + len(begun)
    arcs: list[Arc] = []
    for source, low, high, target in plain.arcs:
        for before in (source, first_begun + begun[source]):
            arcs += [(before, low, high, target)]
            arcs += [(before, low, high, first_ending + ending[target])]
    arcs += [(s, TOKEN_BEGIN, TOKEN_BEGIN, first_begun + k) for s, k in begun.items()]
    arcs += [(first_ending + k, TOKEN_END, TOKEN_END, s) for s, k in ending.items()]
    return Fragment(tuple(arcs), plain.num_inner + len(begun) + len(ending))


@lru_cache(maxsize=32)
def _at_most(most: int) -> Dfa:
    """The pieces that at most ``most`` tokens write.

    A token writes the bytes between two marks, so the machine counts these runs. The first and the
    last run may belong to tokens that begin before the piece or end after it. A letter is a run as
    well: a control token counts as one.
    """
    marks = ((TOKEN_END, TOKEN_END), (TOKEN_BEGIN, TOKEN_BEGIN))
    written = ((0, NUM_BYTES - 1),)
    # State 2k: after k runs, at a mark; state 2k - 1: inside of run k.
    arcs = [(state, low, high, state + state % 2) for state in range(2 * most + 1)
            for low, high in marks]  # fmt: skip
    arcs += [(state, low, high, state + 1 - state % 2) for state in range(2 * most)
             for low, high in written]  # fmt: skip
    every = np.arange(2 * most + 1, dtype=np.int32)
    rows = np.array(arcs, np.int32)
    nfa = Nfa(len(every), 0, rows, _NO_EPSILONS, every, NUM_PART_SYMBOLS)
    return operations.minimal_dfa(nfa, Meter())


@cache
def _any_tokens() -> Dfa:
    """Any text in any tokenization, the universe of a complement."""
    return in_any_tokens(any_text(), Meter())


# The whole


@cache
def _tokenized() -> Dfa:
    """The output of T_V: texts cut into nonempty tokens, and letters between them."""
    text = any_text()
    n = text.num_states
    plain = operations.dfa_to_nfa(text)
    boundary, begun, inside = (np.arange(n, dtype=np.int32) + k * n for k in range(3))
    source, low, high, target = plain.arcs.T
    arcs = [
        np.column_stack([boundary, *2 * [np.full(n, TOKEN_BEGIN)], begun]),
        np.column_stack([inside, *2 * [np.full(n, TOKEN_END)], boundary]),
        np.column_stack([source + n, low, high, target + 2 * n]),
        np.column_stack([source + 2 * n, low, high, target + 2 * n]),
    ]
    # A letter is a token of its own and stands between characters.
    written = 3 * n
    letter, inner = letter_arcs(int(text.start) + n, written, written + 1)
    letter.append((written, TOKEN_END, TOKEN_END, int(text.start)))
    states = written + 1 + inner
    rows = np.concatenate([*arcs, np.array(letter)]).astype(np.int32)
    nfa = Nfa(states, int(text.start), rows, _NO_EPSILONS, plain.accepting, NUM_PART_SYMBOLS)
    return operations.minimal_dfa(nfa, Meter())


def _without_beginnings(dfa: Dfa, meter: Meter) -> Dfa:
    """The machine without beginnings: between two tokens nothing else can come."""
    if dfa.num_states == 0:
        return operations.empty_dfa(NUM_TOKEN_SYMBOLS)
    begun = dfa.table[:, dfa.symbol_class[TOKEN_BEGIN]]
    table = np.where((begun != NO_ARC)[:, None], dfa.table[np.maximum(begun, 0)], dfa.table)
    symbol_class = np.ascontiguousarray(dfa.symbol_class[:NUM_TOKEN_SYMBOLS])
    shorter = Dfa(symbol_class, np.ascontiguousarray(table), dfa.accepting, dfa.start)
    return operations.minimize(shorter, meter)
