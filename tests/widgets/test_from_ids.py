"""A run from elsewhere in the explorer: no model, the recorded ids, and the first that is wrong."""

from __future__ import annotations

from typing import Any

from explorer.analysis.session import Session
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.toy import ToyModel, toy_constraint
from widgets.views.explorer import Explorer

F, OO, FOO, FOR, FOOD, EOS = range(6)


def opened(*ids: int) -> Page:
    run = Session.from_ids(ToyModel().vocabulary, toy_constraint(), ids)
    return Page(Explorer(cursor=Cursor(run)))


def strip(page: Page) -> dict[str, Any]:
    return page.line["strip"]


def test_the_finding_stands_in_the_line() -> None:
    page = opened(FOO, FOO, FOR, F, F)
    assert "a run from elsewhere" in page.made.about
    assert page.line["model"] is False
    assert [token["text"] for token in strip(page)["tokens"]] == ["foo", "foo"]
    assert strip(page)["rejected"] == {
        "id": FOR, "text": "for", "at": 2, "reason": "r: expects o", "unread": 2
    }  # fmt: skip
    # Seen from anywhere in the line.
    assert page.ask("jump", k=0)["ok"]
    assert strip(page)["rejected"]["id"] == FOR
    told = page.ask("why", token=FOR, k=2)["explanation"]
    assert not told["allowed"]
    assert page.ask("walk", token=FOR, k=2)["walk"]["failed_at"] == 2
    page.made.close()


def test_probabilities_are_blank_and_masks_are_not() -> None:
    page = opened(FOO, FOO)
    position = page.made.position
    assert position is not None
    assert (position["z"], position["entropy_before"], position["top"]) == (None, None, [])
    assert position["allowed"] == 3
    assert page.history["z"] == [None, None, None]
    rows = page.ask("search", query="foo", k=2)["rows"]
    assert {row["id"]: row["allowed"] for row in rows} == {FOO: True, FOOD: True}
    page.made.close()


def test_one_steps_along_the_recorded_ids_and_no_further() -> None:
    page = opened(FOO, FOO, FOR)
    made = page.made
    page.ask("jump", k=0)
    assert page.ask("step")["ok"]
    assert made.session.ids == (FOO,)
    # To the end is the end of what was recorded; nothing is asked of a model that is not there.
    assert page.ask("run", tokens=16)["stopped"]
    assert made.session.ids == (FOO, FOO)
    refused = page.ask("step")
    assert not refused["ok"]
    assert "no model" in refused["error"]["message"]
    # A token of one's own is a way out of it, and the finding is then no longer about this line.
    assert page.ask("take", token=FOOD)["ok"]
    assert strip(page)["rejected"] is None
    made.close()


def test_another_constraint_may_allow_what_this_one_did_not() -> None:
    page = opened(FOO, FOO, FOR)
    assert page.ask("edit", kind="regex", text="(foo|for)+", prompt="")["ok"]
    assert strip(page)["rejected"] is None
    assert page.made.session.ids == (FOO, FOO, FOR)
    page.made.close()


def test_the_still_and_the_file_open_without_a_model() -> None:
    page = opened(FOO, FOR)
    assert "foo" in page.made.snapshot().text
    answer = page.ask("export")
    assert answer["ok"], answer
    page.made.close()


def test_without_a_model_the_allowed_tokens_are_listed() -> None:
    page = opened(FOO, FOO)
    answer = page.ask("allowed")
    assert {row["id"] for row in answer["rows"]} == {F, FOO, FOOD}
    assert all(row["allowed"] for row in answer["rows"]) and answer["count"] == 3
    page.made.close()
