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
    assert "<|im_start|>assistant" in shown.printed("setup")
    thought = shown.printed("think")
    assert "Its capital is Oslo." in thought and '{"answer": "Oslo", "sure": true}' in thought
    assert "waits for tool" in shown.printed("turn")
    said = shown.printed("fed")
    assert "{'city': 'Rome'}" in said and "foggy" in said and "answer    'It is " in said
    assert shown.value("session.finished") is True
    assert shown.value("[step.role for step in session.trace.steps].count('tool')") > 5


def test_the_exercises_on_phases() -> None:
    assert EXERCISES["phases-begin"].grade("no").right
    assert not EXERCISES["phases-separators"].grade(3).right
