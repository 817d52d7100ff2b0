"""The settings of a session in the explorer: its restriction, and what its answers begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import Trace, choice, regex
from explorer.errors import DamagedFile
from tests.widgets.page import Page
from widgets.dialogue.later import Progress
from widgets.export import recorded, taken
from widgets.views.explorer import Explorer

TINY = explorer.load_model("tiny")
SP = explorer.load_model("tiny-sp")
GERMANY = "What is the capital of Germany?"


def boxes(made: Explorer) -> list[dict[str, Any]]:
    return Page(made).line["strip"]["prompt"]


def test_a_prefix_is_read_and_marked() -> None:
    cities = choice([" Berlin", " Bonn"])
    made = Explorer(SP, cities, GERMANY, response_prefix=" The capital is")
    other = explorer.Session(SP, cities, GERMANY, response_prefix=" The capital is")
    plain = explorer.Session(SP, cities, GERMANY)
    added = len(other.trace.prompt_ids) - len(plain.trace.prompt_ids)
    assert made.trace.prompt_ids == other.trace.prompt_ids and made.trace.prefixed == added > 0
    marked = [box for box in boxes(made) if box.get("begins")]
    assert marked == boxes(made)[-added:]
    assert "".join(box["text"] for box in marked) == "␣The␣capital␣is"
    assert "begins" not in boxes(Explorer(SP, cities, GERMANY))[-1]
    # It stays when the prompt is edited.
    made.session.edit(prompt="Where is the parliament of Germany?")
    assert made.trace.prefixed == added


@pytest.mark.parametrize("heal", [True, "prompt"])
def test_tokens_that_write_the_prompt_again_are_marked(heal: Any) -> None:
    pattern = regex("[a-z ]{3,9}").canonical() if heal == "prompt" else regex("[a-z ]{3,9}")
    made = Explorer(SP, pattern, "What is the col", heal=heal)
    page = Page(made)
    made.cursor.run(20)
    trace = made.cursor.full_trace()
    shown = page.line["strip"]
    assert shown["healed"] and trace.healed
    begins = [len(step.before.data) for step in trace.steps]
    inside = [begin < len(trace.healed.encode()) for begin in begins]
    assert [bool(token.get("again")) for token in shown["tokens"]] == inside
    assert any(inside) and not all(inside)


def test_healing_takes_a_prefix_back_first() -> None:
    """Ids taken back from the beginning of the answer are no longer among the prompt's ids."""
    made = explorer.Session(TINY, regex("[a-z]+"), "It is", response_prefix=" the", heal=True)
    whole = explorer.Session(TINY, regex("[a-z]+"), "It is", response_prefix=" the")
    assert whole.trace.prefixed == 1 and made.trace.prefixed == 0
    assert made.healed == " the"


def test_a_restriction_is_a_stage_on_the_bar() -> None:
    made = Explorer(SP, regex(r"\w+"), GERMANY, restrict={"scripts": ["Latin"]})
    stages = made.editor["pipeline"]["stages"]
    assert [stage["title"] for stage in stages] == ["Latin"]
    assert made.session.restrict is not None


def test_a_trace_keeps_how_the_answer_begins(tmp_path: Path) -> None:
    trace = explorer.Session(TINY, regex("[a-z]+"), "It is", response_prefix=" the").trace
    trace.save(tmp_path / "run.json")
    assert Trace.load(tmp_path / "run.json") == trace
    plain = explorer.Session(TINY, regex("[a-z]+"), "It is").trace
    plain.save(tmp_path / "plain.json")
    assert "prefixed" not in json.loads((tmp_path / "plain.json").read_text("utf-8"))
    from explorer.decoding.trace.writing import to_json

    data = json.loads(to_json(trace))
    data["prefixed"] = len(trace.prompt_ids) + 1
    data.pop("sha256")
    (tmp_path / "forged.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(DamagedFile):
        Trace.load(tmp_path / "forged.json")


@pytest.mark.parametrize(
    "constraint",
    [
        choice(["Rom", "Rome", "Ra"]).canonical(),
        pytest.param(
            regex("[A-Z][a-z]{1,4}").restrict("ascii").canonical(), marks=pytest.mark.long
        ),
        choice([" a", " b"]).without_isolated_spaces().without_redundant_bytes(),
    ],
    ids=["canonical", "behind a stage of the text", "two"],
)
def test_an_exported_page_has_the_pairs_of_each_place(constraint: explorer.Constraint) -> None:
    made = Explorer(SP, constraint, "The name is")
    made.cursor.run(3)
    record = json.loads(json.dumps(recorded(taken(made.shown), Progress())))
    page, seen = Page(made), 0
    assert len(record["pairs"]) == len(record["positions"]) == made.session.length + 1
    for k, stored in enumerate(record["pairs"]):
        made.cursor.jump(k)
        for number in range(len(record["stages"])):
            told = page.ask("stage_machine", stage=number)["stage"].get("neighbours")
            assert stored.get(str(number)) == told
            seen += bool(told and told["pairs"])
    assert seen
    made.close()
