"""Faults of grammars, with their places."""

from __future__ import annotations

import pytest

import explorer
from explorer.analysis.traps.of_machine import machine_traps
from explorer.languages.grammar.functions import grammar


def test_the_language_of_gbnf() -> None:
    """Each construct of the notation beside the pattern that means the same."""
    pairs = {
        '"a\\x41\\u00e4\\U0001F600\\t\\r\\n\\\\\\"\\[\\]"': 'aAä😀\\t\\r\\n\\\\"\\[\\]',
        "[a-c_\\]\\\\-]": "[a-c_\\]\\\\-]",
        "[^a-c\\n]": "[^a-c\\n]",
        ".": "(?s:.)",
        '"a"* "b"+ "c"?': "a*b+c?",
        '"a"{2} "b"{1,} "c"{,2} "d"{1,3}': "aab+c{,2}d{1,3}",
        '("a" | "b" | ) "c"': "[ab]?c",
        '(\n"a" # one\n|\n"b")': "[ab]",
        '"a" |\n "b"': "[ab]",
        '""': "",
        '"ab"{2}': "(ab){2}",
        "/[0-9]{2}(?=x)x/": "[0-9]{2}x",
        '"a" # "b"': "a",
        '"ä"+': "ä+",
    }
    for body, pattern in pairs.items():
        assert grammar(f"root ::= {body}").equivalent(explorer.regex(pattern)), body
        assert grammar(f"# first\n\nroot ::=\n  {body}\r\n").equivalent(explorer.regex(pattern))


def test_a_word_that_is_doubled_in_many_rules_stays_within_its_budget() -> None:
    """A tower of rules, each twice the one below: the text would have 2^60 letters."""
    rules = "\n".join(f"r{k} ::= r{k + 1} r{k + 1}" for k in range(60))
    text = f'root ::= r0\n{rules}\nr60 ::= "a" | "(" root ")"'
    machine = grammar(text).machine
    state = machine.start
    for byte in b"aa(aa":
        state = machine.step(state, byte)
    assert machine.expected(state) == b"(a"


SPACES = {
    'root ::= ws "a" ws\nws ::= [ ]*': ("gbnf", "[ ]{0,2} for [ \\t\\n]*"),
    'start: "a"\n%import common.WS\n%ignore WS': ("lark", "what %ignore names may be repeated"),
}


@pytest.mark.parametrize("text", SPACES)
def test_white_space_without_end_is_bounded_as_the_grammar_would(text: str) -> None:
    syntax, remedy = SPACES[text]
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b" ", b"  ", None], eos_ids=[3])
    for constraint in (grammar(text, syntax), explorer.literal("a") + grammar(text, syntax)):
        found = machine_traps(explorer.compile(constraint, vocabulary))
        said = [trap.remedy for trap in found if trap.kind == "whitespace_loop"]
        assert said and all(remedy in each and "\\s" not in each for each in said)
