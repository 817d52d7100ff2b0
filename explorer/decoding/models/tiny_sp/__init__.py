"""The second embedded model: the same kind of text under a SentencePiece-style tokenizer.

`FOLDER` holds everything that transformers needs, as for the first one. What differs is the
tokenizer: a space is ``▁`` and belongs to the word after it, one is put before every text, each
digit is a token of its own, and a character without a token is written as its bytes
(``<0x0A>``). `MODEL_CARD.md` beside it says what it was trained on and what was measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the weights, the configuration and the tokenizer are."""
