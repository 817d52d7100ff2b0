"""The controller without a browser: messages in, traits and answers out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.languages.constraint import regex
from tests.evidence import few
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.editing import written_constraint
from widgets.figures.packets import decompress
from widgets.toy import EOS, PATTERN, ToyModel
from widgets.views.compare import Compare
from widgets.views.explorer import Explorer

F, OO, FOO, FOR, FOOD = range(5)


@pytest.fixture
def page() -> Iterator[Page]:
    made = Explorer()
    yield Page(made)
    made.close()


def test_peek_leaves_the_cursor(page: Page) -> None:
    assert page.ask("peek")["walk"]["token"] == FOO
    assert page.made.session.index == 0
    walk = page.ask("peek", token=FOOD)["walk"]
    assert bytes(walk["bytes"]) == b"food"
    page.ask("step")
    assert page.made.session.ids == (FOOD,)


def test_search_by_text_bytes_and_id(page: Page) -> None:
    def ids(query: str) -> set[int]:
        return {row["id"] for row in page.ask("search", query=query, k=0)["rows"]}

    assert ids("oo") == {OO, FOO, FOOD}
    assert ids("0x64") == {FOOD}
    assert EOS in ids("#5")
    assert ids("5") == set()  # No token writes it.
    # What is asked for itself comes first, and then the likeliest that hold it.
    answer = page.ask("search", query="f", k=0)
    rows = answer["rows"]
    assert [row["id"] for row in rows] == [F, FOO, FOR, FOOD]
    assert answer["count"] == 4
    assert sum(row["constrained"] for row in rows if row["allowed"]) == pytest.approx(1.0)


def test_another_line_is_shown_with_what_is_ahead_of_its_cursor(page: Page) -> None:
    page.ask("run", tokens=16)
    page.ask("jump", k=1)
    page.ask("edit", kind="regex", text="foo(foo)?", prompt="")
    rows = page.line["strip"]["forks"]
    told = {row["name"]: [token["text"] for token in row["tokens"]] for row in rows}
    assert told["line 1 before edit 1"] == ["foo", "foo", "food", "EOS"]
    assert [row["name"] for row in rows if row["current"]] == ["line 1"]
    assert [token["text"] for token in page.line["strip"]["tokens"]] == ["foo", "foo"]
    page.ask("switch", line=0)
    assert (page.made.session.text, page.made.editor["text"]) == ("foo", PATTERN)


def test_a_pattern_that_cannot_be_read_leaves_everything(page: Page) -> None:
    page.ask("step")
    answer = page.ask("edit", kind="regex", text="(foo", prompt="")
    assert (answer["ok"], answer["quiet"]) == (False, True)
    assert (answer["error"]["start"], answer["error"]["end"]) == (0, 1)
    assert page.made.session.ids == (FOO,)
    impossible = page.ask("edit", kind="regex", text="xyz", prompt="")
    assert impossible["ok"] is False
    assert written_constraint(page.made.session.constraint) == ("regex", PATTERN)


def test_the_sampler_and_its_errors(page: Page) -> None:
    page.ask("sampler", temperature=1.0, top_k=1, top_p=None, min_p=None)
    assert page.made.session.sampler.top_k == 1
    assert page.made.sampler["temperature"] == 1.0
    assert page.ask("sampler", temperature=-1.0)["ok"] is False


def test_words_and_machine_are_asked_for_by_name(page: Page) -> None:
    words = page.ask("words")["words"]
    assert words["fingerprint"] == page.made.vocabulary["fingerprint"]
    assert decompress(words["data"])["text"][:5] == ["f", "oo", "foo", "for", "food"]  # type: ignore[index]
    machine = page.ask("machine")["machine"]
    assert machine["key"] == page.made.machine["key"]
    assert set(machine["layouts"]) >= {"character_fsa", "token_dfa"}
    # What a saved notebook keeps of an explorer is small: the large packets are no traits.
    state = json.dumps({k: v for k, v in page.made.get_state().items() if k[0] != "_"})
    assert len(state) < 20_000


def test_without_a_constraint_everything_is_allowed() -> None:
    made = Explorer(cursor=Cursor(Session(ToyModel(), None)))
    page = Page(made)
    assert made.position["allowed"] == 6
    assert page.ask("machine")["machine"]["key"] == ""
    assert page.ask("why", token=FOR, k=0)["explanation"]["allowed"]
    assert page.ask("step")["ok"]
    assert page.ask("edit", kind="regex", text=PATTERN, prompt="")["ok"]
    assert written_constraint(made.session.constraint) == ("regex", PATTERN)
    made.close()


def test_a_still_holds_the_machines_and_the_run(page: Page) -> None:
    page.ask("step")
    still = page.made.snapshot()
    root = ElementTree.fromstring(still.svg)
    texts = {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("text")}
    assert {"foo", "food", "EOS"} <= texts
    assert "foo" in still.text
    bundle = page.made._repr_mimebundle_()
    assert bundle is not None
    assert {"image/svg+xml", "text/plain"} <= set(bundle[0])
    assert any("widget-view" in kind for kind in bundle[0])


def test_a_page_holds_the_run_and_no_address(page: Page) -> None:
    page.ask("step")
    answer = page.ask("export")
    assert answer["ok"], answer
    assert "http://www.w3.org/2000/svg" in answer["text"]
    addresses = set(re.findall(r"https?://[^\"'\s]+", answer["text"]))
    assert addresses == {"http://www.w3.org/2000/svg"}
    packed = re.search(r'id="run">([^<]+)<', answer["text"])
    assert packed is not None
    data = cast("dict[str, Any]", decompress(packed[1]))
    assert [position["k"] for position in data["positions"]] == [0, 1]
    assert set(data["walks"][1]) == {str(token) for token in range(6)}


def test_a_toy_of_ones_own_is_stepped_and_explained() -> None:
    own = ToyModel({"f": 1, "oo": 5, b"d": 3}, end=1, after={"foo": {"d": 4, "f": 1}})
    made = Explorer(own, regex("(foo)+d"))
    page = Page(made)
    assert made.position["allowed"] == 1
    assert made.position["z"] == pytest.approx(0.1)  # Of 1 + 5 + 3 + 1.
    for _ in range(2):
        assert page.ask("step", seen=page.line["generation"])["ok"]
    assert made.session.text == "foo"
    # After "foo" the end is left out of the weights: probability 0, and masked as well.
    assert {bar["text"]: round(bar["model"], 3) for bar in made.position["top"][:2]} == {
        "d": 0.8, "f": 0.2
    }  # fmt: skip
    assert made.session.explain("oo").stage == "constraint"
    assert page.ask("run", tokens=9)["stopped"] and made.session.text == "food"
    made.close()


def test_a_token_of_two_thousand_bytes_keeps_nothing_from_being_shown() -> None:
    letters = {chr(code): 1.0 for code in range(ord("a"), ord("a") + 20)}
    made = Explorer(ToyModel({**letters, "a" * 2100: 9.0}), regex("a*b"))
    page = Page(made)
    long = len(letters)
    questions: dict[str, dict[str, object]] = {
        "machine": {}, "around": {"also": [long]}, "walk": {"token": long}, "stages": {},
        "why": {"token": long}, "more": {"token": long}, "reasons": {}, "traps": {}, "export": {},
    }  # fmt: skip
    for kind, fields in questions.items():
        answer = page.ask(kind, **fields)
        # A machine of 2,101 states is not drawn whole, and says what to do instead.
        assert answer["ok"] or (kind == "stages" and answer["error"]["remedy"]), (kind, answer)
    assert made.position["top"][0]["allowed"]
    assert "a" in made.snapshot().text
    assert page.ask("step")["ok"] and len(made.session.text) == 2100
    assert page.ask("around", k=1)["ok"]
    made.close()


@pytest.mark.parametrize("view", few([Explorer, Compare], 1))
def test_a_lazy_machine_is_stepped_and_explained_like_a_table(view: Any) -> None:
    model = load_model("tiny")
    pattern = regex(r"[0-9]{2}-[0-9]|[a-z ]{2,4}")
    lazy = explorer.compile(pattern, model.vocabulary, lazy=True)
    if view is Compare:
        both = Compare(model, pattern, lazy, "The date is ")
        both.step(3)
        for name in ("allowed", "z", "spans"):
            assert both.left_position[name] == both.right_position[name]
        assert both.left.session.ids == both.right.session.ids
        both.close()
        return
    closed, made = (Explorer(model, given, "The date is ") for given in (pattern, lazy))
    one, other = Page(closed), Page(made)
    assert type(made.session.machine) is type(lazy)
    assert closed.machine["key"] != made.machine["key"]
    for k in range(3):
        for token in {bar["id"] for bar in made.position["top"]}:
            told = [page.ask("why", token=token, k=k)["explanation"] for page in (one, other)]
            assert told[0]["sentence"] == told[1]["sentence"]
        for name in ("allowed", "z", "spans", "expects", "top"):
            assert one.position[name] == other.position[name], name
        row = np.unpackbits(np.frombuffer(base64.b64decode(other.position["row"]), np.uint8))
        assert np.array_equal(row[: len(model.vocabulary)], made.session.allowed())
        groups = [page.ask("reasons", k=k)["reasons"]["groups"] for page in (one, other)]
        for mine, theirs in zip(*groups, strict=True):
            assert mine.pop("mass") == pytest.approx(theirs.pop("mass"), rel=1e-4)
            assert mine == theirs
        for kind in ("machine", "around", "traps", "search", "draw", "stages"):
            answer = other.ask(kind, **({"query": "0"} if kind == "search" else {}))
            assert answer["ok"] or kind in ("draw", "stages"), (kind, answer)
        for page in (one, other):
            assert page.ask("step", seen=page.line["generation"])["ok"]
    assert other.ask("export")["ok"] and made.snapshot().text
    assert other.answer(other.edit("[a-z]+"))["ok"]
    closed.close()
    made.close()


def test_a_run_that_the_model_s_length_stops_is_shown_to_its_last_token() -> None:
    """The embedded model reads 256 tokens; the page follows to the last one, with its reasons."""
    lm = explorer.load_model("tiny")
    prompt = "a" * 2
    while len(lm.encode_prompt(prompt + " a")) < 250:
        prompt += " a"
    made = Explorer(lm, explorer.regex("[a-z ]*!"), prompt=prompt)
    page = Page(made)
    answer = page.ask("run", tokens=64)
    assert "reads at most 256" in json.dumps(answer)
    last = made.session.length
    assert 3 < last < 12 and made.session.index == last
    assert page.position["k"] == page.line["index"] == page.line["length"] == last
    assert page.position["allowed"] == made.session.trace.positions[last].num_allowed
    assert page.ask("reasons", k=last)["reasons"]


def test_a_machine_that_remembers_each_character_is_shown_and_goes_on() -> None:
    made = Explorer(
        "tiny", explorer.json_schema({"type": "array", "uniqueItems": True}), prompt="A: "
    )
    made.cursor.run(5)
    assert made.session.length == 5
    made.close()
