"""The weights in which a model's files and its configuration differ.

transformers loads such a model all the same: it makes up what is missing, leaves out what it does
not expect, and prints a table. The model then runs and is another one, without an error anywhere.
So the differences are an error here, unless the caller says otherwise; then they are part of the
model's name, which traces keep.

Not a difference: what the library itself knows to ignore (tied embeddings, which are stored once),
and tables that older releases stored beside the weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from explorer.errors import ExplorerError

_LISTED: Final = 5
"""How many weights an error names of each kind; its evidence has all."""

_OLD_BUFFER: Final = re.compile(
    r"(^|\.)(attn|attention)\.(bias|masked_bias)$|(^|\.)rotary_emb\.inv_freq$|(^|\.)position_ids$"
)
"""Tables that older releases wrote beside the weights: causal masks, positions, rotations.

They follow from the configuration. A weight of that name would be *missing* from a file if it were
one of the model's.
"""


@dataclass(frozen=True)
class Misfits:
    """The weights in which a model's files and its configuration differ.

    Args:
        missing: Weights of the model that no file holds; they would be random.
        unexpected: Weights of the files that the model lacks; they would be left out.
        mismatched: Weights of another shape, with both shapes; they would be random.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Misfits:
        """The differences that transformers reports about a load.

        Args:
            info: What ``output_loading_info=True`` gives.
        """
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
        """Whether there are any differences."""
        return bool(self.missing or self.unexpected or self.mismatched)

    @property
    def counts(self) -> str:
        """Count the differences of each kind."""
        return ", ".join(f"{len(keys)} weights {kind}" for kind, keys in self._kinds())

    def error(self, folder: Path, name: str) -> ExplorerError:
        """The error that lists them.

        Args:
            folder: The model's.
            name: What to call it.
        """
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
