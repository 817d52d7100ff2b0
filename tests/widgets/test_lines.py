"""Lines of a cursor: forks, what an edit leaves, another seed, and sampling again."""

from __future__ import annotations

from typing import Any, cast

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from tests.widgets.page import Page
from widgets import kinds
from widgets.cursor import MOST_LINES, Cursor
from widgets.toy import ToyModel, toy_constraint
from widgets.views.explorer import Explorer


def test_lines_are_limited_and_reset_forgets_them() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    for _ in range(MOST_LINES + 3):
        made = cursor.fork()
        assert cursor.session is made
    assert len(cursor.lines) == MOST_LINES
    with pytest.raises(ExplorerError, match="no line"):
        cursor.switch(MOST_LINES)
    cursor.reset()
    assert len(cursor.lines) == 1
    assert (cursor.session.index, cursor.session.length) == (0, 0)


def test_lines_that_edits_leave_have_names_of_their_own() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "food"))
    cursor.step()
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "(foo)+"))
    cursor.switch(0)
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "ffood"))
    names = [name for name, _ in cursor.lines]
    assert len(set(names)) == len(names)
    assert "line 1 before edit 1" in names and "line 1 before edit 2" in names


def test_a_fork_of_a_line_without_tokens_leaves_no_empty_line() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    assert cursor.fork() is cursor.session
    assert [name for name, _ in cursor.lines] == ["line 1"]
    cursor.step()
    cursor.back()
    cursor.fork()  # There is one ahead, so this is another line.
    assert [session.length for _, session in cursor.lines] == [1, 0]


def test_lines_put_aside_come_back_or_nothing_changes() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    cursor.fork()
    lines, kept = cursor.lines, cursor.aside()
    cursor.replace(Session(ToyModel(), toy_constraint()))
    other = cursor.lines
    with pytest.raises(ExplorerError):
        cursor.restore(kept, prompt=cast("str", 7))
    assert cursor.lines == other
    cursor.restore(kept)
    assert (cursor.lines, cursor.current) == (lines, 1)


def test_sampling_again_draws_other_tokens_and_keeps_the_line() -> None:
    made = Explorer("tiny", regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0), seed=3)
    page = Page(made)
    assert made.sampler["seed"] == 3
    page.ask("run", tokens=64)
    first = made.session.text
    page.ask("reset")
    page.ask("run", tokens=64)
    assert made.session.text == first  # The same numbers, the same text.
    page.ask("again")
    assert (made.session.index, made.sampler["seed"]) == (0, 4)
    page.ask("run", tokens=64)
    second = made.session.text
    assert second != first
    assert [line.text for _, line in made.cursor.lines] == [first, second]
    page.ask("jump", k=2)
    kept = made.session.ids
    page.ask("again")  # From here on, because the text has not ended here.
    assert (made.session.ids, made.session.seed) == (kept, 5)
    assert len(made.cursor.lines) == 3
    made.close()


def test_another_seed_keeps_what_stands_and_counts_from_then_on() -> None:
    made = Explorer("tiny", regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0))
    page = Page(made)
    page.ask("run", tokens=4)
    page.ask("jump", k=2)
    ids, ahead = made.session.ids, made.session.length
    assert page.ask("sampler", temperature=1.0, seed=9)["ok"]
    assert (made.session.ids, made.session.length, made.sampler["seed"]) == (ids, ahead, 9)
    page.ask("reset")
    page.ask("run", tokens=64)
    wanted = explorer.Session(
        load_model("tiny"), regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0), seed=9
    )
    wanted.run(64)
    assert made.session.ids == wanted.ids
    assert not page.ask("sampler", temperature=1.0, seed=-1)["ok"]
    assert Explorer(seed=2**60).sampler["seed"] == str(2**60)
    made.close()


def test_tokens_that_cannot_all_follow_change_nothing() -> None:
    """A masked token midway: neither the kernel nor the page moves."""
    page = Page(Explorer())
    page.ask("step")
    cursor, before = page.made.cursor, page.made.cursor.session
    answer = page.ask("follow", tokens=[2, 3])  # foo is allowed after foo, for is not.
    assert not answer["ok"]
    assert (cursor.session, cursor.session.text, len(cursor.lines)) == (before, "foo", 1)
    assert page.line["index"] == cursor.session.index == page.position["k"] == 1
    assert page.ask("follow", tokens=[2, 4])["ok"]
    assert (cursor.session.text, len(cursor.lines)) == ("foofoofood", 2)
    assert page.line["index"] == page.position["k"] == 3
    page.made.close()


def test_tokens_on_a_fork_of_an_empty_line_replace_it() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    assert cursor.fork([2, 4]).text == "foofood"
    assert [name for name, _ in cursor.lines] == ["line 1"]


def test_a_listener_that_fails_leaves_no_other_behind() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.subscribe(lambda: [][0])
    page = Page(Explorer(cursor=cursor))
    with pytest.raises(IndexError):
        cursor.step()
    assert page.position["k"] == cursor.session.index == 1
    page.made.close()


@pytest.mark.parametrize("setting", [{"seed": 7}, {"max_tokens": 3}, {"sampler": Sampler(1.0)}])
def test_a_setting_beside_a_cursor_is_refused(setting: dict[str, Any]) -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    with pytest.raises(ExplorerError, match=f"{next(iter(setting))} cannot be given with cursor"):
        Explorer(cursor=cursor, **setting)
