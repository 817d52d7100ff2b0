"""A log: the request to a server and its response, as checked values.

The documented envelope is ``{"request": ..., "response": ...}``, each the JSON body. The lines of
OpenAI's Batch interface, where the body is one level deeper, are read too; so is a response alone,
which has no constraint of its own.

Every value of a log is read through `LogPlace`. A log comes from another program and is not
trusted: a value is used only after its type and range are checked, and an error names the file, the
place in it, the value and the expectation.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import msgspec

from explorer.arguments import LAST_ID, shown
from explorer.errors import DamagedFile
from explorer.files import parse_json

RECORD_AGAIN: Final = "Record the run again, or correct the value; docs/servers.md has each format."

# The farthest that rounding to 16 bits lifts a log-probability above 0.
_ROUNDING: Final = 1e-3

# The number that OpenAI and vLLM write in place of a log-probability that is not reported.
_UNREPORTED: Final = -9999.0

_STEP: Final = re.compile(r"\[\d*\]|[^.\[\]]+")
_ID: Final = Annotated[int, msgspec.Meta(ge=0, le=LAST_ID)]
_BYTES: Final = list[Annotated[int, msgspec.Meta(ge=0, le=255)]]


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A value of a log and its place.

    Args:
        file: The log's name, with its line if it has several documents.
        path: The path of the value, such as ``response.choices[0].text``; empty for the top.
        value: The value; ``None`` also if it is missing.
    """

    file: str
    path: str
    value: object

    def at(self, key: str) -> LogPlace:
        """The value of a key of this object; ``None`` where it has none.

        Raises:
            DamagedFile: This is not an object.
        """
        path = f"{self.path}.{key}" if self.path else key
        return LogPlace(self.file, path, self.mapping().get(key))

    def every(self, path: str) -> list[LogPlace]:
        """The values at a path below this one.

        Args:
            path: Keys and indices such as ``details.tokens[].id`` or ``[1]``; ``[]`` stands for
                each entry of a list. What is missing has no value, or no entries.

        Raises:
            DamagedFile: A key is asked of what is not an object, or an entry of what is not a list.
        """
        places: list[LogPlace] = [self]
        for step in _STEP.findall(path):
            below: list[LogPlace] = []
            for place in places:
                if not step.startswith("["):
                    below.append(place.at(step) if place else replace(place, path=step))
                elif place and step == "[]":
                    below += place.entries()
                elif place:
                    below += place.entries()[int(step[1:-1]) :][:1]
            places = below
        return places

    def one(self, *paths: str) -> LogPlace:
        """The first value at one of some paths; a missing one where there is none.

        Raises:
            DamagedFile: As in `every`.
        """
        places = [place for path in paths for place in self.every(path)]
        missing = replace(self, path=f"{self.path}.{paths[0]}".strip("."), value=None)
        return next(filter(None, places), (*places, missing)[0])

    def find(self, *paths: str) -> LogPlace:
        """The same for paths that may lead nowhere; never raises."""
        for path in paths:
            with suppress(DamagedFile):
                if place := self.one(path):
                    return place
        return replace(self, path=f"{self.path}.{paths[0]}".strip("."), value=None)

    def names(self, path: str) -> bool:
        """Whether there is a key at a path, even with the value null; never raises."""
        owner, _, key = path.rpartition(".")
        held = (self.find(owner) if owner else self).value
        return isinstance(held, dict) and key in held

    def __bool__(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def wrong(self, wanted: str, remedy: str = RECORD_AGAIN) -> DamagedFile:
        """The error for this value."""
        stands = "nothing" if self.value is None else shown(self.value)
        return self.error(f"is {stands}, not {wanted}.", remedy)

    def error(self, said: str, remedy: str) -> DamagedFile:
        """An error about this place."""
        return DamagedFile(
            f"{self.file}: {self.path or 'the document'} {said}",
            remedy=remedy,
            evidence={"file": self.file, "place": self.path},
        )

    def mapping(self) -> dict[str, object]:
        """The value as an object."""
        return self.checked(dict[str, object], "an object")

    def entries(self, wanted: str = "a list") -> list[LogPlace]:
        """The entries of the value, a list."""
        listed: list[object] = self.checked(list[object], wanted)
        return [LogPlace(self.file, f"{self.path}[{k}]", one) for k, one in enumerate(listed)]

    def checked(self, kind: Any, wanted: str) -> Any:
        """The value as one of a type of msgspec's.

        Raises:
            DamagedFile: It is of another type; the innermost wrong value is named.
        """
        try:
            return msgspec.convert(self.value, kind)
        except msgspec.ValidationError as error:
            inner = re.search(r"`\$(\S+)`$", str(error))
            raise (self.one(inner[1]) if inner else self).wrong(wanted) from error

    def text(self) -> str:
        """The value as a text."""
        return self.checked(str, "a text")

    def optional_text(self) -> str | None:
        """The value as a text; ``None`` without one."""
        return self.text() if self else None

    def token_id(self) -> int:
        """The value as a token id."""
        return self.checked(_ID, f"a token id, a whole number from 0 to {LAST_ID:,}")

    def log_prob(self) -> float | None:
        """The value as a natural log-probability; ``None`` where it is not known.

        Values that rounding lifted above 0 become 0, and NaN is not known. Minus infinity is a
        probability of 0.
        """
        number: float = self.checked(float, "a log-probability") if self else math.nan
        if number > _ROUNDING:
            raise self.wrong("a natural log-probability, 0 or less")
        unknown = math.isnan(number) or -math.inf < number <= _UNREPORTED
        return None if unknown else min(number, 0.0)

    def data(self) -> bytes | None:
        """The value as bytes, from a list of numbers from 0 to 255; ``None`` for null."""
        return bytes(self.checked(_BYTES, "a list of bytes, or null")) if self else None


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A request and its response.

    Args:
        request: The request, with the settings of the server; without a value where only the
            response was kept.
    """

    request: LogPlace
    response: LogPlace

    @classmethod
    def of(cls, document: LogPlace) -> ServerLog:
        """The log in a document."""
        request = LogPlace(document.file, "request", None)
        response = document.find("response.body", "response")
        if document.find("obj") and document.find("out"):  # A line of SGLang's log as JSON.
            return cls(document.at("obj"), document.at("out"))
        if not response or document.find("done"):  # Ollama's own answers have a "response" too.
            return cls(request, document)
        if asked := document.find("request.body", "request", "body.body", "body"):
            asked.mapping()
            request = asked
        if server := document.at("server"):
            named = {"name": server.value} if isinstance(server.value, str) else server.mapping()
            asked_for = request.mapping() if request else {}
            request = replace(request, value={**named, **asked_for, "server": named})
        return cls(request, response)

    def first(self) -> LogPlace:
        """The response, or the first of a list of them."""
        return (self.answers() or [replace(self.response, value=None)])[0]

    def answers(self) -> list[LogPlace]:
        """The response, or each entry of a list of responses."""
        several = isinstance(self.response.value, list)
        return self.response.entries() if several else [self.response]


def parsed(text: str | bytes) -> object:
    """The value of a JSON text; ``None`` where it is not JSON.

    It may hold NaN and infinities: Python's `json.dumps` writes log-probabilities so.
    """
    try:
        return parse_json(text if isinstance(text, bytes) else text.encode(), constant=float)
    except ValueError:
        return None


# The keys of a request whose objects may hold its keys too.
_NESTED: Final = ("extra_body", "sampling_params", "parameters", "optional_params")


def owners_of(request: LogPlace) -> list[LogPlace]:
    """The objects in which the keys of a request may stand."""
    if not request:
        return []
    nested = map(request.at, _NESTED)
    return [request, *(place for place in nested if isinstance(place.value, dict))]


def setting_in(request: LogPlace, *paths: str) -> LogPlace:
    """A setting of a request; without a value where it has none."""
    places = (owner.find(path) for owner in owners_of(request) for path in paths)
    return next(filter(None, places), replace(request, path=paths[0], value=None))
