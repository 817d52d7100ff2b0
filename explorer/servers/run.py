"""A run of a server, as a value: what it wrote, how likely, and what was asked of it.

Everything in it was in the log. Which ids the tokens are, where the log has texts alone, is found
out with a vocabulary (`explorer.servers.judging.identifying`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.servers.requested import RequestedConstraint
from explorer.servers.stopping import Stops

if TYPE_CHECKING:  # It comes with torch, which a log does not need.
    from explorer.decoding.models.model import Message


@dataclass(frozen=True, slots=True)
class ServedToken:
    """One token that a server wrote.

    Args:
        token: Its id; ``None`` where the log has none.
        text: The text that the log shows for it.
        data: Its bytes, where the log has them.
        log_prob: The natural log-probability that the server gives.
        top: The likeliest tokens there, each an id or a text, with its log-probability.
        num_allowed: How many ids the server's mask left, where somebody recorded it.
    """

    token: int | None = None
    text: str | None = None
    data: bytes | None = None
    log_prob: float | None = None
    top: tuple[tuple[int | str, float | None], ...] = ()
    num_allowed: int | None = None


@dataclass(frozen=True)
class ServerRun:
    """One run of a server.

    Args:
        place: The log's name, with the line, and the number of the run where there are several.
        format: The name of the log's format.
        model: The model's name, as the log has it.
        prompt: The text or the messages of the request.
        prompt_ids: The ids that the server read, where the log has them.
        tokens: The tokens, in order; empty where the log holds a text alone.
        text: The text that the server returned.
        finish: Why it stopped, in the server's word: ``"stop"``, ``"length"``, ``"eos_token"``, ...
        requested: The constraint of the request; ``None`` without one that speaks about the text.
        notes: What the reader should know, as sentences.
        stops: The stop strings and stop ids that may have ended the text.
        elsewhere: Why a constraint of the request does not speak about the text, as a sentence;
            empty where it does.
        failed: Why there is no answer, as a sentence; empty where there is one.
    """

    place: str
    format: str
    model: str | None
    prompt: str | tuple[Message, ...] | None
    prompt_ids: tuple[int, ...] | None
    tokens: tuple[ServedToken, ...]
    text: str | None
    finish: str | None
    requested: RequestedConstraint | None
    notes: tuple[str, ...] = ()
    stops: Stops = Stops()  # noqa: RUF009 - A frozen value.
    elsewhere: str = ""
    failed: str = ""

    def __repr__(self) -> str:
        what = f"{len(self.tokens)} tokens" if self.tokens else "a text"
        return f"ServerRun({self.place!r}, {self.format}, {what}, finish={self.finish!r})"
