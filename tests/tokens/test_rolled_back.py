"""Rolled back = never went there, for every kind of machine.

A speculative decoder goes ahead and comes back. The state that it comes back to must answer as in a
machine that nobody ever drove further: masks, steps, ends, distances.
"""

from __future__ import annotations

import explorer
from explorer import Constraint, Session, phase, regex

TINY = explorer.load_model("tiny")


def test_a_session_that_goes_back_never_went_there() -> None:
    constraint: Constraint = phase("sum", regex("[0-9]{1,4}")) + phase("end", " ok")
    session = Session(TINY, constraint, "1 + 1 =", seed=3, sampler=explorer.Sampler(1.0))
    session.run()
    whole = session.trace
    for k in range(len(whole)):
        session.jump(k)
        fresh = Session(TINY, constraint, "1 + 1 =", seed=3, sampler=explorer.Sampler(1.0))
        fresh.run(max_tokens=k)
        assert fresh.ids == session.ids and fresh.phases == session.phases
        assert (fresh.allowed() == session.allowed()).all()
