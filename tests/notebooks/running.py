"""Notebooks run in a real kernel, and the kernel is asked for the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tools.site.lessons import lesson_page, write_replays
from tools.site.slides import slides_page
from widgets.lessons.prediction import FOLDED, WAITING

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PICTURE = {"image/svg+xml", "text/plain"}
WIDGET = "application/vnd.jupyter.widget-view+json"
PATIENCE = 300  # Seconds; for a busy machine, never part of a result.


def course() -> list[Path]:
    """The notebooks, in reading order."""
    return sorted(FOLDER.glob("*.ipynb"))


def notebook(stem: str) -> Path:
    return next(path for path in course() if path.stem == stem)


class Shown:
    """A notebook after all of its cells have run.

    Args:
        client: What ran it; its kernel still has the notebook's variables.
    """

    def __init__(self, client: NotebookClient) -> None:
        self._client = client
        self.cells = {cell.id: cell for cell in client.nb.cells}

    def value(self, expression: str) -> Any:
        """The value of an expression over the notebook's variables, by way of JSON."""
        asked = nbformat.v4.new_code_cell(f"print(__import__('json').dumps({expression}))")
        self._client.nb.cells.append(asked)
        self._client.execute_cell(asked, len(self._client.nb.cells) - 1)
        return json.loads(asked.outputs[0].text)

    def export(self, folder: Path) -> None:
        """Write what the site shows of it: its page, its pictures, and a page of each explorer.

        What it changes, such as the place of a session, is not changed back.
        """
        cells = write_replays(self._client, folder)
        for cell in cells:
            assert "<html" in (folder / f"{cell}.html").read_text("utf-8"), cell
        asked = self._client.nb.cells
        self._client.nb.cells = [cell for cell in asked if cell.id in self.cells][1:]
        page, pictures = lesson_page(self._client.nb, "lesson", str, cells)
        assert page.startswith("# ") and all(f"lesson/{cell}.html" in page for cell in cells)
        assert all("<title>" in picture for picture in pictures.values())

    def slides(self, folder: Path) -> str:
        """The page of slides, with the replays in it."""
        cells = write_replays(self._client, folder)
        replays = {cell: (folder / f"{cell}.html").read_text("utf-8") for cell in cells}
        made = nbformat.from_dict(self._client.nb)
        made.cells = [cell for cell in made.cells if cell.id in self.cells][1:]
        return slides_page(made, replays)

    def close(self) -> None:
        """Disconnect from the kernel, which goes on running."""
        if self._client.kc is not None:
            self._client.kc.stop_channels()

    def folded(self, cell: str) -> Any:
        """The result that a cell's question hides until the guess; ``None`` without one."""
        for one in self.cells[cell].outputs:
            if FOLDED in one.get("data", {}):
                assert one.data["text/plain"] == WAITING and WIDGET in one.data
                return one.data[FOLDED]
        return None

    def printed(self, cell: str) -> str:
        """The printed text of a cell, or the text that its question hides."""
        outputs = self.cells[cell].outputs
        streams = [one for one in outputs if one.output_type == "stream"]
        said = "".join(one.text for one in streams if one.name == "stdout")
        folded = self.folded(cell)
        if folded is not None:
            texts = [part["text"] for part in folded["parts"] if set(part) == {"text"}]
            said += "\n".join([folded["said"], *texts])
        return said

    def plain(self, cell: str) -> str:
        """The last output of a cell as text, also one that a question keeps."""
        folded = self.folded(cell)
        if folded is not None:
            return folded["parts"][-1]["text"]
        return next(
            one.data["text/plain"]
            for one in reversed(self.cells[cell].outputs)
            if one.output_type != "stream"
        )

    def kinds(self, cell: str) -> set[str]:
        """The media types of everything that a cell shows."""
        outputs = self.cells[cell].outputs
        kinds = {kind for one in outputs if one.output_type != "stream" for kind in one.data}
        return kinds | ({"image/svg+xml"} if self.svg(cell) else set())

    def svg(self, cell: str) -> list[str]:
        """The pictures of a cell, also those that a question keeps."""
        outputs = self.cells[cell].outputs
        svgs = [
            one.data["image/svg+xml"] for one in outputs if "image/svg+xml" in one.get("data", {})
        ]
        return svgs + [
            part["svg"] for part in (self.folded(cell) or {"parts": []})["parts"] if "svg" in part
        ]


def executed(path: Path, folder: Path, manager: KernelManager) -> Shown:
    """Run every cell of a notebook; the first error ends it and is raised."""
    made = nbformat.read(path, as_version=4)
    # The notebook before was another one: none of its variables is left.
    made.cells.insert(0, nbformat.v4.new_code_cell("%reset -f", id="reset"))
    client = NotebookClient(
        made, km=manager, timeout=PATIENCE, resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute()
    except BaseException:
        Shown(client).close()
        raise
    return Shown(client)


def pictures(shown: Shown, *cells: str) -> None:
    """Each cell shows a picture with a title for people who cannot see it."""
    for cell in cells:
        assert shown.kinds(cell) >= PICTURE, cell
        (svg,) = shown.svg(cell)
        assert 'role="img"' in svg and "<title>" in svg, cell


def widget(shown: Shown, cell: str = "widget") -> str:
    """The text of the still of a cell that shows the explorer."""
    assert WIDGET in shown.kinds(cell)
    return shown.plain(cell)
