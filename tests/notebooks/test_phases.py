"""The lesson on phases runs, and shows what its text speaks of."""

from __future__ import annotations

import json
from collections.abc import Callable

import explorer
from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown

Show = Callable[[str], Shown]


def test_one_run_several_phases(show: Show) -> None:
    shown = show("14_one_run_several_phases")
    assert shown.value("[part.name for part in parts]") == ["reasoning", "tool add"]
    message = shown.value("why.message")
    assert "in the phase tool add" in message and "in the phase answer" in message
    # The record alone forbids the reasoning; behind it, the record comes out.
    assert shown.value("first.z") < 1e-3 and "<think>" in shown.printed("record")
    thought = shown.printed("think")
    assert "<|im_start|>assistant" in thought and "reasoning" in thought
    said = shown.value("[part.text for part in thinks.parse(lm.vocabulary.written(thought.ids))]")
    assert json.loads(said[1]).keys() == {"name", "age", "city", "job"}
    masses = shown.value("[step.before.distribution.z for step in thought.trace.steps]")
    # The mask leaves the model alone while it reasons, and not at the brace.
    named = "[lm.vocabulary.special.get(token) for token in thought.ids]"
    reasoned = shown.value(named).index("</think>")
    brace = next(k for k, mass in enumerate(masses) if mass < 0.01)
    assert brace == reasoned + 3 and min(masses[:brace]) > 0.9
    assert shown.value("[s.data.decode() for s in thought.trace.steps if s.data]").count("age") == 1
    knows = shown.printed("known")
    assert "Its capital is Oslo." in knows and '{"answer": "Oslo", "sure": true}' in knows
    assert "waits for tool" in shown.printed("turn")
    said = shown.printed("fed")
    assert "{'city': 'Rome'}" in said and "foggy" in said and "answer    'It is " in said
    assert shown.value("session.finished") is True
    assert shown.value("[step.role for step in session.trace.steps].count('tool')") > 5


def test_the_exercises_on_phases() -> None:
    run = explorer.phases(
        ("reasoning", explorer.text_until("</think>")),
        {
            "tool add": explorer.regex(r" add [0-9]+"),
            "answer": explorer.choice([" yes", " no"]),
        },
    )
    pieces = ["So.</think", ">", "> add", "> sub", "> no", "> 4", " 4", " no"]
    letters = explorer.Vocabulary.from_bytes([one.encode() for one in pieces], eos_ids=[8])
    machine = explorer.compile(run, letters)
    state = machine.step(machine.start, 0)
    assert state is not None
    may = {pieces[k] for k in range(1, 6) if machine.step(state, k) is not None}
    assert EXERCISES["phases-crossing"].grade(may).right
    message = explorer.explain_text(run, "So.</think> amber").message
    assert EXERCISES["phases-open"].grade(message.count("in the phase")).right
    thought = explorer.phases(
        ("thought", explorer.regex("[a-z]+</t>")),
        {"tool add": explorer.regex(r" add [0-9]+"), "answer": explorer.choice([" yes", " no"])},
    )
    assert EXERCISES["phases-pattern"].grade(thought).right
