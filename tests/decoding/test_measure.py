"""The numbers in a trace equal those of an independent computation from the raw logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.records import measure
from tests.decoding.models import hash_model, language_model

EXACT = 1e-9
SHORT = 1e-5  # Candidates keep seven digits, and filters work in float32.


def softmax(values: Any) -> Any:
    shifted = np.exp(values - values.max())
    return shifted / shifted.sum()


def filters(logits: Any, sampler: Sampler) -> Any:
    """Temperature, top-k, top-p, min-p, written out with sorting and loops."""
    temperature = sampler.temperature or 1.0
    p = softmax(logits / temperature)
    if sampler.temperature == 0:
        return p
    order = sorted(range(len(p)), key=lambda i: (-p[i], i))
    keep = set(order)
    if sampler.top_k is not None:
        keep = set(order[: sampler.top_k])
    p = np.where([i in keep for i in range(len(p))], p, 0.0)
    p /= p.sum()
    if sampler.top_p is not None:
        total, nucleus = 0.0, set[int]()
        for i in order:
            if total >= sampler.top_p and nucleus:
                break
            nucleus.add(i)
            total += p[i]
        p = np.where([i in nucleus for i in range(len(p))], p, 0.0)
        p /= p.sum()
    if sampler.min_p is not None:
        p = np.where(p >= sampler.min_p * p.max(), p, 0.0)
        p /= p.sum()
    return p


def bits(p: Any, q: Any = None) -> float:
    kept = p > 0
    if q is None:
        return float(-(p[kept] * np.log2(p[kept])).sum())
    return float((p[kept] * np.log2(p[kept] / q[kept])).sum())


SAMPLERS = [
    Sampler(0.0),
    Sampler(1.0),
    Sampler(0.7),
    Sampler(1.0, top_k=3),
    Sampler(0.9, top_p=0.8),
    Sampler(1.4, top_k=9, top_p=0.9, min_p=0.05),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("kind", ["hash", "llama"])
def test_a_trace_equals_numpy_on_its_raw_logits(kind: str, sampler: Sampler) -> None:
    model: Any = hash_model() if kind == "hash" else language_model(kind)
    pattern = explorer.regex("((foo)+d|yes|no|é)(, ([12]{1,9}|no))*")
    made = Session(model, pattern, "hi", sampler=sampler, seed=4, max_tokens=9)
    trace = made.run()
    raw_sum = constrained_sum = 0.0
    for position, step in zip(trace.positions, trace.steps, strict=False):
        distribution = position.distribution
        assert distribution is not None
        logits = made.logits(position.index).numpy().astype(np.float64)
        allowed = np.zeros(len(logits), bool)
        allowed[: len(made.vocabulary)] = trace.allowed(position.index)
        p = softmax(logits)
        f = filters(logits, sampler)
        c = np.zeros(len(p))
        c[allowed] = filters(logits[allowed], sampler)

        assert position.num_allowed == allowed.sum()
        assert distribution.z == pytest.approx(p[allowed].sum(), rel=EXACT)
        assert distribution.entropy_before == pytest.approx(bits(p), abs=EXACT)
        assert distribution.entropy_after == pytest.approx(bits(c), abs=SHORT)
        assert distribution.kl == pytest.approx(bits(c, p), abs=SHORT)
        assert distribution.num_drawable == (c > 0).sum()
        assert distribution.first_choice == p.argmax()
        assert distribution.first_choice_log_prob == pytest.approx(np.log(p.max()), abs=EXACT)
        assert distribution.intervention == (not allowed[p.argmax()])
        if sampler in (Sampler(0.0), Sampler(1.0)):
            assert distribution.kl == pytest.approx(-distribution.log_z / math.log(2), abs=SHORT)

        for name, whole in (("model", p), ("filtered", f), ("constrained", c)):
            ids = [entry.token for entry in distribution.top(10, name)]  # type: ignore[arg-type]
            assert ids == sorted(np.flatnonzero(whole), key=lambda i, w=whole: (-w[i], i))[:10]
        for entry in distribution.candidates:
            assert entry.allowed == allowed[entry.token]
            for value, whole in ((entry.model, p), (entry.filtered, f), (entry.constrained, c)):
                assert math.exp(value) == pytest.approx(whole[entry.token], abs=SHORT, rel=SHORT)

        assert step.rank == 1 + (p > p[step.token]).sum()
        assert step.log_prob_model == pytest.approx(np.log(p[step.token]), abs=EXACT)
        assert step.log_prob_constrained == pytest.approx(np.log(c[step.token]), abs=SHORT)
        assert position.log_prob_model == pytest.approx(raw_sum, abs=1e-8)
        assert position.log_prob_constrained == pytest.approx(constrained_sum, abs=1e-4)
        raw_sum += math.log(p[step.token])
        constrained_sum += math.log(c[step.token])
        if sampler.greedy:
            assert step.token == np.where(allowed, logits, -np.inf).argmax()
    assert trace.positions[-1].log_prob_model == pytest.approx(raw_sum, abs=1e-8)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30), st.data())
def test_ties_are_broken_by_the_lower_id(values: list[int], data: st.DataObject) -> None:
    logits = torch.tensor(values, dtype=torch.float32)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(values) - 1,
                                          max_size=len(values) - 1)))  # fmt: skip
    if not allowed.any():
        allowed[0] = True
    k = data.draw(st.integers(1, 8))
    measured = measure(logits, allowed, Sampler(1.0), k)
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert [entry.token for entry in measured.distribution.top(k)] == order[:k]
    within = [i for i in order if i < len(allowed) and allowed[i]]
    assert [e.token for e in measured.distribution.top(k, "constrained")] == within[:k]
    assert [measured.rank(token) for token in order] == list(range(1, len(order) + 1))
    assert measured.distribution.first_choice == order[0]


def test_a_greedy_sampler_shows_the_distribution_it_takes_the_likeliest_of() -> None:
    logits = torch.tensor([3.0, 2.0, 1.0])
    measured = measure(logits, np.array([False, True, True]), Sampler(0.0), 5)
    assert measured.distribution.num_drawable == 2
    assert int(Sampler(0.0).draw(measured.drawable, torch.tensor(0.999))) == 1
    assert measured.distribution.entropy_after > 0
