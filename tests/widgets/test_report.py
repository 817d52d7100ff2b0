"""The report of a sweep: figures from a table, a page that holds no markup of a model."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

import explorer
from explorer.decoding.models.model import Prompt, Reading
from explorer.errors import ExplorerError
from explorer.sweeps.report import summarize
from tests.decoding.models import hash_model
from widgets.figures.packets import decompress
from widgets.report import MOST_BARS, conformance, trap_figure

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


def facts(path: Path) -> dict[str, Any]:
    (packed,) = re.findall('id="facts">([^<]*)<', path.read_text("utf-8"))
    return cast("dict[str, Any]", decompress(packed))


def test_the_page_holds_the_figures_and_the_worst_run(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    explorer.report(table(), target, worst=1, models={"<b>loud</b>": Loud()}, title="A <b>sweep")
    text = target.read_text("utf-8")
    said = facts(target)
    assert [figure["name"] for figure in said["figures"]] == [
        "conformance", "parts-0", "parts-1", "traps",
    ]  # fmt: skip
    assert said["figures"][0]["rows"][0][0] == "<b>loud</b>"  # Raw here: the page sets it as text.
    assert said["errors"][0][2] == "2"
    (run,) = said["runs"]
    assert run["replay"] and 'id="run-0"' in text
    (packed,) = re.findall('id="run-0">([^<]*)<', text)
    assert "renderExplorer" in str(decompress(packed))
    # Nothing of a model stands in the page as itself, and nothing is fetched.
    assert "A &lt;b&gt;sweep" in text and "A <b>sweep" not in text
    assert HOSTILE not in text and "onerror=alert" not in text
    assert "default-src 'none'" in text


def test_labels_of_plotly_are_escaped() -> None:
    for figure in (conformance(summarize(table())), trap_figure(summarize(table()))):
        for trace in figure.data:
            said = " ".join([*trace["labels"], trace["name"], trace["hovertemplate"]])
            assert "<" not in said.replace("<extra>", "").replace("</extra>", "")


def test_a_model_that_is_not_at_hand_is_named(tmp_path: Path) -> None:
    explorer.report(table(), tmp_path / "report.html", worst=2)
    for run in facts(tmp_path / "report.html")["runs"]:
        assert not run["replay"]
        assert "was not given as a name" in run["why_not"] and "models={" in run["why_not"]


def test_a_figure_of_many_parts_is_cut_and_its_table_is_not(tmp_path: Path) -> None:
    letters = explorer.regex("fdosyenfdosyenfdo")
    done = explorer.sweep("a", letters, hash_model(), max_tokens=40)
    explorer.report(done, tmp_path / "report.html", worst=0)
    (_, parts, _) = facts(tmp_path / "report.html")["figures"]
    assert len(parts["data"][0]["x"]) == MOST_BARS < len(parts["rows"])


def test_a_folder_is_reported_like_its_sweep(tmp_path: Path) -> None:
    done = explorer.sweep("a", explorer.regex("[a-z]{3}"), "tiny", folder=tmp_path / "runs")
    explorer.report(done, tmp_path / "one.html", worst=0)
    explorer.report(tmp_path / "runs", tmp_path / "two.html", worst=0)
    assert facts(tmp_path / "one.html") == facts(tmp_path / "two.html")


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="no column 'text'"):
        explorer.report(table().drop_columns(["text"]), tmp_path / "report.html")
    with pytest.raises(ExplorerError, match="No such file"):
        explorer.report(table(), tmp_path / "nowhere" / "report.html")
