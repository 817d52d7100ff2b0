"""Checks of users' arguments, made where they are passed in.

A value of the wrong type would otherwise fail several steps later with a message about internals.
Each check names the argument, shows the value given, and says what to give instead. Lossless
conversions are made: numpy's integers are whole numbers; 2.5 and True are not. A value of a user's
subclass of ``str``, ``int`` or ``float`` becomes the plain value, so that an overridden comparison
or hash cannot raise inside the engine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from difflib import get_close_matches
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from explorer.errors import ExplorerError, RegexError

T = TypeVar("T")

LAST_ID: Final = 2**31 - 1
"""The highest allowed token id, in vocabularies and in files."""

_SHOWN = 60
_REPEATED: Final = 45
"""The longest description of what is wanted that the usual remedy says again."""
_LARGEST = 10**1000  # Python writes no number of 5,000 digits, and no message could show it.


_PLAIN: Final[tuple[tuple[type, Callable[[Any], object]], ...]] = (
    (str, str.__str__), (int, int.__pos__), (float, float.__pos__),
)  # fmt: skip
"""The plain types, each with a conversion from a subclass that calls none of its methods."""


@contextmanager
def naming(name: str) -> Generator[None]:
    """Name the argument in the error of a pattern that cannot be read.

    Args:
        name: The name of the argument.

    Raises:
        RegexError: The error of the pattern, with the name before it.
    """
    try:
        yield
    except RegexError as error:
        raise RegexError(
            f"{name}: {error.reason}", pattern=error.pattern, start=error.start, end=error.end,
            remedy=error.remedy,
        ) from error  # fmt: skip


def plain(value: T) -> T:
    """The plain ``str``, ``int`` or ``float`` of a value of a subclass; other values unchanged.

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
    """The error for an argument of the wrong kind.

    Args:
        name: The name of the argument.
        value: The value given.
        wanted: The kind of value expected, with its article.
        remedy: By default the advice to give what is wanted.
        error: The class of the error.

    Example:
        >>> print(wrong("seed", "a", "a whole number"))
        seed is 'a' (str), not a whole number. Give seed as a whole number.
    """
    kind = "" if value is None else f" ({type(value).__name__})"
    usual = f"Give {name} {f'as {wanted}' if len(wanted) <= _REPEATED else 'in that form'}."
    return error(
        f"{name} is {shown(value)}{kind}, not {wanted}.",
        remedy=remedy or usual,
        evidence={name: value},
    )


def shown(value: object) -> str:
    """The ``repr`` of a value for a message, cut to `_SHOWN` characters; never raises.

    Example:
        >>> shown("a" * 100)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    try:
        text = repr(value)
    except Exception:  # A user's own object may raise anything.
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
    """The value, if it is an instance of a type; made `plain`.

    Args:
        name, value, wanted, remedy, error: As in `wrong`.

    Raises:
        ExplorerError: It is not an instance.
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
        # Not only TypeError: a user's own `__index__` may raise anything.
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
    """A number as a ``float``, infinity included; a numeric string is not a number.

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
    with suppress(Exception):  # A user's own number may raise anything.
        # An array or a tensor with one element counts as that number.
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
    """A count with its noun in the singular or plural.

    Args:
        noun: The singular; its plural adds s or, after an s, es.

    Example:
        >>> counted(1, "state"), counted(1_200, "byte class")
        ('1 state', '1,200 byte classes')
    """
    many = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{many}"


def flag(name: str, value: object) -> bool:
    """The value, if it is ``True`` or ``False``; other values are refused, even truthy ones.

    Raises:
        ExplorerError: It is neither.
    """
    if value is True or value is False:
        return value
    raise wrong(name, value, "True or False")


def named_way(
    name: str,
    value: object,
    ways: tuple[str, ...],
    wanted: str,
    *,
    error: type[ExplorerError] = ExplorerError,
) -> str:
    """The value, if it is one of some names, such as the members of a `Literal`.

    Args:
        name, value, wanted, error: As in `wrong`; ``wanted`` lists the names.
        ways: The allowed names.

    Raises:
        ExplorerError: It is not one of them.
    """
    value = plain(value)
    if not isinstance(value, str) or value not in ways:
        close = get_close_matches(value, ways, 1) if isinstance(value, str) else []
        remedy = f'Write {name}="{(close or ways)[0]}", for example.'
        raise wrong(name, value, wanted, remedy=remedy, error=error)
    return value


def whole_text(name: str, value: object, *, remedy: str = "") -> str:
    """The text, if it holds no lone surrogate and so can be written as UTF-8.

    Args:
        name, value, remedy: As in `wrong`.

    Raises:
        ExplorerError: It is not a text, or holds a lone surrogate.

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
    """Refuse a text that holds a lone surrogate and so cannot be written as UTF-8.

    Args:
        name: The name of the text, as the subject of a sentence.
        remedy: By default the advice to write the whole character.
        error: The class of the error.

    Raises:
        ExplorerError: The text holds a lone surrogate.
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
    """The entries of any iterable except texts and bytes.

    Args:
        name, value, wanted, error: As in `wrong`.

    Raises:
        ExplorerError: It is not such an iterable, or iterating fails.
    """
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise wrong(name, value, wanted, error=error)
    entries = cast("Iterable[object]", value)
    try:
        return list(entries)
    except Exception as cause:  # A zero-dimensional array, or an iterator that fails midway.
        raise wrong(name, entries, wanted, error=error) from cause


def mapped(
    name: str,
    value: object,
    wanted: str,
    *,
    remedy: str = "",
    error: type[ExplorerError] = ExplorerError,
) -> dict[object, Any]:
    """The entries of any mapping, as a dict.

    Args:
        name, value, wanted, remedy, error: As in `wrong`.

    Raises:
        ExplorerError: It is not a mapping, or reading its entries fails.
    """
    if isinstance(value, Mapping):
        with suppress(Exception):  # A user's own mapping may raise anything.
            return {**cast("Mapping[Any, Any]", value)}
    raise wrong(name, cast("object", value), wanted, remedy=remedy, error=error)


def file_path(name: str, value: object) -> Path:
    """The path of a file; a number, which `open` takes for a file descriptor, is refused.

    Raises:
        ExplorerError: It is neither a str nor a path, is empty, or holds the character NUL.
    """
    given = value
    if isinstance(value, os.PathLike):
        with suppress(Exception):  # A user's own path may raise anything.
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
