"""``python -m tools.site.slides``: the lesson for a class as one page of slides.

The page is one file and fetches nothing. Each slide has the text and the pictures of its cells,
without code. The answer to a question is folded, and an explorer is its replay, which can be
stepped. The arrow keys and the space bar turn the slides.
"""

from __future__ import annotations

import argparse
import base64
import copy
import html
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import markdown

from tools.site.lessons import lesson_page, running_kernel, with_outputs
from tools.site.marked import as_mkdocs_reads
from tools.site.pages import ROOT

LECTURE: Final = ROOT / "notebooks" / "00_lecture.ipynb"
_HERE: Final = Path(__file__).parent
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE: Final = re.compile(r'<details class="code".*?</details>', re.DOTALL)
_PICTURE: Final = re.compile(r'<figure[^>]*><img src="([^"]*)" alt="([^"]*)"[^>]*></figure>')
_FRAME: Final = re.compile(r'<g transform="translate\(10 (\d+)\)">')
_SIZE: Final = re.compile(r'viewBox="0 0 (\S+) \S+" width="\S+" height="\S+"')


def slides_page(notebook: Any, replays: Mapping[str, str]) -> str:
    """The page of a lesson whose cells are marked as slides.

    Args:
        notebook: The executed notebook.
        replays: The page of each explorer, by the id of its cell.
    """
    slides: list[str] = []
    for cell in notebook.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        if cell.id == "next" or "course.check(" in str(cell.source):
            continue  # What to read next, and the answer to homework, are for the notebook.
        part = _part(notebook, cell, replays)
        if kind == "slide" or cell.id in replays:  # An explorer needs all of the screen.
            slides.append(part)
        elif kind == "fragment":
            slides[-1] += f'<div class="later">{part}</div>'
        else:
            slides[-1] += part
    body = "".join(f"<section>{slide}</section>\n" for slide in slides)
    title = str(notebook.cells[0].source).splitlines()[0].removeprefix("# ")
    shell = (_HERE / "slides.html").read_text("utf-8")
    return shell.replace("<!-- title -->", html.escape(title)).replace("<!-- slides -->", body)


def _part(notebook: Any, cell: Any, replays: Mapping[str, str]) -> str:
    """What one cell shows, as HTML."""
    alone = copy.copy(notebook)
    alone.cells = [copy.deepcopy(cell)]
    if cell.cell_type == "code":
        alone.cells[0].metadata["jupyter"] = {"source_hidden": True}
    text, pictures = lesson_page(alone, "replay", _unlinked, replays)
    told = markdown.markdown(
        as_mkdocs_reads(_CODE.sub("", text)), extensions=["tables", "fenced_code", "md_in_html"]
    )
    if cell.id in replays:  # Its own picture would only repeat the first step.
        return f'<iframe title="The explorer" srcdoc="{html.escape(replays[cell.id])}"></iframe>'
    return _PICTURE.sub(lambda found: _shown(pictures[found[1]], found[2]), told)


def _shown(picture: str, said: str) -> str:
    """A picture with its words; a film as its frames, of which the page shows one."""
    tops = [int(top) for top in _FRAME.findall(picture)]
    if len(tops) < 3:
        return f'<figure><img src="{_inline(picture)}" alt="{said}"></figure>'
    high = tops[1] - tops[0]
    frames = [_SIZE.sub(rf'viewBox="0 {top - 18} \1 {high}"', picture, count=1) for top in tops]
    shown = [
        f'<figure><img src="{_inline(frame)}" alt="{said}; frame {number}"></figure>'
        for number, frame in enumerate(frames, 1)
    ]
    return f'<div class="film">{"".join(shown)}</div>'


def _unlinked(text: str) -> str:
    return _LINK.sub(r"\1", text)


def _inline(picture: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"


def main() -> int:
    """Execute the lesson and write its slides.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.site.slides", description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "lecture.html")
    place: Path = parser.parse_args().to.resolve()
    with tempfile.TemporaryDirectory() as folder, running_kernel(Path(folder) / "run") as kernel:
        kept = Path(folder) / "kept" / LECTURE.name
        notebook = with_outputs(LECTURE, kept, lambda: kernel)
        replays = {page.stem: page.read_text("utf-8") for page in kept.parent.glob("*.html")}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(slides_page(notebook, replays), encoding="utf-8")
    print(place)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

__all__ = ["LECTURE", "slides_page"]
