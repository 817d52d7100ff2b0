"""Find a language model and open it: the embedded one, a folder, or a Hugging Face name.

``"tiny"`` travels with the package and needs no network. A folder is read as it is. A name is
looked up in the Hugging Face cache of this user first; only if it is not there is the hub asked,
for the files that are read and no others.

What is not trusted is not run: weights come from safetensors files only, because the older files
are pickles, which execute what they hold; and code beside a model runs only where the caller says
``trust_remote_code=True``.

Cost: the embedded model loads in less than a second after the imports of torch and transformers.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import torch

from explorer.arguments import instance
from explorer.decoding.models.tiny import FOLDER
from explorer.errors import ExplorerError, MissingDependency
from explorer.tokens.tensors import checked_device

if TYPE_CHECKING:
    from explorer.decoding.models.huggingface import HuggingFaceModel

TINY: Final = "tiny"
"""The name of the embedded model."""

_TRY_TINY: Final = 'load_model("tiny") needs no files and no network.'
_PICKLED: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_WANTED: Final = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
_DTYPES: Final = ("auto", "float32", "bfloat16", "float16")

DType = Literal["auto", "float32", "bfloat16", "float16"]


def load_model(
    name: str | os.PathLike[str],
    *,
    device: str | torch.device = "auto",
    dtype: DType | torch.dtype = "auto",
    trust_remote_code: bool = False,
) -> HuggingFaceModel:
    """Open a language model.

    Args:
        name: ``"tiny"``, a folder in the form of ``save_pretrained``, or a Hugging Face name such
            as ``"org/model"``.
        device: Where to run it; ``"auto"`` is CUDA where there is one, else the CPU.
        dtype: Of the weights; ``"auto"`` is float32 on a CPU, which is slow at anything shorter,
            and what the file holds elsewhere. Logits are always float32.
        trust_remote_code: Whether code that comes with the model may be run. Only for a model
            whose authors you trust as you trust this machine's administrator.

    Returns:
        The model, with `vocabulary`.

    Raises:
        ExplorerError: There is no such model (the message says what was looked for, and where),
            it has no safetensors weights, its files do not fit together, or the device is not
            there.
        UnsupportedTokenizer: The bytes of its tokens cannot be known exactly.
        MissingDependency: transformers is not installed.
    """
    where = _device(device)
    kind = _dtype(dtype, where)
    folder, shown = _find(name, trust_remote_code)
    _check_weights(folder, shown)
    try:
        from safetensors import SafetensorError

        from explorer.decoding.models.huggingface import open_folder
    except ImportError as error:
        raise _missing(error) from error
    try:
        return open_folder(folder, shown, where, kind, trust_remote_code)
    except ExplorerError:
        raise
    # The library raises errors of many kinds for a file that it cannot use.
    except (
        OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError,
    ) as error:  # fmt: skip
        reason = str(error).strip().split("\n")[0]
        raise ExplorerError(
            f"The model {shown!r} in {folder} cannot be loaded: {reason.rstrip(' .:')}.",
            remedy=(
                "Check that the folder holds the whole model and that this release of "
                f"transformers knows its kind. {_TRY_TINY}"
            ),
            evidence={"name": shown, "folder": str(folder), "error": type(error).__name__},
        ) from error


def _device(device: str | torch.device) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return checked_device(device, or_auto=True)


def _dtype(dtype: str | torch.dtype, device: torch.device) -> torch.dtype | None:
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in _DTYPES:
        raise ExplorerError(
            f"There is no dtype {dtype!r} for a model.",
            remedy=f"Give one of {', '.join(map(repr, _DTYPES))}.",
            evidence={"dtype": dtype},
        )
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else None
    return cast(torch.dtype, getattr(torch, dtype))


def _find(name: str | os.PathLike[str], code: bool) -> tuple[Path, str]:
    """The folder of a model, and what to call it."""
    given = os.fspath(name) if isinstance(name, os.PathLike) else name
    given = instance("name", given, str, "the name or the folder of a model", remedy=_TRY_TINY)
    if given == TINY:
        return FOLDER, TINY
    folder = Path(given)
    if given and folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ExplorerError(
                f"The folder {folder} holds no config.json, so it is no model of transformers.",
                remedy=f"Give the folder that `save_pretrained` wrote. {_TRY_TINY}",
                evidence={"folder": str(folder), "files": _some(folder)},
            )
        return folder, folder.name
    if not _NAME.fullmatch(given):
        raise ExplorerError(
            f"There is no folder {given!r}, and it is not the form of a Hugging Face name.",
            remedy=f"Check the path, or give a name such as 'org/model'. {_TRY_TINY}",
            evidence={"name": given},
        )
    return _from_hub(given, code), given


def _from_hub(name: str, code: bool) -> Path:
    """The folder of a name: in this user's cache, else fetched into it."""
    try:
        import huggingface_hub
        from huggingface_hub import constants
    except ImportError as error:
        raise _missing(error) from error
    wanted = [*_WANTED, *(["*.py"] if code else [])]
    # Anything may stand between here and the hub; each attempt says why it failed.
    reasons: list[str] = []
    for local in (True, False):
        try:
            fetched: Any = huggingface_hub.snapshot_download(  # pyright: ignore[reportUnknownMemberType] - Untyped there.
                name, allow_patterns=wanted, local_files_only=local
            )
            found = Path(fetched)
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
            continue
        if (found / "config.json").is_file():
            return found
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


def _check_weights(folder: Path, shown: str) -> None:
    """Refuse pickles and half-fetched models before anything is opened."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = cast(dict[str, Any], json.loads(index.read_bytes()))["weight_map"].values()
            wanted = sorted({str(shard) for shard in shards})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ExplorerError(
                f"{index} is not the index of a model's weights.",
                remedy="Fetch the model again.",
                evidence={"path": str(index)},
            ) from error
        lacking = [shard for shard in wanted if not (folder / shard).is_file()]
        if lacking:
            raise ExplorerError(
                f"The model {shown!r} in {folder} lacks {len(lacking)} of {len(wanted)} files of "
                f"weights, {lacking[0]} first.",
                remedy="Fetch the model again: it may have broken off.",
                evidence={"missing": tuple(lacking)},
            )
        return
    if any(folder.glob("*.safetensors")):
        return
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED)
    if pickled:
        raise ExplorerError(
            f"The model {shown!r} in {folder} has its weights only as {pickled[0]}, a pickle, "
            f"which can run any code when it is opened.",
            remedy="Use a model with safetensors weights, or convert it where you trust it.",
            evidence={"files": tuple(pickled)},
        )
    raise ExplorerError(
        f"The model {shown!r} has no weights: no *.safetensors file in {folder}.",
        remedy=(
            "Make it with `python -m tools.tiny.train`."
            if folder == FOLDER
            else f"Fetch the whole model. {_TRY_TINY}"
        ),
        evidence={"folder": str(folder), "files": _some(folder)},
    )


def _some(folder: Path) -> tuple[str, ...]:
    names: Iterable[str] = (path.name for path in folder.iterdir())
    return tuple(sorted(names)[:20])


def _missing(error: ImportError) -> MissingDependency:
    return MissingDependency(
        f"A language model needs transformers, and importing it failed: {error}.",
        remedy="Install the extra `models` of this package.",
        evidence={"library": error.name or ""},
    )
