"""Facts beside a verdict: the results of searches, each within its limit, and the reasons why a
session does not draw an allowed token: the token budget and the sampler.

A search that stops leaves its `BudgetExceeded` in place of the result, so that it is not repeated
on every access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from explorer.errors import BudgetExceeded

if TYPE_CHECKING:  # It comes with torch, which an explanation does not need.
    from explorer.decoding.sampling.sampler import SampledOut

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class History:
    """The path to a place, for `Explanation.earlier`.

    Args:
        states: The state before each token, and the one after the last.
    """

    states: tuple[int, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The last position where the token was allowed.

    Args:
        position: The number of tokens before it.
        chosen: The token that was chosen there instead.
    """

    position: int
    chosen: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The shortest way to end the text through an allowed token.

    Args:
        tokens: The tokens after it, EOS included.
        text: The whole text with them.
        forced: The bytes with which every text goes on after the token.
    """

    tokens: tuple[int, ...]
    text: bytes
    forced: bytes


def unless_stopped(result: _Found | BudgetExceeded) -> _Found:
    """The result of a search, or its error if it stopped.

    Args:
        result: The result, or the limit at which the search stopped.

    Raises:
        BudgetExceeded: The search stopped.
    """
    if isinstance(result, BudgetExceeded):
        raise result
    return result


def stopped_sentences(searches: Mapping[str, object]) -> tuple[str, ...]:
    """A sentence about each search that stopped.

    Args:
        searches: The result, or the limit at which the search stopped, by what it looks for.

    Example:
        >>> limit = BudgetExceeded("states", limit=10, reached=11, stage="The search")
        >>> stopped_sentences({"a way to the end": limit, "a word": None})
        ('The search for a way to the end stopped: The search reached 11 states; the limit is 10.',)
    """
    return tuple(
        f"The search for {what} stopped: {result.message}"
        for what, result in searches.items()
        if isinstance(result, BudgetExceeded)
    )


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A token budget that the token does not fit into.

    Args:
        needs: Tokens from this one to the end of the text, EOS included.
        remain: Tokens that may still be written.
    """

    needs: int
    remain: int


def budget_sentence(out: OverBudget) -> str:
    """The reason why the token budget removes a token."""
    verb = "remains" if out.remain == 1 else "remain"
    return (
        f"It does not fit into the token budget: it needs {out.needs:,} tokens to the end, "
        f"and {out.remain:,} {verb}. A larger max_tokens allows it."
    )


def sampler_sentence(out: SampledOut) -> str:
    """The reason why the sampler never draws an allowed token."""
    match out.by:
        case "greedy":
            what = f"greedy decoding takes the likeliest, and it is number {out.rank:,}"
        case "min_p":
            what = (
                f"min-p keeps a probability of {out.threshold:.3g} or more, and it has "
                f"{out.probability:.3g}"
            )
        case _:
            kept = int(out.threshold)
            what = (
                f"{out.by.replace('_', '-')} keeps {kept:,} token{'' if kept == 1 else 's'} "
                f"here, and it is number {out.rank:,} with a probability of "
                f"{out.probability:.3g}"
            )
    return f"The sampler removes it: {what}."
