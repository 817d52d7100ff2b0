"""A schema that nothing satisfies says which keywords exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.errors import UnsatisfiableSchema

VOCABULARY = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.long
def test_a_smallest_set_is_one() -> None:
    """Without any one of the keywords that are named there is a value: the definition itself."""
    schema: dict[str, Any] = {
        "type": "string", "minLength": 4, "pattern": "^a*$", "maxLength": 6, "format": "date",
        "title": "none",
    }  # fmt: skip
    with pytest.raises(UnsatisfiableSchema) as raised:
        explorer.compile(explorer.json_schema(schema), VOCABULARY)
    names = [pointer[1:] for pointer in raised.value.pointers]
    assert explorer.json_schema({name: schema[name] for name in names}).is_empty()
    for name in names:
        less = {other: schema[other] for other in names if other != name}
        assert not explorer.json_schema(less).is_empty(), name
