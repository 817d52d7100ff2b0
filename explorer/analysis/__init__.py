"""Pure functions of machines and traces: why a token is masked, and what may go wrong.

Read in this order: `characters` (bytes as characters), `verdict` (stage, offset, evidence),
`places` (the parts of the source that decide), `wording` (in words), `explaining` (explanations,
which combine these and add searches), `ahead` (the step after a likely next token; like a session
it needs torch), `session` (a session that explains itself), `traps` (what may go wrong),
`invasiveness` (the effect of a constraint on the model; imported by its own name).

Nothing here needs torch until a session's logits come in. Each name is imported on first use, so
that a caller who only writes bytes as characters loads no explanations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_FILE_OF = {
    "MaskReasons": "explaining.groups",
    "ReasonGroup": "explaining.groups",
    "explain_all": "explaining.groups",
    "explain_recorded": "explaining.step",
    "explain_step": "explaining.step",
    "explain_trace": "explaining.step",
    "reasons_at": "explaining.step",
    "Trap": "traps",
    "machine_traps": "traps",
    "prompt_traps": "traps",
    "session_traps": "traps",
}
"""The files of some names; that of the others is ``explaining.explanation``."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = import_module(f"{__name__}.{_FILE_OF.get(name, 'explaining.explanation')}")
    value = globals()[name] = getattr(file, name)
    return value
