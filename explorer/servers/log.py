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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from explorer.arguments import LAST_ID, shown
from explorer.errors import DamagedFile

if TYPE_CHECKING:
    from explorer.decoding.models.model import Message


RECORD_AGAIN: Final = "Record the run again, or correct the value; docs/servers.md has each format."

ROUNDING: Final = 1e-3
"""The farthest that rounding to 16 bits lifts a log-probability above 0."""

_ASKED: Final = ("request", "body")
"""The parts of a document that the client wrote."""

_LOG_PROBS: Final = ("log_prob", "top")
"""The recorder's keys of log-probabilities; those of other servers contain ``logprob``."""


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

    def for_each(self, count: int, what: str = "lists") -> list[LogPlace]:
        """The entries of a list with one for each token; empty for null."""
        entries = self.entries() if self else []
        if entries and len(entries) != count:
            raise self.wrong(f"a list of {count} {what}, one for each token")
        return entries

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

    def token_ids(self) -> tuple[int, ...]:
        """The value as a list of token ids."""
        return tuple(entry.token_id() for entry in self.entries("a list of token ids"))

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
                    inside = known or key in _LOG_PROBS or "logprob" in key
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
        request: The request; ``None`` where only the response was kept.
    """

    request: LogPlace | None
    response: LogPlace

    @classmethod
    def of(cls, document: LogPlace) -> ServerLog:
        """The log in a document."""
        whole = document.value
        if not isinstance(whole, dict) or "response" not in whole:
            return cls(None, document)
        response, request = document.at("response"), document.at("request")
        if not response and document.at("error"):
            return cls(None, document)  # A failed request of a batch has no response.
        if isinstance(response.value, dict) and response.at("body"):
            response = response.at("body")
        if not request and document.at("body"):
            request = document.at("body")
        if isinstance(request.value, dict) and request.at("body"):
            request = request.at("body")
        if request:
            request.mapping()
        return cls(request if request else None, response)

    def first(self) -> object:
        """The response, or the first of a list of them."""
        value = self.response.value
        if isinstance(value, list):
            entries = cast("list[object]", value)
            return entries[0] if entries else None
        return value

    def answers(self) -> list[LogPlace]:
        """The response, or each entry of a list of responses."""
        several = isinstance(self.response.value, list)
        return self.response.entries() if several else [self.response]

    def asked(self, key: str) -> LogPlace:
        """A value of the request; a missing one without a request."""
        return LogPlace("", key, None) if self.request is None else self.request.at(key)

    def model(self) -> str | None:
        """The model's name in the response or the request."""
        if isinstance(self.response.value, dict) and self.response.at("model"):
            return self.response.at("model").text()
        return self.asked("model").optional_text()

    def messages(self) -> tuple[Message, ...] | None:
        """The conversation of the request, without parts of messages that are not text."""
        place = self.asked("messages")
        if not place:
            return None
        return tuple(
            {"role": turn.at("role").text(), "content": _content(turn.at("content"))}
            for turn in place.entries("a list of messages")
        )


def _content(place: LogPlace) -> str:
    if not place:
        return ""
    if isinstance(place.value, str):
        return place.value
    parts = place.entries("a text, or a list of parts")
    return "".join(part.at("text").text() for part in parts if part.at("type").value == "text")
