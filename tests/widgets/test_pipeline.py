"""The pipeline bar: the stages of a constraint are shown, drawn, switched and taken along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import explorer
from explorer.languages.stages.preprocessed import Preprocessed
from tests.widgets.page import Page
from widgets.compiling.worker import CompileWorker
from widgets.figures.panels.pipeline import stage_packet
from widgets.views.explorer import Explorer

CITIES = explorer.choice(["Berlin", "London", "Paris"])


@pytest.fixture(scope="module")
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    yield made
    made.close()


@pytest.fixture
def page(worker: CompileWorker) -> Iterator[Page]:
    made = Explorer("tiny", CITIES.canonical(), "The city is ")
    made.shown.editing.worker = worker
    yield Page(made)
    made.close()


def titles(page: Page) -> list[tuple[str, bool]]:
    return [(one["title"], one["on"]) for one in page.made.editor["pipeline"]["stages"]]


def test_a_stage_is_switched_off_and_on_and_the_mask_follows(page: Page) -> None:
    canonical = page.position["allowed"]
    assert titles(page) == [("canonical", True)]
    assert page.ask("switch_stage", stage=0, on=False)["ok"]
    assert titles(page) == [("canonical", False)]
    free = page.position["allowed"]
    assert free > canonical
    plain = explorer.compile(CITIES, page.made.session.vocabulary)
    assert free == int(plain.allowed(plain.start).sum())
    # What one types keeps the stages, on or off.
    assert page.answer(page.edit("Berlin|London", kind="regex"))["ok"]
    assert titles(page) == [("canonical", False)]
    assert page.ask("switch_stage", stage=0, on=True)["ok"]
    assert page.made.editor["text"] == "Berlin|London"
    filtered = explorer.compile(
        explorer.regex("Berlin|London").canonical(), page.made.session.vocabulary
    )
    assert page.position["allowed"] == int(filtered.allowed(filtered.start).sum())


def test_a_stage_is_added(page: Page) -> None:
    assert page.ask("switch_stage", stage=0, on=False)["ok"]
    plain = Page(Explorer("tiny", CITIES))
    plain.made.shown.editing.worker = page.made.shown.editing.worker
    offered = [one["kind"] for one in plain.made.editor["pipeline"]["offered"]]
    assert "canonical" in offered
    before = plain.position["allowed"]
    assert plain.ask("add_stage", stage="canonical")["ok"]
    assert titles(plain) == [("canonical", True)]
    assert plain.position["allowed"] < before
    assert not plain.ask("add_stage", stage="sonnet")["ok"]
    plain.made.close()


def test_a_stage_says_what_it_does(page: Page) -> None:
    stage = page.ask("stage_machine", stage=0)["stage"]
    assert stage["call"] == "canonical()" and "tokenizer itself" in stage["about"]
    assert stage["figure"] is None and "relation" in stage["drawn"]
    assert not page.ask("stage_machine", stage=7)["ok"]


def test_the_pairs_that_a_stage_refuses_follow_the_steps(page: Page) -> None:
    def shown() -> dict[str, Any]:
        return page.ask("stage_machine", stage=0)["stage"]["neighbours"]

    vocabulary = page.made.session.vocabulary
    assert page.answer(page.edit("[A-Z][a-z]+", kind="regex"))["ok"]
    begin = shown()
    assert begin["last"] == "" and begin["allowed"] == page.position["allowed"]
    page.made.cursor.step(vocabulary.ids_of(b"R")[0])
    after = shown()
    assert after["last"] == "R"
    plain = explorer.compile(explorer.regex("[A-Z][a-z]+"), vocabulary)
    filtered = explorer.compile(explorer.regex("[A-Z][a-z]+").canonical(), vocabulary)
    state, behind = (m.step(m.start, vocabulary.ids_of(b"R")[0]) for m in (plain, filtered))
    assert state is not None and behind is not None
    text = [data is not None for data in vocabulary.tokens]
    both = plain.allowed(state) & text, filtered.allowed(behind) & text
    assert after["allowed"] == int(both[1].sum())
    assert after["refused"] == int((both[0] & ~both[1]).sum()) > 0
    shares = [pair["share"] for pair in after["pairs"] if pair["refused"]]
    assert shares == sorted(shares, reverse=True)
    tokenizer = explorer.load_model("tiny").tokenizer
    for pair in after["pairs"]:
        own = tokenizer.encode("R" + pair["token"], add_special_tokens=False)
        written = [tokenizer.decode([one]) for one in own]
        if not pair["refused"]:
            assert written == ["R", pair["token"]], pair
        elif pair["instead"]:
            assert "".join(pair["instead"]).startswith("R" + pair["token"][0]), pair
    # Switched off it refuses nothing.
    assert page.ask("switch_stage", stage=0, on=False)["ok"]
    assert "neighbours" not in page.ask("stage_machine", stage=0)["stage"]


@pytest.mark.parametrize(
    ("constraint", "refused"),
    [
        (explorer.choice([" a", " b"]).without_isolated_spaces(), "␣"),
        (explorer.literal("ü").without_redundant_bytes(), "<C3>"),
    ],
    ids=["isolated spaces", "redundant bytes"],
)
def test_the_other_stages_of_the_tokens_have_pairs_too(constraint: Any, refused: str) -> None:
    made = Explorer("tiny-sp", constraint)
    stage = Page(made).ask("stage_machine", stage=0)["stage"]
    pairs = {pair["token"]: pair for pair in stage["neighbours"]["pairs"]}
    assert pairs[refused]["refused"] and stage["drawn"]
    made.close()


def test_a_stage_that_is_a_function_has_a_sentence_in_place_of_a_drawing() -> None:
    spaced = CITIES.through(Preprocessed(('{"type": "BertPreTokenizer"}',)))
    packet = stage_packet(spaced.source, 0)
    assert packet["figure"] is None and "it drops white space" in str(packet["drawn"])
