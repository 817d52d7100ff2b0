"""Reading a grammar takes time in proportion to its length, and looks at the clock of its budget.

Calls of functions are counted, which do not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explorer import Budget, grammar
from explorer.errors import BudgetExceeded
from explorer.languages.grammar.diagnosis import LIMITS
from tests.evidence import calls_of

SHAPES: dict[str, Callable[[int], tuple[str, str]]] = {
    "a long text": lambda n: ('root ::= "' + "a" * n + '"', "gbnf"),
    "a long text in Lark": lambda n: ('start: "' + "a" * n + '"', "lark"),
    "many pieces": lambda n: ("root ::= " + '"a" ' * n, "gbnf"),
    "many calls": lambda n: (
        "root ::= " + " ".join(f"r{k}" for k in range(n))
        + "".join(f'\nr{k} ::= "a"' for k in range(n)), "gbnf",
    ),
    "many choices": lambda n: (
        "root ::= " + " | ".join(f"r{k}" for k in range(n))
        + "".join(f'\nr{k} ::= "{k:04d}"' for k in range(n)), "gbnf",
    ),
    "a class": lambda n: ("root ::= [" + "".join(chr(0x4E00 + 2 * k) for k in range(n)) + "]",
                          "gbnf"),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_length_is_twice_the_work(shape: str) -> None:
    """Each text, piece and rule was compared with all others."""
    text, syntax = SHAPES[shape](10)
    grammar(text, syntax)
    few, many = (
        calls_of(lambda n=n: grammar(*SHAPES[shape](n), ambiguous=True)) for n in (300, 600)
    )
    assert many < 2.5 * few


def test_the_states_of_the_budget_hold_for_the_check() -> None:
    """A fixed limit held, and the error said to raise the budget."""
    many = 'root ::= "a"{300000}'
    with pytest.raises(BudgetExceeded) as raised:
        grammar(many, ambiguous=False)
    assert (raised.value.resource, raised.value.limit) == ("states", LIMITS.states)
    assert grammar(many, ambiguous=False, budget=Budget(states=5_000_000)).accepts("a" * 300_000)
    with pytest.raises(BudgetExceeded) as raised:
        grammar(many, ambiguous=False, budget=Budget(states=2_000))
    assert raised.value.limit == 2_000


@pytest.mark.parametrize("shape", SHAPES)
def test_the_budget_of_reading_is_kept(shape: str) -> None:
    """A time that is over ends it at once."""
    text, syntax = SHAPES[shape](300)
    with pytest.raises(BudgetExceeded):
        grammar(text, syntax, budget=Budget(seconds=1e-9))
