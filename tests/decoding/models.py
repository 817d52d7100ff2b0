"""Language models for tests: small real transformers, and one that is a hash.

The transformers have a few thousand random weights and a real byte-level tokenizer. The hash shows
that any object will do; it is fast enough for thousands of sessions and for wide vocabularies.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.model import Prompt, Reading
from explorer.vocabulary import Vocabulary

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    'the answer is "yes", and {"name": "Ada", "age": 36}',
    "2024-05-06 and 192.168.0.1, and yes or no or maybe",
    "foo food foofood for the fool",
]
TEMPLATE = (
    "<s>{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


@cache
def tokenizer() -> Any:
    """About 400 tokens; <s> before every text, </s> ends one, <end> is the generation config's."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["<s>", "</s>", "<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(TEXTS * 3, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    wrapped = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    wrapped.chat_template = TEMPLATE
    return wrapped


SMALL: dict[str, Any] = {
    "vocab_size": 448,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 256,
}


def config(kind: str) -> Any:
    if kind == "llama":
        return transformers.LlamaConfig(**SMALL)
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=448, n_embd=32, n_layer=3, n_head=2, n_positions=256
        )
    if kind == "mistral":
        return transformers.MistralConfig(**SMALL, sliding_window=6)
    if kind == "gemma2":
        return transformers.Gemma2Config(**SMALL, sliding_window=6, query_pre_attn_scalar=16)
    if kind == "gemma3":
        return transformers.Gemma3TextConfig(
            **SMALL,
            sliding_window=6,
            query_pre_attn_scalar=16,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        )
    if kind == "qwen3_next":
        return transformers.Qwen3NextConfig(
            **SMALL,
            layer_types=["linear_attention", "full_attention", "linear_attention"],
            linear_num_key_heads=2,
            linear_num_value_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            num_experts=0,
            mlp_only_layers=[0, 1, 2],
        )
    if kind == "openai-gpt":
        return transformers.OpenAIGPTConfig(
            vocab_size=448, n_embd=32, n_layer=2, n_head=2, n_positions=256
        )
    if kind == "mamba":
        return transformers.MambaConfig(
            vocab_size=448, hidden_size=32, num_hidden_layers=2, state_size=8
        )
    raise ValueError(kind)


KINDS = ("llama", "gpt2", "mistral", "gemma2", "gemma3")
LINEAR = "qwen3_next"
WITHOUT_CACHE = ("openai-gpt", "mamba")


@cache
def language_model(kind: str = "llama") -> HuggingFaceModel:
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config(kind)).eval()
    with torch.no_grad():
        # Random weights are so small that every token is about as likely; sharpen them.
        for name, weights in made.named_parameters():
            if weights.dim() == 2:
                weights.mul_(4.0 if "embed" not in name and "wte" not in name else 12.0)
    made.generation_config.eos_token_id = [1, 2]
    return HuggingFaceModel(made, tokenizer(), kind)


SMALL_TOKENS = [
    b"f", b"oo", b"foo", b"for", b"food", b"d", b"o", b"yes", b"no", b", ", b"y", b"e", b"s", b"n",
    b"\xc3", b"\xa9", "é".encode(), b"1", b"2", b"12", b"-", b"<", b"foo",
]  # fmt: skip


class HashModel:
    """Logits that are a hash of the ids: wide, uneven, and the same on every machine."""

    def __init__(self, vocabulary: Vocabulary, *, extra: int = 3, scale: float = 3.0) -> None:
        self.name = "hash"
        self.vocabulary = vocabulary
        self.reads = 0
        self._width = len(vocabulary) + extra
        self._scale = scale

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return tuple(str(prompt).encode())

    def read(self, tokens: Sequence[int]) -> Reading:
        self.reads += 1
        rng = np.random.default_rng(zlib.crc32(repr(tuple(tokens)).encode()))
        logits = rng.standard_normal(self._width) * self._scale
        return Reading(torch.from_numpy(logits.astype(np.float32)), 1)


def hash_model() -> HashModel:
    return HashModel(Vocabulary.from_bytes([*SMALL_TOKENS, None, None], eos_ids=[23]))


class Fixed:
    """A language model that answers with whatever it was made with."""

    def __init__(
        self, vocabulary: Any, reading: object, ids: object = (), name: Any = "odd"
    ) -> None:
        self.name, self.vocabulary, self._reading, self._ids = name, vocabulary, reading, ids

    def encode_prompt(self, prompt: object) -> Any:
        return self._ids

    def read(self, tokens: Sequence[int]) -> Any:
        return self._reading
