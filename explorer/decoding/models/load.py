"""Finds and opens a language model: an embedded one, a folder, or a Hugging Face name.

``"tiny"``, ``"tiny-sp"``, ``"tiny-draft"`` and ``"tiny-chat"`` are shipped with the package and
need no network. A folder is read directly. A name is looked up in the user's Hugging Face cache
first; only if it is missing there are the needed files fetched from the hub.

No untrusted code is run: weights are read only from safetensors files, and a model's own code runs
only with ``trust_remote_code=True``. Weights that do not fit the configuration are an error,
because the library would replace them with random ones. Everything else that is wrong with a folder
is found by transformers, whose reason the error gives.

A model is opened once per process, and one at a time (`Opening`).

Cost: the embedded model loads in less than a second after the imports of torch and transformers.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast
from weakref import WeakValueDictionary

import torch

from explorer.arguments import flag, instance, wrong
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ExplorerError, MissingDependency
from explorer.tokens.masks.tensors import checked_device

if TYPE_CHECKING:
    from explorer.decoding.models.huggingface import HuggingFaceModel

T = TypeVar("T")

_LISTEN: Final = 0.02
"""The seconds between checks for an interrupt, which a thread waiting in C does not notice."""


class Opening(Generic[T]):
    """The open models, and the lock for opening others.

    transformers changes process-wide settings while it opens a model: the default dtype, the
    initialisation of weights, the device of new tensors. Two threads at once would restore each
    other's settings in the wrong order, and an interruption could leave a setting changed; after
    that every model is loaded without data ("Cannot copy out of meta tensor").

    So a model is opened in a thread of its own (about 0.1 ms). The caller only waits, and an
    interrupt of the caller (Ctrl-C, a cancelled compile) never reaches that thread: a load that has
    begun is finished, and one that has not is dropped. A lock admits one load at a time.

    Open models are held weakly, so that unused ones are freed; the embedded ones are small and are
    kept.

    Example:
        >>> class Model: pass
        >>> opening = Opening[Model]()
        >>> first = opening.open("tiny", Model)
        >>> opening.open("tiny", Model) is first
        True
    """

    def __init__(self) -> None:
        self._forget()
        # A forked process would inherit the lock but not the thread that releases it.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._turn = threading.Lock()
        self._open: WeakValueDictionary[Hashable, T] = WeakValueDictionary()
        self._kept: dict[Hashable, T] = {}

    def open(self, key: Hashable, make: Callable[[], T], *, keep: bool = False) -> T:
        """The open value of a key, or a new one.

        Args:
            key: Everything that the value depends on.
            make: Makes the value, in a thread of its own; its exceptions are raised here.
            keep: Whether to keep the value even when it is unused.
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
            # Without a result the caller was interrupted, so a waiting load need not begin.
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


_TRY_TINY: Final = 'load_model("tiny") needs no files and no network.'
_NAME: Final = re.compile(r"(?=.{1,96}\Z)[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_WANTED: Final = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
_SHOWN: Final = 100
_DTYPES: Final = ("auto", "float32", "bfloat16", "float16")

DType = Literal["auto", "float32", "bfloat16", "float16"]


_OPENING: Final = Opening["HuggingFaceModel"]()


def load_model(
    name: str | os.PathLike[str],
    *,
    device: str | torch.device = "auto",
    dtype: DType | torch.dtype = "auto",
    trust_remote_code: bool = False,
    strict: bool = True,
) -> HuggingFaceModel:
    """Open a language model, or return it if it is already open.

    It may be called from any thread. An interrupt ends the waiting; nothing is left half open.

    A configuration that differs from the training (another activation, another rotary base) gives a
    different model, which no file can show.

    Args:
        name: ``"tiny"``, ``"tiny-sp"``, ``"tiny-draft"`` or ``"tiny-chat"``, a folder in the form
            of ``save_pretrained``, or a Hugging Face name such as ``"org/model"``.
        device: The device to run on; ``"auto"`` is CUDA if available, otherwise the CPU.
        dtype: The type of the weights; ``"auto"`` is float32 on a CPU, which is slow with shorter
            types, and that of the file elsewhere. Logits are always float32.
        trust_remote_code: Whether code that comes with the model may be run. Only for a model
            whose authors you trust as you trust this machine's administrator.
        strict: Whether missing, unexpected or differently shaped weights are an error. With False
            the model runs with random weights in their place, and its name, which traces keep, says
            so.

    Returns:
        The model, with its tokens as ``vocabulary``. Equal calls return the same object while it
        is in use.

    Raises:
        ExplorerError: There is no such model (the message says what was looked for, and where),
            transformers cannot open it, its weights do not fit its configuration, or the device is
            not available.
        UnsupportedTokenizer: The bytes of its tokens cannot be known exactly.
        MissingDependency: transformers is not installed.

    Example:
        >>> lm = load_model("tiny")
        >>> lm.name, len(lm.vocabulary)
        ('tiny', 4000)
    """
    if trust_remote_code is not True and trust_remote_code is not False:
        raise wrong(
            "trust_remote_code",
            trust_remote_code,
            "True or False",
            remedy="True runs the Python code that comes with the model, on this machine and with "
            "all that you may do here; leave it out, or give False, to run none.",
        )
    strict = flag("strict", strict)
    where = _device(device)
    kind = _dtype(dtype, where)
    folder, shown = _find(name, trust_remote_code)

    def open_it() -> HuggingFaceModel:
        return _opened(folder, shown, where, kind, trust_remote_code, strict)

    try:
        key = (
            folder.resolve(), _files(folder), shown, where, kind, trust_remote_code, strict,
        )  # fmt: skip
    except OSError as error:
        raise _cannot_load(folder, shown, error) from error
    return _OPENING.open(key, open_it, keep=folder == EMBEDDED.get(shown))


def model_folder(name: str | os.PathLike[str]) -> tuple[Path, str]:
    """The folder of a model's files, and the model's name, without opening the model.

    Raises:
        ExplorerError: There is no such model.

    Example:
        >>> folder, shown = model_folder("tiny")
        >>> shown, (folder / "config.json").is_file()
        ('tiny', True)
    """
    return _find(name, False)


def _opened(
    folder: Path,
    shown: str,
    device: torch.device,
    dtype: torch.dtype | None,
    trust_remote_code: bool,
    strict: bool,
) -> HuggingFaceModel:
    try:
        from explorer.decoding.models.huggingface_folder import open_folder
    except ImportError as error:
        raise _missing(error) from error
    try:
        return open_folder(folder, shown, device, dtype, trust_remote_code, strict)
    except ExplorerError:
        raise
    # The library may raise anything for unusable files: its own validation errors, failed
    # assertions, a division by zero heads.
    except Exception as error:
        raise _cannot_load(folder, shown, error) from error


def _cannot_load(folder: Path, shown: str, error: Exception) -> ExplorerError:
    kind = type(error).__name__
    if (own := _own_code(folder)) and isinstance(error, ValueError):
        return ExplorerError(
            f"The model {shown!r} in {folder} cannot be loaded: it comes with Python code of its "
            f"own (auto_map in {own}), which is not run.",
            remedy="Use a model of a kind that transformers has itself. load_model(..., "
            "trust_remote_code=True) runs that code, on this machine and with all that you may "
            "do here: only for authors whom you trust as you trust this machine's administrator.",
            evidence={"name": shown, "folder": str(folder), "file": own},
        )
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # "Validation error for 'x':" continues in the next line.
    reason = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1]).rstrip(" .:")
    # "3" or "'layers'" alone says nothing.
    if not reason or isinstance(error, ArithmeticError | AssertionError | LookupError):
        reason = f"{kind}: {reason}" if reason else kind
    return ExplorerError(
        f"The model {shown!r} in {folder} cannot be loaded: {reason}.",
        remedy=(
            "Check that the folder holds the whole model and that this release of "
            f"transformers knows its kind. {_TRY_TINY}"
        ),
        evidence={"name": shown, "folder": str(folder), "error": kind},
    )


def _own_code(folder: Path) -> str:
    """The first file of a model that requires the model's own code; empty if none does."""
    for name in ("config.json", "tokenizer_config.json"):
        with suppress(OSError, ValueError, RecursionError):
            declared: object = json.loads((folder / name).read_bytes())
            if isinstance(declared, dict) and cast("dict[str, object]", declared).get("auto_map"):
                return name
    return ""


def _files(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """The name, inode, size and time of each file, so that a changed model is opened again."""
    states: list[tuple[str, int, int, int]] = []
    for path in folder.iterdir():
        if path.is_file():
            status = path.stat()
            states.append((path.name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(sorted(states))


def _device(device: str | torch.device) -> torch.device:
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return checked_device(device, or_auto=True)


def _dtype(dtype: str | torch.dtype, device: torch.device) -> torch.dtype | None:
    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return dtype
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        remedy = f"Give one of {', '.join(map(repr, _DTYPES))}."
        raise wrong("dtype", dtype, "a dtype of a model's weights", remedy=remedy)
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else None
    return cast(torch.dtype, getattr(torch, dtype))


def _find(name: str | os.PathLike[str], code: bool) -> tuple[Path, str]:
    """The folder of a model, and its name."""
    given = _text_of(name)
    if given in EMBEDDED:
        return EMBEDDED[given], given
    folder = Path(given)
    if given and _is_folder(folder):
        if not (folder / "config.json").is_file():
            raise ExplorerError(
                f"The folder {folder} holds no config.json, so it is not a model of transformers.",
                remedy=f"Give the folder that `save_pretrained` wrote. {_TRY_TINY}",
                evidence={"folder": str(folder)},
            )
        return folder, folder.resolve().name
    if not _NAME.fullmatch(given):
        raise ExplorerError(
            f"There is no folder {_short(given)}, and it is not the form of a Hugging Face name.",
            remedy=f"Check the path, or give a name such as 'org/model'. {_TRY_TINY}",
            evidence={"name": given},
        )
    return _from_hub(given, code), given


def _text_of(name: object) -> str:
    """A name or a path as text."""
    given: object = name
    if isinstance(name, os.PathLike):
        # A user's own path may raise anything; then it is refused as it is.
        with suppress(Exception):
            given = os.fspath(cast("os.PathLike[str]", name))
    return instance("name", given, str, "the name or the folder of a model", remedy=_TRY_TINY)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # Too long for a path, or not accessible.
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _from_hub(name: str, code: bool) -> Path:
    """The folder of a name in the user's cache, fetched from the hub if it is missing."""
    try:
        import huggingface_hub
        from huggingface_hub import constants
    except ImportError as error:
        raise _missing(error) from error
    wanted = [*_WANTED, *(["*.py"] if code else [])]
    # Access to the hub may fail in any way; the reason of each attempt is kept.
    reasons: list[str] = []
    for local in (True, False):
        try:
            fetched: Any = huggingface_hub.snapshot_download(  # pyright: ignore[reportUnknownMemberType] - Untyped there.
                name, allow_patterns=wanted, local_files_only=local
            )
            folder = Path(fetched)
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
            continue
        if (folder / "config.json").is_file():
            return folder
        reasons.append("no config.json among its files")
    raise ExplorerError(
        f"There is no model {name!r} at hand. Looked for: a folder {name!r} in {Path.cwd()}; the "
        f"model in the Hugging Face cache {constants.HF_HUB_CACHE}; the hub ({reasons[-1]}).",
        remedy=(
            "Check the name, fetch the model where there is a network, or give the path of a "
            f"folder that holds it. {_TRY_TINY}"
        ),
        evidence={"name": name, "cache": constants.HF_HUB_CACHE, "reasons": tuple(reasons)},
    )


def _missing(error: ImportError) -> MissingDependency:
    return MissingDependency(
        f"A language model needs transformers, and importing it failed: {error}.",
        remedy="Install the extra `models` of this package.",
        evidence={"library": error.name or ""},
    )
