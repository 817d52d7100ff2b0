"""Opens the folder of a causal language model of transformers: its tokenizer and its weights.

A configuration that does not fit the weights is an error before memory is allocated for it, unless
the caller says ``strict=False``.
"""

# transformers is typed loosely: its models and tokenizers are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.activations import ACT2FN
from transformers.initialization import no_init_weights
from transformers.utils import logging

from explorer.decoding.models.checkpoint import Misfits, check_settings, weights_in
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
        ExplorerError: Weights are missing, unexpected, or of another shape.
    """
    if not trust_remote_code:  # A model's own code may give settings another meaning.
        check_settings(folder, name, ACT2FN)
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, **common)
    with _quiet():
        # A model's own code may fail when it is built on the meta device.
        if strict and not trust_remote_code:
            _check_size(AutoConfig.from_pretrained(folder, **common), folder, name)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            use_safetensors=True,
            dtype=dtype or "auto",
            output_loading_info=True,
            # So that they are reported like the other misfits.
            ignore_mismatched_sizes=True,
            **common,
        )
    model, said = loaded
    if strict:
        _check_family(model, folder, name)
    misfits = Misfits.of(said)
    if misfits.any and strict:
        raise misfits.error(folder, name)
    if misfits.any:
        name = f"{name} (strict=False: {misfits.counts})"
    return HuggingFaceModel(model.to(device).eval(), tokenizer, name)


def _check_family(model: Any, folder: Path, name: str) -> None:
    """Refuse a model whose configuration names two different families.

    ``model_type`` decides which class is built, and ``architectures`` names the class that was
    trained; some families share the names of their weights, so only this shows a disagreement.
    """
    for named in getattr(model.config, "architectures", None) or ():
        trained = getattr(transformers, named, None) if isinstance(named, str) else None
        family = getattr(trained, "__module__", "").rpartition(".")[0]
        built = type(model).__module__.rpartition(".")[0]
        if family and built.startswith("transformers.models.") and family != built:
            raise ExplorerError(
                f"The model {name!r} cannot be loaded: config.json says model_type "
                f"{model.config.model_type!r}, which builds a {type(model).__name__}, and that a "
                f"{named} was trained.",
                remedy="Correct one of the two, or give strict=False to load it all the same.",
                evidence={"folder": str(folder), "built": type(model).__name__, "named": named},
            )


def _check_size(config: Any, folder: Path, name: str) -> None:
    """Refuse a configuration of a much larger model than the files, before memory is allocated."""
    if getattr(config, "quantization_config", None) is not None:
        return  # Several weights may be packed into one number.
    files = weights_in(folder)
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    too_many = isinstance(layers, int) and layers > files.tensors
    described = f"{layers:,} layers, and its files hold {files.tensors:,} tensors"
    if not too_many:
        with torch.device("meta"), no_init_weights():
            empty: Any = AutoModelForCausalLM.from_config(config)
        numbers = sum(weights.numel() for weights in empty.parameters())
        too_many = numbers > 2 * files.numbers + 10**7
        described = f"{numbers:,} weights, and its files hold {files.numbers:,}"
    if too_many:
        raise ExplorerError(
            f"The weights of the model {name!r} in {folder} do not fit its config.json: that "
            f"describes {described}.",
            remedy="Fetch the model again, with the config.json that it was saved with.",
            evidence={"layers": layers, "tensors": files.tensors, "numbers": files.numbers},
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
