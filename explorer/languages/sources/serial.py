"""Sources as plain mappings, for files and messages, and back.

A mapping names its ``kind``, and holds the fields of the source and its children as ``parts``. Only
registered kinds are read, and each checks what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from explorer.automata.tree.nodes import Source
from explorer.errors import DamagedFile, ExplorerError, RegexError
from explorer.languages.sources.registry import kind_of

MAX_DEPTH: Final = 200
"""The deepest nesting of sources."""


def source_to_dict(source: Source) -> dict[str, object]:
    """A mapping of strings, numbers, lists and mappings that `source_from_dict` reads."""
    parts = [source_to_dict(child) for child in source.children]
    return {"kind": source.kind} | ({"parts": parts} if parts else {}) | source.fields()


def source_from_dict(data: Mapping[str, object], depth: int = 1) -> Source:
    """The source that a mapping holds.

    Args:
        data: From `source_to_dict`, read from a file that may be damaged or forged.
        depth: The number of nested mappings down to this one, itself included.

    Raises:
        DamagedFile: The kind is not known, or a field is missing or impossible.
        RegexError: A stored pattern cannot be read.

    Example:
        >>> str(source_from_dict({"kind": "choice", "texts": ["yes", "no"]}))
        "choice(['yes', 'no'])"
    """
    parts = data.get("parts", []) if isinstance(data, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if not isinstance(parts, list) or depth > MAX_DEPTH:
        why = f"nested more than {MAX_DEPTH} deep" if isinstance(parts, list) else "not a mapping"
        raise DamagedFile(
            f"A saved constraint is {why}.",
            remedy="Write the constraint again.",
        )
    name = data.get("kind")
    kind = kind_of(name if isinstance(name, str) else repr(name))
    children = tuple(
        source_from_dict(part, depth + 1) for part in cast("list[Mapping[str, object]]", parts)
    )
    what = f"A saved constraint of kind {kind.kind!r}"
    remedy = "Use the release that wrote it, or write the constraint again."
    try:
        made = kind.load(data, children)
    except (DamagedFile, RegexError):
        raise
    except ExplorerError as error:
        raise DamagedFile(f"{what} cannot be read: {error.message}", remedy=remedy) from error
    except KeyError as error:
        raise DamagedFile(f"{what} has no usable field {error}.", remedy=remedy) from error
    except (IndexError, TypeError, ValueError) as error:
        held = f"with {len(children)} parts"
        raise DamagedFile(f"{what} {held} cannot be read: {error}.", remedy=remedy) from error
    if len(made.children) != len(children):
        held = f"{len(children)} parts, not {len(made.children)}"
        raise DamagedFile(f"{what} has {held}.", remedy=remedy)
    return made
