"""The embedded model: a small language model that travels with the package.

`FOLDER` holds everything that transformers needs (``AutoModelForCausalLM.from_pretrained(FOLDER)``
and ``AutoTokenizer.from_pretrained(FOLDER)``), so lessons and tests step through a real model on
a machine with no network. `MODEL_CARD.md` beside it says what the model knows and what was
measured on it. `tools/tiny` in the repository makes it again from nothing.

It is a teaching object. It has no knowledge beyond its tables and answers nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the weights, the configuration and the tokenizer are."""
