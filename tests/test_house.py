"""The rules of the house: short files and functions, few parameters, names that say what they name.

Where the code is not there yet, what is left is listed with its number, which may only shrink.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("explorer", "widgets")
EVERY_FOLDER: Final = (*FOLDERS, "tests", "benchmarks", "models", "tools")

MOST_LINES: Final = 700


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file; each is asked by many rules."""
    return ast.parse(text)


@pytest.fixture(autouse=True, scope="module")
def forget() -> Iterator[None]:
    """Drop the trees after the rules were checked."""
    yield
    parsed.cache_clear()


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
    for node in ast.walk(parsed(source)):
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
    "run": "each command has one; `explorer.automata.machine.run` runs a machine",
    "any_text": "the function of users, and the machine that it means",
    "text_until": "free text of users, and Koo's terminal, which ends with a token",
    "main": "the start of the command line, and of the process that compiles",
}
"""Names of functions that several files may define, and why."""


def functions_twice(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of public functions that more than one file defines."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for node in parsed(text).body:
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


def test_a_file_has_at_most_700_lines() -> None:
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
        if not READING_ORDER.search(ast.get_docstring(parsed(text)) or "")
    ]


def test_a_room_says_its_reading_order() -> None:
    assert without_an_order(sources(".py")) == []


def test_a_room_without_an_order_is_noticed() -> None:
    room = {"a/__init__.py": '"""Rows."""', "a/b.py": "", "a/c.py": ""}
    assert without_an_order(room) == ["a/__init__.py"]
    assert without_an_order(room | {"a/__init__.py": '"""Read in this\norder: `b`, `c`."""'}) == []


MOST_MODULES: Final = 24


def crowded(texts: Mapping[str, str]) -> dict[str, int]:
    """The folders with too many modules on one floor."""
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
        said = ast.get_docstring(parsed(first)) or ""
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


Function = ast.FunctionDef | ast.AsyncFunctionDef

MOST_PARAMETERS: Final = 8
"""What goes together so often that more are needed is one value of options."""

MANY_PARAMETERS: Final[Mapping[str, int]] = {
    "Compare.__init__": 10,
    "ConstraintLogitsProcessor.__init__": 9,
    "View.__init__": 12,
    "Walk.__init__": 16,
    "chip": 9,
    "gen": 9,
    "generate": 14,
    "invasiveness": 11,
    "json_schema": 11,
    "mask_kernel": 21,
    "masking_distortion": 10,
    "own_first": 9,
    "probability_mass": 12,
    "sample_conditional": 9,
    "sweep": 14,
    "text": 10,
    "window": 9,
}
"""The functions that still have more, and how many."""

MOST_LINES_OF_A_BODY: Final = 60
MOST_LINES_OF_A_KERNEL: Final = 120
"""The state of a compiled loop is in local variables, all of which a helper would be handed."""

LONG_FUNCTIONS: Final[Mapping[str, int]] = {
    "_PatternParser.sequence": 78,
    "_generator": 75,
    "_grown": 63,
    "_reader": 61,
    "fill_rows": 140,
    "fsm_to_dfa": 72,
    "read_tokenizer": 91,
    "subterminal_picture": 61,
}
"""The functions that are still longer, and by how many lines."""


def functions(texts: Mapping[str, str]) -> Iterator[tuple[str, Function]]:
    """Every function with its name, in which its classes and functions stand before it."""
    for text in texts.values():
        todo: list[tuple[str, ast.AST]] = [("", parsed(text))]
        while todo:
            before, node = todo.pop()
            for child in ast.iter_child_nodes(node):
                inside = before
                if isinstance(child, Function | ast.ClassDef):
                    inside = f"{before}{child.name}."
                if isinstance(child, Function):
                    yield f"{before}{child.name}", child
                todo.append((inside, child))


def is_kernel(function: Function) -> bool:
    """Whether a function is compiled to machine code."""
    return any(ast.unparse(mark).split(".")[-1] == "jit" for mark in function.decorator_list)


def parameters(function: Function) -> int:
    """The number of parameters; ``self`` and ``cls`` do not count."""
    named = function.args
    first = [*named.posonlyargs, *named.args]
    count = len(first) + len(named.kwonlyargs) + bool(named.vararg) + bool(named.kwarg)
    return count - (bool(first) and first[0].arg in ("self", "cls"))


def lines_of_body(function: Function) -> int:
    """The number of lines after the signature and the docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def with_many_parameters(texts: Mapping[str, str]) -> dict[str, int]:
    """The functions with too many parameters; kernels, which take flat arrays, may."""
    counts = {name: parameters(node) for name, node in functions(texts) if not is_kernel(node)}
    return {name: count for name, count in counts.items() if count > MOST_PARAMETERS}


def long_functions(texts: Mapping[str, str]) -> dict[str, int]:
    """The functions with too many lines."""
    counts: dict[str, int] = {}
    for name, node in functions(texts):
        lines = lines_of_body(node)
        if lines > (MOST_LINES_OF_A_KERNEL if is_kernel(node) else MOST_LINES_OF_A_BODY):
            counts[name] = lines
    return counts


def grown(counts: Mapping[str, int], listed: Mapping[str, int]) -> dict[str, int]:
    """The entries that are not listed, or are more than is listed."""
    return {name: count for name, count in counts.items() if count > listed.get(name, 0)}


def test_a_function_has_few_parameters() -> None:
    assert grown(with_many_parameters(sources(".py")), MANY_PARAMETERS) == {}


def test_a_parameter_too_many_is_noticed() -> None:
    names = ", ".join(f"p{k}" for k in range(MOST_PARAMETERS))
    assert with_many_parameters({"a.py": f"def f({names}): ..."}) == {}
    assert with_many_parameters({"a.py": f"class A:\n def f(self, {names}): ..."}) == {}
    assert with_many_parameters({"a.py": f"@jit\ndef f({names}, q): ..."}) == {}
    for more in ("q", "*q", "*, q", "**q", "q, /"):
        assert with_many_parameters({"a.py": f"class A:\n def f(self, {names}, {more}): ..."}) == {
            "A.f": MOST_PARAMETERS + 1
        }, more


def test_a_function_is_short() -> None:
    assert grown(long_functions(sources(".py")), LONG_FUNCTIONS) == {}


@pytest.mark.parametrize(
    ("mark", "most"), [("", MOST_LINES_OF_A_BODY), ("@jit", MOST_LINES_OF_A_KERNEL)]
)
def test_a_line_too_many_is_noticed(mark: str, most: int) -> None:
    body = '    """Said\n    at length."""\n' + "    x = 1\n" * most
    assert long_functions({"a.py": f"{mark}\ndef f():\n{body}"}) == {}
    longer = long_functions({"a.py": f"def g():\n  {mark}\n  def f():\n{body}    y = 1\n"})
    assert longer["g.f"] == most + 1


def room(path: str) -> str:
    """The part of the house that a file belongs to: ``explorer/tokens``, ``widgets/figures``."""
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.partition("/")[0]


RIDDLE: Final = re.compile(r"(Which|What|How|Where|Who)\b")
OPENINGS_LEFT: Final[Mapping[str, int]] = {}
"""Docstrings that still open with a question word instead of their subject, by room."""

NAMELESS_LEFT: Final[Mapping[str, int]] = {
    "explorer/analysis": 1,
    "explorer/cli": 1,
    "explorer/languages": 18,
    "explorer/sweeps": 1,
}
"""Variables called ``found`` that still do not say what was found, by room."""


def openings(texts: Mapping[str, str]) -> Counter[str]:
    """The docstrings that open with a question word, by room."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return Counter(
        room(path)
        for path, text in texts.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, documented) and RIDDLE.match(ast.get_docstring(node) or "")
    )


def nameless(texts: Mapping[str, str]) -> Counter[str]:
    """The assignments to variables called ``found``, by room."""
    return Counter(
        room(path)
        for path, text in texts.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Name) and node.id == "found" and isinstance(node.ctx, ast.Store)
    )


def test_a_docstring_opens_with_its_subject() -> None:
    assert grown(openings(sources(".py")), OPENINGS_LEFT) == {}
    riddle = {"explorer/a/b.py": 'def f():\n    """Which rows there are."""'}
    assert openings(riddle) == {"explorer/a": 1}
    assert openings({"explorer/a/b.py": 'def f():\n    """Whole rows; which ones."""'}) == {}


def test_a_variable_says_what_it_holds() -> None:
    assert grown(nameless(sources(".py")), NAMELESS_LEFT) == {}
    assert nameless({"explorer/a.py": "found = 1\nfor found in x: ..."}) == {"explorer": 2}
    assert nameless({"explorer/a.py": "print(found)\nfounded = 1"}) == {}


def replaced(source: str) -> list[str]:
    """The names of ours that a test replaces with ``setattr``; environments and clocks may be."""
    ours = {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] in FOLDERS
    }
    names: list[str] = []
    for node in ast.walk(parsed(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "setattr" or not node.args:
            continue
        where, name = node.args[0], ast.unparse(node.args[1]) if len(node.args) > 1 else ""
        text = where.value if isinstance(where, ast.Constant) else ast.unparse(where)
        root = re.split(r"\W", str(text))[0]
        if root in (*ours, *FOLDERS) or name.startswith("'_"):
            names.append(ast.unparse(node))
    return names


def test_no_test_replaces_a_name_of_ours() -> None:
    """What a test needs comes from outside: an argument, a small budget, a slow or wrong part."""
    texts = sources(".py", folders=("tests",))
    assert {path: names for path, text in texts.items() if (names := replaced(text))} == {}
    patch = "from explorer.tokens import lazy\nimport os\npatch.setattr({})"
    for arguments in ("lazy, 'MOST', 1", "lazy.Free, 'step', 1", "'widgets.a.b', 1", "os, '_x', 1"):
        assert len(replaced(patch.format(arguments))) == 1
    assert replaced(patch.format("os, 'replace', 1")) == []
