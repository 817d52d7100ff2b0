"""What decoding is asked for, checked: prompts, samplers, the ids and the logits of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard, cast

from torch import Tensor

from explorer.arguments import instance, listed, whole_number, whole_text, wrong
from explorer.decoding.models.model import LanguageModel, Message, Prompt, Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

LAST_SEED: Final = 2**64 - 1
LAST_STREAM: Final = 2**63 - 1
LAST_ID: Final = 2**31 - 1
"""The highest id that a prompt may have, as in every vocabulary and every file."""

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
    if not isinstance(lm, LanguageModel):
        raise ExplorerError(f"{lm!r} is no language model.", remedy=_NO_MODEL, evidence={"lm": lm})
    whole_text("The model's name", lm.name, remedy="Give the model a `name` that is a str.")
    remedy = "Give the model a `vocabulary`, such as Vocabulary.from_tokenizer(...)."
    instance("The model's vocabulary", lm.vocabulary, Vocabulary, "a Vocabulary", remedy=remedy)
    return lm


def checked_sampler(sampler: object) -> Sampler:
    """A sampler.

    Raises:
        ExplorerError: It is something else.
    """
    if not isinstance(sampler, Sampler):
        raise ExplorerError(
            f"{sampler!r} is no sampler.",
            remedy="Give one, such as Sampler(temperature=0.0) for greedy decoding.",
            evidence={"sampler": sampler},
        )
    return sampler


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
    for k, entry in enumerate(cast("Sequence[object]", prompt)):
        if not _is_message(entry):
            raise wrong(f"prompt[{k}]", entry, 'a message with a "role"', remedy=_PROMPT)
        for key, value in entry.items():
            whole_text(f"prompt[{k}][{key!r}]", str(key))
            whole_text(f"prompt[{k}][{key!r}]", str(value))
    return cast("Prompt", prompt)


def _is_message(entry: object) -> TypeGuard[Message]:
    return isinstance(entry, Mapping) and isinstance(cast("Message", entry).get("role"), str)


def kept_prompt(prompt: Prompt) -> str | tuple[Message, ...]:
    """A prompt as a value for the record."""
    if isinstance(prompt, str):
        return prompt
    return tuple({str(key): str(value) for key, value in turn.items()} for turn in prompt)


def prompt_ids(lm: LanguageModel, prompt: object) -> tuple[int, ...]:
    """What a model reads before the first token.

    Args:
        lm: The model.
        prompt: As a user gives it.

    Raises:
        ExplorerError: It is no prompt, or the model makes no ids of it.
    """
    given: object = lm.encode_prompt(checked_prompt(prompt))
    name = f"What the model {lm.name!r} gives for the prompt"
    try:
        return tuple(
            whole_number("token", token, 0, LAST_ID)
            for token in listed(name, given, "a list of token ids")
        )
    except ExplorerError as error:
        remedy = f"Return whole numbers from 0 to {LAST_ID:,} from `encode_prompt`."
        raise wrong(name, given, "a list of token ids", remedy=remedy) from error


def logits_of(lm: LanguageModel, reading: object) -> Tensor:
    """The logits of a reading, float[W].

    Args:
        lm: The model that gave it.
        reading: What it gave.

    Raises:
        ExplorerError: It is no reading, or its logits are no row of logits.
    """
    remedy = "Return Reading(logits) from `read`, with the next-token logits, float[W]."
    name = f"What the model {lm.name!r} reads"
    given: object = instance(name, reading, Reading, "a Reading", remedy=remedy).logits
    found = instance(f"{name}, its logits,", given, Tensor, "a tensor", remedy=remedy)
    if found.dim() != 1 or not found.is_floating_point() or not len(found):
        raise ExplorerError(
            f"The model {lm.name!r} gives logits of shape {list(found.shape)} and "
            f"{found.dtype}, not one row of floating-point numbers.",
            remedy="Give the next-token logits, float[W], from `read`.",
            evidence={"shape": list(found.shape), "dtype": str(found.dtype)},
        )
    return found


def checked_log_probs(logprobs: object, count: int) -> list[float | None]:
    """One natural log-probability for each of some ids, where it is known.

    Raises:
        ExplorerError: There are not so many, or one is above 0 or no number.
    """
    found: list[float | None] = []
    for k, value in enumerate(listed("logprobs", logprobs, "a list of log-probabilities")):
        try:
            known = None if value is None else float(cast("float", value))
        except (TypeError, ValueError):
            raise wrong(f"logprobs[{k}]", value, "a log-probability, or None") from None
        found.append(known)
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
                f"logprobs[{k}] is {value}, and no log-probability is above 0.",
                remedy=remedy,
                evidence={"index": k, "value": value},
            )
    return found
