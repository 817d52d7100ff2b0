"""Faults of grammars, with their places."""

from __future__ import annotations

import pytest

import explorer
from explorer.analysis.traps.of_machine import machine_traps
from explorer.cli.answers import report_lines
from explorer.errors import GrammarError, NotRegular
from explorer.languages.grammar.functions import grammar

FAULTS = {
    "no name": ('root ::= "a"\n::= x', 2, 1, "begins no rule"),
    "a bar on a new line": ('root ::= "a"\n  | "b"', 2, 3, "A line cannot begin with '|'"),
    "no arrow": ('root = "a"', 1, 1, "there is no ::="),
    "undefined": ('root ::= "a" itme\nitem ::= "x"', 1, 14, "'itme' is not defined"),
    "no root": ('start ::= "a"', 1, 1, "no rule 'root'"),
    "twice": ('root ::= "a"\nroot ::= "b"', 2, 1, "defined twice, first in line 1"),
    "never ends": ('root ::= "a" x\nx ::= "b" x', 2, 1, "derives no text"),
    "circle": ('root ::= x\nx ::= "a" | y\ny ::= x', 2, 13, "a circle of ε"),
    "circle of itself": ('root ::= "a" | ("b"?) root', 1, 23, "'root' derives itself"),
    "open text": ('root ::= "a', 1, 10, "The text does not end"),
    "open class": ("root ::= [a-z", 1, 10, "The class does not end"),
    "open group before a rule": ('root ::= ("a" |\nb\nfoo ::= "c"', 1, 10, "is not closed where"),
    "another bracket": ('root ::= ("a" ]', 1, 15, "']' cannot stand here"),
    "missing quote": ('root ::= "a\nfoo ::= "c"', 1, 10, "The text does not end"),
    "single quotes": ("root ::= 'a'", 1, 10, "A text stands in double quotes"),
    "letters": ("root ::= été", 1, 10, "'é' cannot be in the name of a rule"),
    "semicolon": ('root ::= "a";', 1, 13, "A rule ends with its line, without a sign"),
    "comma": ('root ::= "a", "b"', 1, 13, "without commas"),
    "no body": ('root ::=\nfoo ::= "c"', 2, 1, "'foo' begins where the body of 'root' goes on"),
    "nothing after a bar": ('root ::= "a" |\nfoo ::= "c"', 2, 1, "'foo' begins where the body"),
    "open brace": ('root ::= "a"{2\nb ::= "a"{3}', 1, 13, "The brace is not closed"),
    "many": ('root ::= "a"{1000000000}', 1, 13, "At most 999,999,999 repetitions"),
    "above": ('root ::= "\\UFFFFFFFF"', 1, 11, "There is no such code point"),
    "open group": ('root ::= ("a" | "b"', 1, 10, "')' is missing for this"),
    "stray": ('root ::= "a" )', 1, 14, "')' cannot stand here"),
    "nothing to repeat": ("root ::= * ", 1, 10, "Nothing stands before"),
    "braces": ('root ::= "a"{x}', 1, 13, "The braces hold no number"),
    "fewest above most": ('root ::= "a"{3,2}', 1, 13, "The most is below the fewest"),
    "escape": ('root ::= "\\q"', 1, 11, "The escape \\q is not known"),
    "short escape": ('root ::= "\\u12"', 1, 11, "takes 4 hexadecimal digits"),
    "surrogate": ('root ::= "\\ud800"', 1, 11, "Half of a surrogate pair"),
    "range": ("root ::= [z-a]", 1, 11, "ends before it begins"),
    "token": ('root ::= <[1000]> "a"', 1, 10, "A token cannot be named"),
    "pattern": ("root ::= /a(b/", 1, 12, "In the pattern"),
    "deep": ("root ::= " + "(" * 200 + '"a"' + ")" * 200, 1, 160, "nested more than 150"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(name: str) -> None:
    text, line, column, reason = FAULTS[name]
    with pytest.raises(GrammarError) as caught:
        grammar(text, ambiguous=False)
    error = caught.value
    assert reason in str(error)
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith(f"Line {line}, column {column}: ")
    assert "^" in str(error) and error.remedy


UNUSED = 'root ::= "a"\nother ::= "b" again\nagain ::= again "c"\n'


def test_what_is_never_used_is_a_remark() -> None:
    """Lark and llama.cpp read such grammars; the remark has the place and the line."""
    constraint = grammar(UNUSED)
    assert constraint.equivalent(explorer.literal("a"))
    vocabulary = explorer.Vocabulary.from_bytes([b"a", None], eos_ids=[1])
    for lazy in (False, True):
        report = explorer.compile(constraint, vocabulary, lazy=lazy).report
        assert report.warnings == (
            "Line 2, column 1: the rule 'other' is never used, so it changes no text.\n"
            'other ::= "b" again\n^^^^^',
            "Line 3, column 1: the rule 'again' is never used, so it changes no text.\n"
            'again ::= again "c"\n^^^^^',
        )
    assert grammar('root ::= "a"').source.warnings() == ()
    many = grammar("".join(f'{name} ::= "a"\n' for name in ("root", *"abcdefghijk")))
    assert len(many.source.warnings()) == 9
    assert many.source.warnings()[-1] == "3 more rules are never used."


def test_the_command_line_shows_the_remark() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", None], eos_ids=[1])
    said = "\n".join(report_lines(explorer.compile(grammar(UNUSED), vocabulary)))
    assert "  warning: Line 2, column 1: the rule 'other' is never used" in said
    assert '\n           other ::= "b" again\n           ^^^^^\n' in said


def test_a_short_form_shows_the_rules() -> None:
    shown = [
        str(grammar(f'# A list.\nroot ::= {body}\nitem  ::= "x"\n').source)
        for body in ('item ("," item)*', 'item (";" item)*')
    ]
    assert shown == [
        """grammar('root ::= item ("," item)*; item ::= "x"')""",
        """grammar('root ::= item (";" item)*; item ::= "x"')""",
    ]
    long = grammar("root ::= " + " ".join(["item"] * 20) + '\nitem ::= "x"', ambiguous=True)
    assert str(long.source) == (f"grammar('root ::= {'item ' * 10}…', 2 rules, ambiguous=True)")
    assert str(grammar('start: "a"', "lark").source) == """grammar('start: "a"', 'lark')"""


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


def test_what_needs_a_table_says_what_to_do() -> None:
    nested = grammar('root ::= "(" root ")" | "x"')
    for ask in (nested.is_finite, lambda: nested.dfa,
                lambda: nested.equivalent(explorer.regex("x"))):  # fmt: skip
        with pytest.raises(NotRegular) as caught:
            ask()
        assert caught.value.remedy.startswith("Bound the nesting, constraint.bounded(depth=...)")
        assert "lazy=False" not in str(caught.value)
    vocabulary = explorer.Vocabulary.from_bytes([b"(", b")", b"x"], eos_ids=[3])
    with pytest.raises(NotRegular, match="it is enough to leave out lazy=False"):
        explorer.compile(nested, vocabulary, lazy=False)
    for lazy in (None, False):  # The stage needs a table, so that would not be enough.
        with pytest.raises(NotRegular, match="inside a combination or a stage that of each"):
            explorer.compile(nested.normalized("NFC"), vocabulary, lazy=lazy)
        with pytest.raises(NotRegular) as caught:
            explorer.compile(nested.normalized("NFC"), vocabulary, lazy=lazy)
        assert "lazy=False" not in str(caught.value)
    assert explorer.compile(nested.bounded(1).normalized("NFC"), vocabulary, lazy=False)


def test_a_combination_is_not_told_to_take_a_smaller_depth() -> None:
    nested = grammar('root ::= "(" root ")" | "x"')
    with pytest.raises(NotRegular) as caught:
        (nested & explorer.regex(".{1,5}")).bounded(depth=0).is_finite()
    assert "smaller depth" not in str(caught.value)
    assert "of each grammar by itself" in caught.value.remedy
    assert (nested.bounded(depth=1) & explorer.regex(".{1,5}")).examples() == ["x", "(x)"]


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
