"""Measures of how much a constraint changes what a model writes.

After Beurer-Kellner, Fischer, Vechev, "Guiding LLMs The Right Way" (2024). Read in this order:
`comparing` (with and without the constraint: one prompt, and a table over prompts), `schemes` (the
ways of constraining that are compared, and the model's own tokens of a text).
"""

from __future__ import annotations

from explorer.analysis.invasiveness.comparing import (
    InvasivenessTable,
    RunPair,
    SchemeRow,
    invasiveness,
    invasiveness_table,
)
from explorer.analysis.invasiveness.schemes import (
    Retokenized,
    Scheme,
    naturalised,
    retokenize,
    schemes_of,
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
