"""Strict whole numbers beside pydantic: their texts are plain digits."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import pydantic
import pytest
import typing_extensions
from pydantic import BaseModel, Field, StrictInt

import explorer
from explorer.errors import ConstraintError

STRICT = pydantic.ConfigDict(strict=True)


class Fields(typing_extensions.TypedDict):
    n: int


@dataclasses.dataclass
class Point:
    x: int


class Lax(BaseModel):
    a: int = 1
    b: list[int] = []
    fields: Fields = {"n": 1}
    named: Literal[1] = 1
    point: Point = Point(1)
    keys: dict[int, int | None] = {}


class Strict(Lax):
    model_config = STRICT


@pydantic.dataclasses.dataclass(config=STRICT)
class StrictPoint:
    x: int


class StrictFields(typing_extensions.TypedDict):
    __pydantic_config__ = STRICT  # type: ignore[misc]
    n: int


WHOLE = ("1", "1.0", "1e0", "10E-1", "-0", "-0.0", "36893488147419103232", "1.5")
MEMBERS = (
    '{"a":1}', '{"a":1.0}', '{"b":[1]}', '{"b":[1e0]}',
    '{"fields":{"n":1}}', '{"fields":{"n":1.0}}', '{"named":1.0}', '{"point":{"x":1.0}}',
    '{"keys":{"1":1}}', '{"keys":{"1":1.0}}', '{"keys":{"1":null}}',
)  # fmt: skip
STRICTNESS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "int": (StrictInt, WHOLE),
    "optional": (Annotated[int | None, Field(strict=True)], (*WHOLE, "null")),
    "beside float": (StrictInt | float, WHOLE),
    "bounded": (Annotated[StrictInt, Field(gt=3, lt=9)], ("3", "4", "4.0", "9", "3.5")),
    "divided": (Annotated[StrictInt, Field(multiple_of=3)], ("6", "6.0", "7", "6e0")),
    "list": (list[StrictInt], ("[1,2]", "[1.0]", "[1,2e0]")),
    "keys": (dict[StrictInt, bool], ('{"1":true}', '{"one":true}')),
    "dataclass": (StrictPoint, ('{"x":1}', '{"x":1.0}')),
    "TypedDict": (StrictFields, ('{"n":1}', '{"n":1.0}')),
    "model": (Strict, MEMBERS),
    "lax model": (Lax, MEMBERS),
}


@pytest.mark.parametrize("name", STRICTNESS)
def test_accepts_and_parse_agree_with_pydantic(name: str) -> None:
    described, texts = STRICTNESS[name]
    constraint, adapter = explorer.from_type(described), pydantic.TypeAdapter(described)
    for text in texts:
        try:
            value = adapter.validate_json(text)
        except pydantic.ValidationError:
            assert not constraint.accepts(text), text
            with pytest.raises(ConstraintError):
                constraint.parse(text)
        else:
            assert constraint.accepts(text), text
            assert constraint.parse(text) == value
    assert constraint.source.warnings() == ()
