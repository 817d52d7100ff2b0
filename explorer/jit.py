"""Just-in-time compilation of the inner loops that determine the engine's speed.

There are about 140 of them, in some 40 files: subset construction, equal states, products, rows of
discovered machines and of stacks, walks of the token trie, packed masks. They run over hundreds of
thousands of small integers and would take ten times the work as numpy expressions. They are plain
Python functions over numpy arrays; `jit` wraps each as a `Kernel`, which Numba compiles at its
first call. So a process loads Numba with the first constraint that it compiles, and one that only
imports the engine does not (`docs/decisions/0001`).

Kernels release the interpreter lock and return after a bounded amount of work, so that a budget, a
cancellation or another thread never waits long.

`explorer.machine_code`, the only file that imports Numba, compiles the kernels and caches them.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as ordinary Python; the tests use this to show
that nothing depends on the compiler.
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
    """A clock that adds up the seconds of pieces of work, which may nest."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """Begin a piece of work."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """End the piece of work that began last."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


making_code: Final = Stopwatch()
"""The time in which this process loaded Numba and compiled kernels; loading cached code is not
counted.

A budget excludes it: it is spent once per process or per machine, whatever is compiled first.
"""

NOTICE: Final = "explorer: making machine code, once for this installation; it takes some seconds."
"""The line shown on the first run on a machine or after an update, while kernels are compiled."""


@cache
def _give_notice() -> None:
    """Print the notice once per process, if it runs in a terminal or a notebook.

    A process that finds its machine code on disk prints nothing.
    """
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        print(NOTICE, file=sys.stderr, flush=True)


def is_too_deep(error: BaseException) -> bool:
    """Whether Python's limit of nested calls was met; a kernel turns it into a `SystemError`."""
    return isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)


class Kernel(Generic[P, R]):
    """A function that is compiled to machine code at its first call.

    The compiled function then replaces it under its name in all modules, so that later calls are
    direct. A reference held elsewhere costs 0.1 µs more per call.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.py_func: Final = function
        """The Python function; the attribute has the same name as in Numba."""
        self._compiled: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        return self.compiled(*args, **kwargs)

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled function; two concurrent threads may both compile it, which is harmless."""
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
    """Wrap a function as a kernel: compiled at its first call, cached on disk, run without the GIL.

    Args:
        function: A function over scalars and numpy arrays that Numba supports.

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
    """The module that imports Numba, connected to the kernels at its first use."""
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
    """Delay Ctrl-C until the end of the block: an interrupted import could not be resumed."""
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
