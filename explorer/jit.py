"""Just-in-time compilation of the loops that decide the speed of everything else.

There are about 150 of them, in some 50 files: subset construction, equal states, products, rows of
discovered machines and of stacks, walks of the token trie, packed masks. They run over hundreds of
thousands of small integers and cannot be written as numpy expressions without tenfold work. They
are plain Python functions over numpy arrays; `jit` makes a `Kernel` of each, which hands it to
Numba when it is first called. So a process loads Numba with the first constraint that it compiles,
and one that only imports the engine does not (`docs/decisions/0098`).
Kernels release the interpreter lock and come back after a bounded amount of work, so that a
budget, a cancel or another thread is never kept waiting.

The machine code is made and kept in `explorer.machine_code`, which alone imports Numba.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as ordinary Python; the tests use that to
show that nothing depends on the compiler.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, update_wrapper
from types import ModuleType
from typing import Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Stopwatch:
    """Adds up the seconds of pieces of work, which may nest."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """A piece begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """The piece that began last is done."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


making_code: Final = Stopwatch()
"""Its ``seconds`` are those in which this process loaded Numba and made machine code; loading
machine code does not count.

A budget leaves them out: they are spent once per process or per machine, whatever is compiled
first.
"""

NOTICE: Final = "explorer: making machine code, once for this installation; it takes some seconds."
"""The line for a person who waits for it: on the first run on a machine, or after an update."""


@cache
def _give_notice() -> None:
    """Say it once in a process, where a person watches: at a terminal, or in a notebook.

    A process that finds its machine code on disk says nothing.
    """
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        print(NOTICE, file=sys.stderr, flush=True)


class Kernel(Generic[P, R]):
    """A function that becomes machine code when it is first called.

    The modules that know it under its name then hold the machine code in its place, so that later
    calls go there directly. A kernel that is kept elsewhere costs 0.1 µs more per call.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.py_func: Final = function
        """The Python function, under the name that Numba gives it."""
        self._compiled: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of the function."""
        return self.compiled(*args, **kwargs)

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled function. Two threads that come at once make it twice, to no harm."""
        if self._compiled is None:
            compiled: Callable[P, R] = _machine_code().machine_code_of(self.py_func)
            self._compiled = compiled
            name = self.py_func.__name__
            for module in list(sys.modules.values()):
                names: dict[str, object] = getattr(module, "__dict__", {})
                if names.get(name) is self:
                    names[name] = compiled
        return self._compiled


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel on its first call, cached on disk, without the interpreter lock.

    Args:
        function: A function over scalars and numpy arrays, within what Numba understands.

    Returns:
        The kernel, with the type of the function given.

    Example:
        >>> @jit
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(4)
        8
    """
    return Kernel(function)


@cache
def _machine_code() -> ModuleType:
    """The file that imports Numba, loaded now and told what it serves."""
    making_code.start()
    try:
        with _without_interrupts():
            from explorer import machine_code

            machine_code.connect(Kernel, _begin, making_code.stop)
    finally:
        making_code.stop()
    return machine_code


def _begin() -> None:
    _give_notice()
    making_code.start()


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Let an interrupt wait for the end of the block: half an import cannot be completed later."""
    handler = signal.getsignal(signal.SIGINT)
    if (
        handler is not signal.default_int_handler
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt
