"""Speculative decoding: the model's own distribution under the constraint, whatever is proposed."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import Sampler, Session, Trace, choice, generate, regex
from explorer.decoding.batches.generate import Generation
from explorer.decoding.models.model import Reading
from explorer.decoding.speculation.drafting import Drafting
from explorer.errors import ContextFull
from explorer.vocabulary import Vocabulary
from tests.decoding.models import HashModel, language_model
from widgets.figures.panels.tokens import strip_token

WORDS = ["foo", "food", "fox", "of", "no"]
TOKENS = [b"f", b"o", b"oo", b"fo", b"d", b"x", b"n"]
VOCABULARY = Vocabulary.from_bytes(TOKENS, eos_ids=[7])


class Draft(HashModel):
    """The hash model, partly disturbed: it agrees with it now and then."""

    def __init__(self, vocabulary: Vocabulary, *, extra: int = 3, noise: float = 1.5) -> None:
        super().__init__(vocabulary, extra=extra)
        self.name = "draft"
        self._noise = noise

    def read(self, tokens: Sequence[int]) -> Reading:
        logits = super().read(tokens).logits
        rng = np.random.default_rng(zlib.crc32(repr(("draft", tuple(tokens))).encode()))
        more = rng.standard_normal(len(logits)) * self._noise
        return Reading(logits + torch.from_numpy(more.astype(np.float32)), 1)


# --- whole texts --------------------------------------------------------------------------------


def exact(model: HashModel, words: Sequence[str]) -> dict[tuple[int, ...], float]:
    """All token sequences that write one of the words, with their probability under the mask.

    By brute force over strings: it asks no machine of the library.
    """
    found: dict[tuple[int, ...], float] = {}

    def finishes(text: bytes) -> bool:
        return any(word.encode().startswith(text) for word in words)

    def go(tokens: tuple[int, ...], text: bytes, probability: float) -> None:
        logits = model.read(tokens).logits.double()
        allowed = [k for k, data in enumerate(TOKENS) if finishes(text + data)]
        if text.decode() in words:
            allowed.append(7)
        weights = (logits[allowed] - logits[allowed].max()).exp()
        for token, weight in zip(allowed, (weights / weights.sum()).tolist(), strict=True):
            if token == 7:
                found[*tokens, 7] = probability * weight
            else:
                go((*tokens, token), text + TOKENS[token], probability * weight)

    go((), b"", 1.0)
    return found


def distance(masked: bool, samples: int = 500, seed: int = 5, scale: float = 1.0) -> float:
    """How far drawn texts are from the exact distribution: chi-square over its degrees of freedom,
    in standard deviations; perhaps from that of a model of another scale."""
    model, draft = HashModel(VOCABULARY, scale=1.0), Draft(VOCABULARY, extra=0)
    draft._scale = 1.0
    expected = exact(HashModel(VOCABULARY, scale=scale), WORDS)
    machine = explorer.compile(choice(WORDS), VOCABULARY)
    drafting = Drafting(draft, 3, masked)
    texts = generate(
        model, [""] * samples, machine, Sampler(1.0), 9, masking_budget=False, draft=drafting,
        log_probs=False, seed=seed,
    )  # fmt: skip
    counts = Counter(text.tokens for text in texts)
    assert set(counts) <= set(expected)
    # Rare sequences are one cell.
    cells: list[tuple[float, int]] = []
    rare, seen = 0.0, 0
    for tokens, probability in expected.items():
        if probability * samples < 5:
            rare, seen = rare + probability, seen + counts[tokens]
        else:
            cells.append((probability, counts[tokens]))
    cells.append((rare, seen))
    chi = sum((n - samples * p) ** 2 / (samples * p) for p, n in cells if p)
    freedom = len(cells) - 1
    return (chi - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("masked", [False, True])
def test_texts_are_distributed_as_without_a_draft(masked: bool) -> None:
    assert distance(masked) < 3.5


@pytest.mark.long
@pytest.mark.parametrize("seed", [11, 2026])
@pytest.mark.parametrize("masked", [False, True])
def test_so_are_tens_of_thousands(masked: bool, seed: int) -> None:
    """A bias too small for 500 texts would show: a chi-square grows with their number."""
    assert distance(masked, 24_000, seed) < 6


def test_the_oracle_sees_another_distribution() -> None:
    assert distance(True, scale=0.5) > 5


@given(
    st.integers(0, 2**64 - 1),
    st.sampled_from([Sampler(0.0), Sampler(1.0), Sampler(0.7, top_k=3), Sampler(1.5, top_p=0.8)]),
    st.booleans(),
    st.sampled_from([None, 4, 9]),
)
def test_the_text_is_that_of_a_run_without_a_draft(
    seed: int, sampler: Sampler, masked: bool, limit: int | None
) -> None:
    model, draft = HashModel(VOCABULARY), Draft(VOCABULARY)
    constraint = regex("(foo|x)*(d|no)")
    alone = Session(model, constraint, sampler=sampler, seed=seed, max_tokens=limit)
    drafted = [
        Session(
            model, constraint, sampler=sampler, seed=seed, max_tokens=limit,
            draft=Drafting(draft, ahead, masked),
        )
        for ahead in (1, 3, 6)
    ]  # fmt: skip
    alone.run(12)
    for session in drafted:
        session.run(12)
        # What is drawn depends on the place alone, not on how many were proposed at once.
        assert session.ids == drafted[0].ids
        assert all(step.proposal is not None for step in session.trace.steps)
    assert drafted[0].ids == alone.ids
    written = generate(
        model, [""], constraint, sampler, limit or 12, seed=seed,
        masking_budget=limit is not None, draft=Drafting(draft, 2, masked),
    )  # fmt: skip
    assert written[0].tokens == drafted[0].ids
    steps = drafted[0].trace.steps
    assert written[0].accepted == sum(step.proposal.accepted for step in steps if step.proposal)
    known = [step.log_prob_model for step in steps]
    assert list(written[0].log_probs_model) == pytest.approx(known, abs=1e-5)


def test_a_model_that_proposes_for_itself_is_always_taken() -> None:
    model = HashModel(VOCABULARY)
    (text,) = generate(
        model, [""], regex("(foo|x)*(d|no)"), Sampler(1.0), 12, masking_budget=False,
        draft=Drafting(model, 3),
    )  # fmt: skip
    assert text.accepted == text.proposed == len(text.tokens)


def test_a_transformer_reads_several_tokens_in_one_pass(tmp_path: Path) -> None:
    lm, draft = explorer.load_model("tiny"), explorer.load_model("tiny-draft")
    constraint = regex(r'\{"name": "[A-Za-z ]{1,12}", "age": [0-9]{1,2}\}')
    prompts = ["Q: Make a JSON record of a person.\nA: ", "Q: Who is the hero?\nA: "]
    for sampler in (Sampler(0.0), Sampler(1.0)):
        plain = generate(lm, prompts, constraint, sampler, 40, seed=1)
        texts = generate(lm, prompts, constraint, sampler, 40, seed=1, draft=draft)
        assert texts == plain
        for text in texts:
            assert text.passes < 0.8 * len(text.tokens)
            assert text.passes >= len(text.tokens) / 5
            assert text.proposed == len(text.tokens) > text.accepted
    session = Session(lm, constraint, prompts[0], draft=Drafting(draft, 6), max_tokens=40)
    trace = session.run()
    read = [step.before.distribution for step in trace.steps]
    assert sum(one.computed > 0 for one in read if one is not None) < len(trace.steps)
    tokens = [strip_token(trace, k) for k in range(len(trace))]
    for step, token in zip(trace.steps, tokens, strict=True):
        assert step.proposal is not None
        assert token.get("accepted", False) == step.proposal.accepted != ("rejected" in token)
    assert trace.draft == "tiny-draft" and "proposals taken" in str(trace)
    trace.save(tmp_path / "run.json")
    assert Trace.load(tmp_path / "run.json") == trace


def test_a_constrained_draft_is_taken_more_often() -> None:
    lm, draft = explorer.load_model("tiny"), explorer.load_model("tiny-draft")
    constraint = regex(r'\{"name":"[A-Z][a-z]{1,12}","age":[0-9]{1,2}\}')
    prompts = ["Q: Make a JSON record of a person.\nA: "] * 8

    def texts(masked: bool) -> list[Generation]:
        drafting = Drafting(draft, masked=masked)
        return explorer.generate(lm, prompts, constraint, Sampler(1.0), 64, draft=drafting)

    masked, free = texts(True), texts(False)
    rates = [
        sum(text.accepted for text in some) / sum(text.proposed for text in some)
        for some in (masked, free)
    ]
    assert rates[0] > rates[1] + 0.1
    assert [text.tokens for text in masked] == [text.tokens for text in free]
    assert sum(len(text.tokens) for text in masked) > 1.5 * sum(text.passes for text in masked)


def test_the_end_of_a_context_is_read_one_by_one() -> None:
    lm = language_model()
    full = lm.max_length
    assert full is not None
    prompt = "foo" * full
    ids = lm.encode_prompt(prompt)[: full - 3]
    rest = lm.tokenizer.decode(list(ids), skip_special_tokens=True)
    session = Session(lm, None, rest, sampler=Sampler(1.0), draft=Drafting(lm, 8))
    plain = Session(lm, None, rest, sampler=Sampler(1.0))
    for _ in range(full - len(session.trace.prompt_ids)):
        assert session.step().token == plain.step().token
    with pytest.raises(ContextFull):
        for _ in range(3):
            session.step()


class Short(HashModel):
    """A draft that reads no more than three tokens."""

    def read(self, tokens: Sequence[int]) -> Reading:
        if len(tokens) > 3:
            raise ContextFull("Too long.", remedy="Shorten it.")
        return super().read(tokens)


def test_a_draft_with_a_shorter_context_stops_proposing() -> None:
    model = HashModel(VOCABULARY)
    constraint = regex("x{9}")
    (text,) = generate(model, [""], constraint, Sampler(1.0), 10, draft=Short(VOCABULARY))
    assert len(text.tokens) == 10 and text.proposed == 4


def test_a_draft_with_other_padding_fits() -> None:
    wide = HashModel(Vocabulary.from_bytes([*TOKENS, None, None, None], eos_ids=[7]))
    (text,) = generate(HashModel(VOCABULARY), [""], choice(WORDS), Sampler(1.0), 9, draft=wide)
    assert text.text in WORDS and text.proposed == len(text.tokens)


def test_a_trace_without_a_draft_has_no_proposals() -> None:
    import json

    from explorer.decoding.trace.writing import to_json

    document = json.loads(
        to_json(Session(HashModel(VOCABULARY), choice(WORDS), draft=Draft(VOCABULARY)).run())
    )
    assert document["draft"] == "draft" and "proposal" in document["steps"][0]
    plain = json.loads(to_json(Session(HashModel(VOCABULARY), choice(WORDS)).run()))
    assert "draft" not in plain and "proposal" not in plain["steps"][0]
