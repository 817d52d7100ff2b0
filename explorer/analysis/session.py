"""The session that users hold: it steps, and it can say why.

Stepping lives in `explorer.decoding` and knows nothing of explanations, which are built on top of
traces and machines. This class only puts the two together, so that a question can be asked where
one stands.
"""

from __future__ import annotations

from collections.abc import Set
from typing import cast

from explorer.analysis.explaining.explanation import Explanation
from explorer.analysis.explaining.groups import MaskReasons
from explorer.analysis.explaining.step import explain_step, reasons_at
from explorer.analysis.traps import Trap, machine_traps, session_traps
from explorer.budget import Budget
from explorer.decoding.stepping.walk import Walk
from explorer.errors import ExplorerError


class Session(Walk):
    """Constrained decoding one step at a time, forwards, backwards and sideways, with reasons.

    Everything about stepping, its arguments included, is said in
    `explorer.decoding.stepping.walk.Walk`; this adds the questions. Forks, copies and what `edit`
    returns are sessions too.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
        >>> session = Session.from_ids(vocab, explorer.regex("(foo)+"), [2])
        >>> session.explain(3).stage
        'constraint'
    """

    def explain(
        self, token: int | str, position: int | None = None, *, budget: Budget | None = None
    ) -> Explanation:
        """Why a token may come next, or may not, the sampler and the token budget included.

        Args:
            token: An id, or a text that the tokenizer splits.
            position: How many tokens stand before it; default the cursor's.
            budget: Limits for each of the explanation's searches.

        Raises:
            ExplorerError: The session has no constraint, or no such position.
        """
        return explain_step(self, token, position, budget=budget)

    def reasons(self, position: int | None = None, *, budget: Budget | None = None) -> MaskReasons:
        """The verdict on every id at a position, in a few groups with their probability.

        Args:
            position: How many tokens stand before; default the cursor's.
            budget: Limits for what must be searched for.

        Raises:
            ExplorerError: The session has no constraint, or no such position.
        """
        return reasons_at(self, position, budget=budget)

    def traps(self, *, budget: Budget | None = None) -> tuple[Trap, ...]:
        """Find what makes this run go wrong or could, each with its evidence and a remedy.

        First those of the run, then those of its constraint, whose position is ``None``: of these
        first the ones around the place where the run is, then those that it went through.

        Args:
            budget: Limits for looking through the constraint's machine.

        Raises:
            ExplorerError: The session has no constraint.
        """
        if self.constraint is None:
            raise ExplorerError(
                "A session without a constraint masks nothing, so it has no traps.",
                remedy="Give the session a constraint.",
            )
        trace = self.trace
        known = machine_traps(self.machine, budget=budget)
        passed = {position.state for position in trace.positions}
        here = trace.positions[-1].state
        own = sorted(known, key=lambda trap: _distance(trap, here, passed))
        return (*session_traps(self.machine, trace), *own)


def _distance(trap: Trap, here: int, passed: Set[int]) -> int:
    """The distance of a trap of the constraint from a run: 0 where it is, 1 where it was."""
    states = trap.evidence.get("states")
    if trap.kind == "visited_only":
        return 3  # It speaks about all that was said before it.
    around = {trap.state, *(cast("tuple[int, ...]", states) if isinstance(states, tuple) else ())}
    return 0 if here in around else 1 if around & passed else 2
