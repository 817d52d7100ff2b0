"""A run of a server as a value: its output, log-probabilities and request.

Everything in it comes from the log. Where the log has texts without ids, the ids are found with a
vocabulary (`explorer.servers.following`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from explorer.servers.log import LogPlace, setting_in
from explorer.servers.request import RequestedConstraint
from explorer.servers.tables import table

if TYPE_CHECKING:
    from explorer.decoding.models.model import Message

_FINISHES: Final = table("finishes", dict[str, tuple[str, ...]])
ENDED, STOPPED, LIMITED, FAILED, REFUSED, CALLED = (
    _FINISHES[key] for key in ("ended", "stopped", "limited", "failed", "refused", "called")
)
"""The words of servers for a text that the model ended, or possibly a stop string; that a stop
string ended; that the limit on tokens cut; that the server gave up; that the model refused; and
that ends in a call."""


@dataclass(frozen=True, slots=True)
class ServedToken:
    """One token that a server wrote.

    Args:
        token: Its id; ``None`` where the log has none.
        text: Its text in the log.
        data: Its bytes, where the log has them.
        log_prob: The natural log-probability that the server gives.
    """

    token: int | None = None
    text: str | None = None
    data: bytes | None = None
    log_prob: float | None = None


@dataclass(frozen=True)
class ServerRun:
    """A run of a server.

    Args:
        place: The log's name, with the line and, among several, the number of the run.
        format: The name of the log's format.
        model: The model's name in the log.
        prompt: The text or the messages of the request.
        tokens: The tokens, in order; empty where the log has only a text.
        text: The text that the server returned.
        finish: The server's word for why it stopped: ``"stop"``, ``"length"``, ``"eos_token"``, ...
        requested: The constraint of the request on the text; ``None`` without one.
        notes: Remarks for the reader, as sentences.
        stops: The stop strings and stop ids that may have ended the text. A server takes a stop
            string off the text.
        stop_named: Whether the response names the stop, so that ``stops`` has no other.
        elsewhere: The reason why the request's constraint does not apply to the text, as a
            sentence; empty if it does.
        failed: The reason why there is no answer, as a sentence; empty if there is one.
        reasoning: The reasoning that the response has in a field of its own; ``None`` without one.
        server: The server, a name of `explorer.servers.settings.SERVERS`; empty if not known.
        request: The request; without a value where the log has none.
        call: The tool that the answer calls, if the text is the arguments of a call.
    """

    place: str
    format: str
    model: str | None = None
    prompt: str | tuple[Message, ...] | None = None
    tokens: tuple[ServedToken, ...] = ()
    text: str | None = None
    finish: str | None = None
    requested: RequestedConstraint | None = None
    notes: tuple[str, ...] = ()
    stops: tuple[str | int, ...] = ()
    stop_named: bool = False
    elsewhere: str = ""
    failed: str = ""
    reasoning: str | None = None
    server: str = ""
    call: str = ""
    request: LogPlace = field(default=LogPlace("", "request", None), repr=False)

    def asked(self, *paths: str) -> object:
        """The value of a setting of the request or the server; ``None`` where it has none."""
        return setting_in(self.request, *paths).value

    def __repr__(self) -> str:
        if self.failed:
            return f"ServerRun({self.place!r}, {self.failed!r})"
        size = f"{len(self.tokens)} tokens" if self.tokens else "a text"
        return f"ServerRun({self.place!r}, {self.format}, {size}, finish={self.finish!r})"
