"""Constraints as Python expressions, read without being run: ``regex("a+") | choice(["b"])``.

A person can copy a template from a notebook into the editor and back. The text is parsed with
`ast`; it may hold calls of known functions with literals and further calls as arguments, the
operators of constraints (``| & - + ~``), also with a text on one side, and ``.star()``,
``.plus()``, ``.optional()``, ``.times(2, 5)``. Everything else is an error with a caret under it.

A function is made known with `constructor`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

from explorer.arguments import check_whole_characters, instance
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, ExplorerError, Located, RegexError
from explorer.languages.regex.source import Regex
from explorer.languages.sources.algebra import (
    REPEATING,
    Complement,
    Concatenation,
    Difference,
    Intersection,
    Repetition,
    Union,
    chained,
    counted_times,
)
from explorer.languages.sources.aliases import Aliases
from explorer.languages.sources.choice import Choice
from explorer.languages.sources.registry import kind_of

LONGEST: Final = 200_000
"""The most characters of an expression."""

Places = tuple[tuple[int, int], ...]


_KNOWN: Final[dict[str, tuple[Callable[..., Source], bool]]] = {}
"""The functions that an expression may call, and whether each takes places; see `constructor`."""


def constructor(name: str, make: Callable[..., Source], *, located: bool = False) -> None:
    """Make a function known to expressions.

    Args:
        make: The function; it takes sources where users give constraints.
        located: Whether it takes two more arguments: the spans of the characters of its only
            positional argument, and the text to which they refer.
    """
    _KNOWN[name] = make, located


def choices(texts: object, *more: object) -> Source:
    """The source of a choice of texts, or of names and texts; see `explorer.choice`."""
    if more:
        return Choice.of((texts, *more))
    if isinstance(texts, Mapping):
        return Aliases.of(cast("object", texts))
    return Choice.of(texts)


def pattern_of(pattern: object) -> Source:
    """The source of a pattern."""
    return Regex.read(instance("pattern", pattern, str, "a pattern", error=ConstraintError))


def text_of(text: object) -> Source:
    """The source of exactly one text."""
    return Choice.of([instance("text", text, str, "a text", error=ConstraintError)])


def source_of_schema(schema: object, **options: Any) -> Source:
    """The source of a JSON Schema.

    Args:
        schema: Python data or JSON text.
        options: The options of `json_schema`.
    """
    kind: Any = kind_of("json_schema")  # Importing it takes a third of the time of all imports.
    return kind.of(schema, **options)


constructor("regex", pattern_of)
constructor("choice", choices)
constructor("literal", text_of)
constructor("json_schema", source_of_schema)


def read_expression(text: str) -> Source:
    """The source that an expression makes.

    Args:
        text: The expression; white space and line breaks around it do not count.

    Raises:
        ConstraintError: The text is not such an expression, with a caret under the fault.
        RegexError, UnsupportedSchema: A function in it raises them.

    Example:
        >>> str(read_expression('(regex("a+") | choice(["b", "c"])).star()'))
        "(regex('a+') | choice(['b', 'c'])).star()"
    """
    if len(text) > LONGEST:
        raise ConstraintError(
            f"The expression has {len(text):,} characters; at most {LONGEST:,} are read.",
            remedy="Make it in Python.",
        )
    check_whole_characters("The expression", text, error=ConstraintError)
    if not text.strip():
        raise ConstraintError("There is no expression.", remedy=_remedy())
    # Parentheses make line breaks harmless, and shift the first line by one character.
    wrapped = f"({text})"
    try:
        tree = ast.parse(wrapped, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        offset = min(_offset(wrapped, line, column - 1) - 1, len(text))
        offset = len(text) if offset < 0 else offset  # The parenthesis that was added.
        reason = f"This is not an expression of Python: {getattr(error, 'msg', error)}"
        raise Located(text, offset, offset + 1).error(reason.rstrip("."), _remedy()) from error
    try:
        return _ExpressionReader(text, wrapped).source(tree)
    except RecursionError as error:
        raise ConstraintError(
            "The expression nests too deep.", remedy="Use fewer parts."
        ) from error


def _remedy() -> str:
    return (
        f"Write a call of {', '.join(sorted(_KNOWN))}, such as "
        'template("Hi {name}", name=gen(regex="[a-z]+")).'
    )


def _offset(text: str, line: int, column: int) -> int:
    """The character at a line, counted from 1, and a column, counted from 0."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Source, Source], Source]]] = {
    ast.BitOr: partial(chained, Union),
    ast.Add: partial(chained, Concatenation),
    ast.BitAnd: Intersection,
    ast.Sub: Difference,
}


class _ExpressionReader:
    """Reads the nodes of one expression.

    Args:
        text: The expression as it was written, to which offsets refer.
        wrapped: The expression in parentheses, which was parsed.
    """

    def __init__(self, text: str, wrapped: str) -> None:
        self._text = text
        self._wrapped = wrapped
        # `ast` counts the bytes of a line, and ends lines at \n, \r and \r\n only.
        self._starts = [0]
        for k, char in enumerate(wrapped):
            if char == "\n" or (char == "\r" and wrapped[k + 1 : k + 2] != "\n"):
                self._starts.append(k + 1)

    def source(self, node: ast.expr) -> Source:
        """The source that a node makes."""
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                one, other = self._operand(left, right), self._operand(right, left)
                if type(op) not in _OPERATORS:
                    raise self._error("Constraints have no such operator", node)
                return _OPERATORS[type(op)](one, other)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return Complement(self.source(operand))
            case ast.Call(func=ast.Attribute(value=value, attr="times"), args=given) if (
                1 <= len(given) <= 2 and not node.keywords
            ):
                try:
                    times = counted_times(*map(self._argument, given))
                except ExplorerError as error:
                    raise self._placed(error, node) from error
                return Repetition(self.source(value), *times)
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                if name not in REPEATING or node.args or node.keywords:
                    raise self._error(f"A constraint has no method {name!r} here", node)
                return Repetition(self.source(value), *REPEATING[name])
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, node)
            case _:
                raise self._error("This is not a constraint", node)

    def _operand(self, node: ast.expr, other: ast.expr) -> Source:
        """One side of an operator: a constraint, or a text if the other side is a constraint."""
        if _is_text(node) and not _is_text(other):
            try:
                return text_of(ast.literal_eval(node))
            except ExplorerError as error:
                raise self._error(error.message.rstrip("."), node) from error
        return self.source(node)

    def _call(self, name: str, node: ast.Call) -> Source:
        if name not in _KNOWN:
            raise self._error(f"{name!r} is not a function that is known here", node.func)
        make, located = _KNOWN[name]
        if any(isinstance(each, ast.Starred) for each in node.args) or any(
            each.arg is None for each in node.keywords
        ):
            raise self._error("Arguments are written out here, without stars", node)
        args = [self._argument(each) for each in node.args]
        keywords = {str(each.arg): self._argument(each.value) for each in node.keywords}
        if located:
            if len(args) != 1:
                raise self._error(f"{name}(...) takes one text before its parts", node)
            args += [self._places(node.args[0]), self._text]
        try:
            inspect.signature(make).bind(*args, **keywords)
        except TypeError as error:
            raise self._error(f"{name}(...): {error}", node) from error
        try:
            return make(*args, **keywords)
        except ExplorerError as error:
            raise self._placed(error, node) from error

    def _argument(self, node: ast.expr) -> object:
        if isinstance(node, ast.Call | ast.BinOp) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
        ):
            return self.source(node)
        try:
            return cast("object", ast.literal_eval(node))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise self._error("This is neither a literal nor a constraint", node) from error

    def _span(self, node: ast.expr) -> tuple[int, int]:
        ends = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return self._place(node.lineno, node.col_offset), self._place(*ends)

    def _place(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        rest = self._wrapped[start:].encode()[:column].decode(errors="ignore")
        return start + len(rest) - 1

    def _places(self, node: ast.expr) -> Places:
        """The spans of the characters of a string literal; empty for any other node."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return ()
        start, end = self._span(node)
        return places_in(self._text[start:end], start, node.value)

    def _error(self, reason: str, node: ast.expr) -> ExplorerError:
        start, end = self._span(node)
        return Located(self._text, start, end).error(reason, _remedy())

    def _blamed(self, error: ExplorerError, node: ast.Call) -> ast.expr:
        """The argument that an error names, or the only argument; else the call."""
        values = [*node.args, *(each.value for each in node.keywords)]
        named = [each.value for each in node.keywords if each.arg in error.evidence]
        if named or len(values) == 1:
            return (named or values)[0]
        return node

    def _placed(self, error: ExplorerError, node: ast.Call) -> ExplorerError:
        """The error of a function, with a caret under the argument at fault."""
        if "expression" in error.evidence:
            return error
        start, end = self._span(self._blamed(error, node))
        for argument in (*node.args, *(each.value for each in node.keywords)):
            places = self._places(argument)
            value = argument.value if isinstance(argument, ast.Constant) else None
            if isinstance(error, RegexError) and value == error.pattern and places:
                last = max(min(error.end, len(places)) - 1, 0)
                start, end = places[min(error.start, len(places) - 1)][0], places[last][1]
                break
            offset = error.evidence.get("offset")
            if isinstance(offset, int) and places and offset < len(places):
                start, end = places[offset]
                break
        reason = error.reason if isinstance(error, RegexError) else error.message.split("\n")[0]
        reason = f"{reason[:1].upper()}{reason[1:]}".rstrip(":.")
        more = {**error.evidence, "expression": self._text}
        return Located(self._text, start, end).error(reason, error.remedy, more)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


# The spans of the characters of a Python string in its literal.

_OPENING: Final = re.compile(r"""([rRuU]?)('''|\"""|'|")""")
_PIECE: Final = re.compile(
    r"\\(?:\r\n|N\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{1,3}|.)|\r\n|.",
    re.DOTALL,
)


def places_in(literal: str, start: int, value: str) -> tuple[tuple[int, int], ...]:
    """The span of each character of a string in its literal.

    Returns:
        The span of each character; that of the whole literal where single spans are unknown, as in
        adjacent literals.

    Example:
        >>> places_in(r"'a\\nb'", 10, "a\\nb")
        ((11, 12), (12, 14), (14, 15))
    """
    whole = ((start, start + len(literal)),) * len(value)
    opening = _OPENING.match(literal)
    if opening is None:
        return whole
    prefix, quote = opening.groups()
    body = literal[opening.end() : -len(quote)]
    if prefix in ("r", "R"):
        pieces = list(body)
        same = body == value
    else:
        pieces = _PIECE.findall(body)
        same = _decoded(pieces) == value
    if not same:
        return whole
    spans: list[tuple[int, int]] = []
    place = start + opening.end()
    for piece in pieces:
        if not _is_joined_line(piece):
            spans.append((place, place + len(piece)))
        place += len(piece)
    return tuple(spans)


def _is_joined_line(piece: str) -> bool:
    return piece in ("\\\n", "\\\r\n", "\\\r")


def _decoded(pieces: list[str]) -> str | None:
    """The characters that the pieces of a literal stand for; ``None`` if a piece is not one."""
    characters: list[str] = []
    for piece in pieces:
        if _is_joined_line(piece):
            continue
        if not piece.startswith("\\"):
            characters.append("\n" if piece in ("\r", "\r\n") else piece)
            continue
        try:
            character = ast.literal_eval(f"'{piece}'") if piece != "\\'" else "'"
        except (SyntaxError, ValueError):
            return None
        if len(character) != 1:
            return None
        characters.append(character)
    return "".join(characters)
