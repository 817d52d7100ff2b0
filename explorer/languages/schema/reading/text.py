"""The one reader of JSON text: schemas from it and back to it, and the places in it.

A bound is exactly the number that is written, so numbers with a fraction or an exponent are read as
exact decimals, never as floats: ``1e400`` is not infinite, and twenty digits stay twenty digits.
``NaN`` and ``Infinity``, which Python's reader accepts beyond JSON, are refused with their place,
and so is a number so long that machines over its digits make no sense. A name that an object gives
twice is not refused, because RFC 8259 leaves its meaning open: the last one holds, and a remark
names it.

One walk (`tokens`) knows the place of every token. From it come the span of each part of a schema,
which an explanation underlines, and the spot in a value at which the text of a model stops.

A schema may also be given as OpenAI's ``response_format``, in three forms: ``{"type":
"json_schema", "json_schema": {"name": …, "schema": {…}, "strict": true}}``, the same with these
members beside ``type`` (the ``text.format`` of newer interfaces), and ``{"type": "json_object"}``,
any object. No JSON Schema has such a ``type``, so the two cannot be confused. ``strict`` says
whether the service holds its model to the schema; here the schema always holds.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final, Literal, NoReturn, cast

import msgspec

from explorer.arguments import check_whole_characters, plain, shown
from explorer.errors import ConstraintError, ExplorerError, Located, caret
from explorer.languages.sources.choice import check_encodable

MOST_CHARACTERS: Final = 10_000_000
"""The most characters of a schema as JSON."""

MOST_DIGITS: Final = 1_000
"""The most digits of a number of a schema, written out without an exponent."""

MOST_NESTED: Final = 500
"""The deepest nesting of objects and arrays in the text of a schema."""

EXACT: Final = Context(prec=4 * MOST_DIGITS, Emax=10**6, Emin=-(10**6))
"""Arithmetic on numbers of schemas; Python's own context rounds to 28 digits."""

BYTE_ORDER_MARK: Final = "\ufeff"
"""The mark with which some editors begin a file."""

_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^ \t\n\r{}\[\],:"]+', re.DOTALL
)
"""The tokens of JSON; a string may end with the text."""
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
"""The brackets of JSON, and the strings that may hold others."""

_SHOWN_DIGITS: Final = 24
"""The digits of a long number that a message shows."""

_SHORTER: Final = f"Write a number of at most {MOST_DIGITS:,} digits, or leave the keyword out."
_FINITE: Final = "JSON has finite numbers only: write one of them, or leave this one out."


class _WrongNumber(ValueError):
    """The error for a number that is refused, as it is written, with reason and remedy."""

    def __init__(self, written: str, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.written = written
        self.remedy = remedy


def read_schema(text: str) -> bool | dict[str, object]:
    """A schema from its JSON text; numbers are ``int``, or `Decimal` where they are not digits.

    Raises:
        ConstraintError: The text is too long, not JSON, nests too deep, holds a number that is not
            JSON or has more than `MOST_DIGITS` digits, holds half of a surrogate pair, also as an
            escape, or is neither an object nor a boolean.

    Example:
        >>> read_schema('{"minimum": 0.10, "maximum": 1e400}')
        {'minimum': Decimal('0.10'), 'maximum': Decimal('1E+400')}
    """
    if len(text) > MOST_CHARACTERS:
        raise ConstraintError(
            f"The schema has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read.",
            remedy="Leave out what does not constrain, such as descriptions and examples.",
        )
    try:
        value = _read(text)
        check_whole_characters("The schema", text, error=ConstraintError)
        if "\\ud" in text.lower():  # Half of a surrogate pair may be written as an escape.
            for token, _, _ in tokens(text):
                if token[0] == '"':
                    check_encodable(cast("str", json.loads(token)))
    except json.JSONDecodeError as error:
        raise _not_json(text, error) from error
    except _WrongNumber as error:
        place = next(start for token, start, _ in tokens(text) if token == error.written)
        raise _at(text, place, str(error), error.remedy) from error
    except RecursionError as error:
        raise _too_deep(text) or ConstraintError(
            "The schema nests too deep to be read.", remedy="Nest fewer subschemas."
        ) from error
    if too_deep := _too_deep(text):
        raise too_deep
    if not isinstance(value, bool | dict):
        raise ConstraintError(
            "A schema is an object, true or false.", remedy='Write {"type": ...} or {"enum": ...}.'
        )
    return cast("bool | dict[str, object]", value)


def _not_json(text: str, error: json.JSONDecodeError) -> ConstraintError:
    """The error for text that is not JSON; comments and trailing commas are named."""
    at, said, remedy = error.pos, error.msg, "Check quotes, commas and brackets there."
    comma = len(text[: at + text.startswith(",", at)].rstrip()) - 1  # Where one may stand.
    if text.startswith(("//", "/*", "#"), at):
        said, remedy = "here is a comment", "JSON has none: take the comments out."
    elif text[comma : comma + 1] == "," and (after := text[comma + 1 :].lstrip()[:1]) in ("}", "]"):
        at, said = comma, f"here is a comma before {after}"
        remedy = "JSON has none after the last member or item: take it out."
    return _at(text, at, f"The schema is not JSON: {said}", remedy)


def value_of_json(text: str) -> object:
    """The value that a JSON text stands for, as `json.loads` gives it.

    Raises:
        ConstraintError: Python holds no such value: a whole number has more than 4,300 digits, or
            the text nests too deep.
    """
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        most = sys.get_int_max_str_digits()
        reason = (
            "it nests too deep" if isinstance(error, RecursionError)
            else f"it holds a whole number of more than {most:,} digits"
        )  # fmt: skip
        raise ConstraintError(
            f"The text is a word, but Python cannot hold its value: {reason}.",
            remedy="Bound numbers with maximum, and the depth of what the schema leaves free.",
        ) from error


def text_of_data(schema: object) -> str:
    """A schema that was given as Python data, as JSON text.

    Raises:
        ConstraintError: The data is not JSON; the message has the place of a number that is not
            finite or too long, and of an object or array that contains itself.
    """
    try:
        given = schema if isinstance(schema, bool) else dict(cast("Mapping[str, object]", schema))
        if _values_written_out(given, {}) > MOST_CHARACTERS:
            raise ConstraintError(
                f"The schema has more than {MOST_CHARACTERS:,} values: one object stands in it at "
                "many places.",
                remedy="Give the object a name under $defs, and refer to it with $ref.",
            )
        return _ENCODER.encode(given)
    except RecursionError as error:
        raise ConstraintError(
            "The schema nests too deep to be read.", remedy="Nest fewer subschemas."
        ) from error
    except ConstraintError:
        raise
    except Exception as error:  # A user's own mapping may raise anything.
        reason, remedy = (
            f"The schema is not JSON: {str(error) or type(error).__name__}",
            "Give what json.loads would return.",
        )
        if isinstance(error, ValueError):
            reason, remedy = _fault_of_data(schema, "", {}, set()) or (reason, remedy)
        raise ConstraintError(f"{reason}.", remedy=remedy) from error


_SINGLE: Final = frozenset((str, int, float, bool, type(None)))
"""Types of values that hold no others."""


def _values_written_out(value: object, known: dict[int, int]) -> int:
    """The number of values in Python data; an object at several places counts at each of them."""
    parts: Collection[object]
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value).values()
    elif isinstance(value, list | tuple):
        parts = cast("list[object]", value)
    else:
        return 1
    place = id(cast("object", value))
    if place not in known:
        known[place] = 1  # Data that contains itself is refused later, when it is written.
        inner = [part for part in parts if type(part) not in _SINGLE]
        alone = len(parts) - len(inner)
        known[place] = 1 + alone + sum(_values_written_out(part, known) for part in inner)
    return known[place]


def indented(text: str) -> str:
    """JSON laid out as by ``json.dumps(indent=2)``, in a tenth of its time.

    Args:
        text: JSON that `json.dumps` wrote; if it holds half of a surrogate pair, it is returned
            unchanged.

    Example:
        >>> print(indented('{"a": [1, {}]}'))
        {
          "a": [
            1,
            {}
          ]
        }
    """
    try:
        return msgspec.json.format(text, indent=2)
    except UnicodeEncodeError:
        return text


def json_of(value: object) -> str:
    """The result of `read_schema` as JSON text with the same numbers.

    Example:
        >>> json_of({"enum": [Decimal("0.10"), True, "é"]})
        '{"enum": [0.10, true, "é"]}'
    """
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{json_of(name)}: {json_of(part)}" for name, part in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_of, cast("list[object]", value))) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_python(text: str) -> str:
    """A schema as a Python literal: its data, or its text where a number does not fit a float.

    Example:
        >>> print(as_python('{"minimum": 0.5}'), as_python('{"minimum": 1e400}'))
        {'minimum': 0.5} '{"minimum": 1e400}'
    """
    data: object = json.loads(text)
    try:
        is_exact = read_schema(json.dumps(data)) == read_schema(text)
    except ConstraintError:  # Some number became infinite.
        is_exact = False
    return repr(data if is_exact else text)


def _decimal(digits: str) -> Decimal:
    """A number with a fraction or an exponent, exactly as it is written."""
    mantissa, _, exponent = digits.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    shift = int(exponent) if 0 < len(exponent) < 9 else 0 if not exponent else 10**9
    if max(len(whole) + max(shift, 0), len(fraction) + max(-shift, 0)) > MOST_DIGITS:
        raise _too_long(digits)
    return Decimal(digits)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS + (digits[0] == "-"):
        raise _too_long(digits)
    return int(digits)


def _too_long(digits: str) -> _WrongNumber:
    shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}…"
    return _WrongNumber(digits, _beyond(shown), _SHORTER)


def _beyond(shown: str) -> str:
    return f"The schema holds {shown}, which has more than {MOST_DIGITS:,} digits written out"


def _constant(word: str) -> NoReturn:
    raise _WrongNumber(word, f"The schema is not JSON: {word} is not a number", _FINITE)


_PYTHONS: Final = json.JSONDecoder(parse_float=_decimal, parse_int=_whole, parse_constant=_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_QUICK: Final = msgspec.json.Decoder(float_hook=_decimal)
_DIGIT: Final = re.compile("[0-9]")


def _read(text: str) -> object:
    """The value of a JSON text, read by Python's reader if it is not JSON or a number is long.

    Raises:
        ValueError, RecursionError: The text is refused.
    """
    # A number that is too long has a digit among these.
    if not _DIGIT.search(text[::MOST_DIGITS]):
        with suppress(ValueError, RecursionError):
            return _QUICK.decode(text)
    return _PYTHONS.decode(text)


def _too_deep(text: str) -> ConstraintError | None:
    """The error for a text that nests too deep; ``None`` for any other text."""
    depth = 0
    brackets = text.count("{") + text.count("[")
    for match in _BRACKET.finditer(text) if brackets > MOST_NESTED else ():
        depth += (match.group() in "{[") - (match.group() in "}]")
        if depth > MOST_NESTED:
            return _at(
                text, match.start(), f"The schema nests more than {MOST_NESTED} deep",
                "Nest fewer subschemas, or give the inner ones names under $defs.",
            )  # fmt: skip
    return None


def _line_of(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"in line {line}, column {offset - text.rfind(chr(10), 0, offset)}"


def _at(text: str, offset: int, reason: str, remedy: str) -> ConstraintError:
    """The error for a place of the text."""
    place = Located(text, offset, offset + 1)
    return ConstraintError(
        f"{reason} {_line_of(text, offset)}:\n{caret(text, offset)}\n",
        remedy=remedy,
        evidence={"offset": offset, **place.evidence(f"{reason}.")},
    )


def _fault_of_data(
    part: object, pointer: str, above: dict[int, str], clean: set[int]
) -> tuple[str, str] | None:
    """The reason why Python data cannot be written as JSON, with its JSON Pointer, and the remedy.

    Args:
        clean: The ids of parts without a fault; data may hold one part at many places.
    """
    if isinstance(part, float) and part - part != 0:
        return f"The schema is not JSON: the number at {pointer} is not finite", _FINITE
    if isinstance(part, int) and _is_too_long(part):
        return f"{_beyond(_first_digits(part))}, at {pointer}", _SHORTER
    entries: Iterable[tuple[object, object]]
    if isinstance(part, dict):
        entries = cast("dict[object, object]", part).items()
    elif isinstance(part, list | tuple):
        entries = enumerate(cast("Sequence[object]", part))
    else:
        return None
    own = id(cast("object", part))
    if own in above:
        where = f"the part at {above[own]}" if above[own] else "the whole schema"
        return (
            f"The schema holds itself: at {pointer} stands {where} again",
            f'Write {{"$ref": {json.dumps("#" + above[own])}}} there.',
        )
    if own in clean:
        return None
    above[own] = pointer
    for step, below in entries:
        name = _first_digits(step) if isinstance(step, int) and _is_too_long(step) else str(step)
        if (fault := _fault_of_data(below, pointer + pointer_to(name), above, clean)) is not None:
            return fault
    del above[own]
    clean.add(own)
    return None


def _is_too_long(number: int) -> bool:
    return abs(number) >= 10**MOST_DIGITS


def _first_digits(number: int) -> str:
    """The first digits of a long number; Python does not write out more than 4,300 digits."""
    left_out = number.bit_length() * 3 // 10 - _SHOWN_DIGITS
    head = str(abs(number) // 10**left_out)[:_SHOWN_DIGITS]
    return f"{'-' if number < 0 else ''}{head}…"


# Places in a text.


def pointer_to(*path: str | int) -> str:
    """A path as a JSON Pointer (RFC 6901).

    Example:
        >>> pointer_to("properties", "a/b", 0)
        '/properties/a~1b/0'
    """
    pointer = ""
    for step in path:
        text = step if type(step) is str else str(step)
        if "~" in text or "/" in text:
            text = text.replace("~", "~0").replace("/", "~1")
        pointer += "/" + text
    return pointer


@dataclass(slots=True)
class Level:
    """An array or object that is open at a place in a JSON text.

    Args:
        pointer: Its JSON Pointer.
        start: Where it begins; the value of a member begins with the name.
        awaits_name: Whether a name comes next, or was just written.
        key: The name of the present member, and where it begins.
        index: The number of items or members before the present one.
    """

    is_object: bool
    pointer: str
    start: int
    awaits_name: bool
    key: str = ""
    key_start: int = 0
    index: int = 0

    def below(self, start: int) -> tuple[str, int]:
        """The pointer of the present item or member, whose value begins at an offset; its start."""
        if not self.is_object:
            return f"{self.pointer}/{self.index}", start
        return self.pointer + pointer_to(self.key), self.key_start


def tokens(text: str) -> Iterator[tuple[str, int, list[Level]]]:
    """The tokens of a JSON text or of its beginning, each with its start and the open containers.

    Brackets are given with their own container, which comes last.
    """
    stack: list[Level] = []
    for match in _TOKEN.finditer(text):
        token, start = match.group(), match.start()
        if token in "{[":
            pointer, begin = stack[-1].below(start) if stack else ("", start)
            stack.append(Level(token == "{", pointer, begin, awaits_name=token == "{"))
        elif stack and token in ",:":
            stack[-1].awaits_name = token == "," and stack[-1].is_object
            stack[-1].index += token == ","
        elif stack and stack[-1].awaits_name:
            stack[-1].key_start = start
            if "\\" not in token:
                stack[-1].key = token[1:-1]
            elif _STRING.fullmatch(token):
                with suppress(ValueError):  # An escape that JSON does not have.
                    stack[-1].key = json.loads(token, strict=False)
        yield token, start, stack
        if stack and token in "}]":
            stack.pop()


def is_whole(token: str) -> bool:
    """Whether a token is not the beginning of a string."""
    return token[0] != '"' or _STRING.fullmatch(token) is not None


def spans_of(text: str, whole: frozenset[str] = frozenset()) -> dict[str, tuple[int, int]]:
    """The span of each value of a JSON text, by JSON Pointer; a member's span includes its name.

    Args:
        whole: The names of members whose values get one span, without spans inside.

    Example:
        >>> text = '{"properties": {"age": {"minimum": 0}}}'
        >>> start, end = spans_of(text)["/properties/age/minimum"]
        >>> text[start:end]
        '"minimum": 0'
    """
    spans: dict[str, tuple[int, int]] = {}
    for token, start, stack in tokens(text):
        if token in "{[,:" or (stack and stack[-1].awaits_name and token != "}"):
            continue
        around = stack[:-1] if token in "]}" else stack
        if whole and any(level.key in whole for level in around[:-1] if level.is_object):
            continue
        pointer, begin = stack[-1].below(start) if stack else ("", start)
        if token in "]}":
            pointer, begin = stack[-1].pointer, stack[-1].start
        spans[pointer] = (begin, start + len(token))
    return spans


def repeated_names(text: str) -> tuple[str, ...]:
    """One sentence for each name that an object of a schema gives twice.

    Example:
        >>> repeated_names('{"minimum": 1,\\n "minimum": 2}')
        ('The name "minimum" in line 2, column 2 was there before in the same object; the last ...
    """
    said: list[str] = []
    met: list[set[str]] = []
    for token, start, stack in tokens(text):
        if token in "{[":
            met.append(set())
        elif token in "}]":
            met.pop()
        elif stack and stack[-1].awaits_name and token != ",":
            if stack[-1].key in met[-1]:
                said.append(
                    f"The name {token} {_line_of(text, start)} was there before in the same "
                    "object; the last one holds."
                )
            met[-1].add(stack[-1].key)
    return tuple(said)


Step = tuple[Literal["member"], str] | tuple[Literal["item"], int]


@dataclass(frozen=True, slots=True)
class Spot:
    """The spot at which the beginning of a JSON text stops.

    Args:
        steps: The members and items on the way to the value there. Before and inside a name, the
            way to its object.
        value: The text of that value so far; empty before it and inside a name.
        outline: The compact text of the innermost open array or object so far, with each finished
            value in it written ``0``; ``None`` outside of all.
        is_finished: Whether the value may be complete: a closed string, array or object, or a
            number or word, which could still go on.
    """

    steps: tuple[Step, ...]
    value: bytes
    outline: bytes | None
    is_finished: bool


def spot_of(data: bytes) -> Spot:
    """The spot at which a text stops.

    Example:
        >>> spot = spot_of(b'{"a": [1, 2], "b": "x')
        >>> spot.steps, spot.value, spot.outline
        ((('member', 'b'),), b'"x', b'{"a":0,"b":')
        >>> spot_of(b'{"a": 1, "b').outline
        b'{"a":0,"b'
    """
    outlines: list[str] = []
    value, finished = "", False
    around: list[Level] = []
    for token, _, around in tokens(data.decode(errors="surrogateescape")):
        if token in "}]":
            del outlines[-1:]
            value, finished = "0", True
        elif token in "{[,:":
            if token in "{[":
                outlines.append(token)
            elif outlines:
                outlines[-1] += "0," if token == "," else ":"
            value, finished = "", False
        elif around and around[-1].awaits_name:
            outlines[-1] += token
        else:
            value, finished = token, is_whole(token)
    outline = outlines[-1].encode(errors="surrogateescape") if outlines else None
    return Spot(steps_to(around), value.encode(errors="surrogateescape"), outline, finished)


def steps_to(around: Sequence[Level]) -> tuple[Step, ...]:
    """The way through open arrays and objects to the present item or member of the last."""
    steps: list[Step] = []
    for level in around:
        if not level.is_object:
            steps.append(("item", level.index))
        elif not level.awaits_name:
            steps.append(("member", level.key))
    return tuple(steps)


# Other forms in which a schema is given.


_FORMS: Final = ("json_schema", "json_object", "text")
_MEMBERS: Final = ("name", "schema", "strict", "description")
_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")
_REMEDY: Final = (
    'Write {"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}, '
    '"strict": true}}.'
)


def is_response_format(given: object) -> bool:
    """Whether data has the ``type`` of a ``response_format``, which no JSON Schema has.

    Example:
        >>> is_response_format({"type": "json_object"}), is_response_format({"type": "object"})
        (True, False)
    """
    if not isinstance(given, dict | Mapping):
        return False
    kind = cast("Mapping[str, object]", given).get("type")
    return isinstance(kind, str) and kind in _FORMS


def asked_schema(schema: object) -> object:
    """The schema inside a ``response_format``; anything else is returned unchanged."""
    given = schema = plain(schema)
    if isinstance(schema, str) and '"type"' in schema:
        with suppress(ExplorerError):  # Text that is not JSON is refused later, with its place.
            given = read_schema(plain(schema).removeprefix(BYTE_ORDER_MARK))
    if is_response_format(given):
        return requested_schema(cast("Mapping[str, object]", given))
    return schema


def requested_schema(given: Mapping[str, object]) -> object:
    """The JSON Schema that a ``response_format`` asks for.

    Raises:
        ConstraintError: The format asks for any text, or a part of it is malformed; the message
            names the part by its JSON Pointer.

    Example:
        >>> asked = {"name": "n", "schema": {"type": "integer"}, "strict": True}
        >>> requested_schema({"type": "json_schema", "json_schema": asked})
        {'type': 'integer'}
    """
    kind = given["type"]
    if kind == "json_schema":
        if "json_schema" not in given and "schema" in given:
            members = {name: part for name, part in given.items() if name != "type"}
            return _schema(members, "")
        _only(given, ("type", "json_schema"), "")
        inner = _part(given, "json_schema", "", Mapping, "an object")
        return _schema(cast("Mapping[str, object]", inner), "/json_schema")
    if kind == "json_object":
        _only(given, ("type",), "")
        return {"type": "object"}
    raise ConstraintError(
        'The response_format {"type": "text"} asks for any text, which is not JSON.',
        remedy='Leave the constraint out, or write regex("(?s).*").',
        evidence={"pointer": "/type"},
    )


def _schema(members: Mapping[str, object], pointer: str) -> object:
    _only(members, _MEMBERS, pointer)
    name = _part(members, "name", pointer, str, "a text")
    if not _NAME.fullmatch(cast("str", name)):
        reason = f"{shown(name)} is not 1 to 64 letters, digits, underscores and hyphens"
        raise _malformed(f"{pointer}/name", reason)
    for optional, kind, what in (("strict", bool, "true or false"), ("description", str, "a text")):
        if members.get(optional) is not None:
            _part(members, optional, pointer, kind, what)
    return _part(members, "schema", pointer, Mapping, "an object")


def _part(
    owner: Mapping[str, object], name: str, pointer: str, kind: type[Any], what: str
) -> object:
    if name not in owner:
        raise _malformed(f"{pointer}/{name}", "it is missing")
    part = owner[name]
    if not isinstance(part, kind):
        raise _malformed(f"{pointer}/{name}", f"{shown(part)} is not {what}")
    return part


def _only(owner: Mapping[str, object], known: tuple[str, ...], pointer: str) -> None:
    for name in owner:
        if name not in known:
            names = ", ".join(known)
            raise _malformed(f"{pointer}/{name}", f"there is no such member; there are {names}")


def _malformed(pointer: str, reason: str) -> ConstraintError:
    return ConstraintError(
        f"The response_format is malformed at {pointer}: {reason}.",
        remedy=_REMEDY,
        evidence={"pointer": pointer, "reason": reason},
    )
