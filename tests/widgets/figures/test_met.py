"""Machines that are not tables: the met states are drawn, at their places in the whole machine."""

from __future__ import annotations

import json

import numpy as np
import pytest

import explorer
from explorer.analysis.session import Session
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.whole_rows import WholeRows
from explorer.automata.machine import NO_ARC
from explorer.budget import Budget, Meter
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.words import DONE
from tests.widgets.figures.cases import TOY_PROBABILITIES, Table, toy_dfa, toy_vocabulary
from widgets.figures.machines.arcs import MOST_TWINS, STEPPED, arcs_of, state_names
from widgets.figures.machines.character_fsa import character_view
from widgets.figures.machines.drawn import draw_at
from widgets.figures.machines.lit import lit_path, walk_token
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.packets import machine_packet


class Pairs(WholeRows[tuple[int, int]]):
    """The texts aⁿbⁿ, n ≥ 1, which no finite machine reads: a configuration is two numbers."""

    stage = "The pairs"

    def __init__(self) -> None:
        symbol_class = np.zeros(256, np.int32)
        symbol_class[97], symbol_class[98] = 1, 2
        super().__init__(symbol_class, 3, [(0, 0)])

    @property
    def read(self) -> np.ndarray:
        return self.symbol_class > 0

    def row(self, state: int, meter: Meter) -> list[int]:
        a, b = self._met[state]
        more = NO_ARC if b else self.number((a + 1, 0))
        return [NO_ARC, more, self.number((a, b + 1)) if b < a else NO_ARC]

    def accepting(self, state: int) -> bool:
        a, b = self._met[state]
        return a == b > 0

    def apart(self, meter: Meter) -> Pairs:
        return Pairs()

    def sent(self) -> tuple[type[Pairs], tuple[()]]:
        return Pairs, ()


class Counting:
    """A token machine over `Pairs`, with two token states for each byte state but the start."""

    constraint = None
    report = toy_dfa().report

    def __init__(self) -> None:
        self.vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        self.byte_machine = Discovered(Pairs(), Budget())
        self.known: dict[tuple[int, int], int] = {(0, 0): 0}
        self.start = 0

    @property
    def num_states(self) -> int:
        return len(self.known)

    def step(self, state: int, token: int) -> int | None:
        if token == 3:
            return DONE if self.is_final(state) else None
        here = self.byte_state(state)
        for byte in self.vocabulary.tokens[token] or b"":
            here = self.byte_machine.step(here, byte) if here != NO_ARC else NO_ARC
        if here == NO_ARC:
            return None
        return self.known.setdefault((here, token == 2), len(self.known))

    def allowed(self, state: int) -> np.ndarray:
        return np.array([self.step(state, token) is not None for token in range(4)])

    def mask(self, state: int) -> np.ndarray:
        return np.packbits(np.resize(self.allowed(state), 32), bitorder="little").view(np.uint32)

    def is_final(self, state: int) -> bool:
        return self.byte_machine.is_accepting(self.byte_state(state))

    def distance_to_end(self, state: int) -> int | None:
        return None

    def byte_state(self, state: int) -> int:
        return list(self.known)[state][0] if state >= 0 else NO_ARC


def lazy(pattern: str, vocabulary: explorer.Vocabulary) -> LazyMachine:
    return explorer.compile(explorer.regex(pattern), vocabulary, lazy=True)


def test_a_lazy_machine_is_drawn_where_the_closed_one_is_with_the_arcs_of_what_was_met() -> None:
    machine, closed = lazy("(foo)+d", toy_vocabulary()), toy_dfa()
    session = Session(Table(toy_vocabulary(), TOY_PROBABILITIES), machine)
    session.step("foo")
    whole = draw_at(closed, session.trace, 1)
    drawn = draw_at(machine, session.trace, 1)
    assert drawn.figures["character_fsa"] == whole.figures["character_fsa"]
    token, full = drawn.figures["token_dfa"], whole.figures["token_dfa"]
    assert {e.id: (e.label, e.count) for e in token.edges} == {
        e.id: (e.label, e.count) for e in full.edges if e.source in ("q0", "q3")
    }
    assert token.about == "computed as it is used: the arcs of 2 states met so far"
    assert not token.complete and full.complete
    # What is lit is named as in the closed machine, and it is drawn.
    beside = Session(Table(toy_vocabulary(), TOY_PROBABILITIES), closed)
    beside.step("foo")
    assert lit_path(session.trace, 1, machine) == lit_path(beside.trace, 1, closed)
    known = {n.id for figure in drawn.figures.values() for n in figure.nodes}
    assert set(lit_path(session.trace, 1, machine).nodes) <= known
    state = session.trace.positions[1].state
    of_closed = closed.walk([2])[-1]
    for token_id in range(6):
        assert walk_token(machine, state, token_id) == walk_token(closed, of_closed, token_id)
    # One more step moves nothing.
    before = drawn.layouts["token_dfa"].nodes
    session.step("f")
    after = draw_at(machine, session.trace, 2).layouts["token_dfa"].nodes
    for name in before.keys() - {"done"}:
        assert (after[name].x, after[name].y) == pytest.approx((before[name].x, before[name].y))


def test_the_page_is_told_that_a_lazy_machine_has_no_classes() -> None:
    machine = lazy("(foo)+d", toy_vocabulary())
    packet = json.loads(json.dumps(machine_packet(machine, "k")))
    assert packet["token_class"] == "" and packet["num_classes"] == 6
    assert packet["machines"] == {} and packet["states"]["known"] is False


def test_the_arcs_of_a_lazy_machine_are_those_of_the_table(
    tekken_131k: explorer.Vocabulary,
) -> None:
    """Many tokens to one byte state are taken together; token by token gives the same."""
    pattern = '"[a-z]+(é|ab)?[^x]*"'
    machine = lazy(pattern, tekken_131k)
    closed = explorer.compile(explorer.regex(pattern), tekken_131k)
    assert isinstance(closed, explorer.TokenDFA)
    state: int | None = machine.start
    of_closed: int | None = closed.start
    for text in (b'"', b"a", "é".encode()):
        token = tekken_131k.tokens.index(text)
        assert state is not None and of_closed is not None
        state, of_closed = machine.step(state, token), closed.step(of_closed, token)
    assert state is not None and of_closed is not None
    assert machine.allowed(state).sum() > STEPPED
    met, table = arcs_of(machine, "bytes"), arcs_of(closed, "bytes")
    source = met.name(state)
    assert source == table.name(of_closed)
    assert met.sizes(source) == table.sizes(source)
    for name in met.sizes(source):
        assert met.tokens(source, name).tolist() == table.tokens(source, name).tolist()


def test_a_machine_without_an_end_of_states_is_drawn_as_far_as_it_was_met() -> None:
    machine = Counting()
    view = character_view(machine)
    assert not view.whole and view.arcs[0] == [(97, 97, 1)]
    one = machine.step(0, 0)
    other = machine.step(0, 2)
    again = machine.step(one or 0, 1)
    assert one is not None and other is not None and again is not None
    # "ab" and "a", "b" write the same: two token states of one byte state.
    assert machine.byte_state(other) == machine.byte_state(again)
    names = state_names(machine)
    assert names[0] == "q0" and len(set(names)) == len(names)
    stem = names[other]
    assert names[again] == f"{stem}~1"
    trace = Session.from_ids(machine.vocabulary, machine, [0, 1]).trace  # type: ignore[arg-type]
    drawn = draw_at(machine, trace, 2)
    assert f"{names[one]}-{names[again]}" in {e.id for e in drawn.figures["token_dfa"].edges}
    for name, figure in drawn.figures.items():
        assert not figure.complete
        assert set(drawn.layouts[name].nodes) == {
            node.id for node in figure.nodes if node.kind != "done" or drawn
        }
    assert "numbered as they are met" in drawn.figures["character_fsa"].about


class Numbering(Counting):
    """The same with a new token state for every ``ab``, as filters by the last token have many."""

    def step(self, state: int, token: int) -> int | None:
        after = super().step(state, token)
        if token != 2 or after is None:
            return after
        return self.known.setdefault((self.byte_state(after), len(self.known)), len(self.known))


def test_many_token_states_of_one_character_state_share_a_node() -> None:
    """A drawing has a dozen nodes for a character state, however many token states there are."""
    machine = Numbering()
    last = [machine.step(0, 2) for _ in range(500)][-1]
    names = state_names(machine)
    stem = names[last or 0].split("~")[0]
    assert len({name for name in names if name.split("~")[0] == stem}) == MOST_TWINS
    figure = token_figure(machine, met={0})  # type: ignore[arg-type]
    drawn = [node.id for node in figure.nodes]
    assert len(drawn) == len(set(drawn)) < 2 * MOST_TWINS
    assert {edge.target for edge in figure.edges if edge.source == "q0"} <= set(drawn)
