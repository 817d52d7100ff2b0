"""The façade is small, complete and documented."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import types
from itertools import pairwise
from pathlib import Path

import explorer

# What one makes constraints from has a name each: texts, patterns, schemas, types, templates and
# their parts, grammars. What is asked of other engines and of many runs at a time has four:
# witness, disagreements, sweep, report. The rest of the names stays at 20.
# Phases: token, any_tokens, any_text, text_until, phase, phases, structural_tag, tools.
MOST_NAMES = 44


def explained_constants() -> set[str]:
    """Names that are assigned at the top of a module with a string right below."""
    found: set[str] = set()
    for path in Path(explorer.__file__).parent.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for statement, following in pairwise(body):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                if isinstance(statement, ast.AnnAssign):
                    found.add(ast.unparse(statement.target))
                elif isinstance(statement, ast.Assign):
                    found.update(ast.unparse(target) for target in statement.targets)
    return found


def test_the_facade_is_small() -> None:
    assert len(explorer.__all__) == len(set(explorer.__all__)) <= MOST_NAMES


def test_every_name_is_there_and_documented() -> None:
    for name in explorer.__all__:
        value = getattr(explorer, name)
        if inspect.isclass(value) or callable(value):
            assert inspect.getdoc(value), f"explorer.{name} has no docstring"
        elif isinstance(value, types.ModuleType):
            assert value.__doc__, f"explorer.{name} has no docstring"
        else:
            assert name in explained_constants(), f"explorer.{name} is not explained"


def test_nothing_public_is_left_out() -> None:
    for name in explorer.__all__:  # Imported on first use.
        getattr(explorer, name)
    # Ours only: what the package itself imports from elsewhere is not offered to anybody.
    public = {
        name
        for name, value in vars(explorer).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("explorer")
    }
    assert "Vocabulary" in public
    assert public <= set(explorer.__all__)


def test_every_public_method_is_documented() -> None:
    for name in explorer.__all__:
        value = getattr(explorer, name)
        if not inspect.isclass(value):
            continue
        for attribute, member in vars(value).items():
            if attribute.startswith("_"):
                continue
            if inspect.isroutine(member) or isinstance(
                member, property | classmethod | staticmethod
            ):
                assert inspect.getdoc(getattr(value, attribute)), f"{name}.{attribute}"


def test_the_rooms_of_further_functions_need_no_import() -> None:
    """As errors name them: `explorer.terminals.escape`. A fresh process has imported neither."""
    code = "import explorer as e; print(e.terminals.escape('a(b)'), e.grammars.SHIPPED)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("a")
