"""The tokenizer of the tiny model: byte-level BPE of 4,000 tokens, punctuation merged.

All 256 bytes are tokens, so every text can be written and there is no unknown token. The
pre-tokenizer is the one of the large models of 2023–24 in spirit (a word takes the character
before it along; digits go in groups of at most three; a run of punctuation is one piece) with
one addition: a run of punctuation may hold single spaces, so that ``": "`` becomes one token and
tokens cross the boundaries of JSON's syntax in every direction.

Specials: ``<|startoftext|>`` (put before every text), ``<|endoftext|>``, and the three marks of the
chat template. Training takes a few seconds and gives the same merges every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer

from models.documents import (
    ASSISTANT,
    END_OF_TEXT,
    END_OF_TURN,
    SPECIAL_TOKENS,
    START,
    USER,
)

VOCABULARY_SIZE: Final = 4000

PIECES: Final = (
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+"  # a word, with the character before it
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+(?: [^\s\p{L}\p{N}]+)*[\r\n]*"  # punctuation, single spaces inside
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"  # indentation, all but its last space
    r"|\s+"
)
"""What a token may span, as an Oniguruma pattern."""

CHAT_TEMPLATE: Final = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + USER + "{{ message['content'] }}" + END_OF_TURN +
    "{% elif message['role'] == 'assistant' %}"
    + ASSISTANT + "{{ message['content'] }}" + END_OF_TURN +
    "{% else %}{{ raise_exception('the roles are user and assistant') }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + ASSISTANT + "{% endif %}"
)  # fmt: skip


def train_tokenizer(texts: Iterable[str], size: int = VOCABULARY_SIZE) -> Tokenizer:
    """Learn the merges.

    Args:
        texts: The texts of the documents for training.
        size: The number of tokens, the 256 bytes and the specials included.

    Returns:
        The tokenizer; its ids 0 to 4 are `SPECIAL_TOKENS`.

    Raises:
        ValueError: The texts hold too few different pieces for so many tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        show_progress=False,
        special_tokens=[AddedToken(token, special=True) for token in SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    # The marks of a chat are tokens already; their letters should not be learned as text.
    marks = re.compile("|".join(map(re.escape, SPECIAL_TOKENS)))
    parts = (part for text in texts for part in marks.split(text))
    tokenizer.train_from_iterator(parts, trainer=trainer)
    if tokenizer.get_vocab_size() != size:
        raise ValueError(
            f"the texts give {tokenizer.get_vocab_size()} tokens, not {size}: give more texts "
            f"or ask for fewer tokens"
        )
    start = tokenizer.token_to_id(START)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", pair=f"{START} $A {START} $B", special_tokens=[(START, start)]
    )
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``, as transformers reads them.

    Args:
        tokenizer: The trained tokenizer.
        folder: The target; it must exist.
        max_length: The longest text the model takes, in tokens.
    """
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": START,
        "eos_token": END_OF_TEXT,
        "pad_token": END_OF_TEXT,
        "additional_special_tokens": [USER, ASSISTANT, END_OF_TURN],
        "model_max_length": max_length,
        # Batches of prompts must end in the same column for generation.
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
