"""The machine code of kernels: compiled by Numba, cached on disk, verified before it runs.

The code is cached beside the source or in the user's cache folder, so every process after the first
loads it in milliseconds. The cache is optional: if no folder is writable, each process compiles its
kernels, with a warning; a file whose checksum does not match is compiled again. (Numba's own cache
raises in both cases, and would run machine code with a flipped bit.) Loading also imports only what
running needs; Numba's own cache imports all that compiling needs, three times as much.

Only this file imports Numba, which takes a fifth of a second: `explorer.jit` loads it when the
first kernel is called.
"""

# Numba ships no type stubs.
# pyright: reportMissingTypeStubs=false, reportUntypedBaseClass=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportPrivateUsage=false, reportCallIssue=false
# pyright: reportUnnecessaryComparison=false

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from os import stat
from os.path import exists
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import numba
import numpy as np
from llvmlite import binding
from numba.core import environment, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

P = ParamSpec("P")
R = TypeVar("R")

_DIGEST: Final = hashlib.sha256

_warned: set[str] = set()


def machine_code_of(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled form of a function; code for each argument types is loaded or compiled."""
    if numba.config.DISABLE_JIT:  # pyright: ignore  # Hashes wrap around, as machine words do.
        return np.errstate(over="ignore")(function)
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher.get_call_template = _with_plain_numbers(dispatcher.get_call_template)
    # Code typed into a prompt has no file beside which machine code could be cached.
    if exists(function.__code__.co_filename):
        try:
            dispatcher._cache = _Cache(function)
        except (RuntimeError, OSError) as error:
            _warn_once(error)
    return dispatcher


def _with_plain_numbers(template_of: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel for calls of other kernels with numbers of 64 bits alone.

    Numba would compile it once more for a constant, and for a number of 32 bits.
    """

    def plain(kind: Any) -> Any:
        kind = numba.types.unliteral(kind)
        is_number = isinstance(kind, numba.types.Integer) and kind.signed
        return numba.types.int64 if is_number else kind

    def template(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return template_of(tuple(map(plain, args)), {key: plain(named[key]) for key in named})

    return template


def connect(kernel: type[Any], begun: Callable[[], None], done: Callable[[], None]) -> None:
    """Register the class of kernels with Numba, and listen to compilations; once per process.

    Registered kernels can call each other.

    Args:
        kernel: The class whose instances have the attribute ``compiled``.
        begun, done: Called before and after each compilation; compilations may nest.
    """

    def type_of(value: Any, context: object) -> object:
        return numba.typeof(value.compiled)

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            begun()

        def on_end(self, event: object) -> None:
            done()

    typeof_impl.register(kernel)(type_of)
    event.register("numba:compile", Listener())


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


class _Library(JITCodeLibrary):
    """Machine code from the disk, which runs without parsing its intermediate code.

    The intermediate code is parsed only if another kernel that calls it is compiled.
    """

    def restore(self, object_code: bytes, intermediate_code: bytes, names: set[str]) -> None:
        """Link the machine code, which defines the given symbols."""
        self._intermediate_code = intermediate_code
        self.enable_object_caching()
        self._set_compiled_object(object_code)
        self._finalize_final_module()
        self._codegen._engine._defined_symbols |= names

    def _get_module_for_linking(self) -> object:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._intermediate_code)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return super()._get_module_for_linking()


class _Loading(CompileResultCacheImpl):
    """Restores a compiled function from the cache as Numba does, but with a `_Library`."""

    def rebuild(self, target_context: Any, payload: Any) -> CompileResult:
        """The compiled function."""
        (name, _, code), described, env, signature, objectmode, lifted, notes, *rest = payload
        reload_init, referenced_envs = rest
        for again in reload_init:
            again()
        codegen = target_context.codegen()
        library = _Library(codegen, name)
        names = {
            described.llvm_func_name,
            described.llvm_cpython_wrapper_name,
            described.llvm_cfunc_wrapper_name,
        }
        library.restore(*code, names)
        result = CompileResult(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=env,
            entry_point=target_context.get_executable(library, described, env),
            fndesc=described,
            type_annotation=notes,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=reload_init,
            referenced_envs=referenced_envs,
        )
        for each in referenced_envs:
            codegen.set_env(each.env_name, each)
        return result


def _environment(module: str, constants: list[object], name: str) -> object:
    """The environment of a compiled function: its constants, and the names of its module.

    Only Python code looks the names up, so a module of Numba is not imported for them.
    """
    if module in sys.modules or not module.startswith("numba."):
        return environment._rebuild_env(module, constants, name)
    known = environment.lookup_environment(name)
    if known is None:
        known = environment.Environment({"__name__": module})
        known.consts[:] = constants
        known.env_name = name
        environment.Environment._memo[name] = known
    return known


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        """The object of a name, with our own function for Numba's environments."""
        if global_name == "_rebuild_env":
            return _environment
        return super().find_class(module_name, global_name)


class _Cache(FunctionCache):
    """The machine code of one kernel on disk; an unusable file counts as missing.

    Raises:
        RuntimeError: No folder is writable.
    """

    _impl_class = _Loading

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            self.cache_path, f"{self._impl.filename_base}-sum", _stamps(function)
        )

    def load_overload(self, sig: object, target_context: Any) -> object:
        """The cached compiled function for a signature, or ``None``.

        Numba's own method also loads its registry of types and operations, a fifth of a second that
        only compiling needs. Running needs just the functions that count references.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:  # A damaged pickle may raise anything.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Cache the compiled function for a signature, if it can be written."""
        with suppress(OSError, pickle.PickleError, EOFError):
            super().save_overload(sig, data)


def _stamps(function: Callable[..., object]) -> tuple[bytes, ...]:
    """Checksums of the files of a kernel and of the kernels that it calls, which are inlined.

    Numba's own cache checks only the file of the kernel itself.
    """
    paths: set[str] = set()
    seen: set[object] = set()
    todo = [function]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            paths.add(one.__code__.co_filename)
            known: list[Any] = [one.__globals__.get(name) for name in one.__code__.co_names]
            # A kernel, or its compiled function.
            todo += [called.py_func for called in known if hasattr(called, "py_func")]
    return tuple(_sum_of(path, stat(path).st_mtime_ns) for path in sorted(paths))


@lru_cache(maxsize=1024)
def _sum_of(path: str, changed: int) -> bytes:
    """The checksum of a file with this modification time."""
    return _DIGEST(Path(path).read_bytes()).digest()


class _CheckedFiles(IndexDataCacheFile):
    """Numba's files of machine code, each with its checksum in front."""

    def _load_data(self, name: str) -> object:
        path = str(self._data_path(name))
        stored = Path(path).read_bytes()
        size = _DIGEST().digest_size
        if stored[:size] != _DIGEST(stored[size:]).digest():
            raise pickle.UnpicklingError(f"{name} is damaged")
        return _Unpickler(io.BytesIO(stored[size:])).load()

    def _save_data(self, name: str, data: object) -> None:
        content: bytes = self._dump(data)
        path = str(self._data_path(name))
        with self._open_for_write(path) as file:
            file.write(_DIGEST(content).digest() + content)
