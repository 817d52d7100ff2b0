"""The notations of Lark, the W3C and ISO: Lark's own parser, and patterns, say what is right."""

from __future__ import annotations

import itertools
import random

import lark
import pytest

import explorer
from explorer.languages.grammar.notations.lark import COMMON
from tests.evidence import few

LARK = {
    "sums": (
        'start: sum\nsum: product (("+"|"-") product)*\nproduct: atom\n    | product "*" atom\n'
        'atom: "(" sum ")" | DIGITS\nDIGITS: "0".."2"+\n%ignore " "\n',
        "0(+)* 2",
    ),
    "json": (
        'start: value\n?value: array | object | SIGNED_INT -> number | "t"i\n'
        'array: "[" [value ("," value)*] "]"\nobject: "{" [pair ("," pair)*] "}"\n'
        "pair: ESCAPED_STRING \":\" value\n%import common (ESCAPED_STRING, WS)\n"
        "%import common.SIGNED_INT\n%ignore WS\n",
        '{}[]",:1-tT\n',
    ),
    "repeats": ('start: ("a" ~ 2..3 | "b"?) c+\nc: "c" ~ 2 | /d[ef]/i ["-"]\n', "abcdeE-"),
    "aliased": (
        '!start: x\n// a comment\nx: "a" x "b" -> both\n  | "c"  -> one\n  |\n'
        "%ignore /#[a-b]*\\n/ | Q\nQ: \"q\"\n",
        "abc#\nq",
    ),
    "empty first": (
        'start: "[" items "]"\nitems: | "a" | items "," "a" (| "b")\n', "[a,b]",
    ),
    "empty bodies": (
        'start: "a" b c d* "a"\nb:\nc:\n\n// a comment\n?d: "d" | "b" |\ne:\n%ignore "c"\n',
        "abcdef",
    ),
    "empty first lines": ('start: items\nitems:\n  | "a"\n  | items ("," | "b")\n', "a,ab,"),
}  # fmt: skip


@pytest.mark.parametrize("name", LARK)
def test_lark_reads_the_same_texts(name: str) -> None:
    text, letters = LARK[name]
    ours = explorer.grammar(text, syntax="lark", ambiguous=True)
    theirs = lark.Lark(text, parser="earley", lexer="dynamic_complete")

    def reads(word: str) -> bool:
        try:
            theirs.parse(word)
        except lark.exceptions.LarkError:
            return False
        return True

    short = ["".join(each) for n in range(4) for each in itertools.product(letters, repeat=n)]
    chance = random.Random(2)
    texts = set(chance.sample(short, 150)) | {""}
    machine = ours.machine
    for _ in range(60):  # Words of ours, and words with one character changed.
        state, data = machine.start, bytearray()
        while len(data) < 12:
            expected = [b for b in machine.expected(state) if chr(b) in letters]
            if not expected or (machine.is_accepting(state) and chance.random() < 0.3):
                break
            data.append(chance.choice(expected))
            state = machine.step(state, data[-1])
        word = data.decode()
        at = chance.randrange(len(word) + 1)
        texts |= {word, word[:at] + chance.choice(letters) + word[at + 1 :]}
    found = {word: ours.accepts(word) for word in texts}
    assert found == {word: reads(word) for word in texts}
    assert 10 < sum(found.values()) < len(found)


@pytest.mark.parametrize("name", few(COMMON, 8))
def test_common_terminals_are_those_of_lark(name: str) -> None:
    theirs = lark.Lark(f"start: {name}\n%import common.{name}\n", parser="lalr", lexer="basic")
    ours = explorer.regex(COMMON[name])
    letters = '09aFgZ_.eE+-"\\ \t\r\n#/*'
    for length in range(1, 4):
        for each in itertools.product(letters, repeat=length):
            word = "".join(each)
            try:
                theirs.parse(word)
                read = True
            except lark.exceptions.LarkError:
                read = False
            assert ours.accepts(word) == read, word


def test_a_comment_in_a_pattern_ends_with_it() -> None:
    """Lark itself puts a parenthesis behind it, which the comment takes in."""
    text = "start: /a b # c/x"
    assert explorer.grammar(text, syntax="lark").equivalent(explorer.literal("ab"))


def test_what_is_ignored_is_not_inside_a_terminal() -> None:
    spaced = explorer.grammar('start: A "b"\nA: "a" "a"\n%ignore " "\n', syntax="lark")
    assert spaced.accepts(" aa b ") and not spaced.accepts("a ab")
