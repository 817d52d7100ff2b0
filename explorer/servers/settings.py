"""Servers, their engines, and their settings: a table, so that no remedy of one is shown for
another.

`docs/servers.md` has the same table with the source of each row, and a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.tables import table


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server, and where its settings are.

    Args:
        title: Its name.
        engine: The engine that reads schemas by default; empty for one that is not read here.
        whitespace: How white space between the tokens of JSON is forbidden, as a clause.
        reasoning: How the reasoning is taken out of the answer, as a clause.
        thinking: How the reasoning is turned off, as a clause.
        enforced: What a server needs to constrain anything, as a clause; empty without a need.
    """

    title: str
    engine: str
    whitespace: str
    reasoning: str
    thinking: str
    enforced: str = ""


SERVERS: Final = MappingProxyType(table("servers", dict[str, ServerSettings]))
"""The servers by name."""

ASSUMED: Final = "vllm"
"""The server whose engine is taken for a log that could be of any."""

_SIGNS: Final = table("signs", tuple[tuple[str, tuple[str, ...]], ...])
"""The signs of a server: paths that only its logs have."""


def server_of(log: ServerLog) -> str:
    """The server of a log: the one that it names, else the one that its keys give away.

    Returns:
        A name of `SERVERS`; empty where it could be of several.
    """
    named = log.asked("server.name").value
    if isinstance(named, str):
        words = named.lower().replace("tensorrt-llm", "trtllm").replace("llamacpp", "llama.cpp")
        words = words.replace("lm studio", "lmstudio").replace("text-generation-inference", "tgi")
        return next((name for name in SERVERS if words.startswith(name)), "")
    response = log.first()
    where = {"request": log.request, "response": response}
    where["answer"] = response.one("choices[0]") if response.has("choices[0]") else response
    for name, paths in _SIGNS:
        for path in paths:
            side, _, rest = path.partition(":")
            if _stands(where[side], rest) or (side == "request" and log.asked(rest)):
                return name
    if log.request.has("response_format.type"):
        asked = log.request.one("response_format.type").value
        if asked == "json":
            return "trtllm"
    model = response.one("model").value if response.has("model") else None
    return "tgi" if model == "tgi" else ""


def _stands(place: LogPlace, path: str) -> bool:
    """Whether a key stands at a path, even with the value null."""
    owner, _, key = path.rpartition(".")
    held = place.one(owner).value if owner and place.has(owner) else place.value
    return isinstance(held, dict) and key in held and (not owner or place.has(owner))
