"""Wrong arguments of cursors, views and toys: one of our errors that names what was given."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.errors import ExplorerError
from widgets import Compare, Cursor, ToyModel
from widgets.toy import toy_constraint


def cursor() -> Any:
    return Cursor(explorer.Session(ToyModel(), toy_constraint()))


def test_what_is_refused_changes_nothing() -> None:
    kept = cursor()
    kept.step()
    before, told = (kept.lines, kept.selected, kept.generation), list[str]()
    kept.subscribe(lambda: told.append("moved"))
    for call in (kept.run, kept.switch, kept.restore, kept.replace):
        with pytest.raises(ExplorerError):
            call("x")
    assert (kept.lines, kept.selected, kept.generation) == before
    assert not told


def test_a_token_is_taken_on_both_sides_by_its_text_too() -> None:
    both: Any = Compare(None, None, None)
    both.take("left", "oo", both=True)
    assert both.left.session.text == both.right.session.text == "oo"
    both.close()
