"""How the source is kept: files short enough to be one idea, and one class for each name."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("explorer", "widgets")
EVERY_FOLDER: Final = (*FOLDERS, "tests", "tools")

MOST_LINES: Final = 500


def sources(*endings: str, folders: tuple[str, ...] = FOLDERS) -> dict[str, str]:
    """The text of each source file, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in folders
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


SHARED: Final = {
    "add_parser": "each command of the command line adds its own",
    "run": "each command has one; `explorer.tokens.walks.failing.run` runs a machine",
    "main": "the start of the command line, and of the process that compiles",
}
"""Names of functions that several files may define, and why."""


def functions_twice(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of public functions that more than one file defines."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                places[node.name].add(path)
    return {name: sorted(where) for name, where in places.items() if len(where) > 1}


JS_DEFINITION: Final = re.compile(r"^(?:export )?(?:async )?(?:function|class) (\w+)", re.MULTILINE)


def scripts_twice(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of functions and classes that more than one script defines at its top."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for name in JS_DEFINITION.findall(text):
            places[name].append(path)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_a_file_has_at_most_500_lines() -> None:
    assert too_long(sources(".py", ".js", folders=EVERY_FOLDER)) == {}


def test_a_class_name_stands_for_one_class() -> None:
    assert defined_twice(sources(".py")) == {}


def test_a_name_of_a_public_function_stands_for_one_function() -> None:
    found = functions_twice(sources(".py"))
    assert {name: where for name, where in found.items() if name not in SHARED} == {}


def test_a_name_of_a_script_stands_for_one_thing() -> None:
    assert scripts_twice(sources(".js")) == {}


READING_ORDER: Final = re.compile(r"(?i)\b(reading\s+order|in\s+this\s+order|in\s+order:)")


def without_an_order(texts: Mapping[str, str]) -> list[str]:
    """The packages of more than one file whose ``__init__`` does not say where to begin."""
    files = Counter(path.rpartition("/")[0] for path in texts)
    return [
        path
        for path, text in texts.items()
        if path.endswith("/__init__.py") and files[path.rpartition("/")[0]] > 2
        if not READING_ORDER.search(ast.get_docstring(ast.parse(text)) or "")
    ]


def test_a_room_says_its_reading_order() -> None:
    assert without_an_order(sources(".py")) == []


def test_a_room_without_an_order_is_noticed() -> None:
    room = {"a/__init__.py": '"""Rows."""', "a/b.py": "", "a/c.py": ""}
    assert without_an_order(room) == ["a/__init__.py"]
    assert without_an_order(room | {"a/__init__.py": '"""Read in this\norder: `b`, `c`."""'}) == []


MOST_MODULES: Final = 24


def crowded(texts: Mapping[str, str]) -> dict[str, int]:
    """The folders with more modules on one floor than one looks through."""
    floors = Counter(path.rpartition("/")[0] for path in texts if not path.endswith("__init__.py"))
    return {folder: count for folder, count in floors.items() if count > MOST_MODULES}


def unnamed(texts: Mapping[str, str]) -> list[str]:
    """The modules and rooms that the ``__init__`` of their folder does not name."""
    packages = {path.rpartition("/")[0] for path in texts if path.endswith("/__init__.py")}
    found: list[str] = []
    for path in sorted({*texts, *packages}):
        folder, _, name = path.removesuffix("/").rpartition("/")
        first = texts.get(f"{folder}/__init__.py")
        if first is None or name == "__init__.py" or name.startswith("__"):
            continue
        said = ast.get_docstring(ast.parse(first)) or ""
        if READING_ORDER.search(said) and f"`{name.removesuffix('.py')}`" not in said:
            found.append(path)
    return found


def test_a_floor_is_looked_through_at_a_glance() -> None:
    assert crowded(sources(".py")) == {}
    room = {f"a/m{k}.py": "" for k in range(MOST_MODULES + 1)}
    assert crowded(room) == {"a": MOST_MODULES + 1}


def test_a_room_names_all_that_is_in_it() -> None:
    assert unnamed(sources(".py")) == []
    room = {"a/__init__.py": '"""Read in this order: `b`."""', "a/b.py": "", "a/c.py": ""}
    assert unnamed(room) == ["a/c.py"]


@pytest.mark.parametrize("lines", [MOST_LINES, MOST_LINES + 1])
def test_the_length_of_a_file_is_noticed(lines: int) -> None:
    assert bool(too_long({"a.py": "x = 1\n" * lines})) == (lines > MOST_LINES)


def test_a_second_class_of_a_name_is_noticed() -> None:
    one, other = "class Walk: ...", "if True:\n    class _Walk: ..."
    assert defined_twice({"a.py": one, "b.py": other}) == {"Walk": ["a.py", "b.py"]}
    assert defined_twice({"a.py": one, "b.py": "class Run: ..."}) == {}


def test_a_second_function_of_a_name_is_noticed() -> None:
    one, other = "def read(): ...", "x = 1\ndef read(): ..."
    assert functions_twice({"a.py": one, "b.py": other}) == {"read": ["a.py", "b.py"]}
    assert functions_twice({"a.py": one, "b.py": "class A:\n    def read(self): ..."}) == {}
    assert functions_twice({"a.py": "def _read(): ...", "b.py": "def _read(): ..."}) == {}
    twice = {"a.js": "function draw() {}", "b.js": "export async function draw() {}"}
    assert scripts_twice(twice) == {"draw": ["a.js", "b.js"]}
    assert scripts_twice({"a.js": "function draw() {}", "b.js": "  function draw() {}"}) == {}


HOP: Final = re.compile(r"^\| `([\w/.]+)`: `([\w.]+)` \|", re.MULTILINE)


def test_the_ways_through_the_code_exist() -> None:
    hops = HOP.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(hops) == 13
    for path, name in hops:
        text = (ROOT / path).read_text("utf-8")
        begins = f"{name} = " if path.endswith(".js") else f"def {name}("
        assert begins in text, (path, name)
