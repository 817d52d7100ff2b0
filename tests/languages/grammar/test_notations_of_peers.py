"""Other engines' forms of these notations: braces, patterns in quotes, captures, escapes."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import pytest

import explorer
from explorer import Vocabulary
from explorer.automata.tree.nodes import Deferred
from explorer.errors import GrammarError
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.optional import Optional

xgrammar: Any = Optional("xgrammar")
testing: Any = Optional("xgrammar.testing")

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


TOKENS = Vocabulary(
    (*(bytes([byte]) for byte in range(256)), None, None, None), (258,),
    special={256: "<think>", 257: "</think>", 258: "</s>"},
)  # fmt: skip
NAMED = {
    'root ::= <[256]> "a" (!<[257]>)* </think>':
        ([[256, "a", 257], [256, "axé", 256, 257]], [["a"], [256, "a", 257, 257], [256, "a"]]),
    "root ::= <think> !</think>+ </think>": ([[256, "a", 257]], [[256, 257], ["<think>a", 257]]),
    "root ::= Token(256) ExcludeToken(257) * Token(257, 256)":
        ([[256, 257], [256, "b", 256]], [[257, 257]]),
    'root ::= TokenTagDispatch((256, x), excludes=(257,)) "."\nx ::= "1"':
        ([["abc."], ["a", 256, "1."]], [["a", 256, "2."], ["a", 257, "."]]),
    'root ::= x "b"\nx[capture="y"] ::= "a" (= "b" z)\n': ([["ab"]], [["a"]]),
}  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
def test_tokens_are_named_as_llama_cpp_and_xgrammar_name_them(text: str) -> None:
    made = explorer.grammar(text)
    explorer.compile(made, TOKENS, lazy=True)
    for wanted, several in zip((True, False), NAMED[text], strict=True):
        for pieces in several:
            ids = [
                i for each in pieces for i in (each.encode() if isinstance(each, str) else [each])
            ]
            assert made.accepts(TOKENS.written(ids)) == wanted, pieces
    assert source_from_dict(source_to_dict(made.source)) == made.source


OF_XGRAMMAR = {
    'root ::= TagDispatch(("<t>", x), ("<tu>", y), ("t<", x))\nx ::= "1"\ny ::= "<" | "u>"':
        ["<", "t", "u", ">", "1", "<t>1", "<tu>u>"],
    'root ::= TagDispatch(("<t>", x), loop_after_dispatch=false)\nx ::= "1"*':
        ["<", "t", ">", "1", "<t>", "<t>11"],
    'root ::= body "no"\nbody ::= TagDispatch(("<t>", x), excludes=("no",))\nx ::= "no"':
        ["<t>", "<", "n", "o", "no"],
    'root ::= "n" Substring("no", "on", "n") "."': ["n", "o", "."],
}  # fmt: skip


@pytest.mark.parametrize("text", OF_XGRAMMAR)
def test_macros_mean_what_xgrammar_makes_of_them(text: str) -> None:
    ours, theirs = explorer.grammar(text, ambiguous=True), xgrammar.Grammar.from_ebnf(text)
    chance, found = random.Random(5), [0, 0]
    for _ in range(400):
        word = "".join(chance.choices(OF_XGRAMMAR[text], k=chance.randint(0, 6)))
        has = testing._is_grammar_accept_string(theirs, word)
        assert ours.accepts(word) == has, word
        found[has] += 1
    assert min(found) > 5


REFUSED = {
    "root ::= <think> !</think> .": ("!</think>", "single token"),
    'root ::= "a" (= "b") "b"': ('(= "b")', "lookahead"),
    'root ::= TagDispatch(("<t>", 5))': ("TagDispatch(", "pairs"),
    'root ::= TagDispatch(("", root))': ("TagDispatch(", "texts"),
    "root ::= Token(root)": ("Token(", "ids of tokens"),
    'root[max_tokens=3] ::= "a"': ("max_tokens=3", "not followed"),
    'root[capture ::= "a"': ("[capture", "do not end"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_read_is_refused_by_name_and_place(text: str) -> None:
    under, says = REFUSED[text]
    with pytest.raises(GrammarError, match=re.escape(says)) as caught:
        explorer.grammar(text)
    assert caught.value.remedy and text.startswith(under, caught.value.column - 1)
