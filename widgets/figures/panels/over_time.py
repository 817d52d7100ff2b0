"""The run as lines: feasible mass, entropy, allowed count and chosen probability, by position.

The figures are the record's. A place where a figure is not known (a run without a model, the
position after the end) is ``None``, and the line has a gap there: it is not zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.decoding.trace.trace import Trace
from widgets.figures.panels.mask import count_at

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One value per position.

    Args:
        z: Feasible mass, 0 to 1.
        entropy_before, entropy_after: Bits.
        allowed: Ids allowed; 0 after the end.
        chosen: The model's probability of what was taken there; ``None`` at the last position.
        chosen_constrained: The same under the constraint.
        forced: Where one id was allowed.
        interventions: Where the model's first choice was masked.
    """

    z: Values
    entropy_before: Values
    entropy_after: Values
    allowed: tuple[int, ...]
    chosen: Values
    chosen_constrained: Values
    forced: tuple[bool, ...]
    interventions: tuple[bool, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "z": list(self.z),
            "entropy_before": list(self.entropy_before),
            "entropy_after": list(self.entropy_after),
            "allowed": list(self.allowed),
            "chosen": list(self.chosen),
            "chosen_constrained": list(self.chosen_constrained),
            "forced": list(self.forced),
            "interventions": list(self.interventions),
        }


def over_time(trace: Trace) -> TimeSeries:
    """The lines of a trace.

    Args:
        trace: The record.
    """
    found = [position.distribution for position in trace.positions]

    def chosen(logs: list[float | None]) -> Values:
        known = tuple(None if log is None else _round(math.exp(log)) for log in logs)
        return (*known, None)

    return TimeSeries(
        tuple(None if d is None else _round(d.z) for d in found),
        tuple(None if d is None else _round(d.entropy_before) for d in found),
        tuple(None if d is None else _round(d.entropy_after) for d in found),
        tuple(count_at(trace, k) for k in range(len(trace.positions))),
        chosen([step.log_prob_model for step in trace.steps]),
        chosen([step.log_prob_constrained for step in trace.steps]),
        tuple(position.forced for position in trace.positions),
        tuple(d is not None and d.intervention for d in found),
    )


def _round(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
