"""The conditions under which a page looks ahead by itself, or only after a press."""

from __future__ import annotations

import time
from functools import partial

from explorer.analysis.session import Session
from tests.widgets.page import Held
from widgets.looks import QUIET_SECONDS, Looks
from widgets.toy import toy_constraint


def test_one_slow_look_does_not_end_them_but_two_in_a_row_do() -> None:
    slow, model = QUIET_SECONDS + 0.1, Held()
    session, looks = Session(model, toy_constraint()), Looks()
    taken = list[bool]()
    for seconds in (slow, 0.0, slow, slow, 0.0):
        model.before = partial(time.sleep, seconds)
        taken.append(looks.ahead(session, asked=False) is not None)
        model.before = None
        session.step(token=2)  # foo, again and again.
    assert taken == [True, True, True, True, False]
    assert looks.seconds > QUIET_SECONDS
