"""The first embedded model: a small language model shipped with the package.

`FOLDER` holds everything that transformers needs (``AutoModelForCausalLM.from_pretrained(FOLDER)``
and ``AutoTokenizer.from_pretrained(FOLDER)``), so lessons and tests can use a real model on a
machine without a network. `MODEL_CARD.md` beside it describes its training data and measurements.
`models` in the repository trains it from scratch.

It is a teaching object: it knows nothing beyond the facts in its training data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""The folder of the weights, the configuration and the tokenizer."""
