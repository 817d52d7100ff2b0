"""Measures of how much a constraint changes what a model writes.

After Beurer-Kellner, Fischer, Vechev, "Guiding LLMs The Right Way" (2024). Read in this order:
`comparing` (one prompt with and without the constraint), `schemes` (the ways of constraining that
are compared, and the model's own tokens of a text).
"""

from __future__ import annotations

from explorer.analysis.invasiveness.comparing import RunPair, invasiveness
from explorer.analysis.invasiveness.schemes import (
    Retokenized,
    Scheme,
    naturalised,
    retokenize,
    schemes_of,
)

__all__ = [
    "Retokenized",
    "RunPair",
    "Scheme",
    "invasiveness",
    "naturalised",
    "retokenize",
    "schemes_of",
]
