"""Wrong arguments of cursors, views and toys: one of our errors that names what was given."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.errors import ExplorerError
from widgets import Cursor, ToyModel
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
