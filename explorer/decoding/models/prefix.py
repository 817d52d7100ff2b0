"""The prefix of an answer: tokens between the prompt and what the model writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from explorer.arguments import listed, plain, shown, whole_number, whole_text, wrong
from explorer.decoding.models.arguments import LAST_ID, prompt_ids
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError

ResponsePrefix = str | Sequence[str] | Sequence[int]
"""The beginning of an answer: a text, or its tokens as texts or as ids."""

_WANTED = "a text, or a list of token texts or ids"


def prefix_ids(lm: LanguageModel, prefix: object) -> tuple[int, ...]:
    """The ids of the beginning of an answer.

    Args:
        lm: The model.
        prefix: A text, which the tokenizer splits; texts of one token each, in which "▁" may stand
            for a space as SentencePiece has it; or ids.

    Raises:
        ExplorerError: It is something else, or a text is not exactly one token.

    Example:
        >>> from explorer import load_model
        >>> lm = load_model("tiny")
        >>> prefix_ids(lm, " The answer") == prefix_ids(lm, [" The", " answer"])
        True
    """
    prefix = plain(prefix)
    if isinstance(prefix, str):
        return _of_text(lm, whole_text("response_prefix", prefix))
    if isinstance(prefix, bytes) or not isinstance(prefix, Sequence):
        raise wrong("response_prefix", prefix, _WANTED)
    found: list[int] = []
    for k, entry in enumerate(listed("response_prefix", cast("object", prefix), _WANTED)):
        name, entry = f"response_prefix[{k}]", plain(entry)
        if isinstance(entry, str):
            found.append(_one_token(lm, name, whole_text(name, entry)))
        else:
            found.append(_known_id(lm, name, whole_number(name, entry, 0, LAST_ID)))
    return tuple(found)


def _known_id(lm: LanguageModel, name: str, token: int) -> int:
    size = len(lm.vocabulary)
    if token < size:
        return token
    raise ExplorerError(
        f"{name} is {token}, but the model {lm.name!r} has {size:,} tokens, with ids from 0 to "
        f"{size - 1}.",
        remedy="Give ids of the model's own tokenizer, or the beginning as one text.",
        evidence={"token": token, "tokens": size},
    )


def _of_text(lm: LanguageModel, text: str) -> tuple[int, ...]:
    """The ids of a text, without what a tokenizer puts before every text."""
    if not text:
        return ()
    before = prompt_ids(lm, "")

    def alone(words: str) -> tuple[int, ...]:
        ids = prompt_ids(lm, words)
        return ids[len(before) :] if ids[: len(before)] == before else ids

    ids = alone(text)
    if text.startswith(" ") and _data(lm, ids) != text.encode():
        # A tokenizer that puts a space before every text brings the one that is there already.
        shorter = alone(text[1:])
        if _data(lm, shorter) == text.encode():
            return shorter
    return ids


def _data(lm: LanguageModel, ids: Sequence[int]) -> bytes:
    """The bytes that some ids write."""
    known = lm.vocabulary.tokens
    return b"".join((known[token] or b"") if token < len(known) else b"" for token in ids)


def _one_token(lm: LanguageModel, name: str, text: str) -> int:
    # SentencePiece names a token with "▁" where it writes a space. A token that writes the
    # character itself comes first.
    for written in (text, text.replace("▁", " ")):
        ids = lm.vocabulary.ids_of(written.encode())
        if ids:
            return ids[0]
    raise ExplorerError(
        f"{name} is {shown(text)}, which is not one token of the model {lm.name!r}.",
        remedy="Give the beginning as one text, or texts of one token each as they are written: "
        "a space is ' ' (or SentencePiece's '▁'), not 'Ġ'.",
        evidence={"text": text},
    )
