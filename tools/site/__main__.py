"""``python -m tools.site``: gather the pages, execute the notebooks, build the site, check it."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from jupyter_client.manager import KernelManager

from tools.site import gallery
from tools.site.config import configuration, write_configuration
from tools.site.gallery import REPLAYS, gallery_page, write_replay
from tools.site.lessons import lesson_page, running_kernel, sources_hash, unrun, with_outputs
from tools.site.links import faults
from tools.site.marked import as_mkdocs_reads
from tools.site.pages import COURSE, ROOT, pages, relinked
from tools.site.reference import reference_pages
from tools.site.slides import LECTURE, slides_page
from tools.site.words import GLOSSARY, glossary, with_words


def main() -> int:
    """Build the site and check it.

    Returns:
        0, or 1 if mkdocs had a warning or a page has a fault.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "site", help="default build/site"
    )
    parser.add_argument(
        "--unrun", action="store_true", help="show the lessons without their results, in seconds"
    )
    asked = parser.parse_args()
    folder: Path = asked.folder.resolve()
    stage, target, kept = folder / "pages", folder / "html", folder / "kept"
    for old in (stage, target):
        shutil.rmtree(old, ignore_errors=True)
    began = time.perf_counter()
    places = pages()
    stage_texts(stage, places)
    said = [f"{len(places)} files gathered"]
    state = sources_hash()
    executed = stage_lessons(stage, places, None if asked.unrun else kept, state)
    said.append(f"{executed} notebooks executed, {_since(began)}")
    stage_gallery(stage, kept, state)
    said.append(f"{len(REPLAYS)} replays, {_since(began)}")
    for place, text in reference_pages().items():
        _write(stage / place, text)
    shutil.copy(Path(__file__).parent / "site.css", stage / "site.css")
    files = [path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file()]
    write_configuration(configuration(files, stage, target), folder / "mkdocs.yml")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(folder / "mkdocs.yml")],
        cwd=ROOT,
        # The theme prints on every build that a successor exists; decision 108 is about that.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    said.append(f"built, {_since(began)}")
    if built.returncode:
        return 1
    found = faults(target)
    for fault in found:
        print(fault, file=sys.stderr)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    count = sum(1 for _ in target.rglob("*.html"))
    print("; ".join(said))
    print(f"{count} pages, {size / 1e6:.1f} MB, {len(found)} faults: {target / 'index.html'}")
    return 1 if found else 0


def stage_texts(stage: Path, places: dict[str, str], root: Path = ROOT) -> None:
    """Copy the pages that are files, with their links rewritten.

    Args:
        stage: The folder for the pages.
        places: Every file and its place.
        root: The repository.
    """
    for source, place in places.items():
        if source.endswith(".ipynb"):
            continue
        if source.endswith(".md"):
            text = relinked((root / source).read_text("utf-8"), source, places, root)
            _write(stage / place, as_mkdocs_reads(text))
        else:
            (stage / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / source, stage / place)


def stage_lessons(
    stage: Path, places: dict[str, str], kept: Path | None, state: str, root: Path = ROOT
) -> int:
    """Write the pages of the notebooks, executed unless `kept` is ``None``.

    Args:
        stage: The folder for the pages.
        places: Every file and its place.
        kept: The folder in which executed notebooks are kept from build to build.
        state: A hash of everything that determines their outputs.
        root: The repository.

    Returns:
        The number of notebooks that had to be executed.
    """
    executed, known = 0, glossary(root)
    with ExitStack() as stack:

        @cache
        def kernel() -> KernelManager:
            assert kept is not None
            return stack.enter_context(running_kernel(kept / "run"))

        for source, place in places.items():
            if not source.endswith(".ipynb"):
                continue
            path = root / source
            key = hashlib.sha256(state.encode() + path.read_bytes()).hexdigest()[:24]

            def relink(cell: str, source: str = source) -> str:
                led = relinked(cell, source, places, root)
                return with_words(led, known, f"../{places[GLOSSARY]}")

            replays: dict[str, Path] = {}
            if kept is None:
                shown = unrun(path)
            else:
                before = kept / key / path.name
                executed += not before.is_file()
                shown = with_outputs(path, before, kernel)
                replays = {page.stem: page for page in sorted(before.parent.glob("*.html"))}
            text, pictures = lesson_page(shown, path.stem, relink, replays)
            for name, page in replays.items():
                _write(stage / COURSE / path.stem / f"{name}.html", page.read_text("utf-8"))
            if replays and path.name == LECTURE.name:
                texts = {name: page.read_text("utf-8") for name, page in replays.items()}
                _write(stage / COURSE / path.stem / "slides.html", slides_page(shown, texts))
                led = f'<a href="{path.stem}/slides.html" class="md-button">Slides</a>'
                text = text.replace("\n\n", f"\n\n{led}\n\n", 1)
            _write(stage / place, as_mkdocs_reads(text))
            for name, picture in pictures.items():
                _write(stage / COURSE / name, picture)
    return executed


def stage_gallery(stage: Path, kept: Path, state: str) -> None:
    """Write the replays, or copy those of an earlier build, and the page that names them.

    Args:
        stage: The folder for the pages.
        kept: The folder in which replays are kept from build to build.
        state: A hash of everything that determines their content.
    """
    source = Path(gallery.__file__).read_bytes()
    folder = kept / hashlib.sha256(state.encode() + source).hexdigest()[:24]
    written: dict[str, str] = {}
    for replay in REPLAYS:
        text = folder / f"{replay.name}.txt"
        if not text.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            text.write_text(write_replay(replay, folder), encoding="utf-8")
        written[replay.name] = text.read_text("utf-8")
        for file in (f"{replay.name}.html", f"{replay.name}.svg"):
            _write(stage / "gallery" / file, (folder / file).read_text("utf-8"))
    _write(stage / "gallery" / "index.md", gallery_page(written))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
