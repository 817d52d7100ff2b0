"""A page builds the kernel's own line from moves; and a step of a long run stays small."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from tests.browser.wide import wide
from tests.evidence import LONG, few
from tests.widgets.page import Page, grown
from widgets.cursor import Cursor
from widgets.shown_place import PageData
from widgets.toy import PATTERN, ToyModel, toy_constraint
from widgets.views.explorer import Explorer


def check(page: Page) -> None:
    """The line that a page has built is the kernel's, and no cache had a part in that."""
    made = page.made
    assert page.line == json.loads(json.dumps(made.line))
    assert page.history == json.loads(json.dumps(made.history))
    cursor, session, trace = made.cursor, made.session, made.cursor.full_trace()
    data = PageData(session)
    fresh = data.line(trace, session.index, cursor.generation, cursor.lines, cursor.current)
    assert json.loads(json.dumps(fresh)) == page.line
    assert json.loads(json.dumps(data.history(trace))) == page.history


@pytest.fixture
def reader() -> Iterator[Page]:
    made = Explorer()
    yield Page(made)
    made.close()


def wander(reader: Page, seed: int, moves: int) -> None:
    """Random moves, some of them in code without a listener."""
    draw = random.Random(seed)
    cursor = reader.made.cursor
    for _ in range(moves):
        session = cursor.session
        going = not session.finished
        allowed = session.allowed().nonzero()[0].tolist()
        reader.deaf = draw.random() < 0.25
        kinds = "step step take take back jump fork switch edit peek reset"
        match draw.choice(kinds.split()):
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
            check(reader)


@pytest.mark.parametrize("seed", range(8))
def test_what_a_page_builds_from_moves_is_the_line(reader: Page, seed: int) -> None:
    wander(reader, seed, 60)


def test_a_move_that_is_damaged_would_be_seen(reader: Page) -> None:
    def forgetful(line: dict[str, Any], moved: dict[str, Any]) -> dict[str, Any]:
        return grown(line, {**moved, "tokens": moved["tokens"][1:]})

    reader.grown = forgetful
    with pytest.raises(AssertionError):
        wander(reader, 1, 30)


def test_the_whole_goes_to_who_comes_later_and_into_a_notebook() -> None:
    made = Explorer()
    reader = Page(made)
    for _ in range(2):
        made.cursor.step()
    state = made.get_state()["line"]
    assert len(state["strip"]["tokens"]) == 2
    made.cursor.step()  # Whoever looked at the state was told nothing, so nothing is missed.
    check(reader)
    assert reader.wholes == 0
    late = Page(made)
    check(late)
    made.close()


def test_looking_at_the_whole_line_is_no_move() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.run(3)
    cursor.jump(1)
    made = Explorer(cursor=cursor)
    seen = made.line["generation"]
    reader = Page(made)
    assert reader.ask("walk", token=2, k=1)["ok"]
    assert reader.ask("around", k=1, seen=seen)["packed"]
    made.close()


AFTER_A_STEP = ("around", "reasons", "traps")
"""What a page asks of itself once it has stepped."""

RECORDS = r'(\{"name": "[A-Za-z ]{1,20}", "age": [1-9]?[0-9]\}, ){10}'


@pytest.mark.parametrize(
    "pattern",
    few([RECORDS, "[a-z ,.]{300,400}", '"[^"]*', r"[0-9]{4}-[0-9]{2}-[0-9]{2} [a-z ]{40,}"], 1),
)
def test_a_step_sends_at_most_64_kilobytes_at_131k(pattern: str) -> None:
    made = Explorer(wide(), explorer.regex(pattern), "Once ", sampler=Sampler(1.0), seed=3)
    reader = Page(made)
    reader.ask("machine")  # Once per constraint, as is the vocabulary's text.
    for _ in range(40 if LONG else 8):
        if made.session.finished:
            break
        reader.sent.clear()
        reader.ask("step")
        k = made.session.index
        for kind in AFTER_A_STEP:
            answer = reader.ask(kind, k=k)
            assert answer["ok"], answer
        assert sum(reader.sent) <= 64_000
    made.close()


@pytest.mark.long
def test_a_step_of_a_long_run_sends_no_more_than_one_of_a_short() -> None:
    made = Explorer(ToyModel(), toy_constraint())
    reader = Page(made)
    sizes: list[int] = []
    for _ in range(400):
        reader.sent.clear()
        reader.ask("take", token=2)
        sizes.append(sum(reader.sent))
    # The path through the machine is shown up to 256 states back; from there on nothing grows.
    assert max(sizes[-20:]) <= max(sizes[100:120]) + 50
    made.close()


def test_the_numbers_of_a_step_are_sent_before_its_words() -> None:
    """Reasons, characters and spans take longer than the probabilities, so they follow."""
    made = Explorer()
    page = Page(made)
    sent: list[dict[str, Any]] = []
    receive = made._send

    def seen(msg: dict[str, Any], buffers: Any = None) -> None:
        if msg["method"] == "update" and "position" in msg["state"]:
            sent.append(json.loads(json.dumps(msg["state"]["position"])))
        receive(msg, buffers)

    made._send = seen
    page.ask("step")
    first, second = sent
    assert (first["numbers"], first["k"], first["allowed"]) == (True, 1, 3)
    assert [bar["constrained"] for bar in first["top"]] == [
        bar["constrained"] for bar in second["top"]
    ]
    assert not {"along", "lit", "expects", "spans"} & first.keys()
    assert {bar["reason"] for bar in first["top"]} == {None}
    assert second == json.loads(json.dumps(made.position))
    assert second["expects"] == "d or f" and not second["numbers"]
    made.close()
