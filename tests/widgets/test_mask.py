"""The requests of the mask and of the lines to the kernel."""

from __future__ import annotations

import base64
import json
import sys
import zlib
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.analysis.session import Session
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.figures.packets import decompress
from widgets.figures.panels.mask import unpack_bits, unpack_order
from widgets.figures.panels.tokens import over_time
from widgets.toy import ToyModel, toy_constraint
from widgets.views.explorer import Explorer


def ask(made: Explorer, type: str, /, **content: object) -> dict[str, Any]:
    return Page(made).ask(type, **content)


def test_the_order_is_that_of_the_position_asked_for() -> None:
    made = Explorer(explorer.load_model("tiny"), explorer.regex("[a-z ]{3,20}"), "Once ")
    made.cursor.run(4)
    orders: list[list[int]] = []
    for k in (0, 3):
        ids, bits = unpack_order(ask(made, "order", k=k)["order"])
        logits = made.session.logits(k).float().cpu().numpy()[: len(ids)]
        assert ids.tolist() == sorted(range(len(ids)), key=lambda token: (-logits[token], token))
        # The bars of the position say the same.
        bars = made.session.trace.positions[k].distribution
        assert bars is not None
        assert bars.candidates[0].token == ids[0]
        for entry in bars.candidates:
            place = ids.tolist().index(entry.token)
            assert -bits[place] * np.log(2) == pytest.approx(entry.model, abs=3e-3)
        orders.append(ids.tolist())
    assert orders[0] != orders[1]
    assert ask(made, "order", k=99)["ok"] is False
    made.close()


def test_a_run_from_elsewhere_has_no_order_and_says_why() -> None:
    model = ToyModel()
    session = Session.from_ids(model.vocabulary, toy_constraint(), [2, 4])
    made = Explorer(cursor=Cursor(session))
    answer = ask(made, "order", k=0)
    assert not answer["ok"]
    assert "no model" in answer["error"]["message"]
    # The page knows without asking: there is no feasible mass.
    assert made.position is not None and made.position["z"] is None
    made.close()


def test_rows_of_positions_that_the_page_did_not_see() -> None:
    made = Explorer()
    made.cursor.run(6)
    trace = made.session.trace
    answer = ask(made, "rows", first=1, end=len(trace.positions))
    for k, place in enumerate(answer["index"], start=1):
        row = unpack_bits(answer["rows"][place], trace.num_classes)
        if trace.positions[k].finished:  # The page shows nothing as allowed after the end.
            assert not row.any()
        else:
            assert row[trace.token_class].tolist() == trace.allowed(k).tolist()
    made.cursor.jump(1)  # What is ahead of the cursor is of the line too.
    assert ask(made, "rows", first=0, end=3)["index"] == [0, 0, 0]
    made.close()


def test_a_thousand_positions_are_one_small_answer() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
    made = Explorer(
        cursor=Cursor(Session.from_ids(vocabulary, explorer.regex("[ab]{0,2000}"), [0, 1] * 500))
    )
    answer = ask(made, "rows", first=0, end=1001)
    assert len(answer["index"]) == 1001
    assert len(json.dumps(answer)) < 10_000
    made.close()


def test_the_figure_comes_as_a_file_and_its_absence_as_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("plotly")
    made = Explorer()
    made.cursor.run(3)
    assert list(made.figure().data[0].y) == list(over_time(made.session.trace).z)
    answer = ask(made, "figure")
    assert answer["name"] == "trace.html"
    assert str(decompress(answer["data"])).startswith("<!doctype html>")
    assert len(zlib.decompress(base64.b64decode(answer["data"]))) > 3_000_000
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    broken = ask(made, "figure")
    assert broken["ok"] is False and not broken["quiet"]
    assert "plotly" in broken["error"]["message"] and "pip install" in broken["error"]["remedy"]
    made.close()
