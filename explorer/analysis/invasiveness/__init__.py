"""Measures of how much a constraint changes what a model writes.

After Beurer-Kellner, Fischer, Vechev, "Guiding LLMs The Right Way" (2024). Read in this order:
`comparing` (one prompt: with and without the constraint), `summary` (a table over prompts),
`retokenizing` (the model's own tokens of a text), `schemes` (the ways of constraining that are
compared).
"""

from __future__ import annotations

from explorer.analysis.invasiveness.comparing import RunPair, invasiveness
from explorer.analysis.invasiveness.retokenizing import Retokenized, retokenize
from explorer.analysis.invasiveness.schemes import Scheme, naturalised, schemes_of
from explorer.analysis.invasiveness.summary import (
    InvasivenessTable,
    SchemeRow,
    invasiveness_table,
)

__all__ = [
    "InvasivenessTable",
    "Retokenized",
    "RunPair",
    "Scheme",
    "SchemeRow",
    "invasiveness",
    "invasiveness_table",
    "naturalised",
    "retokenize",
    "schemes_of",
]
