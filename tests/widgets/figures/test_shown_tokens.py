"""The tokens of a real model that are drawn: allowed ones first, and the construction over them."""

from __future__ import annotations

from functools import cache

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from tests.widgets.figures.cases import toy_session
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.detokenizing_figure import (
    TOKENS_SHOWN,
    composed_tokens,
    detokenizing_figure,
    masked_tokens,
    shown_tokens,
)
from widgets.figures.machines.drawn import draw_at
from widgets.figures.machines.stages import stages_made


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
