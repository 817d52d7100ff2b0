"""The paper's toy: the vocabulary {f, oo, foo, for, food}, ``(foo)+d``, and hand-set probabilities.

Everything of it fits on one screen, so it is where one sees what a mask does. The model is a table
from the last characters of the text to six probabilities, set by hand so that each kind of
mask occurs: an impossible first byte, an impossible later byte, an end that comes too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import torch

from explorer.automata.constraint import Constraint, regex
from explorer.decoding.models.model import Prompt, Reading
from explorer.vocabulary import Vocabulary

PATTERN: Final = "(foo)+d"
TOKENS: Final = (b"f", b"oo", b"foo", b"for", b"food")
EOS: Final = len(TOKENS)

# Per cent for f, oo, foo, for, food, EOS. The longest ending that fits decides.
_TABLE: Final[dict[bytes, tuple[float, ...]]] = {
    b"": (16, 7, 31, 24, 18, 4),
    b"f": (4, 58, 12, 14, 8, 4),
    b"foo": (8, 6, 34, 20, 22, 10),
    b"foofoo": (6, 8, 20, 16, 38, 12),
    b"foofoofoo": (4, 5, 9, 10, 60, 12),
    b"d": (6, 4, 12, 12, 6, 60),
}


class ToyModel:
    """A language model that is a table; see the module.

    Example:
        >>> model = ToyModel()
        >>> foo = 2
        >>> [round(100 * p) for p in model.read([foo]).logits.softmax(0).tolist()]
        [8, 6, 34, 20, 22, 10]
    """

    @property
    def name(self) -> str:
        """What to call it."""
        return "toy"

    @property
    def vocabulary(self) -> Vocabulary:
        """Five tokens and the end of text."""
        return _vocabulary()

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """No ids: the toy has no prompt.

        Args:
            prompt: Left aside.
        """
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        """The table's row for the text so far.

        Args:
            tokens: Ids.
        """
        text = b"".join(TOKENS[token] for token in tokens if 0 <= token < EOS)
        ending = max((key for key in _TABLE if text.endswith(key)), key=len)
        return Reading(torch.tensor(_TABLE[ending]).log(), len(tokens))


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary.from_bytes([*TOKENS, None], eos_ids=[EOS])


def toy_constraint() -> Constraint:
    """``(foo)+d``."""
    return regex(PATTERN)
