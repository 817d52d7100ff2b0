"""Libraries that need not be installed: a test that touches one is skipped where it is missing."""

from __future__ import annotations

from typing import Any

import pytest


class Optional:
    """A library, imported by the first test that asks it for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(pytest.importorskip(self._name), attribute)


pynini: Any = Optional("pynini")
interegular: Any = Optional("interegular")
interegular_fsm: Any = Optional("interegular.fsm")
