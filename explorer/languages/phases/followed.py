"""The division of a text into the parts of its source: phases, parts of tags, parts of templates.

The syntax tree of a source with named parts (`NamedPart`) becomes a small automaton. Its arcs are
the *pieces* between the borders of parts, each a machine of its own; an ε-arc that crosses a border
is labelled with it. A text follows all paths at once: a *place* is a piece and the state of its
machine.

Where a text can be divided in several ways, each piece from the left takes the longest stretch with
which the rest still fits, as greedy quantifiers do; free text before a tag takes the shortest.
Control tokens at the borders leave only one way.

A configuration (`explorer.languages.written.configuration`) cannot say where past phases began and
ended: texts that lead to the same points share it. And its program holds whole machines, while a
piece may be a machine that is discovered, such as that of a large schema.

Cost: some microseconds per byte and place. A text that continues the previous one is followed only
from its new bytes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from explorer.alphabet import shown_letters
from explorer.automata.discovered.discover import small_or_discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Node, Repeat, Source, Written, children, shape_of
from explorer.automata.tree.parts import Kind, NamedPart
from explorer.languages.phases.phase import has_phases

START: Final = 0
END: Final = 1

MOST_COPIES: Final = 32
"""The most copies of a repetition that are written out by default; a longer one becomes a loop."""

Border = tuple[bool, int]
"""A border of a marked part: whether it begins there, and its number."""

Place = tuple[int, int]
"""The number of a piece, and the state of its machine; `ENDED` at the end of the source."""

ENDED: Final[Place] = (-1, -1)

PHASES: Final[frozenset[Kind]] = frozenset(("phase", "content", "tag"))
"""The kinds of parts by which a run is divided."""


@dataclass(frozen=True, slots=True)
class PhasePart:
    """One phase of a text.

    Args:
        name: The name of the phase.
        text: The text of its content, without ``begin`` and ``end`` of `explorer.phase`; a control
            token is shown by its name.
        value: The value of that text for the phase's constraint (`explorer.Constraint.parse`);
            the text itself if control tokens or other phases stand in it.
        begin, end: The span of the whole phase in the bytes of the text.
        parts: The phases inside, in the order of the text.
    """

    name: str
    text: str
    value: object
    begin: int
    end: int
    parts: tuple[PhasePart, ...] = ()


@dataclass(slots=True)
class Stretch:
    """A stretch of a text that belongs to a part, with those inside it.

    Args:
        part: The part; ``None`` for the whole text.
        begin, end: Its span in the bytes of the text.
    """

    part: NamedPart | None
    begin: int
    end: int
    inside: list[Stretch] = field(default_factory=list["Stretch"])


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a source without borders.

    Args:
        machine: The machine of the stretch.
        after: The state of the automaton after it.
        phases: The numbers of the marked parts around it, the outermost first.
        is_short: Whether it takes as little text as it can.
    """

    machine: ByteMachine
    after: int
    phases: tuple[int, ...]
    is_short: bool


@dataclass(slots=True)
class _Layer:
    """The places after a number of bytes, and whether the text may end there."""

    places: dict[Place, None] = field(default_factory=dict[Place, None])
    may_end: bool = False


class PartNet:
    """A tree with marked nodes as an automaton of pieces.

    Args:
        tree: The tree.
        kinds: The kinds of the parts that count.
        copies: The most copies of a repetition that are written out; a longer one becomes a loop.

    Attributes:
        phases: The marked parts, in the order of the tree; one that stands twice is listed twice.
        pieces: The pieces, in the order of the tree.
    """

    def __init__(
        self,
        tree: Node,
        kinds: frozenset[Kind],
        copies: int = MOST_COPIES,
    ) -> None:
        self.phases: list[NamedPart] = []
        self.pieces: list[Piece] = []
        self._kinds = kinds
        self._copies = copies
        self._leaving: dict[int, list[int]] = {}
        self._silent: dict[int, list[tuple[int, Border | None]]] = {}
        self._states = 2
        self._holding: dict[int, bool] = {}
        self._machines: dict[int, ByteMachine] = {}
        self._openings: dict[int, dict[Place, tuple[Border, ...]]] = {}
        self._known: tuple[bytes, list[_Layer]] = (b"", [])
        self._tree = tree  # Kept alive, since its nodes are known by id.
        self._lay(tree, START, END, ())

    # The automaton.

    def _fresh(self) -> int:
        self._states += 1
        return self._states - 1

    def _move(self, before: int, after: int, border: Border | None = None) -> None:
        self._silent.setdefault(before, []).append((after, border))

    def _part(self, node: Node) -> NamedPart | None:
        """The part that a node is, if it counts."""
        part = node.part if isinstance(node, Written) else None
        return part if part is not None and part.kind in self._kinds else None

    def _holds(self, node: Node) -> bool:
        """Whether a node or one below it is a part."""
        if id(node) not in self._holding:
            source = node.source if isinstance(node, Written) else None
            closed = source is not None and "phase" in self._kinds and not source.phased
            below = () if closed else children(node)
            self._holding[id(node)] = self._part(node) is not None or any(map(self._holds, below))
        return self._holding[id(node)]

    def _lay(self, node: Node, before: int, after: int, inside: tuple[int, ...]) -> None:
        """Add a node to the automaton between two states, with its borders if it is a part."""
        part = self._part(node)
        if part is None:
            self._lay_below(node, before, after, inside)
            return
        number, begin, end, behind = len(self.phases), self._fresh(), self._fresh(), self._fresh()
        self.phases.append(part)
        self._move(before, begin, (True, number))
        self._lay_below(node, begin, end, (*inside, number))
        self._move(end, behind, (False, number))
        self._move(behind, after)

    def _lay_below(self, node: Node, before: int, after: int, inside: tuple[int, ...]) -> None:
        below = [*children(node)]
        part = self._part(node)
        is_whole = part is not None and part.kind == "value"
        holding = [] if is_whole else [each for each in below if self._holds(each)]
        match shape_of(node).part if holding else "ready":
            case "alternatives":
                for each in below:  # Each gets its own first state, which keeps their order.
                    self._move(before, here := self._fresh())
                    self._lay(each, here, after, inside)
            case "sequence" if isinstance(node, Repeat):
                self._repeat(node, before, after, inside)
            case "sequence":
                for each in below:
                    self._lay(each, before, before := self._fresh(), inside)
                self._move(before, after)
            case "around" | "both":  # A word of both has the parts of the operand that has any.
                self._lay(holding[0], before, after, inside)
            case "without" if holding[0] is below[0] and len(below) > 1:
                self._lay(below[0], before, after, inside)
            case _:
                if id(node) not in self._machines:
                    self._machines[id(node)] = small_or_discovered(node)
                self._leaving.setdefault(before, []).append(len(self.pieces))
                is_short = bool(inside) and self.phases[inside[-1]].kind == "text"
                self.pieces.append(Piece(self._machines[id(node)], after, inside, is_short))

    def _repeat(self, node: Repeat, before: int, after: int, inside: tuple[int, ...]) -> None:
        minimum, maximum = min(node.minimum, self._copies), node.maximum
        here = before
        for _ in range(minimum):
            self._lay(node.body, here, here := self._fresh(), inside)
        if maximum is None or maximum > self._copies:
            self._move(here, loop := self._fresh())
            self._lay(node.body, loop, again := self._fresh(), inside)
            self._move(again, loop)
            self._move(loop, after)
            return
        for _ in range(maximum - minimum):
            self._lay(node.body, here, there := self._fresh(), inside)
            self._move(here, after)
            here = there
        self._move(here, after)

    def _opening(self, state: int) -> dict[Place, tuple[Border, ...]]:
        """The places reached from a state by ε-arcs, each with the borders of its first path."""
        known = self._openings.get(state)
        if known is None:
            known = self._openings[state] = {}
            seen = {state}
            waiting: list[tuple[int, tuple[Border, ...]]] = [(state, ())]
            while waiting:
                here, borders = waiting.pop()
                if here == END:
                    known[ENDED] = borders
                for piece in self._leaving.get(here, ()):
                    start = self.pieces[piece].machine.start
                    if start != NO_ARC:
                        known[piece, start] = borders
                for there, border in reversed(self._silent.get(here, [])):
                    if there not in seen:
                        seen.add(there)
                        waiting.append((there, borders if border is None else (*borders, border)))
        return known

    def _exits(self, place: Place) -> dict[Place, tuple[Border, ...]]:
        """The places reached from a place without reading; none if its piece may not end."""
        if place == ENDED:
            return {}
        piece = self.pieces[place[0]]
        ends = piece.machine.is_accepting(place[1])
        return self._opening(piece.after) if ends else {}

    def following(self, piece: int) -> tuple[int, ...]:
        """For a picture: the pieces that may follow one; -1 stands for the end."""
        return tuple(place[0] for place in self._opening(self.pieces[piece].after))

    # A text.

    def _layers(self, data: bytes) -> list[_Layer]:
        """The places after each number of bytes, up to where the text begins no word."""
        before, known = self._known
        same = len(before) if data.startswith(before) else _alike(before, data)
        layers = known[: same + 1] or [self._layer(self._opening(START))]
        while len(layers) <= len(data):
            byte = data[len(layers) - 1]
            after = ((piece, self._step(piece, state, byte)) for piece, state in layers[-1].places)
            layer = self._layer(place for place in after if place[1] != NO_ARC)
            if not layer.places:
                break
            layers.append(layer)
        self._known = data[: len(layers) - 1], layers
        return layers

    def _layer(self, places: Iterable[Place]) -> _Layer:
        """A layer of some places and all that can be reached from them without reading."""
        layer = _Layer()
        waiting = list(places)
        for place in waiting:  # The list grows while it is read.
            if place == ENDED:
                layer.may_end = True
            elif place not in layer.places:
                layer.places[place] = None
                waiting += self._exits(place)
        return layer

    def _step(self, piece: int, state: int, byte: int) -> int:
        return self.pieces[piece].machine.step(state, byte)

    def names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The names of parts; their contents have none."""
        return tuple(name for number in numbers if (name := self.phases[number].name))

    def alive(self, data: bytes) -> tuple[int, ...]:
        """The pieces that may read on after a text; none if the text begins no word."""
        layers = self._layers(data)
        if len(layers) <= len(data):
            return ()
        reading = (k for k, state in layers[-1].places if self.pieces[k].machine.expected(state))
        return tuple(dict.fromkeys(reading))

    def role(self, piece: int) -> str:
        """The role of the innermost part around a piece that has one; empty for the model."""
        roles = (self.phases[number].role for number in reversed(self.pieces[piece].phases))
        return next(filter(None, roles), "")

    def waits_for(self, data: bytes) -> str:
        """The role that must write next; empty if the model may write, or the text may end."""
        alive = self.alive(data)
        roles = [*map(self.role, alive)]
        return roles[0] if alive and all(roles) and not self._layers(data)[-1].may_end else ""

    def division(self, data: bytes, *, whole: bool) -> Stretch | None:
        """The stretches of a text that belong to marked parts; ``None`` if it is not a word.

        Args:
            whole: Whether the text is a whole word and not only the beginning of one.
        """
        layers = self._layers(data)
        if len(layers) <= len(data) or (whole and not layers[-1].may_end):
            return None
        opened = [Stretch(None, 0, len(data))]
        here: Place | None = None
        for at, goals in enumerate(self._goals(layers, data, whole=whole)):
            if here not in goals or self._is_short(here):
                exits = self._opening(START) if here is None else self._exits(here)
                for there, crossed in self._way(exits, goals):
                    here = there
                    for begins, number in crossed:
                        if begins:
                            opened.append(Stretch(self.phases[number], at, len(data)))
                            opened[-2].inside.append(opened[-1])
                        else:
                            opened.pop().end = at
            if at < len(data) and here is not None:
                here = here[0], self._step(*here, data[at])
        return opened[0]

    def _goals(self, layers: Sequence[_Layer], data: bytes, *, whole: bool) -> list[set[Place]]:
        """For each number of bytes the places from which the rest of the text can be read."""
        goals: list[set[Place]] = []
        alive: set[Place] = set()
        for at in range(len(data), -1, -1):
            places = layers[at].places
            if at < len(data):
                byte = data[at]
                goal = {p for p in places if (p[0], self._step(*p, byte)) in alive}
            else:
                goal = set[Place]([ENDED] if whole else places)
            goals.append(goal)
            alive = set(goal)
            before: dict[Place, list[Place]] = {}
            for place in places:
                for there in self._exits(place):
                    before.setdefault(there, []).append(place)
            waiting = [*goal]
            for there in waiting:  # The places from which a goal is reached without reading.
                more = [place for place in before.get(there, ()) if place not in alive]
                alive.update(more)
                waiting += more
        goals.reverse()
        return goals

    def _is_short(self, place: Place | None) -> bool:
        """Whether a place is left as soon as the rest can be read without it."""
        return place not in (None, ENDED) and self.pieces[place[0]].is_short

    def _way(
        self, exits: Mapping[Place, tuple[Border, ...]], goals: set[Place]
    ) -> list[tuple[Place, tuple[Border, ...]]]:
        """A path without reading to a goal, beyond short pieces; empty if there is none.

        A goal at once comes before one that is reached through pieces without text.
        """

        def ordered(
            exits: Mapping[Place, tuple[Border, ...]],
        ) -> Iterator[tuple[Place, tuple[Border, ...]]]:
            return iter(sorted(exits.items(), key=lambda each: not stays(each[0])))

        def stays(place: Place) -> bool:
            return place in goals and not self._is_short(place)

        seen: set[Place] = set()
        path: list[tuple[Place, tuple[Border, ...]]] = []
        branches = [ordered(exits)]
        while branches:
            found = next(branches[-1], None)
            if found is None:
                branches.pop()
                if not path or path[-1][0] in goals:
                    return path
                path.pop()
            elif found[0] not in seen:
                seen.add(found[0])
                path.append(found)
                if stays(found[0]):
                    return path
                branches.append(ordered(self._exits(found[0])))
        return []

    def names_along(self, data: bytes) -> tuple[tuple[str, ...], ...]:
        """The names of the phases around each byte of the beginning of a word, outermost first.

        Where several divisions are possible, that of the longest stretches from the left.
        """
        names: list[tuple[str, ...]] = [()] * len(data)
        whole = self.division(data, whole=False)
        waiting = [] if whole is None else [((), each) for each in whole.inside]
        for around, stretch in waiting:  # The list grows while it is read.
            inside = (*around, *([stretch.part.name] if stretch.part and stretch.part.name else []))
            names[stretch.begin : stretch.end] = [inside] * (stretch.end - stretch.begin)
            waiting += [(inside, each) for each in stretch.inside]
        return tuple(names)


def _phases_in(stretch: Stretch, data: bytes) -> Iterator[PhasePart]:
    """The phases inside a stretch, with their values.

    Raises:
        ExplorerError: The text of a phase has no value.
    """
    for each in stretch.inside:
        part, parts = each.part, tuple(_phases_in(each, data))
        if part is None or part.kind == "content":
            yield from parts
            continue
        content = next((e for e in each.inside if e.part and e.part.kind == "content"), each)
        source = content.part and content.part.source
        text = shown_letters(written := data[content.begin : content.end])
        value = text if source is None or parts else source.parse(written)
        yield PhasePart(part.name, text, value, each.begin, each.end, parts)


@lru_cache(maxsize=16)
def phase_net(source: Source) -> PartNet:
    """The phases of a source, cached for the last few sources."""
    return PartNet(source.tree, PHASES)


@lru_cache(maxsize=16)
def _part_net(source: Source, copies: int) -> PartNet:
    return PartNet(source.tree, frozenset(("value",)), copies)


def stretches(source: Source, data: bytes, copies: int = MOST_COPIES) -> list[bytes]:
    """The stretches of a word that belong to the children of a source, in the order of the text.

    Args:
        data: A word of the source.
        copies: The most copies of a repetition that are told apart from more.

    Example:
        >>> from explorer import regex, template
        >>> pair = template("{x} {y}", x=regex("[a-z ]+"), y=regex("[a-z ]+"))
        >>> stretches(pair.source, b"a b c")
        [b'a b', b'c']
    """
    whole = _part_net(source, copies).division(data, whole=True)
    return [] if whole is None else [data[each.begin : each.end] for each in whole.inside]


def parsed_word(source: Source, data: bytes) -> object:
    """The value of a word, or its phases if the source has any (`explorer.Constraint.parse`).

    Raises:
        ExplorerError: The text has no value.
    """
    if not has_phases(source):
        return source.parse(data)
    whole = phase_net(source).division(data, whole=True)
    return () if whole is None else tuple(_phases_in(whole, data))


def _alike(left: bytes, right: bytes) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(left), len(right)))
