"""The pages of the public names: the two facades, and every further call that the texts use.

The names are not listed here but read from `explorer.__all__`, `widgets.__all__`, and the imports
from deeper modules in the README, the pages and the notebooks. mkdocstrings writes the entries from
the docstrings and the annotations, without importing the package.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, cast

from tools.site.pages import ROOT

_BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FACADES: Final = ("explorer", "widgets")


def imported_names(codes: Iterable[str]) -> dict[str, set[str]]:
    """The names that pieces of code import from the two packages, by module, without the facades.

    Args:
        codes: Python; a piece that cannot be parsed by itself is skipped.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for code in codes:
        try:
            tree = ast.parse(code)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                first, _, rest = node.module.partition(".")
                if first in _FACADES and rest:
                    for name in node.names:
                        if name.name == "*":
                            _add_all_of(node.module, found)
                        else:
                            found[node.module].add(name.name)
    return dict(found)


def _add_all_of(package: str, found: defaultdict[str, set[str]], root: Path = ROOT) -> None:
    """Add the names of a star import, each at the module that defines it, without the facades."""
    for name, module in exported(package.replace(".", "/"), root).items():
        place = module.replace("/", ".")
        if place == f"{package}.{name}":
            found[package].add(name)
        elif place not in _FACADES and "." in place and not place.endswith(f".{name}"):
            found[place].add(name)


def codes_of_texts(root: Path = ROOT) -> list[str]:
    """The Python of the README, of the pages and of the notebooks."""
    codes: list[str] = []
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        codes += _BLOCK.findall(path.read_text("utf-8"))
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        cells = cast("list[dict[str, object]]", json.loads(path.read_text("utf-8"))["cells"])
        for cell in cells:
            source = cell["source"]
            lines = cast("list[str]", source) if isinstance(source, list) else [str(source)]
            if cell["cell_type"] == "code":
                codes.append("".join(lines))
    return codes


def exported(package: str, root: Path = ROOT) -> dict[str, str]:
    """The names of a package's ``__all__`` and the module that defines each.

    They are read from the source, where the package has a table of names imported on first use.

    Args:
        package: A folder whose ``__init__`` has such a table.
        root: The repository.
    """
    names: list[str] = []
    modules: dict[str, str] = {}
    for node in ast.parse((root / package / "__init__.py").read_text("utf-8")).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        match node.targets[0].id:
            case "__all__":
                names = cast("list[str]", ast.literal_eval(node.value))
            case "_LATER" | "_WITH_TORCH":
                modules |= cast("dict[str, str]", ast.literal_eval(node.value))
            case _:
                pass
    return {name: modules.get(name, f"{package}.{name}") for name in names}


def reference_pages(root: Path = ROOT) -> dict[str, str]:
    """Every page of the reference, by its place on the site.

    Args:
        root: The repository.
    """
    explorer, widgets = (exported(package, root) for package in _FACADES)
    found = {
        "reference/explorer.md": _page(
            "The package `explorer`",
            "These names are what `import explorer` offers.",
            {f"explorer.{name}": _target(module, name) for name, module in explorer.items()},
        ),
        "reference/widgets.md": _page(
            "The package `widgets`",
            "The views in a notebook; each works alone, and views on one cursor move together.",
            {f"widgets.{name}": _target(module, name) for name, module in widgets.items()},
        ),
    }
    rooms: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for module, names in sorted(imported_names(codes_of_texts(root)).items()):
        first, second, *_ = module.split(".")
        for name in sorted(names):
            path = f"{module}.{name}"
            if (root / Path(*path.split("."))).with_suffix(".py").is_file():
                continue  # A module; its own names are imported elsewhere or used with a dot.
            rooms[f"{first}.{second}"][path] = path
    for room, entries in rooms.items():
        found[f"reference/{room}.md"] = _page(
            f"From `{room}`",
            "These are the calls of this package that the tour, the pages and the notebooks use.",
            entries,
        )
    listed = "\n".join(f"- [{_heading(text)}]({Path(place).name})" for place, text in found.items())
    index = (
        "# Reference\n\nThe two facades, and the calls of deeper modules that the course and the "
        "pages use. The entries are the docstrings of the source.\n\n" + listed + "\n"
    )
    return {"reference/index.md": index, **found}


def _target(module: str, name: str) -> str:
    return module if module.endswith(f".{name}") else f"{module}.{name}"


def _heading(page: str) -> str:
    return page.split("\n", 1)[0].removeprefix("# ")


def _page(title: str, words: str, entries: Mapping[str, str]) -> str:
    """A page with one entry for each name; its heading is the name that is imported."""
    parts = [f"# {title}\n\n{words}\n"]
    for shown, target in entries.items():
        parts.append(f'::: {target}\n    options:\n      heading: "{shown}"\n')
    return "\n".join(parts)


__all__ = ["codes_of_texts", "exported", "imported_names", "reference_pages"]
