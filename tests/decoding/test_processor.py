"""`model.generate` of transformers with our processor writes what a session writes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import explorer
from explorer.decoding.batches.generate import generate
from explorer.decoding.batches.processor import ConstraintLogitsProcessor
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.stepping.session import Session
from explorer.errors import ConstraintError, ExplorerError
from tests.decoding.models import language_model

PATTERNS = [r"(foo)+d", r'"[^"]*"', r"yes|no|maybe", r"[0-9]{4}-[01][0-9]"]
PROMPTS = ["the fox", "the", "is it true or not", "2024-05-06"]
SAMPLERS = [Sampler(0.0), Sampler(1.0), Sampler(0.8, top_k=12, top_p=0.9)]
TOKENS = 14


def run(
    kind: str, prompts: list[str], processor: ConstraintLogitsProcessor, **more: Any
) -> list[list[int]]:
    """The new ids of each row, padding included."""
    lm = language_model(kind)
    ids = [lm.encode_prompt(prompt) for prompt in prompts]
    longest = max(map(len, ids))
    padded = torch.tensor([[0] * (longest - len(row)) + list(row) for row in ids])
    attention = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in ids])
    settings = {"do_sample": False, "max_new_tokens": TOKENS, "pad_token_id": 0, **more}
    written = lm.model.generate(
        padded, attention_mask=attention, logits_processor=[processor], **settings
    )
    return written[:, longest:].tolist()


def padded(tokens: tuple[int, ...], width: int) -> list[int]:
    return [*tokens, *[0] * (width - len(tokens))]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_model_generate_writes_what_a_session_writes(kind: str, sampler: Sampler) -> None:
    lm = language_model(kind)
    for pattern, prompt in zip(PATTERNS, PROMPTS, strict=True):
        constraint = explorer.regex(pattern)
        processor = ConstraintLogitsProcessor(
            lm.vocabulary, constraint, sampler, seed=4, max_tokens=TOKENS, record=True
        )
        (row,) = run(kind, [prompt], processor)
        session = Session(lm, constraint, prompt, sampler=sampler, seed=4, max_tokens=TOKENS)
        expected = session.run()
        assert expected.finished and list(expected.ids) == row
        (trace,) = processor.traces()
        assert trace.ids == expected.ids and trace.text == expected.text and trace.finished
        assert trace.prompt_ids == expected.prompt_ids
        assert trace.masks == expected.masks
        for ours, theirs in zip(trace.steps, expected.steps, strict=True):
            assert ours.chosen_by == theirs.chosen_by == "sampler"
            assert ours.uniform == theirs.uniform
            assert ours.log_prob_model == pytest.approx(theirs.log_prob_model, abs=1e-4)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_batch_of_mixed_constraints(kind: str, sampler: Sampler) -> None:
    lm = language_model(kind)
    constraints = [explorer.regex(pattern) for pattern in PATTERNS]
    processor = ConstraintLogitsProcessor(
        lm.vocabulary, constraints, sampler, seed=8, max_tokens=TOKENS, record=True
    )
    rows = run(kind, PROMPTS, processor)
    texts = generate(lm, PROMPTS, constraints, sampler, TOKENS, seed=8)
    traces = processor.traces()
    for row, text, trace in zip(rows, texts, traces, strict=True):
        assert padded(text.tokens, len(row)) == row
        assert trace.ids == text.tokens and trace.text == text.text


def test_one_constraint_serves_all_rows_and_none_leaves_them_free() -> None:
    lm = language_model()
    settings: dict[str, Any] = {"sampler": Sampler(1.0), "seed": 2, "max_tokens": TOKENS}
    for constraint in (explorer.regex("[a-z ]+"), None):
        processor = ConstraintLogitsProcessor(lm.vocabulary, constraint, **settings)
        rows = run("llama", PROMPTS, processor)
        texts = generate(lm, PROMPTS, constraint, **settings)
        assert rows == [padded(text.tokens, len(rows[0])) for text in texts]


def test_a_text_that_is_cut_off_is_recorded_without_its_last_token() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z]{30}"), record=True)
    (row,) = run("llama", ["the"], processor, max_new_tokens=5)
    (trace,) = processor.traces()
    assert list(trace.ids) == row[:-1] and not trace.finished


def test_one_finite_logit_is_left_and_the_scores_stay() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo|d"), Sampler(1.0))
    ids = torch.zeros(1, 3, dtype=torch.int64)
    scores = torch.randn(1, lm.width)
    before = scores.clone()
    after = processor(ids, scores)
    assert torch.equal(scores, before)
    assert (after > -torch.inf).sum() == 1 and after.max() == 0 and after.dtype == scores.dtype


def test_another_choice_is_noticed() -> None:
    """Beams reorder rows; a second run begins anew; somebody else's sampler takes other tokens."""
    lm = language_model()

    def made(**more: Any) -> ConstraintLogitsProcessor:
        return ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z ]{9,}"), **more)

    processor = made()
    run("llama", ["the"], processor)
    with pytest.raises(ExplorerError, match="new processor for each call"):
        run("llama", ["the"], processor)
    processor = made()
    ids, scores = torch.zeros(1, 3, dtype=torch.int64), torch.randn(1, lm.width)
    token = processor(ids, scores).argmax(-1, keepdim=True)
    with pytest.raises(ExplorerError, match=f"token {token.item()} was drawn, but 0 was taken"):
        processor(torch.cat([ids, 0 * token], 1), scores)
    with pytest.raises(ExplorerError, match=r"new processor|was taken"):
        run("llama", ["the"], made(sampler=Sampler(3.0), streams=[0, 1, 2]), num_beams=3)


def test_what_does_not_fit_raises() -> None:
    lm = language_model()
    constraint = explorer.regex("[0-9]{8}")
    with pytest.raises(ExplorerError, match="max_tokens=1"):
        ConstraintLogitsProcessor(lm.vocabulary, constraint, max_tokens=1)
    with pytest.raises(ExplorerError, match="2 constraints for 1 rows"):
        run("llama", ["the"], ConstraintLogitsProcessor(lm.vocabulary, [constraint] * 2))
    with pytest.raises(ExplorerError, match="2 streams for 1 rows"):
        run("llama", ["the"], ConstraintLogitsProcessor(lm.vocabulary, None, streams=[0, 1]))
    with pytest.raises(ConstraintError, match="'foo', which could be"):
        ConstraintLogitsProcessor(lm.vocabulary, "foo")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ExplorerError, match="record=True"):
        ConstraintLogitsProcessor(lm.vocabulary, None).traces()


def test_broken_scores_raise_at_once() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo"), Sampler(1.0))
    with pytest.raises(ExplorerError, match=r"Row 0 at step 0.*NaN"):
        processor(torch.zeros(1, 3, dtype=torch.int64), torch.full((1, lm.width), torch.nan))
