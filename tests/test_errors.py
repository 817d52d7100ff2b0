"""Errors show the spot, travel whole, and are what callers can ask for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import explorer
from explorer.errors import MissingDependency, caret, display_width


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


def test_remedies_fit() -> None:
    for pattern, remedy in {
        r"(?<!a|bc)d": "(?<!ab)(?<!c)",
        r"(?<=a|bc)d": "(?:(?<=ab)|(?<=c))",
        r"(?<=a*)b": "Bound the repetition",
        r"\p{L}": r"[^\W\d_]",
        r"\x1": "zeros in front: 01",
        r"[\8]": "Write 8",
        r"\8": "Count the groups",
        r"+a": r"\+",
    }.items():
        with pytest.raises(explorer.errors.RegexError) as caught:
            explorer.regex(pattern)
        assert remedy in caught.value.remedy, pattern


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
