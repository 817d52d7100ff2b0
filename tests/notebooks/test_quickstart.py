"""The quickstart fails, repairs, and counts the actions to the first reason."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from itertools import product

import jsonschema
import pytest

import explorer
from explorer.course.checking import EXERCISES
from tests.notebooks.running import FOLDER, Shown, pictures, widget
from widgets.lessons import RECORD, RECORD_SCHEMA

Show = Callable[[str], Shown]
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"


def test_quickstart(show: Show) -> None:
    shown = show("00_quickstart")
    # It begins with a failure, its traceback on the screen; then the mask, and the record is right.
    alone, *trace = shown.printed("failure").splitlines()
    with pytest.raises(json.JSONDecodeError):
        json.loads(alone)
    assert trace[0].startswith("Traceback") and "JSONDecodeError" in "".join(trace)
    written, age, *why = shown.printed("masked").splitlines()
    assert written == RECORD and age == f"the age: {json.loads(written)['age']}"
    jsonschema.validate(json.loads(written), RECORD_SCHEMA)
    assert why[0] == "'Here' (id 1778) is masked at the start." and alone.startswith("Here")
    # The toy, which nobody has moved, then a real model.
    assert "Position 0 after 0 bytes" in widget(shown, "toy")
    assert "of 4,000 tokens allowed" in widget(shown, "tiny")
    # The state that is asked for is on no picture before the guess.
    assert "It is 1." in shown.printed("step")
    assert "'foo' (id 2) is masked after 'f'." in shown.printed("step")
    assert "the constraint expects o; this token writes f" in shown.printed("step")
    assert 0.45 < shown.value("masked.trace.steps[0].before.distribution.z") < 0.55
    assert shown.value("record.dfa.num_states") == 60
    pictures(shown, "card-picture")
    # Why no full stop may follow the record.
    answer, *why = shown.printed("answer").splitlines()
    assert answer == RECORD and why[0].startswith("'.' (id 18) is masked after '")
    assert "The text is complete here, and only the end of text may follow" in "\n".join(why)
    # The exercises: what may follow, by the expression; the pattern, by its texts.
    tokens = ["f", "oo", "foo", "for", "food"]
    begins = [t for t in tokens if re.fullmatch("(foo)+d?", "foofood" + t)]
    assert [*begins, "end"] == [*EXERCISES["quickstart-end"].answer]  # type: ignore[attr-defined]
    stop = explorer.regex(EXERCISES["quickstart-stop"].answer)  # type: ignore[attr-defined]
    date = "2021-07-24"
    assert re.fullmatch(DATE, date)
    assert stop.accepts(date) and stop.accepts(f"{date}.") and not stop.accepts(f"{date}..")


def test_lecture(show: Show) -> None:
    shown = show("00_lecture")
    alone, masked = map(ast.literal_eval, shown.printed("goal").splitlines())
    assert alone.startswith("Here") and masked == RECORD
    assert "It is 0." in shown.printed("mismatch")
    assert "It is 3." in shown.printed("ways")
    assert "'for' (id 3) is masked after 'foo'." in shown.printed("ways")
    assert "It is Not at all." in shown.printed("trap")
    pictures(shown, "fsa", "fst", "fst-read", "composed", "probability")
    # What may follow foo, by the expression, over all texts of up to three tokens.
    tokens = ["f", "oo", "foo", "for", "food"]
    more = ["".join(some) for n in range(3) for some in product(tokens, repeat=n)]
    pattern = re.compile("(foo)+|d*for")
    begins = {t for t in tokens if any(pattern.fullmatch(f"foo{t}{rest}") for rest in more)}
    wanted = begins | ({"end"} if pattern.fullmatch("foo") else set())
    assert wanted == EXERCISES["lecture-mask"].answer  # type: ignore[attr-defined]


def test_the_actions_are_counted() -> None:
    # The browser's test of the quickstart takes these actions, and no other.
    order = (FOLDER / "README.md").read_text("utf-8")
    counted = re.search(r"takes (\w+) actions:\n\n((?:\d\. .*\n)+)", order)
    assert counted is not None and counted[1] == "five"
    assert len(counted[2].splitlines()) == 5
