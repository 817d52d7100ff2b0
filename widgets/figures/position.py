"""What travels to the page at each position: one small packet.

Position k is after k tokens and holds the distribution from which token k + 1 is drawn. The mask
is a bit per token class; the tokens themselves, and the class of each, went to the page once
(`widgets.figures.packets`). The path is the character states byte by byte; of a long text the
last `PATH_BYTES`, because all packets together would otherwise grow with the square of the text.

Cost: well under a millisecond with a warm machine, besides the verdicts of the bars.
"""

from __future__ import annotations

import math
from typing import Final

from explorer.analysis.characters.display import split_tail
from explorer.analysis.places.positions import Position as Place
from explorer.analysis.places.positions import positions_of
from explorer.automata.machine import NO_ARC
from explorer.automata.source import Regex
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded
from explorer.tokens.failing import run
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.machines.character_fsa import expects
from widgets.figures.panels.distribution import BARS, bars, table_text
from widgets.figures.panels.mask import pack_bits

PATH_BYTES: Final = 256
"""How many character states of the path a packet holds at most."""

SPANS: Final = 64
"""How many places of the pattern are marked at most."""


def position_packet(
    trace: Trace, k: int, dfa: TokenDFA | None = None, bars_shown: int = BARS
) -> dict[str, object]:
    """Everything a page shows of one position.

    Args:
        trace: The record.
        k: A position, 0 to ``len(trace)``.
        dfa: The token DFA of the trace; without it there are no reasons and no path.
        bars_shown: How many bars.

    Returns:
        Plain values for JSON. Probabilities 0 to 1, entropies in bits, times in milliseconds;
        what is not known is ``None``.
    """
    position = trace.positions[k]
    step = trace.steps[k] if k < len(trace.steps) else None
    found = position.distribution
    path, path_from = _path(dfa, position.data)
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
    return {
        "k": k,
        "state": position.state,
        "char_state": position.char_state,
        "path": path,
        "path_from": path_from,
        "row": "" if trace.masks is None else pack_bits(trace.row(k)),
        "allowed": position.num_allowed,
        "width": trace.tokens.size,
        "z": None if found is None else _number(found.z),
        "entropy_before": None if found is None else _number(found.entropy_before),
        "entropy_after": None if found is None else _number(found.entropy_after),
        "kl": None if found is None else _number(found.kl),
        "top": [bar.to_dict() for bar in bars(trace, k, dfa, bars_shown)],
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
        "expects": "" if dfa is None else expected_words(dfa, position.char_state),
        "spans": [] if dfa is None else [list(span) for span in live_spans(dfa, position.data)],
    }


def _path(dfa: TokenDFA | None, data: bytes) -> tuple[list[int], int]:
    if dfa is None:
        return [], 0
    machine = dfa.constraint.dfa
    states = run(machine, machine.start, data).tolist()
    skipped = max(0, len(states) - PATH_BYTES)
    return states[skipped:], skipped


def _probability(log_prob: float | None) -> float | None:
    return None if log_prob is None else _number(math.exp(log_prob))


def _number(value: float) -> float | None:
    """A number that JSON can hold, to five digits."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def expected_words(dfa: TokenDFA, char_state: int) -> str:
    """What a character state expects, in words; empty for a sentinel."""
    return "" if char_state == NO_ARC else expects(dfa, char_state)


def live_spans(dfa: TokenDFA, data: bytes) -> tuple[tuple[int, int], ...]:
    """The places of the pattern that read what comes next.

    Args:
        dfa: The token DFA.
        data: The text so far, in bytes.

    Returns:
        ``(start, end)`` in characters of the pattern; empty where the constraint is no one pattern,
        or too large to be laid out.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"o", b"d"], eos_ids=[3])
        >>> live_spans(explorer.compile(explorer.regex("(foo)+d"), vocab), b"foo")
        ((1, 2), (6, 7))
    """
    source = dfa.constraint.source
    if not isinstance(source, Regex):
        return ()
    text = split_tail(data)[0]
    try:
        automaton = positions_of(source)
        places: tuple[Place, ...] = automaton.positions(automaton.live(text))
    except BudgetExceeded:
        return ()
    spans = dict.fromkeys(place.span for place in places if place.span is not None)
    return tuple(spans)[:SPANS]
