"""An exercise: its name, its right answer, and hints for wrong ones.

A hint depends on the kind of the wrong answer, never on its numeric distance from the right one, so
repeated guessing does not reveal the answer. An answer that is a language is compared with
the right one as a language, and the hint is a text on which the two differ.

Answers are values. Nothing that a reader gives is executed: a text stays a text, and a pattern is
parsed as any other, within a budget.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, regex


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of an answer, with praise or a hint; it prints as a sentence.

    Args:
        right: Whether it is right; ``None`` without an answer.
        message: Praise with the reason, or a hint.
    """

    right: bool | None
    message: str

    def __repr__(self) -> str:
        begin = {True: "Right. ", False: "Not yet. ", None: ""}[self.right]
        return begin + self.message


LIMITS: Final = Budget(states=20_000, seconds=5.0)
"""Limits of a pattern that a reader gives."""

_NEAR: Final = 0.01
"""The distance within which a number counts as a known wrong answer."""


class Exercise(Protocol):
    """An exercise that `explorer.course.check` can check."""

    @property
    def name(self) -> str:
        """The name by which a notebook calls it."""
        ...

    def grade(self, answer: object) -> Graded:
        """Grade an answer.

        Args:
            answer: Any value but ``None``.
        """
        ...


@dataclass(frozen=True)
class ValueExercise:
    """An exercise whose answer is a number, a text, or several of them.

    Args:
        wrong: The hints for some wrong answers.
        has, lacks: The hints for a set with something that does not belong there, and without
            something that does.
    """

    name: str
    answer: object
    right: str
    hint: str
    wrong: Mapping[Hashable, str] = field(default_factory=dict[Hashable, str])
    has: Mapping[str, str] = field(default_factory=dict[str, str])
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    within: float = 0.0

    def grade(self, answer: object) -> Graded:
        """Compare an answer with the right one."""
        given = meant(plain_value(answer), plain_value(self.answer))
        if same_value(given, plain_value(self.answer), self.within):
            return Graded(True, self.right)
        if kind_in_words(given) != kind_in_words(plain_value(self.answer)):
            wanted = kind_in_words(plain_value(self.answer))
            return Graded(False, f"The answer is {wanted}, and this is {kind_in_words(given)}.")
        words = [hint for value, hint in self.wrong.items() if same_value(given, value, _NEAR)]
        if isinstance(given, frozenset):
            words += [hint for one, hint in self.has.items() if one in given]
            words += [hint for one, hint in self.lacks.items() if one not in given]
        return Graded(False, [*words, self.hint][0])


@dataclass(frozen=True)
class LanguageExercise:
    """An exercise whose answer is a language: a constraint, or a pattern."""

    name: str
    answer: str
    right: str
    hint: str

    def grade(self, answer: object) -> Graded:
        """Compare two languages; a text on which they differ is the hint.

        Args:
            answer: A constraint, or a pattern.
        """
        if isinstance(answer, str):
            try:
                answer = regex(answer, budget=LIMITS)
            except ExplorerError as error:
                return Graded(False, f"This pattern cannot be read: {error}")
        if not isinstance(answer, Constraint):
            return Graded(False, f"The answer is a constraint or a pattern. {self.hint}")
        wanted = regex(self.answer)
        try:
            if answer.is_empty():
                return Graded(False, f"It accepts no text at all. {self.hint}")
            for one, other, words in (
                (answer, wanted, "It also accepts {}, which it should not."),
                (wanted, answer, "It does not accept {}, which it should."),
            ):
                apart = _plainest(one - other)
                if apart is not None:
                    shown = repr(apart) if apart else "the empty text"
                    return Graded(False, f"{words.format(shown)} {_unicode(apart) or self.hint}")
        except ExplorerError as error:
            return Graded(False, f"This language cannot be compared: {error.message}")
        return Graded(True, self.right)


def plain_value(value: object) -> object:
    """A value as a number, a text, a tuple or a set of those; any other value unchanged.

    Args:
        value: An answer; a value with ``item()``, such as a number of numpy, becomes Python's.
    """
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, set | frozenset):
        return frozenset(plain_value(one) for one in cast("Collection[object]", value))
    if isinstance(value, Sequence):
        return tuple(plain_value(one) for one in cast("Sequence[object]", value))
    for name in ("item", "tolist"):  # An array of several has no item.
        try:
            return plain_value(getattr(value, name)())
        except (AttributeError, TypeError, ValueError, RuntimeError):
            continue
    return value


def meant(given: object, wanted: object) -> object:
    """An answer of another kind that plainly means the same: "64" for 64, a list for a set.

    Args:
        given: From `plain_value`.
        wanted: The right answer, from `plain_value`; only its kind is looked at.

    Example:
        >>> meant("64", 8), meant(("b",), frozenset()), meant("u+00c5", "")
        (64.0, frozenset({'b'}), 'U+00C5')
    """
    number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if number and isinstance(given, str) and re.fullmatch(r"\s*-?[0-9]+(\.[0-9]+)?\s*", given):
        return float(given)
    if isinstance(wanted, frozenset) and isinstance(given, tuple):
        listed = cast("tuple[object, ...]", given)
        try:
            return frozenset(listed)
        except TypeError:
            return listed  # It holds something that cannot be in a set.
    if isinstance(given, str) and re.fullmatch(r"[Uu]\+[0-9A-Fa-f]{4,6}", given):
        return given.upper()
    return given


def kind_in_words(value: object) -> str:
    """The kind of an answer, in words.

    Args:
        value: From `plain_value`.
    """
    if isinstance(value, bool):
        return "True or False"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bytes):
        return "bytes"
    if isinstance(value, frozenset):
        return "a set"
    if isinstance(value, tuple):
        return "a list"
    return f"a value of type {type(value).__name__}"


def same_value(one: object, other: object, within: float = 0.0) -> bool:
    """Whether two plain values are the same answer; ``True`` is not 1.

    Args:
        one: From `plain_value`.
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isfinite(one) and abs(one - other) <= within
    if isinstance(one, tuple) and isinstance(other, tuple):
        pairs = zip(cast("Sequence[object]", one), cast("Sequence[object]", other), strict=False)
        return len(one) == len(other) and all(same_value(a, b, within) for a, b in pairs)  # pyright: ignore[reportUnknownArgumentType]
    return (one == other) is True


def _unicode(text: str) -> str:
    """A hint for a text that fits only because a shorthand has all of Unicode; empty otherwise."""
    beyond = [character for character in text if not character.isascii()]
    if any(character.isdecimal() for character in beyond):
        return r"`\d` is every digit of Unicode; the ten digits are `[0-9]`."
    if any(character.isspace() for character in beyond):
        return r"`\s` is every white space of Unicode; a space is a space."
    return ""


def _plainest(language: Constraint) -> str | None:
    """An example text, a visible one if possible; ``None`` for a language without texts."""
    for seen in ("[!-~]+", "[ -~]+"):
        examples = (language & regex(seen)).examples(1)
        if examples:
            return examples[0]
    return next(iter(language.examples(1)), None)
