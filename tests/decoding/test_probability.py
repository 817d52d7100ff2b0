"""Probabilities against enumeration: every sequence of a toy vocabulary, one read at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer import choice, literal, regex
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.probability import (
    masking_distortion,
    probability,
    probability_mass,
    sample_conditional,
)
from explorer.decoding.probability.enumeration import tree_size
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from tests.decoding.models import HashModel, language_model

PIECES = [b"a", b"b", b"ab", b"ba", b"c", b"aa"]
"""Few enough that all sequences can be tried."""

EXACT = 1e-6


def odd(value: Any) -> Any:
    """A value that a checker knows nothing of."""
    return value


def toy() -> HashModel:
    return HashModel(
        explorer.Vocabulary.from_bytes([*PIECES, None], eos_ids=[7, 8]), extra=2, scale=1.0
    )


FINITE = [
    choice(["ab", "ba", "c"]),
    choice(["abab", "aab", "ba", "b"]),
    regex("(ab|ba|c){1,2}"),
    literal("aabb"),
]


def log_softmax(values: Any) -> Any:
    logits = values.double().numpy()
    return logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())


def sequences(lm: LanguageModel, c: Constraint, longest: int = 4) -> Iterator[tuple[int, ...]]:
    """Every way to spell a text of the constraint, by trying all; the end is left out."""
    tokens = lm.vocabulary.tokens
    usable = [i for i, data in enumerate(tokens) if data]
    for length in range(longest + 1):
        for ids in product(usable, repeat=length):
            if c.accepts(b"".join(tokens[i] or b"" for i in ids)):
                yield ids


def log_model(lm: LanguageModel, prompt: str, ids: tuple[int, ...], *, end: bool) -> float:
    """The model's log-probability of some ids, and of any of the ends after them."""
    path, total = list(lm.encode_prompt(prompt)), 0.0
    for token in ids:
        total += float(log_softmax(lm.read(path).logits)[token])
        path.append(token)
    if end:
        row = log_softmax(lm.read(path).logits)
        total += math.log(sum(math.exp(row[i]) for i in lm.vocabulary.eos_ids))
    return total


def log_masked(lm: LanguageModel, prompt: str, c: Constraint, ids: tuple[int, ...]) -> float:
    """The same under the mask: what may be finished within the known sequences is allowed."""
    whole = list(sequences(lm, c))
    path, total = list(lm.encode_prompt(prompt)), 0.0
    for k in range(len(ids) + 1):
        row = log_softmax(lm.read(path).logits)
        before = ids[:k]
        allowed = {other[k] for other in whole if other[:k] == before and len(other) > k}
        if before in whole:
            allowed |= set(lm.vocabulary.eos_ids)
        mass = sum(math.exp(row[i]) for i in allowed)
        taken = [ids[k]] if k < len(ids) else list(lm.vocabulary.eos_ids)
        total += math.log(sum(math.exp(row[i]) for i in taken) / mass)
        path += taken[:1]
    return total


@pytest.mark.parametrize("c", FINITE, ids=str)
def test_the_mass_is_the_sum_over_all_sequences(c: Constraint) -> None:
    lm = toy()
    wanted = math.fsum(math.exp(log_model(lm, "x", ids, end=True)) for ids in sequences(lm, c))
    found = probability_mass(lm, "x", c, progress=False)
    assert found.exact and found.reached and found.cut == 0
    assert found.value == pytest.approx(wanted, rel=EXACT)
    assert found.log_value == pytest.approx(math.log(wanted), abs=EXACT)
    assert found.texts == len(list(sequences(lm, c)))


@pytest.mark.parametrize("c", FINITE, ids=str)
def test_without_the_end_a_text_need_only_begin_so(c: Constraint) -> None:
    lm = toy()
    whole = set(sequences(lm, c))
    # A sequence counts once: where a complete one goes on to another, the first has it.
    first = [s for s in whole if not any(s[:k] in whole for k in range(len(s)))]
    wanted = math.fsum(math.exp(log_model(lm, "x", ids, end=False)) for ids in first)
    found = probability_mass(lm, "x", c, ends=False, progress=False)
    assert found.value == pytest.approx(wanted, rel=EXACT)


@pytest.mark.parametrize("c", FINITE, ids=str)
def test_both_distributions_are_those_of_enumeration(c: Constraint) -> None:
    lm = toy()
    whole = list(sequences(lm, c))
    own = {ids: math.exp(log_model(lm, "y", ids, end=True)) for ids in whole}
    mask = {ids: math.exp(log_masked(lm, "y", c, ids)) for ids in whole}
    total = math.fsum(own.values())
    assert math.fsum(mask.values()) == pytest.approx(1, abs=EXACT)
    found = masking_distortion(lm, "y", c, progress=False)
    apart = 0.5 * sum(abs(own[ids] / total - mask[ids]) for ids in whole)
    assert found.exact and found.total_variation == pytest.approx(apart, abs=EXACT)
    assert found.total_variation_texts is not None
    assert found.total_variation_texts <= found.total_variation + EXACT
    by_text: dict[bytes, list[float]] = {}
    for ids in whole:
        data = b"".join(lm.vocabulary.tokens[i] or b"" for i in ids)
        sums = by_text.setdefault(data, [0.0, 0.0])
        sums[0] += own[ids] / total
        sums[1] += mask[ids]
    assert {share.data for share in found.shares} == set(by_text)
    for share in found.shares:
        assert share.conditional == pytest.approx(by_text[share.data][0], abs=EXACT)
        assert share.masked == pytest.approx(by_text[share.data][1], abs=EXACT)
        assert share.model == pytest.approx(by_text[share.data][0] * total, rel=EXACT)
    assert "total variation" in str(found)


@pytest.mark.parametrize("c", FINITE, ids=str)
def test_given_ids_have_the_probabilities_of_a_session(c: Constraint) -> None:
    lm = toy()
    session = explorer.Session(lm, c, "z", sampler=explorer.Sampler(1.0), seed=4)
    trace = session.run()
    asked = probability(lm, "z", trace.ids, c)
    assert asked.rejected is None
    for step, own, masked in zip(trace.steps, asked.model, asked.constrained, strict=True):
        assert own == pytest.approx(step.log_prob_model, abs=EXACT)
        assert masked == pytest.approx(step.log_prob_constrained, abs=EXACT)
    assert asked.cumulative[-1] == pytest.approx(asked.log_prob)
    assert asked.cumulative_constrained[-1] == pytest.approx(asked.log_prob_constrained)
    assert asked.log_prob == pytest.approx(
        log_model(lm, "z", trace.ids[:-1], end=False) + asked.model[-1], abs=EXACT
    )
    assert b"".join(asked.pieces).decode() == trace.text


def test_ids_that_are_not_allowed_have_no_probability_under_the_mask() -> None:
    lm = toy()
    asked = probability(lm, "", [0, 4, 1], regex("ab"))
    assert asked.rejected == 1 and asked.log_prob_constrained == -math.inf
    assert asked.constrained[0] > -math.inf and asked.constrained[1:] == (-math.inf, -math.inf)
    assert math.isfinite(asked.log_prob)
    free = probability(lm, "", [0, 4, 1])
    assert free.model == asked.model and free.rejected is None
    assert probability(lm, "", []).log_prob == 0
    with pytest.raises(ExplorerError, match="gives 11 logits"):
        probability(lm, "", [11])


def test_a_real_model_shares_what_it_reads() -> None:
    lm = language_model("llama")
    c = choice(["yes", "no", "maybe yes", "yes and no"])
    found = probability_mass(lm, "the", c, progress=False)
    wanted = 0.0
    for ids in spelled(lm, c):
        wanted += math.exp(log_model(lm, "the", ids, end=True))
    assert found.exact and found.texts == len(list(spelled(lm, c))) > 64  # More than one batch.
    assert found.value == pytest.approx(wanted, rel=1e-4)


def spelled(lm: LanguageModel, c: Constraint) -> Iterator[tuple[int, ...]]:
    """Every way to spell the texts of a choice, by trying each token at each place."""
    tokens = lm.vocabulary.tokens

    def rest(text: bytes, ids: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not text:
            yield ids
        for i, data in enumerate(tokens):
            if data and text.startswith(data):
                yield from rest(text[len(data) :], (*ids, i))

    source: Any = c.source
    for text in source.texts:
        yield from rest(text.encode(), ())


def test_the_size_is_known_before_the_model_is_asked() -> None:
    lm = toy()
    for c in FINITE:
        prefixes = {s[:k] for s in sequences(lm, c) for k in range(len(s) + 1)}
        rule = Rule.of(c, lm.vocabulary)
        assert tree_size(rule, 1000) == len(prefixes)
        assert tree_size(rule, len(prefixes) - 1) is None
    seen: list[tuple[int, int]] = []
    probability_mass(lm, "", FINITE[1], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == tree_size(Rule.of(FINITE[1], lm.vocabulary), 1000)
    lm.reads = 0
    with pytest.raises(ExplorerError, match=r"canonical\(\)"):
        probability_mass(lm, "", regex("[ab]*"), method="exact")
    with pytest.raises(ExplorerError, match="nodes=3"):
        probability_mass(lm, "", FINITE[1], method="exact", nodes=3)
    assert lm.reads == 0


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("c", FINITE[:3], ids=str)
def test_sampling_finds_the_exact_mass(c: Constraint, ends: bool) -> None:
    lm = toy()
    exact = probability_mass(lm, "x", c, ends=ends, progress=False)
    found = probability_mass(
        lm, "x", c, ends=ends, method="sampling", error=0.05, seed=1, progress=False
    )
    assert not found.exact and found.reached
    low, high = found.interval
    half = (high - low) / 2
    assert half <= 0.05 * found.value * 1.001
    # Twice the interval: a seed in a million misses it.
    assert abs(found.value - exact.value) < 2.5 * half
    assert 1 <= found.effective <= found.texts + 1e-9


def test_an_infinite_constraint_is_sampled_up_to_the_longest_text() -> None:
    lm = toy()
    c = regex("(ab)*")
    found = probability_mass(lm, "x", c, samples=2000, max_tokens=3, error=0.01, progress=False)
    # Two tokens and the end at most: abab as ab ab, or a ba b cut, and so on.
    short = [ids for ids in sequences(lm, c, 2)]
    wanted = math.fsum(math.exp(log_model(lm, "x", ids, end=True)) for ids in short)
    assert found.cut > 0 and not found.exact
    low, high = found.interval
    assert abs(found.value - wanted) < 2.5 * (high - low) / 2
    nothing = probability_mass(lm, "x", literal("aabbaabb"), method="sampling", samples=64,
                               max_tokens=1, progress=False)  # fmt: skip
    assert nothing.value == 0 and nothing.cut == 64 and not nothing.reached


@pytest.mark.parametrize("way", ["rejection", "smc"])
def test_samples_follow_the_conditional_and_not_the_masked(way: str) -> None:
    lm = toy()
    c = regex("a?b?c?")
    truth = masking_distortion(lm, "near", c, progress=False)
    assert truth.total_variation > 0.3  # Else nothing would be told apart.
    if way == "smc":
        drawn = sample_conditional(lm, "near", c, 500, particles=1000, seed=2, progress=False)
        assert drawn.log_mass == pytest.approx(truth.log_mass, abs=0.15)
        assert len(drawn.texts) == 500 and drawn.effective <= 1000
        data = drawn.data
    else:  # As the docstring of the module says.
        texts = explorer.generate(lm, ["near"] * 3000, c, explorer.Sampler(1.0), 9, seed=2)
        numbers = np.random.default_rng(3).random(len(texts))
        data = [
            one.data for one, number in zip(texts, numbers, strict=True)
            if number < math.exp(sum(one.log_probs_model) - sum(one.log_probs_constrained))
        ]  # fmt: skip
        assert len(data) / 3000 == pytest.approx(math.exp(truth.log_mass), abs=0.04)
    counts = {text: data.count(text) / len(data) for text in set(data)}
    apart = {
        name: 0.5 * sum(abs(counts.get(s.data, 0) - getattr(s, name)) for s in truth.shares)
        for name in ("conditional", "masked")
    }
    assert apart["conditional"] < 0.08 and apart["masked"] > 0.2


def test_sampled_distortion_is_near_the_exact_one() -> None:
    lm = toy()
    exact = masking_distortion(lm, "far", FINITE[1], progress=False)
    apart, masses = [], []
    for seed in range(2):
        sampled = masking_distortion(
            lm, "far", FINITE[1], method="sampling", samples=4000, seed=seed, progress=False
        )
        assert not sampled.exact and sampled.total_variation_texts is None
        apart.append(sampled.total_variation)
        masses.append(math.exp(sampled.log_mass))
    # One of these is off by 0.004 and by 2 % in standard deviation, so their mean by less.
    assert np.mean(apart) == pytest.approx(exact.total_variation, abs=0.007)
    assert np.mean(masses) == pytest.approx(math.exp(exact.log_mass), rel=0.04)


def test_several_sequences_at_once_are_each_as_alone() -> None:
    lm = explorer.load_model("tiny")
    words = regex(" [A-Z][a-z]+")
    rows = [list(lm.vocabulary.ids_of(b" Paris")), list(lm.vocabulary.ids_of(b"a")), list[int]()]
    prompt = "The capital of France is"
    several = explorer.probability(lm, prompt, rows, words)
    for one, row in zip(several, rows, strict=True):
        alone = explorer.probability(lm, prompt, row, words)
        assert (one.tokens, one.pieces, one.rejected) == (
            alone.tokens,
            alone.pieces,
            alone.rejected,
        )
        assert one.model == pytest.approx(alone.model, abs=1e-4)
        assert one.constrained == pytest.approx(alone.constrained, abs=1e-4)
    assert [one.rejected for one in several] == [None, 0, None]
    as_array = explorer.probability(lm, prompt, np.array([rows[0], rows[0]]), words)  # pyright: ignore
    assert [one.tokens for one in as_array] == [tuple(rows[0])] * 2
    alone = explorer.probability(lm, prompt, torch.tensor(rows[0]), words)  # pyright: ignore
    assert alone.tokens == tuple(rows[0])
    assert explorer.probability(lm, prompt, [], words).tokens == ()
    for odd in ([1, [2]], ["no one token"], "ab"):
        with pytest.raises(ExplorerError, match=r"ids|not a token id|not one token"):
            explorer.probability(lm, prompt, odd, words)  # pyright: ignore


def test_a_text_of_one_token_stands_for_its_id() -> None:
    """Alone, in one of several sequences, and in a run from elsewhere."""
    lm, constraint = toy(), regex("(ab|ba|c){1,2}")
    by_id = probability(lm, "", [2, 4, 7], constraint)
    assert probability(lm, "", ["ab", "c", 7], constraint) == by_id
    assert probability(lm, "", [["ab", 4, 7], [2]], constraint)[0] == by_id
    assert probability(lm, "", ["ab", "c"], constraint).tokens == (2, 4)
    with pytest.raises(ExplorerError, match="'abc' is not one token"):
        probability(lm, "", ["abc"], constraint)
    session = explorer.Session.from_ids(lm.vocabulary, constraint, ["ab", 4])
    assert session.ids == (2, 4)
