"""What a type is made of, as Python writes its values: each shape knows its texts and its values.

A shape answers two questions. `source` gives the constraint of its texts, made of existing kinds
(patterns, choices, sequences), so that nothing else is needed to compile, explain and save it.
`value` reads the syntax tree of such a text: literals are taken as literals, and the only calls
that are made are those of the constructors that the type itself consists of.

Texts are those of ``repr`` where ``repr`` can be read: ``Weapon(name='sword', damage=3)``, strings
in either quotes with every escape of Python, ``datetime.date(2024, 5, 17)`` with or without the
module, members of an enumeration as ``Colour.RED``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol, cast

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.sources.algebra import Concatenation, Union
from explorer.languages.sources.choice import Choice


class Shape(Protocol):
    """One part of a type."""

    def source(self) -> Source | None:
        """The constraint of its texts; ``None`` if it has none, because a recursion is too deep.

        Raises:
            ConstraintError: It cannot be written exactly.
        """
        ...

    def value(self, node: ast.expr) -> object:
        """The value of a text.

        Args:
            node: The syntax tree of the text.

        Raises:
            OtherShape: The text is not of this shape.
        """
        ...


class OtherShape(Exception):
    """A text is not of a shape; another alternative of a union may be meant."""


def exact_text(written: str) -> Source:
    """Exactly one text.

    Args:
        written: The text.
    """
    return Choice.of([written])


def in_sequence(*parts: Source) -> Source:
    """Parts one after the other.

    Args:
        parts: The parts.
    """
    flat: list[Source] = []
    for part in parts:
        flat += part.parts if isinstance(part, Concatenation) else [part]
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def either(options: Sequence[Source]) -> Source:
    """Any of some parts.

    Args:
        options: At least one.
    """
    flat: list[Source] = []
    for part in options:
        flat += part.parts if isinstance(part, Union) else [part]
    return flat[0] if len(flat) == 1 else Union(tuple(dict.fromkeys(flat)))


def literal_value(node: ast.expr, *kinds: type) -> object:
    """The value of a literal of one of some types, exactly.

    Args:
        node: The syntax tree.
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
        node: The syntax tree.
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
        remedy: What to do.
    """
    return ConstraintError(f"{what}.", remedy=remedy)
