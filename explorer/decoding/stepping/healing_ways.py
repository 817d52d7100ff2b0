"""Compares two ways to heal a prompt: removing its last token, or putting it into the constraint.

If the tokenizer splits prompt and answer together differently from the prompt alone, the model
reads tokens that it never saw at this place in training. Removing the last token helps if only that
token changes. With the prompt as part of the canonical constraint any number of tokens may change,
because the tokenizer's rules decide.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.budget import Budget
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.stepping.walk import Walk
from explorer.decoding.trace.trace import Trace
from explorer.languages.constraint import Constraint
from explorer.languages.stages.staged import unstaged


@dataclass(frozen=True)
class HealingWays:
    """The two runs of one prompt, healed in either way.

    Args:
        back: The run that removed one token.
        whole: The run whose constraint begins with the prompt.
        reopened: The number of prompt tokens that change together with the answer of ``whole``.
        agree: Whether both runs have the same ids, prompt included.
        message: A sentence on their difference.
    """

    back: Trace
    whole: Trace
    reopened: int
    agree: bool
    message: str


def compare_healing(
    lm: LanguageModel,
    constraint: Constraint,
    prompt: str,
    *,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seed: int = 0,
    max_tokens: int | None = None,
    budget: Budget | None = None,
) -> HealingWays:
    """Generate an answer with either way of healing.

    Args:
        constraint: The constraint on the answer; ``canonical()`` is added for the second way.
        prompt: A text to continue.
        sampler, seed, budget: As in `Walk`.
        max_tokens: The most tokens that each run adds.

    Raises:
        ExplorerError: As in `Walk`.

    Example:
        >>> from explorer import load_model, regex
        >>> ways = compare_healing(load_model("tiny"), regex(" (Paris|Rome)"), "The capital is")
        >>> ways.agree, ways.back.answer == ways.whole.answer
        (True, True)
    """
    plain = Constraint(unstaged(constraint.source))
    back = Walk(lm, plain, prompt, sampler=sampler, seed=seed, budget=budget, heal=True)
    whole = Walk(
        lm, plain.canonical(lm.vocabulary), prompt, sampler=sampler, seed=seed, budget=budget,
        heal="prompt", forced="run",
    )  # fmt: skip
    given = lm.encode_prompt(prompt)
    rewritten = len(whole.trace.prompt_ids)
    one = back.run(max_tokens)
    other = whole.run(None if max_tokens is None else max_tokens + len(given) - rewritten)
    ids = (*other.prompt_ids, *other.ids)
    same = sum(_agreeing(given, ids))
    agree = (*one.prompt_ids, *one.ids) == ids
    return HealingWays(one, other, len(given) - same, agree, _said(one, other, given, same, agree))


def _agreeing(one: tuple[int, ...], other: tuple[int, ...]) -> list[int]:
    """A list with a 1 for each id of the longest common prefix."""
    shared: list[int] = []
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared.append(1)
    return shared


def _said(one: Trace, other: Trace, given: tuple[int, ...], same: int, agree: bool) -> str:
    if agree:
        return "Both ways read and write the same tokens."
    changed = len(given) - same
    pieces = [step.data or b"" for step in other.steps]
    begun = same - len(other.prompt_ids)
    name = b"".join(pieces[begun : begun + 1]).decode(errors="replace")
    if changed > 1:
        return (
            f"One token back is not enough: with the answer, the tokenizer writes {changed} tokens "
            f"of the prompt otherwise, from {name!r} on."
        )
    first = next(
        (
            f"{(a.data or b'').decode(errors='replace')!r} and "
            f"{(b.data or b'').decode(errors='replace')!r}"
            for a, b in zip(one.steps, other.steps[len(one.prompt_ids) - len(other.prompt_ids) :],
                            strict=False)
            if a.token != b.token
        ),
        "the ends of the texts",
    )  # fmt: skip
    return f"The same text may be spelled otherwise where only one token is back: {first} differ."
