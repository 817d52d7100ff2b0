"""Proposals from counts: the texts are those without, whatever was counted."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Sampler, generate, regex
from explorer.decoding.batches.generate import Generation
from explorer.decoding.speculation.counts import TokenCounts
from explorer.decoding.speculation.drafting import Drafting
from explorer.decoding.speculation.own_first import own_first
from explorer.errors import ContextFull
from explorer.tokens.machine import TokenMachine
from tests.evidence import few

TINY = explorer.load_model("tiny")
SCHEMA = explorer.json_schema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)
NESTED = explorer.grammar(
    """root ::= value
value ::= "[" (value ("," value)*)? "]" | "{" "\\"a\\":" value "}" | [0-9]
"""
)
SAMPLERS = [Sampler(temperature=0.0), Sampler(1.0), Sampler(0.8, top_k=20)]


def machine_of(constraint: explorer.Constraint) -> TokenMachine:
    return explorer.compile(constraint, TINY.vocabulary)


PROMPT = "A person as JSON:"


@pytest.mark.parametrize(
    "constraint", [SCHEMA, NESTED, regex("[a-c ]{2,9}")], ids=["schema", "grammar", "regex"]
)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("ahead", few([1, 5, 12], 2))
def test_the_text_is_the_one_without(
    constraint: explorer.Constraint, sampler: Sampler, ahead: int
) -> None:
    machine = machine_of(constraint)
    counts = TokenCounts(TINY, PROMPT, machine, least=0.2, seen=1)
    draft = Drafting(counts, ahead, masked=False)
    for seed in range(4):
        settings: dict[str, Any] = {"seed": seed, "masking_budget": False}
        plain = generate(TINY, [PROMPT], machine, sampler, 24, **settings)
        quick = generate(TINY, [PROMPT], machine, sampler, 24, draft=draft, **settings)
        counts.learn(quick[0].tokens)
        assert [text.tokens for text in quick] == [text.tokens for text in plain]
        assert quick[0].log_probs_model == pytest.approx(plain[0].log_probs_model, abs=1e-3)
        assert quick[0].passes <= len(quick[0].tokens)
        assert seed or not quick[0].proposed


@pytest.mark.parametrize("beside", [None, "tiny-draft"])
def test_a_text_that_is_known_takes_few_passes(beside: str | None) -> None:
    """With a model that is asked where nothing was counted, the first text has proposals too."""
    machine = machine_of(SCHEMA)
    otherwise = None if beside is None else explorer.load_model("tiny-draft")
    counts = TokenCounts(TINY, PROMPT, machine, seen=1, otherwise=otherwise)
    texts: list[Generation] = []
    for _ in range(2):
        draft = Drafting(counts, 8)
        texts += generate(TINY, PROMPT, machine, max_tokens=40, draft=draft)
        counts.learn(texts[-1].tokens)
    first, second = texts
    assert first.tokens == second.tokens and first.finished
    assert (first.proposed > 0) == (otherwise is not None)
    assert second.passes < first.passes and second.passes <= len(second.tokens) / 3
    assert second.accepted > first.accepted


@pytest.mark.parametrize("sampler", SAMPLERS[:2], ids=str)
def test_with_the_models_own_choice_first(sampler: Sampler) -> None:
    machine = machine_of(SCHEMA)
    counts = TokenCounts(TINY, PROMPT, machine, seen=1)
    for seed in range(4):
        settings: dict[str, Any] = {"sampler": sampler, "max_tokens": 30, "seed": seed}
        plain = own_first(TINY, PROMPT, machine, **settings)
        quick = own_first(TINY, PROMPT, machine, draft=Drafting(counts, 6, False), **settings)
        counts.learn(quick.tokens)
        assert (quick.tokens, quick.misses) == (plain.tokens, plain.misses)
        assert quick.log_probs == pytest.approx(plain.log_probs, abs=1e-3)
        assert plain.passes == len(plain.tokens)
        if seed:  # The greedy text is known by then; of drawn ones at least its beginning.
            assert quick.passes < plain.passes and quick.proposed >= quick.accepted > 0


def test_a_session_and_its_trace_know_the_proposals() -> None:
    machine = machine_of(SCHEMA)
    counts = TokenCounts(TINY, PROMPT, machine, seen=1)
    settings: dict[str, Any] = {"sampler": Sampler(1.0), "seed": 3}
    plain = explorer.Session(TINY, machine, PROMPT, **settings).run(20)
    counts.learn(plain.ids)
    trace = explorer.Session(TINY, machine, PROMPT, draft=counts, **settings).run(20)
    assert trace.ids == plain.ids and trace.draft == "counts"
    proposals = [step.proposal for step in trace.steps if step.proposal is not None]
    assert len(proposals) > 5 and any(one.accepted for one in proposals)


def test_a_place_of_a_stack_is_the_same_at_every_depth() -> None:
    """After "[" the counted token is proposed at each depth, at the start it is not."""
    machine = machine_of(NESTED)
    counts = TokenCounts(TINY, PROMPT, machine, seen=1)
    one, other = (TINY.vocabulary.ids_of(data)[0] for data in (b"[", b"]"))
    ids = TINY.encode_prompt(PROMPT)
    counts.learn([one, one, other, 10**6])
    for depth in (2, 5):
        logits = counts.read((*ids, *[one] * depth)).logits
        assert logits.argmax() == other and (logits > -float("inf")).sum() == 1
    assert counts.read(ids).logits.argmax() == one
    with pytest.raises(ContextFull, match="Too few tokens"):
        counts.read((*ids, one, other))
