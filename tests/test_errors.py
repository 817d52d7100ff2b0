"""Errors show the place, survive pickling, and have the classes that callers can catch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import explorer
from explorer.errors import (
    LONGEST_MESSAGE,
    LONGEST_WORD,
    ExplorerError,
    MissingDependency,
    caret,
    display_width,
)


@pytest.mark.parametrize(
    ("text", "start", "column"),
    [("a(b", 1, 1), ("日本語(b", 3, 6), ("🙂(", 1, 2), ("e\u0301(", 2, 1), ("a\nb(", 3, 1)],
)
def test_the_caret_stands_under_the_character(text: str, start: int, column: int) -> None:
    line, mark = caret(text, start).split("\n")
    assert mark == " " * column + "^"
    assert line == text.split("\n")[-1]


def test_wide_characters_get_wide_carets() -> None:
    assert caret("日本", 0, 2).split("\n")[1] == "^^^^" and display_width("ａ") == 2
    # A control character is shown as one thing, a joiner not at all.
    assert [display_width(c) for c in ("\U0001f468", "\x1b", "\u200b")] == [2, 1, 0]


def test_without_torch_the_engine_is_whole() -> None:
    code = """
import sys
sys.modules["torch"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "torch" else find(name, *a)
from explorer import *
import explorer
assert not hasattr(explorer, "Session") and "Session" not in explorer.__all__
vocab = Vocabulary.from_bytes([b"a"], eos_ids=[1])
dfa = compile(regex("a+"), vocab)
for ask in (lambda: explorer.Session, lambda: dfa.to("cpu")):
    try:
        ask()
    except errors.MissingDependency as error:
        assert "[models]" in error.remedy
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert issubclass(MissingDependency, AttributeError)


def test_without_the_compiler_the_results_are_the_same() -> None:
    code = """
import explorer
vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
for pattern in ("(foo)+d", "f(?!oof)[fo]*d?", "(fo?o?r?){2}"):
    dfa = explorer.compile(explorer.regex(pattern), vocab)
    print(dfa.table.tolist(), dfa.token_class.tolist(), dfa.distance.tolist())
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**__import__("os").environ, "NUMBA_DISABLE_JIT": disabled},
        ).stdout
        for disabled in ("0", "1")
    }
    assert len(outputs) == 1 and "".join(outputs)


LONG = "a" * 1_000_000
QUOTING: dict[str, Callable[[], object]] = {
    "a grammar": lambda: explorer.grammar(f"root ::= {LONG}"),
    "Lark": lambda: explorer.grammar(f"start: {LONG}", "lark"),
    "a template": lambda: explorer.template(f"{{{LONG}}}"),
    "texts": lambda: explorer.choice(LONG),
    "a script": lambda: explorer.regex("a").restrict(scripts=[LONG]),
    "a reference": lambda: explorer.json_schema({"$ref": f"#/{LONG}"}).accepts(""),
    "a reference elsewhere": lambda: explorer.json_schema({"$ref": f"http://x/{LONG}"}).accepts(""),
    "a type": lambda: explorer.json_schema({"type": LONG}).accepts(""),
    "a keyword": lambda: explorer.json_schema({LONG: 1}, strict=True).accepts("1"),
    "a format": lambda: explorer.json_schema({"format": LONG}, strict=True).accepts("1"),
    "a multiple": lambda: explorer.json_schema({"multipleOf": 10**4000}).accepts("1"),
    "many words": lambda: explorer.template("{x}", **{"y " * 400_000: explorer.regex("a")}),
}


@pytest.mark.parametrize("name", QUOTING)
def test_a_message_quotes_no_more_than_can_be_read(name: str) -> None:
    try:
        QUOTING[name]()
    except ExplorerError as error:
        assert len(str(error)) < 2 * LONGEST_MESSAGE
        assert all(len(word) <= LONGEST_WORD + 1 for word in str(error).split())
        assert len(error.message) <= LONGEST_MESSAGE + 1
