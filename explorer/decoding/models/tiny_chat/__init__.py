"""The embedded model for phases: it reasons, calls tools and answers in the markup of two families.

It was trained from the weights and tokens of the first model, with additional control tokens such
as ``<think>`` and ``<|channel|>``. `FOLDER` holds everything that transformers needs, with a chat
template for each markup. `MODEL_CARD.md` beside it describes its training data and measurements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""The folder of the weights, the configuration and the tokenizer."""
