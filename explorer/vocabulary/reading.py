"""The common result of all readers, and the protocol of their encoders.

Each format has its own reader; all return a `TokenizerReading`, and `assemble` alone turns that
into the public vocabulary. So the rules common to all formats (what is text, which id ends it, what
must be proved) are in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from explorer.errors import VocabularyError

MAX_IDS: Final = 1 << 22
"""The most ids of a vocabulary, a guard against absurd ids in damaged files; the largest
vocabularies in use have about 2^18."""


class Encoder(Protocol):
    """An encoder: from text to ids, and to the bytes that those ids should spell."""

    @property
    def greedy(self) -> bool:
        """Whether it may report a word as unknown that other pieces could spell (WordPiece)."""
        ...

    @property
    def apart(self) -> frozenset[int]:
        """The ids that are found by other rules than the model's, such as added tokens."""
        ...

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``: nothing added, names of special tokens split like other text."""
        ...

    def image(self, text: str) -> bytes:
        """The bytes that ``text`` becomes by the declared normalizer and pre-tokenizer alone."""
        ...

    def loses(self, text: str) -> bool:
        """Whether some of ``text`` has no token, and becomes the unknown token or nothing."""
        ...


@dataclass(frozen=True)
class TokenizerReading:
    """A tokenizer's ids and their bytes, as its own files define them.

    Attributes:
        tokens: The bytes of each id; None if the id is not text.
        special: The names of ids that are not text.
        pieces: The id of each piece as spelled in the file; configuration files refer to these.
        eos_ids: The ends of text that the definition itself declares.
        notes: What is not lossless, one sentence each.
        encoder: The tokenizer, if it is available.
        encodes: Whether the encoder returns the ids of the model's own tokenizer. If not, it proves
            the token bytes but may cut text into words by another rule.
        lists_added: Whether the definition lists its added tokens itself, so that its ids override
            those of a configuration file.
        literal: The bytes of an added token that only a configuration file lists, by its content.
        probes: Strings that are critical for this tokenizer.
        model: The kind of its model, such as ``BPE``, or "" if it does not matter.
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
        VocabularyError: There are more than `MAX_IDS`; ``what`` names the holder of the id.
    """
    if highest >= MAX_IDS:
        raise VocabularyError(
            f"{what} has the id {highest:,}; a vocabulary may have {MAX_IDS:,} ids at most.",
            remedy="Check the ids of the file: one of them is out of range.",
            evidence={"id": highest, "limit": MAX_IDS},
        )
    return highest + 1
