"""The rules of `without_redundant_bytes` and `without_isolated_spaces`, read from a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.memo import memo
from explorer.tokens.filtered.table import REFUSED, TokenRule
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.decoder import byte_of
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.without_encoder import without_encoder

_OTHER, _SPACE, _FUSES = 0, 1, 2
_PROBE = "a"


@memo
def redundant_bytes(vocabulary: Vocabulary) -> TokenRule:
    """Tokens of single bytes do not write a character that has a token.

    A state is the bytes of a character that was begun with tokens of single bytes, as far as some
    character with a token of its own begins so.

    Args:
        vocabulary: The tokens.

    Returns:
        The rule; a kind is a byte for tokens of single bytes, and 256 for the others.
    """
    tokens = vocabulary.tokens
    bytes_of = _byte_tokens(vocabulary)
    literal = {
        data for token, data in enumerate(tokens)
        if data is not None and token not in bytes_of and _is_character(data)
    }  # fmt: skip
    kind_of = np.full(len(vocabulary), 256, np.int32)
    for token, byte in bytes_of.items():
        kind_of[token] = byte
    prefixes = {b"": 0}
    for data in sorted(literal):
        for end in range(1, len(data)):
            prefixes.setdefault(data[:end], len(prefixes))
    table = np.zeros((len(prefixes), 257), np.int32)
    for prefix, state in prefixes.items():
        for byte in set(bytes_of.values()):
            longer = prefix + bytes((byte,))
            table[state, byte] = REFUSED if longer in literal else prefixes.get(longer, 0)
    names = list(prefixes)

    def instead(state: int, token: int) -> tuple[bytes, ...]:
        return (names[state] + (tokens[token] or b""),)

    return TokenRule("redundant bytes", kind_of, table, instead)


def _byte_tokens(vocabulary: Vocabulary) -> Mapping[int, int]:
    """The tokens that stand for a byte, and not for a character, with their bytes."""
    found: dict[int, int] = {}
    encoder = vocabulary.encoder
    pieces = encoder.tokenizer if isinstance(encoder, TokenizersEncoder) else None
    for token, data in enumerate(vocabulary.tokens):
        if data is None or len(data) != 1:
            continue
        if data[0] >= 0x80:
            found[token] = data[0]
        elif len(vocabulary.ids_of(data)) > 1:
            piece = None if pieces is None else pieces.id_to_token(token)
            written = vocabulary.encode(_PROBE + data.decode()) if pieces is None else None
            if (piece is not None and byte_of(piece) is not None) or (
                written is not None and token not in written
            ):
                found[token] = data[0]
    return found


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@memo
def isolated_spaces(vocabulary: Vocabulary) -> TokenRule:
    """A token of one space is not followed by text that the tokenizer would fuse it with.

    Whether it would is asked of the tokenizer for every token, once: a second for 32,000. Where a
    splitter cuts between them, or merges leave them apart, the space stays allowed.

    Args:
        vocabulary: The tokens, with their tokenizer.

    Raises:
        UnsupportedTokenizer: No tokenizer is at hand.
    """
    if vocabulary.encoder is None:
        raise without_encoder(vocabulary, "what it fuses a space with")
    tokens = vocabulary.tokens
    kind_of = np.full(len(vocabulary), _OTHER, np.int32)
    spaces = vocabulary.ids_of(b" ")
    for token, data in enumerate(tokens):
        if data is None or token in spaces:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        # Between white space and white space a cut depends on what comes after both.
        if not text[0].isspace() and not _leaves_alone(vocabulary, text):
            kind_of[token] = _FUSES
    kind_of[list(spaces)] = _SPACE
    table = np.array([[0, 1, 0], [0, 1, REFUSED]], np.int32)

    def instead(state: int, token: int) -> tuple[bytes, ...]:
        text = (tokens[token] or b"").decode(errors="ignore")
        return _after_letter(vocabulary, f" {text}")

    return TokenRule("isolated space", kind_of, table, instead)


def _after_letter(vocabulary: Vocabulary, text: str) -> tuple[bytes, ...]:
    """The tokens that the tokenizer writes for a text after a letter, if it cuts before it."""
    written = vocabulary.encode(_PROBE + text) or ()
    pieces = [vocabulary.tokens[token] or b"" for token in written]
    while pieces and pieces[0].lstrip(b" ") == b"":
        pieces.pop(0)  # A dummy prefix.
    if pieces and pieces[0].lstrip(b" ") == _PROBE.encode():
        return tuple(pieces[1:])
    return ()


def _leaves_alone(vocabulary: Vocabulary, text: str) -> bool:
    """Whether the tokenizer itself writes a lone space before a text."""
    pieces = _after_letter(vocabulary, f" {text}")
    return not pieces or pieces[0] == b" "
