"""Traps: what makes constrained decoding go wrong although every mask is right.

A mask says which tokens are possible, not which make sense. `machine_traps` examines a token DFA
alone, `session_traps` a run, and `prompt_traps` a prompt. Every trap has its evidence and a remedy.
None is an error: a loop may be intended.

Read in this order: `trap` (a trap, and the grouping of those with one remedy), `of_machine`,
`loops` (the loop that a run is in), `of_run`.
"""

from explorer.analysis.traps.loops import run_loops
from explorer.analysis.traps.of_machine import machine_traps
from explorer.analysis.traps.of_run import LIKED, greedy_traps_ahead, prompt_traps, session_traps
from explorer.analysis.traps.trap import Kind, Trap, grouped_traps

__all__ = [
    "LIKED",
    "Kind",
    "Trap",
    "greedy_traps_ahead",
    "grouped_traps",
    "machine_traps",
    "prompt_traps",
    "run_loops",
    "session_traps",
]
