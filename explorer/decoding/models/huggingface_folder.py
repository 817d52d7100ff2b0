"""Opens the folder of a causal language model of transformers: its tokenizer and its weights.

A configuration that does not fit the weights is an error, unless the caller says ``strict=False``:
transformers initialises missing weights randomly and ignores unexpected ones, so the model would
run as a different one.
"""

# transformers is typed loosely: its models and tokenizers are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.initialization import no_init_weights
from transformers.utils import logging

from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.errors import ExplorerError


def open_folder(
    folder: Path,
    name: str,
    device: torch.device,
    dtype: torch.dtype | None,
    trust_remote_code: bool,
    strict: bool,
) -> HuggingFaceModel:
    """Load the model and the tokenizer of a folder, with weights from safetensors only.

    Args:
        dtype: The type of the weights; ``None`` for that of the file.
        strict: Whether weights that do not fit the configuration are an error; otherwise the
            model's name states the misfit.

    Raises:
        ExplorerError: Weights are missing or unexpected. Everything else is the library's error.
    """
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, **common)
    with _quiet():
        config: Any = AutoConfig.from_pretrained(folder, **common)
        if not trust_remote_code:  # A model's own code may give settings another meaning.
            _check_code(config, folder, name)
            _check_size(config, folder, name)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            dtype=dtype or "auto",
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # So that they are reported like the other misfits.
            **common,
        )
    model, info = loaded
    misfits = _misfits(info)
    if misfits and strict:
        listed = "; ".join(
            f"{len(keys)} {kind} ({keys[0]}{', …' if len(keys) > 1 else ''})"
            for kind, keys in misfits.items()
        )
        raise ExplorerError(
            f"The weights of the model {name!r} in {folder} do not fit its config.json: {listed}.",
            remedy="Fetch the model again, with the config.json that it was saved with. "
            "strict=False loads it all the same: with random weights for what is missing or of "
            "another shape, and without what is not expected.",
            evidence=dict(misfits),
        )
    if misfits:
        counts = ", ".join(f"{len(keys)} weights {kind}" for kind, keys in misfits.items())
        name = f"{name} (strict=False: {counts})"
    return HuggingFaceModel(model.to(device).eval(), tokenizer, name)


_OLD_TABLE: Final = re.compile(
    r"(^|\.)(attn|attention)\.(bias|masked_bias)$|(^|\.)rotary_emb\.inv_freq$|(^|\.)position_ids$"
)
"""Names of tables that older releases stored beside the weights; the configuration gives them."""


def _misfits(info: dict[str, Any]) -> dict[str, list[str]]:
    """The weights on which files and configuration disagree, by kind."""
    kinds = {
        "missing": list(info["missing_keys"]),
        "not expected": [key for key in info["unexpected_keys"] if not _OLD_TABLE.search(key)],
        "of another shape": [
            f"{key}: {list(file)} in the file, {list(model)} in the model"
            for key, file, model in info["mismatched_keys"]
        ],
    }
    return {kind: sorted(keys) for kind, keys in kinds.items() if keys}


def _check_code(config: Any, folder: Path, name: str) -> None:
    """Refuse pickles by the name of weights, and kernels from the hub: both are code."""
    index = folder / "model.safetensors.index.json"
    named: list[object] = [getattr(config, "transformers_weights", None) or "*.safetensors"]
    if index.is_file():
        named += json.loads(index.read_bytes())["weight_map"].values()
    code = [file for file in named if not str(file).endswith(".safetensors")]
    kernel: object = getattr(config, "_attn_implementation", None)
    if isinstance(kernel, str) and "/" in kernel:
        code.append(kernel)
    if code:
        raise ExplorerError(
            f"The model {name!r} in {folder} asks for files that can be code: {code[0]!r}.",
            remedy="Use a model with safetensors weights, without attn_implementation in its "
            "config.json, or convert it where you trust it.",
            evidence={"files": tuple(code)},
        )


def _check_size(config: Any, folder: Path, name: str) -> None:
    """Refuse a configuration of a much larger model than the files, before memory is allocated."""
    if getattr(config, "quantization_config", None) is not None:
        return  # Several weights may be packed into one number.
    held = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    asked = layers * 100  # The header of a file names the tensors of each layer.
    if asked <= held:
        with torch.device("meta"), no_init_weights():
            empty: Any = AutoModelForCausalLM.from_config(config)
        asked = sum(weights.numel() for weights in empty.parameters()) - 10**7
    if held and asked > held:
        raise ExplorerError(
            f"The weights of the model {name!r} in {folder} do not fit its config.json: the files "
            f"hold {held:,} bytes, too few for {layers:,} layers of the sizes that it gives.",
            remedy="Fetch the model again, with the config.json that it was saved with.",
            evidence={"layers": layers, "bytes": held},
        )


@contextmanager
def _quiet() -> Generator[None]:
    """Silence the library's progress bars and its repetition of our messages for a while."""
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
