"""Exported pages, and the settings of sessions in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

import explorer
from explorer import Trace, choice, regex
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import DamagedFile, ExplorerError
from tests.widgets.page import PATIENCE, Page
from widgets.cursor import Cursor
from widgets.dialogue.later import Progress
from widgets.export import recorded, taken
from widgets.figures.packets import decompress
from widgets.toy import ToyModel
from widgets.views.explorer import Explorer

# The file that replays a line, while it is made: progress, cancelling, and blocking nothing.


class Exporting(Page):
    """A page that has asked for the file. At the first count the work waits for `goes_on`."""

    def __init__(self, made: Explorer) -> None:
        self.begun, self.goes_on = Event(), Event()
        super().__init__(made)
        self.number = self.tell("export")
        assert self.begun.wait(PATIENCE)

    def _receive(self, message: dict[str, Any], buffers: object = None) -> None:
        super()._receive(message, buffers)
        if "progress" in message.get("content", {}):
            self.begun.set()
            assert self.goes_on.wait(PATIENCE)

    @property
    def counts(self) -> list[str]:
        return [one["progress"] for one in self.heard if "progress" in one]

    def end(self) -> dict[str, Any]:
        self.goes_on.set()
        return self.answer(self.number)


def run_of(html: str) -> dict[str, Any]:
    found = re.search(r'id="run">([^<]+)<', html)
    assert found is not None
    return cast("dict[str, Any]", decompress(found[1]))


def test_one_steps_on_while_the_line_as_it_was_is_written() -> None:
    made = Explorer()
    made.cursor.run(3)
    made.cursor.jump(1)
    asked = Exporting(made)
    made.cursor.jump(3)
    made.cursor.step()  # On this thread: the work on the other one holds no lock.
    assert len(made.session.ids) == 4
    answer = asked.end()
    assert answer["ok"], answer
    # Those that come too soon after another one are left out.
    every = [*(f"{k} of 4 positions" for k in range(4)), "packing"]
    assert asked.counts[0] == every[0] and asked.counts == [c for c in every if c in asked.counts]
    data = run_of(answer["text"])
    assert [position["k"] for position in data["positions"]] == [0, 1, 2, 3]
    assert data["traits"]["line"]["index"] == 1
    made.close()


def test_the_file_that_nobody_waits_for_is_not_finished() -> None:
    made = Explorer()
    made.cursor.run(3)
    asked = Exporting(made)
    asked.tell("stop", of=asked.number)
    answer = asked.end()
    assert (answer["ok"], answer["cancelled"], answer["quiet"]) == (False, True, True)
    assert asked.counts == ["0 of 4 positions"]
    asked.tell("stop", of=asked.number)  # Too late, which is no error.
    made.close()


@pytest.mark.parametrize("sampler", [Sampler(0.0), Sampler(1.0), Sampler(0.7, top_k=2, top_p=0.9)])
def test_what_is_written_is_what_the_page_would_be_told(sampler: Sampler) -> None:
    made = Explorer(
        explorer.load_model("tiny"), explorer.regex("[a-z ]{2,5}"), "Once ", sampler=sampler
    )
    made.cursor.run(2)
    data = recorded(taken(made.shown), Progress())
    trace = made.cursor.full_trace()
    for k, told in enumerate(cast("list[dict[str, Any]]", data["reasons"])):
        for token, packet in told.items():
            same = made.page_data.explanation(
                made.session, trace, k, int(token), hints="more" in packet
            )
            assert packet == same
    assert data["around"] == [made.page_data.around(trace, k) for k in range(len(trace) + 1)]
    made.close()


def test_a_page_that_cannot_be_written_says_where_and_what_to_do(tmp_path: Path) -> None:
    made = Explorer()
    for path in (tmp_path / "none" / "x.html", tmp_path):
        with pytest.raises(ExplorerError, match="Give the path") as raised:
            made.to_html(path)
        assert str(tmp_path) in raised.value.message
    assert list(tmp_path.iterdir()) == []
    made.close()


def test_the_file_of_a_machine_that_became_lazy_shows_what_was_met(tmp_path: Path) -> None:
    made = Explorer()
    dfa = explorer.compile(
        explorer.regex("(f|o)*f(f|o){16}"), made.session.vocabulary, explorer.Budget(states=20_000)
    )
    assert dfa.report.reason
    made.cursor.edit(constraint=dfa)
    made.cursor.run(3)
    data = run_of(made.to_html(tmp_path / "lazy.html").read_text("utf-8"))
    states = data["machine"]["states"]
    assert (states["known"], states["whole"]) == (False, False)
    assert data["table"] is None  # Its rows are worked out when visited, so the page only replays.
    assert "budget of 20,000 states" in data["traits"]["editor"]["report"]
    assert len(data["positions"]) == len(data["around"]) == 4
    for position, around in zip(data["positions"], data["around"], strict=True):
        # Where we are is drawn in each machine, and lit; what is allowed leaves it.
        drawn = around["machines"]["token_dfa"]
        nodes = {node["id"] for node in drawn["nodes"]}
        now = [one for one in position["lit"]["characters"]["now"] if one[0] == "q"]
        assert len(now) == 1 and now[0] in nodes
        leaving = [edge for edge in drawn["edges"] if edge["source"] == now[0]]
        assert sum(edge["count"] for edge in leaving) == position["allowed"] > 0
        assert set(around["layouts"]["token_dfa"]["nodes"]) >= {now[0]}
        assert position["row"] >= 0 and position["expects"]
    for bars, told in zip(data["positions"], data["reasons"], strict=True):
        assert set(told) >= {str(bar["id"]) for bar in bars["top"] if not bar["allowed"]}
    made.close()


def test_the_file_of_a_finished_text_opens_at_its_beginning(tmp_path: Path) -> None:
    made = Explorer()
    made.cursor.run(20)
    assert made.session.finished
    data = run_of(made.to_html(tmp_path / "run.html").read_text(encoding="utf-8"))
    assert (
        data["traits"]["line"]["index"] == 0 and len(data["positions"]) == made.session.length + 1
    )
    made.cursor.back()
    data = run_of(made.to_html(tmp_path / "run.html").read_text(encoding="utf-8"))
    assert data["traits"]["line"]["index"] == made.session.index
    made.close()


# The settings of a session in the explorer: its restriction, and what its answers begin with.


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


def test_a_page_has_the_table_where_a_state_decides_and_it_is_small() -> None:
    toy = ToyModel().vocabulary
    cases = {
        "(foo)+d": True,
        "f{1,5000}": False,  # 5,001 states.
        "(foo)+d|": True,
    }
    for pattern, has in cases.items():
        made = Explorer(toy, regex(pattern))
        assert bool(recorded(taken(made.shown), Progress())["table"]) == has, pattern
        made.close()
    # With a token budget the mask also depends on the number of tokens.
    session = explorer.Session(ToyModel(), regex("(foo)+d"), max_tokens=4)
    made = Explorer(cursor=Cursor(session))
    assert recorded(taken(made.shown), Progress())["table"] is None
    made.close()


def test_without_a_model_the_tokens_are_listed_and_each_has_its_reason() -> None:
    made = Explorer(ToyModel().vocabulary, regex("(foo)+d"))
    made.session.step(token=0)
    record: Any = recorded(taken(made.shown), Progress())
    made.close()
    lists = [[row["id"] for row in each["rows"] if row["allowed"]] for each in record["allowed"]]
    assert lists == [[0, 2, 4], [1]]
    for each, reasons in zip(record["allowed"], record["reasons"], strict=True):
        assert {str(row["id"]) for row in each["rows"]} <= reasons.keys()
