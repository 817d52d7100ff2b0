"""The token that a user means: by an id of any integer type, or by a text that is one token."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from explorer.alphabet import in_quotes
from explorer.arguments import plain, shown, whole_number
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary


def token_of_text(vocabulary: Vocabulary, text: str) -> int:
    """The id that writes exactly a text.

    Args:
        vocabulary: The tokens.
        text: The text of one token. Names of special tokens are text here, so that EOS is only
            ever chosen by its id.

    Returns:
        The id; of several with these bytes, the one that the tokenizer itself would write, else
        the lowest.

    Raises:
        ExplorerError: No single token writes it.

    Example:
        >>> token_of_text(Vocabulary.from_bytes([b"f", b"oo", b"foo"], eos_ids=[3]), "foo")
        2
    """
    ids: Sequence[int] = ()
    encoded: Sequence[int] | None = None
    # Half a surrogate pair is not text, so no token writes it.
    with suppress(UnicodeEncodeError):
        ids = vocabulary.ids_of(text.encode())
        encoded = vocabulary.encode(text)
    if not ids:
        more = "" if encoded is None else f"; the tokenizer writes it as {len(encoded)}"
        raise ExplorerError(
            f"{in_quotes(text)} is not one token{more}.",
            remedy="Give the text of one token, or an id; EOS is an id.",
            evidence={"text": text, "encoded": encoded},
        )
    # A tokenizer that puts a space in front of a text writes another one.
    alone = encoded is not None and len(encoded) == 1 and encoded[0] in ids
    return encoded[0] if encoded is not None and alone else ids[0]


def meant_token(vocabulary: Vocabulary, token: object) -> int:
    """The id of a token that a user gave as an id, or as the text of one token.

    Args:
        vocabulary: The tokens.
        token: An id of any integer type, which need not be one of the vocabulary, or a text.

    Raises:
        ExplorerError: It is neither, or no single token writes the text.

    Example:
        >>> vocabulary = Vocabulary.from_bytes([b"f", b"oo", b"foo"], eos_ids=[3])
        >>> meant_token(vocabulary, "oo"), meant_token(vocabulary, 3)
        (1, 3)
    """
    if isinstance(token, str):
        return token_of_text(vocabulary, str(plain(token)))
    return token_id(token)


def token_id(token: object) -> int:
    """An id as a plain int, also from numpy or torch.

    Args:
        token: Anything that can be an index.

    Raises:
        ExplorerError: It is not a whole number, or has more than a thousand digits.

    Example:
        >>> import numpy as np
        >>> token_id(np.int64(7))
        7
    """
    try:
        return whole_number("token", token, None)
    except ExplorerError:
        raise ExplorerError(
            f"{shown(token)} is not a token id.",
            remedy="Give a whole number, or the text of one token as a str.",
            evidence={"token": token},
        ) from None
