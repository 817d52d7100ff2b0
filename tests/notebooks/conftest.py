"""One kernel for all notebooks: importing the libraries takes longer than a cell.

Between two notebooks all variables go. That each one runs in a kernel of its own is shown by the
test in the browser, where every notebook is opened by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")

from jupyter_client.manager import KernelManager

from tests.notebooks.running import Shown, executed, notebook


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    folder = tmp_path_factory.mktemp("kernel")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
            patch.setenv(f"JUPYTER_{name}", str(folder / name.lower()))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(cwd=str(folder))
        yield manager
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@pytest.fixture
def show(kernel: KernelManager, tmp_path: Path) -> Iterator[Callable[[str], Shown]]:
    """Run a notebook, given by its name, and give what it shows."""
    run: list[Shown] = []

    def one(stem: str) -> Shown:
        run.append(executed(notebook(stem), tmp_path, kernel))
        return run[-1]

    yield one
    for shown in run:
        shown.close()
