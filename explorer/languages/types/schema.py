"""The JSON Schema of a Python type, as pydantic writes it, and the values of its texts.

Pydantic is an optional library and is imported when a type is given. Its schema is kept but for
five places where a text would have no value, or a value no text:

- an object is closed: it has no members but its own, unless ``model_config`` says
  ``extra="allow"``;
- a time without a zone is a time, no year is 0000, and a UUID has the version that is asked for;
- a ``Decimal`` is a number, or a text of digits if it has no bounds;
- a strict ``int`` is written in plain digits;
- the keys of a dict are texts of their type.

What a type asks for beyond its schema (validators, bounds of dates, the scheme of a URL) is checked
when a text is parsed.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from typing import Any, Final, cast, get_args, get_origin

from explorer.arguments import shown
from explorer.errors import ConstraintError, ExplorerError, MissingDependency
from explorer.languages.schema.reading.subschemas import every_part
from explorer.languages.schema.text.formats import CLOCK, DATE, ZONE

PLAIN_DIGITS: Final = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "$id": "urn:explorer:plain-digits",
    "$comment": "A strict int. In draft 4, 3.0 is not an integer.",
    "type": "integer",
}
"""The integers in plain digits: a part that names its own draft, as it may if it has an ``$id``."""


def adapter_of(described: object) -> Any:
    """Pydantic's adapter of a type.

    Raises:
        MissingDependency: Pydantic is not installed.
        ConstraintError: Pydantic does not know the type.
    """
    try:
        import pydantic
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "from_type needs the library 'pydantic', which is not installed.",
            remedy="Install it (pip install 'constraint-explorer[types]'), or give a schema to "
            "json_schema(...).",
            evidence={"library": "pydantic"},
        ) from error
    try:
        return cast("Any", pydantic).TypeAdapter(described)
    except Exception as error:  # Whatever the type's own code and pydantic's raise.
        raise _refusal(described, error) from error


def schema_of(described: object, adapter: Any) -> dict[str, Any]:
    """The JSON Schema of a type, with closed objects.

    Args:
        adapter: From `adapter_of`.

    Raises:
        ConstraintError: A part of the type has no JSON Schema.

    Example:
        >>> schema_of(bool, adapter_of(bool))
        {'type': 'boolean'}
    """
    try:
        schema: dict[str, Any] = adapter.json_schema(schema_generator=_generator())
    except ExplorerError:
        raise
    except Exception as error:
        raise _refusal(described, error) from error
    for _, part, _ in every_part(schema):
        if isinstance(part.get("properties"), dict) and part.get("type") == "object":
            part.setdefault("additionalProperties", False)
        if str(part.get("format")).startswith("uuid"):  # No draft knows the versions.
            part["format"] = "uuid"
    return schema


def value_of(described: object, adapter: Any, text: str) -> object:
    """The value that a JSON text stands for.

    Args:
        described, adapter: As in `schema_of`.

    Raises:
        ConstraintError: The type's own checks refuse the value.
    """
    import pydantic

    try:
        try:
            return adapter.validate_json(text)
        except pydantic.ValidationError:
            # An integer may be written 3.0 or 3e0, which pydantic reads only below 2**63.
            plain = json.loads(text, parse_float=_number)
            return adapter.validate_json(json.dumps(plain))
    except (pydantic.ValidationError, OverflowError, ValueError) as error:
        raise ConstraintError(
            f"The text is valid JSON for the type, but its own checks refuse it: {error}",
            remedy="Say in the type's fields what its validators check.",
            evidence={"type": type_name(described)},
        ) from error


def _number(text: str) -> int | float:
    value = Decimal(text)
    # No float has 400 digits before its point.
    is_whole = value.adjusted() < 400 and value == value.to_integral_value()
    return int(value) if is_whole else float(text)


def is_type(value: object) -> bool:
    """Whether a value is a class, or a type with parameters such as ``list[int]``.

    Example:
        >>> is_type(int), is_type(int | None), is_type({"type": "integer"})
        (True, True, False)
    """
    return isinstance(value, type) or get_origin(value) is not None


def type_name(described: object) -> str:
    """The name of a type, for messages.

    Example:
        >>> type_name(int), type_name(int | None)
        ('int', 'int | None')
    """
    name = getattr(described, "__name__", None)
    generic = get_args(described) or not isinstance(name, str)
    return shown(described).replace("typing.", "") if generic else cast("str", name)


_UNKNOWN: Final = re.compile(r"Unable to generate pydantic-core schema for (.+?)\. Set ")
_NOT_TEXT: Final = re.compile("surrogates not allowed|error extracting str")


def _refusal(described: object, error: Exception) -> ExplorerError:
    reason = str(error).split("\n")[0].rstrip(".:")
    if unknown := _UNKNOWN.match(reason):
        # The rest of pydantic's message advises to skip all checks, so it is left out.
        reason = f"{unknown[1]} is not a type whose values JSON can hold"
    elif _NOT_TEXT.search(str(error)):
        reason = "it holds a text with half of a surrogate pair, which UTF-8 cannot hold"
    return ConstraintError(
        f"{type_name(described)} cannot be written as JSON: {reason}.",
        remedy="Use pydantic models, dataclasses, TypedDict, NamedTuple, Enum, Literal and the "
        "types of the standard library.",
        evidence={"type": type_name(described)},
    )


@cache
def _generator() -> Any:
    """Pydantic's generator of schemas, with the texts that pydantic reads and writes."""
    from pydantic.json_schema import GenerateJsonSchema

    class Exact(GenerateJsonSchema):
        """Schemas of what pydantic reads."""

        def int_schema(self, schema: Any) -> dict[str, Any]:
            strict = schema.get("strict", self._config.strict)
            return super().int_schema(schema) | ({"allOf": [dict(PLAIN_DIGITS)]} if strict else {})

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            made = super().float_schema(cast("Any", {**schema, "type": "float"}))
            if schema.get("decimal_places") is not None:
                made["multipleOf"] = 10 ** -schema["decimal_places"]
            digits = _text(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:E[+-]?[0-9]{1,3})?")
            return made if len(made) > 1 else {"anyOf": [made, digits]}

        def uuid_schema(self, schema: Any) -> dict[str, Any]:
            version = schema.get("version")
            of_version = (
                {} if version is None else {"pattern": f"^.{{14}}{version:x}.{{4}}[89ABab]"}
            )
            return {"type": "string", "format": "uuid", **of_version}

        def date_schema(self, schema: Any) -> dict[str, Any]:
            return _text(_DATE)

        def time_schema(self, schema: Any) -> dict[str, Any]:
            return _text(CLOCK + _ZONES[schema.get("tz_constraint")])

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            return _text(f"{_DATE}[Tt]{CLOCK}{_ZONES[schema.get('tz_constraint')]}")

        def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
            made = super().tagged_union_schema(schema)
            made.pop("discriminator", None)
            # Equal alternatives may differ only in their tags.
            return {"anyOf" if key == "oneOf" else key: value for key, value in made.items()}

        def dict_schema(self, schema: Any) -> dict[str, Any]:
            found = super().dict_schema(schema)
            if "keys_schema" not in schema:
                return found
            keys = self.generate_inner(schema["keys_schema"])
            match keys.get("type"):
                case "integer":
                    keys = _text("-?(?:0|[1-9][0-9]*)")
                case "boolean":
                    keys = {"enum": ["true", "false"]}
                case "number" | "array" | "object" | "null" as kind:
                    raise ConstraintError(
                        f"The keys of a dict are texts in JSON, not of type {kind}.",
                        remedy="Use str, int, Literal, Enum, date or UUID as the type of the keys.",
                    )
                case _:
                    pass
            for value in found.pop("patternProperties", {}).values():
                found["additionalProperties"] = value
            return found | {"propertyNames": keys}

    return Exact


_DATE: Final = f"(?!0000){DATE}"
_ZONES: Final = {"aware": ZONE, "naive": "", None: f"{ZONE}?"}


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}
