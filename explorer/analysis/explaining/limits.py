"""Why a session does not draw a token that its constraint allows: the token budget, the sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # It comes with torch, which an explanation does not need.
    from explorer.decoding.sampling.sampler import SampledOut


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A token budget that the token does not fit into.

    Args:
        needs: Tokens from this one to the end of the text, EOS included.
        remain: Tokens that may still be written.
    """

    needs: int
    remain: int


def budget_sentence(found: OverBudget) -> str:
    """Why the token budget removes a token.

    Args:
        found: What the token needs, and what remains.
    """
    verb = "remains" if found.remain == 1 else "remain"
    return (
        f"It does not fit into the token budget: it needs {found.needs:,} tokens to the end, "
        f"and {found.remain:,} {verb}."
    )


def sampler_sentence(found: SampledOut) -> str:
    """Why the sampler never draws an allowed token.

    Args:
        found: The filter that removes it, and by how much.
    """
    match found.by:
        case "greedy":
            what = f"greedy decoding takes the likeliest, and it is number {found.rank:,}"
        case "min_p":
            what = (
                f"min-p keeps a probability of {found.threshold:.3g} or more, and it has "
                f"{found.probability:.3g}"
            )
        case _:
            kept = int(found.threshold)
            what = (
                f"{found.by.replace('_', '-')} keeps {kept:,} token{'' if kept == 1 else 's'} "
                f"here, and it is number {found.rank:,} with a probability of "
                f"{found.probability:.3g}"
            )
    return f"The sampler removes it: {what}."
