"""The facts about servers that are data: `tables.json`, one row per line.

``formats`` are paths (`explorer.servers.formats`), ``places`` those of a constraint in a request,
``servers`` their names and settings, and ``signs`` the paths that give one away; parsers are listed
by their markup or mark, ``markers`` are those around reasoning, ``end_names`` the names of ends,
and ``sentences`` what a verdict says of servers, models and logs.

Of a server, ``title`` is the name as it is written; ``called`` the beginnings of the names that
logs give it, with spaces between; ``engine`` the one that reads schemas by default, empty where it
is not read here. The others are settings, as clauses, so that no remedy of one server is shown for
another: ``whitespace`` forbids white space between the tokens of JSON, ``reasoning`` takes the
reasoning out of the answer, ``thinking`` turns it off, and without ``enforced`` nothing is
constrained (empty without such a need). `docs/servers.md` has the same table with the source of
each row, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, TypeVar, cast

import msgspec

from explorer.servers.log import ServerLog, setting_in

Row = TypeVar("Row")


@cache
def _tables() -> dict[str, object]:
    data = files("explorer.servers").joinpath("tables.json").read_bytes()
    return cast("dict[str, object]", msgspec.json.decode(data))


def table(name: str, kind: type[Row]) -> Row:
    """A table as values of a type."""
    return msgspec.convert(_tables()[name], kind)


def sentence(name: str, **values: object) -> str:
    """A sentence of the table ``sentences``, with values in it."""
    return table("sentences", dict[str, str])[name].format(**values)


def by_name(name: str) -> Mapping[str, str]:
    """A table of words by what they mean, turned round."""
    listed = table(name, dict[str, str])
    return {word: what for what, words in listed.items() for word in words.split()}


SERVERS: Final = MappingProxyType(table("servers", dict[str, dict[str, str]]))
"""The servers by name, those with plainer signs first."""

# The paths that only the logs of a server have, in the request, response or answer.
_SIGNS: Final = table("signs", dict[str, tuple[str, ...]])

ASSUMED: Final = "vllm"
"""The server whose engine is taken for a log that could be of any."""


def server_of(log: ServerLog) -> str:
    """The server of a log: the one that it names, else the one that its keys give away.

    Returns:
        A name of `SERVERS`; empty where it could be of several.
    """
    named = setting_in(log.request, "server.name").value
    if isinstance(named, str):
        words = named.lower().replace(" ", "")
        return next(
            (x for x in SERVERS if words.startswith(tuple(SERVERS[x]["called"].split()))), ""
        )
    response = log.first()
    sides = {"response": response, "answer": response.find("choices[0]") or response}
    for name, signs in _SIGNS.items():
        for side, _, path in (sign.partition(":") for sign in signs):
            at_top = log.request.names(path) if side == "request" else sides[side].names(path)
            if at_top or (side == "request" and setting_in(log.request, path)):
                return name
    if setting_in(log.request, "response_format.type").value == "json":
        return "trtllm"
    return "tgi" if response.find("model").value == "tgi" else ""


def setting(server: str, topic: str) -> str:
    """The setting of a server for a topic, as a clause.

    Args:
        server: A name of `SERVERS`; empty where it is not known: then it is the setting of vLLM,
            and of SGLang where that has the same.
        topic: A key of its settings.
    """
    row, named = SERVERS[server or ASSUMED], [server] if server else [ASSUMED, "sglang"]
    told = row[topic]
    titles = [SERVERS[name]["title"] for name in named if SERVERS[name][topic] == told]
    return told if row["title"] in told else f"{' and '.join(titles)}: {told}"
