"""Just-in-time compilation of the loops that decide the speed of everything else.

There are about 150 of them, in some 50 files: subset construction, equal states, products, rows of
discovered machines and of stacks, walks of the token trie, packed masks. They run over hundreds of
thousands of small integers and cannot be written as numpy expressions without tenfold work. They
are plain Python functions over numpy arrays; `jit` hands them to Numba.
Kernels release the interpreter lock and come back after a bounded amount of work, so that a
budget, a cancel or another thread is never kept waiting.

The machine code is cached on disk, beside the source or in the user's folder for caches, so a
process after the first loads it in milliseconds. The cache is a help and never a condition: where
no folder can be written, kernels are compiled in every process, with a warning; and a file that is
not what was written, which its checksum shows, is compiled anew. (Numba's own cache raises on both,
and runs machine code of which a bit was flipped.)

With ``NUMBA_DISABLE_JIT=1`` the same functions run as ordinary Python; the tests use that to
show that nothing depends on the compiler.
"""

# Numba ships no stubs: what it gives is typed here once.
# pyright: reportMissingTypeStubs=false, reportUntypedBaseClass=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import hashlib
import pickle
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from os.path import exists
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

P = ParamSpec("P")
R = TypeVar("R")

_DIGEST: Final = hashlib.sha256

_warned: set[str] = set()


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
    compiled: Any = numba.njit(nogil=True)(function)
    # What was typed into a prompt has no file to keep machine code beside.
    if exists(function.__code__.co_filename):
        try:
            compiled._cache = _Cache(function)
        except (RuntimeError, OSError) as error:
            _warn_once(error)
    return compiled


class Stopwatch(event.Listener):
    """Adds up the seconds in which Numba made machine code; compiling may nest."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: object) -> None:
        """Numba begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Numba is done."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


making_code: Final = Stopwatch()
"""Its ``seconds`` are those in which this process made machine code; loading it does not count.

A budget leaves them out: they are spent once per machine, whatever is compiled first.
"""
event.register("numba:compile", making_code)


def _warn_once(error: Exception) -> None:
    if not _warned:
        _warned.add("no cache")
        warnings.warn(
            "explorer keeps no machine code: no folder for it can be written, so each process "
            f"compiles it anew, which takes seconds ({error}). Set NUMBA_CACHE_DIR to a folder "
            "that can be written.",
            RuntimeWarning,
            stacklevel=3,
        )


class _Cache(FunctionCache):
    """The machine code of one kernel on disk; where it cannot be used it is as if there were none.

    Args:
        function: The kernel.

    Raises:
        RuntimeError: No folder can be written.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            self.cache_path,
            f"{self._impl.filename_base}-sum",
            (self._impl.locator.get_source_stamp(), *_stamps_of_called(function)),
        )

    def load_overload(self, sig: object, target_context: object) -> object:
        """The compiled function for a signature, or ``None``."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # A damaged pickle raises what it likes.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep the compiled function for a signature, if the disk takes it."""
        with suppress(OSError, pickle.PickleError, EOFError):
            super().save_overload(sig, data)


def _stamps_of_called(function: Callable[..., object]) -> list[object]:
    """The stamps of the kernels that a kernel calls, whose code is compiled into its own.

    Numba knows a kernel by its own file alone.
    """
    called = (function.__globals__.get(name) for name in function.__code__.co_names)
    files = {getattr(getattr(one, "_cache", None), "_cache_file", None) for one in called}
    return sorted((file.stamp for file in files if isinstance(file, _CheckedFiles)), key=repr)


class _CheckedFiles(IndexDataCacheFile):
    """Numba's files of machine code, each with its checksum in front."""

    @property
    def stamp(self) -> object:
        """The origin of the code: the text of its file, and the kernels that it calls."""
        return self._source_stamp

    def _load_data(self, name: str) -> object:
        path = str(self._data_path(name))
        stored = Path(path).read_bytes()
        size = _DIGEST().digest_size
        if stored[:size] != _DIGEST(stored[size:]).digest():
            raise pickle.UnpicklingError(f"{name} is damaged")
        return pickle.loads(stored[size:])

    def _save_data(self, name: str, data: object) -> None:
        content: bytes = self._dump(data)
        path = str(self._data_path(name))
        with self._open_for_write(path) as file:
            file.write(_DIGEST(content).digest() + content)
