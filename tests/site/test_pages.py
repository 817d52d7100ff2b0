"""The pages of the site: the glossary, the architecture, what is built, the binder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest

import explorer
import widgets
from tools.architecture import (
    GROUNDS,
    THEMES,
    WORDS,
    architecture_paths,
    architecture_svg,
)
from tools.site.config import navigation
from tools.site.lessons import lesson_page
from tools.site.links import faults
from tools.site.marked import title_of
from tools.site.pages import ROOT, BrokenLink, pages, relinked
from tools.site.reference import codes_of_texts, exported, imported_names, reference_pages
from tools.site.words import glossary, with_words, words_of
from widgets.lessons.prediction import FOLDED

# The pages of the site: every file has its place, every link its page, every page its entry.


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
    # The groups are those of the reading order, and a lesson has its number.
    made: Any = navigation(places)
    lessons = next(entry["Course"] for entry in made if "Course" in entry)
    groups = {name: flat(pages) for entry in lessons[1:] for name, pages in entry.items()}
    said = (ROOT / "notebooks" / "README.md").read_text("utf-8")
    for name, inside in groups.items():
        below = said.split(f"## {name}\n")[1].split("\n## ")[0]
        stems = [page.removeprefix("course/").removesuffix(".md") for page in inside]
        assert re.findall(r"^\| `(\w+)\.ipynb`", below, re.MULTILINE) == stems
    assert {"04 Composition": "course/04_composition.md"} in lessons[1]["Core"]


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


# The glossary has each word that a notebook explains, a page links to, or the views say.


KNOWN = glossary()
NOTEBOOKS = [source for source in pages() if source.endswith(".ipynb")]
LINK = re.compile(r"glossary\.(?:md|html)#([\w-]+)")

# What architecture and contract of the project name as the field's words.
FIELD = """byte, token, token bytes, vocabulary, character FSA, detokenizing FST, token DFA,
byte class, token class, mask, allowed, feasible mass, forced, intervention,
trace, rejection, position"""


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_the_words_of_a_notebook_have_an_entry(source: str) -> None:
    words = [word.casefold() for text in texts_of(source) for word in words_of(text)]
    missing = [word for word in words if word not in KNOWN]
    assert missing == [], "add an entry to docs/glossary.md"


def test_the_words_of_the_field_have_an_entry() -> None:
    assert [word for word in re.split(r",\s+", FIELD) if word.casefold() not in KNOWN] == []


def test_every_link_to_the_glossary_leads_to_an_entry() -> None:
    for source in pages():
        if source.endswith((".md", ".ipynb")):
            for text in texts_of(source):
                assert set(LINK.findall(text)) <= set(KNOWN.values()), source


def test_the_words_of_the_legend_have_an_entry() -> None:
    legend = (ROOT / "widgets" / "static" / "legend.js").read_text("utf-8")
    said = re.findall(r'^  \w+: \["([A-Za-z]+(?: [a-z]+)?)",', legend, re.MULTILINE)
    signs = {"filtered"}  # A column of numbers; the sampler's entry explains it.
    assert len(said) > 5  # Signs are said in more words, or in none.
    assert [word for word in said if word.casefold() not in KNOWN and word not in signs] == []


def test_no_entry_stands_twice() -> None:
    assert len(set(KNOWN.values())) == len(KNOWN)
    entries = re.findall(r"^### ", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(entries) == len(KNOWN)


def test_words_become_links() -> None:
    known = {"token dfa": "token-dfa"}
    text = "*Token DFA*\n\nWords: a *token DFA* reads **ids**, a *cat* not.\n"
    assert words_of(text) == ["token DFA", "cat"]
    assert with_words(text, known, "../g.md") == (
        "*Token DFA*\n\nWords: a [*token DFA*](../g.md#token-dfa) reads **ids**, a *cat* not.\n"
    )


# The picture of the architecture: it is current, it can be read, and the page says it in words.


@pytest.mark.parametrize("theme", list(THEMES))
def test_the_picture_is_current(theme: str) -> None:
    assert architecture_paths()[theme].read_text("utf-8") == architecture_svg(theme)


def test_the_page_says_what_the_picture_shows() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert f'alt="{WORDS}"' in page
    assert all((ROOT / name).is_dir() or (ROOT / "explorer" / name).is_dir() for name in GROUNDS)


def luminance(colour: str) -> float:
    """The relative luminance of the contrast that WCAG defines."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = ((v / 12.92) if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# Binder's files: what they name exists, and the environment can be made from them.


BINDER = ROOT / "binder"
REQUIREMENTS = (BINDER / "requirements.txt").read_text("utf-8").splitlines()


def test_the_requirements_are_the_package_with_extras_that_exist() -> None:
    options = [line for line in REQUIREMENTS if line.startswith("-")]
    assert options == [
        "--find-links https://download.pytorch.org/whl/cpu/torch/",
        "-c ../.ci/constraints.txt",
    ]
    assert (BINDER / "../.ci/constraints.txt").is_file()
    (package,) = [line for line in REQUIREMENTS if line.startswith(".")]
    extras = package.removeprefix(".[").removesuffix("]").split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"lab", "models", "witnesses"} <= set(extras) <= set(known["optional-dependencies"])
    (python,) = (BINDER / "runtime.txt").read_text("utf-8").split()
    assert python == "python-3.11"


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_a_script_can_run(name: str) -> None:
    assert os.access(BINDER / name, os.X_OK)
    subprocess.run(["bash", "-n", str(BINDER / name)], check=True)
    for path in re.findall(r"(?:explorer|notebooks)/[\w/]+", (BINDER / name).read_text("utf-8")):
        assert (ROOT / path).exists(), path


def test_no_page_has_an_address_to_be_filled_in() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [str(page) for page in pages if "OWNER/" in page.read_text("utf-8")] == []


@pytest.mark.long
def test_the_environment_is_made_from_scratch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.binder", "--folder", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"^quickstart: \d+ s", done.stdout, re.MULTILINE)


# The checks of the built site, and the notebooks as its pages.


PAGE = '<html><body><h1 id="top">A</h1>{}</body></html>'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', None),
        ('<a href="b.html#top">b</a>', None),
        ('<a href="#top">a</a>', None),
        ('<a href="https://a.example/x">elsewhere</a>', None),
        ('<img src="p.svg" alt="a picture">', None),
        ('<a href="c.html">c</a>', "a.html links to c.html, which is not there."),
        (
            '<a href="b.html#x">b</a>',
            "a.html links to b.html#x, but b.html has no place of that name.",
        ),
        ('<a href="../b.html">b</a>', "a.html links to ../b.html, which is outside of the site."),
        ('<a href="/b.html">b</a>', "a.html links to /b.html, which is outside of the site."),
        ('<img src="q.svg" alt="a picture">', "a.html links to q.svg, which is not there."),
        ('<img src="p.svg" alt=" ">', "a.html shows p.svg without alternative text."),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "a.html fetches https://cdn.example/x.js from elsewhere.",
        ),
        (
            '<link rel="stylesheet" href="//cdn.example/x.css">',
            "a.html fetches //cdn.example/x.css from elsewhere.",
        ),
    ],
)  # fmt: skip
def test_a_fault_of_a_page_is_found(body: str, fault: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE.format(body))
    (tmp_path / "b.html").write_text(PAGE.format(""))
    (tmp_path / "p.svg").write_text("<svg></svg>")
    assert faults(tmp_path) == ([] if fault is None else [fault])


def test_a_style_that_fetches_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@import url('https://fonts.example/x'); a {b: url(c.svg)}")
    assert faults(tmp_path) == ["a.css fetches https://fonts.example/x from elsewhere."]


SVG = '<svg role="img"><title>Two bars &amp; a line</title></svg>'


def shown(*outputs: object) -> tuple[str, dict[str, str]]:
    cell = nbformat.v4.new_code_cell("1 + 1", id="sum", outputs=list(outputs))
    text = nbformat.v4.new_markdown_cell("# Sums\n\nlook", id="text")
    made = nbformat.v4.new_notebook(cells=[text, cell])
    return lesson_page(made, "01_sums", lambda words: words.replace("look", "see"))


def test_a_notebook_becomes_a_page() -> None:
    bold = {"text/plain": "\x1b[1m2\x1b[0m"}
    page, pictures = shown(
        nbformat.v4.new_output("stream", name="stdout", text="a ``` fence\n"),
        nbformat.v4.new_output("stream", name="stderr", text="progress"),
        nbformat.v4.new_output("display_data", data={"image/svg+xml": SVG, "text/plain": "bars"}),
        nbformat.v4.new_output("execute_result", data=bold, execution_count=1),
    )  # fmt: skip
    assert page.startswith("# Sums\n\nsee\n\n```python\n1 + 1\n```\n")
    assert "````text\na ``` fence\n````" in page
    assert "progress" not in page and "\x1b" not in page
    assert 'src="01_sums/sum-2.svg" alt="Two bars &amp; a line"' in page
    assert page.endswith("```text\n2\n```\n")
    assert pictures == {"01_sums/sum-2.svg": SVG}


def test_a_traceback_does_not_name_the_machine_that_built_it() -> None:
    root = "/"
    said = (
        f'File "{root}tmp/ipykernel_12/345.py", line 8, in <module>\n'
        f'  File "{root}home/somebody/lib/python3.12/json/decoder.py", line 337, in decode\n'
    )
    page, _ = shown(nbformat.v4.new_output("stream", name="stdout", text=said))
    assert 'File "this cell", line 8' in page and 'File "json/decoder.py", line 337' in page
    assert "somebody" not in page and "ipykernel" not in page


def test_what_a_question_keeps_is_folded() -> None:
    kept = {"said": "It is 3.", "parts": [{"svg": SVG, "alt": "", "text": ""}, {"text": "f"}]}
    data = {FOLDED: kept, "text/plain": "Your guess first.", "text/html": "<details></details>"}
    page, pictures = shown(nbformat.v4.new_output("display_data", data=data))
    before, inside = page.split("<details")
    assert "It is 3." not in before and "It is 3." in inside and "Your guess" not in page
    assert inside.index("It is 3.") < inside.index("01_sums/sum-0-0.svg") < inside.index("</det")
    assert pictures == {"01_sums/sum-0-0.svg": SVG}


@pytest.mark.parametrize(
    "how", [["--unrun"], pytest.param([], marks=pytest.mark.long)], ids=["unrun", "run"]
)
def test_the_whole_site_is_built_without_a_fault(how: list[str], tmp_path: Path) -> None:
    """The lessons' results are exported by the tests that run the lessons."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.site", "--folder", str(tmp_path), *how],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert " 0 faults" in done.stdout
