"""Models that are small enough to be read: a vocabulary and a table of probabilities.

Without arguments `ToyModel` is the paper's toy: the vocabulary {f, oo, foo, for, food}, for
``(foo)+d``, and probabilities that were set by hand. All of it fits on one screen, so the effect of
a mask can be seen. It is a table from the last characters of the text to six probabilities, chosen
so that each kind of masked token occurs: an impossible first byte, an impossible later byte, and an
end that comes too early.

With ``tokens`` it is a toy with your own vocabulary and weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import torch

from explorer.arguments import (
    listed,
    mapped,
    real_number,
    whole_number,
    whole_text,
    wrong,
)
from explorer.decoding.models.model import Prompt, Reading
from explorer.languages.constraint import Constraint, regex
from explorer.vocabulary import Vocabulary

PATTERN: Final = "(foo)+d"
TOKENS: Final = (b"f", b"oo", b"foo", b"for", b"food")
EOS: Final = len(TOKENS)

Weights = Mapping[bytes, float] | Mapping[str, float] | Mapping[bytes | str, float]
"""A weight for each token, by its bytes or its text."""

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
    """A language model that is a table: weights of tokens by the last characters of the text.

    It can be used wherever the toolkit takes a language model, and it ignores the prompt.

    Args:
        tokens: The vocabulary and the weight of each token, by its bytes or its text. The weights
            need not add up to one. Default: the paper's toy.
        end: The weight of the end of text, which has the last id.
        after: Other weights after some endings of the text; the longest ending that fits decides.
            A token that is left out has the weight 0, and ``""`` stands for the end of text.

    Raises:
        ExplorerError: There is no token, a token is empty, or a weight is not a number of at least
            0.

    Example:
        >>> model = ToyModel()
        >>> foo = 2
        >>> [round(100 * p) for p in model.read([foo]).logits.softmax(0).tolist()]
        [8, 6, 34, 20, 22, 10]
        >>> own = ToyModel({"f": 0.1, "oo": 0.5, "d": 0.3}, end=0.1, after={"f": {"oo": 1}})
        >>> own.vocabulary.tokens[:3]
        (b'f', b'oo', b'd')
        >>> own.read([0]).logits.softmax(0).tolist()
        [0.0, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        tokens: Weights | None = None,
        *,
        end: float = 0.1,
        after: Mapping[bytes, Weights] | Mapping[str, Weights] | None = None,
    ) -> None:
        if tokens is None:
            self._tokens, self._table = TOKENS, _TABLE
            return
        first = _weights("tokens", tokens)
        if not first or b"" in first:
            raise wrong("tokens", tokens, "a dict from tokens, which are not empty, to weights")
        self._tokens = tuple(first)
        rows = {b"": {**first, b"": _weight("end", end)}}
        for ending, weights in _items("after", {} if after is None else after):
            rows[ending] = _weights("after", weights)
        self._table = {ending: self._row(row) for ending, row in rows.items()}

    def _row(self, weights: Mapping[bytes, float]) -> tuple[float, ...]:
        unknown = set(weights) - {*self._tokens, b""}
        row = tuple(weights.get(token, 0.0) for token in (*self._tokens, b""))
        if unknown or not sum(row) > 0:
            raise wrong("weights", dict(weights), "weights of the toy's own tokens, not all 0")
        return row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToyModel) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self._tokens)

    @property
    def name(self) -> str:
        """The name of the model, for display."""
        return "toy"

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens, and the end of text after them."""
        return _vocabulary(self._tokens)

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """No ids, because a toy ignores the prompt."""
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        """The table's row for the text so far.

        Args:
            tokens: The ids of the text so far.

        Returns:
            A reading whose ``logits`` are the logarithms of the probabilities, float32[tokens].

        Raises:
            ExplorerError: The ids are not a list of whole numbers from 0 on.
        """
        known = self._tokens
        ids = [whole_number("token", token) for token in listed("tokens", tokens, "a list of ids")]
        text = b"".join(known[token] for token in ids if token < len(known))
        ending = max((key for key in self._table if text.endswith(key)), key=len)
        return Reading(torch.tensor(self._table[ending]).log(), len(ids))


def _items(name: str, given: object) -> list[tuple[bytes, Any]]:
    """The entries of a dict whose keys are texts or bytes."""
    wanted = "a dict from tokens to weights"
    pairs = mapped(name, given, wanted).items()
    return [(key if isinstance(key, bytes) else _encoded(name, key), value) for key, value in pairs]


def _encoded(name: str, key: object) -> bytes:
    return whole_text(f"A token of {name}", key, remedy="Give its text or its bytes.").encode()


def _weights(name: str, given: object) -> dict[bytes, float]:
    return {token: _weight(name, weight) for token, weight in _items(name, given)}


def _weight(name: str, weight: object) -> float:
    wanted = "a weight, a number from 0 on, for each token"
    number = real_number(name, weight, wanted)
    if not 0 <= number < math.inf:
        raise wrong(name, weight, wanted)
    return number


@lru_cache(maxsize=16)
def _vocabulary(tokens: tuple[bytes, ...]) -> Vocabulary:
    return Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def toy_constraint() -> Constraint:
    """``(foo)+d``."""
    return regex(PATTERN)
