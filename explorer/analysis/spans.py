"""Which part of the source expects this, or excludes it.

The tree of the constraint is asked part by part, each with its own machine:

*a regex, a choice, a sequence*  the live positions of its position automaton, with their spans;
*an intersection*  the operands that die; if none dies alone it is the combination, and each operand
has a word of its own that shows so;
*a difference, a complement*  the excluder, with a word of it that would otherwise do;
*a regex with assertions*  if the pattern without one assertion would read on, that assertion excludes;
*an imported machine*  its state, because it has nothing else.

An alternative that the text has left already says nothing. Cost: a look-up per byte of text and part;
the machines of the parts are built once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from explorer.analysis.machine import expected_bytes
from explorer.analysis.positions import LIMITS, Position, positions_of
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.regex import compile_tree
from explorer.automata.regex.lookaround import without_edge_anchors
from explorer.automata.regex.tree import (
    Assertion,
    Branch,
    Concat,
    Empty,
    Group,
    Node,
    Repeat,
    Tree,
    children,
)
from explorer.automata.source import (
    Choice,
    Complement,
    Concatenation,
    Difference,
    Imported,
    Intersection,
    Regex,
    Repetition,
    Source,
    Union,
)
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import shortest_word
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.tokens.failing import run

Role = Literal["expects", "excludes", "combination", "state", "too_large"]

MOST_ASSERTIONS = 8
"""How many assertions of one pattern are tried alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the constraint and what it does here.

    Args:
        role: ``expects``: it must go on at its positions. ``excludes``: it forbids what its rival
            would allow. ``combination``: no single part. ``state``: a machine without source.
            ``too_large``: it could not be laid out within limits.
        source: The part of the tree.
        path: The way to it in the tree: the number of the child at each level.
        positions: The live positions in it; for an excluding assertion, the assertion.
        words: Words as evidence: for ``excludes`` a word that it takes away, for ``combination``
            one word of each operand.
        state: For ``state``: the state of the machine.
        assertion: For an excluding assertion: what kind it is.
    """

    role: Role
    source: Source
    path: tuple[int, ...]
    positions: tuple[Position, ...] = ()
    words: tuple[bytes, ...] = ()
    state: int = NO_ARC
    assertion: str = ""

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the positions, in the pattern of ``source``."""
        return tuple(position.span for position in self.positions if position.span is not None)


@lru_cache(maxsize=64)
def machine_of_source(source: Source) -> Dfa:
    """The machine of a part, kept for the last few asked about.

    Raises:
        BudgetExceeded: It is larger than `LIMITS`.
    """
    return source.build(Meter(LIMITS))


def parts(source: Source, dfa: Dfa, text: bytes, byte: int | None) -> tuple[Part, ...]:
    """What of a source decides at one place.

    Args:
        source: The constraint's tree.
        dfa: Its machine.
        text: What was read; the beginning of some word.
        byte: The byte that fails there; ``None`` asks what must come before the text may end.

    Returns:
        The parts, in the order of the tree.
    """
    return tuple(_find(source, dfa, text, byte, ()))


def children_of(source: Source) -> tuple[Source, ...]:
    """The parts of a node, as `Part.path` counts them."""
    match source:
        case Union() | Concatenation():
            return source.parts
        case Intersection() | Difference():
            return (source.left, source.right)
        case Complement() | Repetition():
            return (source.part,)
        case _:
            return ()


def _find(
    source: Source, dfa: Dfa | None, text: bytes, byte: int | None, path: tuple[int, ...]
) -> list[Part]:
    try:
        machine = machine_of_source(source) if dfa is None else dfa
        here = _after(machine, text)
        if here == NO_ARC:
            return []
        match source:
            case Union():
                return [
                    part
                    for k, below in enumerate(source.parts)
                    for part in _find(below, None, text, byte, (*path, k))
                ]
            case Intersection():
                return _intersection(source, text, byte, path)
            case Difference():
                return _excluded(source, source.left, source.right, text, byte, path)
            case Complement():
                return _excluded(source, None, source.part, text, byte, path)
            case Imported():
                return [Part("state", source, path, state=here)]
            case _:
                return _positions(source, machine, here, text, byte, path)
    except BudgetExceeded:
        return [Part("too_large", source, path)]


def _after(dfa: Dfa, text: bytes) -> int:
    return NO_ARC if dfa.start == NO_ARC else int(run(dfa, dfa.start, text)[-1])


def _survives(source: Source, text: bytes, byte: int | None) -> int:
    """Where a part is after the byte, or, without one, whether it may end; `NO_ARC` if it dies."""
    machine = machine_of_source(source)
    if byte is not None:
        return _after(machine, text + bytes([byte]))
    here = _after(machine, text)
    return here if here != NO_ARC and machine.accepting[here] else NO_ARC


def _word(source: Source, text: bytes, byte: int | None) -> bytes:
    """A shortest word of a part that begins so; the text itself where it may end."""
    if byte is None:
        return text
    longer = text + bytes([byte])
    machine = machine_of_source(source)
    return longer + shortest_word(machine, _after(machine, longer))


def _operands(source: Source, path: tuple[int, ...]) -> list[tuple[Source, tuple[int, ...]]]:
    if isinstance(source, Intersection):
        return [*_operands(source.left, (*path, 0)), *_operands(source.right, (*path, 1))]
    return [(source, path)]


def _intersection(
    source: Intersection, text: bytes, byte: int | None, path: tuple[int, ...]
) -> list[Part]:
    operands = _operands(source, path)
    dying = [item for item in operands if _survives(item[0], text, byte) == NO_ARC]
    if dying:
        return [part for item, at in dying for part in _find(item, None, text, byte, at)]
    words = tuple(_word(item, text, byte) for item, _ in operands)
    return [Part("combination", source, path, words=words)]


def _excluded(
    source: Difference | Complement, left: Source | None, right: Source, text: bytes,
    byte: int | None, path: tuple[int, ...],
) -> list[Part]:  # fmt: skip
    """A difference; a complement is one of any text."""
    at = (*path, 0 if left is None else 1)
    if left is not None:
        if _survives(left, text, byte) == NO_ARC:
            return _find(left, None, text, byte, (*path, 0))
        words = (_word(left, text, byte),)
    else:
        there = _after(any_text(), text + (b"" if byte is None else bytes([byte])))
        if there == NO_ARC or (byte is None and not any_text().accepting[there]):
            # What is no text at all is excluded by nobody.
            return [Part("state", source, path, state=_after(machine_of_source(source), text))]
        words = (text if byte is None else text + bytes([byte]) + shortest_word(any_text(), there),)
    if byte is None:  # The excluder may end here; it has no position that says so.
        return [Part("excludes", right, at, (), words)]
    automaton = positions_of(right)
    found = automaton.positions(automaton.live(text), bytes([byte]))
    return [Part("excludes", right, at, found, words)]


def _positions(
    source: Source, machine: Dfa, here: int, text: bytes, byte: int | None, path: tuple[int, ...]
) -> list[Part]:
    automaton = positions_of(source)
    live = automaton.live(text)
    expected = expected_bytes(machine, here)
    found: list[Part] = []
    positions = automaton.positions(live, expected)
    if positions:
        found.append(Part("expects", source, path, positions))
    if isinstance(source, Regex) and source.tree.has_assertions:
        relaxed = automaton.read_bytes(live)
        if (byte in relaxed) if byte is not None else automaton.may_end(live):
            found += _assertions(source, text, byte, path)
    return found


# Assertions


def _assertions(
    source: Regex, text: bytes, byte: int | None, path: tuple[int, ...]
) -> list[Part]:
    """The assertions without one of which the pattern would go on; else their combination."""
    found: list[Part] = []
    tried: list[Part] = []
    for assertion, machine in _without_one(source):
        where = Position(
            source, assertion.start, assertion.end,
            source.pattern[assertion.start : assertion.end],
        )  # fmt: skip
        name = f"{'negative ' if assertion.negated else ''}{assertion.kind.value}"
        part = Part("excludes", source, path, (where,), assertion=name)
        tried.append(part)
        longer = text if byte is None else text + bytes([byte])
        there = _after(machine, longer)
        if there != NO_ARC and (byte is not None or machine.accepting[there]):
            word = longer + (b"" if byte is None else shortest_word(machine, there))
            found.append(replace(part, words=(word,)))
    if not found and tried:
        together = tuple(part.positions[0] for part in tried)
        found.append(Part("combination", source, path, together))
    return found


@lru_cache(maxsize=64)
def _without_one(source: Regex) -> tuple[tuple[Assertion, Dfa], ...]:
    """Each assertion of a pattern, and the machine of the pattern without it."""
    tree = source.tree
    root = without_edge_anchors(tree.root)
    result: list[tuple[Assertion, Dfa]] = []
    meter = Meter(LIMITS)
    for assertion in _outer_assertions(root)[:MOST_ASSERTIONS]:
        less = _dropped(root, assertion)
        has = any(_outer_assertions(less))
        variant = Tree(
            tree.pattern, tree.flags, less, tree.group_names, tree.num_groups, has
        )
        result.append((assertion, compile_tree(variant, meter)))
    return tuple(result)


def _outer_assertions(root: Node) -> list[Assertion]:
    """The assertions that are not inside another one, in the order of the pattern."""
    if isinstance(root, Assertion):
        return [root]
    return [found for child in children(root) for found in _outer_assertions(child)]


def _dropped(node: Node, assertion: Assertion) -> Node:
    """The pattern without one assertion."""
    if node is assertion:
        return Empty(node.start, node.end)
    match node:
        case Concat():
            return replace(node, items=tuple(_dropped(item, assertion) for item in node.items))
        case Branch():
            return replace(
                node, options=tuple(_dropped(option, assertion) for option in node.options)
            )
        case Repeat() | Group():
            return replace(node, body=_dropped(node.body, assertion))
        case _:
            return node
