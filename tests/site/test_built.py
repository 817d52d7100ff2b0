"""The checks of the built site, and the notebooks as its pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import griffe
import nbformat
import pytest

from tools.site.examples import ExamplesAsCode
from tools.site.lessons import lesson_page
from tools.site.links import faults
from tools.site.pages import ROOT
from widgets.export import BELOW
from widgets.lessons.prediction import FOLDED
from widgets.lessons.rows import table_picture

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


def test_an_explorer_becomes_its_still() -> None:
    still = (
        '<details class="lmx-still"><summary>Without a kernel</summary><img alt="x" '
        f'style="y" src="data:image/svg+xml,{quote(SVG)}"><pre>words</pre></details>'
    )
    page, pictures = shown(
        nbformat.v4.new_output("display_data", data={"text/plain": BELOW}),
        nbformat.v4.new_output("display_data", data={"text/html": still, "text/plain": "words"}),
    )
    assert BELOW not in page
    assert pictures == {"01_sums/sum-1.svg": SVG}


def test_what_a_question_keeps_is_folded() -> None:
    kept = {"said": "It is 3.", "parts": [{"svg": SVG, "alt": "", "text": ""}, {"text": "f"}]}
    data = {FOLDED: kept, "text/plain": "Your guess first.", "text/html": "<details></details>"}
    page, pictures = shown(nbformat.v4.new_output("display_data", data=data))
    before, inside = page.split("<details")
    assert "It is 3." not in before and "It is 3." in inside and "Your guess" not in page
    assert inside.index("It is 3.") < inside.index("01_sums/sum-0-0.svg") < inside.index("</det")
    assert pictures == {"01_sums/sum-0-0.svg": SVG}


def test_a_table_is_a_table_and_a_long_line_is_broken() -> None:
    table = table_picture("Sums", ["text", "log p"], [["a<", -0.251]])
    page, _ = shown(
        nbformat.v4.new_output("display_data", data=table.to_mimebundle()),
        nbformat.v4.new_output("stream", name="stdout", text="word " * 30),
    )
    assert "<table><caption>Sums</caption>" in page and "<td>a&lt;</td>" in page
    assert "style=" not in page and '<pre class="said"' in page and "```text" not in page
    part = {"caption": "Sums", "head": ["text"], "rows": [["`b`"]], "text": "Sums"}
    data = {FOLDED: {"said": "It is `3`.\nIf you said 4: no.", "parts": [part]}}
    page, _ = shown(nbformat.v4.new_output("display_data", data=data))
    inside = page.split("<details")[1]
    assert "<p>It is <code>3</code>.</p><p>If you said 4: no.</p>" in inside
    assert "<table><caption>Sums</caption>" in inside and "<td>`b`</td>" in inside


def test_hidden_code_is_folded_and_an_explorer_can_be_stepped() -> None:
    cell = nbformat.v4.new_code_cell("draw()", id="sum", metadata={"jupyter": {"source_hidden": 1}})
    made = nbformat.v4.new_notebook(cells=[cell])
    page, _ = lesson_page(made, "01_sums", str, replays=["sum"])
    assert page.index("<details") < page.index("draw()") < page.index("</details>")
    assert '<a href="01_sums/sum.html"' in page


def test_an_example_of_a_docstring_is_code() -> None:
    text = "Add one.\n\nExample:\n    >>> add(1)\n    2\n"
    docstring = griffe.Docstring(text)
    ExamplesAsCode().on_instance(obj=griffe.Function("add", docstring=docstring))
    kinds = [section.kind.value for section in docstring.parse("google")]
    assert kinds == ["text", "examples"]


def test_a_picture_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no title"):
        shown(nbformat.v4.new_output("display_data", data={"image/svg+xml": "<svg></svg>"}))


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
