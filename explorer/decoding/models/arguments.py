"""Checks of the arguments of decoding: prompts, samplers, tokens, and a model's ids and logits.

A token is an id of any integer type, or a text that is one token. The prefix of an answer is a text
or a list of tokens between the prompt and the text that the model generates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeGuard, TypeVar, cast

from explorer.alphabet import in_quotes
from explorer.arguments import (
    LAST_ID,
    instance,
    listed,
    plain,
    real_number,
    shown,
    whole_number,
    whole_text,
    wrong,
)
from explorer.decoding.models.chat import text_of_ids
from explorer.decoding.models.model import LanguageModel, Message, Prompt, call_model
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.tokens.control import control_token_spelled, near_control_tokens
from explorer.vocabulary import Vocabulary

T = TypeVar("T")

LAST_SEED: Final = 2**64 - 1
LAST_STREAM: Final = 2**63 - 1
MOST_TOKENS: Final = 2**31 - 1
"""The largest token budget."""

_NO_MODEL: Final = 'Give one, such as load_model("tiny").'
_PROMPT: Final = 'Give a text, messages such as [{"role": "user", "content": "..."}], or ids.'


def checked_model(lm: object) -> LanguageModel:
    """A language model, or the model of a name, which `load_model` opens.

    Raises:
        ExplorerError: It is neither; there is no model of that name; or its attribute ``name`` or
            ``vocabulary`` is of the wrong type.
    """
    if isinstance(lm, str):
        from explorer.decoding.models.load import load_model

        return load_model(lm)
    try:
        fits = isinstance(lm, LanguageModel)
    except Exception:  # A user's own property may raise anything.
        fits = False
    if not fits:
        raise wrong("lm", lm, "a language model", remedy=_NO_MODEL)
    lm = cast("LanguageModel", lm)
    whole_text("The model's name", lm.name, remedy="Give the model a `name` that is a str.")
    remedy = "Give the model a `vocabulary`, such as Vocabulary.from_tokenizer(...)."
    instance("The model's vocabulary", lm.vocabulary, Vocabulary, "a Vocabulary", remedy=remedy)
    return lm


def checked_sampler(sampler: object) -> Sampler:
    """The argument, if it is a sampler.

    Raises:
        ExplorerError: It is not.
    """
    remedy = "Give one, such as Sampler(temperature=0.0) for greedy decoding."
    return instance("sampler", sampler, Sampler, "a Sampler", remedy=remedy)


def checked_prompt(prompt: object) -> Prompt:
    """The prompt, if it is a text, messages, or the ids of either.

    Raises:
        ExplorerError: The prompt has another type.

    Example:
        >>> checked_prompt(b"hi")
        Traceback (most recent call last):
        explorer.errors.ExplorerError: prompt is b'hi' (bytes), not a text, messages or ids. ...
    """
    if isinstance(prompt, str):
        return whole_text("prompt", prompt)
    if isinstance(prompt, bytes) or not isinstance(prompt, Sequence):
        raise wrong("prompt", prompt, "a text, messages or ids", remedy=_PROMPT)
    entries = listed("prompt", cast("object", prompt), "a text, messages or ids")
    if is_ids(entries):
        return tuple(whole_number(f"prompt[{k}]", t, 0, LAST_ID) for k, t in enumerate(entries))
    for k, entry in enumerate(entries):
        if not _is_message(entry):
            raise wrong(f"prompt[{k}]", entry, 'a message with a "role"', remedy=_PROMPT)
        for key, value in entry.items():
            whole_text(f"prompt[{k}][{key!r}]", str(key))
            whole_text(f"prompt[{k}][{key!r}]", str(value))
    return cast("Prompt", prompt)


def _is_message(entry: object) -> TypeGuard[Message]:
    return isinstance(entry, Mapping) and isinstance(cast("Message", entry).get("role"), str)


def is_ids(entries: Sequence[object]) -> TypeGuard[Sequence[int]]:
    """Whether a prompt is a non-empty list of token ids, not messages."""
    return bool(entries) and all(type(entry) is int for entry in entries)


def kept_prompt(prompt: Prompt, vocabulary: Vocabulary | None = None) -> str | tuple[Message, ...]:
    """The prompt as an immutable value for a record; ids become the text that they write.

    Raises:
        ExplorerError: The prompt is ids, and no vocabulary is given.
    """
    if isinstance(prompt, str):
        return prompt
    if is_ids(prompt):
        if vocabulary is None:
            raise wrong(
                "prompt",
                prompt,
                "a text or messages",
                remedy="Ids are of one model: give its text.",
            )
        return text_of_ids(vocabulary.tokens, vocabulary.special, prompt)
    turns = cast("Sequence[Message]", prompt)
    return tuple({str(key): str(value) for key, value in turn.items()} for turn in turns)


def prompt_ids(lm: LanguageModel, prompt: object) -> tuple[int, ...]:
    """The ids of a prompt, which a model reads before the first token.

    Raises:
        ExplorerError: It is not a prompt, or the model does not return ids for it.
    """
    checked = checked_prompt(prompt)
    if not isinstance(checked, str) and is_ids(checked):
        return tuple(known_id(lm, f"prompt[{k}]", token) for k, token in enumerate(checked))
    given: object = call_model(lm, "encode_prompt", lambda: lm.encode_prompt(checked))
    name = f"What the model {lm.name!r} gives for the prompt"
    try:
        return tuple(
            whole_number("token", token, 0, LAST_ID)
            for token in listed(name, given, "a list of token ids")
        )
    except ExplorerError as error:
        remedy = f"Return whole numbers from 0 to {LAST_ID:,} from `encode_prompt`."
        raise wrong(name, given, "a list of token ids", remedy=remedy) from error


def checked_log_probs(logprobs: object, count: int) -> list[float | None]:
    """A user's natural log-probabilities for ``count`` ids, ``None`` for unknown ones.

    Raises:
        ExplorerError: Their number differs, or one is above 0 or not a number.
    """
    numbers: list[float | None] = []
    for k, value in enumerate(listed("logprobs", logprobs, "a list of log-probabilities")):
        name, wanted = f"logprobs[{k}]", "a log-probability, or None"
        numbers.append(None if value is None else real_number(name, value, wanted))
    remedy = "Give one natural log-probability, 0 or less, for each id."
    if len(numbers) != count:
        raise ExplorerError(
            f"There are {len(numbers)} log-probabilities for {count} ids.",
            remedy=remedy,
            evidence={"ids": count, "logprobs": len(numbers)},
        )
    for k, value in enumerate(numbers):
        if value is not None and not value <= 0:
            raise ExplorerError(
                f"logprobs[{k}] is {value}, but a log-probability is never above 0.",
                remedy=remedy,
                evidence={"index": k, "value": value},
            )
    return numbers


def token_of_text(vocabulary: Vocabulary, text: str) -> int:
    """The id that writes exactly a text.

    Args:
        text: The text of one token; or the name of a control token, if no token writes that as
            text. An end of text can be chosen only by its id.

    Returns:
        The id; of several with these bytes, the one that the tokenizer itself would produce,
        otherwise the lowest.

    Raises:
        ExplorerError: No single token writes the text.

    Example:
        >>> token_of_text(Vocabulary.from_bytes([b"f", b"oo", b"foo"], eos_ids=[3]), "foo")
        2
    """
    ids: Sequence[int] = ()
    encoded: Sequence[int] | None = None
    # No token writes a lone surrogate.
    with suppress(UnicodeEncodeError):
        ids = vocabulary.ids_of(text.encode())
        encoded = vocabulary.encode(text)
    if not ids:
        control = control_token_spelled(vocabulary, text)
        if control is not None:
            return control
        more = "" if encoded is None else f"; the tokenizer writes it as {len(encoded)}"
        near = near_control_tokens(vocabulary, text)
        raise ExplorerError(
            f"{in_quotes(text)} is not one token{more}.",
            remedy=near or "Give the text of one token, or an id; EOS is an id.",
            evidence={"text": text, "encoded": encoded},
        )
    # A tokenizer that puts a space before a text encodes a different text.
    alone = encoded is not None and len(encoded) == 1 and encoded[0] in ids
    return encoded[0] if encoded is not None and alone else ids[0]


def meant_token(vocabulary: Vocabulary, token: object) -> int:
    """The id of a token that a user gave as an id or as a text.

    Args:
        token: An id of any integer type, also outside the vocabulary, or the text of one token.

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
    """An id of any integer type, such as numpy's or torch's, as a plain int.

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


ResponsePrefix = str | Sequence[str] | Sequence[int]
"""The beginning of an answer: a text, or its tokens as texts or as ids."""

_PREFIX = "a text, or a list of token texts or ids"


def prefix_ids(lm: LanguageModel, prefix: object) -> tuple[int, ...]:
    """The ids of the beginning of an answer.

    Args:
        prefix: A text, which the tokenizer splits; texts of one token each, in which "▁" may stand
            for a space as in SentencePiece; or ids.

    Raises:
        ExplorerError: The prefix has another type, or a text in the list is not exactly one
            token.

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
        raise wrong("response_prefix", prefix, _PREFIX)
    ids: list[int] = []
    for k, entry in enumerate(listed("response_prefix", cast("object", prefix), _PREFIX)):
        name, entry = f"response_prefix[{k}]", plain(entry)
        if isinstance(entry, str):
            ids.append(_one_token(lm, name, whole_text(name, entry)))
        else:
            ids.append(known_id(lm, name, whole_number(name, entry, 0, LAST_ID)))
    return tuple(ids)


def known_id(lm: LanguageModel, name: str, token: int) -> int:
    """The id, if it is in the model's vocabulary.

    Raises:
        ExplorerError: It is too large.
    """
    size = len(lm.vocabulary)
    if token < size:
        return token
    raise ExplorerError(
        f"{name} is {token}, but the model {lm.name!r} has {size:,} tokens, with ids from 0 to "
        f"{size - 1}.",
        remedy="Give ids of the model's own tokenizer, or the text itself.",
        evidence={"token": token, "tokens": size},
    )


def _of_text(lm: LanguageModel, text: str) -> tuple[int, ...]:
    """The ids of a text, without the ids that the tokenizer puts before every text."""
    if not text:
        return ()
    before = prompt_ids(lm, "")

    def alone(words: str) -> tuple[int, ...]:
        ids = prompt_ids(lm, words)
        return ids[len(before) :] if ids[: len(before)] == before else ids

    ids = alone(text)
    if text.startswith(" ") and _data(lm, ids) != text.encode():
        # A tokenizer that puts a space before every text adds the leading space itself.
        shorter = alone(text[1:])
        if _data(lm, shorter) == text.encode():
            return shorter
    return ids


def _data(lm: LanguageModel, ids: Sequence[int]) -> bytes:
    """The bytes that some ids write."""
    known = lm.vocabulary.tokens
    return b"".join((known[token] or b"") if token < len(known) else b"" for token in ids)


def _one_token(lm: LanguageModel, name: str, text: str) -> int:
    # SentencePiece writes "▁" for a space in the name of a token. A token that writes the character
    # itself takes precedence.
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
