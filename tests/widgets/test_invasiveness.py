"""The rows of schemes show the data of the runs; as lines of a cursor they are the same texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

import explorer
from explorer import Sampler
from explorer.analysis.invasiveness import schemes_of
from explorer.analysis.invasiveness.schemes import TEMPLATES
from explorer.decoding.models.model import Reading
from explorer.errors import ContextFull
from explorer.tokens.schemes.lookahead import bridges_of
from explorer.tokens.schemes.terminals import FLAT_OBJECT
from widgets.cursor import whole_trace
from widgets.figures.panels.schemes import ALONE
from widgets.lessons.invasive import PROMPT, SchemeTexts, example_template, scheme_texts
from widgets.views.explorer import Explorer

LM = explorer.load_model("tiny")


@pytest.fixture(scope="module")
def shown() -> SchemeTexts:
    return scheme_texts(LM, max_tokens=14, lookaheads=(0, 1))


def test_the_rows_are_the_runs(shown: SchemeTexts) -> None:
    rows = shown.rows
    made = schemes_of(LM, PROMPT, FLAT_OBJECT, template=example_template(), lookaheads=(0, 1))
    assert [row["name"] for row in rows] == [ALONE, *(scheme.name for scheme in made)]
    for row, scheme in zip(rows[1:], made, strict=True):
        (pair,) = scheme.compared(LM, PROMPT, max_tokens=14)
        run = pair.constrained
        assert [token["id"] for token in row["tokens"]] == list(run.tokens)
        bits = [max(0.0, -p / math.log(2)) for p in run.log_probs]
        assert [token["bits"] for token in row["tokens"]] == pytest.approx(bits, abs=2e-3)
        assert row["perplexity"] == pytest.approx(2 ** (sum(bits) / len(bits)), rel=1e-3)
        marked = {
            mark: [k for k, token in enumerate(row["tokens"]) if mark in token]
            for mark in ("parted", "bridge", "missed", "fixed")
        }
        own = pair.free.tokens
        first = [k for k, (a, b) in enumerate(zip(run.tokens, own, strict=False)) if a != b][:1]
        assert marked["parted"] == first
        assert marked["missed"] == [k for k, missed in enumerate(run.misses) if missed]
        assert len(marked["bridge"]) == bridges_of(FLAT_OBJECT, LM.vocabulary, run.tokens)
        assert row["violation"] == pair.violation
        assert ("invasive" in row["said"]) is (pair.violation is not None)
        written = "".join(run.pieces[k].decode() for k in marked["fixed"])
        if scheme.name in ("template", "naturalised template"):
            assert '{"name": "", "age": ' in written
        elif "flexible" not in scheme.name:
            assert not written
    assert any(row["violation"] is not None for row in rows)
    assert next(row for row in rows if row["name"] == "ours")["note"] == "k = ∞"


def test_the_lines_of_a_cursor_are_the_rows(shown: SchemeTexts) -> None:
    cursor = shown.cursor()
    view = Explorer(cursor=cursor)
    assert [name for name, _ in cursor.lines] == [row["name"] for row in shown.rows]
    for number, row in enumerate(shown.rows):
        cursor.switch(number)
        assert (view.position["k"], cursor.session.index) == (0, 0)
        assert whole_trace(cursor.session).ids == tuple(token["id"] for token in row["tokens"])
        taken = whole_trace(cursor.session).steps
        assert all(step.chosen_by == "sampler" for step in taken)  # Greedy: nothing by hand.
        if number and row["name"] != "ours":
            assert cursor.session.machine is shown.machines[row["name"]]
    view.close()


def test_another_seed_is_another_text() -> None:
    prompt = "Q: Give me a person as a JSON object.\nA: "
    made = scheme_texts(
        LM, prompt, FLAT_OBJECT, lookaheads=(1,), sampler=Sampler(1.0), seed=3, max_tokens=14
    )
    scheme = schemes_of(LM, prompt, FLAT_OBJECT, lookaheads=(1,))[0]
    (pair,) = scheme.compared(LM, prompt, sampler=Sampler(1.0), seed=3, max_tokens=14)
    assert [token["id"] for token in made.rows[1]["tokens"]] == list(pair.constrained.tokens)
    assert made.cursor().lines[1][1].length == len(pair.constrained.tokens)


def test_a_constraint_without_terminals_or_template() -> None:
    made = scheme_texts(LM, "The capital of France is", explorer.choice([" Paris", " Rome"]))
    assert [row["name"] for row in made.rows] == [ALONE, "ours"]
    assert made.rows[1]["bridges"] is None and "note" not in made.rows[1]
    picture = made._repr_mimebundle_()
    root = ElementTree.fromstring(picture["image/svg+xml"])
    assert root.get("role") == "img" and "ours: ␣Paris [0.0]" in picture["text/plain"]


class NotingModel:
    """The tiny model, which notes what it reads, and whose context may be full."""

    def __init__(self) -> None:
        self.name, self.vocabulary, self.encode_prompt = LM.name, LM.vocabulary, LM.encode_prompt
        self.seen = list[tuple[int, ...]]()
        self.full: tuple[int, ...] | None = None

    def read(self, tokens: Sequence[int]) -> Reading:
        self.seen.append(tuple(tokens))
        if self.full is not None and self.seen[-1][: len(self.full)] == self.full:
            raise ContextFull("The context is full.", remedy="Shorten it.")
        return LM.read(tokens)


def test_the_model_reads_no_text_twice() -> None:
    """What rows have in common is known to all of them."""
    lm = NotingModel()
    scheme_texts(lm, "City:", FLAT_OBJECT, max_tokens=4, lookaheads=(0, 1))
    assert len(lm.seen) == len(set(lm.seen)) > 3


def test_an_endless_hole_is_cut_and_what_fails_becomes_a_row() -> None:
    lm = NotingModel()
    endless = explorer.template(" {y}<b>&", y=explorer.gen(regex="[a-z]+"))
    made = scheme_texts(lm, "Name:", template=endless, max_tokens=3)
    assert [row["name"] for row in made.rows] == [ALONE, "ours", *TEMPLATES]
    assert all(len(row["tokens"]) == 3 for row in made.rows)
    # A scheme that cannot be made and one that cannot be written leave the other rows.
    ids = {row["name"]: tuple(token["id"] for token in row["tokens"]) for row in made.rows}
    same = [name for name in ids if ids[name][:1] == ids["template"][:1]]
    assert same == [*TEMPLATES]
    lm.full = (*LM.encode_prompt("Name:"), ids["template"][0])
    rows = {
        row["name"]: row for row in scheme_texts(lm, "Name:", template=endless, max_tokens=3).rows
    }
    assert sorted(rows) == sorted(ids)
    for name in same:
        assert rows[name]["failed"] and "The context is full." in rows[name]["said"]
        assert not rows[name]["tokens"]
