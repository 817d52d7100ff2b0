"""The machines as figures: the design's toy, the grouping of tokens, large and odd machines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.textbook.composition import composition_stages
from explorer.tokens.walks.failing import run
from explorer.tokens.words import DONE
from tests.evidence import examples
from tests.widgets.figures.cases import toy_dfa, toy_vocabulary
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_fsa import character_figure, character_view
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.stages import stages_made
from widgets.figures.machines.token_dfa import token_figure

BYTES = [bytes([b]) for b in range(256)]


def arcs(figure: MachineFigure) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.label, edge.target) for edge in figure.edges}


def test_the_toy_character_fsa_is_the_design_s() -> None:
    figure = character_figure(toy_dfa())
    assert [node.label for node in figure.nodes] == ["0", "1", "2", "3", "4"]
    assert [node.id for node in figure.nodes if node.accepting] == ["c4"]
    assert [node.id for node in figure.nodes if node.start] == ["c0"]
    assert arcs(figure) == {
        ("c0", "f", "c1"),
        ("c1", "o", "c2"),
        ("c2", "o", "c3"),
        ("c3", "f", "c1"),
        ("c3", "d", "c4"),
    }


def test_the_toy_detokenizing_fst_is_the_design_s() -> None:
    figure = detokenizing_figure(toy_vocabulary(), range(6))
    assert [node.label for node in figure.nodes] == ["r", "f", "fo", "foo", "o", ""]
    assert arcs(figure) == {
        ("t", "f : f", "t"),
        ("t", "ε : f", "t66"),
        ("t66", "ε : o", "t666f"),
        ("t666f", "ε : o", "t666f6f"),
        ("t", "ε : o", "t6f"),
        ("t6f", "oo : o", "t"),
        ("t666f", "foo : o   for : r", "t"),
        ("t666f6f", "food : d", "t"),
        ("t", "EOS : ε", "tend"),
    }
    assert figure.caption == "all 5 tokens"


def test_the_toy_token_dfa_is_the_design_s() -> None:
    figure = token_figure(toy_dfa())
    kinds = {node.id: node.kind for node in figure.nodes}
    assert kinds == {
        "q0": "state",
        "q1": "state",
        "q2": "ghost",
        "q3": "state",
        "q4": "state",
        "done": "done",
    }
    assert arcs(figure) == {
        ("q0", "f", "q1"),
        ("q0", "foo", "q3"),
        ("q0", "food", "q4"),
        ("q1", "oo", "q3"),
        ("q3", "f", "q1"),
        ("q3", "foo", "q3"),
        ("q3", "food", "q4"),
        ("q4", "EOS", "done"),
    }


def test_a_restricted_fst_says_so() -> None:
    figure = detokenizing_figure(toy_vocabulary(), [2, 4])
    assert figure.caption == "2 of 5"
    assert figure.about == "2 of 5 tokens; the composition uses all"
    assert not figure.complete


PATTERNS = st.sampled_from(
    ["(foo)+d", "[a-z]{1,4}", '"[^"]*"', "(ä|ö|日本)+x", r"[0-9]{2}|é?", ".*", r"\w+!"]
)
TOKENS = st.lists(
    st.text('foda0é日ö"x! ', min_size=1, max_size=4).map(str.encode), min_size=1, max_size=30
)


@settings(max_examples=examples(15))
@given(PATTERNS, TOKENS)
def test_edges_out_of_a_state_sum_to_what_it_allows(pattern: str, tokens: list[bytes]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*BYTES, *tokens], eos_ids=[256 + len(tokens)])
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    figure = token_figure(dfa)
    for state in range(min(dfa.num_states, 12)):
        edges = arcs_of(dfa).edges([state])
        assert sum(edge.count for edge in edges) == int(dfa.allowed(state).sum())
        for edge in edges:
            assert edge.num_groups >= len(edge.groups) >= 1
            for group in edge.groups:
                assert set(group.tokens) <= set(dfa.tokens_of_class[group.token_class].tolist())
                target = dfa.step(state, group.tokens[0])
                assert target is not None
                name = "done" if target == DONE else f"q{int(dfa.char_state[target])}"
                assert figure.node_of(name) == edge.target


@settings(max_examples=examples(15))
@given(PATTERNS, st.characters(exclude_categories=["Cs"]))
def test_the_character_form_reads_what_the_machine_reads(pattern: str, character: str) -> None:
    vocabulary = explorer.Vocabulary.from_bytes(BYTES, eos_ids=[256])
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    figure = character_figure(dfa)
    drawn = {(edge.source, edge.target) for edge in figure.edges}
    view = character_view(dfa)
    for state, pieces in view.arcs.items():
        reached = int(run(dfa.constraint.dfa, state, character.encode())[-1])
        read = [target for low, high, target in pieces if low <= ord(character) <= high]
        assert read == ([] if reached < 0 else [reached])
        assert all((f"c{state}", f"c{target}") in drawn for target in read)


def test_the_bytes_of_a_character_are_folded_into_its_arc_and_drawn_once() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(BYTES, eos_ids=[256])
    few = explorer.compile(explorer.regex("é+x"), vocabulary)
    assert arcs(character_figure(few)) == {
        ("c0", "é", "c2"),
        ("c2", "é", "c2"),
        ("c2", "x", "c3"),
    }
    # A token can end in the middle: the token DFA has that state.
    assert [node.kind for node in token_figure(few).nodes].count("dot") == 1
    many = explorer.compile(explorer.regex(r"\w+"), vocabulary)
    figure = token_figure(many)
    assert [node.id for node in figure.nodes if node.kind == "dot"] == ["qmid"]
    assert figure.node_of(f"q{min(character_view(many).dots)}") == "qmid"
    assert len(character_figure(many, "bytes").nodes) == many.constraint.dfa.num_states


def test_without_tokens_in_a_character_there_are_no_dots() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(["ä".encode(), b"x"], eos_ids=[2])
    figure = character_figure(explorer.compile(explorer.regex("ä+x"), vocabulary))
    assert arcs(figure) == {
        ("c0", "ä", "c2"),
        ("c2", "ä", "c2"),
        ("c2", "x", "c3"),
    }


def test_the_stages_lead_to_the_token_dfa() -> None:
    dfa = toy_dfa()
    composed, free, single, trimmed = composition_stages(
        dfa.vocabulary, dfa.constraint.dfa, range(5)
    )
    assert composed.num_epsilons and not free.num_epsilons
    assert len({(s, t) for s, t, _ in single.arcs}) == len(single.arcs)
    # Up to names, the last one is the token DFA without the end of text.
    names = {trimmed.start: dfa.start}
    for source, token, target in sorted(trimmed.arcs):
        names.setdefault(target, dfa.step(names[source], token) or 0)
    moves = {(names[s], t, names[d]) for s, t, d in trimmed.arcs}
    expected = {
        (q, t, dfa.step(q, t))
        for q in range(dfa.num_states)
        for t in range(5)
        if dfa.step(q, t) is not None
    }
    assert moves == expected


@pytest.mark.parametrize("pattern", ["(foo)+d", "(foo)+|d*for", "f(oo|oofood)*"])
def test_the_stages_have_the_token_dfa_s_names(pattern: str) -> None:
    """So what is lit in the token DFA is lit in each stage: the same nodes, the same arcs."""
    dfa = explorer.compile(explorer.regex(pattern), toy_vocabulary())
    whole = token_figure(dfa)
    states = {node.id: node.label for node in whole.nodes if node.id != "done" and node.label}
    wanted = {edge.id: edge.tokens for edge in whole.edges if edge.target != "done"}
    *inner, single, trimmed = [made.figure for made in stages_made(dfa, range(5))]
    ends = {node.id for node in whole.nodes if node.accepting}
    for figure in (*inner, single, trimmed):
        named = {node.id: node for node in figure.nodes if node.id.startswith("q")}
        drawn = {edge.source for edge in whole.edges} | {edge.target for edge in whole.edges}
        assert set(named) == set(states) & drawn
        assert all(named[name].label.split(",")[0] == states[name] for name in named)
        assert {name for name in named if named[name].accepting} == ends & set(named)
        assert [node.id for node in figure.nodes if node.start] == ["q0"]
        ends_here = {edge.source for edge in figure.edges if edge.target == "done"}
        assert ends_here == {node.id for node in figure.nodes if node.accepting}
    for figure in (inner[1], trimmed):
        arcs_found = {edge.id: edge.tokens for edge in figure.edges if edge.id in wanted}
        assert {name: sorted(t or ()) for name, t in arcs_found.items()} == {
            name: sorted(t or ()) for name, t in wanted.items()
        }
    assert {edge.id for edge in trimmed.edges if edge.target != "done"} == set(wanted)


def test_a_dead_end_of_a_stage_is_said_to_be_one() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
    dfa = explorer.compile(explorer.regex("a*d|b"), vocabulary)
    *_, single, trimmed = [made.figure for made in stages_made(dfa, [0, 1])]
    (dead,) = [node for node in single.nodes if node.id[0] not in "qd"]
    assert dead.kind == "ghost" and single.caption.startswith("determinized")
    assert "1 dead ends and 2 arcs went" in trimmed.caption
    assert (dead.label, "dead end" in dead.title) == ("1", True)
    assert dead.id not in {node.id for node in trimmed.nodes}


def test_the_composition_is_made_pair_by_pair_of_arcs_that_are_drawn() -> None:
    dfa = toy_dfa()
    composed, *others = stages_made(dfa, range(5))
    assert all(made.sources == () for made in others)
    inner = {edge.id: edge for edge in detokenizing_figure(toy_vocabulary(), range(5)).edges}
    outer = {edge.id: edge for edge in character_figure(dfa).edges}
    drawn = {edge.id: edge for edge in composed.figure.edges if edge.target != "done"}
    assert [name for name, _, _ in composed.sources] == list(
        dict.fromkeys(n for n, _, _ in composed.sources)
    )
    assert {name for name, _, _ in composed.sources} == set(drawn)
    reached = {"q0"}
    labels = {node.id: node.label for node in composed.figure.nodes}
    for name, fst, fsa in composed.sources:
        assert drawn[name].source in reached  # One can draw it: where it begins is there.
        reached.add(drawn[name].target)
        assert fsa is not None
        one, other = outer[fsa], inner[fst]
        # (q, r) goes to (q', r') by an arc from q to q' and one from r to r' over the same byte.
        before, after = (labels[drawn[name].source], labels[drawn[name].target])
        assert [label.split(",")[0] for label in (before, after)] == [
            one.source[1:],
            one.target[1:],
        ]
        prefixes = [bytes.fromhex(end[1:]).decode() or "r" for end in (other.source, other.target)]
        assert [label.split(",")[1] for label in (before, after)] == prefixes
        assert one.label in other.label
