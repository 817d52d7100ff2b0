"""A run of a server as a value: its output, log-probabilities and request.

Everything in it comes from the log. Where the log has texts without ids, the ids are found with a
vocabulary (`explorer.servers.following`).

A text may also end with a stop string or stop id of the request. A server removes the stop string
from the text, so such a text was not ended by the model. vLLM names the stop (`stop_reason`), and
so does SGLang (`matched`, `matched_stop`); OpenAI and TGI do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from explorer.servers.log import LogPlace, owners_of
from explorer.servers.request import RequestedConstraint
from explorer.servers.tables import table

if TYPE_CHECKING:
    from explorer.decoding.models.model import Message

_FINISHES: Final = table("finishes", dict[str, tuple[str, ...]])
ENDED, STOPPED, LIMITED, FAILED, REFUSED = (
    _FINISHES[key] for key in ("ended", "stopped", "limited", "failed", "refused")
)
"""The words of servers for a text that the model ended, or possibly a stop string; that a stop
string ended; that the limit on tokens cut; that the server gave up; and that the model refused."""

_STOP_KEYS: Final = ("stop", "stop_token_ids", "stop_sequences", "options.stop")


@dataclass(frozen=True, slots=True)
class Stops:
    """The stops that may have ended a text besides the model's own end."""

    possible: tuple[str | int, ...] = ()
    known: bool = False


def stops_of(request: LogPlace, named: LogPlace | None = None) -> Stops:
    """The stop strings and stop ids that may have ended a text.

    Args:
        request: The request; without a value where the log has none.
        named: The value of the response that names the stop; null there means the end of text.

    Returns:
        The stop that the response names, or all those of the request if it names none.

    Raises:
        DamagedFile: A value is neither a text nor a token id.
    """
    if named is not None:
        return Stops(_listed(named), known=True)
    asked = (owner.one(key) for owner in owners_of(request) for key in _STOP_KEYS if owner.has(key))
    return Stops(tuple(stop for place in asked for stop in _listed(place)))


def _listed(place: LogPlace) -> tuple[str | int, ...]:
    stops: list[str | int] = []
    for each in place.entries() if isinstance(place.value, list) else filter(None, [place]):
        if not isinstance(each.value, str | int) or isinstance(each.value, bool):
            raise each.wrong("a stop string or a token id")
        stops.append(each.value)
    return tuple(stops)


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
        stops: The stop strings and stop ids that may have ended the text.
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
    stops: Stops = Stops()
    elsewhere: str = ""
    failed: str = ""
    reasoning: str | None = None
    server: str = ""
    call: str = ""
    request: LogPlace = field(default=LogPlace("", "request", None), repr=False)

    def asked(self, *paths: str) -> object:
        """The value of a setting of the request or the server; ``None`` where it has none."""
        for owner in owners_of(self.request):
            for path in paths:
                if owner.has(path):
                    return owner.one(path).value
        return None

    def __repr__(self) -> str:
        if self.failed:
            return f"ServerRun({self.place!r}, {self.failed!r})"
        size = f"{len(self.tokens)} tokens" if self.tokens else "a text"
        return f"ServerRun({self.place!r}, {self.format}, {size}, finish={self.finish!r})"
