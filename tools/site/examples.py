"""Examples of docstrings as code: they get the heading that the reader of docstrings knows.

The sources write ``Example:``, which is read as a note whose text begins with ``>>>``: three nested
quotations. ``Examples:`` is read as code with its output.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

# Installed with mkdocs; untyped here. Without it the module can be read, but no site is built.
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
