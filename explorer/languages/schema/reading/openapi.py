"""Schemas of OpenAPI 3.0, read as those of draft 4, from which it departs.

Its ``nullable`` adds null to the ``type`` beside it; without a ``type`` it says nothing, and an
``enum`` has to list null itself (OpenAPI 3.0.3, schema object). Its other keywords are annotations.
OpenAPI 3.1 is JSON Schema 2020-12 and needs nothing.
"""

from __future__ import annotations

from typing import Any, Final, cast

from explorer.languages.schema.reading.subschemas import Schema
from explorer.languages.schema.reading.text import read_schema

DRAFT_4: Final = "http://json-schema.org/draft-04/schema#"
_DIALECT: Final = "https://spec.openapis.org/oas/3.0/"
_VALUES: Final = ("enum", "const", "default", "example", "examples")
"""The keywords that hold values, in which nothing is a keyword."""


def _is_openapi(schema: Schema) -> bool:
    """Whether a whole schema says that it is one of OpenAPI 3.0: ``"openapi": "3.0.3"``, as the
    document does, or by its ``$schema``."""
    if not isinstance(schema, dict):
        return False
    version, dialect = schema.get("openapi"), schema.get("$schema")
    named = isinstance(version, str) and version.startswith("3.0")
    return named or (isinstance(dialect, str) and dialect.startswith(_DIALECT))


def read_dialect(text: str) -> Schema:
    """A schema from its JSON text, one of OpenAPI 3.0 as one of draft 4.

    Raises:
        ConstraintError: As `read_schema`.

    Example:
        >>> read_dialect('{"openapi": "3.0.3", "type": "string", "nullable": true}')["type"]
        ['string', 'null']
    """
    schema = read_schema(text)
    if not _is_openapi(schema):
        return schema
    changed = cast("dict[str, Any]", _changed(schema))
    return {**changed, "$schema": DRAFT_4}


def _changed(value: Any) -> Any:
    if isinstance(value, list):
        return [_changed(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    kept = {
        name: held if name in _VALUES and not isinstance(held, dict) else _changed(held)
        for name, held in given.items()
        if not (name == "nullable" and isinstance(held, bool) and "type" in given)
        and not (name == "discriminator" and _is_discriminator(held))
        and not (name == "openapi" and isinstance(held, str))
    }
    types = given.get("type")
    if given.get("nullable") is True and isinstance(types, str):
        kept["type"] = [types, "null"]
    return kept


def _is_discriminator(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(
        cast("dict[str, Any]", value).get("propertyName"), str
    )
