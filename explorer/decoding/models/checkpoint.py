"""Checks a model's files: weights before they are opened, settings before the model is built.

Weights are read only from safetensors files, because the older files are pickles, which can execute
code; and only from the model's own folder, because an index is a text that could name any file of
the machine. A folder of the Hugging Face cache keeps its files in ``blobs`` beside ``snapshots``
and links to them; a link may lead to no other place outside the folder.

A valid setting that differs from the training (another activation, another rotary base, more
positions) gives a model that runs but is a different one. No file shows this, so it cannot be
detected.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final, cast

from safetensors import safe_open  # pyright: ignore[reportUnknownVariableType] - Untyped there.

from explorer.arguments import shown
from explorer.errors import ExplorerError

SUFFIX: Final = ".safetensors"
INDEX: Final = "model.safetensors.index.json"

_PICKLED: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_FETCH_AGAIN: Final = "Fetch the model again."


def check_weights(folder: Path, shown: str, remedy: str) -> None:
    """Refuse pickles, files outside the folder, and incomplete downloads.

    Raises:
        ExplorerError: A file of weights is missing, of another format or elsewhere; the message
            names it.
    """
    _check_config(folder, shown)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        _check_place(path, folder, shown)
        _check_form(path, folder, shown, remedy)
    # The library reads the index only if there is no single file.
    if (folder / INDEX).is_file() and not (folder / "model.safetensors").is_file():
        _check_index(folder / INDEX, folder, shown)
    elif not any(folder.glob(f"*{SUFFIX}")):
        raise _no_weights(folder, shown, remedy)


@dataclass(frozen=True)
class Held:
    """The numbers of tensors and of weights in a folder's files."""

    tensors: int
    numbers: int


def weights_in(folder: Path) -> Held:
    """Count the weights of a folder by reading only the headers of its files.

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
    """The first names of files in a folder, for an error's evidence."""
    names: Iterable[str] = (path.name for path in folder.iterdir())
    return tuple(sorted(names)[:20])


def _check_config(folder: Path, shown: str) -> None:
    """Refuse a configuration that points to other files or to code."""
    try:
        config: object = json.loads((folder / "config.json").read_bytes())
    except (ValueError, OSError, RecursionError):
        return  # The library's own error says what is wrong with it.
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
    """Return the name if it is that of a safetensors file in the folder itself."""
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
    except (
        OSError,
        RuntimeError,
    ) as error:  # A cycle of links is a RuntimeError before Python 3.13.
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
    """Refuse a file of another format with a name for safetensors."""
    try:
        with cast("Any", safe_open(path, framework="numpy")):
            return
    except OSError:
        raise
    except Exception as error:  # The library's own error does not name the file.
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


_LISTED: Final = 5
"""The number of weights of each kind that an error names; its evidence has all."""

_OLD_BUFFER: Final = re.compile(
    r"(^|\.)(attn|attention)\.(bias|masked_bias)$|(^|\.)rotary_emb\.inv_freq$|(^|\.)position_ids$"
)
"""The names of tables that older releases stored beside the weights: masks, positions, rotations.

They follow from the configuration. If the model had a weight of such a name, a file without it
would be reported as *missing* it.
"""


@dataclass(frozen=True)
class Misfits:
    """The weights on which a model's files and its configuration disagree.

    transformers loads such a model anyway: it initialises missing weights randomly, ignores
    unexpected ones, and prints a table. The model then runs as a different one, without an error.
    So disagreements are an error here unless the caller permits them; then they become part of the
    model's name, which traces keep.

    Weights that the library ignores on purpose (tied embeddings, which are stored once) and tables
    that older releases stored beside the weights do not count.

    Args:
        unexpected: Weights of the files that the model lacks; they would be left out.
        mismatched: Weights of another shape, with both shapes; they would be random.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Misfits:
        """The disagreements that transformers reports when loading."""
        shapes = [
            f"{key}: {list(file)} in the file, {list(model)} in the model"
            for key, file, model in info["mismatched_keys"]
        ]
        return cls(
            tuple(sorted(info["missing_keys"])),
            tuple(sorted(key for key in info["unexpected_keys"] if not _OLD_BUFFER.search(key))),
            tuple(sorted(shapes)),
        )

    @property
    def any(self) -> bool:
        """Whether there are any disagreements."""
        return bool(self.missing or self.unexpected or self.mismatched)

    @property
    def counts(self) -> str:
        """The number of weights of each kind, as a phrase."""
        return ", ".join(f"{len(keys)} weights {kind}" for kind, keys in self._kinds())

    def error(self, folder: Path, name: str) -> ExplorerError:
        """The error that lists them."""
        listed = "; ".join(f"{len(keys)} {kind} ({_some(keys)})" for kind, keys in self._kinds())
        return ExplorerError(
            f"The weights of the model {name!r} in {folder} do not fit its config.json: {listed}.",
            remedy=(
                "Fetch the model again, with the config.json that it was saved with. strict=False "
                "loads it all the same: with random weights for what is missing or of another "
                "shape, and without what is not expected."
            ),
            evidence={
                "missing": self.missing,
                "unexpected": self.unexpected,
                "mismatched": self.mismatched,
            },
        )

    def _kinds(self) -> list[tuple[str, tuple[str, ...]]]:
        kinds = [
            ("missing", self.missing),
            ("not expected", self.unexpected),
            ("of another shape", self.mismatched),
        ]
        return [(kind, keys) for kind, keys in kinds if keys]


def _some(keys: tuple[str, ...]) -> str:
    return ", ".join(keys[:_LISTED]) + (", …" if len(keys) > _LISTED else "")


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COUNTS: Final = _names(
    "vocab_size hidden_size n_embd d_model intermediate_size n_inner ffn_dim "
    "num_attention_heads n_head num_heads num_key_value_heads head_dim "
    "max_position_embeddings n_positions n_ctx max_seq_len sliding_window num_experts "
    "num_local_experts num_experts_per_tok original_max_position_embeddings"
)
"""Settings that are whole numbers from 1 on, or ``null`` for the library's default. A wrong number
of layers is detected by the weights."""

_AMOUNTS: Final = _names(
    "rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_epsilon norm_eps "
    "rope_theta rotary_emb_base rotary_pct partial_rotary_factor rope_local_base_freq factor "
    "low_freq_factor high_freq_factor attention_factor beta_fast beta_slow "
    "short_factor long_factor"
)
"""Settings that are finite numbers above 0, or lists of them."""

_ACTIVATIONS: Final = frozenset(("hidden_act", "hidden_activation", "activation_function"))
"""Settings that are names of functions."""

_NESTED: Final = frozenset(("text_config", "language_config", "llm_config", "decoder"))
"""Settings that hold the configuration of the text-generating part of a model."""

_ROTATIONS: Final = frozenset(("rope_parameters", "rope_scaling"))
"""Settings of rotary positions: a mapping, or one for each kind of layer."""

_DEEPEST: Final = 4


def check_settings(folder: Path, name: str, activations: Collection[str]) -> None:
    """Refuse a configuration with an impossible setting.

    The library silently accepts some of them: a model with a rotary factor of -2 or a norm epsilon
    of NaN loads, and generates nonsense or nothing. Others fail as a division by zero somewhere
    inside.

    Raises:
        ExplorerError: A setting is negative, zero, not a finite number, or of another type; the
            message names it.
    """
    try:
        config: object = json.loads((folder / "config.json").read_bytes())
    except (ValueError, OSError, RecursionError):
        return  # The library says what is wrong with it.
    for place, value, wanted in _faults(config, "", activations, 0):
        raise ExplorerError(
            f"The model {name!r} in {folder} cannot be loaded: config.json gives {place} as "
            f"{shown(value)}, which is not {wanted}.",
            remedy="Fetch the model again, with the config.json that it was saved with.",
            evidence={"setting": place, "value": value},
        )


def _faults(
    config: object, place: str, activations: Collection[str], depth: int
) -> Iterator[tuple[str, object, str]]:
    """The impossible settings: the path, the value, and the kind of value expected."""
    if not isinstance(config, dict) or depth > _DEEPEST:
        return
    for key, value in cast("Mapping[str, object]", config).items():
        here = f"{place}{key}"
        # All nested mappings are checked: rotations may be given for each kind of layer.
        nested = key in _NESTED or key in _ROTATIONS or bool(place)
        if value is None:
            continue
        if key in _COUNTS and not _is_count(value):
            yield here, value, "a whole number from 1 on"
        elif key in _AMOUNTS and not _is_amount(value):
            yield here, value, "a finite number above 0"
        elif key in _ACTIVATIONS and not isinstance(value, str):
            yield here, value, "the name of a function"
        elif key in _ACTIVATIONS and value not in activations:
            yield here, value, "a function that this release of transformers knows"
        elif nested:
            yield from _faults(value, f"{here}.", activations, depth + 1)


def _is_count(value: object) -> bool:
    # A list gives different sizes to different layers.
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(type(one) is int and one > 0 for one in values)


def _is_amount(value: object) -> bool:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(type(one) in (int, float) and 0 < cast("float", one) < math.inf for one in values)
