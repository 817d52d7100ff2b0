"""Figures of machines: live spans, arcs taken, tokens shown, digits, terminals."""

from __future__ import annotations

import re
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import Vocabulary, regex
from explorer.analysis.session import Session
from explorer.automata.machine import run
from explorer.automata.token_marks import ANY_ID, END
from explorer.decoding.models.load import load_model
from explorer.tokens.words import DONE
from tests.evidence import examples
from tests.widgets.figures.cases import toy_dfa, toy_session, toy_vocabulary
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.character_fsa import character_figure, character_view
from widgets.figures.machines.detokenizing_figure import (
    TOKENS_SHOWN,
    composed_tokens,
    detokenizing_figure,
    masked_tokens,
    shown_tokens,
)
from widgets.figures.machines.drawn import draw_at
from widgets.figures.machines.lit import lit_path, walk_token
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.stages import stages_made
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.packets import live_spans, machine_packet, narrower
from widgets.figures.panels.reasons import short_reasons
from widgets.figures.snapshot import snapshot

# The machines as figures: the design's toy, the grouping of tokens, large and odd machines.


BYTES = [bytes([b]) for b in range(256)]


def arcs(figure: MachineFigure) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.label, edge.target) for edge in figure.edges}


PATTERNS = st.sampled_from(
    ["(foo)+d", "[a-z]{1,4}", '"[^"]*"', "(ä|ö|日本)+x", r"[0-9]{2}|é?", ".*", r"\w+!"]
)
TOKENS = st.lists(
    st.text('foda0é日ö"x! ', min_size=1, max_size=4).map(str.encode), min_size=1, max_size=30
)


def test_the_toy_is_the_design_s() -> None:
    figures = character_figure(toy_dfa()), token_figure(toy_dfa())
    for figure, wanted in zip(
        (*figures, detokenizing_figure(toy_vocabulary(), range(6))),
        (
            "c0 f c1, c1 o c2, c2 o c3, c3 f c1, c3 d c4",
            "q0 f q1, q0 foo q3, q0 food q4, q1 oo q3, q3 f q1, q3 foo q3, q3 food q4, q4 EOS done",
            "t f : f t, t ε : f t66, t66 ε : o t666f, t666f ε : o t666f6f, t ε : o t6f, "
            "t6f oo : o t, t666f foo : o   for : r t, t666f6f food : d t, t EOS : ε tend",
        ),
        strict=True,
    ):
        drawn = {f"{edge.source} {edge.label} {edge.target}" for edge in figure.edges}
        assert drawn == set(wanted.split(", "))
    ends = [[node.id for node in figure.nodes if node.accepting] for figure in figures]
    assert ends == [["c4"], ["q4"]]
    assert [node.kind for node in figures[1].nodes if node.id in ("q2", "done")] == [
        "ghost",
        "done",
    ]


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
    assert arcs(character_figure(few)) == {("c0", "é", "c2"), ("c2", "é", "c2"), ("c2", "x", "c3")}
    # A token can end in the middle: the token DFA has that state.
    assert [node.kind for node in token_figure(few).nodes].count("dot") == 1
    many = explorer.compile(explorer.regex(r"\w+"), vocabulary)
    figure = token_figure(many)
    assert [node.id for node in figure.nodes if node.kind == "dot"] == ["qmid"]
    assert figure.node_of(f"q{min(character_view(many).dots)}") == "qmid"
    assert len(character_figure(many, "bytes").nodes) == many.constraint.dfa.num_states


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


# The places that the editor underlines while no token is selected.


LETTERS = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(32, 127)], eos_ids=[95])


def test_a_schema_is_not_underlined_as_a_whole() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    machine = explorer.compile(explorer.json_schema(schema), LETTERS)
    for text in (b"", b'{"a":', b'{"a":1'):
        assert live_spans(machine, text) == ()


def test_a_pattern_is_underlined_where_it_goes_on() -> None:
    machine = explorer.compile(explorer.regex("(foo)+d"), LETTERS)
    assert live_spans(machine, b"foo") == ((1, 2), (6, 7))
    # All of a pattern may be one place.
    assert live_spans(explorer.compile(explorer.regex("a"), LETTERS), b"") == ((0, 1),)


# In a still, an arc that was taken is named by the token that took it.


def test_a_taken_arc_of_many_tokens_is_named_by_the_taken_one() -> None:
    """Two digits of ten tokens each, in byte order 0 first: the run takes 7 and then 3."""
    digits = explorer.Vocabulary.from_bytes([*(str(k).encode() for k in range(10))], eos_ids=[10])
    trace = Session.from_ids(digits, explorer.regex("[0-9]{2}"), [7, 3, 10]).trace
    machine = explorer.compile(explorer.regex("[0-9]{2}"), digits)
    labels = [set(re.findall(r">(\S+ \+9)<", snapshot(trace, k, machine).svg)) for k in range(3)]
    # At the start 7 is about to be taken, then 3; the other arc keeps its own name.
    assert labels == [{"7 +9"}, {"7 +9", "3 +9"}, {"7 +9", "3 +9"}]


# The tokens of a real model that are drawn: allowed ones first, and the construction over them.


@cache
def real(pattern: str, prompt: str) -> Session:
    return Session(load_model("tiny"), explorer.regex(pattern), prompt=prompt)


CASES = [
    ("caf(é|e)s?", "I drank in two "),
    ("[0-9]{4}-(0[1-9]|1[0-2])", "The date is "),
    ("(yes|no|perhaps)", "Is it? "),
]


@pytest.mark.parametrize(("pattern", "prompt"), CASES)
def test_what_is_allowed_is_drawn_first_and_masked_ones_are_told_apart(
    pattern: str, prompt: str
) -> None:
    session = real(pattern, prompt)
    machine = session.machine
    shown = shown_tokens(session.trace, 0, machine)
    masked = set(masked_tokens(session.trace, 0, shown))
    allowed = [token for token in shown if token not in masked]
    assert allowed and len(shown) <= TOKENS_SHOWN
    # In order: first those that leave the present state, then the model's wishes.
    assert list(shown) == allowed + [token for token in shown if token in masked]
    every = session.allowed().nonzero()[0].tolist()
    assert set(allowed) <= set(every)
    if len(every) <= 6:
        assert set(allowed) == set(every)
    # Each arc that leaves the present state has a token in the picture.
    token_dfa = draw_at(machine, session.trace, 0).figures["token_dfa"]
    here = [edge for edge in token_dfa.edges if edge.source == "q0"]
    arcs = arcs_of(machine)
    assert 0 < len(here) <= 6
    for edge in here:
        assert set(arcs.tokens(edge.source, edge.target).tolist()) & set(allowed)
    # The likeliest masked one is the model's own wish.
    found = session.trace.positions[0].distribution
    assert found is not None
    wishes = [entry.token for entry in found.candidates if not entry.allowed]
    assert bool(masked) == bool(wishes) and set(wishes[:1]) <= masked
    # The figure says of each which it is.
    figure = detokenizing_figure(machine.vocabulary, shown, masked)
    assert {t for edge in figure.edges for t in edge.masked} == masked


@pytest.mark.parametrize(("pattern", "prompt"), CASES)
def test_the_construction_has_the_tokens_of_the_drawn_token_dfa(pattern: str, prompt: str) -> None:
    session = real(pattern, prompt)
    machine = session.machine
    figure = draw_at(machine, session.trace, 0).figures["token_dfa"]
    shown = shown_tokens(session.trace, 0, machine)
    tokens = composed_tokens(machine, session.trace.positions[0].state, figure, shown)
    assert set(shown) <= set(tokens)
    for edge in figure.edges:
        assert edge.target == "done" or set(edge.tokens or ()) & set(tokens)
    *_, trimmed = [made.figure for made in stages_made(machine, tokens)]
    # Every arc of the drawing is an arc of the result: nothing is left out.
    wanted = {edge.id for edge in figure.edges if edge.target != "done"}
    assert wanted <= {edge.id for edge in trimmed.edges}


def test_what_a_person_asks_for_is_always_drawn() -> None:
    session = real(*CASES[0])
    token = next(t for t, data in enumerate(session.vocabulary.tokens) if data and len(data) > 8)
    assert token not in shown_tokens(session.trace, 0, session.machine)
    assert shown_tokens(session.trace, 0, session.machine, [token])[0] == token


def test_a_small_vocabulary_is_shown_whole() -> None:
    session = toy_session()
    assert shown_tokens(session.trace, 1, session.machine) == (0, 1, 2, 3, 4)
    assert masked_tokens(session.trace, 1, (0, 1, 2, 3, 4)) == (1, 3)


# A pattern whose digits are those of all scripts is said to be one, with what to write instead.


BYTES_OF_WIDE_DIGITS = explorer.Vocabulary.from_bytes(
    [bytes([b]) for b in range(256)], eos_ids=[256]
)


@pytest.mark.parametrize("pattern", [r"\d{3}", r"(?=.*\d)[a-z\d]{3,6}", r"a|\d\\d"])
def test_what_is_offered_means_ten_digits_and_nothing_else_changes(pattern: str) -> None:
    machine = explorer.compile(explorer.regex(pattern), BYTES_OF_WIDE_DIGITS)
    said = narrower(machine)
    if said is None:
        # Some of the digits are on an arc of their own: nothing is claimed.
        assert pattern == r"(?=.*\d)[a-z\d]{3,6}"
        return
    count = sum(re.fullmatch(r"\d", chr(code)) is not None for code in range(sys.maxunicode + 1))
    assert f"{count} digits" in str(said["said"])
    assert machine_packet(machine)["narrower"] == said
    texts = ["123", "٣٤٥", "12", "a", r"1\d", r"٣\d", "d", "5", "1x"]
    patterns = said["patterns"]
    assert isinstance(patterns, list)
    for other in patterns:
        for text in texts:
            ascii_only = re.fullmatch(pattern, text, re.ASCII) is not None
            assert (re.fullmatch(str(other), text) is not None) == ascii_only


@pytest.mark.parametrize("pattern", ["[0-9]{3}", r"(?a)\d{3}", r"\\d", "abc"])
def test_of_other_patterns_nothing_is_said(pattern: str) -> None:
    assert narrower(explorer.compile(explorer.regex(pattern), BYTES_OF_WIDE_DIGITS)) is None


def test_by_characters_a_pattern_of_many_byte_states_has_few() -> None:
    machine = explorer.compile(explorer.regex(r"(?=.*\d)[a-z\d]{3,6}"), BYTES_OF_WIDE_DIGITS)
    assert machine.constraint is not None and machine.constraint.dfa.num_states > 100
    figure = character_figure(machine)
    assert len(figure.nodes) <= 14 and not [node for node in figure.nodes if node.kind == "dot"]
    assert len(character_figure(machine, "bytes").nodes) > 100


# The figures of a constraint that speaks about tokens: the ends of tokens are arcs with a name.


VOCABULARY = Vocabulary.from_bytes(
    [b"a", b"b", b"ab", b"\n", None, b"a\nb", b"\xc3", b"\xa4", b"Summary:", b"* ", b"\n* ", None],
    eos_ids=[4],
)
SUMMARY = regex(r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>)+){1,2}(?P<IMAGE>)?")
IDS = [8, 10, 0, 10, 2, 11]


@pytest.mark.parametrize("lazy", [False, True])
def test_the_character_fsa_draws_the_labels(lazy: bool) -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY, lazy=lazy)
    figure = character_figure(machine)
    labels = {edge.label for edge in figure.edges}
    assert {END, ANY_ID} <= labels
    nodes = {node.id for node in figure.nodes}
    assert all(edge.source in nodes and edge.target in nodes for edge in figure.edges)


def test_a_run_lights_the_ends_of_its_tokens() -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY)
    trace = Session.from_ids(VOCABULARY, SUMMARY, IDS).trace
    drawn = {f"{e.source}-{e.target}": e.label for e in character_figure(machine).edges}
    lit = lit_path(trace, len(IDS), machine)
    assert {END, ANY_ID} <= {drawn.get(edge) for edge in lit.edges}
    assert f"c{machine.byte_state(trace.positions[-1].state)}" in lit.now
    for k in range(len(IDS) + 1):
        assert draw_at(machine, trace, k).figures["token_dfa"].nodes


def test_a_walk_tokens_to_its_end() -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY)
    state: int | None = machine.start
    for token in IDS[:2]:
        assert state is not None
        state = machine.step(state, token)
    assert state is not None
    after = machine.step(state, 0)
    assert after is not None
    assert walk_token(machine, state, 0).steps[-1].nodes[-1] == f"c{machine.byte_state(after)}"
    assert walk_token(machine, state, 5).failed_at == 1


@pytest.mark.parametrize("lazy", [False, True])
def test_a_control_token_leads_on_though_it_writes_nothing(lazy: bool) -> None:
    model = explorer.load_model("tiny-chat")
    machine = explorer.compile(
        explorer.token("<think>") + regex("[a-z]+"), model.vocabulary, lazy=lazy
    )
    special = {name: token for token, name in model.vocabulary.special.items()}
    session = Session.from_ids(model.vocabulary, machine, [special["<think>"]])
    for k in (0, 1):
        state = machine.byte_state(session.trace.positions[k].state)
        path = lit_path(session.trace, k, machine)
        assert [name for name in path.now if name.startswith("c")] == [f"c{state}"]
    # What only a control token may begin is not said to be at its end.
    some = {*special.values(), *model.vocabulary.eos_ids, *range(0, len(model.vocabulary), 9)}
    reason = short_reasons(machine, machine.start, b"")
    reasons = {*map(reason, some)}
    assert reasons == {"expects <think>", "not complete", None}
    state = session.trace.positions[1].state
    assert short_reasons(machine, state, b"")(special["<think>"]) == "special token"
