"""Shapes: the parts of a type whose values are written in Python's notation.

A shape has two methods. `source` gives the constraint of its texts, made of existing kinds
(patterns, choices, sequences), so that nothing else is needed to compile, explain and save it.
`value` reads the syntax tree of such a text: literals are read as literals, and only the
constructors that the type consists of are called.

The texts are those of ``repr`` if Python can read them: ``Weapon(name='sword', damage=3)``, strings
in either quotes with every escape of Python, ``datetime.date(2024, 5, 17)`` with or without the
module, members of an enumeration as ``Colour.RED``.

This file has the shapes without parts: numbers, strings, constants, dates.
"""

from __future__ import annotations

import ast
import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final, Protocol, cast

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import (
    MOST_PARTS,
    Concatenation,
    Intersection,
    Union,
    chained,
)
from explorer.languages.sources.choice import Choice, check_encodable


class Shape(Protocol):
    """One part of a type."""

    def source(self) -> Source | None:
        """The source of the texts; ``None`` if there are none, because a recursion is too deep.

        Raises:
            ConstraintError: The part cannot be written exactly.
        """
        ...

    def value(self, node: ast.expr) -> object:
        """The value of a text.

        Raises:
            OtherShape: The text is not of this shape.
        """
        ...


class OtherShape(Exception):
    """The error for a text that does not fit a shape; another alternative of a union may."""


def exact_text(written: str) -> Source:
    """The source of exactly one text."""
    return Choice.of([written])


def in_sequence(*parts: Source) -> Source:
    """The concatenation of some sources."""
    chain = chained(Concatenation, *parts)
    return chain.parts[0] if len(chain.parts) == 1 else chain


def either(options: Sequence[Source]) -> Source:
    """The union of some sources.

    Args:
        options: At least one.

    Raises:
        ConstraintError: Written out, they have too many parts.
    """
    parts = sum(each.parts_written_out for each in options)
    if parts > MOST_PARTS:  # Checked first, because comparing them would take as long.
        raise refused(
            f"The type is nested too deep to be written as Python: it has {parts:,} parts, of at "
            f"most {MOST_PARTS:,}",
            "Nest fewer tuples of any length and fewer optional fields, or leave out style.",
        )
    every = chained(Union, *options).parts
    return every[0] if len(every) == 1 else Union(tuple(dict.fromkeys(every)))


def literal_value(node: ast.expr, *kinds: type) -> object:
    """The value of a literal, checked to be exactly of one of some types.

    Args:
        kinds: The types; ``bool`` is not an ``int`` here.

    Raises:
        OtherShape: It is something else.
    """
    try:
        found = cast("object", ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise OtherShape from error
    if type(found) not in kinds:
        raise OtherShape
    return found


def called(node: ast.expr, *names: str) -> ast.Call:
    """A call of one of some names.

    Args:
        names: Such as ``date`` and ``datetime.date``.

    Raises:
        OtherShape: It is something else.
    """
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in names:
        raise OtherShape
    return node


def refused(what: str, remedy: str) -> ConstraintError:
    """The error for a part of a type that cannot be written exactly.

    Args:
        what: The part and the reason, without a full stop.
    """
    return ConstraintError(f"{what}.", remedy=remedy)


Limits = Mapping[str, Any]
"""The constraints of a field, by their names in ``annotated_types`` and pydantic."""

_HEX: Final = "[0-9a-fA-F]"
_FOUR: Final = f"(?:[0-9a-ce-fA-CE-F]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}})"
_ESCAPE: Final = (
    rf"\\(?:[\\'\"abfnrtv]|x{_HEX}{{2}}|u{_FOUR}"
    rf"|U(?:0000{_FOUR}|000[1-9a-fA-F]{_HEX}{{4}}|0010{_HEX}{{4}}))"
)
_DOUBLE: Final = rf'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u{_FOUR})*"'
_INT: Final = "-?(?:0|[1-9][0-9]*)"
_EXPONENT: Final = r"e(?:\+?(?:[0-9]{1,2}|[12][0-9]{2}|30[0-7])|-[0-9]{1,3})"
_FLOAT: Final = rf"{_INT}\.[0-9]+|-?[0-9](?:\.[0-9]+)?{_EXPONENT}"
_YEAR: Final = "[1-9][0-9]{0,3}"
_FOURTH: Final = "(?:[48]|[2468][048]|[13579][26])"
_LEAP: Final = f"(?:{_FOURTH}|[1-9][0-9]?(?:0[48]|[2468][048]|[13579][26])|{_FOURTH}00)"
_DATE: Final = (
    f"(?:{_YEAR}, (?:(?:[13578]|1[02]), (?:[1-9]|[12][0-9]|3[01])"
    f"|(?:[469]|11), (?:[1-9]|[12][0-9]|30)|2, (?:[1-9]|1[0-9]|2[0-8]))|{_LEAP}, 2, 29)"
)
_SIXTY: Final = "(?:[1-5]?[0-9])"
_MICRO: Final = "(?:0|[1-9][0-9]{0,5})"
_CLOCK: Final = f"(?:1?[0-9]|2[0-3]), {_SIXTY}(?:, {_SIXTY}(?:, {_MICRO})?)?"
_UTC: Final = r"(?:, fold=1)?(?:, tzinfo=(?:datetime\.)?timezone\.utc)?"
_MODULE: Final = r"(?:datetime\.)?"
_DAYS: Final = "-?(?:0|[1-9][0-9]{0,7})"
_SECONDS: Final = "(?:0|[1-9][0-9]{0,4})"
_DELTA: Final = (
    f"0|days={_DAYS}(?:, seconds={_SECONDS})?(?:, microseconds={_MICRO})?"
    f"|seconds={_SECONDS}(?:, microseconds={_MICRO})?|microseconds={_MICRO}"
)


@dataclass(frozen=True)
class Scalar:
    """A literal of one type."""

    kind: type
    pattern: str
    limits: tuple[tuple[str, Any], ...] = ()

    def source(self) -> Source:
        """The pattern, intersected with the limits as a JSON Schema."""
        pattern = Regex.read(self.pattern)
        if not self.limits:
            return pattern
        name = "integer" if self.kind is int else "number"
        return Intersection(pattern, JsonSchema.of({"type": name, **dict(self.limits)}))

    def value(self, node: ast.expr) -> object:
        """The literal."""
        return literal_value(node, self.kind)


@dataclass(frozen=True)
class Text:
    """A string."""

    least: int
    most: int | None
    pattern: str | None

    def source(self) -> Source:
        """Literals in either quotes; with a pattern, in double quotes as JSON escapes them."""
        if self.pattern is not None:
            schema: dict[str, Any] = {"type": "string", "pattern": self.pattern}
            if self.least:
                schema["minLength"] = self.least
            if self.most is not None:
                schema["maxLength"] = self.most
            # JSON's literals are Python's, except for an escaped slash and surrogate pairs.
            return Intersection(JsonSchema.of(schema), Regex.read(_DOUBLE))
        bounds = f"{{{self.least},{'' if self.most is None else self.most}}}"
        literals = [
            rf"{quote}(?:[^{quote}\\\x00-\x1f\x7f]|{_ESCAPE}){bounds}{quote}" for quote in "'\""
        ]
        return Regex.read("|".join(literals))

    def value(self, node: ast.expr) -> object:
        """The string."""
        return literal_value(node, str)


@dataclass(frozen=True)
class Constants:
    """One of some values, each in its spellings.

    Args:
        entries: Spellings and values; a spelling is a literal or ``Colour.RED``.
    """

    entries: tuple[tuple[tuple[str, ...], Any], ...]

    def source(self) -> Source:
        """The spellings."""
        return Choice.of([spelling for spellings, _ in self.entries for spelling in spellings])

    def value(self, node: ast.expr) -> object:
        """The value with this spelling."""
        for spellings, found in self.entries:
            for spelling in spellings:
                if ast.dump(ast.parse(spelling, mode="eval").body) == ast.dump(node):
                    return found
        raise OtherShape


@dataclass(frozen=True)
class Standard:
    """A value of the standard library, written as a call.

    Args:
        names: The names of the function, with and without its module.
        make: Makes the value from the call's positional and named arguments.
    """

    names: tuple[str, ...]
    pattern: str
    make: Callable[..., Any]

    def source(self) -> Source:
        """The pattern."""
        return Regex.read(self.pattern)

    def value(self, node: ast.expr) -> object:
        """The value."""
        call = called(node, *self.names)
        named = {
            str(each.arg): datetime.UTC if each.arg == "tzinfo" else literal_value(each.value, int)
            for each in call.keywords
        }
        try:
            return self.make(*(literal_value(each, int, str) for each in call.args), **named)
        except (ValueError, TypeError, OverflowError, InvalidOperation) as error:
            raise OtherShape from error


def _dated(name: str, body: str, make: Callable[..., Any]) -> Standard:
    return Standard((f"datetime.{name}", name), rf"{_MODULE}{name}\({body}\)", make)


STANDARD: Final[dict[object, Standard]] = {
    datetime.date: _dated("date", _DATE, datetime.date),
    datetime.time: _dated("time", f"{_CLOCK}{_UTC}", datetime.time),
    datetime.datetime: _dated("datetime", f"{_DATE}, {_CLOCK}{_UTC}", datetime.datetime),
    datetime.timedelta: _dated("timedelta", f"(?:{_DELTA})", datetime.timedelta),
    uuid.UUID: Standard(
        ("UUID", "uuid.UUID"),
        r"UUID\('[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'\)",
        uuid.UUID,
    ),
    Decimal: Standard(
        ("Decimal", "decimal.Decimal"),
        r"Decimal\('-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:E[+-]?[0-9]{1,3})?'\)",
        Decimal,
    ),
}
"""The shapes of types of the standard library."""

_OF_NUMBERS: Final = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}  # fmt: skip


def scalar(described: object, limits: Limits) -> Scalar | Text | Constants | Standard | None:
    """The shape of a type without parts; ``None`` for other types.

    Raises:
        ConstraintError: A limit cannot be kept.
    """
    if described is int or described is float:
        bounds = tuple((_OF_NUMBERS[name], limits[name]) for name in _OF_NUMBERS if name in limits)
        kind = int if described is int else float
        return Scalar(kind, _INT if kind is int else _FLOAT, bounds)
    if described is str:
        return Text(limits.get("min_length", 0), limits.get("max_length"), limits.get("pattern"))
    if described is bool:
        return Constants(((("True",), True), (("False",), False)))
    if described is None or described is type(None):
        return Constants(((("None",), None),))
    if isinstance(described, type) and described in STANDARD:
        if limits:
            raise refused(
                f"The limits {', '.join(limits)} of a {described.__name__} cannot be kept",
                "Leave them out and check them after parsing.",
            )
        return STANDARD[described]
    if isinstance(described, type) and issubclass(described, Enum):
        name = described.__name__
        return Constants(tuple(((f"{name}.{member.name}",), member) for member in described))
    return None


def constants(values: tuple[object, ...]) -> Constants:
    """The shape of a ``Literal``.

    Args:
        values: Strings, numbers, booleans, ``None`` and members of enumerations.

    Raises:
        ConstraintError: A string holds half of a surrogate pair.
    """
    entries: list[tuple[tuple[str, ...], Any]] = []
    for value in values:
        if isinstance(value, Enum):
            spellings = (f"{type(value).__name__}.{value.name}",)
        elif isinstance(value, str):
            check_encodable(value)
            other = '"' + repr("'" + value)[2:-1].replace('"', '\\"') + '"'
            same = ast.literal_eval(other) == value
            spellings = (repr(value), other) if same else (repr(value),)
        else:
            spellings = (repr(value),)
        entries.append((tuple(dict.fromkeys(spellings)), value))
    return Constants(tuple(entries))
