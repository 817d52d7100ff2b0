"""The arguments of decoding, checked: prompts, samplers, the ids and the logits of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeGuard, TypeVar, cast

from torch import Tensor

from explorer.arguments import (
    LAST_ID,
    instance,
    listed,
    real_number,
    whole_number,
    whole_text,
    wrong,
)
from explorer.decoding.models.model import LanguageModel, Message, Prompt, Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

T = TypeVar("T")

LAST_SEED: Final = 2**64 - 1
LAST_STREAM: Final = 2**63 - 1
MOST_TOKENS: Final = 2**31 - 1
"""The largest token budget."""

_NO_MODEL: Final = 'Give one, such as load_model("tiny").'
_PROMPT: Final = 'Give a text, or messages such as [{"role": "user", "content": "..."}].'


def checked_model(lm: object) -> LanguageModel:
    """A language model.

    Raises:
        ExplorerError: It is something else, such as the name of one, or its name or its
            vocabulary is not one.
    """
    try:
        fits = isinstance(lm, LanguageModel)
    except Exception:  # A property of somebody's own may raise anything.
        fits = False
    if not fits:
        raise wrong("lm", lm, "a language model", remedy=_NO_MODEL)
    lm = cast("LanguageModel", lm)
    whole_text("The model's name", lm.name, remedy="Give the model a `name` that is a str.")
    remedy = "Give the model a `vocabulary`, such as Vocabulary.from_tokenizer(...)."
    instance("The model's vocabulary", lm.vocabulary, Vocabulary, "a Vocabulary", remedy=remedy)
    return lm


def checked_sampler(sampler: object) -> Sampler:
    """A sampler.

    Raises:
        ExplorerError: It is something else.
    """
    remedy = "Give one, such as Sampler(temperature=0.0) for greedy decoding."
    return instance("sampler", sampler, Sampler, "a Sampler", remedy=remedy)


def call_model(lm: LanguageModel, method: str, ask: Callable[[], T]) -> T:
    """Call a model; an exception of the model becomes one of our errors, with the exception as its
    cause.

    Args:
        lm: The model.
        method: The name of the method, for the message.
        ask: Calls the method.

    Raises:
        ExplorerError: The model raised.
    """
    try:
        return ask()
    except ExplorerError:
        raise
    except Exception as error:  # The model is somebody else's and may raise anything.
        reason = str(error).strip().partition("\n")[0].rstrip(" .:")
        raise ExplorerError(
            f"`{method}` of the model {lm.name!r} raised {type(error).__name__}"
            f"{f': {reason}' if reason else ''}.",
            remedy="Its own traceback stands above this one.",
            evidence={"model": lm.name, "error": type(error).__name__},
        ) from error


def checked_prompt(prompt: object) -> Prompt:
    """A text, or messages.

    Raises:
        ExplorerError: It is neither.

    Example:
        >>> checked_prompt(b"hi")
        Traceback (most recent call last):
        explorer.errors.ExplorerError: prompt is b'hi' (bytes), not a text or messages. ...
    """
    if isinstance(prompt, str):
        return whole_text("prompt", prompt)
    if isinstance(prompt, bytes) or not isinstance(prompt, Sequence):
        raise wrong("prompt", prompt, "a text or messages", remedy=_PROMPT)
    for k, entry in enumerate(listed("prompt", cast("object", prompt), "a text or messages")):
        if not _is_message(entry):
            raise wrong(f"prompt[{k}]", entry, 'a message with a "role"', remedy=_PROMPT)
        for key, value in entry.items():
            whole_text(f"prompt[{k}][{key!r}]", str(key))
            whole_text(f"prompt[{k}][{key!r}]", str(value))
    return cast("Prompt", prompt)


def _is_message(entry: object) -> TypeGuard[Message]:
    return isinstance(entry, Mapping) and isinstance(cast("Message", entry).get("role"), str)


def kept_prompt(prompt: Prompt) -> str | tuple[Message, ...]:
    """The prompt as an immutable value, for the record."""
    if isinstance(prompt, str):
        return prompt
    return tuple({str(key): str(value) for key, value in turn.items()} for turn in prompt)


def prompt_ids(lm: LanguageModel, prompt: object) -> tuple[int, ...]:
    """The ids that a model reads before the first token.

    Args:
        lm: The model.
        prompt: As a user gives it.

    Raises:
        ExplorerError: It is not a prompt, or the model does not turn it into ids.
    """
    checked = checked_prompt(prompt)
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


def reading_of(lm: LanguageModel, ids: Sequence[int]) -> Reading:
    """The model's reading after some ids, checked.

    Args:
        lm: The model.
        ids: The prompt's ids and all since.

    Returns:
        Its reading; the logits are one row of floating-point numbers, as wide as the text of the
        vocabulary at least. NaN and infinity are reported when a token is drawn.

    Raises:
        ExplorerError: The model raised, or gave something else.
    """
    return checked_reading(lm, call_model(lm, "read", lambda: lm.read(ids)))


def checked_reading(lm: LanguageModel, given: object) -> Reading:
    """A reading of a model, checked as `reading_of` says.

    Args:
        lm: The model.
        given: What it gave.

    Raises:
        ExplorerError: It is something else.
    """
    remedy = "Return Reading(logits) from `read`, with the next-token logits, float[W]."
    name = f"What the model {lm.name!r} reads"
    reading = instance(name, given, Reading, "a Reading", remedy=remedy)
    values: object = reading.logits
    logits = instance(f"{name}, its logits,", values, Tensor, "a tensor", remedy=remedy)
    if logits.dim() != 1 or not logits.is_floating_point() or not len(logits):
        raise ExplorerError(
            f"The model {lm.name!r} gives logits of shape {list(logits.shape)} and "
            f"{logits.dtype}, not one row of floating-point numbers.",
            remedy="Give the next-token logits, float[W], from `read`.",
            evidence={"shape": list(logits.shape), "dtype": str(logits.dtype)},
        )
    width, vocabulary = len(logits), lm.vocabulary
    # Ids past the logits that are neither text nor an end cannot be written anyway.
    if width < len(vocabulary) and (
        any(data is not None for data in vocabulary.tokens[width:])
        or any(end >= width for end in vocabulary.eos_ids)
    ):
        raise ExplorerError(
            f"The model {lm.name!r} gives {width:,} logits, but its vocabulary has "
            f"{len(vocabulary):,} tokens.",
            remedy="Check that the tokenizer is the model's, or give vocabulary.with_width(W).",
            evidence={"width": width, "tokens": len(vocabulary)},
        )
    return reading


def checked_log_probs(logprobs: object, count: int) -> list[float | None]:
    """One natural log-probability for each of some ids, where it is known.

    Raises:
        ExplorerError: There are not so many, or one is above 0 or not a number.
    """
    found: list[float | None] = []
    for k, value in enumerate(listed("logprobs", logprobs, "a list of log-probabilities")):
        name, wanted = f"logprobs[{k}]", "a log-probability, or None"
        found.append(None if value is None else real_number(name, value, wanted))
    remedy = "Give one natural log-probability, 0 or less, for each id."
    if len(found) != count:
        raise ExplorerError(
            f"There are {len(found)} log-probabilities for {count} ids.",
            remedy=remedy,
            evidence={"ids": count, "logprobs": len(found)},
        )
    for k, value in enumerate(found):
        if value is not None and not value <= 0:
            raise ExplorerError(
                f"logprobs[{k}] is {value}, but a log-probability is never above 0.",
                remedy=remedy,
                evidence={"index": k, "value": value},
            )
    return found
