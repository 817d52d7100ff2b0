"""Two lines side by side: messages in, traits and answers out, held against two sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from tests.widgets.page import Page
from widgets import Explorer
from widgets.lessons.invasive import scheme_texts
from widgets.toy import EOS, ToyModel
from widgets.views.compare import Compare
from widgets.views.explorer import Mask

F, OO, FOO, FOR, FOOD = range(5)
SIDES = ("left", "right")


def places(page: Page) -> tuple[int, int]:
    return page.made.left_position["k"], page.made.right_position["k"]


@pytest.fixture
def page() -> Page:
    return Page(Compare(None, regex("(foo)+d"), regex("foo(foo)?")))


def test_each_line_takes_its_own_tokens_and_one_that_ended_stays(page: Page) -> None:
    sessions = [
        Session(ToyModel(), rule, sampler=Sampler(temperature=0.0))
        for rule in (regex("(foo)+d"), regex("foo(foo)?"))
    ]
    for k in range(1, 6):
        assert page.ask("step")["ok"]
        for side, session in zip(SIDES, sessions, strict=True):
            if not session.finished:
                session.step()
            shown = getattr(page.made, f"{side}_position")
            assert (shown["k"], shown["finished"]) == (session.index, session.finished)
            tokens = getattr(page.made, f"{side}_line")["strip"]["tokens"]
            assert tuple(token["id"] for token in tokens) == session.ids
            if not session.finished:
                assert shown["allowed"] == int(session.allowed().sum())
        assert page.made.index == max(session.index for session in sessions) <= k
    assert places(page) == (4, 3)


def test_jumps_move_both_and_run_goes_to_the_ends(page: Page) -> None:
    assert page.ask("run", tokens=2)["stopped"] is False
    assert places(page) == (2, 2)
    assert page.ask("run", tokens=16)["stopped"]
    ends = places(page)
    assert ends[0] != ends[1]
    page.ask("jump", k=1)
    assert places(page) == (1, 1)
    page.ask("jump", k=max(ends))
    assert places(page) == ends
    assert page.ask("jump", k=-1)["ok"] is False


def test_a_token_taken_on_one_side(page: Page) -> None:
    page.ask("take", side="left", token=F)
    assert page.made.left.session.ids == (F,)
    assert page.made.right.session.ids == (FOO,)
    page.ask("jump", k=0)
    page.ask("take", side="right", token=F)  # What was chosen on the left stays.
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((F,), (F,))


def test_a_token_taken_on_both_sides_where_it_is_allowed(page: Page) -> None:
    page.ask("take", side="left", token=F, both=True)
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((F,), (F,))
    page.ask("jump", k=0)
    page.ask("take", side="left", token=FOOD, both=True)  # The right cannot.
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((FOOD,), (F,))


def test_what_is_refused_moves_neither(page: Page) -> None:
    answer = page.ask("take", side="right", token=FOOD)
    assert answer["ok"] is False
    assert "not allowed" in answer["error"]["message"]
    assert places(page) == (0, 0)
    assert page.ask("explode")["ok"] is False
    assert page.ask("walk", side="middle", token=F)["ok"] is False
    assert page.ask("step")["ok"]


def test_a_side_answers_for_its_own_machine(page: Page) -> None:
    keys = {page.ask("machine", side=side, figures=False)["machine"]["key"] for side in SIDES}
    assert keys == {page.made.left_machine["key"], page.made.right_machine["key"]}
    assert len(keys) == 2
    walks = [page.ask("walk", side=side, k=0, token=FOOD)["walk"] for side in SIDES]
    assert [walk["failed_at"] for walk in walks] == [None, 3]
    rows = page.ask("search", side="left", k=0, query="food")["rows"]
    assert [row["id"] for row in rows] == [FOOD]


def test_other_views_show_a_side() -> None:
    made = Compare(None, regex("(foo)+d"), regex("foo"))
    mask = Mask(cursor=made.left)
    made.step()
    assert mask.position == made.left_position
    assert mask.place == made.left_place != made.right_place
    made.left.step(FOOD)  # One line alone; the next step of both makes them even again.
    assert made.index == 2
    made.step()
    assert made.left.session.ids == (FOO, FOOD, EOS)
    assert made.right.session.ids == (FOO, EOS)
    made.close()
    made.left.jump(0)
    assert (mask.position["k"], made.left_position["k"]) == (0, 3)


def test_a_step_goes_out_as_what_happened_to_each_line(page: Page) -> None:
    """A line is sent whole once; after a step each side gets only the new token."""
    sent: list[dict[str, Any]] = []
    page.made._send = lambda message, buffers=None: sent.append(json.loads(json.dumps(message)))
    page.tell("step")
    (state,) = [one["state"] for one in sent if one["method"] == "update"]
    for side in SIDES:
        assert f"{side}_line" not in state and f"{side}_editor" not in state
        moved = state[f"{side}_moved"]
        assert (moved["kept"], [token["id"] for token in moved["tokens"]]) == (0, [FOO])
    page.made._send = page._receive
    whole = page.ask("line", side="left")["line"]
    assert whole["generation"] == state["left_moved"]["generation"]
    assert [token["id"] for token in whole["strip"]["tokens"]] == [FOO]


# --- schemes ----------------------------------------------------------------------------------


def test_schemes_are_compared_with_their_marks() -> None:
    """The strip marks what crosses a border and what a template fixed; a side takes another one."""
    tiny = load_model("tiny")
    made = scheme_texts(tiny, max_tokens=10, lookaheads=(0, 1))
    both = Compare(tiny, "k = 1", "template", made.prompt, schemes=made.machines)
    page = Page(both)
    assert page.ask("run", tokens=10)["ok"]
    rows = {row["name"]: row for row in made.rows}
    marks = ("bridge", "fixed")

    def agree() -> None:
        for side in SIDES:
            row = rows[getattr(both, f"{side}_scheme")]
            strip = getattr(both, f"{side}_line")["strip"]["tokens"]
            assert [token["id"] for token in strip] == [token["id"] for token in row["tokens"]]
            machine = both.left.session.machine if side == "left" else both.right.session.machine
            for mark in marks if machine.report.kind == "lookahead" else ("fixed",):
                assert [mark in token for token in strip] == [
                    mark in token for token in row["tokens"]
                ]

    agree()
    assert any("fixed" in token for token in both.right_line["strip"]["tokens"])
    assert any("bridge" in token for token in both.left_line["strip"]["tokens"])
    assert page.ask("scheme", side="right", scheme="ours")["ok"]
    assert (both.left_scheme, both.right_scheme) == ("k = 1", "ours")
    agree()
    assert not page.ask("scheme", side="left", scheme="k = 9")["ok"]
    assert not page.ask("scheme", scheme="ours")["ok"]
    with pytest.raises(ExplorerError, match="left is 'nope'"):
        Compare(None, "nope", schemes={"one": regex("(foo)+d")})
    shown = Explorer(tiny, made.machines["k = 0"], made.prompt)
    masked = [bar for bar in shown.position["top"] if not bar["allowed"]]
    assert any(bar["reason"] == "crosses 1 border" for bar in masked)
    both.close()
    shown.close()
