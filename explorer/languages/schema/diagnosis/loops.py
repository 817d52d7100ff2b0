"""The keyword of a schema, or the option, that ends each kind of loop."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from explorer.automata.tree.nodes import Loop

LOOP_REMEDIES: Final[Mapping[Loop, str]] = MappingProxyType(
    {
        "space": 'Give whitespace="compact", which allows none between the tokens of JSON.',
        "number": 'Give the number a "minimum" and a "maximum", which end a whole number. No '
        'keyword ends the digits of a "type": "number" after its point or in its exponent; give '
        "max_tokens, which ends the run.",
        "string": 'Give the string a "maxLength".',
        "array": 'Give the array a "maxItems".',
        "object": 'Give the object "maxProperties", or "additionalProperties": false.',
        "repeat": "Bound the part that repeats, such as {1,40} for + in a pattern.",
    }
)
"""The remedy for each kind of text that is written without end."""
