"""What a page builds from changes is what the kernel has; and a step of a long run stays small."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from tests.browser.wide import wide
from widgets.cursor import Cursor
from widgets.dialogue.page import PageData
from widgets.figures.changes import changed
from widgets.toy import PATTERN, ToyModel, toy_constraint
from widgets.views.explorer import Explorer

applied = changed


class Reader:
    """The page's side of the line: applies what arrives, and asks for the whole where it must."""

    def __init__(self, made: Explorer) -> None:
        self.explorer = made
        self.line: dict[str, Any] = {}
        self.sent: list[int] = []
        self.asked = 0
        self.answers: list[dict[str, Any]] = []
        self.deaf = False
        self.behind = False
        self.number = 0
        made._send = self._receive  # type: ignore[method-assign]
        made.send = self._hear  # type: ignore[method-assign]
        made.send_state()

    def _hear(self, content: dict[str, Any], buffers: object = None) -> None:
        self.sent.append(len(json.dumps(content, allow_nan=False)))
        self.answers.append(content)

    def _receive(self, message: dict[str, Any], buffers: object = None) -> None:
        text = json.dumps(message, allow_nan=False)
        if self.deaf:
            self.behind = True
            return
        self.sent.append(len(text))
        line = json.loads(text)["state"].get("line")
        if line is None:
            return
        self.behind = False
        if "change" not in line:
            self.line = line
        elif line["on"] == self.line.get("version"):
            made = changed(self.line, line["change"])
            assert isinstance(made, dict)
            self.line = {**made, "version": line["version"]}
        else:
            self.asked += 1
            self.line = json.loads(json.dumps(self.ask("line")["line"]))

    def ask(self, type: str, /, **content: object) -> dict[str, Any]:
        """Ask, and wait: some answers come later, from another thread."""
        self.number += 1
        self.explorer._receive(None, {"type": type, "re": self.number, **content}, None)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for answer in tuple(self.answers):
                if answer["re"] == self.number and not {"later", "progress"} & set(answer):
                    return answer
            time.sleep(0.002)
        raise TimeoutError(type)

    def check(self) -> None:
        """The line is the kernel's, and that is what no cache had a part in."""
        made = self.explorer
        line = {name: value for name, value in self.line.items() if name != "version"}
        assert line == json.loads(json.dumps(made.line))
        cursor = made.cursor
        session = cursor.session
        fresh = PageData(session).line(
            cursor.full_trace(), session.index, session.generation, cursor.lines, cursor.current
        )
        assert json.loads(json.dumps(fresh)) == {**line, "generation": session.generation}


@pytest.fixture
def reader() -> Iterator[Reader]:
    made = Explorer()
    yield Reader(made)
    made.close()


def wander(reader: Reader, seed: int, moves: int) -> None:
    """Random moves, some of them in code while nobody listens."""
    draw = random.Random(seed)
    cursor = reader.explorer.cursor
    for _ in range(moves):
        session = cursor.session
        going = not session.finished
        allowed = session.allowed().nonzero()[0].tolist()
        reader.deaf = draw.random() < 0.1
        match draw.choice(
            [
                "step",
                "step",
                "take",
                "take",
                "back",
                "jump",
                "fork",
                "switch",
                "edit",
                "peek",
                "reset",
            ]
        ):
            case "step" if going:
                cursor.step()
            case "take" if going:
                cursor.step(draw.choice(allowed))
            case "back" if session.index:
                cursor.back()
            case "jump":
                cursor.jump(draw.randrange(session.length + 1))
            case "fork":
                cursor.fork()
            case "switch":
                cursor.switch(draw.randrange(len(cursor.lines)))
            case "peek" if going:
                cursor.peek()
            case "edit":
                pattern = draw.choice([PATTERN, "(foo|for)+d?", "f.*"])
                cursor.edit(constraint=explorer.regex(pattern))
            case "reset" if draw.random() < 0.3:
                cursor.reset()
            case _:
                cursor.edit(sampler=Sampler(draw.choice([0.0, 1.0])))
        reader.deaf = False
        if not reader.behind:
            reader.check()


@pytest.mark.parametrize("seed", range(8))
def test_what_a_page_builds_from_changes_is_the_line(reader: Reader, seed: int) -> None:
    wander(reader, seed, 60)
    assert reader.asked  # It missed some, and found back.


def test_a_change_that_is_damaged_would_be_seen(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(before: object, step: dict[str, Any]) -> object:
        found = applied(before, step)
        if isinstance(found, dict) and found.get("length"):
            found = {**found, "states": found["states"][:-1]}
        return found

    monkeypatch.setattr(sys.modules[__name__], "changed", forgetful)
    with pytest.raises(AssertionError):
        wander(reader, 1, 30)


def test_the_whole_goes_to_who_comes_later_and_into_a_notebook() -> None:
    made = Explorer()
    reader = Reader(made)
    for _ in range(2):
        made.cursor.step()
    state = made.get_state()["line"]
    assert "change" not in state and len(state["strip"]["tokens"]) == 2
    made.cursor.step()  # Whoever looked at the state was told nothing, so nothing is missed.
    reader.check()
    assert reader.asked == 0
    late = Reader(made)
    late.check()
    made.close()


def test_looking_at_the_whole_line_is_no_move() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.run(3)
    cursor.jump(1)
    made = Explorer(cursor=cursor)
    seen = made.line["generation"]
    reader = Reader(made)
    assert reader.ask("walk", token=2, k=1)["ok"]
    assert reader.ask("around", k=1, seen=seen)["around"] is not None
    made.close()


AFTER_A_STEP = ("around", "present", "reasons", "traps", "rows")
"""What a page asks of itself once it has stepped."""

RECORDS = r'(\{"name": "[A-Za-z ]{1,20}", "age": [1-9]?[0-9]\}, ){10}'


@pytest.mark.parametrize(
    "pattern", [RECORDS, "[a-z ,.]{300,400}", '"[^"]*', r"[0-9]{4}-[0-9]{2}-[0-9]{2} [a-z ]{40,}"]
)
def test_a_step_sends_at_most_64_kilobytes_at_131k(pattern: str) -> None:
    made = Explorer(wide(), explorer.regex(pattern), "Once ", sampler=Sampler(1.0), seed=3)
    reader = Reader(made)
    reader.ask("machine")  # Once per constraint, as is the vocabulary's text.
    for _ in range(40):
        if made.session.finished:
            break
        reader.sent.clear()
        reader.ask("step")
        k = made.session.index
        for kind in AFTER_A_STEP:
            if kind == "present" and not made.page_data.whole:
                continue  # Only of a machine that is drawn whole.
            place = {"k": k, "from": k, "to": k + 1, "packed": True}
            answer = reader.ask(kind, **place, key=made.page_data.key())
            assert answer["ok"], answer
        assert sum(reader.sent) <= 64_000
    made.close()


def test_a_step_of_a_long_run_sends_no_more_than_one_of_a_short() -> None:
    made = Explorer(ToyModel(), toy_constraint())
    reader = Reader(made)
    sizes: list[int] = []
    for _ in range(400):
        reader.sent.clear()
        reader.ask("take", token=2)
        sizes.append(sum(reader.sent))
    # The path through the machine is shown up to 256 states back; from there on nothing grows.
    assert max(sizes[-20:]) <= max(sizes[100:120]) + 50
    made.close()
