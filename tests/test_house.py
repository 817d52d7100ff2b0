"""How the source is kept: files short enough to be one idea, and one class for each name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("explorer", "widgets")

MOST_LINES: Final = 500

TOO_LONG: Final[frozenset[str]] = frozenset()
"""Files that are still to be split; each entry goes when its file is."""


def sources(*endings: str) -> dict[str, str]:
    """The text of each source file, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in endings
    }


def too_long(texts: Mapping[str, str]) -> dict[str, int]:
    """The files over the limit, with their numbers of lines."""
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    return {path: count for path, count in lines.items() if count > MOST_LINES}


def classes(source: str) -> Iterator[str]:
    """The names of the classes of a file, without a leading underscore."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")


def defined_twice(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The class names that more than one file defines, or one file more than once."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for name in classes(text):
            places[name].append(path)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_a_file_has_at_most_500_lines() -> None:
    found = too_long(sources(".py", ".js"))
    assert {path: count for path, count in found.items() if path not in TOO_LONG} == {}


def test_a_class_name_stands_for_one_class() -> None:
    assert defined_twice(sources(".py")) == {}


@pytest.mark.parametrize("lines", [MOST_LINES, MOST_LINES + 1])
def test_the_length_of_a_file_is_noticed(lines: int) -> None:
    assert bool(too_long({"a.py": "x = 1\n" * lines})) == (lines > MOST_LINES)


def test_a_second_class_of_a_name_is_noticed() -> None:
    one, other = "class Walk: ...", "if True:\n    class _Walk: ..."
    assert defined_twice({"a.py": one, "b.py": other}) == {"Walk": ["a.py", "b.py"]}
    assert defined_twice({"a.py": one, "b.py": "class Run: ..."}) == {}
