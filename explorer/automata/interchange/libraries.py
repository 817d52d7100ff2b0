"""Imports of the optional libraries with which machines are exchanged.

pynini has wheels for Linux x86-64 only; interegular is required on the same platforms. Only the
exchange of machines needs them; see `docs/decisions/0001`.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from explorer.errors import MissingDependency

REMEDIES: Final = {
    "pynini": "Install it: pip install pynini on Linux x86-64, and conda install -c conda-forge "
    "pynini there, on macOS and on ARM Linux; there is none for Windows but in WSL.",
    "interegular": "Install it: pip install interegular.",
}
"""How to install each library, by its name."""


def installed(name: str, use: str) -> Any:
    """A library for exchanging machines.

    Args:
        name: ``pynini``, ``interegular``, or a module of theirs.
        use: The use that needs it, as the subject of a sentence.

    Raises:
        MissingDependency: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = name.split(".")[0]
        raise MissingDependency(
            f"{use} needs the library {missing!r}, which is not installed.",
            remedy=REMEDIES[missing],
            evidence={"library": missing},
        ) from error
