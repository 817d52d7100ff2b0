"""The field's examples in the editor: each compiles, is written by a model, and is read back."""

from __future__ import annotations

import pytest

import explorer
from explorer.decoding.models.model import LanguageModel
from tests.presets import ALL, preset_named, presets_of
from tests.widgets.page import Page
from widgets import kinds
from widgets.cursor import Cursor
from widgets.editing import written_constraint
from widgets.figures.machines.character_fsa import character_figure
from widgets.views.explorer import Explorer


def model_of(preset: kinds.Preset) -> LanguageModel:
    return kinds.preset_model(preset)


WRITTEN = [preset for preset in ALL if preset.name != kinds.TOY]


@pytest.mark.parametrize("preset", WRITTEN, ids=lambda one: one.name)
def test_a_preset_compiles_and_takes_steps(preset: kinds.Preset) -> None:
    constraint = kinds.constraint_of_kind(preset.kind, preset.text)
    assert written_constraint(constraint) == (preset.kind, preset.text)
    assert preset.prompt
    session = explorer.Session(model_of(preset), constraint, preset.prompt)
    for _ in range(4):
        if not session.trace.finished:
            session.step()
    assert session.ids


@pytest.mark.parametrize("preset", presets_of("tag"), ids=lambda one: one.name)
def test_a_machine_with_control_tokens_is_drawn_whole(preset: kinds.Preset) -> None:
    """Characters and control tokens that lead to one state are one edge."""
    constraint = kinds.constraint_of_kind(preset.kind, preset.text)
    machine = explorer.compile(constraint, model_of(preset).vocabulary)
    for form in ("characters", "bytes"):
        figure = character_figure(machine, form)
        assert len({edge.id for edge in figure.edges}) == len(figure.edges) > 0


def test_every_kind_of_the_editor_has_a_preset() -> None:
    assert {preset.kind for preset in kinds.OFFERED} == set(kinds.kinds())


@pytest.mark.long
@pytest.mark.parametrize("example", presets_of("field"), ids=lambda one: one.name)
def test_an_example_is_written_and_read_back(example: kinds.Preset) -> None:
    constraint = kinds.constraint_of_kind(example.kind, example.text)
    # A grammar that recurses knows no distance to the end, so no limit can take part in its mask.
    most = None if example.kind.startswith("grammar") else 120
    session = explorer.Session(model_of(example), constraint, example.prompt, max_tokens=most)
    trace = session.run(max_tokens=120)
    assert trace.finished
    value = constraint.parse(trace.text)
    if example.kind == "template":
        assert isinstance(value, dict) and value.keys() == set(constraint.source.names)  # type: ignore[attr-defined]


def test_the_editor_shows_six_each_with_a_picture_and_a_prompt() -> None:
    shown = Explorer().offered["presets"]
    assert len(shown) == 6 and all(one["title"] and one["picture"] for one in shown)
    assert all(one["prompt"] for one in shown if one["name"] != kinds.TOY)


def test_the_preset_of_a_tool_makes_a_call() -> None:
    preset = preset_named("a call of a tool")
    constraint = kinds.constraint_of_kind(preset.kind, preset.text)
    session = explorer.Session(model_of(preset), constraint, preset.prompt)
    assert "get_weather" in session.run(60).text and session.finished


def test_another_model_is_asked_the_same() -> None:
    lm = explorer.load_model("tiny")
    constraint = explorer.choice(["Berlin", "Paris"]).preprocessed(lm.vocabulary).canonical()
    page = Page(Explorer(lm, constraint, "The capital of Germany is "))
    assert page.made.offered["models"] == ["tiny", "tiny-sp", "tiny-chat"]
    assert page.made.editor["model"] == "tiny"
    before = page.position["allowed"]
    assert page.ask("choose_model", model="tiny-sp")["ok"]
    session = page.made.session
    assert session.lm is explorer.load_model("tiny-sp") and page.made.editor["model"] == "tiny-sp"
    assert session.prompt == "The capital of Germany is "
    # The stages ask the other tokenizer: its texts begin with a space.
    assert session.constraint is not None and session.constraint.examples(1) == [" Paris"]
    assert session.run().text in (" Berlin", " Paris")
    assert page.ask("choose_model", model="tiny")["ok"]
    assert page.made.session.lm is lm and page.position["allowed"] == before
    assert not page.ask("choose_model", model="tiny-draft")["ok"]
    # A preset without a model is asked of the one that was chosen.
    assert page.ask("choose_model", model="tiny-sp")["ok"]
    one = kinds.preset_of("IPv4")
    assert one is not None
    assert page.answer(page.edit(one.text, kind=one.kind, preset=one.name))["ok"]
    assert page.made.editor["model"] == "tiny-sp"
    page.made.close()


def test_a_toy_and_a_run_from_elsewhere() -> None:
    page = Page(Explorer())
    name, before = page.made.editor["model"], page.position["allowed"]
    assert page.made.offered["models"] == [name, "tiny", "tiny-sp", "tiny-chat"]
    assert page.ask("choose_model", model="tiny-sp")["ok"]
    assert page.made.editor["text"] == "(foo)+d"
    assert page.ask("choose_model", model=name)["ok"]
    assert page.position["allowed"] == before
    page.made.close()
    lm = explorer.load_model("tiny")
    session = explorer.Session.from_ids(lm.vocabulary, explorer.regex("a"), [])
    elsewhere = Page(Explorer(cursor=Cursor(session)))
    assert elsewhere.made.offered["models"] == []
    assert not elsewhere.ask("choose_model", model="tiny")["ok"]
    elsewhere.made.close()
