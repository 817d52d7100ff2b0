"""The grammars that ship, on texts that others read and write."""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
from pathlib import Path

import pytest

import explorer
from explorer.errors import ConstraintError, GrammarError
from explorer.languages.grammar import shipped
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.shipped import SHIPPED, shipped_grammar, shipped_text
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.languages.grammar.earley import Earley, Productions

ROOT = Path(shipped.__file__).parent


def test_every_file_is_named() -> None:
    assert {path.stem for path in ROOT.glob("*.gbnf")} == set(SHIPPED)
    with pytest.raises(ConstraintError, match="json"):
        shipped_text("yaml")


def changed(text: str, chance: random.Random, letters: str) -> str:
    """A text with up to two characters put in, left out or replaced."""
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(["", *letters]) + text[at + chance.randrange(2) :]
    return text


def reads_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda name: 1 / 0)
    except (json.JSONDecodeError, ZeroDivisionError):
        return False
    return True


def test_json_is_what_json_reads() -> None:
    constraint = shipped_grammar("json")
    documents = [
        json.dumps({"a": [1, -2.5e3, {"b": None, "ü": [True, "x\n\\\u2028"]}], "": {}}, indent=1),
        '[0.5, 1E-7, 2e+30, -0, "\\u00e4\\/"]',
        ' {"a" : [ ] , "b":false}\t\r\n',
    ]
    documents += [path.read_text("utf-8") for path in sorted(ROOT.parents[3].rglob("*.ipynb"))[:3]]
    chance = random.Random(11)
    for document in documents:
        assert constraint.accepts(document)
        for _ in range(150):
            text = changed(document[:2_000], chance, '{}[]",:0e-+. x\\\x07')
            assert constraint.accepts(text) == reads_json(text), text


def reads_arithmetic(text: str) -> bool:
    """CPython's parser, with ^ for a power; names and numbers are those of both languages."""
    if not set(text) <= set("0123456789.+-*/^() abc_") or "**" in text or "//" in text:
        return False
    try:
        tree = ast.parse(f"({text.replace('^', '**')}\n)" if text.strip() else ")", mode="eval")
    except (SyntaxError, ValueError):
        return False
    kinds = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Expression, ast.operator,
             ast.unaryop, ast.expr_context)  # fmt: skip
    return all(isinstance(node, kinds) for node in ast.walk(tree))


def test_arithmetic_is_what_python_reads() -> None:
    constraint = shipped_grammar("arithmetic")
    good = ["1+2*3", "-(a + .5) * b_1 ^ -2 ^ c", "((1))/2-3", "a"]
    chance = random.Random(7)
    for document in good:
        assert constraint.accepts(document) and reads_arithmetic(document)
        for _ in range(300):
            text = changed(document, chance, "0.5+-*/^() ab_")
            skipped = re.search("[0-9][a-z_]", text) is not None  # 1_0 is a number in Python.
            zeros = "0" in text  # 007 is a number here, and not in Python.
            dotted = re.search(r"\.(?!\d)", text) is not None  # 1. is one in Python.
            if not (skipped or zeros or dotted):
                assert constraint.accepts(text) == reads_arithmetic(text), text


def test_gbnf_reads_itself_and_what_the_reader_reads() -> None:
    constraint = shipped_grammar("gbnf")
    chance = random.Random(5)
    for name in SHIPPED:
        whole = shipped_text(name)
        assert constraint.accepts(whole), name
        for _ in range(120):
            text = changed(whole[-400:].partition("\n")[2], chance, '"[]()|*+?{}#:=\n \\a1,')
            try:
                GbnfReader(text).rules()
                read = bool(text.strip())
            except GrammarError as error:
                if "Swap" in error.remedy or "{,n}" in error.reason:
                    continue  # That a range is empty is more than a matter of form.
                read = False
            if "/" not in text and not (text + "\n").replace(" ", "").startswith("#"):
                assert constraint.accepts(text) == read, text


def test_characters_of_a_story() -> None:
    constraint = shipped_grammar("characters")
    one = {"name": "Harry", "house": "Gryffindor", "age": 11}
    for several in ([], [one], [one, {**one, "name": 'H"'}]):
        assert constraint.accepts(json.dumps(several))
    assert not constraint.accepts(json.dumps([{**one, "house": "Mordor"}]))
    assert isinstance(constraint.dfa.num_states, int)  # Nothing recurses, so it is a table.


def to_a_depth(depth: int) -> Productions:
    """The productions below written out for each depth; what calls at the last one is empty."""
    rules: dict[str, list[tuple[str, ...]]] = {}
    for k in range(depth, -1, -1):
        last = k == 0
        rules[f"root{k}"] = [()] if last else [("(", f"ex{k - 1}", ")", f"root{k}"), ()]
        within = () if last else (f"root{k - 1}",)
        rules[f"ex{k}"] = [("a", *within, f"ex{k}"), ("c",)]
    return rules


@pytest.mark.parametrize("depth", range(4))
def test_bounded_is_the_grammar_written_out(depth: int) -> None:
    whole = explorer.grammar('root ::= "(" x ")" root | ""\nx ::= "a" root x | "c"')
    bounded = whole.bounded(depth)
    oracle = Earley(to_a_depth(depth), f"root{depth}")
    for length in range(8):
        for letters in itertools.product("(ac)", repeat=length):
            text = "".join(letters)
            assert bounded.accepts(text) == oracle.accepts(text), text


def test_bounded_is_explained_and_saved() -> None:
    bounded = shipped_grammar("json").bounded(1)
    why = explorer.explain_text(bounded, "[[1")
    labels = {place.label for part in why.parts for place in part.positions}
    assert labels == {"rule `array`", "rule `ws`"}
    assert source_from_dict(source_to_dict(bounded.source)) == bounded.source
