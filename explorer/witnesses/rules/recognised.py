"""What a rule of a class says: the tokens that it recognises, the reason, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.automata.machine import Bool
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.messages import Statement


@dataclass(frozen=True, eq=False)
class Recognised:
    """Tokens whose difference a rule recognises.

    Args:
        tokens: bool[len(vocabulary)].
        sentence: The reason.
        evidence: What shows it, by name.
        same_as: The other constraint for which the engine shows this very mask here, if that is
            the reason.
    """

    tokens: Bool
    sentence: str
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    same_as: Statement | None = None


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
