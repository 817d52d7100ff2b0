"""The conditions under which a page looks ahead by itself, or only after a press."""

from __future__ import annotations

import time

import pytest

from explorer.analysis.ahead import Ahead
from explorer.analysis.session import Session
from widgets.looks import QUIET_SECONDS, Looks
from widgets.toy import ToyModel, toy_constraint


def test_one_slow_look_does_not_end_them_but_two_in_a_row_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = QUIET_SECONDS + 0.1
    costs = iter([slow, 0.0, slow, slow])

    def look(_: Session) -> tuple[Ahead, ...]:
        time.sleep(next(costs))
        return ()

    monkeypatch.setattr(Session, "ahead", look)
    session, looks = Session(ToyModel(), toy_constraint()), Looks()
    taken = list[bool]()
    for _ in range(5):
        taken.append(looks.ahead(session, asked=False) is not None)
        session.step(token=2)  # foo, again and again.
    assert taken == [True, True, True, True, False]
    assert looks.seconds > QUIET_SECONDS
