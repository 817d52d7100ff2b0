"""The notebook on models of one's own runs offline, and shows what its text speaks of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import pytest

import explorer
from explorer.course.checking import EXERCISES
from explorer.decoding.models.tiny import FOLDER
from explorer.servers import runs_of, verdict_of
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_bring_your_own_model(show: Show) -> None:
    shown = show("20_bring_your_own_model")
    pictures(shown, "own-step", "verdict-picture")
    # The folder, as its own files say.
    config = json.loads((FOLDER / "config.json").read_text())
    size = len(json.loads((FOLDER / "tokenizer.json").read_text())["model"]["vocab"])
    assert f"It is {config['vocab_size'] - shown.value('len(lm.vocabulary)')}." in (
        shown.printed("width")
    )
    assert 0 <= shown.value("len(lm.vocabulary)") - size <= 5  # The special tokens.
    assert shown.printed("tokenizer").startswith("True ()")
    # A batch writes what each text alone has, and transformers' own loop the same.
    assert "It is yes." in shown.printed("batch")
    texts = shown.value("together")
    assert texts[:2] == [" Paris", " Rome"] and re.fullmatch("[0-9]{4}-[0-9]{2}", texts[2])
    assert shown.printed("generate").strip() == "[' Paris', ' Rome']"
    # The counts, by hand: 1 + 4 and 1 + 2 points of 14.
    assert shown.printed("own").strip() == "a language model: True"
    points = {"cat": 5, "dog": 3}
    assert sum(points.values()) + 6 == 14
    assert shown.value("chances_after") == pytest.approx([5 / 14, 3 / 14])
    assert shown.value("mass") == pytest.approx(8 / 14)
    assert "It is 0.625." in shown.printed("own-step")
    assert "1 of 8 tokens allowed" in widget(shown)
    # The log: the first answer fails where the pattern does, the second is whole.
    first, second = shown.value("[e['response']['choices'][0]['text'] for e in entries]")
    pattern = " (New York|Boston)"
    assert first.startswith(" New Delhi") and not re.fullmatch(pattern, first)
    assert re.fullmatch(pattern, second)
    assert "It is Delhi." in shown.printed("verdicts")
    assert shown.value("[v.outcome for v in verdicts]") == ["masked", "whole"]
    assert shown.plain("verdict-picture").count("(the first that is masked)") == 1
    said = shown.printed("beside")
    assert "are the model's own, before the mask." in said
    assert "are those under the mask." in said
    (york,) = re.findall(r"\d+ +(\S+) +(\S+) +\S+  ' York'", said)
    assert math.exp(float(york[0])) > 0.99 and math.exp(float(york[1])) < 0.01
    assert shown.printed("cli").rstrip().endswith("exit status 1")
    assert "would have been masked" in shown.printed("cli")
    assert "Position 1 after 4 bytes" in widget(shown, "replay")
    # The page: nothing is loaded from elsewhere; other addresses are names, such as that of SVG.
    assert "It is 0." in shown.printed("page")
    page = shown.value("page")
    assert re.findall(r"""(?:src|href)\s*=\s*["']https?:""", page) == []
    assert set(re.findall(r"https?://[\w.-]+", page)) <= {"http://www.w3.org"}
    assert len(page) > 100_000


def test_the_exercises_on_models_of_ones_own() -> None:
    # After dog: ran twice and sat once, and a point each.
    assert answer("own-counted") == pytest.approx((2 + 1) / ((2 + 1) + (1 + 1)))
    assert answer("own-width") == 151_936 - 151_669
    vocabulary = explorer.Vocabulary.from_file(FOLDER / "tokenizer.json")
    log = {
        "request": {"structured_outputs": {"regex": "[0-9]{4}"}},
        "response": {"choices": [{"index": 0, "text": "20", "finish_reason": "length"}]},
    }
    (run,) = runs_of(json.dumps(log).encode())
    assert verdict_of(run, vocabulary).outcome == answer("own-outcome")
