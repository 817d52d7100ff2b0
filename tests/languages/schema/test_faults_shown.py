"""The errors of a schema and of the functions around it show the place and name the argument."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import explorer
from explorer.errors import ConstraintError, RegexError, UnsupportedSchema

BYTES = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.parametrize("lazy", [True, None])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("levels", range(5))
def test_a_fault_is_shown_at_every_level(levels: int, lines: bool, lazy: bool | None) -> None:
    schema = '{"type": "nmber"}'
    for _ in range(levels):
        schema = '{"properties": {"a": ' + schema + "}}"
    schema = schema.replace(": ", ":\n") if lines else schema
    with pytest.raises(UnsupportedSchema) as caught:
        explorer.compile(explorer.json_schema(schema), BYTES, lazy=lazy)
    error = caught.value
    assert error.pointer == "/properties/a" * levels + "/type"
    start, end = error.evidence["start"], error.evidence["end"]
    assert schema[start:end].startswith('"type"')  # type: ignore[misc]
    assert "^^^^^^" in error.message


def test_an_argument_that_is_a_pattern_is_named() -> None:
    calls: dict[str, Callable[[str], object]] = {
        "whitespace_pattern": lambda given: explorer.json_schema({}, whitespace_pattern=given),
        "stop_regex": lambda given: explorer.gen(stop_regex=given),
        "regex": lambda given: explorer.gen(regex=given),
    }
    for name, call in calls.items():
        with pytest.raises(RegexError, match=f"{name}: this parenthesis is not closed") as caught:
            call("(")
        assert (caught.value.start, caught.value.end) == (0, 1)
        with pytest.raises(ConstraintError, match=f'Write {name}="'):
            call(3)  # type: ignore[arg-type]
