"""The lesson on phases runs, and shows what its text speaks of."""

from __future__ import annotations

from collections.abc import Callable

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown

Show = Callable[[str], Shown]


def test_one_run_several_phases(show: Show) -> None:
    shown = show("14_one_run_several_phases")
    assert shown.value("[part.name for part in parts]") == ["reasoning", "tool add"]
    message = shown.value("why.message")
    assert "in the phase tool add" in message and "in the phase answer" in message
    said = shown.printed("turn")
    assert "waits for user" in said and "reply     ' Very!'" in said
    assert shown.value("session.finished") is True


def test_the_exercises_on_phases() -> None:
    assert EXERCISES["phases-begin"].grade("no").right
    assert not EXERCISES["phases-separators"].grade(3).right
