"""A language model made from a compressor: the fewer bits a token adds, the likelier it is.

Nothing here is learned. Text that zlib finds again in the last 32 kB, the prompt included, costs
few bits, and a code of n bits corresponds to a probability of 2^-n. So with a page of *Moby Dick*
as the prompt, the model continues about whales. It shows that a constraint needs nothing from a
model but a row of numbers.

Cost: one compression per token of the vocabulary and step, about 50 µs each: 0.2 s for 4,000
tokens. Lengths are whole bytes, so many tokens are equally likely.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import torch

from explorer.arguments import instance
from explorer.decoding.models.model import Prompt, Reading
from explorer.errors import ExplorerError
from explorer.tokens.walks.spelling import fewest_tokens
from explorer.tokens.walks.trie import trie_of
from explorer.vocabulary import Vocabulary


class CompressionModel:
    """A `LanguageModel` that computes logits with zlib.

    Args:
        end_bits: The cost of the end of text, in bits.

    Example:
        >>> from explorer import Session, regex
        >>> letters = Vocabulary.from_bytes([bytes([k]) for k in range(32, 127)], eos_ids=[95])
        >>> whale = "Call me Ishmael. Some years ago - never mind how long precisely. "
        >>> model = CompressionModel(letters)
        >>> Session(model, regex("[a-zA-Z ]{8}"), whale * 2 + "Call me").run().text
        ' Ishmael'
    """

    def __init__(self, vocabulary: Vocabulary, end_bits: float = 24.0) -> None:
        self._vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self._end_bits = end_bits

    @property
    def name(self) -> str:
        """The model's name in a trace."""
        return "zlib"

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens."""
        return self._vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """The fewest tokens that spell a prompt; messages count as their texts, line by line.

        Raises:
            ExplorerError: The tokens cannot spell it.
        """
        text = prompt
        if not isinstance(text, str):
            text = "\n".join(message["content"] for message in prompt if isinstance(message, dict))
        ids = fewest_tokens(trie_of(self._vocabulary, None), text.encode()) if text else ()
        if ids is None:
            raise ExplorerError(
                "The tokens of this vocabulary cannot spell the prompt.",
                remedy="Use a vocabulary with a token for each byte.",
            )
        return ids

    def read(self, tokens: Sequence[int]) -> Reading:
        """The logits after some tokens: the negated cost of each next token in nats."""
        known = self._vocabulary.tokens
        packer = zlib.compressobj(9)
        so_far = len(packer.compress(b"".join(known[token] or b"" for token in tokens)))
        before = so_far + len(packer.copy().flush())
        logits = torch.full((len(self._vocabulary),), -math.inf)
        for token, data in enumerate(known):
            if data:
                with_token = packer.copy()
                bits = 8 * (
                    so_far + len(with_token.compress(data)) + len(with_token.flush()) - before
                )
                logits[token] = -bits * math.log(2)
        logits[list(self._vocabulary.eos_ids)] = -self._end_bits * math.log(2)
        return Reading(logits, len(tokens))
