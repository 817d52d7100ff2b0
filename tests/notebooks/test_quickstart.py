"""The course runs from top to bottom, and shows what it says it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's is read or written."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def executed(path: Path, folder: Path) -> dict[str, Any]:
    """The cells by their id, after every one has run without an error."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return {cell.id: cell for cell in notebook.cells}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert [cell.id for cell in cells if cell.cell_type == "code" and cell.outputs] == []


def test_quickstart(tmp_path: Path) -> None:
    path = next(path for path in NOTEBOOKS if path.stem == "quickstart")
    cells = executed(path, tmp_path)
    code = [name for name, cell in cells.items() if cell.cell_type == "code"]
    # The toy first, then a real model; each with its collapsed output.
    assert code[:2] == ["toy", "tiny"]
    for name in code[:2]:
        widget, still = cells[name].outputs
        assert "application/vnd.jupyter.widget-view+json" in widget.data
        assert "lmx-still" in still.data["text/html"]
    # The last cell moved the toy, and printed a date that a model wrote.
    assert "Position 1 after 3 bytes: foo" in cells["toy"].outputs[1].data["text/plain"]
    first, second = cells["code"].outputs[0].text.splitlines()
    assert first == "foo → 3 tokens allowed"
    date = explorer.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
    assert date.accepts(second)
