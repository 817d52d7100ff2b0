"""The bars: the likeliest tokens in three columns, masked ones at their place with the reason.

The order is the model's own, so that a masked token stays where the model wants it. The figures
beside the bars (allowed count, feasible mass, entropy, divergence, rank of what was taken) are the
record's own figures; nothing is worked out again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from explorer.decoding.trace.records import Candidate, Position
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from explorer.tokens.states import FREE
from widgets.figures.drawing.labels import name_without_text, token_text
from widgets.figures.panels.reasons import short_reason

BARS: Final = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One token in the three distributions.

    Args:
        id: The token.
        text: Readable.
        model, filtered, constrained: Probabilities, 0 to 1.
        allowed: Whether the mask allows it, token budget included.
        reason: Why it is masked, in two or three words.
        taken: Whether it was chosen here.
    """

    id: int
    text: str
    model: float
    filtered: float
    constrained: float
    allowed: bool
    reason: str | None
    taken: bool

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "model": _rounded(self.model),
            "filtered": _rounded(self.filtered),
            "constrained": _rounded(self.constrained),
            "allowed": self.allowed,
            "reason": self.reason,
            "taken": self.taken,
        }


def _rounded(value: float) -> float:
    """Round to four digits: a bar shows no more, and a page stores a thousand positions."""
    return float(f"{value:.4g}")


def table_text(trace: Trace, token: int) -> str:
    """A token of a trace as one line; its id where the trace does not mention it.

    Args:
        trace: The record.
        token: An id.
    """
    from explorer.automata.textbook.detokenizing import readable

    data = trace.tokens.data.get(token)
    if data:
        return readable(data)
    return name_without_text(token, trace.tokens.special, trace.tokens.eos_ids)


def bars(trace: Trace, k: int, machine: TokenMachine, most: int = BARS) -> tuple[Bar, ...]:
    """The bars of a position, the model's likeliest first.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine, for texts and reasons.
        most: How many. The token that was taken is always among them.
    """
    position = trace.positions[k]
    if position.distribution is None:
        return ()
    taken = trace.steps[k].token if k < len(trace.steps) else -1
    found = list(position.distribution.candidates)
    shown = found[:most]
    for entry in found[most:]:
        if entry.token == taken and shown:
            shown[-1] = entry
    return tuple(_bar(trace, position, entry, entry.token == taken, machine) for entry in shown)


def _bar(
    trace: Trace, position: Position, entry: Candidate, taken: bool, machine: TokenMachine
) -> Bar:
    return Bar(
        entry.token,
        token_text(machine.vocabulary, entry.token),
        math.exp(entry.model),
        math.exp(entry.filtered),
        math.exp(entry.constrained),
        entry.allowed,
        None if entry.allowed else reason_at(position, entry.token, machine),
        taken,
    )


def reason_at(position: Position, token: int, machine: TokenMachine) -> str:
    """Why a token is masked at a position, the token budget included."""
    if position.finished:
        return "the text has ended"
    if position.state == FREE:
        return "masked"
    found = short_reason(machine, position.state, token, position.data)
    return "over the token budget" if found is None else found
