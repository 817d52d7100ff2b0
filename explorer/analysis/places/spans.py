"""Which part of the source expects this, or excludes it.

The tree of the constraint is asked part by part, each with its own machine:

*a regex, a choice, a sequence*  the live positions of its position automaton, with their spans;
*an intersection*  the operands that die; if none dies alone it is the combination, and each operand
has a word of its own that shows so;
*a difference, a complement*  the excluder, with a word of it that would otherwise do;
*a regex with assertions*  if the pattern without one assertion would read on, that assertion
excludes;
*a sequence or repetition that holds one of those*  its own parts, each asked with the rest of the
text that it would read;
*an imported machine*  its state, because it has nothing else.

An alternative that the text has left already says nothing. What is named is exact with one
exception: in a pattern with assertions the positions are those of the pattern without them, as far
as they read what the exact machine expects, so that a position may be among them which an assertion
keeps from ever being finished. Cost: a look-up per byte of text and
part; the machines of the parts are built once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from explorer.analysis.places.positions import LIMITS, Position, positions_of
from explorer.analysis.verdict.machine import expected_bytes
from explorer.analysis.verdict.verdict import Verdict
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


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the question is asked.

    Args:
        text: What was read; the beginning of some word.
        byte: The byte that fails there; ``None`` asks what must come before the text may end.
        begin: Where the character begins that the byte belongs to, at most ``len(text)``.
    """

    text: bytes
    byte: int | None
    begin: int

    @property
    def longer(self) -> bytes:
        """The text with the byte."""
        return self.text if self.byte is None else self.text + bytes([self.byte])


def parts(
    source: Source, dfa: Dfa, text: bytes, byte: int | None, begin: int | None = None
) -> tuple[Part, ...]:
    """What of a source decides at one place.

    Args:
        source: The constraint's tree.
        dfa: Its machine.
        text: What was read; the beginning of some word.
        byte: The byte that fails there; ``None`` asks what must come before the text may end.
        begin: Where the character begins that is not finished, so that all characters which could
            stand there count, and not only those with the same lead byte. Default: here.

    Returns:
        The parts, in the order of the tree.
    """
    place = _Place(text, byte, len(text) if begin is None else begin)
    return tuple(_find(source, dfa, place, ()))


def parts_of(source: Source, dfa: Dfa, verdict: Verdict) -> tuple[Part, ...]:
    """What of a source decides a verdict; nothing where the constraint has no say.

    Args:
        source: The constraint's tree.
        dfa: Its machine.
        verdict: The verdict.
    """
    if verdict.char_state == NO_ARC or verdict.stage not in (
        "constraint", "end_of_text", "dead_end", "allowed",
    ):  # fmt: skip
        return ()
    byte = verdict.failing_byte
    if byte is None and verdict.stage in ("allowed", "dead_end"):
        # What comes next, not what forbids: only the positions.
        begin = verdict.char_begin
        found = parts(source, dfa, verdict.read, None, begin)
        return tuple(part for part in found if part.role == "expects")
    return parts(source, dfa, verdict.read, byte, verdict.char_begin)


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


def _find(source: Source, dfa: Dfa | None, place: _Place, path: tuple[int, ...]) -> list[Part]:
    try:
        machine = machine_of_source(source) if dfa is None else dfa
        here = _after(machine, place.text)
        if here == NO_ARC:
            return []
        match source:
            case Union():
                return [
                    part
                    for k, below in enumerate(source.parts)
                    for part in _find(below, None, place, (*path, k))
                ]
            case Intersection():
                return _intersection(source, place, path)
            case Difference():
                return _excluded(source, source.left, source.right, place, path)
            case Complement():
                return _excluded(source, None, source.part, place, path)
            case Imported():
                return [Part("state", source, path, state=here)]
            case Concatenation() | Repetition() if _holds_others(source):
                return _nested(source, place, path)
            case _:
                return _positions(source, machine, here, place, path)
    except BudgetExceeded:
        return [Part("too_large", source, path)]


def _after(dfa: Dfa, text: bytes) -> int:
    return NO_ARC if dfa.start == NO_ARC else int(run(dfa, dfa.start, text)[-1])


def _survives(source: Source, place: _Place) -> int:
    """Where a part is after the byte, or, without one, whether it may end; `NO_ARC` if it dies."""
    machine = machine_of_source(source)
    here = _after(machine, place.longer)
    dies = place.byte is None and here != NO_ARC and not machine.accepting[here]
    return NO_ARC if dies else here


def _word(source: Source, place: _Place) -> bytes:
    """A shortest word of a part that begins so; the text itself where it may end."""
    if place.byte is None:
        return place.text
    machine = machine_of_source(source)
    return place.longer + shortest_word(machine, _after(machine, place.longer))


def _operands(source: Source, path: tuple[int, ...]) -> list[tuple[Source, tuple[int, ...]]]:
    if isinstance(source, Intersection):
        return [*_operands(source.left, (*path, 0)), *_operands(source.right, (*path, 1))]
    return [(source, path)]


def operands_of(source: Intersection) -> tuple[Source, ...]:
    """The operands of an intersection of any number, in the order of `Part.words`."""
    return tuple(operand for operand, _ in _operands(source, ()))


def _intersection(source: Intersection, place: _Place, path: tuple[int, ...]) -> list[Part]:
    operands = _operands(source, path)
    dying = [item for item in operands if _survives(item[0], place) == NO_ARC]
    if dying:
        return [part for item, at in dying for part in _find(item, None, place, at)]
    words = tuple(_word(item, place) for item, _ in operands)
    return [Part("combination", source, path, words=words)]


def _excluded(
    source: Difference | Complement, left: Source | None, right: Source, place: _Place,
    path: tuple[int, ...],
) -> list[Part]:  # fmt: skip
    """A difference; a complement is one of any text."""
    at = (*path, 0 if left is None else 1)
    if left is not None:
        if _survives(left, place) == NO_ARC:
            return _find(left, None, place, (*path, 0))
        words = (_word(left, place),)
    else:
        there = _after(any_text(), place.longer)
        if there == NO_ARC or (place.byte is None and not any_text().accepting[there]):
            # What is no text at all is excluded by nobody.
            here = _after(machine_of_source(source), place.text)
            return [Part("state", source, path, state=here)]
        rest = b"" if place.byte is None else shortest_word(any_text(), there)
        words = (place.longer + rest,)
    if place.byte is None:  # The excluder may end here; it has no position that says so.
        return [Part("excludes", right, at, (), words)]
    automaton = positions_of(right)
    found = automaton.positions(automaton.live(place.text), bytes([place.byte]))
    return [Part("excludes", right, at, found, words)]


def _holds_others(source: Source) -> bool:
    """Whether a part has no positions of its own, so that it must be asked itself."""
    if isinstance(source, Imported | Intersection | Difference | Complement):
        return True
    return any(map(_holds_others, children_of(source)))


def _nested(source: Concatenation | Repetition, place: _Place, path: tuple[int, ...]) -> list[Part]:
    """The parts of a sequence, each asked from every offset at which it can begin."""
    found: dict[tuple[tuple[int, ...], str, tuple[Position, ...]], Part] = {}
    begins = {0}
    following = source.parts if isinstance(source, Concatenation) else (source.part,)
    for k, below in enumerate(following):
        waiting = sorted(begins)
        ends: set[int] = set()
        machine = machine_of_source(below)
        for begin in waiting:
            # A repetition begins again where it ended; its list grows while it is read.
            rest = place.text[begin:]
            states = run(machine, machine.start, rest) if machine.start != NO_ARC else None
            if states is None:
                continue
            stops = {
                begin + n for n, q in enumerate(states.tolist()) if q >= 0 and _ends(machine, q)
            }
            if isinstance(source, Repetition) and source.unbounded:
                waiting += sorted(stops - set(waiting))
            ends |= stops
            # Where it may end itself, what must come before the end is in the parts after it.
            done = place.byte is None and len(place.text) in stops
            if states[-1] == NO_ARC or (done and _holds_others(below)):
                continue
            shifted = _Place(rest, place.byte, max(place.begin - begin, 0))
            for part in _find(below, None, shifted, (*path, k)):
                found.setdefault((part.path, part.role, part.positions), part)
        begins = ends
    return list(found.values())


def _ends(dfa: Dfa, state: int) -> bool:
    return bool(dfa.accepting[state])


def _positions(
    source: Source, machine: Dfa, here: int, place: _Place, path: tuple[int, ...]
) -> list[Part]:
    automaton = positions_of(source)
    begun = place.text[: place.begin]
    expected = expected_bytes(machine, _after(machine, begun))
    found: list[Part] = []
    positions = automaton.positions(automaton.live(begun), expected)
    if positions and machine.num_states and expected_bytes(machine, here):
        found.append(Part("expects", source, path, positions))
    if isinstance(source, Regex) and source.tree.has_assertions:
        live = automaton.live(place.text)
        if place.byte is None:
            goes_on = automaton.may_end(live)
        else:
            goes_on = place.byte in automaton.read_bytes(live)
        if goes_on:
            found += _assertions(source, place, path)
    return found


# Assertions


def _assertions(source: Regex, place: _Place, path: tuple[int, ...]) -> list[Part]:
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
        there = _after(machine, place.longer)
        if there != NO_ARC and (place.byte is not None or machine.accepting[there]):
            rest = b"" if place.byte is None else shortest_word(machine, there)
            found.append(replace(part, words=(place.longer + rest,)))
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
        variant = Tree(tree.pattern, tree.flags, less, tree.group_names, tree.num_groups, has)
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
