"""Arguments as users give them: checked where they are given, so that no error comes from inside.

A value of another type would otherwise fail steps later and in somebody else's words. Each check
names the argument, shows what was given, and says what to give instead. What is exact is converted:
numpy's integers are whole numbers; 2.5 and True are not. A value of a class of somebody's own that
derives from ``str``, ``int`` or ``float`` becomes the plain value, so that nothing which that class
overrides, such as its comparison or its hash, can raise inside.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from explorer.errors import ExplorerError

T = TypeVar("T")

LAST_ID: Final = 2**31 - 1
"""The highest id that a token may have, as in every vocabulary and every file."""

_SHOWN = 60
_LARGEST = 10**1000  # Python writes no number of 5,000 digits, and no message could show it.


_PLAIN: Final[tuple[tuple[type, Callable[[Any], object]], ...]] = (
    (str, str.__str__), (int, int.__pos__), (float, float.__pos__),
)  # fmt: skip
"""The types of plain values, and what makes one of a subclass without calling its methods."""


def plain(value: T) -> T:
    """A text or a number without its subclass; any other value as it is.

    Args:
        value: Anything.

    Example:
        >>> import numpy as np
        >>> type(plain(np.float64(1)))
        <class 'float'>
    """
    kind = type(value)
    if kind is bool:
        return value
    for base, made in _PLAIN:
        if kind is not base and issubclass(kind, base):
            return cast("T", made(cast("Any", value)))
    return value


def wrong(
    name: str,
    value: object,
    wanted: str,
    *,
    remedy: str = "",
    error: type[ExplorerError] = ExplorerError,
) -> ExplorerError:
    """The error for an argument that is something else.

    Args:
        name: The argument.
        value: What was given.
        wanted: What it should be, with its article.
        remedy: What to do; default to give what is wanted.
        error: The kind of error.

    Example:
        >>> print(wrong("seed", "a", "a whole number"))
        seed is 'a' (str), not a whole number. Give seed as a whole number.
    """
    kind = "" if value is None else f" ({type(value).__name__})"
    return error(
        f"{name} is {shown(value)}{kind}, not {wanted}.",
        remedy=remedy or f"Give {name} as {wanted}.",
        evidence={name: value},
    )


def shown(value: object) -> str:
    """A value in a message: at most a line of it, also where its own ``repr`` raises.

    Example:
        >>> shown("a" * 100)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    try:
        text = repr(value)
    except Exception:  # An object of somebody's own may raise anything.
        text = object.__repr__(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def instance(
    name: str,
    value: object,
    kind: type[T],
    wanted: str,
    *,
    remedy: str = "",
    error: type[ExplorerError] = ExplorerError,
) -> T:
    """The value, if it is of a type; a text or a number without its subclass.

    Args:
        name, value, wanted, remedy, error: As in `wrong`.
        kind: The type.

    Raises:
        ExplorerError: It is of another.
    """
    if type(value) is kind:
        return value
    if not isinstance(value, kind):
        raise wrong(name, value, wanted, remedy=remedy, error=error)
    return plain(value)


def whole_number(
    name: str,
    value: object,
    low: int | None = 0,
    high: int | None = None,
    *,
    error: type[ExplorerError] = ExplorerError,
) -> int:
    """A whole number within its bounds, as an ``int``.

    Args:
        name, value, error: As in `wrong`.
        low, high: The bounds, both included; ``None`` for no bound.

    Raises:
        ExplorerError: It is not a whole number, or out of bounds.

    Example:
        >>> import numpy as np
        >>> whole_number("seed", np.int64(3))
        3
    """
    number: int | None = value if type(value) is int else None
    if number is None and not isinstance(value, bool):
        # Not only TypeError: an `__index__` of somebody's own may raise anything.
        with suppress(Exception):
            number = plain(index(cast("int", plain(value))))
    if (
        number is None
        or abs(number) > _LARGEST
        or (low is not None and number < low)
        or (high is not None and number > high)
    ):
        bounds = "" if low is None else f" from {low}"
        bounds += "" if high is None else f" to {high:,}"
        raise wrong(name, value, f"a whole number{bounds}", error=error)
    return number


def real_number(
    name: str,
    value: object,
    wanted: str = "a number",
    *,
    remedy: str = "",
    error: type[ExplorerError] = ExplorerError,
) -> float:
    """A number as a ``float``, infinity included. A text that reads as one is not a number.

    Args:
        name, value, wanted, remedy, error: As in `wrong`.

    Raises:
        ExplorerError: It is not a number.

    Example:
        >>> import numpy as np
        >>> real_number("temperature", np.float32(0.5))
        0.5
        >>> real_number("temperature", "1")
        Traceback (most recent call last):
        explorer.errors.ExplorerError: temperature is '1' (str), not a number. Give ...
    """
    if type(value) is float and not math.isnan(value):
        return value
    number = math.nan
    with suppress(Exception):  # A number of somebody's own may raise anything.
        # An array or a tensor of one number stands for it.
        held: object = plain(value)
        if not isinstance(held, Real | Decimal):
            held = cast("_Holder", value).item()
        if not isinstance(held, bool) and isinstance(held, Real | Decimal):
            number = plain(float(held))
    if math.isnan(number):
        raise wrong(name, value, wanted, remedy=remedy, error=error)
    return number


class _Holder(Protocol):
    """An array or a tensor that holds one number."""

    def item(self) -> object:
        """The number."""
        ...


def counted(count: int, noun: str) -> str:
    """A number with its noun, one or many.

    Args:
        count: How many.
        noun: What, in the singular; its plural ends in s or, after an s, in es.

    Example:
        >>> counted(1, "state"), counted(1_200, "byte class")
        ('1 state', '1,200 byte classes')
    """
    many = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{many}"


def flag(name: str, value: object) -> bool:
    """True or false; a word such as "no" would count as true.

    Raises:
        ExplorerError: It is neither.
    """
    if value is True or value is False:
        return value
    raise wrong(name, value, "True or False")


def named_way(name: str, value: object, ways: tuple[str, ...], wanted: str) -> str:
    """One of some names, such as the members of a `Literal`.

    Args:
        name, value, wanted: As in `wrong`.
        ways: The names.

    Raises:
        ExplorerError: It is something else.
    """
    value = plain(value)
    if not isinstance(value, str) or value not in ways:
        raise wrong(name, value, wanted)
    return value


def whole_text(name: str, value: object, *, remedy: str = "") -> str:
    """A text without halves of surrogate pairs, which no file could hold.

    Args:
        name, value, remedy: As in `wrong`.

    Raises:
        ExplorerError: It is not a text, or holds such a half.

    Example:
        >>> whole_text("prompt", "\\ud800")
        Traceback (most recent call last):
        explorer.errors.ExplorerError: prompt has half of a surrogate pair at character 0, ...
    """
    text = instance(name, value, str, "a text", remedy=remedy)
    check_whole_characters(name, text, remedy=remedy)
    return text


def check_whole_characters(
    name: str, text: str, *, remedy: str = "", error: type[ExplorerError] = ExplorerError
) -> None:
    """Refuse a text that holds half of a surrogate pair and so has no UTF-8 form.

    Args:
        name: What the text is, as the subject of a sentence.
        text: The text.
        remedy: What to do; default to write the whole character.
        error: The kind of error.

    Raises:
        ExplorerError: The text holds such a half.
    """
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise error(
            f"{name} has half of a surrogate pair at character {cause.start}, which UTF-8 cannot "
            "hold.",
            remedy=remedy or "Remove it, or write the whole character there.",
            evidence={"text": text, "offset": cause.start},
        ) from None


def listed(
    name: str, value: object, wanted: str, *, error: type[ExplorerError] = ExplorerError
) -> list[object]:
    """The entries of a list, a tuple or an array. A text or bytes are not a list of their parts.

    Args:
        name, value, wanted, error: As in `wrong`.

    Raises:
        ExplorerError: It has no entries.
    """
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise wrong(name, value, wanted, error=error)
    entries = cast("Iterable[object]", value)
    try:
        return list(entries)
    except Exception as cause:  # An array without dimensions, or an iterator that fails on the way.
        raise wrong(name, entries, wanted, error=error) from cause


def file_path(name: str, value: object) -> Path:
    """The path of a file; a number would be a file that is open already.

    Raises:
        ExplorerError: It is neither a str nor a path, is empty, or holds the character NUL, as no
            path does.
    """
    given = value
    if isinstance(value, os.PathLike):
        with suppress(Exception):  # A path of somebody's own may raise anything.
            given = os.fspath(cast("os.PathLike[str]", value))
    text = whole_text(name, instance(name, given, str, "a path, or a str"))
    if not text:
        raise wrong(name, text, "a path", remedy="Give the path of a file.")
    if "\0" in text:
        raise wrong(
            name,
            text,
            "a path: no path holds the character NUL",
            remedy="Leave that character out.",
        )
    return Path(text)
