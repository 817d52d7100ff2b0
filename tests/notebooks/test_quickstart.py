"""The quickstart shows in five cells what it says, and counts the actions to the first reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import explorer
from explorer.course.checking import EXERCISES
from tests.notebooks.running import FOLDER, Shown, widget

Show = Callable[[str], Shown]
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"


def test_quickstart(show: Show) -> None:
    shown = show("00_quickstart")
    code = [
        name
        for name, cell in shown.cells.items()
        if cell.cell_type == "code" and name != "reset" and not name.startswith("exercise")
    ]
    assert code == ["toy", "step", "tiny", "answer"]
    # The toy first, then a real model; the third cell moved the toy, and the view followed.
    assert "Position 1 after 3 bytes: foo" in widget(shown, "toy")
    assert "268 of 4,000 tokens allowed" in widget(shown, "tiny")
    assert "It is 3." in shown.printed("step")
    assert "'for' (id 3) is masked after 'foo'." in shown.printed("step")
    assert "the constraint expects o; this token writes r" in shown.printed("step")
    # A date that a model wrote, and why no full stop may follow it.
    date, *why = shown.printed("answer").splitlines()
    assert re.fullmatch(DATE, date)
    assert why == [
        f"'.' (id 18) is masked after '{date}'.",
        "The text is complete here, and only the end of text may follow.",
    ]
    # The exercises: what may follow, by the expression; the pattern, by its texts.
    tokens = ["f", "oo", "foo", "for", "food"]
    begins = [t for t in tokens if re.fullmatch("(foo)+d?", "foofood" + t)]
    assert [*begins, "end"] == [*EXERCISES["quickstart-end"].answer]  # type: ignore[attr-defined]
    stop = explorer.regex(EXERCISES["quickstart-stop"].answer)  # type: ignore[attr-defined]
    assert stop.accepts(date) and stop.accepts(f"{date}.") and not stop.accepts(f"{date}..")


def test_the_actions_are_counted() -> None:
    # The browser's test of the quickstart takes these actions, and no other.
    order = (FOLDER / "README.md").read_text("utf-8")
    counted = re.search(r"takes (\w+) actions:\n\n((?:\d\. .*\n)+)", order)
    assert counted is not None and counted[1] == "five"
    assert len(counted[2].splitlines()) == 5
