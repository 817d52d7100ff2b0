"""The one small packet that travels to the page at each position.

Position k is after k tokens and holds the distribution from which token k + 1 is drawn. The mask
is a bit per token class; the tokens themselves, and the class of each, went to the page once
(`widgets.figures.packets`). The lit path is sent as names of nodes and arcs
(`widgets.figures.machines.lit`); of a long text the end of the path, because all packets together
would otherwise grow with the square of the text.

Cost: one or two milliseconds for the path of a long text, besides the verdicts of the bars.
"""

from __future__ import annotations

import math
from typing import Final

from explorer.analysis.characters.display import split_tail
from explorer.analysis.places.spans import live_places
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded
from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.machines.character_fsa import expects
from widgets.figures.machines.lit import path_packet
from widgets.figures.panels.distribution import BARS, bars, table_text
from widgets.figures.panels.mask import allowed_at, class_row, count_at, pack_bits
from widgets.figures.panels.stack import stack_packet

SPANS: Final = 64
"""How many places of the pattern are marked at most."""


def position_packet(
    trace: Trace, k: int, machine: TokenMachine, bars_shown: int = BARS
) -> dict[str, object]:
    """Everything a page shows of one position.

    Args:
        trace: The record.
        k: A position, 0 to ``len(trace)``.
        machine: The token machine of the trace; `Free` has no reasons and no path.
        bars_shown: How many bars.

    Returns:
        Plain values for JSON. Probabilities 0 to 1, entropies in bits, times in milliseconds;
        what is not known is ``None``.
    """
    position = trace.positions[k]
    step = trace.steps[k] if k < len(trace.steps) else None
    found = position.distribution
    taken: dict[str, object] | None = None
    if step is not None:
        taken = {
            "id": step.token,
            "text": table_text(trace, step.token),
            "by": step.chosen_by,
            "model": _probability(step.log_prob_model),
            "filtered": _probability(step.log_prob_filtered),
            "constrained": _probability(step.log_prob_constrained),
        }
    stack = stack_packet(trace, k, machine)
    return {
        "k": k,
        **({} if stack is None else {"stack": stack}),
        "state": position.state,
        "lit": {} if machine.constraint is None else path_packet(trace, k, machine),
        "row": _row(trace, k, machine),
        "allowed": count_at(trace, k),
        "width": trace.tokens.size,
        "z": None if found is None else _number(found.z),
        "entropy_before": None if found is None else _number(found.entropy_before),
        "entropy_after": None if found is None else _number(found.entropy_after),
        "kl": None if found is None else _number(found.kl),
        "top": [bar.to_dict() for bar in bars(trace, k, machine, bars_shown)],
        "taken": taken,
        "rank": None if step is None else step.rank,
        "forced": position.forced,
        "finished": position.finished,
        "by": None if step is None else step.chosen_by,
        "intervention": found is not None and found.intervention,
        "over_budget": position.over_budget,
        "ms": {}
        if found is None
        else {
            "model": round(found.timing.model, 3),
            "mask": round(found.timing.mask, 3),
            "sampling": round(found.timing.sampling, 3),
        },
        "expects": expected_words(machine, position.state),
        "spans": [list(span) for span in live_spans(machine, position.data)],
    }


def _row(trace: Trace, k: int, machine: TokenMachine) -> str:
    """The mask: a bit per token class, or per id where the machine has no classes."""
    if trace.masks is None:
        return ""
    known = table_of(machine) is not None
    return pack_bits(class_row(trace, k) if known else allowed_at(trace, k))


def _probability(log_prob: float | None) -> float | None:
    return None if log_prob is None else _number(math.exp(log_prob))


def _number(value: float) -> float | None:
    """A number that JSON can hold, to five digits."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def expected_words(machine: TokenMachine, state: int) -> str:
    """The expected characters of a token state, in words; empty for a sentinel."""
    return "" if state < 0 else expects(machine, machine.byte_state(state))


def live_spans(machine: TokenMachine, data: bytes) -> tuple[tuple[int, int], ...]:
    """The places of the pattern that read what comes next.

    Args:
        machine: The token machine.
        data: The text so far, in bytes.

    Returns:
        ``(start, end)`` in characters of its text; empty where its text has no live places,
        or too large to be laid out.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"o", b"d"], eos_ids=[3])
        >>> live_spans(explorer.compile(explorer.regex("(foo)+d"), vocab), b"foo")
        ((1, 2), (6, 7))
    """
    source = None if machine.constraint is None else machine.constraint.source
    if source is None:
        return ()
    try:
        places = live_places(source, split_tail(data)[0])
    except BudgetExceeded:
        return ()
    spans = dict.fromkeys(place.span for place in places if place.span and place.source == source)
    return tuple(spans)[:SPANS]
