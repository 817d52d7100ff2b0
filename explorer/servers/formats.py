"""The formats of logs: one protocol and one registry.

A format tells by what a log holds whether it is its own, and says in words what it looked for. A
log that no format knows is an error that lists what each of them looked for.
"""

from __future__ import annotations

from typing import Final, Protocol

from explorer.errors import DamagedFile, ExplorerError
from explorer.servers.log import ServerLog
from explorer.servers.run import ServerRun


class LogFormat(Protocol):
    """How one kind of server writes down its runs."""

    @property
    def name(self) -> str:
        """The name of the format."""
        ...

    @property
    def looked_for(self) -> str:
        """The evidence by which a log is known to be of this format, as a noun phrase."""
        ...

    def is_own(self, log: ServerLog) -> bool:
        """Whether a log holds that evidence. It does not raise.

        Args:
            log: Any log.
        """
        ...

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """The runs of a log of this format.

        Args:
            log: One for which `is_own` holds.

        Raises:
            DamagedFile: A value is not what the format says.
        """
        ...


_FORMATS: Final[dict[str, LogFormat]] = {}


def register_format(made: LogFormat) -> LogFormat:
    """Make a format known. The first that knows a log reads it.

    Args:
        made: The format.

    Raises:
        ExplorerError: Another format has its name.
    """
    other = _FORMATS.get(made.name)
    if other is not None and type(other) is not type(made):
        raise ExplorerError(
            f"A format {made.name!r} is registered already.", remedy="Give it another name."
        )
    _FORMATS[made.name] = made
    return made


def format_names() -> tuple[str, ...]:
    """The names of the formats that are known."""
    return tuple(_FORMATS)


def format_of(log: ServerLog) -> LogFormat:
    """The format of a log.

    Args:
        log: The log.

    Raises:
        DamagedFile: No format knows it.
    """
    for known in _FORMATS.values():
        if known.is_own(log):
            return known
    looked = "; ".join(f"{known.name}: {known.looked_for}" for known in _FORMATS.values())
    place = log.response
    where = f" at {place.path}" if place.path else ""
    raise DamagedFile(
        f"{place.file}: the response{where} is not of a known format. Looked for: {looked}.",
        remedy='Write {"request": ..., "response": ...} with the bodies as they were sent; '
        "docs/servers.md has an example of each format.",
        evidence={"file": place.file, "place": place.path, "formats": list(_FORMATS)},
    )
