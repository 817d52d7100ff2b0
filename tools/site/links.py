"""The check of the built pages: every link inside the site leads to a file and an anchor in it.

It reads the HTML, as a browser does, so it also sees what templates and extensions wrote. Three
things are faults: a link to a file or an anchor that does not exist; a script, a style sheet, a
font or a picture from elsewhere; and a picture without alternative text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_FETCHED: Final = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src"}
_STYLED: Final = re.compile(r"(?:@import\s+[\"']|url\(\s*[\"']?)([^\"')\s]+)")
_NOT_FETCHED: Final = {"canonical", "next", "prev", "edit", "alternate"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a":
            if "name" in given:
                self.anchors.add(given["name"])
            if "href" in given:
                self.links.append(given["href"])
        elif tag == "link" and "href" in given:
            relation = set(given.get("rel", "").split())
            (self.links if relation & _NOT_FETCHED else self.fetched).append(given["href"])
        elif tag in _FETCHED and given.get(_FETCHED[tag]):
            self.fetched.append(given[_FETCHED[tag]])
        if tag == "img" and not given.get("alt", "").strip():
            self.silent.append(given.get("src", ""))


def faults(folder: Path) -> list[str]:
    """Every fault of the pages in a folder, each as one sentence.

    Args:
        folder: The built site.
    """
    pages: dict[str, _Page] = {}
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".html":
            pages[name] = _Page()
            pages[name].feed(path.read_text(encoding="utf-8"))
        elif path.suffix == ".css":
            found += [
                f"{name} fetches {target} from elsewhere."
                for target in _STYLED.findall(path.read_text(encoding="utf-8"))
                if _is_elsewhere(target)
            ]
    for name, page in pages.items():
        found += [
            f"{name} fetches {one} from elsewhere." for one in page.fetched if _is_elsewhere(one)
        ]
        found += [f"{name} shows {one} without alternative text." for one in page.silent]
        for target in [*page.links, *page.fetched]:
            found += _lost(folder, name, target, pages)
    return found


def _is_elsewhere(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def _lost(folder: Path, name: str, target: str, pages: Mapping[str, _Page]) -> list[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return []
    path = unquote(parts.path)
    if path.startswith("/"):
        # The page for a missing address may be shown at any address, so it links from the root.
        wanted = path.lstrip("/") if name == "404.html" else None
    else:
        wanted = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if wanted is None or wanted.startswith(".."):
        return [f"{name} links to {target}, which is outside of the site."]
    if (folder / wanted).is_dir():
        wanted = os.path.normpath(f"{wanted}/index.html")
    if not (folder / wanted).is_file():
        return [f"{name} links to {target}, which is not there."]
    anchor = unquote(parts.fragment)
    if anchor and wanted in pages and anchor not in pages[wanted].anchors:
        return [f"{name} links to {target}, but {wanted} has no place of that name."]
    return []


__all__ = ["faults"]
