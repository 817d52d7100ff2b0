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
from tests.languages.sampling import sampled
from tests.languages.types.kinds import KINDS

STRICT = pydantic.ConfigDict(strict=True)
Alias = typing_extensions.TypeAliasType("Alias", int)
Nested = typing_extensions.TypeAliasType("Nested", "list[Nested] | int")


class Fields(typing_extensions.TypedDict):
    n: int


@dataclasses.dataclass
class Point:
    x: int


class Lax(BaseModel):
    a: Alias = 1
    b: Alias = 1
    nested: Nested = 1
    fields: Fields = {"n": 1}
    named: Literal[1] = 1
    point: Point = Point(1)
    keys: dict[int, int | None] = {}


class Strict(Lax):
    model_config = STRICT

    lax: Lax = Lax()


class Both(BaseModel):
    lax: Lax = Lax()
    strict: Strict = Strict()


@pydantic.dataclasses.dataclass(config=STRICT)
class StrictPoint:
    x: int


class StrictFields(typing_extensions.TypedDict):
    __pydantic_config__ = STRICT  # type: ignore[misc]
    n: int


WHOLE = ("1", "1.0", "1e0", "10E-1", "-0", "-0.0", "36893488147419103232", "1.5")
MEMBERS = (
    '{"a":1}', '{"a":1.0}', '{"b":1e0}', '{"nested":[[1],1]}', '{"nested":[[1.0]]}',
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
    "model": (Strict, (*MEMBERS, *(f'{{"lax":{text}}}' for text in MEMBERS))),
    "lax model": (Lax, MEMBERS),
    "both": (Both, tuple(f'{{"{k}":{text}}}' for k in ("lax", "strict") for text in MEMBERS)),
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


@pytest.mark.parametrize("name", KINDS)
def test_what_a_strict_model_accepts_pydantic_reads(name: str) -> None:
    made: Any = pydantic.create_model("Made", __config__=STRICT, value=(KINDS[name][0], ...))
    constraint = explorer.from_type(made, max_depth=1)
    for text in sampled(constraint.dfa, 20):
        try:
            made.model_validate_json(text)
        except pydantic.ValidationError as error:  # Of 2 ** 70 written "….0" in a lax class.
            assert {each["type"] for each in error.errors()} == {"int_parsing_size"}


def test_a_reason_names_the_type_and_the_schema_is_a_schema() -> None:
    constraint = explorer.from_type(Strict)
    assert "/allOf/0/type" in explorer.explain_text(constraint, '{"a":1.0}').message
    schema = constraint.source.children[0].text
    assert explorer.json_schema(schema).accepts('{"a":1}')
    assert not explorer.json_schema(schema).accepts('{"a":1.0}')
