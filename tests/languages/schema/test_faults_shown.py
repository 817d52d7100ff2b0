"""The errors of a schema and of the functions around it show the place and name the argument."""

from __future__ import annotations

import pytest

import explorer
from explorer.errors import UnsupportedSchema

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
