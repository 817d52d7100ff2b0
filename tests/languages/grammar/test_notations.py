"""The notation of Lark: Lark's own parser, and patterns, say what is right."""

from __future__ import annotations

import itertools
import random

import lark
import pytest

import explorer
from explorer.languages.grammar.notations.library import LIBRARIES
from explorer.languages.sources.serial import source_from_dict, source_to_dict
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
    "templates": (
        'start: "[" _sep{A, ","} "]" | _sep{_pair{b}, ";"}\n_sep{x, by}: x (by x)*\n'
        '_pair{y}: y y | "(" _pair{y} ")"\nA.2: "a"+\nb.-1: "b" -> one\n%ignore " "\n',
        "[a,];b( )",
    ),
    "changed": (
        '%import common (INT, WS_INLINE)\n%import common.CNAME -> NAME\n%import unicode.WS\n'
        '%override INT: "1".."2"\nstart: INT x | NAME\nx: "-"\n%extend x: "+" | x "*"\n'
        "%ignore WS\n",
        "12-+* \u00a0a",
    ),
    "lazy": (
        'start: (S | C | R | Q | /<.*?>/)+ "a"?\nS: /"(?!"")[^a]*?(?<!b)(bb)*?"/\n'
        'C: "/" /(.|\\n)*?/ "/"\nR: /<b.*?>/ "b"* | "-" _INNER "-"\n_INNER: /.+?/\n'
        "Q: /q.*?q[ab]*/\n",
        'ab"/<>-q\n',
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


LIBRARY = [
    (library, name) for library, names in LIBRARIES.items() for name in names
    if "INNER" not in name
]  # fmt: skip


@pytest.mark.parametrize(("library", "name"), few(LIBRARY, 12))
def test_terminals_of_libraries_are_those_of_lark(library: str, name: str) -> None:
    text = f"start: {name}\n%import {library}.{name}\n"
    theirs = lark.Lark(text, parser="lalr", lexer="basic")
    ours = explorer.grammar(text, "lark")
    letters = "0129aFgJoXib_.eE+-\"'\\ \t\r\n#/*?|\u00a0"
    chance = random.Random(3)
    words = {"".join(each) for n in range(1, 3) for each in itertools.product(letters, repeat=n)}
    while len(words) < 3000:
        quotes = chance.choice(["", "", "'", '"', "'" * 3, '"' * 3])
        middle = "".join(chance.choices(letters, k=chance.randint(1, 5)))
        words.add(chance.choice(["", "", "b", "0", "//"]) + quotes + middle + quotes)
    for word in sorted(words):
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


def test_a_text_begins_with_the_rule_that_is_named() -> None:
    made = explorer.grammar('a: "x" B\nB: "y"\n%ignore " "', "lark", start="a")
    assert made.accepts(" x y") and explorer.grammar("b ::= [x]", start="b").accepts("x")
    assert source_from_dict(source_to_dict(made.source)) == made.source
    assert "start='a'" in str(made.source)
    with pytest.raises(explorer.errors.GrammarError, match="no rule 'c'"):
        explorer.grammar('a: "x"', "lark", start="c")


FAULTS = {
    ("gbnf", 'root ::= "a\nb ::= "c" x\nd ::= "e"'): ('"a', "does not end"),
    ("gbnf", 'root ::= "a"\nb ::= "c\n'): ('"c', "does not end"),
    ("lark", 'x: "a"\n%ignore " "'): ("x:", "no rule 'start'"),
}


@pytest.mark.parametrize(("syntax", "text"), FAULTS)
def test_a_fault_is_shown_where_it_began(syntax: str, text: str) -> None:
    """After a missing quote, texts are read as gaps, and the first that breaks a line is shown."""
    under, says = FAULTS[syntax, text]
    with pytest.raises(explorer.errors.GrammarError, match=says) as caught:
        explorer.grammar(text, syntax)
    lines = text.splitlines(keepends=True)
    at = sum(map(len, lines[: caught.value.line - 1])) + caught.value.column - 1
    assert text.startswith(under, at)
