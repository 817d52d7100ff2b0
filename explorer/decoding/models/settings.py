"""The settings of a configuration that no model can have, found before the model is built.

Some of them the library takes without a word: a model whose positions rotate by a factor of -2 or
whose norms divide by NaN loads, and writes nonsense or nothing. Others it meets as a division by
zero somewhere inside. Here each is refused by its name.

What is merely another value than the one of the training (another activation, another base of the
rotation, more positions than there were) makes a model that runs and is another one. No file says
so, and it cannot be told from here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from explorer.arguments import shown
from explorer.errors import ExplorerError


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COUNTS: Final = _names(
    "vocab_size hidden_size n_embd d_model intermediate_size n_inner ffn_dim "
    "num_attention_heads n_head num_heads num_key_value_heads head_dim "
    "max_position_embeddings n_positions n_ctx max_seq_len sliding_window num_experts "
    "num_local_experts num_experts_per_tok original_max_position_embeddings"
)
"""Whole numbers from 1 on; ``null`` leaves the choice to the library. A wrong number of layers
shows in the weights."""

_AMOUNTS: Final = _names(
    "rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_epsilon norm_eps "
    "rope_theta rotary_emb_base rotary_pct partial_rotary_factor rope_local_base_freq factor "
    "low_freq_factor high_freq_factor attention_factor beta_fast beta_slow "
    "short_factor long_factor"
)
"""Finite numbers above 0, or lists of them."""

_ACTIVATIONS: Final = frozenset(("hidden_act", "hidden_activation", "activation_function"))
"""Names of functions."""

_NESTED: Final = frozenset(("text_config", "language_config", "llm_config", "decoder"))
"""Configurations of a part of the model that writes text."""

_ROTATIONS: Final = frozenset(("rope_parameters", "rope_scaling"))
"""How positions rotate: a mapping, or one for each kind of layer."""

_DEEPEST: Final = 4


def check_settings(folder: Path, name: str, activations: Collection[str]) -> None:
    """Refuse a configuration with a setting that no model can have.

    Args:
        folder: The model's.
        name: What to call the model.
        activations: The names of functions that the library knows.

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
    """The settings that cannot be: where, what, and what should stand there."""
    if not isinstance(config, dict) or depth > _DEEPEST:
        return
    for key, value in cast("Mapping[str, object]", config).items():
        here = f"{place}{key}"
        # Below the top everything is looked at: rotations are given for each kind of layer.
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
    # Some layers have other sizes than the rest.
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(type(one) is int and one > 0 for one in values)


def _is_amount(value: object) -> bool:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(type(one) in (int, float) and 0 < cast("float", one) < math.inf for one in values)
