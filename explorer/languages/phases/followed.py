"""The phases of a text: where each begins and ends, and which ones the text has reached.

The syntax tree of a source with phases becomes a small automaton. Its arcs are the *pieces* between
the borders of phases, each a machine of its own; an ε-arc that crosses a border is labelled with
it. A text follows all paths at once: a *place* is a piece and the state of its machine.

Where a text can be divided in several ways, each piece from the left takes the longest stretch with
which the rest still fits, as in a template. Control tokens at the borders leave only one way.

Cost: some microseconds per byte and place. A text that continues the previous one is followed only
from its new bytes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from explorer.alphabet import LETTER, shown_letters
from explorer.automata.discovered.discover import small_or_discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Concat, Node, Repeat, Source, Written, children, shape_of
from explorer.languages.phases.phase import Phase, has_phases

START: Final = 0
END: Final = 1

MOST_COPIES: Final = 32
"""The most copies of a repetition that are written out; a longer one becomes a loop."""

Border = tuple[Literal["enter", "content", "done", "leave"], int]
"""A border of a phase, with the phase's number: the phase begins, its content begins, its content
ends, the phase ends."""

Place = tuple[int, int]
"""The number of a piece, and the state of its machine; `ENDED` at the end of the source."""

ENDED: Final[Place] = (-1, -1)


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


@dataclass(frozen=True, slots=True)
class NamedPhase:
    """A phase of a tree.

    Args:
        role: The writer of the phase; empty for the model.
        part: The source that parses its text; ``None`` where the value is the text itself.
    """

    name: str
    role: str = ""
    part: Source | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a source without borders of phases.

    Args:
        machine: The machine of the stretch.
        after: The state of the automaton after it.
        phases: The numbers of the phases around it, the outermost first.
    """

    machine: ByteMachine
    after: int
    phases: tuple[int, ...]


@dataclass(slots=True)
class _Layer:
    """The places after a number of bytes, and whether the text may end there."""

    places: dict[Place, None] = field(default_factory=dict[Place, None])
    may_end: bool = False


class PhaseNet:
    """A source with phases as an automaton of pieces; make it with `phase_net`.

    Attributes:
        phases: The phases, in the order of the tree; a phase that stands twice is listed twice.
        pieces: The pieces, in the order of the tree.
    """

    def __init__(self, source: Source) -> None:
        self.phases: list[NamedPhase] = []
        self.pieces: list[Piece] = []
        self._leaving: dict[int, list[int]] = {}
        self._silent: dict[int, list[tuple[int, Border | None]]] = {}
        self._states = 2
        self._machines: dict[int, ByteMachine] = {}
        self._openings: dict[int, dict[Place, tuple[Border, ...]]] = {}
        self._known: tuple[bytes, list[_Layer]] = (b"", [])
        self._tree = source.tree  # Kept alive, since its nodes are known by id.
        self._lay(self._tree, START, END, ())

    # The automaton.

    def _fresh(self) -> int:
        self._states += 1
        return self._states - 1

    def _move(self, before: int, after: int, border: Border | None = None) -> None:
        self._silent.setdefault(before, []).append((after, border))

    def _lay(self, node: Node, before: int, after: int, inside: tuple[int, ...]) -> None:
        """Add a node to the automaton between two states."""
        if not _has_phases(node):
            self._piece(node, before, after, inside)
            return
        if isinstance(node, Written) and node.phase:
            self._phase(NamedPhase(node.phase), (node.body,), 0, before, after, inside)
            return
        if isinstance(node, Written) and isinstance(node.source, Phase):
            self._of_source(node.source, node.body, before, after, inside)
            return
        below = children(node)
        match shape_of(node).part:
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
            case "around":
                (body,) = below
                self._lay(body, before, after, inside)
            case "both":  # A word of an intersection has the phases of the operand that has any.
                self._lay(next(filter(_has_phases, below)), before, after, inside)
            case "without" if _has_phases(first := next(iter(below))) and len(below) > 1:
                self._lay(first, before, after, inside)
            case _:
                self._piece(node, before, after, inside)

    def _piece(self, node: Node, before: int, after: int, inside: tuple[int, ...]) -> None:
        if id(node) not in self._machines:
            self._machines[id(node)] = small_or_discovered(node)
        self._leaving.setdefault(before, []).append(len(self.pieces))
        self.pieces.append(Piece(self._machines[id(node)], after, inside))

    def _of_source(
        self, phase: Phase, node: Node, before: int, after: int, inside: tuple[int, ...]
    ) -> None:
        """Add a `Phase`, whose content excludes its beginning and end."""
        body = node.body if isinstance(node, Written) else node
        parts = body.items if isinstance(body, Concat) and len(phase.children) > 1 else (body,)
        named = NamedPhase(phase.name, phase.role, phase.part)
        self._phase(named, parts, 0 if phase.begin is None else 1, before, after, inside)

    def _phase(
        self, phase: NamedPhase, parts: Sequence[Node], content: int, before: int, after: int,
        inside: tuple[int, ...],
    ) -> None:  # fmt: skip
        number = len(self.phases)
        self.phases.append(phase)
        inside = (*inside, number)
        here = self._fresh()
        self._move(before, here, ("enter", number))
        for k, part in enumerate(parts):
            if k == content:
                self._move(here, here := self._fresh(), ("content", number))
            self._lay(part, here, here := self._fresh(), inside)
            if k == content:
                self._move(here, here := self._fresh(), ("done", number))
        self._move(here, after, ("leave", number))

    def _repeat(self, node: Repeat, before: int, after: int, inside: tuple[int, ...]) -> None:
        minimum, maximum = node.minimum, node.maximum
        if maximum is not None and maximum > MOST_COPIES:
            maximum = None
        minimum = min(minimum, MOST_COPIES)
        here = before
        for _ in range(minimum):
            self._lay(node.body, here, here := self._fresh(), inside)
        if maximum is None:
            loop = self._fresh()
            self._move(here, loop)
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

    def follows(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """For a picture: the pieces that may come first, and for each piece those that may follow
        it. -1 stands for the end.
        """
        return (
            tuple(place[0] for place in self._opening(START)),
            tuple(tuple(place[0] for place in self._opening(each.after)) for each in self.pieces),
        )

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
        """The names of phases."""
        return tuple(self.phases[number].name for number in numbers)

    def alive(self, data: bytes) -> tuple[int, ...]:
        """The pieces that may read on after a text; none if the text begins no word."""
        layers = self._layers(data)
        if len(layers) <= len(data):
            return ()
        reading = (k for k, state in layers[-1].places if self.pieces[k].machine.expected(state))
        return tuple(dict.fromkeys(reading))

    def waits_for(self, data: bytes) -> str:
        """The role that must write next; empty if the model may write, or the text may end.

        It is the role of the innermost phase that has one, if all pieces that may read on are in
        such a phase.
        """
        alive = self.alive(data)
        if not alive or self._layers(data)[-1].may_end:
            return ""
        roles = [[self.phases[k].role for k in self.pieces[each].phases] for each in alive]
        innermost = [next(filter(None, reversed(each)), "") for each in roles]
        return innermost[0] if all(innermost) else ""

    def borders(self, data: bytes, *, whole: bool) -> list[tuple[int, Border]]:
        """The borders that a text crosses, each with the bytes before it; none if it is not a word.

        Args:
            whole: Whether the text is a whole word and not only the beginning of one.
        """
        layers = self._layers(data)
        if len(layers) <= len(data) or (whole and not layers[-1].may_end):
            return []
        borders: list[tuple[int, Border]] = []
        here = ENDED
        for at, goals in enumerate(self._goals(layers, data, whole=whole)):
            if not at or here not in goals:
                exits = self._exits(here) if at else self._opening(START)
                for there, crossed in self._way(exits, goals, set()):
                    borders += [(at, border) for border in crossed]
                    here = there
            if at < len(data):
                here = here[0], self._step(*here, data[at])
        return borders

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
            more = True
            while more:  # Add the places from which a goal is reached without reading.
                left = (place for place in places if place not in alive)
                more = {place for place in left if alive & self._exits(place).keys()}
                alive |= more
        goals.reverse()
        return goals

    def _way(
        self, exits: Mapping[Place, tuple[Border, ...]], goals: set[Place], seen: set[Place]
    ) -> list[tuple[Place, tuple[Border, ...]]]:
        """The first path without reading to a goal; empty if there is none."""
        for there, borders in exits.items():
            if there in seen:
                continue
            seen.add(there)
            rest = [] if there in goals else self._way(self._exits(there), goals, seen)
            if rest or there in goals:
                return [(there, borders), *rest]
        return []

    def parts(self, data: bytes) -> tuple[PhasePart, ...]:
        """The phases of a word, with their values.

        Raises:
            ExplorerError: The text of a phase has no value.
        """
        root: list[PhasePart] = []
        inside: list[list[PhasePart]] = [root]
        begun: list[tuple[int, int, int]] = []  # Starts of phase and content, end of content.
        for at, (border, number) in self.borders(data, whole=True):
            if border == "enter":
                inside.append([])
                begun.append((at, at, at))
            elif border == "leave":
                begin, start, stop = begun.pop()
                parts = tuple(inside.pop())
                phase = self.phases[number]
                text = shown_letters(written := data[start:stop])
                plain = not parts and LETTER not in written and phase.part is not None
                value = phase.part.parse(text) if plain and phase.part is not None else text
                inside[-1].append(PhasePart(phase.name, text, value, begin, at, parts))
            else:
                begin, start, _ = begun[-1]
                begun[-1] = (begin, at if border == "content" else start, at)
        return tuple(root)

    def names_along(self, data: bytes) -> tuple[tuple[str, ...], ...]:
        """The names of the phases around each byte of the beginning of a word, outermost first.

        Where several divisions are possible, that of the longest stretches from the left.
        """
        names: list[tuple[str, ...]] = []
        inside: tuple[str, ...] = ()
        for at, (border, number) in self.borders(data, whole=False):
            names += [inside] * (at - len(names))
            if border == "enter":
                inside = (*inside, self.phases[number].name)
            elif border == "leave":
                inside = inside[:-1]
        return tuple([*names, *[inside] * (len(data) - len(names))])


@lru_cache(maxsize=16)
def phase_net(source: Source) -> PhaseNet:
    """The automaton of a source with phases, cached for the last few sources."""
    return PhaseNet(source)


def parsed_word(source: Source, data: bytes) -> object:
    """The value of a word, or its phases if the source has any (`explorer.Constraint.parse`).

    Raises:
        ExplorerError: The text has no value.
    """
    if has_phases(source):
        return phase_net(source).parts(data)
    return source.parse(shown_letters(data))


def _alike(left: bytes, right: bytes) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(left), len(right)))


def _has_phases(node: Node) -> bool:
    """Whether a node contains a phase."""
    if isinstance(node, Written) and (node.phase or node.source is not None):
        return bool(node.phase) or (node.source is not None and node.source.phased)
    return any(map(_has_phases, children(node)))
