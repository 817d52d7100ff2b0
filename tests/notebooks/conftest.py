"""All notebooks run in the one kernel of `tests.conftest`.

That each one runs in a kernel of its own is shown by the test in the browser, where every notebook
is opened by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")

from jupyter_client.manager import KernelManager

from tests.notebooks.running import Shown, executed, notebook


@pytest.fixture
def show(kernel: KernelManager, tmp_path: Path) -> Iterator[Callable[[str], Shown]]:
    """Run a notebook, given by its name, and give what it shows; it is exported at the end."""
    run: list[Shown] = []

    def one(stem: str) -> Shown:
        run.append(executed(notebook(stem), tmp_path, kernel))
        return run[-1]

    yield one
    for shown in run:
        try:
            shown.export(tmp_path)
        finally:
            shown.close()
