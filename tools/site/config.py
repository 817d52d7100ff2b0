"""The configuration of mkdocs: theme, reference, and a navigation that is made from the pages.

The site fetches nothing: no fonts, no scripts, no pictures from elsewhere. Every fault that mkdocs
finds is a warning, and a warning ends the build. The theme's plugin for pages that are opened from
a disk is left out, because it fetches a script: from a disk everything works except the search.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.site.pages import COURSE, ROOT

_FIRST: Final = ("index.md", "tour.md")
_GUIDES: Final = (
    "notebook.md",
    "questions.md",
    "papers.md",
    "architecture.md",
    "limits.md",
)
_ROOMS: Final = tuple(f"{folder}/" for folder in (COURSE, "reference", "benchmarks", "decisions"))
_GROUPS: Final = (
    ("Core", "00 01 02 03 04 05 06"),
    ("Formats", "07 08 14"),
    ("Tokenizers", "09"),
    ("Research", "10 11 12 13 15 16"),
)
"""The groups of lessons, by the first two digits of their files, as in `notebooks/README.md`."""
_LAST: Final = ("glossary.md", "overview.md", "contributing.md", "changelog.md")


def navigation(places: Iterable[str]) -> list[dict[str, object] | str]:
    """The pages in reading order; a new page of `docs` is added without being listed here.

    Args:
        places: Every page of the site, from its root.
    """
    pages = {place for place in places if place.endswith(".md")}
    rooms = {
        "Course": _course(_room(pages, COURSE)),
        "Reference": _room(pages, "reference"),
        "Benchmarks": _room(pages, "benchmarks"),
        "Decisions": _room(pages, "decisions"),
    }
    apart = {*_FIRST, *_GUIDES, *_LAST}
    apart |= {page for page in pages if page.startswith(_ROOMS)}
    models = _room(pages, "models")
    others = sorted(pages - apart - set(models) - {"gallery/index.md"})
    guides = [place for place in _GUIDES if place in pages] + others + models
    return [
        {"Start": "index.md"},
        {"Tour": "tour.md"},
        {"Course": rooms["Course"]},
        *(place for place in ("gallery/index.md",) if place in pages),
        {"Guides": guides},
        {"Reference": rooms["Reference"]},
        {"Benchmarks": rooms["Benchmarks"]},
        {"Decisions": rooms["Decisions"]},
        *(_named(place) for place in _LAST if place in pages),
    ]


def _course(pages: list[str]) -> list[object]:
    """The lessons in their groups, each with its number; what is in no group comes at the end."""

    def group(page: str) -> str:
        number = page.removeprefix(f"{COURSE}/")[:2]
        return next((name for name, numbers in _GROUPS if number in numbers.split()), "")

    def shown(page: str) -> dict[str, str]:
        number, _, words = page.removeprefix(f"{COURSE}/").removesuffix(".md").partition("_")
        return {f"{number} {words.replace('_', ' ').capitalize()}": page}

    first = [page for page in pages if page.endswith("README.md")]
    lessons = [page for page in pages if page not in first]
    grouped = [{name: [shown(p) for p in lessons if group(p) == name]} for name, _ in _GROUPS]
    return [*first, *grouped, {"Your own": [shown(p) for p in lessons if not group(p)]}]


def _named(place: str) -> dict[str, object] | str:
    """A page, with a shorter name for the navigation if its heading is not suitable."""
    return {"Overview": place} if place == "overview.md" else place


def configuration(
    places: Iterable[str], stage: Path, target: Path, root: Path = ROOT
) -> dict[str, object]:
    """The configuration of mkdocs.

    Args:
        places: Every file of the site, from its root.
        stage: The folder where those files are.
        target: The folder for the site.
        root: The repository, whose sources the reference reads.
    """
    places = list(places)
    return {
        "site_name": "Constraint explorer",
        "docs_dir": str(stage),
        "site_dir": str(target),
        "strict": True,
        # Links name files, so that pages can be opened from a disk as well as from a server.
        "use_directory_urls": False,
        "nav": navigation(places),
        "validation": dict.fromkeys(
            ("omitted_files", "absolute_links", "unrecognized_links", "anchors"), "warn"
        )
        | {"nav": {"not_found": "warn", "omitted_files": "warn", "absolute_links": "warn"}},
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "navigation.indexes", "navigation.top", "navigation.footer", "content.code.copy",
                "toc.follow",
            ],
            "palette": [
                {
                    "media": f"(prefers-color-scheme: {scheme})", "scheme": name,
                    "primary": "custom", "accent": "custom",
                    "toggle": {"icon": icon, "name": f"to the {other} theme"},
                }
                for scheme, name, icon, other in (
                    ("light", "default", "material/weather-night", "dark"),
                    ("dark", "slate", "material/weather-sunny", "light"),
                )
            ],
        },
        "extra": {"generator": False},
        "extra_css": ["site.css"],
        "plugins": {
            "search": {},
            "mkdocstrings": {
                "handlers": {
                    "python": {
                        "paths": [str(root)],
                        "options": {
                            "extensions": [str(Path(__file__).parent / "examples.py")],
                            "docstring_style": "google",
                            "docstring_options": {"warn_unknown_params": True},
                            "show_source": False,
                            "show_root_heading": True,
                            "show_root_full_path": False,
                            "heading_level": 2,
                            "separate_signature": True,
                            "show_signature_annotations": True,
                            "show_if_no_docstring": True,
                            "members_order": "source",
                            "filters": ["!^_"],
                            "inherited_members": False,
                        },
                    }
                }
            },
        },
        "markdown_extensions": [
            "attr_list", "md_in_html", "tables", "sane_lists", "pymdownx.superfences",
            {"pymdownx.highlight": {"use_pygments": True}},
            {"toc": {"permalink": "¶", "permalink_title": "a link to this heading"}},
        ],
    }  # fmt: skip


def write_configuration(made: dict[str, object], path: Path) -> None:
    """Write the configuration as JSON, which is YAML as well.

    Args:
        made: The configuration.
        path: The file.
    """
    path.write_text(json.dumps(made, indent=1), encoding="utf-8")


def _room(pages: set[str], folder: str) -> list[str]:
    """The pages of a folder, its own page first."""
    inside = (page for page in pages if page.startswith(f"{folder}/"))
    return sorted(inside, key=lambda page: (not page.endswith(("README.md", "index.md")), page))


__all__ = ["configuration", "navigation", "write_configuration"]
