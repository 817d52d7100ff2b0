"""The findings of a reader in a tokenizer, before anything is decided about it.

Each format has a reader of its own; all of them give a `TokenizerReading`, and `assemble` alone
turns that into the public vocabulary. So the rules that hold for every format (what is text, which
id ends it, what must be proved) stand in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from explorer.errors import VocabularyError

MAX_IDS: Final = 1 << 22
"""Widest vocabulary that is read (the widest in use have about 2^18): an absurd id in a damaged
file must not become an allocation."""


class Encoder(Protocol):
    """A tokenizer at hand: text to ids, and the text that it says those ids stand for."""

    @property
    def greedy(self) -> bool:
        """Whether it may call a word unknown that other pieces could spell (WordPiece does)."""
        ...

    @property
    def apart(self) -> frozenset[int]:
        """Ids that are found by rules of their own (added tokens), not by the model."""
        ...

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``: none added, names of special tokens split like any other text."""
        ...

    def image(self, text: str) -> bytes:
        """The bytes that ``text`` becomes by the declared normalizer and pre-tokenizer alone."""
        ...

    def loses(self, text: str) -> bool:
        """Whether some of ``text`` has no token, and becomes the unknown token or nothing."""
        ...


@dataclass(frozen=True)
class TokenizerReading:
    """A tokenizer's ids, as its own definition gives them.

    Attributes:
        tokens: Bytes of each id; None where the id is not text.
        special: Names of ids that are not text.
        pieces: Id of each piece as the file spells it; configuration files refer to these.
        eos_ids: Ends of text that the definition itself declares.
        notes: What is not lossless, one sentence each.
        encoder: The tokenizer, where it is at hand.
        encodes: Whether the encoder gives the ids that the model's own tokenizer gives. False: it
            proves the token bytes, but cuts text into words by a rule that may not be the model's.
        lists_added: Whether the definition lists its added tokens itself, so that its ids count
            where a configuration file gives others.
        literal: The bytes of an added token that only a configuration file lists, by its content.
        probes: Strings that are dangerous for this tokenizer in particular.
        model: The kind of its model, such as ``BPE``, or "" where it does not matter.
    """

    tokens: list[bytes | None]
    special: dict[int, str]
    pieces: Mapping[str, int] = field(default_factory=dict[str, int])
    eos_ids: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    encoder: Encoder | None = None
    encodes: bool = True
    lists_added: bool = False
    literal: Callable[[str], bytes] = str.encode
    probes: tuple[str, ...] = ()
    model: str = ""


def checked_width(highest: int, what: str) -> int:
    """The number of ids of a vocabulary whose highest id is ``highest``.

    Raises:
        VocabularyError: More ids than any vocabulary has; ``what`` names where the id stands.
    """
    if highest >= MAX_IDS:
        raise VocabularyError(
            f"{what} has the id {highest:,}; a vocabulary may have {MAX_IDS:,} ids at most.",
            remedy="Check the ids of the file: one of them is out of range.",
            evidence={"id": highest, "limit": MAX_IDS},
        )
    return highest + 1
