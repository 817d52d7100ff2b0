"""JSON Schemas in the editor: the place of an error, what was ignored."""

from __future__ import annotations

import pytest

import explorer
from explorer import Constraint
from explorer.languages.sources import registry
from tests.widgets.page import Page
from widgets.dialogue.dialogue import error_packet
from widgets.views.explorer import Explorer


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ('{"type": "array",\n "minItems": -1}', '"minItems": -1'),
        ('{"type": "array", "minItems": 2,\n "maxItems": 1}', '"minItems": 2'),
        ('{"type": array}', "a"),
    ],
    ids=["keyword", "conflict", "not JSON"],
)
def test_the_editor_underlines_what_is_wrong(text: str, marked: str) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    with pytest.raises(explorer.errors.ExplorerError) as raised:
        explorer.compile(Constraint(registry.read("JSON Schema", text)), vocabulary)
    packet = error_packet(raised.value)
    assert text[packet["start"] : packet["end"]] == marked  # type: ignore[misc]
    assert "^" not in str(packet["message"])


def test_what_is_ignored_is_shown_beside_the_editor() -> None:
    constraint = explorer.json_schema(
        {"type": "array", "uniqueItems": True, "maxItems": 3}, strict=False, free_depth=1
    )
    page = Page(Explorer("tiny", constraint, max_tokens=4))
    assert "Ignored /uniqueItems: " in str(page.made.editor["report"])
    page.made.close()


def test_a_format_that_is_not_known_is_told_beside_the_editor() -> None:
    page = Page(Explorer("tiny", explorer.json_schema({"format": "color", "enum": ["red"]})))
    assert "The format 'color' at /format is not known" in str(page.made.editor["report"])
    page.made.close()
