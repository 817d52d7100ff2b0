"""Dependencies point one way, and heavy libraries stay where they belong.

Every import of every file is read from the syntax tree, those inside functions included, so that a
cycle cannot hide behind a lazy import. What is *loaded* is a second question, asked of a fresh
interpreter.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A module may import its own layer and those before it.
LAYERS = (
    (
        "errors",
        "arguments",
        "alphabet",
        "budget",
        "files",
        "machine_code",
        "jit",
        "hashing",
        "memo",
    ),
    ("vocabulary",),
    ("automata",),
    ("languages",),
    ("terminals", "grammars"),
    ("tokens",),
    ("decoding",),
    ("analysis",),
    ("witnesses", "sweeps", "servers"),
    ("course",),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Who may import a library: the named folders of the engine, and nobody where there are none.
NOTEBOOK_LIBRARIES = (
    "widgets",
    "IPython",
    "ipykernel",
    "ipywidgets",
    "anywidget",
    "traitlets",
    "plotly",
    "graphviz",
    "pygraphviz",
    "matplotlib",
    "jupyterlab",
    "notebook",
)
# The other engines, each only in the file that speaks to it and in a process of its own.
ENGINES = ("outlines_core", "xgrammar", "llguidance")
ALLOWED_IN: dict[str, frozenset[str]] = {
    "pynini": frozenset({"automata", "languages"}),
    "pywrapfst": frozenset({"automata"}),
    "interegular": frozenset({"automata", "languages"}),
    "torch": frozenset({"tokens", "decoding", "analysis", "sweeps", "servers", *LAYERS[-1]}),
    "transformers": frozenset({"vocabulary", "decoding"}),
    "pyarrow": frozenset({"sweeps"}),
    "dask": frozenset({"sweeps"}),
    "distributed": frozenset({"sweeps"}),
    "huggingface_hub": frozenset({"vocabulary", "decoding"}),
    **{name: frozenset({"witnesses"}) for name in ENGINES},
    # The markup of models is data that xgrammar writes in Python; nothing of its engine runs.
    "xgrammar": frozenset({"witnesses", "languages"}),
    **{name: frozenset() for name in NOTEBOOK_LIBRARIES},
}
# Imported inside functions only, because the engine must start without them.
LAZY_IN_VOCABULARY = ("transformers", "huggingface_hub")


@dataclass(frozen=True)
class Import:
    line: int
    module: str
    lazy: bool


def imports(source: str, module: str, is_package: bool) -> Iterator[Import]:
    """Every import of a file: statements at any depth, and `import_module` with a literal name."""
    functions: list[tuple[int, int]] = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            functions.append((node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            functions.append((node.lineno, node.body[-1].end_lineno or node.lineno))

    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, *([node.module] if node.module else [])])
            # `from explorer import errors` names a module; `from explorer.errors import X` does not
            # matter beyond `explorer.errors`, and the longer name has the same layer.
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            names = [node.args[0].value]
        for name in names:
            line = getattr(node, "lineno", 0)
            yield Import(line, name, any(first <= line <= last for first, last in functions))


def faults(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """The faults of a file's imports, one sentence each."""
    parts = module.split(".")
    own = parts[1] if len(parts) > 1 else ""
    found: list[str] = []
    for item in imports(source, module, is_package):
        target = item.module.split(".")
        where = f"{module}:{item.line} imports {item.module}"
        if parts[0] == "explorer" and target[0] == "explorer" and own:
            layer = target[1] if len(target) > 1 else ""
            if layer not in RANK:
                # The façade imports every layer, so a layer that imports it makes a cycle.
                if own not in LAYERS[-1]:
                    found.append(f"{where}: the façade, not the module that has it")
            elif RANK[layer] > RANK.get(own, -1):
                found.append(f"{where}: {own} comes before {layer}")
        if parts[0] == "widgets" and target[:2] == ["explorer", "cli"]:
            found.append(f"{where}: the views do not know the command line")
        if module.startswith("widgets.figures") and (
            target[0] in ("ipywidgets", "anywidget", "traitlets", "IPython")
            or (target[0] == "widgets" and target[1:2] != ["figures"])
        ):
            found.append(f"{where}: figures are pure")
        if parts[0] == "explorer" and target[0] in ALLOWED_IN:
            if own not in ALLOWED_IN[target[0]]:
                found.append(f"{where}: {target[0]} does not belong in {own or 'the façade'}")
            elif own == "vocabulary" and target[0] in LAZY_IN_VOCABULARY and not item.lazy:
                found.append(f"{where}: only inside a function")
    return found


def files() -> list[tuple[Path, str, bool]]:
    listed: list[tuple[Path, str, bool]] = []
    for package in ("explorer", "widgets"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            listed.append((path, ".".join(parts[:-1] if is_package else parts), is_package))
    return listed


def test_a_module_imports_only_what_it_may() -> None:
    listed = files()
    assert len(listed) > 400
    assert [
        fault
        for path, module, is_package in listed
        for fault in faults(path.read_text("utf-8"), module, is_package=is_package)
    ] == []


def test_every_part_of_the_engine_has_a_layer() -> None:
    parts = {module.split(".")[1] for _, module, _ in files() if module.startswith("explorer.")}
    assert parts <= set(RANK), "give the new part its place in LAYERS"
    assert {"errors", "vocabulary", "automata", "tokens"} <= parts


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("explorer.vocabulary.bytes", "from explorer.automata import machine"),
        ("explorer.vocabulary.bytes", "from ..automata.machine import Dfa"),
        ("explorer.languages.regex", "def f():\n    import explorer.tokens.compile"),
        ("explorer.languages.regex", "from explorer import compile"),
        ("explorer.languages.regex", "import torch"),
        ("explorer.tokens.compile", "def f():\n    import pynini"),
        ("explorer.tokens.compile", "import importlib\nimportlib.import_module('transformers')"),
        ("explorer.analysis.explain", "from IPython.display import display"),
        ("explorer.decoding.stepping.walk", "from widgets.cursor import Cursor"),
        ("explorer.vocabulary.adapter", "import transformers"),
        ("widgets.figures.panels.mask", "import anywidget"),
        ("widgets.figures.panels.mask", "from widgets.cursor import Cursor"),
        ("widgets.cursor", "from explorer.cli import main"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(faults(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("explorer.languages.regex", "from explorer.errors import RegexError\nimport pynini"),
        ("explorer.vocabulary.adapter", "def f():\n    import transformers"),
        ("explorer.tokens.masks.device", "def f():\n    import torch"),
        ("explorer.cli", "import explorer"),
        ("widgets.cursor", "import explorer, anywidget"),
        ("widgets.figures.panels.mask", "from explorer.analysis import explain"),
    ],
)
def test_a_right_import_is_not(module: str, source: str) -> None:
    assert faults(source, module) == []


# The circles that are left, each by its files: the public class has a method for it (`dfa.save`,
# `trace.save`), which imports the file that does it when it is called, and that file works on the
# class. The list is exact, so that a circle which goes is struck from it, and none is added.
CIRCLES_LEFT: frozenset[frozenset[str]] = frozenset()


def needed(sources: Mapping[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """The modules that each module imports, anywhere in its text.

    Imports inside functions and those for type checkers count as those at the top do: whoever reads
    one file has to read the other, and a file that moves takes the other with it, whenever the
    interpreter comes to it.

    Args:
        sources: By the name of a module, its text and whether it is a package's `__init__`.
    """
    needs: dict[str, set[str]] = {}
    for module, (source, is_package) in sources.items():
        targets: set[str] = set()
        for item in imports(source, module, is_package):
            # The longest name that is a file: `from a.b import c` names `a.b.c` or `a.b`.
            name = item.module
            while name and name not in sources:
                name = name.rpartition(".")[0]
            targets.add(name)
        needs[module] = targets - {"", module}
    return needs


def reached(needs: Mapping[str, set[str]], module: str) -> set[str]:
    """All that a module imports, and what that imports."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        for target in needs[todo.pop()] - seen:
            seen.add(target)
            todo.append(target)
    return seen


def circles(sources: Mapping[str, tuple[str, bool]]) -> frozenset[frozenset[str]]:
    """The circles of files that import each other: each the greatest set of its kind."""
    needs = needed(sources)
    behind = {module: reached(needs, module) for module in sources}
    return frozenset(
        frozenset(other for other in behind[module] if module in behind[other])
        for module in sources
        if module in behind[module]
    )


def test_the_files_that_import_each_other_in_a_circle_are_those_listed() -> None:
    sources = {module: (path.read_text("utf-8"), package) for path, module, package in files()}
    assert circles(sources) == CIRCLES_LEFT


@pytest.mark.parametrize(
    "back",
    [
        "from a.one import f",
        "def g():\n    from a import one",
        "import a.one",
        "from . import one",
        "if TYPE_CHECKING:\n    from a.one import F",
    ],
)
def test_a_circle_would_be_found(back: str) -> None:
    sources = {"a": ("", True), "a.one": ("from a.two import g", False), "a.two": (back, False)}
    assert circles(sources) == {frozenset({"a.one", "a.two"})}
    assert circles({**sources, "a.two": ("import sys", False)}) == frozenset()


def test_each_of_two_circles_is_told_apart() -> None:
    sources = {
        "a": ("import b", False), "b": ("import a, c", False),
        "c": ("import d", False), "d": ("import e", False), "e": ("import c", False),
    }  # fmt: skip
    assert circles(sources) == {frozenset("ab"), frozenset("cde")}


def modules_after(code: str) -> set[str]:
    """The modules of a fresh interpreter that has run `code`."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.splitlines()[-1].split())


def loaded_after(code: str) -> set[str]:
    """The top-level names of those modules."""
    return {name.split(".")[0] for name in modules_after(code)}


HEAVY = {"torch", "transformers", "huggingface_hub", *NOTEBOOK_LIBRARIES}

COMPILE = """
import explorer
vocabulary = explorer.Vocabulary.from_bytes([b"f", b"oo", b"for", b"d", None], eos_ids=[4])
machine = explorer.compile(explorer.regex(r"(foo)+d"), vocabulary)
assert machine.allowed(machine.start).any()
"""


EXPLAIN = f"{COMPILE}explorer.explain(machine, machine.start, 1).paragraph\n"


@pytest.mark.parametrize("code", ["import explorer", "import explorer.cli", COMPILE, EXPLAIN])
def test_the_headless_engine_loads_no_heavy_library(code: str) -> None:
    assert loaded_after(code) & HEAVY == set()


@pytest.mark.parametrize("code", [COMPILE, EXPLAIN])
def test_a_pattern_loads_no_other_kind_of_constraint(code: str) -> None:
    others = ("schema.source", "types.source", "grammar.source", "phases.functions", "tools")
    kinds = {f"explorer.languages.{name}" for name in others}
    assert modules_after(code) & kinds == set()
    assert "explorer.languages.phases.functions" in modules_after("import explorer; explorer.phase")


def test_a_loaded_library_would_be_seen() -> None:
    assert "json" in loaded_after("import explorer, json")
