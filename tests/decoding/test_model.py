"""Models: measured, kept keys and values, run together, with faults."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers.cache_utils import DynamicCache

import explorer
from explorer import choice, gen, generate, literal, regex, template
from explorer.analysis.session import Session
from explorer.decoding.batches.generate import Generation
from explorer.decoding.models.huggingface import ENTRIES, KeyValues
from explorer.decoding.models.model import Reading, RunBatch
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.records import measure
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.vocabulary import Vocabulary
from tests.decoding.models import (
    KINDS,
    LINEAR,
    WITHOUT_CACHE,
    HashModel,
    hash_model,
    language_model,
)

# A language model need not be a transformer: here the code lengths of a compressor are logits.


# After any history of forks and crops a cache gives the same logits as a fresh reading.


TOLERANCE = 1e-5
BATCH = 1e-4  # Padding changes the order of sums, and mamba's logits reach 12.


def fresh(model: Any, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model.model(torch.tensor([tokens]), use_cache=False).logits[0, -1].float()


def paths(seed: int, count: int) -> list[list[int]]:
    """Requests as a session makes them: one token more, some back, a jump, a fork."""
    rng = random.Random(seed)
    seen: list[list[int]] = [[rng.randrange(400) for _ in range(5)]]
    for _ in range(count):
        base = seen[-1] if rng.random() < 0.6 else rng.choice(seen)
        if rng.random() < 0.3:
            base = base[: rng.randrange(1, len(base) + 1)]
        seen.append(base + [rng.randrange(400) for _ in range(rng.choice([0, 1, 1, 1, 3]))])
    return seen


@pytest.mark.parametrize("kind", [*KINDS, LINEAR])
def test_any_history_reads_as_a_fresh_model_does(kind: str) -> None:
    model = language_model(kind)
    reused = 0
    for tokens in paths(1, 60):
        reading = model.read(tokens)
        reused += len(tokens) - reading.computed
        assert torch.allclose(reading.logits, fresh(model, tokens), rtol=0, atol=TOLERANCE)
    assert reused > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_reads_one_token_and_a_step_back_reads_one(kind: str) -> None:
    model = language_model(kind)
    text = [9, 8, 7, 6, 5, 4, 3, 9, 8, 7, 6, 5]
    model.read(text[:3])
    assert [model.read(text[:n]).computed for n in range(4, 13)] == [1] * 9
    for length in range(11, 0, -1):
        reading = model.read(text[:length])
        assert (reading.computed, reading.note) == (1, "")
        assert torch.allclose(reading.logits, fresh(model, text[:length]), rtol=0, atol=TOLERANCE)
    # A branch deep in the window's past, then one still deeper.
    for length in (8, 5, 2):
        branch = [*text[:length], 77]
        reading = model.read(branch)
        assert (reading.computed, reading.note) == (1, "")
        assert torch.allclose(reading.logits, fresh(model, branch), rtol=0, atol=TOLERANCE)


def test_linear_attention_reads_again_and_says_so() -> None:
    model = language_model(LINEAR)
    text = [3, 1, 4, 1, 5, 9, 2, 6]
    model.read(text)
    reading = model.read([*text[:4], 30])
    assert "linear attention" in reading.note
    assert reading.computed == 5
    assert model.read([*text, 40]).computed == 1


def test_the_store_is_bounded() -> None:
    model = language_model("llama")
    store = KeyValues(lambda: DynamicCache(config=model.model.config))
    for k in range(3 * ENTRIES):
        tokens = [k, k + 1, k + 2]
        start = store.start(tokens)
        with torch.no_grad():
            model.model(torch.tensor([tokens[start.length :]]), past_key_values=start.cache)
        store.keep(tokens, start.cache, start.floor)
    assert len(store) == ENTRIES


@pytest.mark.parametrize("kind", WITHOUT_CACHE)
def test_a_model_without_key_values_reads_from_the_beginning_and_says_so(kind: str) -> None:
    model = language_model(kind)
    for tokens in paths(2, 12):
        reading = model.read(tokens)
        assert reading.computed == len(tokens) and "no key-values" in reading.note
        assert torch.allclose(reading.logits, fresh(model, tokens), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("kind", [*KINDS, LINEAR, *WITHOUT_CACHE])
def test_a_batch_of_uneven_rows_equals_one_by_one(kind: str) -> None:
    model = language_model(kind)
    prompts = [[5], [7, 8, 9, 10, 11, 12, 13, 14, 15], [3, 4, 5]]
    batch = model.batch(prompts)
    rows = [list(prompt) for prompt in prompts]
    for k in range(5):
        for row, logits in zip(rows, batch.logits, strict=True):
            assert torch.allclose(logits, fresh(model, row), rtol=0, atol=BATCH)
        tokens = torch.tensor([20 + k, 30 + k, 40 + k])
        assert batch.step(tokens) is batch.logits
        for row, token in zip(rows, tokens.tolist(), strict=True):
            row.append(token)


# Batched generation that skips what is forced: the same texts and numbers, fewer passes.


FORCED = "~~~~~~^^^^^^######"
"""Text that the byte-level vocabulary spells in one way only."""

FORM = template(
    f"{FORCED}{{x}}{FORCED}{{y}}{FORCED}", x=gen(regex="[0-9]{2}"), y=gen(choices=["a", "banana"])
)
PROMPTS = ["Fill in: ", "x", "What is the capital of France?\n"]


class Passes:
    """A model whose forward passes are counted."""

    def __init__(self, lm: Any) -> None:
        self.lm = lm
        self.passes = 0

    def __enter__(self) -> Passes:
        self._whole = self.lm._model.forward

        def counted(*values: Any, **more: Any) -> Any:
            self.passes += 1
            return self._whole(*values, **more)

        self.lm._model.forward = counted
        return self

    def __exit__(self, *error: object) -> None:
        self.lm._model.forward = self._whole


def same(one: Sequence[Generation], other: Sequence[Generation], within: float = 1e-4) -> None:
    assert one == other
    for a, b in zip(one, other, strict=True):
        assert len(a.log_probs_model) == len(a.tokens) == len(b.log_probs_model)
        for name in ("log_probs_model", "log_probs_constrained"):
            assert getattr(b, name) == pytest.approx(getattr(a, name), abs=within)
            assert a.pieces == b.pieces and b"".join(a.pieces) == a.data


@pytest.mark.parametrize("masking_budget", [True, False])
@pytest.mark.parametrize("sampler", [Sampler(0.0), Sampler(1.0), Sampler(0.8, top_k=5)])
def test_texts_and_probabilities_are_those_of_steps(sampler: Sampler, masking_budget: bool) -> None:
    lm = explorer.load_model("tiny")
    more: dict[str, Any] = {"seed": 3, "masking_budget": masking_budget, "max_tokens": 90}
    steps = generate(lm, PROMPTS, FORM, sampler, **more)
    runs = generate(lm, PROMPTS, FORM, sampler, forced="run", **more)
    same(steps, runs)
    assert all(text.finished and text.forced >= 54 for text in runs)
    assert all(text.forced == 0 for text in steps)
    assert generate(lm, PROMPTS, FORM, sampler, forced="run", log_probs=False, **more) == runs


def test_passes_are_as_many_as_choices() -> None:
    lm = explorer.load_model("tiny")
    with Passes(lm) as steps:
        slow = generate(lm, PROMPTS[:1], FORM)
    with Passes(lm) as runs:
        fast = generate(lm, PROMPTS[:1], FORM, forced="run")
    assert steps.passes == len(slow[0].tokens)
    # One for the prompt, one for the first run, one after each choice but the last one.
    assert runs.passes == 1 + 1 + len(fast[0].tokens) - fast[0].forced - 1
    assert steps.passes - runs.passes == fast[0].forced - 1


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_rows_of_different_runs_are_read_together(kind: str) -> None:
    lm = language_model(kind)
    constraints: list[Constraint | None] = [
        literal("the quick brown fox jumps over the lazy dog").canonical(lm.tokenizer),
        regex("[a-z ]{5,9}"),
        choice(["foo food foofood", "bar food"]).canonical(lm.tokenizer),
        None,
    ]
    for sampler in (Sampler(0.0), Sampler(1.0)):
        more: dict[str, Any] = {"seed": 1, "masking_budget": False, "max_tokens": 30}
        steps = generate(lm, ["the", "", "a b", "{"], constraints, sampler, **more)
        runs = generate(lm, ["the", "", "a b", "{"], constraints, sampler, forced="run", **more)
        same(steps, runs)
        assert runs[0].forced > 5 and runs[3].forced == 0


def test_nothing_is_skipped_that_is_not_forced() -> None:
    lm = explorer.load_model("tiny")
    for constraint in (FORM, choice(["April", "August"]), regex("(ab){3}")):
        (text,) = generate(lm, ["x"], constraint, Sampler(1.0), 90, forced="run")
        machine = explorer.compile(constraint, lm.vocabulary)
        distance = machine.distance_to_end
        state, counted, left = machine.start, 0, 90
        for token in text.tokens:
            allowed = machine.allowed(state).nonzero()[0].tolist()
            within = [
                each for each in allowed
                if (distance(machine.step(state, each) or 0) or 0) < left or state < 0
            ]  # fmt: skip
            counted += within == [token]
            state, left = machine.step(state, token) or 0, left - 1
        assert text.forced == counted


def test_a_text_that_is_forced_throughout_asks_for_nothing() -> None:
    from tests.decoding.models import HashModel

    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"c"], eos_ids=[3])
    lm = HashModel(vocabulary)
    (text,) = generate(lm, ["x"], literal("abc"), forced="run", log_probs=False)
    assert text.data == b"abc" and text.finished and text.forced == 4
    assert lm.reads == 1  # The prompt.
    (told,) = generate(lm, ["x"], literal("abc"), forced="run")
    assert told.log_probs_constrained == (0, 0, 0, 0)
    (step,) = generate(lm, ["x"], literal("abc"))
    assert told.log_probs_model == pytest.approx(step.log_probs_model, abs=1e-6)
    assert math.isclose(told.cumulative_model[-1], sum(step.log_probs_model), abs_tol=1e-5)


def test_a_model_without_batches_reads_each_row_after_its_run() -> None:
    constraint = regex("(foo){2}(1|2)(foo){2}")
    more: dict[str, Any] = {"masking_budget": False, "max_tokens": 12, "seed": 2}
    steps = generate(hash_model(), ["a", "bb"], constraint, Sampler(1.0), **more)
    runs = generate(hash_model(), ["a", "bb"], constraint, Sampler(1.0), forced="run", **more)
    same(steps, runs)


@pytest.mark.parametrize("kind", [LINEAR, "mistral", "openai-gpt"])
def test_layers_that_cannot_read_padding_are_stepped(kind: str) -> None:
    lm = language_model(kind)
    prompts = ["the", "a fox"]
    batch: Any = lm.batch([lm.encode_prompt(prompt) for prompt in prompts])
    assert isinstance(batch, RunBatch) and not batch.reads_runs
    constraint = literal("the quick brown").canonical(lm.tokenizer)
    more: dict[str, Any] = {"masking_budget": False, "max_tokens": 12}
    steps = generate(lm, prompts, constraint, **more)
    same(steps, generate(lm, prompts, constraint, forced="run", **more))


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", LINEAR, "openai-gpt"])
def test_a_branch_goes_on_as_its_row_would(kind: str) -> None:
    lm = language_model(kind)
    ids = [list(lm.encode_prompt(prompt)) for prompt in ("the quick", "a", "foo food")]
    batch: Any = lm.batch(ids)
    batch.step(torch.tensor([70, 71, 72]))
    rows, tokens = [2, 0, 2], [80, 81, 82]
    before = batch.logits.clone()
    branch = batch.branch(rows)
    assert torch.equal(branch.logits, before[rows])
    found: Tensor = branch.step(torch.tensor(tokens))
    for k, (row, token) in enumerate(zip(rows, tokens, strict=True)):
        alone = lm.read([*ids[row], 70 + row, token]).logits
        assert torch.allclose(found[k].log_softmax(-1), alone.log_softmax(-1), atol=2e-3)
    # The batch itself stands where it stood.
    assert torch.equal(batch.logits, before)
    further = batch.step(torch.tensor([80, 81, 82]))
    alone = lm.read([*ids[1], 71, 81]).logits
    assert torch.allclose(further[1].log_softmax(-1), alone.log_softmax(-1), atol=2e-3)


# The numbers in a trace equal those of an independent computation from the raw logits.


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


# Models and arguments that are not what they should be: one clear error each, never another's.


CONSTRAINT = explorer.regex("[a-zé, ]{8,}")


class Faulty(HashModel):
    """A model that answers rightly for some ids, and then something else."""

    def __init__(self, answer: Callable[[torch.Tensor], Any]) -> None:
        super().__init__(hash_model().vocabulary)
        self._answer = answer

    def read(self, tokens: Sequence[int]) -> Reading:
        logits = super().read(tokens).logits
        return self._answer(logits) if len(tokens) > 3 else Reading(logits)


def fail(_: torch.Tensor) -> Reading:
    raise ZeroDivisionError("no layers\nat all")


FAULTS: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "raises": (fail, r"`read` of the model 'hash' raised ZeroDivisionError: no layers\. "),
    "NaN": (lambda logits: Reading(logits * torch.nan), "NaN"),
    "one NaN": (lambda logits: Reading(logits.index_fill(0, torch.tensor([1]), torch.nan)), "NaN"),
    "infinity": (lambda logits: Reading(logits + torch.inf), "inf"),
    "nothing": (lambda logits: Reading(logits - torch.inf), "NaN|probability 0"),
    "narrow": (lambda logits: Reading(logits[:9]), "gives 9 logits, but its vocabulary has "),
    "no width": (lambda logits: Reading(logits[:0]), r"shape \[0\]"),
    "a matrix": (lambda logits: Reading(logits[None]), r"shape \[1, \d+\]"),
    "a number": (lambda logits: Reading(logits.sum()), r"shape \[\]"),
    "whole numbers": (lambda logits: Reading(logits.long()), "torch.int64"),
    "an array": (lambda logits: Reading(cast("torch.Tensor", logits.numpy())), "not a tensor"),
    "a tensor": (lambda logits: logits, "not a Reading"),
    "no answer": (lambda _: None, "not a Reading"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_model_is_told_and_the_run_stays_where_it_was(fault: str) -> None:
    answer, said = FAULTS[fault]
    session = Session(Faulty(answer), CONSTRAINT, "xx", sampler=explorer.Sampler(1.0))
    with pytest.raises(ExplorerError, match=said):
        session.run(max_tokens=6)
    before = session.index
    with pytest.raises(ExplorerError, match=said):
        session.step()
    assert session.index == before
    with pytest.raises(ExplorerError, match=said):
        generate(Faulty(answer), ["xx", "x"], CONSTRAINT, explorer.Sampler(1.0), 20)


def test_the_cause_is_kept_and_an_interrupt_is_not_an_error() -> None:
    with pytest.raises(ExplorerError) as caught:
        generate(Faulty(fail), ["xx"], CONSTRAINT)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def interrupt(_: torch.Tensor) -> Reading:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(Faulty(interrupt), ["xx"], CONSTRAINT)


def test_rows_of_one_model_are_equally_wide() -> None:
    class Uneven(HashModel):
        def read(self, tokens: Sequence[int]) -> Reading:
            return Reading(torch.zeros(30 + len(tokens)))

    with pytest.raises(ExplorerError, match="rows of "):
        generate(Uneven(hash_model().vocabulary), ["x", "xx"], CONSTRAINT)
