"""From what a user gives as ``where`` to a place."""

from __future__ import annotations

import sys
from concurrent.futures import Executor
from typing import Any, Final

from explorer.arguments import plain, whole_number, wrong
from explorer.sweeps.places.cluster import OnDask
from explorer.sweeps.places.here import Here
from explorer.sweeps.places.place import Place
from explorer.sweeps.places.pool import OnExecutor, OwnProcesses

MOST_PROCESSES: Final = 1024


def place_for(where: object) -> Place:
    """The place that a user asked for.

    Args:
        where: ``None`` for this process, a number of processes, an executor of
            `concurrent.futures`, a `distributed.Client`, or a place of the user's own.

    Raises:
        ExplorerError: It is something else.

    Example:
        >>> place_for(None).capacity
        1
    """
    if where is None:
        return Here()
    where = plain(where)
    if isinstance(where, int) and not isinstance(where, bool):
        return OwnProcesses(whole_number("where", where, 1, MOST_PROCESSES))
    # A client of Dask can only be there where its module was imported.
    dask: Any = sys.modules.get("distributed")
    if dask is not None and isinstance(where, dask.Client):
        return OnDask(where)
    if isinstance(where, Executor):
        return OnExecutor(where)
    if isinstance(where, Place):
        return where
    raise wrong("where", where, "None, a number of processes, an executor or a Dask client")
