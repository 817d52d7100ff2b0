"""Rules of a grammar as Python objects.

A rule is a name and a body. A body is put together from texts, constraints and rules with the
operators of constraints: ``+`` for concatenation, ``|`` for alternatives, `RulePart.star`,
`RulePart.plus`, `RulePart.optional` and `RulePart.times` for repeats. Rules call each other by name
or through a function, so they may recurse::

    @rule
    def expr():
        return term + ("+" + term).star()

    @rule
    def term():
        return regex("[0-9]+") | "(" + expr + ")"

All of these are immutable values. `explorer.languages.grammar.writing` writes them out as a text in
GBNF, which is a grammar like any other.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import EllipsisType, FunctionType
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, cast

from explorer.arguments import instance, plain, shown, whole_text, wrong
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.notations.reading import MOST_NESTED, NAME_LETTERS
from explorer.languages.sources.algebra import TakesConstraints, counted_times, repeating_call
from explorer.languages.sources.choice import Choice
from explorer.languages.stages.staged import check_operand

if TYPE_CHECKING:
    Operand: TypeAlias = "RulePart | Constraint | str"


"""The other operand of an operator: a rule, a constraint, or a literal text."""

_REMEDY: Final = (
    "Write the text in quotes, regex(...), choice([...]) or another constraint, or rule(...)."
)


class RulePart(TakesConstraints, ABC):
    """A part of the body of a rule; a `GrammarRule` in a body is a call."""

    depth: int

    @abstractmethod
    def __repr__(self) -> str:
        """The part as a Python expression."""

    def __add__(self, other: Operand) -> RulePart:
        """This part, then the other."""
        return _joined("+", self, part_of("+", other))

    def __radd__(self, other: Operand) -> RulePart:
        """The other part, then this one."""
        return _joined("+", part_of("+", other), self)

    def __or__(self, other: Operand) -> RulePart:
        """This part or the other."""
        return _joined("|", self, part_of("|", other))

    def __ror__(self, other: Operand) -> RulePart:
        """The other part or this one."""
        return _joined("|", part_of("|", other), self)

    def __and__(self, other: object) -> NoReturn:
        """Refuse: rules have no intersection."""
        raise _not_of_rules("&")

    def __sub__(self, other: object) -> NoReturn:
        """Refuse: rules have no difference."""
        raise _not_of_rules("-")

    def __invert__(self) -> NoReturn:
        """Refuse: rules have no complement."""
        raise _not_of_rules("~")

    __rand__, __rsub__ = __and__, __sub__

    def star(self) -> RulePart:
        """This part any number of times."""
        return RuleRepeats(self, 0, None)

    def plus(self) -> RulePart:
        """This part at least once."""
        return RuleRepeats(self, 1, None)

    def optional(self) -> RulePart:
        """This part once or not at all."""
        return RuleRepeats(self, 0, 1)

    def times(self, fewest: int, most: int | EllipsisType | None = ...) -> RulePart:
        """This part a number of times.

        Args:
            fewest: The fewest times.
            most: The most times; ``None`` for no limit; as many as ``fewest`` if left out.

        Raises:
            ConstraintError: A bound is not a whole number from 0, or ``most`` is below ``fewest``.

        Example:
            >>> from explorer.grammars import rule
            >>> rule("digit").times(2, 3)
            rule('digit').times(2, 3)
        """
        return RuleRepeats(self, *counted_times(fewest, most))


@dataclass(frozen=True, eq=False, repr=False)
class RuleTerminal(RulePart):
    """A text or a constraint in a body: any of its words."""

    source: Source
    depth: int = field(default=0, init=False)

    def __repr__(self) -> str:
        match self.source:
            case Choice(texts=(text,)):
                return repr(text)
            case _:
                return str(self.source)


@dataclass(frozen=True, eq=False, repr=False)
class RuleChain(RulePart):
    """A concatenation (``+``) or alternatives (``|``) of parts."""

    sign: str
    parts: tuple[RulePart, ...]
    depth: int

    def __repr__(self) -> str:
        return f" {self.sign} ".join(
            f"({part!r})" if isinstance(part, RuleChain) and part.sign != self.sign == "+"
            else repr(part)
            for part in self.parts
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class RuleRepeats(RulePart):
    """A part repeated a number of times.

    Args:
        most: The most times; ``None`` for no limit.
    """

    part: RulePart
    fewest: int
    most: int | None
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _deeper(self.part))

    def __repr__(self) -> str:
        call = repeating_call(self.fewest, self.most)
        return (
            f"({self.part!r}).{call}"
            if isinstance(self.part, RuleChain)
            else f"{self.part!r}.{call}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class GrammarRule(RulePart):
    """A rule of a grammar; in a body, a call of it.

    Args:
        given: The body: a part, or a function without arguments that returns one, called when the
            grammar is made; ``None`` for a call of a rule that is defined elsewhere.
    """

    name: str
    given: RulePart | Callable[[], object] | None = None
    depth: int = field(default=0, init=False)

    def body(self) -> RulePart | None:
        """The body; ``None`` for a call of a rule that is defined elsewhere.

        Raises:
            ConstraintError: The function returns something that is not a part of a rule.
        """
        if self.given is None or isinstance(self.given, RulePart):
            return self.given
        return _body(self.name, self.given())

    def __call__(self, *given: object, **named: object) -> NoReturn:
        """Refuse: a rule is used by its name and takes no arguments."""
        raise ConstraintError(
            f"The rule {self.name!r} is called like a function.",
            remedy=f"Write {self.name} without parentheses: its name alone is the call.",
        )

    def __repr__(self) -> str:
        return f"rule({self.name!r})"


def rule(
    name: str | Callable[[], Operand], body: Operand | Callable[[], Operand] | None = None
) -> GrammarRule:
    """A rule of a grammar, for `explorer.grammar`, and a call of it in the bodies of rules.

    Args:
        name: The name of the rule: English letters, digits, ``-`` and ``_``. As a decorator: a
            function without arguments, whose name is taken and which returns the body.
        body: Texts, constraints and rules, put together with ``+``, ``|``, ``star()``, ``plus()``,
            ``optional()`` and ``times(2, 5)``; or a function that returns the body, called when the
            grammar is made. Without it, a call of the rule of that name.

    Raises:
        ConstraintError: The name has other characters, or the body is something else.

    Example:
        >>> from explorer import grammar, regex
        >>> from explorer.grammars import rule
        >>> number = rule("number", regex("[0-9]+"))
        >>> term = rule("term", number | "(" + rule("sum") + ")")
        >>> sums = grammar(rule("sum", term + ("+" + term).star()))
        >>> sums.accepts("1+(2+3)"), sums.accepts("1+(2")
        (True, False)

        The same as functions, which may name what is defined below them:

        >>> @rule
        ... def pair():
        ...     return "(" + pair + ")" | ""
        >>> grammar(pair).accepts("(())")
        True
    """
    if body is None and isinstance(name, FunctionType):
        return GrammarRule(_name(name.__name__), _without_parameters(name))
    known = _name(cast("str", name))
    if body is None:
        return GrammarRule(known)
    if callable(body) and not isinstance(body, RulePart | Constraint):
        return GrammarRule(known, _without_parameters(body))
    return GrammarRule(known, _body(known, body))


def part_of(where: str, value: object) -> RulePart:
    """A part of a rule, from any operand of its operators.

    Raises:
        ConstraintError: The value is not an operand, or a constraint that cannot be a part.
    """
    if isinstance(value, RulePart):
        return value
    if isinstance(value, Constraint):
        source = check_operand(value.source)
        if source.over_tokens:
            raise ConstraintError(
                f"{source} speaks about tokens, and a rule of a grammar reads texts.",
                remedy="Leave out (?P<TEXT_TOKEN>) and its like, and limits of tokens.",
            )
        return RuleTerminal(source)
    if isinstance(value, str):
        return RuleTerminal(Choice((whole_text("text", value),)))
    name = f"The other side of {where}" if where in ("+", "|") else where
    if isinstance(value, FunctionType):
        raise ConstraintError(
            f"{name} is the function {value.__name__!r}, not a rule.",
            remedy=f"Write @rule above def {value.__name__}.",
        )
    raise wrong(
        name, value, "a rule, a constraint or a text", remedy=_REMEDY, error=ConstraintError
    )


def _joined(sign: str, left: RulePart, right: RulePart) -> RuleChain:
    """Two parts as one; chains of the same operator are merged."""
    parts = tuple(
        inner
        for part in (left, right)
        for inner in (part.parts if isinstance(part, RuleChain) and part.sign == sign else (part,))
    )
    return RuleChain(sign, parts, max(map(_deeper, parts)))


def _deeper(part: RulePart) -> int:
    """The depth of a part that contains the given one."""
    if part.depth >= MOST_NESTED:
        raise ConstraintError(
            f"The parts of a rule are nested more than {MOST_NESTED} deep.",
            remedy="Give the inner part a rule of its own.", evidence={"limit": MOST_NESTED},
        )  # fmt: skip
    return part.depth + 1


def _without_parameters(function: Callable[..., object]) -> Callable[[], object]:
    """The function of a rule, checked to take no arguments."""
    try:
        needed = [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty
            and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):  # A callable of C without a signature.
        needed = []
    if needed:
        called = getattr(function, "__name__", "The function")
        raise ConstraintError(
            f"The function {called!r} of a rule has the parameter {needed[0]!r}.",
            remedy="Leave parameters out: a rule takes nothing. For a family of rules write a "
            "function that returns rule(name, body).",
        )
    return function


def _body(name: str, value: object) -> RulePart:
    if value is None:
        raise ConstraintError(
            f"The function of {name!r} returns nothing.",
            remedy="Return the body of the rule, such as return a + b.",
        )
    return part_of(f"The body of the rule {name!r}", value)


def _name(name: object) -> str:
    known = instance(
        "name", name, str, "the name of a rule", error=ConstraintError,
        remedy='Write rule("name", body), or @rule above a function.',
    )  # fmt: skip
    if not known or not set(known) <= set(NAME_LETTERS):
        raise ConstraintError(
            f"{shown(plain(known))} is not a name of a rule.",
            remedy="Use English letters, digits, - and _.",
        )
    return known


def _not_of_rules(sign: str) -> ConstraintError:
    return ConstraintError(
        f"{sign} does not combine rules: a context-free grammar has no such part.",
        remedy=f"Combine the whole: make the constraint, grammar(...), and use {sign} on it.",
    )
