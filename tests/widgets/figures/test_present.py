"""Figures of the present place, and of reasons."""

from __future__ import annotations

import itertools
import json
from functools import cache
from typing import Any, cast

import pytest

import explorer
from explorer.analysis import machine_traps
from explorer.analysis.session import Session
from explorer.automata.machine import NO_ARC
from explorer.tokens.words import DONE
from tests.widgets.figures.cases import toy_vocabulary
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_fsa import character_figure, character_view
from widgets.figures.machines.drawn import draw_at, draw_whole, drawn_whole
from widgets.figures.machines.token_dfa import EDGES_SHOWN, token_figure
from widgets.figures.panels.along import COLUMNS, along_text
from widgets.figures.panels.reasons import (
    more_packet,
    trap_packet,
    verdict_packet,
)
from widgets.figures.panels.tokens import bars
from widgets.toy import ToyModel, toy_constraint

# Machines with more arcs than are drawn: the caption, and the arcs of the present state.


BYTES = [bytes([b]) for b in range(256)]


@cache
def dense() -> explorer.TokenDFA:
    words = [bytes([a, b]) for a in b"abcdef" for b in b"abcdef"]
    words += [a + b for a in words for b in words]
    vocabulary = explorer.Vocabulary.from_bytes([*BYTES, *words], eos_ids=[256 + len(words)])
    return explorer.compile(explorer.regex("(a|b(c|d)|e+f){90}"), vocabulary)


def true_arcs(dfa: explorer.TokenDFA, node_of: dict[str, str]) -> dict[tuple[str, str], set[int]]:
    """The tokens between each pair of nodes: token by token, without classes."""
    found: dict[tuple[str, str], set[int]] = {}
    for state in range(dfa.num_states):
        source = f"q{int(dfa.char_state[state])}"
        for token in dfa.allowed(state).nonzero()[0].tolist():
            target = dfa.step(state, token)
            assert target is not None
            name = "done" if target == DONE else f"q{int(dfa.char_state[target])}"
            ends = node_of.get(source, source), node_of.get(name, name)
            found.setdefault(ends, set()).add(token)
    return found


def test_the_caption_counts_the_arcs() -> None:
    dfa = dense()
    figure = token_figure(dfa)
    total = len(true_arcs(dfa, {}))
    assert total > len(figure.edges) == EDGES_SHOWN and not figure.complete
    assert figure.caption == f"400 of {total:,} arcs"
    assert figure.about == f"{figure.caption}, all from here"
    # Every state keeps its largest edge, so that the drawing holds together.
    assert {e.source for e in figure.edges} == {f"q{int(c)}" for c in dfa.char_state}


def test_near_a_position_all_its_arcs_and_those_of_the_path_are_drawn() -> None:
    """A machine of so many arcs is not drawn whole without a request."""
    dfa = dense()
    assert not drawn_whole(dfa)
    every = true_arcs(dfa, {})
    ids: list[int] = []
    for _ in range(12):
        state = dfa.walk(ids)[-1]
        ids.append(dfa.allowed(state).nonzero()[0].tolist()[-1])
    session = explorer.Session.from_ids(dfa.vocabulary, dfa, ids)
    for k in range(1, 13):
        figure = draw_at(dfa, session.trace, k).figures["token_dfa"]
        there = {edge.id: edge for edge in figure.edges}
        shown = {node.id for node in figure.nodes}
        names = [f"q{int(dfa.char_state[p.state])}" for p in session.trace.positions[: k + 1]]
        taken = {f"{a}-{b}" for a, b in itertools.pairwise(names) if {a, b} <= shown}
        ahead = {f"{a}-{b}" for a, b in every if a == names[-1] and b in shown}
        assert taken and taken | ahead <= set(there)
        for edge in there.values():
            assert edge.count == len(every[edge.source, edge.target])


UNICODE = [r"\w+", r"[^a]{2}b", r"(é|日|\U0001F600|z)+q", r".*"]


def unicode_dfa(pattern: str) -> explorer.TokenDFA:
    more = ["é".encode(), "日本".encode(), "日".encode()[:2], b"z\xe6", b"\x97\xa5q", b"ab"]
    tokens = [*BYTES, *more]
    return explorer.compile(
        explorer.regex(pattern), explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    )


@pytest.mark.parametrize("pattern", UNICODE)
def test_merged_arcs_hold_each_token_once(pattern: str) -> None:
    dfa = unicode_dfa(pattern)
    figure = token_figure(dfa)
    expected = true_arcs(dfa, dict(figure.alias))
    assert {(e.source, e.target): e.count for e in figure.edges} == {
        ends: len(tokens) for ends, tokens in expected.items()
    }
    assert figure.complete
    for edge in figure.edges:
        classes = {int(dfa.token_class[t]) for t in expected[edge.source, edge.target]}
        assert edge.num_groups == len(classes)
        assert {group.token_class for group in edge.groups} <= classes
        assert edge.title.startswith(f"{edge.count:,} token")
        assert set(edge.tokens or ()) <= expected[edge.source, edge.target]


def test_a_figure_is_complete_only_with_its_dots() -> None:
    dfa = unicode_dfa("(é|ü)x")
    view = character_view(dfa)
    assert view.dots and not view.collapsed
    assert character_figure(dfa).complete
    assert character_figure(dfa, only=view.arcs).complete
    assert not character_figure(dfa, only=list(view.arcs)[1:]).complete
    assert character_figure(dfa, "bytes").complete
    assert not token_figure(dfa, only=view.arcs).complete


@pytest.mark.parametrize(
    "pattern", [pytest.param(UNICODE[0], marks=pytest.mark.long), *UNICODE[1:]]
)
def test_the_byte_form_is_the_machine_itself(pattern: str) -> None:
    dfa = unicode_dfa(pattern)
    machine = dfa.constraint.dfa
    drawn = draw_whole(dfa, "bytes")
    expected: dict[tuple[str, str], set[int]] = {}
    for state in range(machine.num_states):
        for byte in range(256):
            target = int(machine.table[state, machine.symbol_class[byte]])
            if target >= 0:
                expected.setdefault((f"c{state}", f"c{target}"), set()).add(byte)
    found = {
        (e.source, e.target): {b for low, high in e.bytes or () for b in range(low, high + 1)}
        for e in drawn.figures["character_fsa"].edges
    }
    assert found == expected
    token = drawn.figures["token_dfa"]
    assert {(e.source, e.target): e.count for e in token.edges} == {
        ends: len(tokens) for ends, tokens in true_arcs(dfa, {}).items()
    } or not token.complete
    one, other = drawn.layouts["character_fsa"], drawn.layouts["token_dfa"]
    for name, node in one.nodes.items():
        assert other.nodes[f"q{name[1:]}"].x == pytest.approx(node.x)


def test_the_tokens_of_an_arc_are_all_that_take_it() -> None:
    dfa = dense()
    arcs = arcs_of(dfa)
    for (source, target), tokens in list(true_arcs(dfa, {}).items())[:200]:
        assert set(arcs.tokens(source, target).tolist()) == tokens


# The columns along the text agree with the machines, for any constraint and any tokens.


TOKENS = [b"a", b"b", "é".encode(), "é".encode()[:1], "é".encode()[1:], b"ab", "aé".encode(), b"("]


def found(session: Session, k: int) -> dict[str, Any]:
    trace, machine = session.trace, session.machine
    packet = along_text(trace, k, machine, bars(trace, k, machine))
    assert packet is not None
    return cast("dict[str, Any]", packet)


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("(a|b|é)+"),
        explorer.grammar('start: "(" start | /[abé]+/', syntax="lark"),
        explorer.regex("(ab|aé|é)*(é|b)*|a.*"),
    ],
)
def test_a_column_is_a_state_of_each_machine(constraint: explorer.Constraint) -> None:
    vocabulary = explorer.Vocabulary.from_bytes(TOKENS, eos_ids=[8])
    session = Session.from_ids(vocabulary, constraint, [0, 2, 5, 3, 4, 6])
    trace, machine = session.trace, session.machine
    for k in range(len(trace.steps) + 1):
        columns = found(session, k)
        data = trace.positions[k].data
        assert len(columns["fsa"]) == len(columns["fst"]) == len(columns["pairs"])
        assert len(columns["text"]) + 1 == len(columns["fsa"])
        # A token ends where there is a pair, and there the FST is at its root.
        roots = [i for i, prefix in enumerate(columns["fst"]) if prefix == "r"]
        assert roots == [i for i, pair in enumerate(columns["pairs"]) if pair is not None]
        assert roots == [0, *(to for _, to, _, _ in columns["tokens"])]
        states = [machine.byte_state(p.state) for p in trace.positions[: k + 1]]
        assert [columns["fsa"][i] for i in roots] == [str(state) for state in states]
        # Halves of a character have a column each, whole ones one.
        halves = sum(text.startswith("<") for text in columns["text"])
        assert len(columns["text"]) == len(data.decode(errors="ignore")) + (halves + 1) // 2
        # Ahead: an allowed token leads to a pair, a masked one fails where the machine does.
        for token in columns["ahead"]:
            after = machine.step(trace.positions[k].state, token["id"])
            assert (token["pair"] is None) == (after is None)
            assert token["pair"] is None or token["fails"] is None
        for level in columns["next"]:
            assert 0 < len(level["states"]) <= 3
            for _, to, label in level["arcs"]:
                assert to < len(level["states"])
                assert label
        assert NO_ARC not in states


def test_the_end_of_the_text_has_a_column_of_its_own() -> None:
    session = Session(ToyModel(), toy_constraint())
    for token in (2, 4, 5):
        session.step(token)
    columns = found(session, 3)
    assert columns["text"][-1] == ""
    assert (columns["reads"][-1], columns["writes"][-1]) == ("ε", "EOS : ε")
    assert columns["pairs"][-1] == "end"
    assert (columns["next"], columns["ahead"]) == ([], [])


def test_of_a_long_text_the_last_columns_are_shown() -> None:
    session = Session(ToyModel(), toy_constraint())
    for _ in range(20):
        session.step(2)
    columns = found(session, 20)
    assert COLUMNS <= len(columns["text"]) < COLUMNS + 4
    assert columns["left_out"] == 20 - len(columns["tokens"])
    # Of what comes next the likeliest allowed tokens, and up to three masked ones.
    ahead = columns["ahead"]
    assert [one["fails"] is None and one["pair"] is not None for one in ahead][:3] == [True] * 3
    assert len(ahead) <= 6
    for_ = next(one for one in ahead if one["text"] == ["f", "o", "r"])
    assert (for_["fails"], for_["pair"]) == (2, None)


def test_without_a_constraint_there_is_nothing_to_read() -> None:
    session = Session(ToyModel(), None)
    assert along_text(session.trace, 0, session.machine, ()) is None


# Explanations, groups and traps as the page gets them.


WORDS = ["ä", "ö", "a", "ab", "-", "7"]


@pytest.fixture
def vocabulary() -> explorer.Vocabulary:
    tokens = [*(word.encode() for word in WORDS), b"\xc3", b"\xb6"]
    return explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])


@pytest.mark.parametrize("token", range(9))
def test_every_packet_can_travel(vocabulary: explorer.Vocabulary, token: int) -> None:
    for pattern in ("[ä]", "a-7", "(a|ab)-"):
        dfa = explorer.compile(explorer.regex(pattern), vocabulary)
        found = explorer.explain(dfa, dfa.start, token)
        packets = [verdict_packet(found), more_packet(found)]
        assert json.loads(json.dumps(packets, allow_nan=False)) == packets
        assert (packets[0] or {})["allowed"] is bool(dfa.allowed(dfa.start)[token])


def test_parts_of_a_combination_carry_their_own_patterns(vocabulary: explorer.Vocabulary) -> None:
    both = explorer.regex("a.*") & explorer.regex(".*7")
    dfa = explorer.compile(both, vocabulary)
    packet = verdict_packet(explorer.explain(dfa, dfa.start, WORDS.index("-")))
    patterns = {part["pattern"] for part in packet["parts"]}  # type: ignore[attr-defined]
    assert patterns == {"a.*"}  # Only this operand dies.
    assert packet["spans"] == []  # There is no one pattern whose offsets these could be.


@pytest.mark.parametrize(("pattern", "states"), [("(foo)+d", "1, 3"), ("(foo)+|d*for", None)])
def test_a_trap_numbers_states_as_they_are_drawn(pattern: str, states: str | None) -> None:
    dfa = explorer.compile(explorer.regex(pattern), toy_vocabulary())
    trap = next(trap for trap in machine_traps(dfa) if trap.kind == "endless")
    facts = {fact["label"]: fact.get("text") for fact in trap_packet(trap, dfa)["facts"]}  # type: ignore[attr-defined]
    drawn = {node.label for node in token_figure(dfa).nodes if node.kind == "state"}
    named = str(facts["states"]).split(", ")
    assert set(named) <= drawn
    members: list[int] = list(trap.evidence["states"])  # type: ignore[call-overload]
    assert sorted(map(int, named)) == sorted(dfa.char_state[members].tolist())
    assert states is None or facts["states"] == states


def test_a_loop_within_a_character_names_no_dot() -> None:
    """If no token writes a whole character, the loop goes through states without a number."""
    vocabulary = explorer.Vocabulary.from_bytes([b"\xc3", b"\xa4", b"x"], eos_ids=[3])
    dfa = explorer.compile(explorer.regex("ä+x"), vocabulary)
    trap = next(trap for trap in machine_traps(dfa) if trap.kind == "endless")
    (fact,) = [f for f in trap_packet(trap, dfa)["facts"] if f["label"] == "states"]  # type: ignore[attr-defined]
    dots = {node.id[1:] for node in token_figure(dfa).nodes if node.kind == "dot"}
    assert dots and not dots & set(fact["text"].split(", "))
