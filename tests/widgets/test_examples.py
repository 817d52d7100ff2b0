"""The field's examples in the editor: each compiles, is written by a model, and is read back."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from tests.widgets.page import Page
from widgets import examples, kinds
from widgets.cursor import Cursor
from widgets.editing import written_constraint
from widgets.views.explorer import Explorer


@pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda one: one.name)
def test_an_example_is_written_and_read_back(example: kinds.Preset) -> None:
    lm = explorer.load_model("tiny")
    constraint = kinds.constraint_of_kind(example.kind, example.text)
    assert written_constraint(constraint) == (example.kind, example.text)
    trace = explorer.Session(lm, constraint, example.prompt, max_tokens=120).run()
    assert trace.finished
    value = constraint.parse(trace.text)
    if example.kind == "template":
        assert isinstance(value, dict) and value.keys() == set(constraint.source.names)  # type: ignore[attr-defined]


def test_names_are_told_apart_and_the_prompts_belong_to_them() -> None:
    names = [preset.name for preset in examples.OFFERED]
    assert len(set(names)) == len(names)
    assert examples.prompt_of("Moby Dick").startswith("Call me Ishmael")


def test_the_pydantic_character_is_the_schema_in_the_list() -> None:
    from typing import Annotated, Literal

    from pydantic import BaseModel, Field

    class Character(BaseModel):
        name: Annotated[str, Field(pattern="^[A-Z][a-z]+( [A-Z][a-z]+)?$")]
        house: Literal["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]
        year: Annotated[int, Field(ge=1, le=7)]
        pets: Annotated[list[Literal["owl", "cat", "toad", "rat"]], Field(max_length=2)] = []

    listed = next(one for one in examples.EXAMPLES if one.name == "Harry Potter (pydantic)")
    assert explorer.from_type(Character).equivalent(
        kinds.constraint_of_kind(listed.kind, listed.text)
    )


def test_the_editor_takes_types_and_templates() -> None:
    lm = explorer.load_model("tiny")
    page = Page(Explorer(cursor=Cursor(explorer.Session(lm, explorer.regex("a"), "x"))))
    for name in ("Harry Potter (pydantic)", "Harry Potter (template)"):
        one = next(one for one in examples.EXAMPLES if one.name == name)
        assert page.answer(page.edit(one.text, kind=one.kind, preset=one.name))["ok"]
        editor: Any = page.made.editor
        assert (editor["kind"], editor["text"]) == (one.kind, one.text)
        assert page.made.session.prompt == one.prompt
    answer = page.answer(page.edit('template("a {x", x=regex("b"))', kind="template"))
    assert not answer["ok"] and answer["error"]["message"].splitlines()[2].index("^") == 12
    page.made.close()
