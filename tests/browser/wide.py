"""A model of real size where it counts for a page: 131,072 logits, and a context of 2,048 tokens.

A transformers Llama of random weights, 16 numbers wide, over Mistral's Tekken as `mistral-common`
ships it. What it writes means nothing; what it costs to show is what it costs with any model of
this vocabulary, the model's own time apart, which each position records.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import torch
import transformers

from benchmarks.vocabularies import tekken_131k
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.model import Prompt, Reading
from explorer.vocabulary import Vocabulary


class Wide:
    """The model; its prompt is written byte by byte, since Tekken's merges are not needed here."""

    name = "random weights"

    def __init__(self) -> None:
        self._vocabulary = tekken_131k()
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=len(self._vocabulary),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=2048,
        )
        made = cast(Any, transformers).LlamaForCausalLM(config).eval()
        self._model = HuggingFaceModel(made, _Named(), self.name, self._vocabulary)

    @property
    def vocabulary(self) -> Vocabulary:
        """Tekken: 131,072 ids."""
        return self._vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """A beginning-of-text token, then a token per byte."""
        text = prompt if isinstance(prompt, str) else ""
        single = {data: token for token, data in enumerate(self._vocabulary.tokens) if data}
        return (1, *(single[bytes([byte])] for byte in text.encode()))

    def read(self, tokens: Any) -> Reading:
        """As the transformers model says."""
        return self._model.read(tokens)


class _Named:
    """The members that the adapter needs of a tokenizer that it never calls."""

    name_or_path = "tekken"


@cache
def wide() -> Wide:
    """The model, made once per process."""
    return Wide()
