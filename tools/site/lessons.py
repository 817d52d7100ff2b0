"""Notebooks as pages: executed in a real kernel, with text, code and the outputs of each cell.

A page shows what the notebook shows without a kernel: printed text, pictures as SVG with their
words as alternative text, and for an explorer its still with a link to its replay. The answer to a
question is folded, and so is the code that a notebook hides. An executed notebook is kept beside
the build under a hash of the notebook and of every source of the package, so that a build after no
change executes nothing. An error in a cell ends the build.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tools.site.pages import ROOT
from widgets.export import BELOW
from widgets.lessons.prediction import FOLDED, said_html
from widgets.lessons.rows import LessonTable

_FORMAT: Final[Any] = nbformat  # Untyped.

PATIENCE: Final = 600
"""The most seconds that a cell may take; generous, for a busy machine."""

REPLAY: Final = """
try:
    {name}.session.run(max_tokens=24)
except __import__("explorer").errors.ExplorerError:
    pass  # The record of a run from elsewhere has no model; its steps are there already.
{name}.session.jump(0)
{name}.to_html({path!r});
"""
"""The code that writes a page on which an explorer can be stepped without a kernel."""

LONG: Final = 90
"""The length of a printed line from which the text is wrapped instead of scrolled."""

SVG: Final = "image/svg+xml"
_TITLE: Final = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_STILL: Final = re.compile(
    r'class="lmx-still".*?src="data:image/svg\+xml[^",]*,([^"]*)"', re.DOTALL
)
_COLOURED: Final = re.compile(r"\x1b\[[0-9;]*m")
_CELL: Final = re.compile(r'File "[^"\n]*ipykernel_[^"\n]*"')
_FOLDERS: Final = re.compile(r'File "[^"\n]*[/\\]([^"/\\\n]+[/\\][^"/\\\n]+\.py)"')


def sources_hash(root: Path = ROOT) -> str:
    """A hash of every file that determines the outputs of a notebook."""
    found = hashlib.sha256()
    for package in ("explorer", "widgets"):
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(path.relative_to(root).as_posix().encode())
                found.update(path.read_bytes())
    return found.hexdigest()


@contextmanager
def running_kernel(folder: Path) -> Generator[KernelManager]:
    """A context with one kernel for all notebooks; the kernel is shut down at the end.

    Args:
        folder: Its working folder; made if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder))
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def unrun(path: Path) -> Any:
    """A notebook as it is stored, without outputs."""
    return _FORMAT.read(path, as_version=4)


def with_outputs(path: Path, kept: Path, manager: Callable[[], KernelManager]) -> Any:
    """A notebook with the outputs of its cells: as kept from an earlier build, or executed now.

    Args:
        path: The notebook, stored without outputs.
        kept: The file of the executed notebook.
        manager: Returns the kernel, which is started only if one is needed.

    Raises:
        CellExecutionError: A cell failed.
    """
    if kept.is_file():
        return _FORMAT.read(kept, as_version=4)
    made = unrun(path)
    # A fresh start, so that no variable of the previous notebook is left.
    reset: Any = _FORMAT.v4.new_code_cell("%reset -f", id="reset")
    made.cells.insert(0, reset)
    client = NotebookClient(made, km=manager(), timeout=PATIENCE)
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        client.execute()
        write_replays(client, kept.parent)
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
    del made.cells[0]
    kept.write_text(_FORMAT.writes(made), encoding="utf-8")
    return made


def write_replays(client: NotebookClient, folder: Path) -> list[str]:
    """Write the page of each explorer of a notebook that was executed.

    Returns:
        The cells whose page is in the folder.

    Raises:
        CellExecutionError: A page could not be written.
    """
    made: Any = client.nb
    stills = [cell for cell in made.cells if _is_still(cell)]
    for cell in stills:
        name = cell.source.rstrip().splitlines()[-1]
        source = REPLAY.format(name=name, path=str(folder / f"{cell.id}.html"))
        made.cells.append(_FORMAT.v4.new_code_cell(source))
        client.execute_cell(made.cells[-1], len(made.cells) - 1)
        del made.cells[-1]
    return [str(cell.id) for cell in stills]


def _is_still(cell: Any) -> bool:
    """Whether a cell ends with an explorer."""
    return cell.cell_type == "code" and any(
        _STILL.search(str(output.get("data", {}).get("text/html", ""))) for output in cell.outputs
    )


def lesson_page(
    notebook: Any, folder: str, relink: Callable[[str], str], replays: Collection[str] = ()
) -> tuple[str, dict[str, str]]:
    """A notebook as Markdown, and the pictures that the page shows.

    Args:
        notebook: The executed notebook.
        folder: The folder of the pictures, from the page.
        relink: Rewrites the links of a cell of text.
        replays: The cells whose explorer has a page in the folder, on which it can be stepped.

    Returns:
        The page, and the text of each picture by its place from the page.
    """
    parts: list[str] = []
    pictures: dict[str, str] = {}
    for cell in notebook.cells:
        source = str(cell.source).strip("\n")
        if cell.cell_type == "markdown":
            parts.append(relink(source))
            continue
        code = f"```python\n{source}\n```"
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        outputs = [
            _shown(output, f"{folder}/{cell.id}-{number}.svg", pictures)
            for number, output in enumerate(cell.outputs)
        ]
        parts += [code, *outputs]
        if hidden:  # Below its output: a reader wants the picture, or the question, first.
            parts[-len(outputs) - 1 :] = [*outputs, _details("The code of this cell", code, "code")]
        if cell.id in replays:
            parts.append(
                f'<a href="{folder}/{cell.id}.html" class="md-button">Step this explorer here</a> '
                "(the picture above is a still)"
            )
    return "\n\n".join(part for part in parts if part) + "\n", pictures


def _shown(output: Any, place: str, pictures: dict[str, str]) -> str:
    """One output of a cell as Markdown; a picture is added to those of the page."""
    if output.output_type == "stream":
        # Only progress bars are written to stderr.
        return "" if output.name == "stderr" else _printed(str(output.text))
    if FOLDED in output.data:
        return _folded(output.data[FOLDED], place, pictures)
    picture = _picture(output.data)
    if picture is None:
        said = str(output.data.get("text/plain", ""))
        table = str(output.data.get("text/html", ""))
        if table.startswith("<table>"):
            return _tabled(table)
        # The widget's own output names the one below, where its picture is.
        return "" if said == BELOW else _printed(said)
    return _pictured(picture, place, pictures)


def _folded(kept: Any, place: str, pictures: dict[str, str]) -> str:
    """The answer to a question with its outputs, to be unfolded after a guess."""
    parts = [f'<div markdown="0">{said_html(str(kept["said"]))}</div>']
    for number, part in enumerate(kept["parts"]):
        if "svg" in part:
            parts.append(_pictured(part["svg"], f"{place[:-4]}-{number}.svg", pictures))
        elif "rows" in part:
            shown = LessonTable(part["caption"], part["head"], part["rows"])
            parts.append(_tabled(shown.to_mimebundle()["text/html"]))
        else:
            parts.append(_printed(str(part["text"])))
    return _details("The answer: make a guess first", "\n\n".join(parts))


def _details(summary: str, inside: str, kind: str = "") -> str:
    begin = f'<details class="{kind}" markdown="1">' if kind else '<details markdown="1">'
    return f"{begin}\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _tabled(table: str) -> str:
    """A table of a lesson; a wide one may scroll sideways, also by the keyboard."""
    plain = re.sub(r' style="[^"]*"', "", table)
    return f'<div class="shown" tabindex="0" markdown="0">{plain}</div>'


def _pictured(picture: str, place: str, pictures: dict[str, str]) -> str:
    """A picture with its words; it is added to those of the page."""
    pictures[place] = picture
    words = _TITLE.search(picture)
    if words is None:
        raise ValueError(f"The picture {place} has no title, so it has no alternative text.")
    said = html.escape(html.unescape(words[1]).strip(), quote=True)
    # A wide picture may scroll sideways, also by the keyboard.
    return (
        f'<figure class="shown" tabindex="0" markdown="0"><img src="{place}" alt="{said}" '
        f'loading="lazy"></figure>'
    )


def _picture(data: Any) -> str | None:
    """The SVG of an output: its own, or that of the still below an explorer."""
    if SVG in data:
        return str(data[SVG])
    still = _STILL.search(str(data.get("text/html", "")))
    return None if still is None else unquote(html.unescape(still[1]))


def _printed(text: str) -> str:
    text = _COLOURED.sub("", text).rstrip("\n")
    # A traceback names files of the machine that built the site; the last folder is enough.
    text = _FOLDERS.sub(r'File "\1"', _CELL.sub('File "this cell"', text))
    if max(map(len, text.splitlines()), default=0) > LONG:
        return f'<pre class="said" markdown="0">{html.escape(text)}</pre>'
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}" if text else ""


__all__ = ["lesson_page", "running_kernel", "sources_hash", "with_outputs", "write_replays"]
