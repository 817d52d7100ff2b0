"""The embedded models, as data: a tokenizer, its marks, a mix of texts, a size, a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tokenizers import Tokenizer

from explorer.decoding.models.tiny import FOLDER as TINY_FOLDER
from explorer.decoding.models.tiny_chat import FOLDER as CHAT_FOLDER
from explorer.decoding.models.tiny_draft import FOLDER as DRAFT_FOLDER
from explorer.decoding.models.tiny_sp import FOLDER as SP_FOLDER
from models import exchanges
from models.chat_tokenizer import ADDED, TURN_END, extended_tokenizer, save_extended
from models.conversations import CONVERSATIONS
from models.corpus import DOCUMENTS, MIX, Template
from models.documents import END_OF_TEXT, END_OF_TURN, SPECIAL_TOKENS, START
from models.train_sentencepiece import (
    BEGIN,
    END,
    SPECIALS,
    save_sentencepiece,
    train_sentencepiece,
)
from models.train_tokenizer import VOCABULARY_SIZE, save_tokenizer, train_tokenizer


class _Save(Protocol):
    def __call__(self, tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a transformer; its heads are 32 wide.

    Attributes:
        width: The width of the residual stream.
        inner: The width of the feed-forward layers.
        layers: The number of layers.
    """

    width: int = 128
    inner: int = 352
    layers: int = 4


@dataclass(frozen=True, slots=True)
class Kind:
    """One embedded model: what differs between them; the rest is in `train`.

    Attributes:
        folder: Its folder in the package.
        losses: The loss curve, kept beside the tools.
        start: The id before every text.
        end: The id after every text.
        turn: The id after a turn of a chat.
        mix: The templates of the corpus and their shares.
        learn: Makes the tokenizer from texts.
        save: Writes the tokenizer.
        shape: The size of the model.
        base: The folder of the weights at which training begins; ``None`` for random ones.
        documents: The length of the stream, held-out documents included.
        steps: The number of optimiser steps.
        learning_rate: The highest rate of the schedule.
    """

    folder: Path
    losses: str
    start: int
    end: int
    turn: int
    mix: tuple[tuple[Template, int], ...]
    learn: Callable[[Iterable[str]], Tokenizer]
    save: _Save
    shape: Shape = Shape()
    base: Path | None = None
    documents: int = DOCUMENTS
    steps: int = 1800
    learning_rate: float = 3e-3


_HERE: Final = Path(__file__).parent

KINDS: Final = {
    "tiny": Kind(
        TINY_FOLDER,
        "loss.csv",
        SPECIAL_TOKENS.index(START),
        SPECIAL_TOKENS.index(END_OF_TEXT),
        SPECIAL_TOKENS.index(END_OF_TURN),
        MIX,
        train_tokenizer,
        save_tokenizer,
    ),
    "tiny-sp": Kind(
        SP_FOLDER,
        "loss_sp.csv",
        SPECIALS.index(BEGIN),
        SPECIALS.index(END),
        SPECIALS.index(END_OF_TURN),
        # Numbers after a space, in digits and in words: a lone space makes digits likelier.
        (*MIX, (exchanges.roman, 14)),
        train_sentencepiece,
        save_sentencepiece,
    ),
    # Proposes tokens for the first one: same tokenizer, same texts, smaller.
    "tiny-draft": Kind(
        DRAFT_FOLDER,
        "loss_draft.csv",
        SPECIAL_TOKENS.index(START),
        SPECIAL_TOKENS.index(END_OF_TEXT),
        SPECIAL_TOKENS.index(END_OF_TURN),
        MIX,
        train_tokenizer,
        save_tokenizer,
        Shape(width=64, inner=176, layers=1),
    ),
    # Goes on from the first one with control tokens, on conversations and some of its texts.
    "tiny-chat": Kind(
        CHAT_FOLDER,
        "loss_chat.csv",
        SPECIAL_TOKENS.index(START),
        SPECIAL_TOKENS.index(END_OF_TEXT),
        VOCABULARY_SIZE + ADDED.index(TURN_END),
        (*MIX, *CONVERSATIONS),
        extended_tokenizer,
        save_extended,
        base=TINY_FOLDER,
        documents=12_000,
        steps=400,
        learning_rate=2e-3,
    ),
}
"""The kinds by the name that `explorer.load_model` knows."""

BYTE_LEVEL: Final = KINDS["tiny"]
"""The first model."""
