"""The pipeline bar: the stages of a constraint are shown, drawn, switched and taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import explorer
from explorer.automata.pipeline.staged import stages_of
from tests.widgets.page import Page
from widgets.compiling.worker import CompileWorker
from widgets.export.export import recorded, taken
from widgets.later import Progress
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


def test_an_exported_page_and_a_trace_have_the_stages(page: Page) -> None:
    page.made.cursor.run(8)
    record = json.loads(json.dumps(recorded(taken(page.made.shown), Progress())))
    assert [one["title"] for one in record["stages"]] == ["canonical"]
    assert record["traits"]["editor"]["pipeline"]["stages"][0]["on"]
    constraint = page.made.trace.constraint
    assert [str(stage) for stage, _ in stages_of(constraint.source)] == ["canonical()"]
