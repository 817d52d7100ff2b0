"""Reading JSON that may be damaged: every value knows its place, every fault names it.

A saved trace is untrusted. Each value is taken out with the type and the range that it must have,
each object must have exactly the keys that are expected, and what does not fit raises
`DamagedFile` with a path such as ``positions[3].distribution.log_z``. Nothing is guessed.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from dataclasses import dataclass
from typing import NoReturn, cast

from explorer.errors import DamagedFile

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a JSON document, and where it stands.

    Args:
        value: What `json.loads` gave.
        path: Where, from the top; empty for the top itself.
        file: The name of the document, for messages.

    Example:
        >>> top = Place.parse(b'{"steps": [{"token": -1}]}', "run.json")
        >>> top.fields("steps")["steps"].items()[0].fields("token")["token"].whole(low=0)
        Traceback (most recent call last):
        explorer.errors.DamagedFile: run.json: steps[0].token is -1, not a whole number from 0. ...
    """

    value: object
    path: str
    file: str

    @classmethod
    def parse(cls, data: bytes, file: str) -> Place:
        """The top of a document.

        Args:
            data: UTF-8 JSON; NaN and infinities are not JSON.
            file: Its name, for messages.

        Raises:
            DamagedFile: It is not JSON; line and column are named.
        """

        def refuse(word: str) -> NoReturn:
            raise ValueError(f"{word} is no number of JSON")

        try:
            return cls(json.loads(data.decode("utf-8"), parse_constant=refuse), "", file)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            reason = error.msg
        except UnicodeDecodeError as error:
            place, reason = f"byte {error.start}", "not UTF-8"
        except (ValueError, RecursionError) as error:
            place, reason = "the document", str(error)
        raise DamagedFile(
            f"{file}: {place}: {reason}.",
            remedy="Save it again; it may have broken off.",
            evidence={"file": file, "place": place},
        )

    def fault(self, expected: str) -> DamagedFile:
        """The error for this value.

        Args:
            expected: What it is not, after "not".
        """
        shown = repr(self.value)
        if len(shown) > _SHOWN:
            shown = f"{shown[: _SHOWN - 1]}…"
        return DamagedFile(
            f"{self.file}: {self.path or 'the document'} is {shown}, not {expected}.",
            remedy="Save the trace again with this release, or take an undamaged copy.",
            evidence={"file": self.file, "place": self.path},
        )

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self.value is None

    def fields(self, *names: str) -> dict[str, Place]:
        """The values of an object with exactly these keys."""
        value = self.value
        if not isinstance(value, dict):
            raise self.fault("an object")
        found = cast(dict[str, object], value)
        for name in names:
            if name not in found:
                raise self.fault(f"an object with a {name!r}")
        for name in found:
            if name not in names:
                raise self.at(name, found[name]).fault("a key that is known here")
        return {name: self.at(name, found[name]) for name in names}

    def mapping(self) -> dict[str, Place]:
        """The values of an object with any keys."""
        value = self.value
        if not isinstance(value, dict):
            raise self.fault("an object")
        found = cast(dict[str, object], value)
        return {key: self.at(key, value) for key, value in found.items()}

    def at(self, name: str, value: object) -> Place:
        """A part of this object."""
        return Place(value, f"{self.path}.{name}" if self.path else name, self.file)

    def items(self, count: int | None = None) -> list[Place]:
        """The values of a list.

        Args:
            count: How many there must be; default any number.
        """
        value = self.value
        if not isinstance(value, list):
            raise self.fault("a list")
        found = cast(list[object], value)
        if count is not None and len(found) != count:
            raise self.fault(f"a list of {count}")
        return [Place(value, f"{self.path}[{k}]", self.file) for k, value in enumerate(found)]

    def text(self) -> str:
        """A string without half surrogate pairs."""
        if not isinstance(self.value, str):
            raise self.fault("a string")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise self.fault("a string of whole characters") from None
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.fault("true or false")
        return self.value

    def whole(self, *, low: int, high: int | None = None) -> int:
        """A whole number.

        Args:
            low, high: Its range, both included; no upper end by default.
        """
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault("a whole number")
        if value < low or (high is not None and value > high):
            upper = "" if high is None else f" to {high}"
            raise self.fault(f"a whole number from {low}{upper}")
        return value

    def number(self, *, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number.

        Args:
            low, high: Its range, both included.
        """
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault("a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.fault("a finite number") from None
        if not math.isfinite(number) or not low <= number <= high:
            ranges = [f"from {low:g}"] * (low > -math.inf) + [f"up to {high:g}"] * (high < math.inf)
            raise self.fault(" ".join(["a finite number", *ranges]))
        return number

    def log_prob(self) -> float:
        """A log-probability: a number up to 0, or ``"-inf"``."""
        return -math.inf if self.value == "-inf" else self.number(high=1e-6)

    def packed(self, length: int) -> bytes:
        """Bytes that `pack` wrote.

        Args:
            length: How many there must be.
        """
        unpacker = zlib.decompressobj()
        try:
            squeezed = base64.b64decode(self.text(), validate=True)
            # One byte more than expected, so that too much is noticed and no bomb goes off.
            data = unpacker.decompress(squeezed, length + 1)
        except (binascii.Error, zlib.error, ValueError):
            raise self.fault("bytes as zlib and base64") from None
        if len(data) != length or not unpacker.eof or unpacker.unused_data:
            raise self.fault(f"{length} bytes as zlib and base64")
        return data


def pack(data: bytes) -> str:
    """Bytes as a string: zlib, then base64."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")
