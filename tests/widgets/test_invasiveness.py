"""The rows of schemes show the data of the runs; a click opens the step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import pytest

import explorer
import widgets
from explorer import Sampler
from explorer.analysis.invasiveness import schemes_of
from explorer.analysis.invasiveness.schemes import TEMPLATES
from explorer.decoding.models.model import Reading
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.schemes.lookahead import bridges_of
from explorer.tokens.schemes.terminals import FLAT_OBJECT
from tests.widgets.page import Page
from widgets.cursor import whole_trace
from widgets.figures.panels.schemes import ALONE
from widgets.views.explorer import Explorer
from widgets.views.invasiveness import PROMPT, Invasiveness, example_template

LM = explorer.load_model("tiny")


@pytest.fixture(scope="module")
def shown() -> Iterator[Invasiveness]:
    made = Invasiveness(LM, max_tokens=14, lookaheads=(0, 1))
    yield made
    made.close()


@pytest.fixture
def page(shown: Invasiveness) -> Page:
    shown.write(PROMPT, temperature=0.0, seed=0)
    return Page(shown)


def test_it_is_exported() -> None:
    assert widgets.Invasiveness is Invasiveness and "Invasiveness" in widgets.__all__


def test_the_rows_are_the_runs(shown: Invasiveness) -> None:
    shown.write(PROMPT, temperature=0.0, seed=0)
    rows = shown.schemes["rows"]
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


def test_a_row_is_opened_where_its_token_was_chosen(page: Page) -> None:
    made: Invasiveness = page.made
    beside = Explorer(cursor=made.cursor)
    for number, row in enumerate(made.schemes["rows"]):
        k = min(3, len(row["tokens"]) - 1)
        assert page.ask("open", row=number, k=k)["ok"]
        assert made.opened == number and page.position["k"] == beside.position["k"] == k
        assert whole_trace(made.session).ids == tuple(token["id"] for token in row["tokens"])
        taken = whole_trace(made.session).steps
        assert all(step.chosen_by == "sampler" for step in taken)  # Greedy: nothing by hand.
        machine = made.session.machine
        if number and row["name"] != "ours":
            assert machine is made.machines[row["name"]]
    # What a person does there leaves the row as it is.
    made.show_step("ours", 2)
    before = made.schemes
    assert page.ask("take", token=made.session.allowed().nonzero()[0].tolist()[0])["ok"]
    made.show_step("ours", 2)
    assert made.schemes is before
    ids = tuple(token["id"] for token in before["rows"][3]["tokens"])
    assert whole_trace(made.session).ids == ids
    beside.close()


def test_rows_are_written_anew(page: Page) -> None:
    made: Invasiveness = page.made
    first = made.schemes
    page.ask("open", row=2, k=1)
    answer = page.ask(
        "schemes", prompt="Q: Give me a person as a JSON object.\nA: ", temperature=1.0, seed=3
    )
    assert answer["ok"] and made.opened == -1 and page.position["k"] == 0
    now = made.schemes
    assert (now["temperature"], now["seed"]) == (1.0, 3) and now["rows"] != first["rows"]
    scheme = schemes_of(LM, now["prompt"], FLAT_OBJECT, lookaheads=(1,))[0]
    (pair,) = scheme.compared(LM, now["prompt"], sampler=Sampler(1.0), seed=3, max_tokens=14)
    assert [token["id"] for token in now["rows"][2]["tokens"]] == list(pair.constrained.tokens)
    # A step that the line's own sampler would take otherwise is one by hand; the text is the same.
    page.ask("open", row=2, k=0)
    assert whole_trace(made.session).ids == pair.constrained.tokens
    refused = page.ask("schemes", temperature=-1.0)
    assert not refused["ok"] and made.schemes is now
    assert not page.ask("open", row=99, k=0)["ok"] and not page.ask("open", row=1, k=999)["ok"]


def test_a_constraint_without_terminals_or_template() -> None:
    made = Invasiveness(LM, explorer.choice([" Paris", " Rome"]), "The capital of France is")
    rows = made.schemes["rows"]
    assert [row["name"] for row in rows] == [ALONE, "ours"]
    assert rows[1]["bridges"] is None and "note" not in rows[1]
    root = ElementTree.fromstring(made.snapshot().svg)
    assert root.get("role") == "img" and "ours: ␣Paris [0.0]" in made.snapshot().text
    both = made.compare()  # The one scheme beside the model alone.
    assert (both.left_scheme, both.right_scheme) == (ALONE, "ours")
    both.close()
    made.close()


def test_what_cannot_be_shown_is_refused(shown: Invasiveness) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("filters", {"sampler": Sampler(1.0, top_k=3)}), ("seed", {"seed": -1}),
        ("max_tokens", {"max_tokens": 0}), ("lookahead", {"lookaheads": (-1,)}),
    ]  # fmt: skip
    for said, settings in wrong:
        with pytest.raises(ExplorerError, match=said):
            Invasiveness(LM, **settings)
    with pytest.raises(ExplorerError, match="no row 'k = 9'"):
        shown.show_step("k = 9", 0)


class NotingModel:
    """The tiny model, which notes what it reads, and whose context may be full."""

    def __init__(self) -> None:
        self.name, self.vocabulary, self.encode_prompt = LM.name, LM.vocabulary, LM.encode_prompt
        self.seen = list[tuple[int, ...]]()
        self.full: tuple[int, ...] | None = None

    def read(self, tokens: Sequence[int]) -> Reading:
        self.seen.append(tuple(tokens))
        if self.full is not None and self.seen[-1][: len(self.full)] == self.full:
            raise ContextFull("The context is full.")
        return LM.read(tokens)


def test_the_model_reads_no_text_twice() -> None:
    """What rows have in common is known to all of them."""
    lm = NotingModel()
    made = Invasiveness(lm, FLAT_OBJECT, "City:", max_tokens=4, lookaheads=(0, 1))
    lm.seen.clear()
    made.write("City:")
    own = len(made.schemes["rows"][0]["tokens"])  # The line that is shown reads its own.
    assert len(lm.seen) - own == len(set(lm.seen)) > 3
    made.close()


def test_an_endless_hole_is_cut_and_what_fails_becomes_a_row() -> None:
    lm = NotingModel()
    endless = explorer.template(" {y}<b>&", y=explorer.gen(regex="[a-z]+"))
    made = Invasiveness(lm, None, "Name:", template=endless, max_tokens=3)
    assert [row["name"] for row in made.schemes["rows"]] == [ALONE, "ours", *TEMPLATES]
    assert all(len(row["tokens"]) == 3 for row in made.schemes["rows"])
    # Defaults are schemes that are there; what is not is refused in the user's words.
    both = made.compare()
    assert (both.left_scheme, both.right_scheme) == ("template", "ours")
    with pytest.raises(ExplorerError, match=r"^right is 'k = 0'"):
        made.compare("ours", "k = 0")

    # A scheme that cannot be made and one that cannot be written leave the other rows.
    ids = {r["name"]: tuple(token["id"] for token in r["tokens"]) for r in made.schemes["rows"]}
    same = [name for name in ids if ids[name][:1] == ids["template"][:1]]
    assert same == [*TEMPLATES]
    lm.full = (*LM.encode_prompt("Name:"), ids["template"][0])
    made.write("Name:")
    rows = {row["name"]: row for row in made.schemes["rows"]}
    assert sorted(rows) == sorted(ids)
    for name in same:
        assert rows[name]["failed"] and rows[name]["said"] == "not written: The context is full."
        assert not rows[name]["tokens"]
        with pytest.raises(ExplorerError, match="no text in row"):
            made.show_step(name, 0)
    assert "The context is full" in made.snapshot().text
    made.show_step("ours", 1)
    assert made.session.machine is made.machines["ours"]
    lm.full = None
    made.write("Name:")  # And they are back once they can be written.
    assert not any("failed" in row for row in made.schemes["rows"])
    both.close()
    made.close()
