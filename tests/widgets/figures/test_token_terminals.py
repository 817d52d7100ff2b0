"""The figures of a constraint that speaks about tokens: the ends of tokens are arcs with a name."""

from __future__ import annotations

import pytest

import explorer
from explorer import Session, Vocabulary, regex
from explorer.automata.token_marks import ANY_ID, END
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.drawn import draw_at
from widgets.figures.machines.lit import lit_path, walk_token
from widgets.figures.panels.reasons import short_reason

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
    reasons = {short_reason(machine, machine.start, token, b"") for token in some}
    assert reasons == {"expects <think>", "not complete", None}
    state = session.trace.positions[1].state
    assert short_reason(machine, state, special["<think>"], b"") == "special token"
