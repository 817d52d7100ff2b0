"""The embedded draft model: the tokenizer of the first model and a quarter of its weights.

It proposes tokens for the first one in speculative decoding (`explorer.decoding.speculation`).
`FOLDER` holds everything that transformers needs. `MODEL_CARD.md` beside it has the measurements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""The folder of the weights, the configuration and the tokenizer."""
