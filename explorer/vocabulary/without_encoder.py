"""The error for a vocabulary that does not know how its tokenizer cuts a text."""

from __future__ import annotations

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.vocabulary import Vocabulary

_NOTE = "encode() is not offered: "


def without_encoder(vocabulary: Vocabulary, unknown: str) -> UnsupportedTokenizer:
    """The error for a question that only the tokenizer of a vocabulary can answer.

    Args:
        vocabulary: A vocabulary whose ``encoder`` is ``None``.
        unknown: The question, as the end of a sentence.

    Returns:
        The error. It gives the reason for the missing tokenizer if the vocabulary's notes have one.

    Example:
        >>> vocabulary = Vocabulary.from_bytes([b"a"], eos_ids=[1])
        >>> without_encoder(vocabulary, "how a text becomes tokens").reason
        'none is at hand, so it is not known how a text becomes tokens'
    """
    reasons = [note.removeprefix(_NOTE) for note in vocabulary.notes if note.startswith(_NOTE)]
    if not reasons:
        return UnsupportedTokenizer(
            "tokenizer",
            f"none is at hand, so it is not known {unknown}",
            remedy="Give the vocabulary that was read from the tokenizer's own files.",
        )
    return UnsupportedTokenizer(
        "tokenizer",
        f"it is not known {unknown}: {reasons[0].rstrip('.')}",
        remedy="Give the vocabulary that was read from the model's tokenizer.json.",
    )
