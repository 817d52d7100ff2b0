"""The rule of most classes: the constraint read in another way, by us and by the engine.

A reading is the reason for tokens where two things hold. Our mask of the constraint with the change
is the engine's on them, and the engine, asked for the constraint with the change, shows the mask
that it shows without: to it the change is none. The first alone would be a guess: a keyword may be
read and still mean something else to the engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from explorer.automata.machine import Bool
from explorer.errors import ExplorerError
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.readings.variants import BUDGET, SHORT_BUDGET, mask_after, variants_of
from explorer.witnesses.rules.recognised import Recognise, Recognised

PREDICTED: Final = 0.9
"""The part of a change's differences that must be the engine's too."""


def by_readings(kind: str) -> Recognise:
    """The rule for the readings of one class.

    Args:
        kind: The class.
    """

    def recognise(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
        left = left.copy()
        budget = BUDGET if math.isinf(comparison.deadline) else SHORT_BUDGET
        for variant in variants_of(comparison):
            if variant.kind != kind or not left.any():
                continue
            comparison.check_time()
            try:
                mask = mask_after(variant.make(), comparison.vocabulary, comparison.prefix, budget)
                if mask is None:
                    continue
                changes = mask != comparison.ours
                found = changes & (mask == comparison.theirs) & left
                # A change that predicts what the engine does not do is not what it does. A keyword
                # less allows more spellings of numbers, which it may mask for another reason.
                predicted = int((changes & comparison.differing).sum())
                share = 0 if kind == "unsupported keyword" else PREDICTED
                if not found.any() or predicted < share * int(changes.sum()):
                    continue
                asked = variant.ask()
            except ExplorerError:
                continue
            if asked is None or not comparison.shows_the_same_for(asked):
                continue
            left &= ~found
            many = "it" if found.sum() == 1 else f"all {int(found.sum()):,}"
            yield Recognised(
                found, variant.sentence,
                {
                    "compiled anew with that change": f"our mask is the engine's on {many}",
                    "the engine asked with that change": "its mask here is the same, token by "
                    "token",
                },
                asked,
            )  # fmt: skip

    return recognise
