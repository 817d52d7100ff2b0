"""The schemas of a folder, to which references may lead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from explorer.arguments import plain, wrong
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.files import read_text
from explorer.languages.schema.reading.text import BYTE_ORDER_MARK, read_schema

_FILE: Final = re.compile(
    r'"\$(?:ref|dynamicRef|recursiveRef|schema(?!"\s*:\s*"https?://json-schema\.org/))"\s*:\s*'
    r'"(?:[^"#]*/)?([^"#/]+)[#"]'
)
"""A reference out of a schema, and the last name of its address."""


def schemas_in(folder: object, schema: str) -> tuple[tuple[str, str], ...]:
    """The texts of the schemas in a folder, by path and, where they have one, by ``$id``.

    Only the files that the schema, or a file that it refers to, names are read; all where a name is
    not that of a file, as it may be an ``$id``.

    Args:
        schema: The schema that may refer to them. A file that is not a schema is refused if it is
            named, else it is left out.
    """
    if folder is None:
        return ()
    if not isinstance(folder, str | Path):
        raise wrong("folder", folder, "a folder", remedy="Give its path.", error=ConstraintError)
    root = Path(plain(folder))
    try:
        is_there = root.is_dir()
    except (OSError, ValueError):  # A name that is too long, or holds a zero byte.
        is_there = False
    if not is_there:
        raise ConstraintError(
            f"There is no folder {str(root)!r}.", remedy="Give a folder that holds *.json files."
        )
    files = sorted(root.rglob("*.json"))
    waiting = dict.fromkeys(_FILE.findall(schema))
    by_name = {path.name for path in files}
    pairs: dict[Path, list[tuple[str, str]]] = {}
    refused: dict[Path, ExplorerError] = {}
    for name in (names := [*waiting]):
        for path in files:
            if path in pairs or not (path.name == name or name not in by_name):
                continue
            pairs[path] = []
            try:
                text = read_text(path).removeprefix(BYTE_ORDER_MARK)
                content = read_schema(text)
            except (ConstraintError, DamagedFile) as error:
                refused[path] = error
                continue
            pairs[path].append((path.relative_to(root).as_posix(), text))
            if isinstance(content, dict) and isinstance(own := content.get("$id"), str):
                pairs[path].append((own, text))
            further = dict.fromkeys(_FILE.findall(text)).keys() - waiting
            waiting.update(dict.fromkeys(further))
            names += sorted(further)
    for path, error in refused.items():
        if path.name in waiting:
            name = path.relative_to(root).as_posix()
            raise ConstraintError(
                f"The file {name!r} of the folder: {error.message}", remedy=error.remedy,
                evidence=error.evidence,
            ) from error  # fmt: skip
    return tuple(pair for path in files for pair in pairs.get(path, ()))
