"""Types as constructor calls: ``Weapon(name='sword', damage=3)``.

The texts are those of ``repr``, strings in either quotes (Koo, Liu & He 2024, section 5.2): calls
of dataclasses, NamedTuples and pydantic models with named arguments in the order of the type,
members of enumerations as ``Colour.RED``, lists, tuples, dicts and literals. A recursive type is
followed to a stated depth; beyond it a part has no text, so an optional one is left out and a list
is empty.

A text is never evaluated: its syntax tree is read, literals as literals, and only the classes of
the type are called.
"""

from __future__ import annotations

import ast
import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import (
    MOST_PARTS,
    Concatenation,
    Intersection,
    Repetition,
    Union,
    chained,
)
from explorer.languages.sources.choice import Choice, check_encodable
from explorer.languages.template.many import Many
from explorer.languages.template.source import Template
from explorer.languages.types.schema import adapter_of, schema_of, type_name

_HEX: Final = "[0-9a-fA-F]"
_FOUR: Final = f"(?:[0-9a-ce-fA-CE-F]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}})"
_ESCAPE: Final = (
    rf"\\(?:[\\'\"abfnrtv]|x{_HEX}{{2}}|u{_FOUR}"
    rf"|U(?:0000{_FOUR}|000[1-9a-fA-F]{_HEX}{{4}}|0010{_HEX}{{4}}))"
)
_INT: Final = "-?(?:0|[1-9][0-9]*)"
_EXPONENT: Final = r"e(?:\+?(?:[0-9]{1,2}|[12][0-9]{2}|30[0-7])|-[0-9]{1,3})"
_NUMBERS: Final[dict[object, str]] = {
    int: _INT,
    float: rf"{_INT}\.[0-9]+|-?[0-9](?:\.[0-9]+)?{_EXPONENT}",
}
_DOUBLE: Final = rf'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u{_FOUR})*"'
"""The literals of strings that JSON and Python share."""


class Calls:
    """The texts of a type, and the classes that they may call.

    Args:
        max_depth: How often a class may be nested in itself.
    """

    def __init__(self, max_depth: int) -> None:
        self.names: dict[str, Any] = {}
        self._max_depth = max_depth
        self._inside: list[object] = []

    def texts(self, described: object) -> Source | None:
        """The source of the texts; ``None`` if there are none, because a recursion is too deep.

        Raises:
            ConstraintError: The type cannot be written exactly.
        """
        origin, arguments = get_origin(described), get_args(described)
        if origin is Annotated and (arguments[0] is str or arguments[0] in _NUMBERS):
            return _limited(arguments[0], schema_of(described, adapter_of(described)))
        if origin is Literal:
            return Choice.of([each for value in arguments for each in self._spellings(value)])
        if origin in (typing.Union, types.UnionType):
            return _either([self.texts(each) for each in arguments])
        if described is str or described in _NUMBERS:
            return _limited(described, {})
        if described is bool:
            return Choice.of(["True", "False"])
        if described in (None, type(None)):
            return Choice.of(["None"])
        if origin is list or (origin is tuple and arguments[1:] == (...,)):
            return self._items(arguments[0], is_list=origin is list)
        if origin is tuple:
            parts = [self.texts(each) for each in arguments]
            return _sequence("(", *_separated(parts), ",)" if len(parts) == 1 else ")")
        if origin is dict:
            pair = _sequence(self.texts(arguments[0]), ": ", self.texts(arguments[1]))
            return _sequence("{", "" if pair is None else Many.of(pair, 0, None, ", "), "}")
        if isinstance(described, type) and issubclass(described, Enum):
            return Choice.of([each for value in described for each in self._spellings(value)])
        return self._call(cast("object", described))

    def _items(self, of: object, *, is_list: bool) -> Source | None:
        item = self.texts(of)
        if is_list:
            return _sequence("[", "" if item is None else Many.of(item, 0, None, ", "), "]")
        several = None if item is None else Many.of(item, 2, None, ", ")
        return _either([
            _sequence("()"), _sequence("(", item, ",)"), _sequence("(", several, ")")
        ])  # fmt: skip

    def _spellings(self, value: object) -> Sequence[str]:
        """The literals of a value; a string has one in each quotes."""
        if isinstance(value, Enum):
            self._name(type(value))
            return [f"{type(value).__name__}.{value.name}"]
        if not isinstance(value, str):
            return [repr(value)]
        check_encodable(value)
        other = '"' + repr("'" + value)[2:-1].replace('"', '\\"') + '"'
        same = ast.literal_eval(other) == value
        return list(dict.fromkeys([repr(value), other])) if same else [repr(value)]

    def _call(self, described: object) -> Source | None:
        """A call of a constructor with named arguments; one with a default may be missing."""
        parts = _arguments_of(described)
        if parts is None:
            raise ConstraintError(
                f"{type_name(described)} cannot be written as Python calls.",
                remedy="Use dataclasses, pydantic models, NamedTuple, Enum, Literal, list[...], "
                "tuple[...], dict[...], str, int, float, bool and None, or leave style out.",
            )
        if self._inside.count(described) > self._max_depth:
            return None
        name = self._name(cast("type", described))
        self._inside.append(described)
        arguments: list[tuple[Source, bool]] = []
        for label, hint, required in parts:
            texts = self.texts(hint)
            if texts is not None:
                argument = Template.of((f"{label}=", ""), (label,), {label: texts})
                arguments.append((argument, required))
            elif required:
                self._inside.pop()
                return None
        self._inside.pop()
        return _sequence(f"{name}(", _from_first(arguments), ")")

    def _name(self, described: type) -> str:
        if self.names.setdefault(described.__name__, described) is not described:
            raise ConstraintError(
                f"Two classes of the type are called {described.__name__}.",
                remedy="Give one of them another name.",
            )
        return described.__name__


def constructed(node: ast.expr, names: Mapping[str, Any]) -> object:
    """The value of a syntax tree.

    Args:
        names: The classes that may be called, and the enumerations whose members may be named.

    Raises:
        LookupError: It names something else.
        ValueError: It is not a literal.
    """
    match node:
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            return names[name](
                **{str(each.arg): constructed(each.value, names) for each in keywords}
            )
        case ast.Attribute(value=ast.Name(id=name), attr=member):
            return names[name][member]
        case ast.List(elts=items):
            return [constructed(each, names) for each in items]
        case ast.Tuple(elts=items):
            return tuple(constructed(each, names) for each in items)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(cast("list[ast.expr]", keys), values, strict=True)
            return {constructed(key, names): constructed(value, names) for key, value in pairs}
        case _:
            return ast.literal_eval(node)


def _limited(kind: object, schema: Mapping[str, Any]) -> Source:
    """The literals of numbers and strings within a JSON Schema.

    Strings in either quotes have every escape of Python; under a pattern they are those of JSON.
    """
    if kind is not str:
        literals = Regex.read(_NUMBERS[kind])
        return Intersection(literals, JsonSchema.of(schema)) if schema else literals
    if "pattern" in schema:
        return Intersection(JsonSchema.of(schema), Regex.read(_DOUBLE))
    bounds = f"{{{schema.get('minLength', 0)},{schema.get('maxLength', '')}}}"
    return Regex.read("|".join(
        rf"{quote}(?:[^{quote}\\\x00-\x1f\x7f]|{_ESCAPE}){bounds}{quote}" for quote in "'\""
    ))  # fmt: skip


def _arguments_of(described: object) -> list[tuple[str, object, bool]] | None:
    """The arguments of a constructor, each with its type and whether it must be given."""
    if not isinstance(described, type):
        return None
    hints = typing.get_type_hints(described, include_extras=True)
    if dataclasses.is_dataclass(described):
        missing = dataclasses.MISSING
        return [
            (each.name, hints[each.name],
             each.default is missing and each.default_factory is missing)
            for each in dataclasses.fields(described) if each.init
        ]  # fmt: skip
    own: Mapping[str, Any] = cast("type[Any]", described).__dict__
    if issubclass(described, tuple) and "_field_defaults" in own:
        return [(name, hint, name not in own["_field_defaults"]) for name, hint in hints.items()]
    if "__pydantic_fields__" not in own:
        return None
    annotated: Any = Annotated
    return [
        (field.validation_alias if isinstance(field.validation_alias, str) else name,
         annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation,
         bool(field.is_required()))
        for name, field in cast("dict[str, Any]", own["__pydantic_fields__"]).items()
    ]  # fmt: skip


def _sequence(*parts: Source | str | None) -> Source | None:
    """The parts one after the other; ``None`` if one of them has no text."""
    if None in parts:
        return None
    made = [Choice.of([each]) if isinstance(each, str) else each for each in parts if each]
    chain = chained(Concatenation, *made)
    return chain.parts[0] if len(chain.parts) == 1 else chain


def _separated(parts: Sequence[Source | None]) -> list[Source | str | None]:
    return [each for part in parts for each in (", ", part)][1:]


def _either(options: Sequence[Source | None]) -> Source | None:
    """The union of the sources that have a text."""
    found = [each for each in options if each is not None]
    if not found:
        return None
    parts = sum(each.parts_written_out for each in found)
    if parts > MOST_PARTS:  # Checked first, because comparing them would take as long.
        raise ConstraintError(
            f"The type is nested too deep to be written as Python: it has {parts:,} parts, of at "
            f"most {MOST_PARTS:,}.",
            remedy="Nest fewer tuples of any length and fewer optional fields, or leave out style.",
        )
    every = chained(Union, *found).parts
    return every[0] if len(every) == 1 else Union(tuple(dict.fromkeys(every)))


def _from_first(parts: Sequence[tuple[Source, bool]]) -> Source | str | None:
    """Arguments with commas between them; one that is not required may be missing."""
    if not parts:
        return ""
    (first, required), rest = parts[0], parts[1:]
    after: list[Source | None] = []
    for part, needed in rest:
        more = cast("Source", _sequence(", ", part))
        after.append(more if needed else Repetition(more, 0, 1))
    with_first = _sequence(first, *after)
    if required:
        return with_first
    without = _from_first(rest)
    return _either([with_first, Choice.of([""]) if without == "" else cast("Source", without)])
