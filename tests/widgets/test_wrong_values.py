"""Wrong arguments of cursors, views and toys: one of our errors that names what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import explorer
from explorer.errors import ExplorerError
from explorer.tokens.schemes.terminals import FLAT_OBJECT
from widgets import Compare, Cursor, Invasiveness, ToyModel
from widgets.toy import toy_constraint

COMPARE: Any = Compare
INVASIVENESS: Any = Invasiveness
TOY: Any = ToyModel


def cursor() -> Any:
    return Cursor(explorer.Session(ToyModel(), toy_constraint()))


ROWS: list[tuple[str, Callable[[], object]]] = [
    ("tokens is 'x' (str)", lambda: cursor().run("x")),
    ("tokens is 2.5 (float)", lambda: cursor().run(2.5)),
    ("line is 'x' (str)", lambda: cursor().switch("x")),
    ("There is no line 7", lambda: cursor().switch(7)),
    ("kept is 'x' (str)", lambda: cursor().restore("x")),
    ("session is 'x' (str)", lambda: cursor().replace("x")),
    ("listener is 3 (int)", lambda: cursor().subscribe(3)),
    ("selected is 'x' (str)", lambda: setattr(cursor(), "selected", "x")),
    ("schemes is 3 (int)", lambda: COMPARE(schemes=3)),
    ("name of a scheme is 3 (int)", lambda: COMPARE(schemes={3: None})),
    ("lm is [] (list)", lambda: COMPARE([])),
    ("both is 'x' (str)", lambda: COMPARE().take("left", 2, both="x")),
    ("scheme is [] (list)", lambda: COMPARE().choose_scheme("left", [])),
    ("lookaheads is 3 (int)", lambda: INVASIVENESS(TOY(), FLAT_OBJECT, lookaheads=3)),
    ("lookaheads is 'x' (str)", lambda: INVASIVENESS(TOY(), FLAT_OBJECT, lookaheads=["x"])),
    ("prompt is 0 (int)", lambda: INVASIVENESS(TOY(), toy_constraint(), 0)),
    ("tokens is 'x' (str)", lambda: TOY().read("x")),
    ("tokens is 3 (int)", lambda: TOY().read(3)),
    ("token is 'x' (str)", lambda: TOY().read(["x"])),
    ("end is 'x' (str)", lambda: TOY({"f": 1}, end="x")),
    ("end is -1 (int)", lambda: TOY({"f": 1}, end=-1)),
    ("after is 3 (int)", lambda: TOY({"f": 1}, after=3)),
    ("A token of tokens is 3 (int)", lambda: TOY({3: 1})),
    ("half of a surrogate pair", lambda: TOY({"\ud800": 1})),
    ("tokens is 1000", lambda: TOY({"f": 10**400})),
]


@pytest.mark.parametrize(("said", "call"), ROWS, ids=[said for said, _ in ROWS])
def test_a_wrong_argument_is_named_and_has_a_remedy(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(ExplorerError) as caught:
        call()
    assert said in caught.value.message
    assert caught.value.remedy


def test_what_is_refused_changes_nothing() -> None:
    kept = cursor()
    kept.step()
    before, told = (kept.lines, kept.selected, kept.generation), list[str]()
    kept.subscribe(lambda: told.append("moved"))
    for call in (kept.run, kept.switch, kept.restore, kept.replace):
        with pytest.raises(ExplorerError):
            call("x")
    assert (kept.lines, kept.selected, kept.generation) == before
    assert not told


def test_a_token_is_taken_on_both_sides_by_its_text_too() -> None:
    both: Any = Compare(None, None, None)
    both.take("left", "oo", both=True)
    assert both.left.session.text == both.right.session.text == "oo"
    both.close()
