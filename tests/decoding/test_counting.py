"""Proposals from counts: the texts are those without, whatever was counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import explorer
from explorer import Sampler, generate, regex
from explorer.decoding.speculation.own_first import own_first
from explorer.decoding.speculation.proposing import Counting, Drafting, TokenCounts
from explorer.errors import ExplorerError
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


@pytest.mark.parametrize(
    "constraint", [SCHEMA, NESTED, regex("[a-c ]{2,9}")], ids=["schema", "grammar", "regex"]
)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("ahead", few([0, 1, 5, 12], 2))
def test_the_text_is_the_one_without(
    constraint: explorer.Constraint, sampler: Sampler, ahead: int
) -> None:
    machine = machine_of(constraint)
    counting = Counting(TokenCounts(machine), ahead=ahead, least=0.2, seen=1)
    for seed in range(4):
        settings: dict[str, Any] = {"seed": seed, "masking_budget": False}
        plain = generate(TINY, ["A person as JSON:"], machine, sampler, 24, **settings)
        quick = generate(
            TINY, ["A person as JSON:"], machine, sampler, 24, draft=counting, **settings
        )
        assert [text.tokens for text in quick] == [text.tokens for text in plain]
        assert quick[0].log_probs_model == pytest.approx(plain[0].log_probs_model, abs=1e-3)
        assert quick[0].passes <= len(quick[0].tokens)
        assert ahead or (quick[0].proposed, quick[0].passes) == (0, len(quick[0].tokens))


def test_a_text_that_is_known_takes_few_passes() -> None:
    machine = machine_of(SCHEMA)
    counting = Counting(TokenCounts(machine), ahead=8, seen=1)
    first, second = (
        generate(TINY, "A person as JSON:", machine, max_tokens=40, draft=counting)[0]
        for _ in range(2)
    )
    assert first.tokens == second.tokens and first.finished
    assert second.passes < first.passes and second.passes <= len(second.tokens) / 3
    assert second.accepted > first.accepted


@pytest.mark.parametrize("sampler", SAMPLERS[:2], ids=str)
def test_with_the_models_own_choice_first(sampler: Sampler) -> None:
    machine = machine_of(SCHEMA)
    counting = Counting(TokenCounts(machine), ahead=6, seen=1)
    for seed in range(4):
        plain = own_first(TINY, "JSON:", machine, sampler=sampler, max_tokens=30, seed=seed)
        quick = own_first(
            TINY, "JSON:", machine, sampler=sampler, max_tokens=30, seed=seed, counting=counting
        )
        assert (quick.tokens, quick.misses) == (plain.tokens, plain.misses)
        assert quick.log_probs == pytest.approx(plain.log_probs, abs=1e-3)
        assert plain.passes == len(plain.tokens)
        if seed:  # The greedy text is known by then; of drawn ones at least its beginning.
            assert quick.passes < plain.passes and quick.proposed >= quick.accepted > 0


@pytest.mark.parametrize("accept", ["same", "ratio"])
def test_with_a_draft_beside(accept: Any) -> None:
    machine = machine_of(SCHEMA)
    draft = Drafting(explorer.load_model("tiny-draft"), ahead=4, accept=accept)
    counting = Counting(TokenCounts(machine), ahead=6, seen=2, draft=draft)
    for seed in range(3):
        (plain,) = generate(TINY, "JSON:", machine, max_tokens=30, seed=seed)
        (both,) = generate(TINY, "JSON:", machine, max_tokens=30, seed=seed, draft=counting)
        assert both.tokens == plain.tokens  # Greedily, however proposals are judged.
        (alone,) = generate(TINY, "JSON:", machine, max_tokens=30, draft=draft)
        assert seed < 2 or both.passes <= alone.passes


def test_a_session_and_its_trace_know_the_proposals() -> None:
    machine = machine_of(SCHEMA)
    counting = Counting(TokenCounts(machine), ahead=6, seen=1)
    plain = explorer.Session(TINY, machine, "JSON:", sampler=Sampler(1.0), seed=3).run(20)
    settings: dict[str, Any] = {"sampler": Sampler(1.0), "seed": 3, "draft": counting}
    first, trace = (explorer.Session(TINY, machine, "JSON:", **settings).run(20) for _ in range(2))
    assert first.ids == trace.ids == plain.ids and trace.draft == "counts"
    proposals = [step.proposal for step in trace.steps if step.proposal is not None]
    assert len(proposals) > 5 and any(one.accepted for one in proposals)


def test_counts_are_the_counts() -> None:
    """Against a plain count over the machine's own walk."""
    machine = machine_of(regex("(ab|abc|b)+"))
    ids = [TINY.vocabulary.encode(text) or () for text in ("abab", "abcb", "bab", "abab")]
    counts = TokenCounts(machine)
    plain: dict[int, Counter[int]] = {}
    for row in ids:
        counts.learn(row)
        state = machine.start
        for token in row:
            plain.setdefault(machine.byte_state(state), Counter())[token] += 1
            after = machine.step(state, token)
            assert after is not None
            state = after
    assert len(counts) == len(plain)
    found = counts.likeliest(machine.start)
    best = plain[machine.byte_state(machine.start)].most_common(1)[0]
    assert found is not None and found[1] * found[2] == pytest.approx(best[1])
    counts.learn([10**6])
    assert len(counts) == len(plain)


def test_a_place_of_a_stack_is_the_same_at_every_depth() -> None:
    machine = machine_of(NESTED)
    counts = TokenCounts(machine)
    one = TINY.vocabulary.ids_of(b"[")[0]
    shallow = deep = machine.start
    for k in range(5):
        deep = machine.step(deep, one) or 0
        shallow = deep if k == 1 else shallow
    counts.add(shallow, 7)
    assert shallow != deep and counts.likeliest(deep) == (7, 1.0, 1)
    assert counts.likeliest(machine.start) is None


def test_what_is_refused() -> None:
    machine, other = machine_of(SCHEMA), machine_of(NESTED)
    with pytest.raises(ExplorerError, match="counts are of another machine"):
        generate(TINY, "x", other, draft=Counting(TokenCounts(machine)))
    for wrong in ({"ahead": 65}, {"ahead": -1}, {"least": 1.5}, {"seen": 0}, {"draft": TINY}):
        with pytest.raises(ExplorerError, match=next(iter(wrong))):
            Counting(TokenCounts(machine), **wrong)  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match="token machine"):
        TokenCounts(regex("a"))  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match="another vocabulary"):
        draft = Drafting(explorer.load_model("tiny-sp"))
        generate(TINY, "x", machine, draft=Counting(TokenCounts(machine), draft=draft))
