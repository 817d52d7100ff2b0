"""Lessons, predictions, and invasiveness as a lesson shows it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pytest

import explorer
from explorer import Sampler
from explorer.analysis.invasiveness import schemes_of
from explorer.analysis.invasiveness.schemes import TEMPLATES
from explorer.decoding.models.model import Reading
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.schemes.lookahead import bridges_of, lookahead_machine
from explorer.tokens.schemes.subterminals import scanner_arcs
from explorer.tokens.schemes.terminals import FLAT_OBJECT, TerminalGrammar
from widgets.cursor import whole_trace
from widgets.figures.panels.schemes import ALONE
from widgets.figures.snapshot import Snapshot
from widgets.lessons import (
    FIGURE_4,
    bar_picture,
    lettered_picture,
    machine_picture,
    predict,
    scanner_picture,
    scheme_texts,
    spelling_picture,
    spellings_of,
    stage_picture,
    subterminal_picture,
    table_picture,
)
from widgets.lessons.invasive import PROMPT, SchemeTexts, example_template
from widgets.lessons.prediction import FOLDED, WAITING
from widgets.views.explorer import Explorer

# The pictures of the course say in words what they draw, and escape what they are given.


LM = explorer.load_model("tiny-sp")
SVG = "{http://www.w3.org/2000/svg}"


def described(shown: Snapshot) -> str:
    """The title of the picture, which must be well-formed and say what the text says."""
    root = ElementTree.fromstring(shown.svg)
    assert root.get("role") == "img"
    title = root.findtext(f"{SVG}title")
    assert title
    return title


def test_bars_say_their_numbers() -> None:
    shown = bar_picture("<b>", {"a": (1, 2), "<i>": (0, 4)}, ("x", "y"), unit=" %", digits=0)
    assert described(shown).startswith("<b>. a: x 1 %, y 2 %")
    bars = [float(w) for w in re.findall(r'width="([\d.]+)" height="13"', shown.svg)]
    # The two of the legend first; then as long as the numbers.
    assert bars[2:] == pytest.approx([82.5, 165, 0, 330])
    for rows in ({}, {"a": 1, "b": (1, 2)}, {"a": -1.0}):
        with pytest.raises(ExplorerError):
            bar_picture("t", rows)


def test_tables_keep_spaces_and_escape() -> None:
    shown = table_picture("<t>", ["a", "b"], [[" x", 1.234], ["<b>", "y"]])
    page = shown.to_mimebundle()["text/html"]
    assert (
        "&lt;b&gt;" in page and "<b>" not in page and ">1.23<" in page and "white-space:pre" in page
    )
    with pytest.raises(ExplorerError):
        table_picture("t", ["a"], [["x", "y"]])


@pytest.mark.parametrize("text", [" a", "Rom", " 17", "ü"])
def test_all_spellings_are_counted(text: str) -> None:
    vocabulary = LM.vocabulary

    def ways(rest: bytes) -> int:
        if not rest:
            return 1
        return sum(
            ways(rest[len(data) :]) for data in vocabulary.tokens if data and rest.startswith(data)
        )

    found = spellings_of(vocabulary, text)
    assert found.count == ways(text.encode())
    # The tokenizer puts a space before every text.
    if text.startswith(" "):
        assert list(found.own) == LM.tokenizer.encode(text[1:], add_special_tokens=False)
    shown = spelling_picture(LM, text)
    assert f"{found.count} ways" in described(shown)
    assert '<path d="M' in shown.svg and 'stroke="#0063a0" stroke-width="2.0"' in shown.svg


def test_machines_and_stages() -> None:
    assert "0 -a-> 1" in described(machine_picture(explorer.regex("a+")))
    stage = stage_picture(explorer.regex("[ab]+").restrict(chars="a"))
    assert "0 -a-> 0" in described(stage)
    preprocessed = stage_picture(explorer.regex("a b").preprocessed(LM.tokenizer))
    assert "␣ : ▁" in described(preprocessed) or "▁" in described(preprocessed)
    with pytest.raises(ExplorerError, match="relation between tokens"):
        stage_picture(explorer.regex("a").canonical())
    with pytest.raises(ExplorerError, match="no stage"):
        stage_picture(explorer.regex("a"))


SUMS = TerminalGrammar(
    {"plus": r"\+", "open": r"\(", "close": r"\)", "int": "([1-9][0-9]*)|(0+)"},
    {"E": (("E", "plus", "E"), ("open", "E", "close"), ("int",))},
)
PAPER = explorer.Vocabulary.from_bytes([b"+1", b"1 ", b"12", b"(", b")", b"0", b"+"], eos_ids=[7])


@pytest.mark.parametrize("k", [0, 1, 2, None])
@pytest.mark.parametrize("path", [(), (3,), (3, 2), (2, 6), (5, 5)], ids=str)
def test_the_subterminal_tree_shows_what_the_mask_allows(k: int | None, path: tuple[int]) -> None:
    """The tokens drawn as allowed are the mask, at the paper's own example and other places."""
    scheme = lookahead_machine(SUMS, PAPER, k)
    state = scheme.start
    for token in path:
        after = scheme.step(state, token)
        assert after is not None
        state = after
    shown = subterminal_picture(scheme, state)
    allowed = {scheme.vocabulary.tokens[t] for t in scheme.allowed(state).nonzero()[0] if t < 7}
    lines = [line.rsplit(": in ", 1) for line in shown.text.splitlines()[1:]]
    words = [
        word
        for way, verdict in lines
        if verdict.endswith("allowed")
        for word in way.rsplit(" -> ", 1)[-1].split(" ")
    ]
    assert {word.encode() for word in words} == allowed
    assert f"{len(allowed)} allowed" in shown.text.splitlines()[0]
    assert described(shown) == "; ".join(shown.text.splitlines())
    assert shown.svg.count('stroke="#0063a0"') >= bool(allowed)


def test_a_tree_of_too_many_arcs_is_refused() -> None:
    large = explorer.load_model("tiny").vocabulary
    with pytest.raises(ExplorerError, match="arcs"):
        words = {f"w{k}": f"{chr(97 + k)}+" for k in range(12)}
        every = TerminalGrammar(words, {"T": (("T", "T"), *((name,) for name in words))})
        subterminal_picture(lookahead_machine(every, large, None))


def test_the_scanner_of_the_terminals() -> None:
    shown = scanner_picture(SUMS)
    assert described(shown).startswith("The scanner of all terminals: 9 states; ")
    arcs = [line for line in shown.text.splitlines() if "->" in line]
    adjacent = sum(
        len(SUMS.adjacent[name]) * sum(dfa.is_accepting(q) for q in range(dfa.num_states))
        for name, dfa in SUMS.machines.items()
    )
    assert sum("-ε->" in arc for arc in arcs) == adjacent
    assert len(arcs) - adjacent == sum(len(found) for found in scanner_arcs(SUMS).values())
    alone = scanner_picture(SUMS, "int").text
    assert alone.splitlines()[1:] == [
        "0 -0-> 1", "0 -1-9-> 2", "1 -0-> 1", "2 -0-9-> 2", "start 0; a terminal may end in 1, 2",
    ]  # fmt: skip
    with pytest.raises(ExplorerError, match="no terminal 'float'"):
        scanner_picture(SUMS, "float")


def test_schemes_are_rows() -> None:
    """The rows show the data of the runs."""
    made = scheme_texts(explorer.load_model("tiny"), "The sum is ", SUMS, max_tokens=6)
    shown = made.picture()
    lines = shown.text.splitlines()[1:]
    assert described(shown) == "; ".join(shown.text.splitlines())
    pairs = [*made.pairs.values()]
    runs = [pairs[0].free, *(pair.constrained for pair in pairs)]
    for line, run in zip(lines, runs, strict=True):
        bits = [float(bit) for bit in re.findall(r"\[([\d.]+)‿?\]", line)]
        assert bits == pytest.approx([-p / math.log(2) for p in run.log_probs], abs=0.051)
        assert line.count("‿") == bridges_of(SUMS, made.lm.vocabulary, run.tokens)
    assert [line.split(":")[0] for line in lines] == ["the model alone", *made.pairs]
    for line, pair in zip(lines[1:], pairs, strict=True):
        told = line.split(": ", 1)[1].split(" | ")
        marked = [k for k, token in enumerate(told) if "first token that differs" in token]
        assert marked == ([] if pair.parted is None else [pair.parted])


# A question gives nothing away before a guess, and says what a wrong one would mean.


def sent(asked: Any) -> str:
    """All that the page of a widget holds."""
    return repr({name: asked.get_state()[name] for name in ("kind", "choices", "picture", "reply")})


def test_a_page_has_no_answer_before_the_guess() -> None:
    asked = predict(
        731, "secret words", bar_picture("hidden", {"a": 1.0}), wrong={5: "a secret meaning"}
    )
    assert asked.kind == "number" and asked.reply == {}
    assert not any(word in sent(asked) for word in ("731", "secret", "hidden"))
    assert asked.guess("5") == "You predicted 5; it is 731. a secret meaning"
    assert asked.reply["right"] is False
    assert [sorted(part) for part in asked.reply["parts"]] == [["text"], ["alt", "svg", "text"]]
    assert asked.guess("731") == "You predicted 731, and so it is."


def test_each_kind_of_guess() -> None:
    yes = predict(True, wrong={False: "It does."})
    assert yes.choices == ["yes", "no"]
    assert yes.guess("no") == "You predicted no; it is yes. It does."
    assert yes.guess(True) == "You predicted yes, and so it is."
    choice = predict("b", choices=["a", "b"], otherwise="Look again.")
    assert choice.guess("a") == "You predicted a; it is b. Look again."
    assert predict(2, choices=range(4)).guess("2") == "You predicted 2, and so it is."
    near = predict(47.7, within=0.5)
    assert near.guess("48,0").endswith("and so it is.") and not near.guess("49").endswith(
        "so it is."
    )
    assert near.guess("many") == "many is not a number." and "parts" not in near.reply
    state = predict("fo", click=lettered_picture("T_V", FIGURE_4), wrong={"f": "One earlier."})
    assert state.kind == "state" and "<circle" in state.picture
    assert state.guess("f") == "You predicted f; it is fo. One earlier."
    with pytest.raises(ExplorerError, match="choices"):
        predict("c", choices=["a", "b"])


def test_a_message_of_a_page_is_answered_and_a_strange_one_is_no_error() -> None:
    asked = predict(3)
    asked._heard(asked, {"guess": "3"}, [])
    assert asked.reply["right"] is True
    asked._heard(asked, {}, [])
    assert asked.reply["said"].startswith("KeyError")


def test_without_widgets_the_answer_is_folded() -> None:
    table = table_picture("Sums", ["a"], [["<b>"]])
    bundle = predict("x", table, wrong={"y": "No."})._repr_mimebundle_()
    assert bundle is not None
    data = bundle[0]
    assert data["text/plain"] == WAITING and "x" not in WAITING.split()
    assert data[FOLDED]["said"] == "The answer is x.\nIf you said y: No."
    assert data["text/html"].startswith("<details><summary>The answer</summary>")
    assert "&lt;b&gt;" in data["text/html"] and "<b>" not in data["text/html"]


# The rows of schemes show the data of the runs; as lines of a cursor they are the same texts.


LM_OF_INVASIVENESS = explorer.load_model("tiny")


@pytest.fixture(scope="module")
def shown() -> SchemeTexts:
    return scheme_texts(LM_OF_INVASIVENESS, max_tokens=14, lookaheads=(0, 1))


def test_the_rows_are_the_runs(shown: SchemeTexts) -> None:
    rows = shown.rows
    made = schemes_of(
        LM_OF_INVASIVENESS, PROMPT, FLAT_OBJECT, template=example_template(), lookaheads=(0, 1)
    )
    assert [row["name"] for row in rows] == [ALONE, *(scheme.name for scheme in made)]
    for row, scheme in zip(rows[1:], made, strict=True):
        (pair,) = scheme.compared(LM_OF_INVASIVENESS, PROMPT, max_tokens=14)
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
        assert len(marked["bridge"]) == bridges_of(
            FLAT_OBJECT, LM_OF_INVASIVENESS.vocabulary, run.tokens
        )
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
        LM_OF_INVASIVENESS,
        prompt,
        FLAT_OBJECT,
        lookaheads=(1,),
        sampler=Sampler(1.0),
        seed=3,
        max_tokens=14,
    )
    scheme = schemes_of(LM_OF_INVASIVENESS, prompt, FLAT_OBJECT, lookaheads=(1,))[0]
    (pair,) = scheme.compared(
        LM_OF_INVASIVENESS, prompt, sampler=Sampler(1.0), seed=3, max_tokens=14
    )
    assert [token["id"] for token in made.rows[1]["tokens"]] == list(pair.constrained.tokens)
    assert made.cursor().lines[1][1].length == len(pair.constrained.tokens)


def test_a_constraint_without_terminals_or_template() -> None:
    made = scheme_texts(
        LM_OF_INVASIVENESS, "The capital of France is", explorer.choice([" Paris", " Rome"])
    )
    assert [row["name"] for row in made.rows] == [ALONE, "ours"]
    assert made.rows[1]["bridges"] is None and "note" not in made.rows[1]
    picture = made._repr_mimebundle_()
    root = ElementTree.fromstring(picture["image/svg+xml"])
    assert root.get("role") == "img" and "ours: ␣Paris [0.0]" in picture["text/plain"]


class NotingModel:
    """The tiny model, which notes what it reads, and whose context may be full."""

    def __init__(self) -> None:
        self.name, self.vocabulary, self.encode_prompt = (
            LM_OF_INVASIVENESS.name,
            LM_OF_INVASIVENESS.vocabulary,
            LM_OF_INVASIVENESS.encode_prompt,
        )
        self.seen = list[tuple[int, ...]]()
        self.full: tuple[int, ...] | None = None

    def read(self, tokens: Sequence[int]) -> Reading:
        self.seen.append(tuple(tokens))
        if self.full is not None and self.seen[-1][: len(self.full)] == self.full:
            raise ContextFull("The context is full.", remedy="Shorten it.")
        return LM_OF_INVASIVENESS.read(tokens)


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
    lm.full = (*LM_OF_INVASIVENESS.encode_prompt("Name:"), ids["template"][0])
    rows = {
        row["name"]: row for row in scheme_texts(lm, "Name:", template=endless, max_tokens=3).rows
    }
    assert sorted(rows) == sorted(ids)
    for name in same:
        assert rows[name]["failed"] and "The context is full." in rows[name]["said"]
        assert not rows[name]["tokens"]
