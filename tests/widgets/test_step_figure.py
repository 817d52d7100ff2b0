"""The figure of one step, against the trace and the look ahead."""

from __future__ import annotations

import re

import pytest

import explorer
from widgets import Explorer

STOPS = explorer.choice([" New York", " Boston"])


def night() -> Explorer:
    return Explorer("tiny", STOPS, "The night train stops at")


def test_the_bars_are_those_of_the_position() -> None:
    view = night()
    figure = view.figure("step")
    model, kept, ahead = figure.data
    session = view.session
    names = list(figure.layout.yaxis.ticktext)
    here = session.position.distribution
    assert here is not None and len(names) == len(model.x) == len(kept.x)
    by_token = {entry.token: entry for entry in session.ahead()}
    bars = {bar["text"]: bar for bar in view.position["top"]}
    for name, of_model, constrained, hatch in zip(
        names, model.x, kept.x, model.marker.pattern.shape, strict=True
    ):
        bar = bars[re.sub(r" \(\d+\)$", "", name)]
        assert of_model == pytest.approx(bar["model"], abs=1e-4)
        assert (constrained is None) == (not bar["allowed"]) == (hatch == "/")
    new = names.index("␣New")
    token = session.vocabulary.ids_of(b" New")[0]
    mass = by_token[token].mass
    assert mass is not None and ahead.x[new] == mass < 0.01
    assert "feasible mass 0.7" in figure.layout.title.text or "mass 0.8" in figure.layout.title.text


def test_text_of_a_vocabulary_is_no_markup_for_plotly() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"<b>", b'"q"'], eos_ids=[2])
    from tests.analysis.table_model import TableModel

    model = TableModel(vocabulary, lambda _: {"<b>": 0.5, '"q"': 0.3})
    figure = Explorer(model, explorer.regex('(<b>|"q")+')).figure("step")
    assert set(figure.layout.yaxis.ticktext) >= {"&lt;b&gt;", '"q"'}
