"""The files that hold a model's weights, checked before anything of them is opened.

Weights are read from safetensors files only, because the older files are pickles, which execute
what they hold; and only from the model's own folder, because an index is a text that can name any
file of the machine. A folder of the Hugging Face cache keeps its files in ``blobs`` beside
``snapshots`` and links to them; that is the one place outside a folder that a link may lead to.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final, cast

from safetensors import safe_open  # pyright: ignore[reportUnknownVariableType] - Untyped there.

from explorer.errors import ExplorerError

SUFFIX: Final = ".safetensors"
INDEX: Final = "model.safetensors.index.json"

_PICKLED: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_FETCH_AGAIN: Final = "Fetch the model again."


def check_weights(folder: Path, shown: str, remedy: str) -> None:
    """Refuse pickles, files outside of the folder, and models that were fetched by half.

    Args:
        folder: The model's.
        shown: What to call the model.
        remedy: The remedy for a folder without weights.

    Raises:
        ExplorerError: Some file of weights is missing, of another format or elsewhere; the message
            names it.
    """
    _check_config(folder, shown)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        _check_place(path, folder, shown)
        _check_form(path, folder, shown, remedy)
    # The library reads the index only where there is no single file.
    if (folder / INDEX).is_file() and not (folder / "model.safetensors").is_file():
        _check_index(folder / INDEX, folder, shown)
    elif not any(folder.glob(f"*{SUFFIX}")):
        raise _no_weights(folder, shown, remedy)


@dataclass(frozen=True)
class Held:
    """The sizes of the files of a folder.

    Args:
        tensors: How many tensors.
        numbers: How many numbers in all of them.
    """

    tensors: int
    numbers: int


def weights_in(folder: Path) -> Held:
    """Count the weights of a folder; only the headers of the files are read.

    Args:
        folder: The model's.

    Raises:
        SafetensorError: A file is damaged.
    """
    shapes: list[list[int]] = []
    for path in folder.glob(f"*{SUFFIX}"):
        opened: Any = safe_open(path, framework="numpy")
        with opened as file:
            shapes += [file.get_slice(key).get_shape() for key in file.keys()]  # noqa: SIM118
    return Held(len(shapes), sum(math.prod(shape) for shape in shapes))


def file_names(folder: Path) -> tuple[str, ...]:
    """Some names of files in a folder, for an error's evidence."""
    names: Iterable[str] = (path.name for path in folder.iterdir())
    return tuple(sorted(names)[:20])


def _check_config(folder: Path, shown: str) -> None:
    """Refuse a configuration that points to other files or to code."""
    try:
        config: object = json.loads((folder / "config.json").read_bytes())
    except (ValueError, OSError, RecursionError):
        return  # The library says what is wrong with it.
    if not isinstance(config, dict):
        return
    settings = cast("dict[str, object]", config)
    elsewhere = settings.get("transformers_weights")
    if elsewhere is not None:
        _check_name(elsewhere, folder / "config.json", folder, shown)
    for name in ("attn_implementation", "_attn_implementation"):
        kernel = settings.get(name)
        if isinstance(kernel, str) and "/" in kernel:
            raise ExplorerError(
                f"The model {shown!r} in {folder} asks for code from elsewhere: its config.json "
                f"gives {name} as {kernel!r}.",
                remedy=f"Take {name!r} out of config.json.",
                evidence={name: kernel},
            )
    if (folder / "adapter_config.json").exists():
        raise ExplorerError(
            f"The model {shown!r} in {folder} comes with an adapter (adapter_config.json), which "
            "would be left out.",
            remedy="Merge the adapter into the model and save that, or take the file away.",
            evidence={"file": "adapter_config.json"},
        )


def _check_index(index: Path, folder: Path, shown: str) -> None:
    try:
        weights = cast("dict[str, dict[str, object]]", json.loads(index.read_bytes()))["weight_map"]
        shards = list(weights.values())
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise ExplorerError(
            f"{index} is not the index of a model's weights.",
            remedy=_FETCH_AGAIN,
            evidence={"path": str(index)},
        ) from error
    wanted = sorted({_check_name(shard, index, folder, shown) for shard in shards})
    missing = [shard for shard in wanted if not (folder / shard).is_file()]
    if not wanted:
        raise ExplorerError(
            f"{index} names no weights at all.",
            remedy=_FETCH_AGAIN,
            evidence={"path": str(index)},
        )
    if missing:
        raise ExplorerError(
            f"The model {shown!r} in {folder} lacks {len(missing)} of {len(wanted)} files of "
            f"weights, {missing[0]} first.",
            remedy="Fetch the model again: it may have broken off.",
            evidence={"missing": tuple(missing)},
        )


def _check_name(name: object, source: Path, folder: Path, shown: str) -> str:
    """Check that a name is the name of a safetensors file in the folder itself."""
    plain = (
        isinstance(name, str)
        and name.endswith(SUFFIX)
        and name.isprintable()
        and PurePosixPath(name).name == PureWindowsPath(name).name == name
    )
    if not plain or not isinstance(name, str):
        raise ExplorerError(
            f"{source.name} of the model {shown!r} in {folder} names {name!r} as a file of weights."
            f" Only *{SUFFIX} files of that folder are read: other formats can run any code when "
            "they are opened, and other places are not the model's.",
            remedy="Use a model with safetensors weights, or convert it where you trust it.",
            evidence={"file": name, "index": str(source)},
        )
    return name


def _check_place(path: Path, folder: Path, shown: str) -> None:
    home = folder.resolve()
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # A circle is a RuntimeError before Python 3.13.
        raise ExplorerError(
            f"{path.name} of the model {shown!r} in {folder} is a link that leads to no file: to "
            "one that is not there, or in a circle.",
            remedy="Put the file itself there, or fetch the model again.",
            evidence={"file": path.name},
        ) from error
    places = [home]
    if home.parent.name == "snapshots":
        places.append(home.parent.parent / "blobs")
    if target.parent not in places:
        raise ExplorerError(
            f"{path.name} of the model {shown!r} in {folder} is a link to {target}, outside of "
            "the folder.",
            remedy="Put the file itself there, if it is the model's.",
            evidence={"file": path.name, "target": str(target)},
        )


def _check_form(path: Path, folder: Path, shown: str, remedy: str) -> None:
    """Refuse a file of another format under the name of one of safetensors."""
    try:
        with cast("Any", safe_open(path, framework="numpy")):
            return
    except OSError:
        raise
    except Exception as error:  # The library's own error, which names no file.
        begin = b""
        with suppress(OSError), path.open("rb") as file:
            begin = file.read(4)
        pickled = begin[:1] == b"\x80" or begin == b"PK\x03\x04"
        what = "is a pickle, which can run any code when it is opened" if pickled else "is damaged"
        raise ExplorerError(
            f"The model {shown!r} in {folder} cannot be loaded: {path.name} is not a file of "
            f"safetensors, it {what} ({error}).",
            remedy="Use a model with safetensors weights, or convert it where you trust it."
            if pickled
            else remedy,
            evidence={"file": path.name, "begins": begin.hex()},
        ) from error


def _no_weights(folder: Path, shown: str, remedy: str) -> ExplorerError:
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED)
    if pickled:
        return ExplorerError(
            f"The model {shown!r} in {folder} has its weights only as {pickled[0]}, a pickle, "
            f"which can run any code when it is opened.",
            remedy="Use a model with safetensors weights, or convert it where you trust it.",
            evidence={"files": tuple(pickled)},
        )
    return ExplorerError(
        f"The model {shown!r} has no weights: no *{SUFFIX} file in {folder}.",
        remedy=remedy,
        evidence={"folder": str(folder), "files": file_names(folder)},
    )
