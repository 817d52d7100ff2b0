"""Other engines' forms of these notations: braces, patterns in quotes, captures, escapes."""

from __future__ import annotations

import itertools
import re

import pytest

import explorer
from explorer.automata.tree.nodes import Deferred
from explorer.languages.sources.serial import source_from_dict, source_to_dict

SAME = {
    'start: "a"{2}': "a{2}",
    'start: "a" {2,3} "b"{0}': "a{2,3}",
    'start: "a"{ 2 , } b{,2}\nb: "b"': "a{2,}b{0,2}",
    'start: ("a"|"b" "c"){1,2}': "(?:a|bc){1,2}",
    'start: X{2}\nX: "a"{1,2} "b"': "(?:a{1,2}b){2}",
    'start: x{2}\nx[capture]: "a"\n  | "b"': "[ab]{2}",
    'start: x y\nx [capture="one, ]two"]: "a"\ny[]: "b"': "ab",
    'start[ capture = "x", capture ]: "a"': "a",
    '%llguidance {}\nstart: "a"': "a",
    'start: "a"\n%llguidance { }\n// end': "a",
    'start: Regex("[ab]+") "c"': "[ab]+c",
    r'start: Regex( "a\"\\.b?" )': r'a"\.b?',
    r'start: Regex("\\d|\n|\w")': r"\d|\n|\w",
    'start: (Regex("a") "b"){2}': "(?:ab){2}",
}


@pytest.mark.parametrize("text", SAME)
def test_lark_means_what_the_pattern_means(text: str) -> None:
    ours = explorer.grammar(text, syntax="lark", ambiguous=True)
    for length in range(6):
        for each in itertools.product('abc".\n1', repeat=length) if length < 5 else ["aabab"]:
            word = "".join(each)
            assert ours.accepts(word) == (re.fullmatch(SAME[text], word) is not None), word
    assert source_from_dict(source_to_dict(ours.source)) == ours.source


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("gbnf", 'root ::= "<" Regex("[a-z]+\\\\d") ">"'),
        ("lark", 'start: "<" Regex("[a-z]+\\\\d") ">"'),
    ],
)
def test_a_pattern_in_quotes_stands_in_every_notation(syntax: str, text: str) -> None:
    made = explorer.grammar(text, syntax=syntax)
    assert made.accepts("<ab1>") and not made.accepts("<1>")
    (body,) = (rule.body for rule in made.source.rules)  # type: ignore[attr-defined]
    (piece,) = (item for item in body.items if isinstance(item, Deferred))
    assert text[piece.start : piece.end] == 'Regex("[a-z]+\\\\d")'


def test_a_rule_that_is_called_regex_is_a_rule() -> None:
    made = explorer.grammar('root ::= Regex("a")\nRegex ::= "b"')
    assert made.accepts("ba") and not made.accepts("a")
    assert explorer.grammar('root ::= Regex "a"\nRegex ::= "b"').accepts("ba")


ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "e": "\x1b", "'": "'", "?": "?",
    "/": "/", "-": "-", "^": "^", "n": "\n", "x41": "A",
}  # fmt: skip


@pytest.mark.parametrize("escape", ESCAPES)
def test_escapes_stand_for_characters(escape: str) -> None:
    char = ESCAPES[escape]
    for written in (f'root ::= "\\{escape}"', f"root ::= [\\{escape}]"):
        assert explorer.grammar(written).examples() == [char]
    outside = explorer.grammar(f"root ::= [^\\{escape}]")
    assert not outside.accepts(char) and outside.accepts("z")


def test_an_escaped_hyphen_makes_no_range() -> None:
    made = explorer.grammar(r"root ::= [a\-c]")
    assert [char for char in "abc-" if made.accepts(char)] == ["a", "c", "-"]
