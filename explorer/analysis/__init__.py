"""Pure functions of machines and traces: why a token is masked, and what may go wrong.

Read in this order: `characters` (bytes as characters), `verdict` (stage, offset, evidence),
`places` (which part of the source), `wording` (in words), `explaining` (all of that together, with
everything that is searched for), `session` (a session that explains itself), `traps` (what may go
wrong), `invasiveness` (what a constraint does to the model; it is asked for by its own name).

Nothing here needs torch until a session's logits come in.
"""

from __future__ import annotations

from explorer.analysis.explaining.explanation import (
    Explanation,
    History,
    TextExplanation,
    explain,
    explain_text,
)
from explorer.analysis.explaining.groups import MaskReasons, ReasonGroup, explain_all
from explorer.analysis.explaining.step import (
    explain_recorded,
    explain_step,
    explain_trace,
    reasons_at,
)
from explorer.analysis.traps import Trap, machine_traps, prompt_traps, session_traps

__all__ = [
    "Explanation",
    "History",
    "MaskReasons",
    "ReasonGroup",
    "TextExplanation",
    "Trap",
    "explain",
    "explain_all",
    "explain_recorded",
    "explain_step",
    "explain_text",
    "explain_trace",
    "machine_traps",
    "prompt_traps",
    "reasons_at",
    "session_traps",
]
