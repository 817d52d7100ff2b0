"""Sessions with the embedded model: equal to `model.generate`, and to the same run again."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.batches.processor import ConstraintLogitsProcessor
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.load import load_model
from explorer.decoding.models.tiny import FOLDER
from explorer.decoding.sampling.sampler import Sampler

pytestmark = pytest.mark.skipif(
    not (FOLDER / "model.safetensors").is_file(), reason="the tiny model is not trained here"
)

CASES = [
    (" [A-Z][a-z]{2,9}", "The capital of France is"),
    (r'\{"name": "[A-Za-z ]{1,20}", "age": \d{1,3}\}', "Give a person as JSON.\n"),
    (r"\d{4}-\d\d-\d\d", [{"role": "user", "content": "When?"}]),
    (None, "What is 2 + 2?\n"),
]


@cache
def tiny() -> HuggingFaceModel:
    return load_model("tiny", device="cpu")


@pytest.mark.parametrize(
    "sampler", [Sampler(0.0), Sampler(1.0), Sampler(0.8, top_k=40, top_p=0.95)]
)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_stepping_equals_model_generate(case: int, sampler: Sampler) -> None:
    pattern, prompt = CASES[case]
    constraint = None if pattern is None else explorer.regex(pattern)
    lm: Any = tiny()
    for seed in (0, 1):
        session = Session(lm, constraint, prompt, sampler=sampler, seed=seed, max_tokens=40)
        trace = session.run()
        processor = ConstraintLogitsProcessor(
            lm.vocabulary, constraint, sampler, seed=seed, max_tokens=40
        )
        ids = torch.tensor([trace.prompt_ids])
        out = lm.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=40,
            logits_processor=[processor],
        )
        assert tuple(out[0, ids.shape[1] :].tolist()) == trace.ids
        if constraint is not None:
            assert trace.finished and constraint.accepts(trace.text)


def test_free_greedy_stepping_is_the_librarys_own_greedy_search() -> None:
    lm: Any = tiny()
    for prompt in ("The capital of Italy is", "Q: What is 3 + 4?\nA:", "{"):
        trace = Session(lm, None, prompt, max_tokens=30).run()
        ids = torch.tensor([trace.prompt_ids])
        out = lm.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=30
        )
        assert tuple(out[0, ids.shape[1] :].tolist()) == trace.ids
