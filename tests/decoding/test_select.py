"""Whole choices beside greedy decoding, against the model's own numbers; a model that is zlib."""

from __future__ import annotations

import math

import pytest

import explorer
from explorer.decoding.models.model import LanguageModel
from tests.decoding.models import hash_model
from widgets.toy import ToyModel

# The first token of "ab" is likely, but nothing likely follows it.
TRAP = ToyModel(
    {"a": 0.6, "b": 0.4, "<": 0.1}, end=0.05,
    after={"a": {"a": 8, "b": 1, "": 1}, "b": {"b": 8, "a": 1, "": 1}},
)  # fmt: skip


def test_the_trap_of_a_likely_first_token() -> None:
    found = explorer.select(TRAP, "", ["ab", "bb"])
    assert (found.best, found.greedy.choice, found.trapped) == ("bb", "ab", True)
    total = 1.15
    expected = {"bb": math.log(0.4 / total * 0.8), "ab": math.log(0.6 / total * 0.1)}
    for entry in found.scored:
        assert entry.log_prob == pytest.approx(expected[entry.choice])
        assert entry.mean == pytest.approx(entry.log_prob / 2)
    assert found.probability("bb") == pytest.approx(0.32 / (0.32 + 0.06))
    assert "Greedy decoding takes 'ab'" in repr(found)
    with pytest.raises(AttributeError):
        found.greedy = found.scored[0]  # type: ignore[misc]


def test_the_mean_favours_no_short_choice() -> None:
    lengths = ToyModel({"a": 0.6, "b": 0.4}, after={"b": {"b": 1.0}})
    by_sum = explorer.select(lengths, "", ["a", "bbbb"])
    by_mean = explorer.select(lengths, "", ["a", "bbbb"], normalize=True)
    assert (by_sum.best, by_mean.best) == ("a", "bbbb")
    assert by_mean.score(by_mean.scored[0]) == by_mean.scored[0].mean


def log_prob_by_hand(lm: LanguageModel, ids: tuple[int, ...], known: int) -> float:
    total = 0.0
    for end in range(known, len(ids)):
        logits = lm.read(ids[:end]).logits.double()
        total += float(logits.log_softmax(-1)[ids[end]])
    return total


@pytest.mark.parametrize("choices", [["Yes", "No", "Maybe so", "Yes, it is", "Nothing"], ["No"]])
def test_scores_are_the_models_own(choices: list[str]) -> None:
    lm = explorer.load_model("tiny")
    prompt = "Is it raining?\n"
    found = explorer.select(lm, prompt, choices)
    before = lm.encode_prompt(prompt)
    for entry in found.scored:
        ids = lm.encode_prompt(prompt + entry.choice)
        assert ids == (*before, *entry.tokens)
        assert entry.log_prob == pytest.approx(log_prob_by_hand(lm, ids, len(before)), abs=1e-3)
    scores = [entry.log_prob for entry in found.scored]
    assert scores == sorted(scores, reverse=True)


def test_a_choice_that_joins_the_end_of_the_prompt() -> None:
    lm = explorer.load_model("tiny")
    prompt = "The wea"
    found = explorer.select(lm, prompt, ["ther", "k", " "])
    shared = {entry.choice: entry.tokens for entry in found.scored}
    for choice, tokens in shared.items():
        ids = lm.encode_prompt(prompt + choice)
        assert ids[len(ids) - len(tokens) :] == tokens
    begins = {len(lm.encode_prompt(prompt + c)) - len(t) for c, t in shared.items()}
    assert len(begins) == 1  # All are scored from the same place on.


def test_more_choices_than_are_read_abreast() -> None:
    choices = [f"{a}{b}" for a in "fod" for b in ("f", "oo", "d", "foo")] * 9
    lm = hash_model()
    found = explorer.select(lm, "", [text + "d" * (k // 12) for k, text in enumerate(choices)])
    assert len(found.scored) == len(choices)


def test_aliases_and_messages() -> None:
    found = explorer.select(TRAP, "", {"both": ["ab", "bb"], "one": "a"})
    assert found.best in ("both", "one") and {e.choice for e in found.scored} == {"both", "one"}
    assert found.probability("both") + found.probability("one") == pytest.approx(1)
