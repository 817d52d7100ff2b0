"""The strip of other engines, as the page asks for it."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Constraint
from tests.widgets.page import Page
from widgets.toy import ToyModel
from widgets.views.explorer import Explorer

for library in ("outlines_core", "xgrammar", "llguidance"):
    pytest.importorskip(library)

LETTERS = ToyModel({**{letter: 1.0 for letter in "helo wrd\n"}, "hello": 2.0, " world": 2.0})
H, HELLO, NEW_LINE = 0, 9, 8


def answer(constraint: Constraint, *tokens: int, k: int = 0) -> dict[str, Any]:
    page = Page(Explorer(LETTERS, constraint))
    return page.ask("engines", k=k, tokens=list(tokens))


def row(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in told["rows"] if each["name"] == name)


def test_a_row_for_each_engine_and_a_cell_for_each_token() -> None:
    told = answer(explorer.regex("hello world"), H, HELLO)
    names = ["explorer", "outlines-core", "xgrammar", "llguidance"]
    assert [each["name"] for each in told["rows"]] == names
    assert told["tokens"] == [H, HELLO]
    assert [cell["on"] for cell in row(told, "explorer")["cells"]] == [True, True]
    first, second = row(told, "llguidance")["cells"]
    assert second == {"on": True}
    assert first["on"] is False and first["why"]["class"] == "forced tokens"
    assert row(told, "xgrammar")["said"] == ""
    assert "differs in" in row(told, "llguidance")["said"]


def test_an_engine_that_refuses_says_so() -> None:
    told = answer(explorer.regex("(?=h)hello"), H)
    for name in ("outlines-core", "xgrammar", "llguidance"):
        assert row(told, name)["allowed"] is None and row(told, name)["said"]


def test_a_constraint_of_our_own_is_an_error_that_the_part_shows() -> None:
    told = answer(explorer.regex("hello|he") & explorer.regex("h.*"), H)
    assert not told["ok"] and told["quiet"]
    assert "cannot be asked" in told["error"]["message"]


def test_an_answer_is_kept_for_its_position() -> None:
    shown = Explorer(LETTERS, explorer.regex("a.?|hello.?"))
    page = Page(shown)
    page.ask("engines", k=0, tokens=[H])
    engines = shown.shown.page.engines
    constraint = shown.session.constraint
    assert constraint is not None
    assert engines.after(constraint, ()) is engines.after(constraint, ())
    page.ask("take", token=HELLO)
    told = page.ask("engines", tokens=[NEW_LINE])
    assert row(told, "xgrammar")["cells"][0]["why"]["class"] == "dialect"
