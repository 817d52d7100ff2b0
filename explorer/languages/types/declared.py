"""Types declared as text: Python's class statements, read and never run.

In the editor a type is what one would write in a module::

    class Character(BaseModel):
        name: Annotated[str, Field(pattern="^[A-Z][a-z]+$")]
        house: Literal["Gryffindor", "Slytherin"]
        year: int = 1

The text is parsed with `ast`. It may declare dataclasses, pydantic models, TypedDict, NamedTuple
and enumerations, with annotations made of each other and of the types that `from_type` knows.
Imports and docstrings are skipped. The type is the last class, or an expression in the last line,
such as ``list[Character]``. Everything else (methods, calls, a class that contains itself) is an
error with a caret under it.
"""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import typing
import uuid
from collections.abc import Callable
from typing import Any, Final, cast

from explorer.arguments import check_whole_characters
from explorer.errors import ConstraintError, ExplorerError, Located
from explorer.languages.types.schema import pydantic_module

_PLAIN: Final[dict[str, Any]] = {
    "int": int, "str": str, "float": float, "bool": bool, "list": list, "dict": dict, "set": set,
    "frozenset": frozenset, "tuple": tuple, "List": list, "Dict": dict, "Tuple": tuple, "Set": set,
    "date": datetime.date, "time": datetime.time, "datetime": datetime.datetime,
    "timedelta": datetime.timedelta, "datetime.date": datetime.date,
    "datetime.time": datetime.time, "datetime.datetime": datetime.datetime,
    "datetime.timedelta": datetime.timedelta, "UUID": uuid.UUID, "uuid.UUID": uuid.UUID,
    "Decimal": decimal.Decimal, "decimal.Decimal": decimal.Decimal,
}  # fmt: skip
_FORMS: Final[dict[str, Any]] = {
    "Literal": typing.Literal, "Optional": typing.Optional, "Union": typing.Union,
    "Annotated": typing.Annotated, "Required": typing.Required, "NotRequired": typing.NotRequired,
}  # fmt: skip
_LIMITS: Final = frozenset(
    (
        "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern",
        "max_digits", "decimal_places", "discriminator",
    )
)  # fmt: skip
_ENUMS: Final = {"Enum": enum.Enum, "StrEnum": enum.StrEnum, "IntEnum": enum.IntEnum}
_NO_DEFAULT: Final = object()
_REMEDY: Final = (
    "Write classes with annotated fields: dataclasses, BaseModel, TypedDict, NamedTuple, Enum; "
    'such as "class Point(BaseModel):", or "@dataclass" in the line before "class Point:".'
)


def declared(text: str) -> object:
    """The type that a text declares.

    Args:
        text: Class statements, and in the last line a type, if it is not the last class.

    Raises:
        ConstraintError: The text holds anything else, with a caret under it.
        MissingDependency: A pydantic model is declared, and pydantic is not installed.

    Example:
        >>> declared("class Pair(NamedTuple):\\n    left: int\\n    right: str | None = None")
        <class 'explorer.languages.types.declared.Pair'>
        >>> declared("list[int]")
        list[int]
    """
    check_whole_characters("The declaration", text, error=ConstraintError)
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        before = sum(map(len, text.splitlines(keepends=True)[: line - 1]))
        offset = min(before + max(column - 1, 0), len(text))
        reason = f"This is not Python: {getattr(error, 'msg', error)}"
        raise Located(text, offset, offset + 1).error(reason, _REMEDY) from error
    reader = _Declarations(text)
    found: object = _NO_DEFAULT
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                continue
            case ast.ClassDef():
                found = reader.class_of(statement)
            case ast.Expr(value=value) if statement is body[-1]:
                found = reader.hint(value)
            case _:
                raise reader.error("Only classes are declared here", statement)
    if found is _NO_DEFAULT:
        raise ConstraintError("No type is declared.", remedy=_REMEDY)
    return found


class _Declarations:
    """Reads the classes of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._classes: dict[str, object] = {}

    def error(self, reason: str, node: ast.AST) -> ExplorerError:
        """An error with a caret under a node."""
        place = cast("ast.expr", node)
        line = self._lines[place.lineno - 1] if self._lines else ""
        column = len(line.encode()[: place.col_offset].decode(errors="ignore"))
        start = sum(map(len, self._lines[: place.lineno - 1])) + column
        end = start + len(ast.get_source_segment(self._text, place) or " ")
        return Located(self._text, start, end).error(reason, _REMEDY)

    def class_of(self, node: ast.ClassDef) -> object:
        """The class of a statement."""
        if node.name in self._classes:
            raise self.error(f"The class {node.name} is declared twice", node)
        bases = [ast.unparse(each).rpartition(".")[2] for each in node.bases]
        decorators = [ast.unparse(each).partition("(")[0].rpartition(".")[2]
                      for each in node.decorator_list]  # fmt: skip
        kind = "dataclass" if decorators == ["dataclass"] and not bases else ""
        if not decorators and len(bases) == 1:
            kind = bases[0]
        if kind in _ENUMS:
            made = self._enum(node, kind)
        else:
            makers: dict[str, Callable[[str, list[_Field], ast.ClassDef], object]] = {
                "dataclass": _dataclass, "BaseModel": _model, "TypedDict": _typed_dict,
                "NamedTuple": _named_tuple,
            }  # fmt: skip
            if kind not in makers:
                raise self.error(f"It is not clear what kind of class {node.name} is", node)
            fields = self._fields(node, kind)
            try:
                made = makers[kind](node.name, fields, node)
            except ExplorerError:
                raise
            except Exception as error:  # The libraries' errors about names, orders and limits.
                reason = str(error).split("\n")[0].rstrip(".:")
                raise self.error(f"The class {node.name}: {reason}", node) from error
        self._classes[node.name] = made
        return made

    def _enum(self, node: ast.ClassDef, kind: str) -> object:
        members: dict[str, object] = {}
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    members[name] = self._literal(value)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    continue
                case _:
                    raise self.error("A member is a name and a value", statement)
        try:
            return cast("Any", _ENUMS[kind])(node.name, members)
        except (TypeError, ValueError) as error:
            raise self.error(f"The enumeration {node.name}: {error}", node) from error

    def _fields(self, node: ast.ClassDef, kind: str) -> list[_Field]:
        found: list[_Field] = []
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=hint, value=value):
                    limits, default = self._default(value)
                    shape = self.hint(hint)
                    if limits:
                        shape = typing.Annotated[cast("Any", shape), self._field_info(limits)]
                    if kind == "TypedDict" and default is not _NO_DEFAULT:
                        raise self.error("A TypedDict has no defaults", statement)
                    found.append(_Field(name, shape, default))
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    continue
                case _:
                    raise self.error("A field is a name and a type; code is not run", statement)
        return found

    def _default(self, node: ast.expr | None) -> tuple[dict[str, Any], object]:
        if node is None:
            return {}, _NO_DEFAULT
        if not isinstance(node, ast.Call):
            return {}, self._literal(node)
        name = ast.unparse(node.func).rpartition(".")[2]
        if name not in ("Field", "field"):
            raise self.error("A default is a literal or Field(...)", node)
        limits = self._keywords(node, _LIMITS | {"default", "default_factory"})
        default = limits.pop("default", _NO_DEFAULT)
        if node.args:
            default = self._literal(node.args[0])
        factory = limits.pop("default_factory", None)
        return limits, default if factory is None else factory

    def _keywords(self, node: ast.Call, known: frozenset[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg not in known:
                raise self.error(f"{keyword.arg} is not followed here", keyword.value)
            empty = {"list": list[Any](), "dict": dict[Any, Any](), "set": set[Any]()}
            factory = keyword.arg == "default_factory"
            if factory and ast.unparse(keyword.value) not in empty:
                raise self.error("A factory is list, dict or set", keyword.value)
            found[keyword.arg] = (
                empty[ast.unparse(keyword.value)] if factory else self._literal(keyword.value)
            )
        return found

    def _literal(self, node: ast.expr) -> object:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self._classes.get(node.value.id)
            if isinstance(owner, type) and issubclass(owner, enum.Enum):
                members = cast("dict[str, object]", owner.__members__)
                if node.attr in members:
                    return members[node.attr]
        try:
            return cast("object", ast.literal_eval(node))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise self.error("This is not a literal", node) from error

    def hint(self, node: ast.expr) -> object:
        """The type of an annotation."""
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str(name)) if name in self._classes:
                return self._classes[name]
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return typing.Union[cast("Any", self.hint(left)), cast("Any", self.hint(right))]  # noqa: UP007 - Of values.
            case ast.Subscript(value=value, slice=inside):
                return self._generic(value, inside)
            case _:
                raise self.error("This is not a type that is known here", node)

    def _named(self, node: ast.expr) -> object:
        name = ast.unparse(node)
        if name in self._classes:
            return self._classes[name]
        known = _PLAIN.get(name) or _PLAIN.get(name.removeprefix("typing."))
        if known is None:
            raise self.error(f"{name} is not a type that is known here", node)
        return known

    def _generic(self, value: ast.expr, inside: ast.expr) -> object:
        name = ast.unparse(value).removeprefix("typing.")
        items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if name == "Literal":
            return typing.Literal[tuple(self._literal(each) for each in items)]
        if name == "Annotated" and items:
            metadata = [self._metadata(each) for each in items[1:]]
            annotated: Any = typing.Annotated
            return annotated[(self.hint(items[0]), *metadata)]
        form: Any = _FORMS.get(name) or self._named(value)
        arguments: list[Any] = [
            ... if isinstance(each, ast.Constant) and each.value is ... else self.hint(each)
            for each in items
        ]
        try:
            return form[tuple(arguments)] if len(arguments) != 1 else form[arguments[0]]
        except TypeError as error:
            raise self.error(str(error).rstrip("."), value) from error

    def _metadata(self, node: ast.expr) -> object:
        if not isinstance(node, ast.Call) or node.args:
            raise self.error("A limit is written as Field(ge=0, ...)", node)
        return self._field_info(self._keywords(node, _LIMITS))

    def _field_info(self, limits: dict[str, Any]) -> object:
        return pydantic_module().Field(**limits)


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    hint: Any
    default: object


def _dataclass(name: str, fields: list[_Field], _: ast.ClassDef) -> object:
    made: list[Any] = []
    for each in fields:
        default: Any = each.default
        if default is _NO_DEFAULT:
            made.append((each.name, each.hint))
        elif isinstance(default, list | dict | set):
            copied = functools.partial(copy.copy, default)
            made.append((each.name, each.hint, dataclasses.field(default_factory=copied)))
        else:
            made.append((each.name, each.hint, dataclasses.field(default=default)))
    return dataclasses.make_dataclass(name, made)


def _model(name: str, fields: list[_Field], _: ast.ClassDef) -> object:
    made: dict[str, Any] = {
        each.name: (each.hint, ... if each.default is _NO_DEFAULT else each.default)
        for each in fields
    }
    return pydantic_module().create_model(name, **made)


def _typed_dict(name: str, fields: list[_Field], node: ast.ClassDef) -> object:
    import typing_extensions

    total = not any(
        keyword.arg == "total" and ast.unparse(keyword.value) == "False"
        for keyword in node.keywords
    )
    hints = {each.name: each.hint for each in fields}
    return cast("Any", typing_extensions.TypedDict)(name, hints, total=total)


def _named_tuple(name: str, fields: list[_Field], _: ast.ClassDef) -> object:
    defaults = [each.default for each in fields if each.default is not _NO_DEFAULT]
    untyped: Any = collections
    made: Any = untyped.namedtuple(name, [each.name for each in fields], defaults=defaults)
    made.__annotations__ = {each.name: each.hint for each in fields}
    return made
