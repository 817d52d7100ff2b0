"""What a rule of a class says: the tokens that it recognises, the reason, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.automata.machine import Bool
from explorer.witnesses.comparison import Comparison


@dataclass(frozen=True, eq=False)
class Recognised:
    """Tokens whose difference a rule recognises.

    Args:
        tokens: bool[len(vocabulary)].
        sentence: The reason.
        evidence: What shows it, by name.
    """

    tokens: Bool
    sentence: str
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])


Recognise = Callable[[Comparison, Bool], Iterable[Recognised]]


def flags_of(tokens: Iterable[int], size: int) -> Bool:
    """Ids as bool[size].

    Args:
        tokens: The ids.
        size: The width of the vocabulary.
    """
    found = np.zeros(size, np.bool_)
    found[list(tokens)] = True
    return found
