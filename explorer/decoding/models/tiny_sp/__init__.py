"""The second embedded model: the same kind of text under a SentencePiece-style tokenizer.

`FOLDER` holds everything that transformers needs, as for the first model. Only the tokenizer
differs: a space is ``▁`` and belongs to the next word, one is put before every text, each digit is
a token of its own, and a character without a token is written as its bytes (``<0x0A>``).
`MODEL_CARD.md` beside it describes its training data and measurements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""The folder of the weights, the configuration and the tokenizer."""
