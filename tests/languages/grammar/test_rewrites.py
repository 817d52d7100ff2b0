"""The rewrites that errors propose: each sketch is a grammar, and does what it says."""

from __future__ import annotations

import pytest

import explorer
from explorer.errors import GrammarError
from explorer.languages.grammar.diagnosis import SKETCHES

# What a sketch leaves out: the root, and rules that recurse, so that nothing is merged away.
AROUND = {
    "gbnf": 'root ::= {0}\n{1}\nt ::= "(" root ")" | "1"\n',
    "lark": 'start: {0}\n{1}\nt: "(" start ")" | "1"\n',
}
KEYWORDS = {
    "gbnf": 'root ::= st\nst ::= "if " b ";" | name " " c ";"\n'
    'b ::= "(" b ")" | "x"\nc ::= "(" c ")" | "y"\n',
    "lark": 'start: st\nst: "if " b ";" | NAME " " c ";"\nb: "(" b ")" | "x"\nc: "(" c ")" | "y"\n',
}
FIRST = {"left recursion": "e", "end or go on": "s", "begin alike": "s"}


def written(kind: str, dialect: str, sketch: str) -> explorer.Constraint:
    """The grammar that a sketch is a part of."""
    text = f"{KEYWORDS[dialect]}{sketch}\n" if kind == "keyword" else ""
    return explorer.grammar(
        text or AROUND[dialect].format(FIRST[kind], sketch), dialect, ambiguous=False
    )


CASES = [(kind, dialect) for kind, sketches in SKETCHES.items() for dialect in sketches]


@pytest.mark.parametrize(("kind", "dialect"), CASES)
def test_what_is_proposed_has_one_stack(kind: str, dialect: str) -> None:
    good, bad = SKETCHES[kind][dialect]
    written(kind, dialect, good)
    with pytest.raises(GrammarError) as caught:
        written(kind, dialect, bad)
    error = caught.value
    assert error.evidence["rewrite"] == kind
    lines = [line.strip() for line in error.remedy.split("\n")]
    assert lines[1:-1] == [good, "for", *bad.split("\n")] and "ambiguous=False" in lines[-1]
