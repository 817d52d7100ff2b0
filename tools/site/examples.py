"""Examples of docstrings as code: they get the heading that mkdocstrings recognises.

The sources write ``Example:``, which mkdocstrings reads as a note, and its ``>>>`` as three nested
quotations. It reads ``Examples:`` as code with its output.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

# Installed with mkdocs, without types. Without it this module can be imported, but builds no site.
_GRIFFE: Final[Any] = import_module("griffe") if find_spec("griffe") else None
_EXTENSION: Final[Any] = _GRIFFE.Extension if _GRIFFE else object
_HEADING: Final = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class ExamplesAsCode(_EXTENSION):
    """Renames the heading of every docstring that has it."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of one object when it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = _HEADING.sub(r"\1Examples:", obj.docstring.value)


__all__ = ["ExamplesAsCode"]
