"""The sentences that users read, each after the code that makes it: `tests/data/sentences.txt`.

``python -m tests.test_sentences`` writes the file anew; what changed is then read in its
difference. A line of code begins with ``>>>`` or ``...``, a line of what it says with ``|``. Lines
of code without an answer prepare what follows in the same section, which ``#`` begins.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch

import explorer
from explorer.decoding.models.model import Reading
from explorer.errors import ExplorerError, MissingDependency
from tests.decoding.models import Fixed

FILE: Final = Path(__file__).parent / "data" / "sentences.txt"
PLACES: Final = ("pointer", "line", "column", "start", "end")
ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}\b")
BEGINS: Final = re.compile(r"^# (.*)$", re.MULTILINE)


def names() -> dict[str, Any]:
    """What the code of a section may name: the façade, and something usable of each kind."""
    vocabulary = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"d"], eos_ids=[4])
    bytewise = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    foods = explorer.regex("(foo)+d")
    table = explorer.compile(foods, vocabulary)
    model = Fixed(vocabulary, Reading(torch.zeros(5)))
    facade = {name: getattr(explorer, name) for name in explorer.__all__}
    return {
        **facade,
        "explorer": explorer, "np": np, "torch": torch, "Path": Path, "Any": Any,
        "Fixed": Fixed, "Reading": Reading, "replace": replace,
        "grammars": explorer.grammars,
        "v": vocabulary, "bytewise": bytewise, "c": foods, "d": table, "m": table.to("cpu"),
        "lazy": explorer.compile(foods, vocabulary, lazy=True),
        "lm": model, "s": explorer.Session(model, foods),
        "rows": torch.zeros(1, 5), "states": torch.zeros(1, dtype=torch.int64),
    }  # fmt: skip


def said(code: str, known: dict[str, Any]) -> str:
    """What a piece of code answers: the value of its last expression, or its error."""
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        with redirect_stdout(printed):
            exec(compile(tree, "<sentences>", "exec"), known)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<sentences>", "eval"), known)
    except MissingDependency:
        raise
    except (Exception, SystemExit) as error:
        evidence = error.evidence if isinstance(error, ExplorerError) else {}
        place = {key: evidence[key] for key in PLACES if key in evidence}
        value = f"{type(error).__name__}: {error}" + (f"\n{place}" if place else "")
    value = sorted(value) if isinstance(value, set) else value
    values = value if isinstance(value, list | tuple) else () if value is None else (value,)
    return ADDRESS.sub("0x…", "\n".join([*printed.getvalue().splitlines(), *map(str, values)]))


def sections(text: str) -> dict[str, str]:
    """The text of each section, by its name."""
    _, *parts = BEGINS.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def pieces(section: str) -> Iterator[tuple[str, str]]:
    """Each piece of code of a section as it is written, and what it said when it was written."""
    for piece in section.strip("\n").split("\n\n"):
        lines = piece.split("\n")
        code = [line for line in lines if line.startswith((">>>", "..."))]
        yield "\n".join(code), "\n".join(line[2:] for line in lines[len(code) :])


def answered(section: str) -> str:
    """The section with what its code says now."""
    known, made = names(), list[str]()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code, before in pieces(section):
            try:
                now = said("\n".join(line[4:] for line in code.split("\n")), known)
            except MissingDependency:
                now = before
            lines = [f"| {line}".rstrip() for line in now.split("\n")] if now else []
            made.append("\n".join([code, *lines]))
    return "\n" + "\n\n".join(made) + "\n\n"


@pytest.mark.parametrize("name", sections(FILE.read_text("utf-8")))
def test_sentences_are_those_that_were_read(name: str) -> None:
    before = sections(FILE.read_text("utf-8"))[name]
    assert answered(before).strip() == before.strip(), "python -m tests.test_sentences"


def test_no_sentence_is_of_code_that_left() -> None:
    left = re.compile(r"^\| (NameError|ImportError|ModuleNotFoundError)", re.MULTILINE)
    assert not left.search(FILE.read_text("utf-8"))
    assert left.search("| " + said("gone()", {}))


def test_another_sentence_is_seen() -> None:
    assert answered('>>> regex("(")\n| RegexError: fine') != '>>> regex("(")\n| RegexError: fine'


if __name__ == "__main__":
    now = {name: answered(text) for name, text in sections(FILE.read_text("utf-8")).items()}
    FILE.write_text("".join(f"# {name}\n{text}" for name, text in now.items()), "utf-8")
    os._exit(0)
