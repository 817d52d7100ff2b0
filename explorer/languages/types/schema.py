"""The JSON Schema of a Python type, through pydantic, and the values of its texts.

Pydantic is an optional library and is imported when a type is given. Its schemas do not match what
it reads: a ``date`` may be any text that looks like a date, the keys of a ``dict[int, str]`` any
text, and a naive ``datetime`` has no ``date-time``. These places are described here exactly as
pydantic reads them, so that each text of the constraint has a value and each value a text:

- dates, times and durations are the texts that pydantic writes, and those of the ``format`` of a
  JSON Schema as far as Python's types can hold them;
- a ``Decimal`` is a number or a text of digits, in the same bounds (`decimals`);
- a strict ``int`` is written in plain digits, since pydantic then refuses ``3.0`` and ``3e0``;
- an object is closed: it has no members but its own. It is open if ``model_config`` says
  ``extra="allow"`` or ``extra="ignore"``; pydantic's own schema is open by default too, and
  ``json_schema(User.model_json_schema())`` uses it unchanged;
- a set has no repeated item if its items have few values; other sets may be written with repeated
  items, which count once;
- a discriminated union allows any of its alternatives, since their tags distinguish them.

Not covered: conditions in Python code (validators, which `remarks` names), bounds of dates, and
durations of more than a million years.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final, cast, get_args, get_origin

from explorer.arguments import shown
from explorer.errors import ConstraintError, ExplorerError, MissingDependency
from explorer.languages.schema.reading.subschemas import every_part
from explorer.languages.types.decimals import decimal_schema
from explorer.languages.types.remarks import OF_A_FUNCTION, left_out

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
ZONE: Final = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_COUNT: Final = "[0-9]{1,8}"
_SMALL: Final = "[0-9]{1,5}"
_SECONDS: Final = rf"{_SMALL}(?:\.[0-9]{{1,6}})?S"
_TIME: Final = f"T(?:{_SMALL}H(?:{_SMALL}M)?(?:{_SECONDS})?|{_SMALL}M(?:{_SECONDS})?|{_SECONDS})"
_DAYS: Final = f"{_COUNT}D"
_MONTHS: Final = "[0-9]{1,7}M"
# RFC 3339 has days after years only with months between them; pydantic writes no months.
_DATED: Final = f"(?:[0-9]{{1,6}}Y(?:{_MONTHS})?(?:{_DAYS})?|{_MONTHS}(?:{_DAYS})?|{_DAYS})"
DURATION: Final = f"-?P(?:{_DATED}(?:{_TIME})?|{_TIME}|[0-9]{{1,7}}W)"
INTEGER: Final = "-?(?:0|[1-9][0-9]*)"

PLAIN_DIGITS: Final = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "$id": "urn:explorer:plain-digits",
    "$comment": "A strict int. In draft 4, 3.0 is not an integer.",
    "type": "integer",
}
"""The integers in plain digits: a part that names its own draft, as it may if it has an ``$id``."""

_VERSION_OF_UUID: Final = re.compile("uuid[0-9]")
"""A format that no draft knows, which pydantic writes beside the pattern of a `UUID4`."""


def pydantic_module() -> Any:
    """Pydantic, imported on first use.

    Raises:
        MissingDependency: Pydantic is not installed.
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
        ConstraintError: Pydantic does not know the type.
    """
    pydantic = pydantic_module()
    try:
        return pydantic.TypeAdapter(_without_old_typed_dicts(described))
    except Exception as error:  # Whatever the type's own code and pydantic's raise.
        raise _refusal(described, error) from error


def schema_of(described: object, adapter: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The exact JSON Schema of a type, with closed objects, and remarks on what it leaves out.

    Args:
        adapter: From `adapter_of`.

    Raises:
        ConstraintError: A part of the type has no exact JSON Schema.

    Example:
        >>> schema_of(bool, adapter_of(bool))
        ({'type': 'boolean'}, ())
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
        for aside in ("default", "examples"):
            part.pop(aside, None)
        if "pattern" in part and _VERSION_OF_UUID.fullmatch(str(part.get("format"))):
            del part["format"]
    return schema, left_out(adapter.core_schema)


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
    is_whole = value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
    return int(value) if is_whole else float(text)


_MOST_DIGITS: Final = 400
"""More digits than any float has before its point."""


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


def _without_old_typed_dicts(described: object) -> object:
    """A type with each TypedDict in a form that pydantic reads before Python 3.12.

    Those of `typing` are made again with `typing_extensions`; their values are dicts in any case.
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
    generic: Any = typing.Union if origin is types.UnionType else origin
    return generic[changed[0] if len(changed) == 1 else changed]


@cache
def _generator() -> Any:
    """Pydantic's generator of schemas, exact where pydantic's own describes more than it reads."""
    from pydantic.json_schema import GenerateJsonSchema

    class Exact(GenerateJsonSchema):
        """Schemas of what pydantic reads."""

        def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
            return super().generate(_with_strictness(schema), mode)

        def int_schema(self, schema: Any) -> dict[str, Any]:
            made = super().int_schema(schema)
            return made | ({"allOf": [dict(PLAIN_DIGITS)]} if schema.get("strict") else {})

        def date_schema(self, schema: Any) -> dict[str, Any]:
            _unbounded(schema, "date")
            return _text(DATE)

        def time_schema(self, schema: Any) -> dict[str, Any]:
            _unbounded(schema, "time")
            return _text(CLOCK + _zone(schema))

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            _unbounded(schema, "datetime")
            return _text(f"{DATE}[Tt]{CLOCK}{_zone(schema)}")

        def timedelta_schema(self, schema: Any) -> dict[str, Any]:
            _unbounded(schema, "timedelta")
            return _text(DURATION)

        def uuid_schema(self, schema: Any) -> dict[str, Any]:
            return _text(_uuid(schema.get("version")))

        def url_schema(self, schema: Any) -> dict[str, Any]:
            return super().url_schema(schema) | _schemes(schema)

        def multi_host_url_schema(self, schema: Any) -> dict[str, Any]:
            return super().multi_host_url_schema(schema) | _schemes(schema)

        def complex_schema(self, schema: Any) -> dict[str, Any]:
            raise ConstraintError(
                "A complex number has no exact form in JSON.", remedy="Use two floats."
            )

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            return decimal_schema(schema)

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return _opened(super().model_schema(schema), schema)

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return _opened(super().dataclass_schema(schema), schema)

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return _opened(super().typed_dict_schema(schema), schema)

        def call_schema(self, schema: Any) -> dict[str, Any]:
            raise ConstraintError(
                f"{type_name(schema['function'])} is a function, not a type: a text holds the "
                "values of types.",
                remedy=OF_A_FUNCTION,
            )

        def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
            made = super().tagged_union_schema(schema)
            # Equal alternatives may differ only in their tags, so anyOf is enough.
            options = made.pop("oneOf", None)
            made.pop("discriminator", None)
            return made if options is None else {**made, "anyOf": options}

        def dict_schema(self, schema: Any) -> dict[str, Any]:
            found = super().dict_schema(schema)
            if "keys_schema" not in schema:
                return found
            return _keyed(found, self.generate_inner(schema["keys_schema"]))

    return Exact


def _with_strictness(core: Mapping[str, Any]) -> Any:
    """A core schema of pydantic in which each int says whether it is strict.

    Unless it says so itself, the configuration of the class decides whose field it belongs to. What
    is used by strict and by other classes, such as an alias of a type, is there twice.
    """
    defined = {each["ref"]: each for each in core.get("definitions", ())}
    strict_ones: dict[str, Any] = {}

    def copied(part: Any, strict: bool) -> Any:
        if isinstance(part, list | tuple):
            return [copied(each, strict) for each in cast("list[Any]", part)]
        if not isinstance(part, Mapping):
            return part
        here = cast("Mapping[str, Any]", part)
        kind = here.get("type")
        if not isinstance(kind, str):  # The keys are the names of fields.
            return {key: copied(each, strict) for key, each in here.items()}
        target = defined.get(here["schema_ref"]) if kind == "definition-ref" else None
        strict = _is_strict(here if target is None else target, strict)
        made = {
            key: each if key in _NO_PARTS else copied(each, strict) for key, each in here.items()
        }
        if not strict or kind == "model":
            return made
        if kind == "int":
            made.setdefault("strict", True)
        if target is not None and target["type"] != "model":
            made["schema_ref"] = _of_strict(here["schema_ref"])
            if target["type"] != "dataclass" and made["schema_ref"] not in strict_ones:
                strict_ones[made["schema_ref"]] = None  # It may refer to itself.
                strict_ones[made["schema_ref"]] = copied(target, True)
        if "ref" in here:
            made["ref"] = _of_strict(here["ref"])
        return made

    made = copied(core, False)
    if strict_ones:
        made["definitions"] = [*made["definitions"], *strict_ones.values()]
    return made


def _is_strict(part: Mapping[str, Any], around: bool) -> bool:
    """Whether the configuration of a part, or else that of the class around it, is strict."""
    config = cast("Mapping[str, Any] | None", part.get("config"))
    if config is None:
        return around and part.get("type") not in ("model", "dataclass")
    return bool(config.get("strict"))


def _of_strict(reference: str) -> str:
    """The name of a part of a core schema as strict classes use it."""
    name, _, number = reference.rpartition(":")
    return f"{name}_strict:{number}"


_NO_PARTS: Final = frozenset(("metadata", "serialization", "function", "default", "config"))
"""The keys of a core schema whose values hold no core schemas."""


def _unbounded(schema: Mapping[str, Any], what: str) -> None:
    """Refuse the bounds of a point in time."""
    for bound in ("gt", "ge", "lt", "le", "now_op"):
        if schema.get(bound) is not None:
            raise ConstraintError(
                f"The bound {bound}={schema[bound]!r} of a {what} cannot be kept.",
                remedy="Leave the bound out and check it after parsing.",
                evidence={"bound": bound},
            )


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _uuid(version: int | None) -> str:
    digits = "[0-9A-Fa-f]{4}"
    third = digits if version is None else f"{version:x}[0-9A-Fa-f]{{3}}"
    fourth = digits if version is None else "[89ABab][0-9A-Fa-f]{3}"
    return f"[0-9A-Fa-f]{{8}}-{digits}-{third}-{fourth}-[0-9A-Fa-f]{{12}}"


def _schemes(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The pattern of the schemes that a URL may have, in letters of either case.

    Two slashes follow, as in all URLs that pydantic writes; it reads ``http:host`` too.
    """
    schemes = cast("Sequence[str]", schema.get("allowed_schemes") or ())
    if not schemes:
        return {}
    written = ("".join(f"[{c}{c.upper()}]" if c.isalpha() else f"[{c}]" for c in scheme)
               for scheme in schemes)  # fmt: skip
    host = "[^/?#]" if _WITH_A_HOST.issuperset(schemes) else ""
    return {"pattern": f"^(?:{'|'.join(written)})://{host}"}


_WITH_A_HOST: Final = frozenset(("http", "https", "ws", "wss", "ftp"))
"""Schemes whose URLs always have a host."""


def _keyed(found: dict[str, Any], keys: Any) -> dict[str, Any]:
    """The schema of a dict, with a description of its keys as texts.

    Raises:
        ConstraintError: The keys cannot be written as texts, or are bounded numbers.
    """
    match keys.get("type"):
        case "integer":
            if keys.keys() - {"type", "allOf"}:  # As texts, strict keys are read as all others.
                raise ConstraintError(
                    "The bounds of integer keys of a dict cannot be kept.",
                    remedy="Use plain int as the type of the keys, or a Literal.",
                )
            keys = _text(INTEGER)
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


def _opened(made: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object's schema, opened if its class ignores further members."""
    described = schema.get("cls")
    config: Any = getattr(described, "model_config", None)
    if not isinstance(config, Mapping):
        config = getattr(described, "__pydantic_config__", schema.get("config"))
    extra = cast("Mapping[str, Any]", config or {}).get("extra")
    if extra == "ignore" and made.get("type") == "object":
        made.setdefault("additionalProperties", True)
    return made
