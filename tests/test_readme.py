"""The README and its pages are true: their code prints what they say, the figures are measured."""

from __future__ import annotations

import contextlib
import io
import re
import types
from pathlib import Path

import pytest

from benchmarks import tables

README = Path(__file__).resolve().parent.parent / "README.md"
DOCS = README.parent / "docs"
PAGES = (README, DOCS / "tour.md", DOCS / "notebook.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_blocks(text: str) -> list[tuple[str, str | None]]:
    """Run the ``python`` blocks of a text in order, in one namespace.

    Returns:
        For each block what it printed, and the ``text`` block right after it, if there is one.
    """
    # A module, so that what the blocks define looks like anything else that was imported.
    namespace = types.ModuleType("readme").__dict__
    blocks = list(BLOCK.finditer(text))
    found: list[tuple[str, str | None]] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        line = text.count("\n", 0, block.start()) + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile("\n" * line + block[2], str(README), "exec", dont_inherit=True)
            exec(code, namespace)
        expected = following[2] if following is not None and following[1] == "text" else None
        found.append((printed.getvalue(), expected))
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_runs_and_prints_what_the_page_says(path: Path) -> None:
    outcomes = run_blocks(path.read_text(encoding="utf-8"))
    assert outcomes
    for printed, expected in outcomes:
        assert printed == (expected or "")


def test_a_wrong_output_and_a_broken_block_would_be_seen() -> None:
    [(printed, expected)] = run_blocks("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert (printed, expected) == ("2\n", "3\n")
    with pytest.raises(NameError):
        run_blocks("```python\nundefined\n```\n")


def test_the_figures_are_the_measured_ones() -> None:
    results = tables.read()
    text = README.read_text(encoding="utf-8")
    assert tables.with_figures(text, results) == text
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(results)


def test_a_changed_figure_would_be_seen() -> None:
    results = tables.read()
    text = README.read_text(encoding="utf-8")
    results["compile"]["131k"]["IPv4"]["explorer"]["median"] *= 3
    assert tables.with_figures(text, results) != text


def test_a_first_visit_reads_a_page() -> None:
    """The picture and a reason come first, then purpose, installation and three blocks."""
    text = README.read_text(encoding="utf-8")
    first, more, _ = text.partition("\n## More\n")
    assert more and len(first.split()) <= 700
    said = [
        first.index(words)
        for words in ("<picture>", " is masked after ", "**For whom?**", "**Why not Outlines")
    ]
    assert said == sorted(said)
    blocks = re.findall(r"^## (.*)$", first, re.MULTILINE)
    assert blocks == ["Install", "See", "Step", "Your own model"]


@pytest.mark.parametrize("command", ["make lab", "make test"])
def test_the_two_commands_are_named(command: str) -> None:
    assert f"\n{command}" in README.read_text(encoding="utf-8")


def test_every_link_within_the_project_leads_somewhere() -> None:
    for path in (*PAGES, DOCS / "limits.md", tables.PAGE, tables.PAGE.parent / "README.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
