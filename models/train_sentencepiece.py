"""The tokenizer of the second tiny model: BPE as SentencePiece writes it, 4,000 tokens.

The form is that of Llama 2. A text gets ``▁`` in front and for each space; nothing splits it
before the merges; a character that is not a token is written as its UTF-8 bytes (``<0x0A>``).
What a token may span is decided while the merges are learned, as SentencePiece decides it: a word
with the ``▁`` before it, one digit (so that a number after a space begins with a lone ``▁``), a
run of punctuation, a run of ``▁``.

Specials: ``<unk>``, ``<s>`` (put before every text), ``</s>``, and the three marks of the chat
template of the first model. Training takes a few seconds and gives the same merges every time.
"""

# tokenizers types its lists loosely.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from tokenizers.trainers import BpeTrainer

from models.documents import ASSISTANT, END_OF_TURN, SPECIAL_TOKENS, USER
from models.train_tokenizer import CHAT_TEMPLATE, VOCABULARY_SIZE

UNKNOWN: Final = "<unk>"
BEGIN: Final = "<s>"
END: Final = "</s>"

SPECIALS: Final = (UNKNOWN, BEGIN, END, USER, ASSISTANT, END_OF_TURN)
"""The special tokens, in the order of their ids from 0."""

BYTES: Final = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The byte tokens, after the special ones."""

CHARACTERS: Final = 96
"""The number of the most frequent characters that are tokens; others are written as bytes."""

UMLAUTS: Final = "äöüß"
"""Tokens regardless of their frequency: German is asked for more often than the texts hold it."""

PIECES: Final = (
    r"▁?[\p{L}\p{M}]+"  # a word, with the space before it
    r"|\p{N}"  # each digit alone, without its space
    r"|▁?[^▁\s\p{L}\p{N}]+"  # punctuation
    r"|▁+"
)
"""What a token may span, as an Oniguruma pattern over the normalized text."""


def train_sentencepiece(texts: Iterable[str], size: int = VOCABULARY_SIZE) -> Tokenizer:
    """Learn the merges.

    Args:
        texts: The texts of the documents for training.
        size: The number of tokens, the 256 bytes and the specials included.

    Returns:
        The tokenizer; its ids 0 to 5 are `SPECIALS`, 6 to 261 `BYTES`.

    Raises:
        ValueError: The texts hold too few different pieces for so many tokens.
    """
    reserved = len(SPECIALS) + len(BYTES)
    # A mark ends a piece of text, which gets a "▁" in front; the end of a line is a byte.
    marks = re.compile("|".join(map(re.escape, SPECIAL_TOKENS)))
    lines = [
        line
        for text in texts
        for part in marks.split(text)
        if part
        for line in f"▁{part}".replace(" ", "▁").split("\n")
    ]
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    trainer = BpeTrainer(
        vocab_size=size - reserved,
        min_frequency=2,
        show_progress=False,
        limit_alphabet=CHARACTERS,
        initial_alphabet=_alphabet(lines),
    )
    learner.train_from_iterator(lines, trainer=trainer)
    learned: dict[str, Any] = json.loads(learner.to_str())["model"]
    if len(learned["vocab"]) != size - reserved:
        raise ValueError(
            f"the texts give {len(learned['vocab']) + reserved} tokens, not {size}: give more "
            f"texts or ask for fewer tokens"
        )
    pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    names = [*SPECIALS, *BYTES, *pieces]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={name: i for i, name in enumerate(names)},
            merges=[(left, right) for left, right in learned["merges"]],
            unk_token=UNKNOWN,
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in SPECIALS])
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A",
        pair=f"{BEGIN} $A {BEGIN} $B",
        special_tokens=[(BEGIN, SPECIALS.index(BEGIN))],
    )
    return tokenizer


def _alphabet(lines: Iterable[str]) -> list[str]:
    """The characters that become tokens: the most frequent ones; ties go to lower code points.

    The library's own choice among equals differs from run to run.
    """
    always = ["▁", *UMLAUTS]
    counts = Counter(character for line in lines for character in line)
    others = sorted(counts.keys() - set(always), key=lambda one: (-counts[one], one))
    return [*always, *others[: CHARACTERS - len(always)]]


def save_sentencepiece(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``, as transformers reads them.

    Args:
        tokenizer: The trained tokenizer.
        folder: The target; it must exist.
        max_length: The longest text the model takes, in tokens.
    """
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
        "bos_token": BEGIN,
        "eos_token": END,
        "pad_token": END,
        "additional_special_tokens": [USER, ASSISTANT, END_OF_TURN],
        "model_max_length": max_length,
        # Batches of prompts must end in the same column for generation.
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
