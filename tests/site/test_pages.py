"""The pages of the site: every file has its place, every link its page, every page its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import widgets
from tools.site.config import navigation
from tools.site.marked import as_mkdocs_reads, title_of
from tools.site.pages import ROOT, BrokenLink, pages, relinked
from tools.site.reference import codes_of_texts, exported, imported_names, reference_pages

PLACES = pages()


def texts_of(source: str) -> list[str]:
    """The Markdown of a page: a file's whole text, or the cells of text of a notebook."""
    text = (ROOT / source).read_text("utf-8")
    if not source.endswith(".ipynb"):
        return [text]
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


@pytest.mark.parametrize("source", [one for one in PLACES if one.endswith((".md", ".ipynb"))])
def test_every_link_of_a_page_leads_to_a_page(source: str) -> None:
    for text in texts_of(source):
        relinked(text, source, PLACES)
    assert title_of("\n".join(texts_of(source)))


PAIR = {"docs/a.md": "a.md", "notebooks/01_b.ipynb": "course/01_b.md", "README.md": "tour.md"}


@pytest.mark.parametrize(
    ("text", "source", "led"),
    [
        ("see [b](../notebooks/01_b.ipynb)", "docs/a.md", "see [b](course/01_b.md)"),
        ("see [a](../docs/a.md#x)", "notebooks/01_b.ipynb", "see [a](../a.md#x)"),
        ("see [a](docs/a.md)", "README.md", "see [a](a.md)"),
        ("see `01_b.ipynb`", "docs/a.md", "see [`01_b.ipynb`](course/01_b.md)"),
        ("[x](https://a.example/b.md) [y](#z)", "docs/a.md", None),
        ("```text\n[b](../nowhere.md) `01_b.ipynb`\n```\n", "docs/a.md", None),
    ],
    ids=["up", "down", "readme", "named", "elsewhere", "fenced"],
)
def test_a_link_is_led_from_page_to_page(text: str, source: str, led: str | None) -> None:
    assert relinked(text, source, PAIR) == (led or text)


def test_a_link_to_what_is_not_on_the_site_is_an_error() -> None:
    with pytest.raises(BrokenLink, match=r"docs/a\.md links to \.\./explorer/alphabet\.py"):
        relinked("[x](../explorer/alphabet.py)", "docs/a.md", PAIR)
    with pytest.raises(BrokenLink):
        relinked('<img src="images/none.png">', "docs/a.md", PAIR)


def test_markdown_of_github_becomes_that_of_mkdocs() -> None:
    assert as_mkdocs_reads("words:\n- a\n- b\n  c\n- d\n") == "words:\n\n- a\n- b\n  c\n- d\n"
    assert as_mkdocs_reads("| `a \\| b` | c \\| d |\n") == "| `a | b` | c \\| d |\n"
    # Braces at the end of a cell would be taken for attributes.
    assert as_mkdocs_reads("| {f} | `{oo}` {a}\n{f}\n") == "| &#123;f} | `{oo}` &#123;a}\n{f}\n"
    fenced = "```text\nwords\n- a\n| `a \\| b` |\n```\n"
    assert as_mkdocs_reads(fenced) == fenced


def flat(entries: object) -> list[str]:
    """The pages of a navigation, in its order."""
    if isinstance(entries, str):
        return [entries]
    inside: Any = entries.values() if isinstance(entries, dict) else entries
    return [page for entry in inside for page in flat(entry)]


def test_the_navigation_names_every_page_once() -> None:
    places = [*PLACES.values(), *reference_pages(), "gallery/index.md"]
    wanted = sorted(place for place in places if place.endswith(".md"))
    assert sorted(flat(navigation(places))) == wanted
    # A page that somebody adds to `docs` finds its place by itself.
    assert "servers.md" in flat(navigation([*places, "servers.md"]))
    order = flat(navigation(places))
    assert order[0] == "index.md"
    assert order.index("course/README.md") < order.index("course/01_tokens_are_bytes.md")


def test_the_reference_has_every_public_name() -> None:
    made = reference_pages()
    for package, module in (("explorer", explorer), ("widgets", widgets)):
        names = exported(package)
        assert sorted(names) == sorted(module.__all__)
        for name, place in names.items():
            assert place.startswith(("explorer", "widgets"))
            assert f'heading: "{package}.{name}"' in made[f"reference/{package}.md"]


def test_the_reference_has_what_the_texts_import() -> None:
    imports = imported_names(codes_of_texts())
    assert "sample_conditional" in imports["explorer.decoding.probability"]
    text = "\n".join(reference_pages().values())
    for module, names in imports.items():
        for name in names:
            is_module = (ROOT / Path(*module.split("."), f"{name}.py")).is_file()
            assert is_module or f"::: {module}.{name}\n" in text, f"{module}.{name}"


def test_imports_are_read_from_code() -> None:
    codes = [
        "from explorer.a.b import c, d\nfrom explorer import x",
        "from numpy.z import y",
        "% no",
    ]
    assert imported_names(codes) == {"explorer.a.b": {"c", "d"}}
