"""Models are opened one at a time and once each, and a caller who gives up does no harm.

transformers opens a model with switches that hold for the whole process: the default dtype, how
weights are initialised, on which device tensors are made. Two threads in there at once restore each
other's switches in the wrong order, and an exception thrown into the middle of it may leave one
thrown; after that every model comes out without data ("Cannot copy out of meta tensor").

So a model is opened in a thread of its own. The caller only waits, and what interrupts
the caller (Ctrl-C, a cancelled compile) never reaches that thread: a load that has begun comes to
its end, and one that has not is dropped. A lock lets one of them in at a time, and a caller who
asks for a model that is already open gets the same one. Open models are held weakly, so that they
are freed when nobody uses them; the embedded one is small and stays.

Cost: a thread, about 0.1 ms.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_LISTEN: Final = 0.02
"""Seconds between two looks for an interrupt, which a thread that waits in C does not see."""


class Opening(Generic[T]):
    """The models that are open, and the lock for opening more.

    Example:
        >>> class Model: pass
        >>> opening = Opening[Model]()
        >>> first = opening.open("tiny", Model)
        >>> opening.open("tiny", Model) is first
        True
    """

    def __init__(self) -> None:
        self._forget()
        # The thread that holds the lock does not live on in a forked process, the lock would.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._turn = threading.Lock()
        self._open: WeakValueDictionary[Hashable, T] = WeakValueDictionary()
        self._kept: dict[Hashable, T] = {}

    def open(self, key: Hashable, make: Callable[[], T], *, keep: bool = False) -> T:
        """The value of a key: the one that is open, or one that is made now.

        Args:
            key: Everything that the value depends on: another key makes another value.
            make: Makes it, in a thread of its own. Whatever it raises is raised here.
            keep: Whether it stays open when nobody uses it.
        """
        result: Future[T] = Future()
        work = threading.Thread(
            target=self._work, args=(result, key, make, keep), name="load_model", daemon=True
        )
        try:
            work.start()
            while not result.done():
                with suppress(NotYet):
                    result.exception(_LISTEN)
            return result.result()
        finally:
            # Reached with no result only by an interrupt: a load that waits need not begin.
            result.cancel()

    def _work(self, result: Future[T], key: Hashable, make: Callable[[], T], keep: bool) -> None:
        with self._turn:
            if not result.set_running_or_notify_cancel():
                return
            try:
                value = self._open.get(key)
                if value is None:
                    value = make()
                    self._open[key] = value
                    if keep:
                        self._kept[key] = value
            except BaseException as error:
                result.set_exception(error)
            else:
                result.set_result(value)
