"""The pictures of the course say in words what they draw, and escape what they are given."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

import explorer
from explorer.errors import ExplorerError
from explorer.tokens.schemes.lookahead import bridges_of, lookahead_machine
from explorer.tokens.schemes.subterminals import scanner_arcs
from explorer.tokens.schemes.terminals import TerminalGrammar
from widgets.figures.snapshot import Snapshot
from widgets.lessons import (
    bar_picture,
    machine_picture,
    scanner_picture,
    scheme_texts,
    spelling_picture,
    spellings_of,
    stage_picture,
    subterminal_picture,
    table_picture,
)

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


def test_figure_3_after_a_bracket_and_twelve() -> None:
    scheme = lookahead_machine(SUMS, PAPER, 0)
    shown = subterminal_picture(scheme, scheme.step(scheme.step(scheme.start, 3) or 0, 2))
    assert shown.text.splitlines() == [
        "Inside int, k = 0: 5 tokens, 4 allowed",
        "0 12: in int, allowed",
        "int -> ): in close, allowed",
        "int -> +: in plus, allowed",
        "int -> plus -> +1: in int, pruned",
    ]
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
