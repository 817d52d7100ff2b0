"""Machines with more arcs than are drawn: the caption, and the arcs of the present state."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

import explorer
from explorer.tokens.words import DONE
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_fsa import character_figure, character_view
from widgets.figures.machines.drawn import draw_at, draw_whole, drawn_whole
from widgets.figures.machines.token_dfa import EDGES_SHOWN, token_figure

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
