"""Conditions on every notebook of the course, checked by its file alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

from explorer.course.checking import EXERCISES
from tests.notebooks.running import FOLDER, course

LESSONS = course()
PREDICTIONS = {"00_quickstart": 1, "00_lecture": 3}
"""The least number of predictions, where it is not two."""
EXERCISES_OF = {"06_why_was_it_masked": (10, 10), "00_lecture": (1, 1)}
"""The least and the greatest number of exercises, where they are not two and four."""

CHECK = re.compile(r'course\.check\("([\w-]+)", None\)')


def code(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", course(), ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    kept = [c.id for c in cells if c.cell_type == "code" and (c.outputs or c.execution_count)]
    assert kept == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_predictions_exercises_and_pictures(path: Path) -> None:
    cells = code(path)
    # One line imports what the lesson needs; what a question asks waits for a guess.
    assert cells[0].startswith("from widgets.lessons import *")
    guesses = [source for source in cells if re.search(r"^predict\(", source, re.MULTILINE)]
    assert len(guesses) >= PREDICTIONS.get(path.stem, 2)
    for source in guesses:
        # It ends its cell, says what a wrong guess would mean, and nothing is shown beside it.
        last = ast.parse(source).body[-1]
        assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
        named = {argument.arg for argument in last.value.keywords}
        assert named & {"wrong", "otherwise"}, source
        assert "print(" not in source and "course.reveal" not in source, source
    written = nbformat.read(path, as_version=4).cells
    asked_for = [c for c in written if c.cell_type == "markdown" and "**Predict" in c.source]
    assert len(asked_for) == len(guesses)
    # What a question works out is not on the screen before the guess, its code neither.
    for cell in written:
        if cell.cell_type == "code" and re.search(r"^predict\(", cell.source, re.MULTILINE):
            assert cell.metadata.get("jupyter", {}).get("source_hidden") is True, cell.id
    # Two to four exercises, each with a check, none with its answer.
    asked = [name for source in cells for name in CHECK.findall(source)]
    least, most = EXERCISES_OF.get(path.stem, (2, 4))
    assert least <= len(asked) <= most and set(asked) <= set(EXERCISES)
    assert sum("course.check(" in source for source in cells) == len(asked)
    assert any(re.search(r"\bExplorer\(", source) for source in cells)


def test_the_reading_order_says_the_minutes() -> None:
    words = {"four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12, "twenty": 20}
    words["thirty"] = 30
    order = (FOLDER / "README.md").read_text("utf-8")
    for path in LESSONS:
        first = nbformat.read(path, as_version=4).cells[0].source
        said = re.search(r"^Time: (\w+) minutes", first, re.MULTILINE)
        row = re.search(rf"^\| `{path.stem}\.ipynb` \|.*\| (\d+) \|$", order, re.MULTILINE)
        assert said is not None and row is not None, path.stem
        assert words[said[1]] == int(row[1]), path.stem


def test_every_exercise_is_asked_once() -> None:
    asked = [name for path in course() for s in code(path) for name in CHECK.findall(s)]
    assert sorted(asked) == sorted(EXERCISES)


def test_the_reading_order_names_every_notebook() -> None:
    order = (FOLDER / "README.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)\.ipynb`", order, re.MULTILINE) == [path.stem for path in LESSONS]


def test_each_notebook_links_to_its_neighbours() -> None:
    names = [path.stem for path in LESSONS]
    for path, before, after in zip(LESSONS, ["", *names], [*names[1:], ""], strict=False):
        last = nbformat.read(path, as_version=4).cells[-1]
        wanted = [
            f"{word}: [`{name}`]({name}.ipynb)"
            for word, name in (("Next", after), ("Back", before))
            if name
        ]
        assert last.id == "next", path.stem
        assert (
            re.findall(r"(?:Next|Back): \S+", last.source.replace(".ipynb).", ".ipynb)")) == wanted
        )


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_code_can_be_read(path: Path) -> None:
    for source in code(path):
        ast.parse(source)
        assert max(map(len, source.splitlines())) <= 100


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_ends_with_a_card(path: Path) -> None:
    """Three sentences or more, and what one can do now; then exercises and the way on."""
    cells = nbformat.read(path, as_version=4).cells
    (place,) = [k for k, cell in enumerate(cells) if cell.id == "card"]
    said = cells[place].source
    assert said.startswith("## What you have now") and "**You can now**" in said
    assert len(re.findall(r"[.?] ", said.split("**You can now**")[0].replace("\n", " "))) >= 3
    number = path.stem.split("_")[0]
    if number.isdigit() and int(number) <= 8:
        assert cells[place + 1].source == f"hero_picture({int(number)})"
