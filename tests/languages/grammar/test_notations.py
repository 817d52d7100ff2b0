"""The notations of Lark, the W3C and ISO: Lark's own parser, and patterns, say what is right."""

from __future__ import annotations

import itertools
import random

import lark
import pytest

import explorer
from explorer.errors import GrammarError
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


REFUSED = {
    'start.2: "a"': "Priorities are not followed",
    'start: x\nx{y}: "a"': "Templates are not followed",
    "start: A\n%declare A": "%declare is not followed",
    "start: A\n%import python.A": "Only the library common",
    "start: A\n%import common.NOTHING": "no terminal 'NOTHING'",
    'start: "a" <think': "< begins the name of a control token",
    'start: "ab".."c"': "A range goes from one character",
    "start: /a/u": "The flag 'u'",
    'start: "a" ~ x': "A number of repetitions is missing",
    'start "a"': "there is no colon",
    'start: "a" )': "')' cannot stand here",
    'begin: "a"': "There is no rule 'start'",
    'start: _sep{"a", ","}': "Templates are not followed",
    "start: %json {type: 1}": "This is not JSON",
    "start: x\n%override x: /a/": "%override is not followed",
    "start: x\n%extend x: /a/": "%extend is not followed",
    '%llguidance {"no_forcing": true}\nstart: "a"': "%llguidance is not followed",
    'start: ["a"\nfoo: "b"': "This '[' is not closed where its rule ends, in line 2",
    "start: 'a'": "A text stands in double quotes",
    'start: "a";': "A rule ends with its line, without a sign",
    'start: foo\nfoo:\nbar: "x"': "'bar' begins where the body of 'foo' goes on",
    'start: {"a"}': "Nothing stands before { that could be repeated",
    "start: WORD": "The name 'WORD' is not defined",
    'start: %jsn {"type": "null"}': "Did you mean %json?",
    'start: "a"\n%ignor " "': "Did you mean %ignore?",
    'start: "a"\n%ignore': "Nothing stands behind %ignore",
    'start: "a"\n%ignore\n%ignore " "': "Line 2, column 1: Nothing stands behind %ignore",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_lark_has_more_is_refused_by_name(text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        explorer.grammar(text, syntax="lark")
    assert REFUSED[text] in str(caught.value) and caught.value.remedy


def test_what_lark_takes_and_does_not_use_is_a_remark() -> None:
    text = 'start: "a"\n%import common (WORD, WS -> BLANK)\nX: "b"\ny: X\n'
    text = text.replace(" -> BLANK", "")
    assert lark.Lark(text, parser="earley").parse("a")
    said = explorer.grammar(text, syntax="lark").source.warnings()
    assert [each.partition("\n")[0] for each in said] == [
        "Line 2, column 17: the import 'WORD' is never used, so it changes no text.",
        "Line 2, column 23: the import 'WS' is never used, so it changes no text.",
        "Line 3, column 1: the terminal 'X' is never used, so it changes no text.",
        "Line 4, column 1: the rule 'y' is never used, so it changes no text.",
    ]
    used = explorer.grammar('start: "a"\n%import common.WS\n%ignore WS\n', syntax="lark")
    assert used.source.warnings() == ()


def test_a_comment_in_a_pattern_ends_with_it() -> None:
    """Lark itself puts a parenthesis behind it, which the comment takes in."""
    text = "start: /a b # c/x"
    assert explorer.grammar(text, syntax="lark").equivalent(explorer.literal("ab"))


def test_what_is_ignored_is_not_inside_a_terminal() -> None:
    spaced = explorer.grammar('start: A "b"\nA: "a" "a"\n%ignore " "\n', syntax="lark")
    assert spaced.accepts(" aa b ") and not spaced.accepts("a ab")
