"""The schemas of a folder, to which references may lead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from explorer.arguments import plain, wrong
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.files import read_text
from explorer.languages.schema.reading.text import BYTE_ORDER_MARK, read_schema

_FILE: Final = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)"\s*:\s*"(?:[^"#]*/)?([^"#/]+)[#"]')
"""A reference that names a file, and the name without its folder."""


def schemas_in(folder: object, schema: str) -> tuple[tuple[str, str], ...]:
    """The texts of the schemas in a folder, by path and, where they have one, by ``$id``.

    Args:
        schema: The schema that may refer to them. A file that is not a schema is refused if it, or
            another file, refers to a file of that name; else it is left out.
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
    pairs: list[tuple[str, str]] = []
    refused: dict[Path, ExplorerError] = {}
    for path in sorted(root.rglob("*.json")):
        try:
            text = read_text(path).removeprefix(BYTE_ORDER_MARK)
            content = read_schema(text)
        except (ConstraintError, DamagedFile) as error:
            refused[path] = error
            continue
        pairs.append((path.relative_to(root).as_posix(), text))
        if isinstance(content, dict) and isinstance(own := content.get("$id"), str):
            pairs.append((own, text))
    named = {
        file for text in (schema, *(text for _, text in pairs)) for file in _FILE.findall(text)
    }
    for path, error in refused.items():
        if path.name in named:
            name = path.relative_to(root).as_posix()
            raise ConstraintError(
                f"The file {name!r} of the folder: {error.message}", remedy=error.remedy,
                evidence=error.evidence,
            ) from error  # fmt: skip
    return tuple(pairs)
