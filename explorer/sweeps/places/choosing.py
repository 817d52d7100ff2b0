"""From what a user gives as ``where`` to a place."""

from __future__ import annotations

from explorer.arguments import wrong
from explorer.sweeps.places.here import Here
from explorer.sweeps.places.place import Place


def place_for(where: object) -> Place:
    """The place that a user asked for.

    Args:
        where: ``None`` for this process.

    Raises:
        ExplorerError: It is something else.
    """
    if where is None:
        return Here()
    raise wrong("where", where, "None, a number of processes, an executor or a Dask client")
