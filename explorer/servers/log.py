"""A log: the request that a server was sent, and its response.

The documented envelope is ``{"request": ..., "response": ...}``, each the JSON body. The lines of
OpenAI's Batch interface, where the body is one level deeper, are read too; so is a response alone,
which has no constraint of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from explorer.servers.place import LogPlace

if TYPE_CHECKING:  # It comes with torch, which a log does not need.
    from explorer.decoding.models.model import Message


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A request and its response.

    Args:
        request: ``None`` where only the response was kept.
        response: The response.
    """

    request: LogPlace | None
    response: LogPlace

    @classmethod
    def of(cls, document: LogPlace) -> ServerLog:
        """The log that a document is.

        Args:
            document: The whole document.
        """
        whole = document.value
        if not isinstance(whole, dict) or "response" not in whole:
            return cls(None, document)
        response, request = document.at("response"), document.at("request")
        if not response and document.at("error"):
            return cls(None, document)  # A request of a batch that failed has no response.
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

    def asked(self, key: str) -> LogPlace:
        """A value of the request; nothing where there is no request.

        Args:
            key: Its key.
        """
        return LogPlace("", key, None) if self.request is None else self.request.at(key)

    def model(self) -> str | None:
        """The model's name, of the response or of the request."""
        if isinstance(self.response.value, dict) and self.response.at("model"):
            return self.response.at("model").text()
        return self.asked("model").optional_text()

    def messages(self) -> tuple[Message, ...] | None:
        """The conversation of the request. Parts of a message that are not text are left out."""
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
