"""Generation of whole texts, long runs, arguments, and machines without a table."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.batches.generate import Generation, generate
from explorer.decoding.models.model import Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.tokens.lazy import Free
from tests.decoding.models import HashModel, hash_model, language_model
from tests.decoding.patterns import random_pattern

# Batched generation: texts match, batches are their rows, budgets are kept, faults raise.


SAMPLERS = [
    Sampler(0.0),
    Sampler(1.0),
    Sampler(0.7, top_k=20),
    Sampler(1.3, top_p=0.9),
    Sampler(min_p=0.02),
]


def conformance(pairs: int, kind: str) -> tuple[int, int, int]:
    """Texts that match in full, constrained and not, and how many there were."""
    model = language_model(kind)
    draw = random.Random(pairs)
    constrained = free = total = 0
    while total < pairs:
        # A batch of its own for each budget; patterns, prompts and streams are mixed within it.
        patterns = [random_pattern(draw) for _ in range(10)]
        machines = [explorer.compile(explorer.regex(p), model.vocabulary) for p in patterns]
        least = max(int(dfa.distance[dfa.start]) for dfa in machines)
        prompts = [draw.choice(["the", "food or", "{", "2024-"]) for _ in patterns]
        settings: dict[str, Any] = {
            "sampler": draw.choice(SAMPLERS),
            "max_tokens": least + draw.randint(0, 12),
            "seed": draw.randrange(2**64),
        }
        for pattern, ours, theirs in zip(
            patterns,
            generate(model, prompts, machines, **settings),
            generate(model, prompts, None, **settings),
            strict=True,
        ):
            total += 1
            assert ours.finished and len(ours.tokens) <= settings["max_tokens"]
            matched = re.fullmatch(pattern, ours.data.decode()) is not None
            assert matched, (pattern, ours)
            constrained += matched
            # Generous: a text that is cut off counts if it happens to match.
            free += re.fullmatch(pattern, theirs.text) is not None
    return constrained, free, total


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_every_text_matches_its_constraint(kind: str) -> None:
    constrained, free, total = conformance(50, kind)
    print(f"{kind}: {constrained / total:.3f} constrained, {free / total:.3f} unconstrained")
    assert constrained == total == 50
    assert free < total / 2


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_batch_is_its_rows_and_their_sessions(sampler: Sampler) -> None:
    """A model without batches: rows are computed alike, so the tokens must be the same."""
    model = hash_model()
    patterns: list[str | None] = [r"(foo)+d", r"yes|no", None, r"[12\-]{3,20}", r"é(, é)*"]
    constraints = [None if p is None else explorer.regex(p) for p in patterns]
    prompts = ["a", "bb", "", "ccc", "a"]
    together = generate(model, prompts, constraints, sampler, 12, seed=5)
    for b, (prompt, constraint) in enumerate(zip(prompts, constraints, strict=True)):
        alone = generate(model, [prompt], constraint, sampler, 12, seed=5, streams=[b])
        assert alone == [together[b]]
        session = Session(
            model, constraint, prompt, sampler=sampler, seed=5, stream=b, max_tokens=12
        )
        assert session.run().ids == together[b].tokens
        assert session.finished == together[b].finished


def test_streams_and_seeds_decide() -> None:
    model = hash_model()
    constraint = explorer.regex("[a-zé, ]{6,40}")

    def texts(**more: object) -> list[Generation]:
        return generate(model, ["x"] * 4, constraint, Sampler(2.0), 20, **more)  # pyright: ignore

    first = texts(seed=1)
    assert first == texts(seed=1) == texts(seed=1, streams=range(4))
    assert len(set(first)) == 4
    assert set(first).isdisjoint(texts(seed=2))
    assert texts(seed=1, streams=[3, 2, 1, 0]) == first[::-1]


def test_without_the_budget_in_the_mask_a_text_is_cut_off() -> None:
    model = hash_model()
    constraint = explorer.regex(r"(foo, )+d")
    cut = generate(model, ["x"] * 8, constraint, Sampler(1.0), 3, masking_budget=False)
    assert any(not text.finished for text in cut)
    assert all(len(text.tokens) == 3 for text in cut if not text.finished)
    dfa = explorer.compile(constraint, model.vocabulary)
    assert all(len(dfa.walk(text.tokens)) == len(text.tokens) + 1 for text in cut)


class Broken(HashModel):
    """Gives nothing that is allowed, from its third token on."""

    def __init__(self, value: float) -> None:
        super().__init__(hash_model().vocabulary)
        self.value = value

    def read(self, tokens: object) -> Reading:
        logits = super().read(tokens).logits  # pyright: ignore[reportArgumentType]
        return Reading(torch.full_like(logits, self.value) if len(tokens) > 3 else logits)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("sampler", [Sampler(0.0), Sampler(1.0), Sampler(top_p=0.5)])
def test_broken_logits_raise_with_their_place(value: float, sampler: Sampler) -> None:
    with pytest.raises(ExplorerError, match=r"Row 1 at step 2.*NaN") as raised:
        generate(Broken(value), ["", "xx"], explorer.regex("[a-zé, ]{8,}"), sampler, 20)
    assert raised.value.evidence["row"] == 1


def test_logits_of_a_text_that_has_ended_do_not_matter() -> None:
    """The short text is over when the model breaks."""
    texts = generate(Broken(torch.nan), ["", ""], explorer.regex("f"), Sampler(1.0), 9)
    assert [text.text for text in texts] == ["f", "f"]


@pytest.mark.gpu
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_device_gives_the_tokens_of_the_cpu(sampler: Sampler) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")

    class OnDevice(HashModel):
        def read(self, tokens: object) -> Reading:
            return Reading(super().read(tokens).logits.cuda())  # pyright: ignore[reportArgumentType]

    vocabulary = hash_model().vocabulary
    constraints = [explorer.regex(p) for p in (r"(foo)+d", r"[12\-]{3,20}", r"é(, é)*")]
    there, here = (
        generate(model, ["a", "b", "c"], constraints, sampler, 15, seed=3)
        for model in (OnDevice(vocabulary), HashModel(vocabulary))
    )
    assert there == here


def test_every_kind_of_machine_decodes() -> None:
    """A machine that works its rows out gives the texts of the table, in one batch with others."""
    model = hash_model()
    constraint = explorer.regex(r"(foo, )*food|[12\-]{3,20}")
    table = explorer.compile(constraint, model.vocabulary)
    lazy = explorer.compile(constraint, model.vocabulary, lazy=True)
    for sampler in SAMPLERS:
        machines = [lazy, table, Free(model.vocabulary), None]
        settings: dict[str, Any] = {"seed": 4, "streams": [1, 1, 2, 2], "masking_budget": False}
        texts = generate(model, ["x"] * 4, machines, sampler, 30, **settings)
        assert texts[0] == texts[1] and texts[2] == texts[3]
        assert all(
            re.fullmatch(r"(foo, )*food|[12\-]{3,20}", t.text) for t in texts[:2] if t.finished
        )
    with pytest.raises(ExplorerError, match="masking_budget=False"):
        generate(model, ["x"], lazy, max_tokens=30, masking_budget=True)


# Numbers as users give them, and a model's context as a limit of every path.


def test_a_full_context_loses_nothing(tmp_path: Path) -> None:
    session = explorer.Session(
        explorer.load_model("tiny"), explorer.regex("[0-9]{300,}"), "x " * 240
    )
    with pytest.raises(explorer.errors.ContextFull, match="reads at most 256"):
        session.run()
    trace = session.trace
    assert len(trace.steps) == session.index > 0 and trace.positions[-1].distribution is None
    assert trace.positions[-2].distribution is not None
    trace.save(tmp_path / "trace.json")
    assert explorer.Trace.load(tmp_path / "trace.json").text == session.text
    with pytest.raises(explorer.errors.ContextFull):
        session.step()
    session.back(2)
    session.step(token=session.trace.steps[-1].token)


def test_a_model_may_be_named_and_a_constraint_left_out() -> None:
    lm, prompt = explorer.load_model("tiny"), "The capital of France is"
    assert explorer.Session("tiny", explorer.regex("[0-9]{4}"), prompt).lm is lm
    assert explorer.select("tiny", prompt, [" Paris", " Rome"]).best == " Paris"
    assert explorer.generate("tiny", prompt, max_tokens=3) == explorer.generate(
        lm, [prompt], [None], max_tokens=3
    )
    with pytest.raises(ExplorerError, match="There is no model 'tinny'"):
        explorer.Session("tinny", None)


# Runs of 100,000 tokens: a step of a long run costs what a step of a short one costs.


# Sessions and traces of a machine that is only a `TokenMachine` equal those of the table.
