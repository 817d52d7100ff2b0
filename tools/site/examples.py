"""Examples of docstrings as code: they get the heading that the reader of docstrings knows.

The sources write ``Example:``, which is read as a note whose text begins with ``>>>``: three nested
quotations. ``Examples:`` is read as code with its output.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

_GRIFFE: Final[Any] = import_module("griffe")  # Installed with mkdocs; untyped here.
_HEADING: Final = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class ExamplesAsCode(_GRIFFE.Extension):
    """Renames the heading of every docstring that has it."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of one object when it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = _HEADING.sub(r"\1Examples:", obj.docstring.value)


__all__ = ["ExamplesAsCode"]
