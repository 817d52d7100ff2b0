"""The other ends of a text, besides the model's own: stop strings and stop ids of a request.

A server takes the stop string off the text, so a text that ends there is not one that the model
ended. vLLM says which it was (`stop_reason`), and so does SGLang (`matched`, `matched_stop`);
OpenAI and TGI do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.servers.place import LogPlace

_KEYS: Final = ("stop", "stop_token_ids", "stop_sequences")
_NESTED: Final = ("extra_body", "sampling_params", "parameters")


@dataclass(frozen=True, slots=True)
class Stops:
    """The ends of a text besides the model's own.

    Args:
        possible: Stop strings and stop ids.
        known: Whether the response says that it was the only one of them.
    """

    possible: tuple[str | int, ...] = ()
    known: bool = False


def stops_of(request: LogPlace | None, answer: LogPlace | None = None, *named: str) -> Stops:
    """The stop strings and stop ids that may have ended a text.

    Args:
        request: The request; ``None`` where the log has none.
        answer: The object of the response that may say what ended the text.
        *named: The keys under which it does; null there means the end of text.

    Returns:
        What the response names, or all that the request has where the response says nothing.

    Raises:
        DamagedFile: A value is neither a text nor a token id.
    """
    if answer is not None and isinstance(answer.value, dict):
        for key in named:
            if key in answer.mapping():
                return Stops(_listed(answer.at(key)), known=True)
    if request is None:
        return Stops()
    owners = [request, *(request.at(key) for key in _NESTED)]
    return Stops(
        tuple(
            stop
            for owner in owners
            if isinstance(owner.value, dict)
            for key in _KEYS
            for stop in _listed(owner.at(key))
        )
    )


def _listed(place: LogPlace) -> tuple[str | int, ...]:
    if place.value is None:
        return ()
    if not isinstance(place.value, list):
        return (_stop(place),)
    return tuple(_stop(entry) for entry in place.entries())


def _stop(place: LogPlace) -> str | int:
    if not isinstance(place.value, str | int) or isinstance(place.value, bool):
        raise place.wrong("a stop string or a token id")
    return place.value
