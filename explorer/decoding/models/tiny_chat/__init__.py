"""The embedded model of phases: it reasons, calls tools and answers, in the markup of two families.

It has the weights and the tokens of the first one to begin with, and control tokens such as
``<think>`` and ``<|channel|>``. `FOLDER` holds everything that transformers needs, with a chat
template for each markup. `MODEL_CARD.md` beside it says what it was trained on and what was
measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the weights, the configuration and the tokenizer are."""
