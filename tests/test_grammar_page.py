"""The page on grammars: its code runs, its table is counted out, its pictures are current."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import explorer
from explorer.languages.constraint import Constraint
from widgets.figures.machines.pushdown_figure import (
    FIGURE_6,
    FIGURE_7,
    FIGURE_SYMBOLS,
    FIGURE_TOKENS,
    pushdown_still,
)
from widgets.figures.snapshot import Snapshot
from widgets.toy import ToyModel

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "grammars.md").read_text("utf-8")
TERMINALS = ("foo", "bar", "(", "123", "456", ")")


def run() -> dict[str, object]:
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/grammars.md", "exec"), names)
    return names


def test_the_code_of_the_page_runs() -> None:
    assert {"free", "bound"} <= run().keys()


def test_the_table_of_the_page_is_counted_out() -> None:
    """Every sequence that the model can write and the grammar allows, with its score."""
    names = run()
    lm, calls = names["lm"], names["calls"]
    assert isinstance(lm, ToyModel) and isinstance(calls, Constraint)
    vocabulary = lm.vocabulary
    machine = explorer.compile(calls, vocabulary)
    scores: dict[tuple[bytes, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], int, float]] = [((), machine.start, 1.0)]
    while waiting:
        path, state, score = waiting.pop()
        chances: list[float] = lm.read(path).logits.softmax(0).tolist()
        if machine.is_final(state):
            scores[tuple(vocabulary.tokens[t] or b"" for t in path)] = score * chances[-1]
        for token in range(len(vocabulary) - 1):
            after = machine.step(state, token)
            if after is not None and chances[token] > 0:
                waiting.append(((*path, token), after, score * chances[token]))
    rows = re.findall(r"^\| (`.*`) \| (0\.\d) \| (yes|no) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 4
    shown = {
        tuple(token.encode() for token in re.findall(r"`([^`]+)`", tokens)): float(score)
        for tokens, score, _ in rows
    }
    assert scores.keys() == shown.keys()
    assert all(math.isclose(scores[path], shown[path], rel_tol=1e-6) for path in shown)
    crossing = {
        path: any(not any(token.decode() in word for word in TERMINALS) for token in path)
        for path in shown
    }
    assert [*crossing.values()] == [answer == "yes" for _, _, answer in rows]

    def best(among: dict[tuple[bytes, ...], float]) -> bytes:
        return b"".join(max(among, key=among.__getitem__))

    assert best(scores) == b"foo(123)"
    assert best({path: s for path, s in scores.items() if not crossing[path]}) == b"bar(456)"
    mass = {text: sum(s for p, s in scores.items() if b"".join(p) == text)
            for text in (b"foo(123)", b"bar(456)")}  # fmt: skip
    assert math.isclose(mass[b"foo(123)"], 0.6, rel_tol=1e-6)
    assert math.isclose(mass[b"bar(456)"], 0.4, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("pushdown-characters", lambda: pushdown_still(FIGURE_6, symbols=FIGURE_SYMBOLS)),
        (
            "pushdown-tokens",
            lambda: pushdown_still(FIGURE_7, words=[word.decode() for word in FIGURE_TOKENS]),
        ),
    ],
    ids=["characters", "tokens"],
)
def test_the_pictures_of_the_page_hold_every_arc(name: str, drawn: Callable[[], Snapshot]) -> None:
    """The picture that is kept shows what is drawn now; places may differ with the layout."""
    text = re.findall(r"<text[^>]*>(.*?)</text>", (DOCS / "images" / f"{name}.svg").read_text())
    now = re.findall(r"<text[^>]*>(.*?)</text>", drawn().svg)
    assert sorted(text) == sorted(now)


def test_the_figure_of_tokens_is_stepped() -> None:
    """a aaab bb b, with the stack after each token."""
    words = [word.decode() for word in FIGURE_TOKENS]
    config: tuple[int, tuple[int, ...]] = (FIGURE_7.start, ())
    told = [pushdown_still(FIGURE_7, config, words).text]
    for token in (0, 3, 2, 1):
        (config,) = FIGURE_7.step(config, token)
        told.append(pushdown_still(FIGURE_7, config, words).text)
    lines = [each.splitlines()[0] for each in told]
    assert lines == [
        "state 0, the stack is empty",
        "state 1, the stack is empty",
        "state 2, on the stack: 2 2 2",
        "state 2, on the stack: 2",
        "state 2, the stack is empty; the text may end",
    ]
    assert told[2].splitlines()[1:] == [
        "b: pops 2, leads to state 2",
        "bb: pops 2 2, leads to state 2",
    ]
