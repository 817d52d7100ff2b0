"""The pages of the site: the file of the repository behind each, and its links rewritten.

The site has no texts of its own but for its first page: a page is a file that one can also read in
the repository. A link from one such file to another is rewritten to lead from page to page; a link
to a file that is not on the site is an error, because a reader of the site could not follow it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parents[2]

COURSE: Final = "course"
"""The folder of the site for the notebooks."""

_LONE: Final = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE.txt",
    "notebooks/README.md": f"{COURSE}/README.md",
    "explorer/decoding/models/tiny/MODEL_CARD.md": "models/tiny.md",
    "explorer/decoding/models/tiny_sp/MODEL_CARD.md": "models/tiny_sp.md",
    "explorer/decoding/models/tiny_chat/MODEL_CARD.md": "models/tiny_chat.md",
}
_MADE: Final = {
    "docs/gallery/index.md": "gallery/index.md",
    "docs/reference/index.md": "reference/index.md",
}
"""Pages that the build writes; a text may link to them as if they stood in `docs`."""

_LINK: Final = re.compile(r"(\]\(|\b(?:src|href|srcset)=\")([^)\s\"]+)")
_FENCE: Final = re.compile(r"^(```+|~~~+)")
_NOTEBOOK: Final = re.compile(r"(?<![\[`\w])`([\w]+\.ipynb)`(?![`\]])")


class BrokenLink(Exception):
    """A page links to something that is not on the site.

    Args:
        page: The file with the link, from the root of the repository.
        target: Where the link leads.
    """

    def __init__(self, page: str, target: str) -> None:
        super().__init__(
            f"{page} links to {target}, which is not a page of the site. "
            "Correct the link, or name the file in tools/site/pages.py."
        )


def pages(root: Path = ROOT) -> dict[str, str]:
    """Every file that goes to the site, and its place there; both from their roots, with slashes.

    Args:
        root: The repository.
    """
    found = {
        path.relative_to(root).as_posix(): path.relative_to(root / "docs").as_posix()
        for path in sorted((root / "docs").rglob("*"))
        if path.is_file()
    }
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    found |= {f"notebooks/{path.name}": f"{COURSE}/{path.stem}.md" for path in notebooks}
    return found | {source: place for source, place in _LONE.items() if (root / source).is_file()}


def relinked(text: str, source: str, places: Mapping[str, str], root: Path = ROOT) -> str:
    """The text of a page, with its links rewritten to lead to pages of the site.

    Args:
        text: Markdown. Code in fences is left as it is.
        source: The file of the text.
        places: Every file on the site and its place, as `pages` gives them.
        root: The repository.

    Returns:
        The text. A notebook that is named in a code span becomes a link to its page.

    Raises:
        BrokenLink: A relative link leads to a file that is not on the site.
    """
    here = os.path.dirname(places[source])

    def led(found: re.Match[str]) -> str:
        return found[1] + _led(found[2], source, here, places, root)

    def named(found: re.Match[str]) -> str:
        place = places.get(f"notebooks/{found[1]}")
        return found[0] if place is None else f"[{found[0]}]({os.path.relpath(place, here or '.')})"

    return "".join(
        line if fenced else _NOTEBOOK.sub(named, _LINK.sub(led, line))
        for line, fenced in lines_and_fences(text)
    )


def lines_and_fences(text: str) -> Iterator[tuple[str, bool]]:
    """Each line of a Markdown text with its end, and whether it is in a fence or is its border."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and line.startswith(fence) and not line.strip(fence[0] + "\n "):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)


def _led(target: str, source: str, here: str, places: Mapping[str, str], root: Path) -> str:
    parts = urlsplit(target)
    if parts.scheme or not parts.path:
        return target
    wanted = os.path.normpath(os.path.join(os.path.dirname(source), parts.path))
    if (root / wanted).is_dir():
        wanted = f"{wanted}/README.md"
    place = places.get(wanted) or _MADE.get(wanted)
    if place is None:
        raise BrokenLink(source, target)
    led = os.path.relpath(place, here or ".")
    return f"{led}#{parts.fragment}" if parts.fragment else led


__all__ = ["COURSE", "ROOT", "BrokenLink", "lines_and_fences", "pages", "relinked"]
