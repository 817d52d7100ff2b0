"""Batched generation that skips what is forced: the same texts and numbers, fewer passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import explorer
from explorer import Sampler, choice, gen, generate, literal, regex, template
from explorer.decoding.batches.generate import Generation
from explorer.decoding.models.model import RunBatch
from explorer.languages.constraint import Constraint
from tests.decoding.models import LINEAR, hash_model, language_model

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
    from explorer.vocabulary import Vocabulary
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
