"""Significant indentation: Lark's own parser with its Indenter says which texts are right."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from typing import Any

import lark
import pytest
from lark.indenter import Indenter, PythonIndenter

import explorer
from explorer.automata.machine import ByteMachine
from explorer.errors import GrammarError
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.evidence import examples

TREE = r"""
?start: _NL* tree
tree: NAME _NL [_INDENT tree+ _DEDENT]
NAME: /[a-z]+/
%import common.WS_INLINE
%declare _INDENT _DEDENT
%ignore WS_INLINE
_NL: /(\r?\n[\t ]*)+/
"""
"""The grammar of Lark's example ``indented_tree.py``."""

CODE = r"""
start: (_NL | line)*
?line: (simple _NL) | if | call -> x
simple.2: _list{A, ","}
if: "if" A ":" block [_else]
_else: "else" ":" block
block: simple _NL | _NL _INDENT line+ _DEDENT
call: A "(" [_list{value, ";"}] ")" "!" _NL
?value: A | call_inside | "[" value* "]" | "{" "}"
call_inside: A "(" value ")"
_list{item, by}: item (by item)*
A: "a".."c"
_NL: ( /\r?\n[\t ]*/ | COMMENT )+
COMMENT: /#[^\n]*/
%declare _INDENT _DEDENT
%ignore /[\t \f]+/
%ignore /\\\n/
%ignore COMMENT
"""
"""Statements on one line and in blocks, brackets that ignore line breaks, and comments."""

LEFT = r"""
start: items
items: items item | item
item: "a" (_NL | ":" _NL _INDENT items _DEDENT) | item "b" _NL
_NL: /(\n *)+/
%declare _INDENT _DEDENT
"""
"""Left recursion between blocks, no ignored text, and no tabs."""

OPEN = r"""
start: entry (_NL entry)*
entry: KEY ":" (" " KEY | _NL _INDENT entry (_NL entry)* _DEDENT)
KEY: /[a-c]/
%declare _INDENT _DEDENT
_NL: /\n\n? */
"""
"""Blocks that end with the text alone, for a line break stands between entries."""


def indenter(tab: int = 8) -> Any:
    """Lark's Indenter for the names of these grammars."""
    said = {
        "NL_type": "_NL", "INDENT_type": "_INDENT", "DEDENT_type": "_DEDENT", "tab_len": tab,
        "OPEN_PAREN_types": ["LPAR", "LSQB", "LBRACE"],
        "CLOSE_PAREN_types": ["RPAR", "RSQB", "RBRACE"],
    }  # fmt: skip
    return type("Blocks", (Indenter,), said)()


GRAMMARS = {
    "tree": (TREE, "lalr", ["a", "b", "\n", "\n  ", "\n    ", "\n\t", " "]),
    "code": (CODE, "earley", [
        "a", ",", "if a:", "else:", "\n", "\n  ", "\n \t", "\n    ", "#c", "(", ")!", "[", "]",
        "a\n", "a(", ")", ";", "\\\n", " ", "{", "}", "\r\n ",
    ]),
    "left": (LEFT, "earley", ["a", "b", ":", "\n", "\n ", "\n  ", "a:\n ", "a\n"]),
    "open": (OPEN, "earley", ["a:", "b: c", "\n", "\n ", "\n  ", ":", " "]),
}  # fmt: skip


def reader(name: str) -> lark.Lark:
    text, parser, _ = GRAMMARS[name]
    lexer = "contextual" if parser == "lalr" else "basic"
    return lark.Lark(text, parser=parser, lexer=lexer, postlex=indenter())


@pytest.mark.parametrize("name", ["tree", "left"])
def test_blocks_by_brute_force(name: str) -> None:
    """All texts of a few letters."""
    letters = {"tree": "a\n \t", "left": "ab\n :"}[name]
    made = explorer.grammar(GRAMMARS[name][0], "lark", indent=40)
    theirs, found = reader(name), 0
    for length in range(8 if name == "tree" else 7):
        for each in itertools.product(letters, repeat=length):
            text = "".join(each)
            if not ends_in_blanks(text):
                found += (has := reads(theirs, text))
                assert made.accepts(text) == has, text
    assert found > 20


def test_an_oracle_of_blocks_can_fail() -> None:
    """A reader for whom a tab is one column refuses what Lark reads."""
    text = "a\n        b\n\tc\n"
    assert reads(reader("tree"), text) and explorer.grammar(TREE, "lark").accepts(text)
    other = lark.Lark(TREE, parser="lalr", postlex=indenter(tab=1))
    assert not reads(other, text)


def test_a_block_is_as_wide_as_was_asked_for() -> None:
    nested = "a\n  b\n    c\n"
    made = explorer.grammar(TREE, "lark", indent=3)
    assert made.accepts("a\n   b\n") and not made.accepts(nested)
    assert explorer.grammar(TREE, "lark", indent=4).accepts(nested)
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    machine = explorer.compile(made, vocabulary, lazy=True)
    assert any("at most 3 columns wide" in each for each in machine.report.decisions)
    state = machine.start
    for byte in b"a\n ":
        state = machine.step(state, byte) or 0
    allowed = [*map(chr, machine.allowed(state)[:256].nonzero()[0])]
    assert {" ", "b"} <= {*allowed}
    assert source_from_dict(source_to_dict(made.source)) == made.source


REFUSED = {
    "tree: NAME [_INDENT tree+] _DEDENT": ("_INDENT", "one row"),
    "tree: NAME line [_INDENT tree+ _DEDENT]\nline: _NL": ("_INDENT", "another rule"),
    'tree: b NAME c _NL [_INDENT tree+ _DEDENT]\nb: "("\nc: ")"': ("b:", "bracket opens"),
    "tree: NAME _NL [_INDENT tree+ _DEDENT]\n_NL: /\\n/": ("_NL", "cannot be told"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_has_no_columns_is_refused_by_place(rule: str) -> None:
    under, says = REFUSED[rule]
    text = TREE.replace("tree: NAME _NL [_INDENT tree+ _DEDENT]", rule)
    if "\n_NL:" in rule:
        text = text[: text.rindex("_NL:")]
    with pytest.raises(GrammarError, match=says) as caught:
        explorer.grammar(text, "lark")
    error = caught.value
    line = text.splitlines()[error.line - 1]
    assert error.remedy and line.startswith(under, error.column - 1)
    with pytest.raises(GrammarError, match="several stacks"):
        explorer.grammar(TREE, "lark", ambiguous=False)


def reads(parser: lark.Lark, text: str) -> bool:
    """Whether Lark reads a text; its Indenter knows no bracket that was not opened."""
    try:
        parser.parse(text)
    except (lark.exceptions.LarkError, AssertionError, IndexError):
        return False
    return True


def ends_in_blanks(text: str) -> bool:
    """Whether a text ends with a line of blanks or a comment, which is not compared."""
    return re.search(r"\n[ \t]+\Z|\n?[^\n]*#[^\n]*\Z", text) is not None


def words(name: str, made: explorer.Constraint, count: int) -> list[str]:
    """Texts put together from pieces, words of ours, and words with a piece changed."""
    chance, pieces, machine = random.Random(7), GRAMMARS[name][2], made.machine
    texts: list[str] = []
    while len(texts) < count:
        if chance.random() < 0.3:
            texts.append("".join(chance.choices(pieces, k=chance.randint(0, 8))))
            continue
        text, state = "", machine.start
        for _ in range(chance.randint(1, 40)):
            possible = [each for each in pieces if alive(machine, state, each) >= 0]
            if not possible or (machine.is_accepting(state) and chance.random() < 0.2):
                break
            text += chance.choice(possible)
            state = alive(machine, machine.start, text)
        texts.append(text)
        spans = re.findall(r"\n[ \t]*|.", text) or [""]
        at = chance.randrange(len(spans))
        spans[at : at + chance.randint(0, 1)] = chance.choices(pieces, k=chance.randint(0, 1))
        texts.append("".join(spans))
    return texts


def alive(machine: ByteMachine, state: int, text: str) -> int:
    for byte in text.encode():
        state = machine.step(state, byte) if state >= 0 else state
    return state


@pytest.mark.parametrize("name", GRAMMARS)
def test_blocks_are_those_of_larks_indenter(name: str) -> None:
    made = explorer.grammar(GRAMMARS[name][0], "lark", indent=12, ambiguous=True)
    theirs, found = reader(name), [0, 0]
    for text in words(name, made, examples(200)):
        text = re.sub(r"\n[ \t]+\Z", "\n", text)
        if ends_in_blanks(text):
            continue
        has = reads(theirs, text)
        assert made.accepts(text) == has, text
        found[has] += 1
    assert min(found) > 20


PYTHON = '''def f(a, b=3, *c):
    if a > b:
        return [a,
  b]
    else:
        x = "abc" + str(a)  # why

    return {1: 2, **d}

@deco(1)
class A(B):
    """doc"""
    def g(self): pass
    async def h(self):
\tawait x
for i in range(10):
  while True:
    try:
      print(i, 'x\\'y')
    except E as e:
      raise
    finally: y = -1.5e3
with open("f") as g, h:
  x: int = lambda a, *b: a if b else not c
  del x[1:2], y
from . import (x,
   y as z)
match p:
  case [1, *r]:
    pass
assert x, 'b'
'''
"""Python as ``python.lark`` reads it."""


def test_all_python_that_lark_and_its_indenter_read_is_accepted() -> None:
    """Line breaks, blanks, brackets and signs are changed. We read more: a keyword is also a name,
    and a name may follow a keyword at once, where the parser's state tells Lark's lexer."""
    text = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text("utf-8")
    made = explorer.grammar(text, "lark", start="file_input", indent=16)
    theirs = lark.Lark(text, parser="lalr", postlex=PythonIndenter(), start="file_input")
    chance, found, lines = random.Random(5), [0, 0], PYTHON.splitlines(keepends=True)
    signs = [
        "\n",
        "\n  ",
        "\n    ",
        "\n      ",
        "\n\t",
        "(",
        ")",
        "[",
        "]",
        ":",
        ",",
        "#c",
        "# \n",
        ";",
    ]
    for _ in range(examples(100)):
        first = chance.randrange(len(lines))
        some = lines[first : first + chance.randint(1, 8)] if chance.random() < 0.7 else lines
        width = len(some[0]) - len(some[0].lstrip())
        changed = re.findall(r"\n[ \t]*|\w+|.", "".join(
            line[width:] if not line[:width].strip() else line for line in some))  # fmt: skip
        for _ in range(chance.choice([0, 1, 1, 2])):
            places = [k for k, each in enumerate(changed) if not re.fullmatch(r"\w+|['\"\\]", each)]
            if places:
                changed[chance.choice(places)] = chance.choice(signs)
        word = re.sub(r"\n[ \t]+\Z", "", "".join(changed)).rstrip("\n") + "\n"
        has = reads(theirs, word)
        assert made.accepts(word) >= has, word
        found[has] += 1
    assert min(found) > 15
    for word in ("if x:\ny\n", "x = 'a'b'\n", "x = (a\n", "if x:\n  y\n z\n", "def f(:\n  x\n"):
        assert not made.accepts(word) and not reads(theirs, word)
