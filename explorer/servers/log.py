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
from dataclasses import dataclass, replace
from typing import Final, cast

from explorer.arguments import LAST_ID, shown
from explorer.errors import DamagedFile
from explorer.files import parse_json

RECORD_AGAIN: Final = "Record the run again, or correct the value; docs/servers.md has each format."

ROUNDING: Final = 1e-3
"""The farthest that rounding to 16 bits lifts a log-probability above 0."""

_STEP: Final = re.compile(r"\[\d*\]|[^.\[\]]+")

_ASKED: Final = ("request", "body")
"""The parts of a document that the client wrote."""


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
        """The first value at one of some paths; a missing one where there is none."""
        places = [place for path in paths for place in self.every(path)]
        missing = (
            places[0] if places else LogPlace(self.file, ".".join((self.path, *paths[:1])), None)
        )
        return next(filter(None, places), missing)

    def has(self, path: str) -> bool:
        """Whether there is a value at a path; never raises."""
        try:
            return bool(self.one(path))
        except DamagedFile:
            return False

    def __bool__(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def wrong(self, wanted: str, remedy: str = RECORD_AGAIN) -> DamagedFile:
        """The error for this value."""
        stands = "nothing" if self.value is None else shown(self.value)
        return DamagedFile(
            f"{self.file}: {self.path or 'the document'} is {stands}, not {wanted}.",
            remedy=remedy,
            evidence={"file": self.file, "place": self.path},
        )

    def mapping(self) -> dict[str, object]:
        """The value as an object."""
        value = self.value
        if not isinstance(value, dict):
            raise self.wrong("an object")
        return cast("dict[str, object]", value)

    def entries(self, wanted: str = "a list") -> list[LogPlace]:
        """The entries of the value, a list."""
        value = self.value
        if not isinstance(value, list):
            raise self.wrong(wanted)
        listed = cast("list[object]", value)
        return [LogPlace(self.file, f"{self.path}[{k}]", one) for k, one in enumerate(listed)]

    def text(self) -> str:
        """The value as a text."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def optional_text(self) -> str | None:
        """The value as a text; ``None`` without one."""
        return self.text() if self else None

    def token_id(self) -> int:
        """The value as a token id."""
        if type(self.value) is not int or not 0 <= self.value <= LAST_ID:
            raise self.wrong(f"a token id, a whole number from 0 to {LAST_ID:,}")
        return self.value

    def log_prob(self) -> float | None:
        """The value as a natural log-probability; ``None`` where it is not known.

        Values that rounding lifted above 0 become 0, and NaN is not known. Minus infinity is a
        probability of 0.
        """
        if self.value is None:
            return None
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.wrong("a log-probability")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            return None
        if number > ROUNDING:
            raise self.wrong("a natural log-probability, 0 or less")
        return min(number, 0.0)

    def check_numbers(self) -> None:
        """Check that NaN and infinities occur only among the response's log-probabilities.

        JSON has neither, but Python's `json.dumps` writes them.

        Raises:
            DamagedFile: One occurs elsewhere.
        """
        # Each place, whether a client wrote it, and whether it is a log-probability.
        waiting: list[tuple[LogPlace, bool, bool]] = [(self, False, False)]
        for place, asked, known in waiting:  # The list grows while it is read.
            value = place.value
            if isinstance(value, float) and not math.isfinite(value) and not known:
                raise place.wrong("a number of JSON")
            if isinstance(value, list):
                waiting += [(entry, asked, known) for entry in place.entries()]
            elif isinstance(value, dict):
                for key, entry in cast("dict[str, object]", value).items():
                    by_client = asked or (place is self and key in _ASKED)
                    inside = known or "logprob" in key
                    path = f"{place.path}.{key}" if place.path else key
                    at = LogPlace(place.file, path, entry)
                    waiting.append((at, by_client, inside and not by_client))

    def data(self) -> bytes | None:
        """The value as bytes, from a list of numbers from 0 to 255; ``None`` for null."""
        if self.value is None:
            return None
        written = bytearray()
        for entry in self.entries("a list of bytes, or null"):
            if type(entry.value) is not int or not 0 <= entry.value <= 255:
                raise entry.wrong("a byte, a whole number from 0 to 255")
            written.append(entry.value)
        return bytes(written)


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
        file, whole = document.file, document.value
        if isinstance(whole, dict) and {"obj", "out"} <= set(cast("dict[str, object]", whole)):
            return cls(document.at("obj"), document.at("out"))  # A line of SGLang's log as JSON.
        nothing = LogPlace(file, "request", None)
        if not isinstance(whole, dict) or "response" not in whole or document.has("done"):
            return cls(nothing, document)  # Ollama's own answers have a key "response" too.
        response, request = document.at("response"), document.at("request")
        if not response and document.at("error"):
            return cls(nothing, document)  # A failed request of a batch has no response.
        if isinstance(response.value, dict) and response.at("body"):
            response = response.at("body")
        request = request if request else document.at("body")
        if isinstance(request.value, dict) and request.at("body"):
            request = request.at("body")
        if request:
            request.mapping()
        server = document.at("server")
        if server:
            named = {"name": server.value} if isinstance(server.value, str) else server.mapping()
            asked = request.mapping() if request else {}
            settings = {
                key: value for key, value in named.items() if key not in ("name", "version")
            }
            request = LogPlace(file, "request", {**settings, **asked, "server": named})
        return cls(request, response)

    def first(self) -> LogPlace:
        """The response, or the first of a list of them."""
        return (self.answers() or [LogPlace(self.response.file, self.response.path, None)])[0]

    def answers(self) -> list[LogPlace]:
        """The response, or each entry of a list of responses."""
        several = isinstance(self.response.value, list)
        return self.response.entries() if several else [self.response]

    def asked(self, *paths: str) -> LogPlace:
        """A value of the request, or of an object in it that servers read as a part of it."""
        for owner in owners_of(self.request):
            for path in paths:
                if owner.has(path):
                    return owner.one(path)
        return LogPlace(self.response.file, paths[0], None)

    def model(self) -> str | None:
        """The model's name in the response or the request."""
        first = self.first()
        named = first.at("model") if isinstance(first.value, dict) else None
        return (named or self.asked("model")).optional_text()


def parsed(text: str) -> object:
    """The value of a JSON text; ``None`` where it is not JSON."""
    try:
        return parse_json(text.encode(), constant=float)
    except ValueError:
        return None


NESTED: Final = ("extra_body", "sampling_params", "parameters", "optional_params")
"""The keys of a request whose objects may hold its keys too."""


def owners_of(request: LogPlace) -> list[LogPlace]:
    """The objects in which the keys of a request may stand."""
    if not request:
        return []
    nested = [request.at(key) for key in NESTED if isinstance(request.at(key).value, dict)]
    return [request, *nested]


def text_of_parts(place: LogPlace) -> str:
    """A text, or the text of all parts of a list that are text."""
    if not place:
        return ""
    if isinstance(place.value, str):
        return place.value
    return "".join(
        part.value if isinstance(part.value, str) else part.at("text").text()
        for part in place.entries("a text, or a list of parts")
        if isinstance(part.value, str) or part.at("type").value in TEXT_PARTS
    )


TEXT_PARTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
"""The types of parts that are text."""
