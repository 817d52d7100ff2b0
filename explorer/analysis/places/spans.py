"""The parts of a source that expect or exclude something at one place.

A `SourcePart` is a part of a constraint and its role there, as explanations name it; a
`PlaceQuestion` asks what comes next after a text, or why a byte does not.

The source's tree is examined part by part, each with its own machine:

*a pattern, a choice, a sequence*  the live places of its position automaton, with their spans;
*an intersection*  the operands that reject the text; if each of them alone would go on, their
    combination, with a word of each operand as evidence;
*a difference, a complement*  the excluder, with a word that it forbids;
*a pattern with assertions*  the assertions without which the pattern would read on;
*a sequence or repetition that holds one of those*  its own parts, each asked with the rest of the
text that it would read;
*a ready machine*  its state, for want of a source.

An alternative that the text has already left is not named. The names are exact with one exception:
in a pattern with assertions the places are those of the pattern without them, as far as they read
what the exact machine expects, so they may include one that an assertion keeps from being finished.
Cost: a look-up per byte of text and part; the machines of the parts are built once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal

from explorer.alphabet import in_quotes
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa, run, whole_table
from explorer.automata.tree.assertions import without_edge_anchors
from explorer.automata.tree.build import build
from explorer.automata.tree.changes import Change, Changeable, NamedSpan
from explorer.automata.tree.nodes import (
    Assertion,
    Deferred,
    Empty,
    Node,
    Offered,
    Origin,
    Rules,
    Source,
    Texts,
    Whole,
    Written,
    children,
    inside,
    shape_of,
    with_children,
)
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.written.configuration import Configurations, LivePlace, open_rules

MOST_TEXTS: Final = 4
"""The most texts of a choice that are named."""

Role = Literal["expects", "excludes", "combination", "state", "too_large", "token_limit"]


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """One place of a source.

    Args:
        source: The source that contains it.
        start, end: Its span in the text of that source; ``None`` if it is not written there.
        text: Its text: a piece of the source's text, or the matching texts of a choice.
        label: A name beside its span, such as ``/properties/age``; may be empty.
        phases: The phases of the run that contain it, the outermost first.
        changes: Gives the changes of the source that let the text go on (`NamedSpan`).
    """

    source: Source
    start: int | None
    end: int | None
    text: str
    label: str = ""
    phases: tuple[str, ...] = ()
    changes: Callable[[], Iterable[tuple[Change, Changeable]]] = field(
        default=tuple, compare=False, repr=False
    )

    @property
    def span(self) -> tuple[int, int] | None:
        """``(start, end)`` in characters of the source's text."""
        return None if self.start is None or self.end is None else (self.start, self.end)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text of a source, and spans in it.

    Args:
        spans: ``(start, end)`` in its characters, each.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A part of the constraint and its role at one place.

    Args:
        role: ``expects``: it must go on at its positions. ``excludes``: it forbids what its rival
            would allow. ``combination``: several parts together. ``state``: a machine without
            source. ``too_large``: its layout exceeds the limits.
            ``token_limit``: its text would go on, but its limit on tokens is used up.
        source: The source that contains it.
        path: The path to that source: the number of the child at each level.
        positions: The live places in it; for an excluding assertion, the assertion.
        words: Words as evidence: for ``excludes`` a word that it forbids, for ``combination``
            one word of each operand.
        state: For ``state``: the state of the machine.
        assertion: For an excluding assertion: its kind.
        note: For ``expects``: one more sentence, such as the open rules of a grammar.
        operands: For ``combination``: the text of each operand, in the order of ``words``.
        phases: The phases of the run that contain it, the outermost first; see `named_phases`.
        beside: For ``state``: whether another part forbids it as well, so that this is not the
            only reason.
        limit: For ``token_limit``: the name of the part, if it has one, and the most tokens.
    """

    role: Role
    source: Source
    path: tuple[int, ...]
    positions: tuple[SourcePlace, ...] = ()
    words: tuple[bytes, ...] = ()
    state: int = NO_ARC
    assertion: str = ""
    operands: tuple[str, ...] = ()
    limit: tuple[str, int] = ("", 0)
    note: str = ""
    beside: bool = False
    phases: tuple[str, ...] = ()

    @property
    def named_phases(self) -> tuple[tuple[str, ...], ...]:
        """The distinct phases of its positions; its own if it has no positions."""
        inside = [place.phases for place in self.positions] or [self.phases]
        return tuple(dict.fromkeys(phases for phases in inside if phases))

    @property
    def marked(self) -> tuple[MarkedText, ...]:
        """The texts that contain positions, each with their spans, in the order of the first.

        The parts of a template have texts of their own, so where a part may go on or end there are
        two: its own and the template's.
        """
        by_source: dict[int, list[SourcePlace]] = {}
        for place in self.positions:
            if place.span is not None:
                by_source.setdefault(id(place.source), []).append(place)
        return tuple(
            MarkedText(places[0].source.text, tuple(p.span for p in places if p.span is not None))
            for places in by_source.values()
        )

    @property
    def pattern(self) -> str:
        """The text that contains all positions, if they have one source; else empty."""
        marked = self.marked
        unmarked = any(place.span is None for place in self.positions)
        return marked[0].text if len(marked) == 1 and not unmarked else ""

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the positions in `pattern`; if that is empty, in the text of `source`."""
        one = bool(self.pattern)
        places = (place for place in self.positions if one or place.source == self.source)
        return tuple(place.span for place in places if place.span is not None)


def source_places(places: Iterable[LivePlace], source: Source) -> tuple[SourcePlace, ...]:
    """The distinct places of live places, in this source where their node names none."""
    # The texts of a choice share prefixes, so several origins may be one place.
    origins = {
        (id(each.source), id(each.node) if each.start == each.end else 0, each.start, each.end,
         each.before, each.label, each.phases): each
        for each in (place.origin for place in places)
    }  # fmt: skip
    return tuple(dict.fromkeys(_source_place(each, source) for each in origins.values()))


def _source_place(origin: Origin, source: Source) -> SourcePlace:
    source, start, end = origin.source or source, origin.start, origin.end
    if isinstance(origin.node, Texts):
        return SourcePlace(
            source, None, None, _alive(origin.node, origin.before), origin.label, origin.phases
        )
    if start == end:
        return SourcePlace(source, None, None, str(source), origin.label, origin.phases)
    return SourcePlace(source, start, end, source.text[start:end], origin.label, origin.phases)


@lru_cache(maxsize=64)
def _in_order(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(sorted(text.encode() for text in texts))


def _alive(node: Texts, before: bytes) -> str:
    """The texts of a choice with a prefix, in byte order."""
    data = _in_order(node.texts)
    low = high = bisect_left(data, before)
    while high < len(data) and data[high].startswith(before):
        high += 1
    shown = ", ".join(in_quotes(text.decode()) for text in data[low : min(high, low + MOST_TEXTS)])
    more = high - low - MOST_TEXTS
    return shown + (f", … {more:,} more" if more > 0 else "")


def expecting(
    places: Sequence[LivePlace], source: Source, path: tuple[int, ...]
) -> list[SourcePart]:
    """The parts that go on at some places: one for each rule; the last notes the open rules."""
    by_rule: dict[str, list[LivePlace]] = {}
    for place in places:
        by_rule.setdefault(place.rule, []).append(place)
    parts = [
        SourcePart("expects", source, path, source_places(group, source))
        for group in by_rule.values()
    ]
    if said := open_rules(places):
        parts[-1] = replace(parts[-1], note=said)
    return parts


def state_after(machine: ByteMachine, text: bytes) -> int:
    """The state of a machine after a text; `NO_ARC` where no word has this prefix."""
    if machine.start == NO_ARC:
        return NO_ARC
    return int(run(machine, machine.start, text)[-1])


@dataclass(frozen=True, slots=True)
class PlaceQuestion:
    """The question of what comes next after a text, or why a byte does not.

    Args:
        text: The text that was read, a prefix of some word.
        byte: The byte that fails after it; ``None`` asks what must come before the text may end.
        begin: The offset of the character that contains the byte, at most ``len(text)``.
        rest: The bytes that were written after it.
        only: Count only places that read one of these bytes; ``None`` for all.
        boundary: An offset at which a token is known to begin; ``None`` without one.
        offered: What the byte and the rest are.
    """

    text: bytes
    byte: int | None
    begin: int
    rest: bytes = b""
    only: bytes | None = None
    boundary: int | None = None
    offered: Offered = "text"

    def shifted(self, begin: int) -> PlaceQuestion:
        """The same question for a part that begins at an offset of the text."""
        known = self.boundary is not None and self.boundary >= begin
        return replace(
            self, text=self.text[begin:], begin=max(self.begin - begin, 0),
            boundary=self.boundary - begin if known and self.boundary is not None else None,
        )  # fmt: skip

    @property
    def begun(self) -> bytes:
        """The text without an unfinished character at its end."""
        return self.text[: self.begin]

    def expected(self, machine: ByteMachine) -> bytes:
        """The bytes that a machine expects after the text, of those in ``only``."""
        expected = machine.expected(state_after(machine, self.begun))
        if self.only is None or self.begin != len(self.text):
            return expected
        return bytes(byte for byte in expected if byte in self.only)

    @property
    def longer(self) -> bytes:
        """The text with the byte."""
        return self.text if self.byte is None else self.text + bytes([self.byte])


LIMITS: Final = Budget(states=400_000, arcs=2_000_000, bytes=500_000_000, seconds=5.0)
"""Limits of the layout of a source; a larger one has no places, and the explanation says so."""

MOST_ASSERTIONS: Final = 8
"""The most assertions of one pattern that are examined."""


@dataclass(frozen=True, slots=True)
class _At:
    """A place in the tree of a source.

    Args:
        source: The innermost source.
        path: The path to it.
        label: The name of the place.
        phases: The phases that contain it, the outermost first.
    """

    source: Source
    path: tuple[int, ...] = ()
    label: str = ""
    phases: tuple[str, ...] = ()

    def entered(self, node: Node) -> tuple[Node, _At]:
        """The node below groups and `Written` nodes, and its place."""
        at = self
        while shape_of(node).part == "around":
            if isinstance(node, Written):  # The origin of all below it.
                path = at.path if node.child is None else (*at.path, node.child)
                phases = at.phases if node.part is None else (*at.phases, *node.part.phases)
                at = _At(node.source or at.source, path, node.label or at.label, phases)
            (node,) = children(node)
        return node, at


def parts(
    source: Source,
    machine: ByteMachine,
    text: bytes,
    byte: int | None,
    begin: int | None = None,
    rest: bytes = b"",
    offered: Offered = "text",
) -> tuple[SourcePart, ...]:
    """The parts of a source that decide (`PlaceQuestion`), in the order of the tree; by default the
    failing byte begins a character."""
    question = PlaceQuestion(
        text, byte, len(text) if begin is None else begin, rest, offered=offered
    )
    return source_machines(source).parts(question, machine)


def live_places(source: Source, text: bytes) -> tuple[SourcePlace, ...]:
    """The places of a whole source at which it goes on after a text, in the order of the tree.

    Raises:
        BudgetExceeded: The source is larger than `LIMITS`.

    Example:
        >>> from explorer.languages.regex.source import Regex
        >>> [place.text for place in live_places(Regex("a[bc]*d"), b"ab")]
        ['[bc]', 'd']
    """
    known = source_machines(source)
    return source_places(known.live(known.source.tree, _At(known.source), text), known.source)


@lru_cache(maxsize=64)
def source_machines(source: Source) -> SourceMachines:
    """The machines of a source, cached for the last few sources."""
    return SourceMachines(source)


@dataclass(slots=True, eq=False)
class SourceMachines:
    """A source, and the machines of its parts, each built on first use.

    Nodes are known by identity: the tree belongs to the source, which is held here.
    """

    source: Source
    machines: dict[int, ByteMachine] = field(default_factory=dict[int, ByteMachine])
    written: dict[int, Configurations] = field(default_factory=dict[int, Configurations])
    closed: dict[int, bool] = field(default_factory=dict[int, bool])
    variants: dict[int, tuple[tuple[Assertion, Dfa], ...]] = field(
        default_factory=dict[int, "tuple[tuple[Assertion, Dfa], ...]"]
    )

    def machine(self, node: Node) -> ByteMachine:
        """The machine of a part; a discovered one if its closed form is too large."""
        if id(node) not in self.machines:
            try:
                return self.closed_form(node)
            except BudgetExceeded:
                self.machines[id(node)] = discover(node, LIMITS)
        return self.machines[id(node)]

    def closed_form(self, node: Node) -> Dfa:
        """The closed form of a part.

        Raises:
            BudgetExceeded: It is larger than `LIMITS`.
        """
        table = whole_table(self.machines.get(id(node)))
        if table is None:
            table = self.machines[id(node)] = build(node, Meter(LIMITS))
        return table

    def as_written(self, node: Node, at: _At) -> Configurations:
        """The layout of a part, with the configurations that texts lead to.

        Raises:
            BudgetExceeded: It is larger than `LIMITS`.
        """
        known = self.written.get(id(node))
        if known is None:
            written = Written(node.start, node.end, node, at.source, at.label)
            known = self.written[id(node)] = Configurations(written, LIMITS, self.closed_form)
        return known

    @property
    def whole(self) -> Configurations:
        """The whole source as it was written.

        Raises:
            ExplorerError: It is larger than `LIMITS`, or cannot be laid out.
        """
        return self.as_written(self.source.tree, _At(self.source))

    def live(
        self, node: Node, at: _At, text: bytes, wanted: bytes | None = None,
        boundary: int | None = None,
    ) -> tuple[LivePlace, ...]:  # fmt: skip
        """The places of a part at which it goes on after a text."""
        here = self.as_written(node, at).after(text, boundary)
        places = () if here is None else here.places(wanted)
        return tuple(place.within(at.phases) for place in places) if at.phases else places

    def spans_after(self, text: bytes) -> tuple[tuple[int, int], ...]:
        """The spans of the source's own text at which it goes on after a text, each once.

        Raises:
            BudgetExceeded: The source is larger than `LIMITS`.
        """
        here = self.whole.after(text)
        origins = (place.origin for place in (() if here is None else here.places()))
        nodes = (each.node for each in origins if each.source in (None, self.source))
        spans = ((node.start, node.end) for node in nodes if not isinstance(node, Texts))
        return tuple(dict.fromkeys(span for span in spans if span[0] < span[1]))

    def is_closed(self, node: Node) -> bool:
        """Whether a part contains a node without places, so its parts are examined one by one."""
        known = self.closed.get(id(node))
        if known is None:
            part = shape_of(node).part
            known = self.closed[id(node)] = part in ("both", "without", "ready") or (
                part != "pattern" and any(map(self.is_closed, children(node)))
            )
        return known

    def parts(self, question: PlaceQuestion, machine: ByteMachine) -> tuple[SourcePart, ...]:
        """The parts that decide; ``machine`` is that of the whole source."""
        return tuple(self.find(self.source.tree, _At(self.source), question, machine))

    def find(
        self, node: Node, at: _At, question: PlaceQuestion, whole: ByteMachine | None = None
    ) -> list[SourcePart]:
        """The parts that decide within a part; ``whole`` is its machine if that is known."""
        inner, here_at = at.entered(node)
        parts = self._deciding_in(node, inner, at, here_at, question, whole)
        if not here_at.phases:
            return parts
        return [part if part.phases else replace(part, phases=here_at.phases) for part in parts]

    def _deciding_in(
        self, node: Node, inner: Node, at: _At, here_at: _At, question: PlaceQuestion,
        whole: ByteMachine | None,
    ) -> list[SourcePart]:  # fmt: skip
        try:
            machine = self.machine(node) if whole is None else whole
            here = state_after(machine, question.text)
            if here == NO_ARC:
                return []
            below = children(inner)
            match shape_of(inner).part:
                # Alternatives that are separate parts, not those of one pattern.
                case "alternatives" if self.is_closed(inner) or any(
                    isinstance(option, Written) for option in below
                ):
                    return [
                        part for option in below for part in self.find(option, here_at, question)
                    ]
                case "both":
                    return self.intersected(node, at, question)
                case "without":
                    return self.excluded(node, here_at, below, question)
                case "ready" if whole is None and not machine.expected(here):
                    return []  # This alternative has ended, and others go on.
                case "ready":
                    if whole is None and question.offered != "nothing":
                        question = replace(question, offered="part")
                    return self.ready(inner, here_at, machine, question) or [
                        SourcePart("state", here_at.source, here_at.path, state=here)
                    ]
                case "sequence" if self.is_closed(inner):
                    return self.nested(inner, here_at, question)
                case _:
                    return self.places(node, at, machine, here, question)
        except BudgetExceeded:
            return [SourcePart("too_large", here_at.source, here_at.path)]

    def ready(
        self, node: Node, at: _At, machine: ByteMachine, question: PlaceQuestion
    ) -> list[SourcePart]:
        """The places that the source of a ready machine names, those of the tree that it was
        written as, or the text that makes it."""
        if not isinstance(node, Deferred | Rules):
            return []
        written = node if isinstance(node, Rules) else node.written and node.written()
        if node.locate is None and written is not None:
            # The rules are written text: one part for each at which the text goes on.
            live = self.live(written, at, question.begun, question.expected(machine))
            return expecting(live, at.source, at.path)
        spans = (NamedSpan(node.start, node.end, ""),) if node.start < node.end else ()
        if node.locate is not None:
            spans = node.locate(question.text, question.byte, question.rest, question.offered)
        text = at.source.text
        places = tuple(
            SourcePlace(
                at.source, start, end, text[start:end], _inside(label, at.label), at.phases, changes
            )
            for start, end, label, changes in spans
        )
        return [SourcePart("expects", at.source, at.path, places)] if places else []

    def survives(self, node: Node, question: PlaceQuestion) -> int:
        """The state of a part after the byte; `NO_ARC` if it dies, or must end and may not."""
        machine = self.machine(node)
        here = state_after(machine, question.longer)
        dies = question.byte is None and here != NO_ARC and not machine.is_accepting(here)
        return NO_ARC if dies else here

    def word(self, node: Node, question: PlaceQuestion) -> bytes:
        """A shortest word of a part with the text as prefix; the text itself where it may end."""
        if question.byte is None:
            return question.text
        machine = self.machine(node)
        return question.longer + shortest_word(machine, state_after(machine, question.longer))

    def operands(self, node: Node, at: _At) -> Iterator[tuple[Node, _At]]:
        """The operands of nested intersections."""
        inner, here_at = at.entered(node)
        if shape_of(inner).part == "both":
            for each in children(inner):
                yield from self.operands(each, here_at)
        else:
            yield node, at

    def intersected(self, node: Node, at: _At, question: PlaceQuestion) -> list[SourcePart]:
        """The operands that reject the text, or the combination of all."""
        operands = list(self.operands(node, at))
        dying = [item for item in operands if self.survives(item[0], question) == NO_ARC]
        if dying:
            parts = [part for item, there in dying for part in self.find(item, there, question)]
            return [replace(part, beside=len(dying) > 1) for part in parts]
        words = tuple(self.word(item, question) for item, _ in operands)
        names = tuple(_name(item, there) for item, there in operands)
        _, there = at.entered(node)
        return [SourcePart("combination", there.source, there.path, words=words, operands=names)]

    def excluded(
        self, node: Node, at: _At, below: tuple[Node, ...], question: PlaceQuestion
    ) -> list[SourcePart]:
        """The parts that decide in a difference; a complement is a difference from any text."""
        left, right = below[0], below[-1]
        if left is not right:
            if self.survives(left, question) == NO_ARC:
                return self.find(left, at, question)
            words = (self.word(left, question),)
        else:
            there = state_after(any_text(), question.longer)
            if there == NO_ARC or (question.byte is None and not any_text().is_accepting(there)):
                # Bytes that are not text fail before the excluded part matters.
                here = state_after(self.machine(node), question.text)
                return [SourcePart("state", at.source, at.path, state=here)]
            rest = b"" if question.byte is None else shortest_word(any_text(), there)
            words = (question.longer + rest,)
        _, inner = at.entered(right)
        if question.byte is None:  # The excluder may end here; no place of it says so.
            return [SourcePart("excludes", inner.source, inner.path, (), words)]
        places = self.live(right, at, question.text, bytes([question.byte]))
        reading = source_places(places, at.source)
        return [SourcePart("excludes", inner.source, inner.path, reading, words)]

    def nested(self, node: Node, at: _At, question: PlaceQuestion) -> list[SourcePart]:
        """The parts that decide in a sequence, each examined at all offsets where it can begin."""
        parts: dict[tuple[tuple[int, ...], str, tuple[SourcePlace, ...]], SourcePart] = {}
        for below, begin, may_end in self.reading(node, question.text):
            # If it may end itself, the parts after it keep the text from ending.
            if question.byte is None and may_end and self.is_closed(below):
                continue
            for part in self.find(below, at, question.shifted(begin)):
                parts.setdefault((part.path, part.role, part.positions), part)
        return list(parts.values())

    def reading(self, node: Node, text: bytes) -> Iterator[tuple[Node, int, bool]]:
        """The parts of a sequence that may be active at the end of a text: each with the offset at
        which it begins, and whether it may end there.
        """
        begins = {0}
        again = shape_of(node).again(node)
        for below in children(node):
            waiting = sorted(begins)
            ends: set[int] = set()
            machine = self.machine(below)
            if machine.start == NO_ARC:
                return
            for begin in waiting:
                # A repetition begins again at its ends; its list grows while it is read.
                states: list[int] = run(machine, machine.start, text[begin:]).tolist()
                stops = {
                    begin + n
                    for n, state in enumerate(states)
                    if state >= 0 and machine.is_accepting(state)
                }
                if again:
                    waiting += sorted(stops - set(waiting))
                ends |= stops
                if states[-1] != NO_ARC:
                    yield below, begin, len(text) in stops
            begins = ends

    def places(
        self, node: Node, at: _At, machine: ByteMachine, here: int, question: PlaceQuestion
    ) -> list[SourcePart]:
        """The live places of a part, and its assertions that exclude."""
        inner, there = at.entered(node)
        places: tuple[LivePlace, ...] = ()
        if machine.num_states and machine.expected(here):
            expected = question.expected(machine)
            places = self.live(node, at, question.begun, expected, question.boundary)
        parts = expecting(places, there.source, there.path)
        if isinstance(inner, Whole):
            relaxed = self.as_written(node, at).after(question.text)
            if relaxed is not None and (
                relaxed.may_end if question.byte is None else question.byte in relaxed.expected
            ):
                parts += self.assertions(inner, there, question)
        return parts

    def assertions(self, whole: Whole, at: _At, question: PlaceQuestion) -> list[SourcePart]:
        """The assertions without which the pattern would go on; else their combination."""
        excluding: list[SourcePart] = []
        tried: list[SourcePart] = []
        for assertion, machine in self.without_one(whole):
            start, end = assertion.start, assertion.end
            where = SourcePlace(at.source, start, end, at.source.text[start:end], at.label)
            name = f"{'negative ' if assertion.negated else ''}{assertion.kind.value}"
            part = SourcePart("excludes", at.source, at.path, (where,), assertion=name)
            tried.append(part)
            there = state_after(machine, question.longer)
            if there != NO_ARC and (question.byte is not None or machine.accepting[there]):
                rest = b"" if question.byte is None else shortest_word(machine, there)
                excluding.append(replace(part, words=(question.longer + rest,)))
        if not excluding and tried:
            together = tuple(part.positions[0] for part in tried)
            excluding.append(SourcePart("combination", at.source, at.path, together))
        return excluding

    def without_one(self, whole: Whole) -> tuple[tuple[Assertion, Dfa], ...]:
        """Each assertion of a pattern with the machine of the pattern without it."""
        known = self.variants.get(id(whole))
        if known is None:
            meter = Meter(LIMITS)
            root = without_edge_anchors(whole.body, meter)
            known = self.variants[id(whole)] = tuple(
                (assertion, build(Whole(0, 0, _dropped(root, assertion)), meter))
                for assertion in _outer_assertions(root)[:MOST_ASSERTIONS]
            )
        return known


def _inside(label: str, around: str) -> str:
    """The name of a place inside a part that has a name."""
    if not label or not around or label == around:
        return label or around
    return f"{around} ({label})" if ", " in label else f"{label} of {around}"


def _name(node: Node, at: _At) -> str:
    """The source text of an operand."""
    _, there = at.entered(node)
    inner = inside(node)
    if there.source is at.source and inner.start < inner.end:
        return there.source.text[inner.start : inner.end]
    return str(there.source)


def _outer_assertions(root: Node) -> list[Assertion]:
    """The assertions that are not inside another assertion, in the order of the pattern."""
    if isinstance(root, Assertion):
        return [root]
    return [each for child in children(root) for each in _outer_assertions(child)]


def _dropped(node: Node, assertion: Assertion) -> Node:
    """The pattern without one assertion."""
    if node is assertion:
        return Empty(node.start, node.end)
    return with_children(node, tuple(_dropped(each, assertion) for each in children(node)))
