"""The small sister of the first embedded model: same tokenizer, a quarter of the weights.

It proposes tokens for the first one in speculative decoding (`explorer.decoding.speculation`).
`FOLDER` holds everything that transformers needs. `MODEL_CARD.md` beside it says what was measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the weights, the configuration and the tokenizer are."""
