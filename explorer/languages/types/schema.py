"""The JSON Schema of a Python type, through pydantic, and the values of its texts.

Pydantic is an optional library and is imported when a type is given. Its schemas describe more
than it reads: a ``date`` may be any text that looks like a date, the keys of a ``dict[int, str]``
any text, a naive ``datetime`` no ``date-time`` at all. Those places are described here as exactly
as pydantic reads them, so that each text of the constraint has a value and each value a text:

- dates, times and durations are the texts that pydantic writes and Python's types can hold;
- a ``Decimal`` is a number or a text of digits; with bounds it is a number;
- an object has no members but its own, unless the model says ``extra="allow"``;
- a set with a least size has no member twice; other sets may repeat theirs;
- the alternatives of a discriminated union are told apart by their tag, so any of them may match.

Not covered: what only Python code decides (validators), bounds of dates, and durations of more
than a million years.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, cast, get_args, get_origin

from explorer.arguments import shown
from explorer.errors import ConstraintError, ExplorerError, MissingDependency

_YEAR: Final = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DAY: Final = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP: Final = (
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29"
)
DATE: Final = f"(?:{_YEAR}-{_DAY}|{_LEAP})"
CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
ZONE: Final = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_COUNT: Final = "(?:0|[1-9][0-9]{0,7})"
_SMALL: Final = "(?:0|[1-9][0-9]{0,4})"
_SECONDS: Final = rf"{_SMALL}(?:\.[0-9]{{1,6}})?S"
_TIME: Final = f"T(?:{_SMALL}H(?:{_SMALL}M)?(?:{_SECONDS})?|{_SMALL}M(?:{_SECONDS})?|{_SECONDS})"
_YEARS: Final = "[1-9][0-9]{0,5}Y"
DURATION: Final = f"-?P(?:{_YEARS}(?:{_COUNT}D)?(?:{_TIME})?|{_COUNT}D(?:{_TIME})?|{_TIME})"
DIGITS: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:E[+-]?[0-9]{1,3})?"
INTEGER: Final = "-?(?:0|[1-9][0-9]*)"


def pydantic_module() -> Any:
    """Pydantic, imported on first use.

    Raises:
        MissingDependency: It is not installed.
    """
    try:
        import pydantic
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "Types as JSON need the library 'pydantic', which is not installed.",
            remedy="Install it (pip install 'constraint-explorer[types]'), or write Python calls: "
            'from_type(T, style="python").',
            evidence={"library": "pydantic"},
        ) from error
    return pydantic


def adapter_of(described: object) -> Any:
    """Pydantic's adapter of a type.

    Raises:
        MissingDependency: Pydantic is not installed.
        ConstraintError: It is not a type that pydantic knows.
    """
    pydantic = pydantic_module()
    try:
        return pydantic.TypeAdapter(_without_old_typed_dicts(described))
    except Exception as error:  # Whatever the type's own code and pydantic's raise.
        raise _refusal(described, error) from error


def schema_of(described: object, adapter: Any) -> dict[str, Any]:
    """The JSON Schema of a type, closed and exact.

    Args:
        adapter: From `adapter_of`.

    Raises:
        ConstraintError: A part of it has no JSON Schema, or none that is exact.

    Example:
        >>> schema_of(bool, adapter_of(bool))
        {'type': 'boolean'}
    """
    try:
        made = adapter.json_schema(schema_generator=_generator())
    except ExplorerError:
        raise
    except Exception as error:
        raise _refusal(described, error) from error
    return cast("dict[str, Any]", _closed(made))


def value_of(described: object, adapter: Any, text: str) -> object:
    """The value that a JSON text stands for.

    Args:
        described, adapter: As in `schema_of`.

    Raises:
        ConstraintError: The type's own checks refuse it.
    """
    import pydantic

    try:
        try:
            return adapter.validate_json(text)
        except pydantic.ValidationError:
            # An integer may be written 3.0 or 3e0; pydantic reads that below 2**63 only.
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
    is_whole = value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
    return int(value) if is_whole else float(text)


_MOST_DIGITS: Final = 400
"""No float has more digits before its point."""


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
        # Its advice goes on with settings that let a type through without any check.
        reason = f"{unknown[1]} is not a type whose values JSON can hold"
    elif _NOT_TEXT.search(str(error)):
        reason = "it holds a text with half of a surrogate pair, which UTF-8 cannot hold"
    return ConstraintError(
        f"{type_name(described)} cannot be written as JSON: {reason}.",
        remedy="Use pydantic models, dataclasses, TypedDict, NamedTuple, Enum, Literal and the "
        "types of the standard library.",
        evidence={"type": type_name(described)},
    )


def _without_old_typed_dicts(described: object) -> object:
    """The same type with the TypedDict that pydantic reads before Python 3.12.

    Those of `typing` are made again with `typing_extensions`; their values are dicts all the same.
    """
    if typing.is_typeddict(cast("type", described)) and type(described).__module__ == "typing":
        import typing_extensions

        hints = typing.get_type_hints(described, include_extras=True)
        required = cast("frozenset[str]", cast("Any", described).__required_keys__)
        fields: dict[str, Any] = {}
        for name, hint in hints.items():
            plain = _without_old_typed_dicts(hint)
            optional: Any = typing_extensions.NotRequired
            fields[name] = plain if name in required else optional[plain]
        return cast("Any", typing_extensions.TypedDict)(type_name(described), fields)
    origin, arguments = get_origin(described), get_args(described)
    if not arguments or origin is typing.Literal:
        return described
    changed = tuple(_without_old_typed_dicts(each) for each in arguments)
    if changed == arguments:
        return described
    if origin is Annotated:
        annotated: Any = Annotated
        return annotated[changed]
    rebuild: Any = getattr(described, "copy_with", None)
    if rebuild is not None:
        return rebuild(changed)
    if type(described).__name__ == "UnionType":
        union: Any = typing.Union
        return union[changed]
    generic: Any = origin
    return generic[changed]


def _closed(schema: object) -> object:
    """A schema whose objects have no further members, and whose tagged unions are plain ones."""
    if isinstance(schema, list):
        return [_closed(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, object]", schema)
    # Names of members and definitions are not keywords; values of constants are not schemas.
    found = {
        key: {name: _closed(part) for name, part in cast("dict[str, object]", value).items()}
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict)
        else value
        if key in ("enum", "const", "default", "examples", "required")
        else _closed(value)
        for key, value in given.items()
    }
    if isinstance(given.get("properties"), dict) and given.get("type") == "object":
        found.setdefault("additionalProperties", False)
    if "discriminator" in given and isinstance(found.get("oneOf"), list):
        del found["discriminator"]
        found["anyOf"] = found.pop("oneOf")
    for aside in ("default", "examples"):
        if aside in found and not isinstance(given.get("properties"), list):
            del found[aside]
    return found


@cache
def _generator() -> Any:
    """Pydantic's generator of schemas, exact where pydantic's own describes more than it reads."""
    from pydantic.json_schema import GenerateJsonSchema

    def text(pattern: str) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{pattern})$"}

    def unbounded(schema: Mapping[str, Any], what: str) -> None:
        for bound in ("gt", "ge", "lt", "le", "now_op"):
            if schema.get(bound) is not None:
                raise ConstraintError(
                    f"The bound {bound}={schema[bound]!r} of a {what} cannot be kept.",
                    remedy="Leave the bound out and check it after parsing.",
                    evidence={"bound": bound},
                )

    class Exact(GenerateJsonSchema):
        """Schemas of what pydantic reads."""

        def date_schema(self, schema: Any) -> dict[str, Any]:
            unbounded(schema, "date")
            return text(DATE)

        def time_schema(self, schema: Any) -> dict[str, Any]:
            unbounded(schema, "time")
            return text(CLOCK + _zone(schema))

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            unbounded(schema, "datetime")
            return text(f"{DATE}T{CLOCK}{_zone(schema)}")

        def timedelta_schema(self, schema: Any) -> dict[str, Any]:
            unbounded(schema, "timedelta")
            return text(DURATION)

        def uuid_schema(self, schema: Any) -> dict[str, Any]:
            version = schema.get("version")
            digits = "[0-9a-f]{4}"
            third = digits if version is None else f"{version:x}[0-9a-f]{{3}}"
            fourth = digits if version is None else "[89ab][0-9a-f]{3}"
            return text(f"[0-9a-f]{{8}}-{digits}-{third}-{fourth}-[0-9a-f]{{12}}")

        def complex_schema(self, schema: Any) -> dict[str, Any]:
            raise ConstraintError(
                "A complex number has no exact form in JSON.", remedy="Use two floats."
            )

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            return _decimal(schema, text(DIGITS))

        def set_schema(self, schema: Any) -> dict[str, Any]:
            return _repeated(super().set_schema(schema))

        def frozenset_schema(self, schema: Any) -> dict[str, Any]:
            return _repeated(super().frozenset_schema(schema))

        def dict_schema(self, schema: Any) -> dict[str, Any]:
            found = super().dict_schema(schema)
            if "keys_schema" not in schema:
                return found
            keys: Any = self.generate_inner(schema["keys_schema"])
            match keys.get("type"):
                case "integer":
                    if len(keys) > 1:
                        raise ConstraintError(
                            "The bounds of integer keys of a dict cannot be kept.",
                            remedy="Use plain int as the type of the keys, or a Literal.",
                        )
                    keys = text(INTEGER)
                case "boolean":
                    keys = {"enum": ["true", "false"]}
                case "number" | "array" | "object" | "null":
                    raise ConstraintError(
                        f"The keys of a dict are texts in JSON, not of type {keys['type']}.",
                        remedy="Use str, int, Literal, Enum, date or UUID as the type of the keys.",
                    )
                case _:
                    pass
            for pattern in ("patternProperties", "additionalProperties"):
                value = found.pop(pattern, True)
                if isinstance(value, dict) and pattern == "patternProperties":
                    (value,) = cast("dict[str, Any]", value).values()
                if value is not True:
                    found["additionalProperties"] = value
            return found | {"propertyNames": keys}

    return Exact


def _zone(schema: Mapping[str, Any]) -> str:
    match schema.get("tz_constraint"):
        case "aware":
            return ZONE
        case "naive":
            return ""
        case None:
            return f"{ZONE}?"
        case other:
            raise ConstraintError(
                f"The time zone {other!r} cannot be kept.", remedy="Use AwareDatetime."
            )


def _repeated(schema: dict[str, Any]) -> dict[str, Any]:
    if not schema.get("minItems"):
        schema.pop("uniqueItems", None)
    return schema


def _decimal(schema: Mapping[str, Any], digits: dict[str, Any]) -> dict[str, Any]:
    names = {
        "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
        "multiple_of": "multipleOf",
    }  # fmt: skip
    bounds = {to: float(schema[name]) for name, to in names.items() if schema.get(name) is not None}
    most, places = schema.get("max_digits"), schema.get("decimal_places")
    if most is not None and places is None:
        raise ConstraintError(
            f"max_digits={most} of a Decimal cannot be kept alone.",
            remedy="Give decimal_places too.",
            evidence={"max_digits": most},
        )
    if places is not None:
        bounds["multipleOf"] = float(Decimal(1).scaleb(-places))
        if most is not None:
            limit = float(Decimal(1).scaleb(most - places))
            bounds.setdefault("exclusiveMaximum", limit)
            bounds.setdefault("exclusiveMinimum", -limit)
    number = {"type": "number", **bounds}
    return number if bounds else {"anyOf": [number, digits]}
