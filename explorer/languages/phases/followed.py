"""The phases of a text: where each begins and ends, and which the text is in.

The tree of a source with phases is read as a small automaton. Its arcs are the *pieces* between the
borders of phases, each a machine of its own; crossing a border reads nothing and is noted. A text
is followed through it, all ways at once: a *place* is a piece and the state of its machine.

Where a text can be divided in several ways, each piece from the left takes the longest stretch with
which the rest still fits, as in a template. Control tokens at the borders leave one way only.

Cost: some microseconds per byte and place. A text that goes on from the one before is not followed
anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from explorer.alphabet import LETTER, shown_letters
from explorer.automata.discovered.discover import small_or_discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Concat, Node, Repeat, Source, Written
from explorer.automata.tree.walking import children, shape_of
from explorer.languages.phases.phase import Phase, has_phases

START: Final = 0
END: Final = 1

MOST_COPIES: Final = 32
"""A repetition up to so often is written out; a longer one counts as one without end."""

Border = tuple[Literal["enter", "content", "done", "leave"], int]
"""A border of a phase, by its number: its beginning, that of its content, and the ends of both."""

Place = tuple[int, int]
"""The number of a piece, and the state of its machine; `ENDED` once all has ended."""

ENDED: Final[Place] = (-1, -1)


@dataclass(frozen=True, slots=True)
class PhasePart:
    """One phase of a text.

    Args:
        name: Its name.
        text: What its content wrote, without what begins and ends the phase; a control token is
            shown by its name.
        value: What the constraint of the phase makes of that text (`explorer.Constraint.parse`);
            the text itself where control tokens or other phases stand in it.
        begin, end: The bytes of the whole that it takes, with what begins and ends it.
        parts: The phases inside, in their order.
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
        role: Who writes it; empty for the model.
        part: The source that says what its text means; ``None`` where that is the text itself.
    """

    name: str
    role: str = ""
    part: Source | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a source without borders of phases.

    Args:
        machine: Its machine.
        after: The state of the automaton behind it.
        phases: The numbers of the phases that it is in, the outermost first.
    """

    machine: ByteMachine
    after: int
    phases: tuple[int, ...]


@dataclass(slots=True)
class _Layer:
    """The places after so many bytes, and whether the text may end there."""

    places: dict[Place, None] = field(default_factory=dict[Place, None])
    may_end: bool = False


class PhaseNet:
    """A source with phases as an automaton of pieces; make it with `phase_net`.

    Attributes:
        phases: The phases, in the order of the tree; one that stands twice is two.
        pieces: The pieces, likewise.
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
        self._tree = source.tree  # Its nodes are known by identity.
        self._lay(self._tree, START, END, ())

    # The automaton.

    def _fresh(self) -> int:
        self._states += 1
        return self._states - 1

    def _move(self, before: int, after: int, border: Border | None = None) -> None:
        self._silent.setdefault(before, []).append((after, border))

    def _lay(self, node: Node, before: int, after: int, inside: tuple[int, ...]) -> None:
        """Lay a node between two states."""
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
                for each in below:  # Each from a state of its own, so that their order counts.
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
            case "both":  # A word of both has the phases of the one that has any.
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
        """A phase that has a value, which leaves out its borders."""
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
        """The places that follow a state of the automaton, each by the first way to it."""
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
        """The places that may follow one without reading; none where its piece may not end."""
        if place == ENDED:
            return {}
        piece = self.pieces[place[0]]
        ends = piece.machine.is_accepting(place[1])
        return self._opening(piece.after) if ends else {}

    def follows(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """The automaton as a picture of it needs it: the pieces that may be first, and for each
        piece those that may follow it. -1 stands for the end.
        """
        return (
            tuple(place[0] for place in self._opening(START)),
            tuple(tuple(place[0] for place in self._opening(each.after)) for each in self.pieces),
        )

    # A text.

    def _layers(self, data: bytes) -> list[_Layer]:
        """The places after each number of bytes; they end where no word begins so."""
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
        """Some places, and what may begin where their pieces may end."""
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
        """The pieces that may read on after a text; none where no word goes on so."""
        layers = self._layers(data)
        if len(layers) <= len(data):
            return ()
        reading = (k for k, state in layers[-1].places if self.pieces[k].machine.expected(state))
        return tuple(dict.fromkeys(reading))

    def waits_for(self, data: bytes) -> str:
        """The role that must write next after a text; empty where the model may, or where it ends.

        It is that of the innermost phase with one, if all phases that may read on have one.
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
            whole: Whether the text ends there; otherwise it is the beginning of a word.
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
        """For each number of bytes the places that read on so that the rest can be read."""
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
            while more:  # What is left, without reading, for one of those.
                left = (place for place in places if place not in alive)
                more = {place for place in left if alive & self._exits(place).keys()}
                alive |= more
        goals.reverse()
        return goals

    def _way(
        self, exits: Mapping[Place, tuple[Border, ...]], goals: set[Place], seen: set[Place]
    ) -> list[tuple[Place, tuple[Border, ...]]]:
        """The first way to a goal that reads nothing; empty if there is none."""
        for there, borders in exits.items():
            if there in seen:
                continue
            seen.add(there)
            rest = [] if there in goals else self._way(self._exits(there), goals, seen)
            if rest or there in goals:
                return [(there, borders), *rest]
        return []

    def parts(self, data: bytes) -> tuple[PhasePart, ...]:
        """The phases of a word, with what their constraints make of it.

        Raises:
            ExplorerError: A text has no value.
        """
        root: list[PhasePart] = []
        inside: list[list[PhasePart]] = [root]
        begun: list[tuple[int, int, int]] = []  # Where phase and content begin, and content ends.
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
        """The phases that each byte of the beginning of a word is in, the outermost first.

        Where several are possible, those of the longest stretches from the left.
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
    """The automaton of a source with phases; kept for the last few."""
    return PhaseNet(source)


def parsed_word(source: Source, data: bytes) -> object:
    """The value of a word of a source: its phases if it has any (`explorer.Constraint.parse`).

    Raises:
        ExplorerError: The text has no value.
    """
    if has_phases(source):
        return phase_net(source).parts(data)
    return source.parse(shown_letters(data))


def _alike(left: bytes, right: bytes) -> int:
    """The number of bytes that both begin with."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(left), len(right)))


def _has_phases(node: Node) -> bool:
    """Whether a phase stands in a node, as far as one can be followed."""
    if isinstance(node, Written) and (node.phase or node.source is not None):
        return bool(node.phase) or (node.source is not None and node.source.phased)
    return any(map(_has_phases, children(node)))
