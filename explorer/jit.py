"""Just-in-time compilation of the few loops that decide the speed of everything else.

Four inner loops run over hundreds of thousands of small integers and cannot be written as
numpy expressions without tenfold work: subset construction, partition refinement, products and
the walk of the token trie. They are plain Python functions over numpy arrays; `jit` hands them
to Numba. The machine code is cached on disk, so a process after the first loads it in
milliseconds. Kernels release the interpreter lock and come back after a bounded amount of work,
so that a budget, a cancel or another thread is never kept waiting.

With ``NUMBA_DISABLE_JIT=1`` the same functions run as ordinary Python; the tests use that to
show that nothing depends on the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from os.path import exists
from typing import ParamSpec, TypeVar, cast

import numba  # pyright: ignore[reportMissingTypeStubs]  # Numba ships no stubs; typed here once.
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel on its first call, cached on disk, without the interpreter lock.

    Args:
        function: A function over scalars and numpy arrays, within what Numba understands.

    Returns:
        The compiled function, with the type of the one given.

    Example:
        >>> @jit
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(4)
        8
    """
    if numba.config.DISABLE_JIT:  # pyright: ignore  # Hashes wrap around, as machine words do.
        return np.errstate(over="ignore")(function)
    compiler = cast(
        "Callable[[Callable[P, R]], Callable[P, R]]",
        # What was typed into a prompt has no file to keep machine code beside.
        numba.njit(cache=exists(function.__code__.co_filename), nogil=True),  # pyright: ignore
    )
    return compiler(function)
