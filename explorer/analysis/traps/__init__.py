"""Traps: what makes constrained decoding go wrong although every mask is right.

A mask says which tokens are possible, not which make sense. Two places to look: `machine_traps`
looks at a token DFA alone, `session_traps` at a run, and `prompt_traps` at what stands before one.
Every trap has its evidence and a remedy. None is an error: a loop may be what is wanted.

Read in this order: `trap` (what a trap is; many with one remedy are one), `of_machine`, `loops`
(the loop that a run is in), `of_run`.
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
