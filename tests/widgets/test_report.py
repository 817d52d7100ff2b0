"""The figures of a sweep: what they say, and no markup of a model in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.decoding.models.model import Prompt, Reading
from explorer.errors import ExplorerError
from tests.decoding.models import hash_model
from widgets.report import MOST_BARS

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Loud:
    """A model whose name and prompts are markup."""

    name = "<b>loud</b>"
    vocabulary = hash_model().vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return hash_model().encode_prompt(prompt)

    def read(self, tokens: Any) -> Reading:
        return hash_model().read(tokens)


@cache
def table() -> Any:
    texts = {HOSTILE: explorer.regex("[<>&\"'/a-z]{4,9}"), "digits": explorer.regex("[0-9]{1,9}")}
    bad = explorer.literal("z" * 40)
    return explorer.sweep(
        ["a", HOSTILE], texts | {"never": bad}, Loud(), max_tokens=12
    ).table  # fmt: skip


def said(figure: Any) -> str:
    return f"{figure.layout.title.text}: {figure.layout.title.subtitle.text}"


def test_the_figures_are_those_of_the_table() -> None:
    first, *parts, traps = explorer.report(table())
    assert len(parts) == 2  # Of "never" there is no text.
    assert said(first).startswith("Conformance: 4 of 6 rows are texts of their constraint")
    assert "2 failed" in said(first) and "can write no word" in said(first)
    shares = {bar.name: list(bar.x) for bar in first.data}
    assert shares["failed"] == [0.0, 0.0, 1.0]
    for k in range(3):
        assert sum(values[k] for values in shares.values()) == pytest.approx(1)
    assert "Traps by kind" in said(traps)


def test_nothing_of_a_model_is_markup() -> None:
    for figure in explorer.report(table()):
        shown = [said(figure), *figure.layout.yaxis.ticktext, *(bar.name for bar in figure.data)]
        assert "<" not in " ".join(shown)


def test_a_figure_of_many_parts_is_cut() -> None:
    letters = explorer.regex("fdosyenfdosyenfdo")
    done = explorer.sweep("a", letters, hash_model(), max_tokens=40)
    _, parts, _ = explorer.report(done)
    assert len(parts.data[0].x) == MOST_BARS


def test_a_folder_is_reported_like_its_sweep(tmp_path: Path) -> None:
    done = explorer.sweep("a", explorer.regex("[a-z]{3}"), "tiny", folder=tmp_path / "runs")
    assert explorer.report(done) == explorer.report(tmp_path / "runs")


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(ExplorerError, match="no column 'text'"):
        explorer.report(table().drop_columns(["text"]))
