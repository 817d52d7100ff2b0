"""The step that comes: what it allows, and the mass that lies ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.analysis.ahead import Ahead
from explorer.analysis.explaining.step import (
    explain_recorded,
    explain_step,
    explain_trace,
    reasons_at,
)
from explorer.analysis.session import Session
from explorer.analysis.traps import session_traps
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.model import EachLanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from tests.analysis.table_model import TableModel
from tests.decoding.models import KINDS, LINEAR, WITHOUT_CACHE, hash_model, language_model

# Explanations at a position of a session, with what the sampler and the budget remove.


VOCABULARY = explorer.Vocabulary.from_bytes(
    [b"a", b"b", b"c", b"ab", b"-", b"x", "ä".encode()], eos_ids=[7]
)
PATTERN = "[abc]+-[abc]*"


def session(
    sampler: explorer.Sampler, max_tokens: int | None = None, constraint: str = PATTERN
) -> explorer.Session:
    model = TableModel(
        VOCABULARY, lambda _: {"a": 0.5, "b": 0.2, "c": 0.1, "ab": 0.05, "-": 0.1, "": 0.01}
    )
    return explorer.Session(
        model, explorer.regex(constraint), sampler=sampler, seed=3, max_tokens=max_tokens
    )


def test_each_filter_names_rank_and_threshold() -> None:
    found = explain_step(session(explorer.Sampler(top_k=2)), "c")
    assert found.allowed and found.sampled_out is not None
    assert (found.sampled_out.by, found.sampled_out.rank) == ("top_k", 3)
    assert "top-k keeps 2 tokens here, and it is number 3" in found.message
    found = explain_step(session(explorer.Sampler(top_p=0.6)), "c")
    assert found.sampled_out is not None and found.sampled_out.by == "top_p"
    found = explain_step(session(explorer.Sampler(min_p=0.3)), "c")
    assert found.sampled_out is not None and found.sampled_out.by == "min_p"
    assert found.sampled_out.threshold == pytest.approx(0.3 * 0.5 / 0.85, rel=0.05)
    found = explain_step(session(explorer.Sampler(temperature=0.0)), "c")
    assert found.sampled_out is not None and found.sampled_out.by == "greedy"
    assert explain_step(session(explorer.Sampler(temperature=0.0)), "a").sampled_out is None
    assert explain_step(session(explorer.Sampler()), "c").sampled_out is None
    # A masked token was removed by the constraint, before any filter.
    assert explain_step(session(explorer.Sampler(top_k=2)), "x").sampled_out is None


def test_every_allowed_token_agrees_with_the_session() -> None:
    run = session(explorer.Sampler(temperature=0.0), max_tokens=5)
    run.run()
    trace = run.trace
    for k in range(len(trace.positions)):
        mask = trace.allowed(k)
        for token in range(len(VOCABULARY)):
            found = explain_step(run, token, k)
            assert bool(mask[token]) == (found.allowed and found.over_budget is None)


def test_the_budget_says_what_is_needed_and_what_remains() -> None:
    run = session(explorer.Sampler(temperature=0.0), max_tokens=4)
    run.step(token="a")
    run.step(token="b")
    found = explain_step(run, "c")
    assert found.allowed and found.over_budget is not None and found.sampled_out is None
    assert (found.over_budget.needs, found.over_budget.remain) == (3, 2)
    assert "needs 3 tokens to the end, and 2 remain" in found.message
    assert explain_step(run, "-").over_budget is None
    assert explain_step(run, "a", 1).over_budget is None


def test_earlier_and_near_know_the_run() -> None:
    run = session(explorer.Sampler(temperature=0.0), constraint="[ab]{2}-")
    run.run()
    found = explain_step(run, "a", 2)
    assert found.stage == "constraint" and found.earlier is not None
    assert found.earlier.position == 1 and found.nearest == (4,)
    first = explain_step(run, "c", 0)
    assert first.nearest[:2] == (0, 1)  # By the model's probability: a, then b.
    assert explain_step(run, "aab", 0).index >= 1


def test_a_saved_trace_explains_with_and_without_the_vocabulary(tmp_path: Path) -> None:
    run = session(explorer.Sampler(temperature=0.0), constraint="[ab]{2}-")
    run.run()
    run.trace.save(tmp_path / "t.json")
    trace = explorer.Trace.load(tmp_path / "t.json")
    dfa = run.machine
    for k in range(len(trace.positions)):
        for token in range(-1, len(VOCABULARY) + 1):
            full = explain_trace(dfa, trace, token, k)
            alone = explain_recorded(trace, token, k)
            assert alone.stage == full.stage and alone.byte_offset == full.byte_offset
            assert alone.expected == full.expected and alone.message
    with pytest.raises(ExplorerError, match="no position 9"):
        explain_recorded(trace, 0, 9)
    other = explorer.compile(
        explorer.regex("a"), explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1])
    )
    with pytest.raises(ExplorerError, match="another vocabulary"):
        explain_trace(other, trace, 0)


def test_a_record_keeps_empty_tokens_and_what_the_budget_removed(tmp_path: Path) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"", None], eos_ids=[4])
    model = TableModel(vocabulary, lambda _: {"a": 0.6, "b": 0.3, "": 0.05})
    run = explorer.Session(model, explorer.regex("a(aaaa|b)?"), max_tokens=3)
    run.step(token=0)
    path = tmp_path / "trace.json"
    run.trace.save(path)
    trace = explorer.Trace.load(path)
    assert trace.tokens.data[2] == b"" and trace.tokens.data[3] is None
    stages = [explain_recorded(trace, token, 1).stage for token in range(5)]
    assert stages == [explain_step(run, token).stage for token in range(5)]
    assert stages == ["allowed", "allowed", "empty_token", "not_text", "allowed"]
    assert not trace.allowed(1)[0] and explain_step(run, 0).over_budget is not None
    assert "token budget" in explain_recorded(trace, 0, 1).message
    assert "token budget" not in explain_recorded(trace, 1, 1).message


def test_a_run_from_elsewhere_explains_its_finding() -> None:
    run = explorer.Session.from_ids(VOCABULARY, explorer.regex(PATTERN), [0, 1, 5, 4])
    assert run.rejection is not None
    found = explain_step(run, run.rejection.token)
    assert found.stage == "constraint" and found.verdict.prefix == b"ab"
    assert "expects '-' or a-c" in found.message
    reasons = reasons_at(run)
    assert reasons.z is None and reasons.num_allowed == 5


def test_reasons_at_a_position_carry_the_model_s_mass() -> None:
    run = session(explorer.Sampler())
    reasons = reasons_at(run)
    weights = run.logits(0).double().softmax(-1).numpy()
    assert reasons.z == pytest.approx(float(weights[run.allowed()].sum()))
    masses = [group.mass for group in reasons.groups if group.mass is not None]
    assert sum(masses) + (reasons.z or 0) == pytest.approx(1.0)
    assert "expects a-c, offered punctuation" in str(reasons)


def test_padded_logits_are_beyond_the_vocabulary() -> None:
    model = TableModel(VOCABULARY, lambda _: {"a": 0.5}, width=10)
    run = explorer.Session(model, explorer.regex(PATTERN))
    reasons = reasons_at(run)
    assert len(reasons.stage) == 10
    assert any(group.stage == "beyond_vocabulary" and group.count == 2 for group in reasons.groups)
    assert explain_step(run, 9).stage == "beyond_vocabulary"


def test_the_first_token_of_a_text_that_the_session_refuses_is_explained() -> None:
    run = session(explorer.Sampler(temperature=0.0), max_tokens=4)
    # "abc" are 'ab' and 'c'; each token before counts: a, b, -, EOS fit, a, b, c, -, EOS do not.
    assert explain_step(run, "a").over_budget is None
    found = explain_step(run, "abcc")
    assert found.asked == (3, 2, 2) and found.index == 0 and found.sampled_out is not None
    free = session(explorer.Sampler(), max_tokens=4)
    found = explain_step(free, "abcc")
    assert found.index == 2 and found.allowed and found.over_budget is not None
    assert (found.over_budget.needs, found.over_budget.remain) == (3, 2)
    assert found.verdict.prefix == b"abc" and found.asked == (3, 2, 2)
    assert "number 3, the first that cannot be drawn" in found.paragraph
    # The budget stops it before the constraint would, at the fourth.
    assert explain_step(free, "abccx").index == 2
    assert explain_step(session(explorer.Sampler()), "abccx").stage == "constraint"
    # The first token may be too much already.
    none = explain_step(session(explorer.Sampler(), max_tokens=3, constraint="a-|c{4}-"), "cc")
    assert none.asked == (2, 2) and none.index == 0 and none.over_budget is not None


def test_the_traps_of_a_session_hold_those_of_its_constraint_once() -> None:
    run = session(explorer.Sampler(temperature=0.0), max_tokens=4)
    kinds = [(trap.kind, trap.position) for trap in run.traps()]
    (endless,) = [trap for trap in run.traps() if trap.kind == "endless"]
    assert endless.position is None
    assert endless.evidence["traps"] == 2  # Before the hyphen, and after it: one remedy.
    assert len(set(map(str, run.traps()))) == len(kinds)
    with pytest.raises(ExplorerError, match=r"logprobs\[1\] is 3.0"):
        explorer.Session.from_ids(VOCABULARY, explorer.regex("a*"), [0, 0], logprobs=[-1, 3])
    with pytest.raises(ExplorerError, match="There are 1 log-probabilities for 2 ids"):
        explorer.Session.from_ids(VOCABULARY, explorer.regex("a*"), [0, 0], logprobs=[-1])


# A look ahead against the session itself: step there, and read the feasible mass.


STOPS = explorer.choice([" New York", " Boston"])


def check(session: Session, k: int = 10, close: float = 1e-4) -> tuple[Ahead, ...]:
    """Compare each entry with the position after a step to its token."""
    entries = session.ahead(k)
    here = session.position.distribution
    assert here is not None
    allowed = session.allowed()
    model = session.logits().double().log_softmax(-1)[: len(allowed)]
    order = torch.where(torch.tensor(allowed), model, -torch.inf).argsort(descending=True)
    count = min(k, int(allowed.sum()))
    assert [entry.token for entry in entries] == order[:count].tolist()
    for entry in entries:
        assert entry.probability == pytest.approx(float(model[entry.token].exp()), rel=1e-5)
        there = session.copy()
        there.step(token=entry.token)
        assert entry.data == session.vocabulary.tokens[entry.token]
        assert entry.complete == (there.finished or there.machine.is_final(there.state))
        after = there.position.distribution
        if after is None or session.setting.max_tokens == there.index:
            assert (entry.mass, entry.wished, entry.wish_allowed) == (None, None, False)
            continue
        assert entry.mass == pytest.approx(after.z, rel=close)
        assert entry.wished == after.first_choice
        assert entry.wish_allowed == (not after.intervention)
    return entries


@pytest.mark.parametrize("kind", [*KINDS, LINEAR, *WITHOUT_CACHE])
@pytest.mark.parametrize("written", [0, 3, 9])
def test_the_mass_is_that_of_the_next_position(kind: str, written: int) -> None:
    """Over every kind of key-values: growing, with a window, with a state that cannot be undone."""
    session = Session(language_model(kind), explorer.regex("[a-z ,]{80}"), "the fox", seed=3)
    for _ in range(written):
        session.step()
    check(session, 7)
    # The session itself reads what it would have read: its logits are those of a fresh model.
    fresh = Session(language_model(kind), explorer.regex("[a-z ,]{80}"), "the fox", seed=3)
    session.step()
    fresh.run(written + 1)
    assert session.ids == fresh.ids


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("max_tokens", [None, 4, 1])
def test_a_token_budget_and_a_machine_without_a_table(lazy: bool, max_tokens: int | None) -> None:
    model = hash_model()
    machine = explorer.compile(explorer.regex("(foo|yes)*d?"), model.vocabulary, lazy=lazy)
    session = Session(model, machine, max_tokens=max_tokens, sampler=Sampler(1.0))
    while not session.finished and session.index != max_tokens:
        check(session)
        session.step()
    assert session.ahead() == ()


def test_distances_and_endings_are_those_of_the_machine() -> None:
    lm = explorer.load_model("tiny")
    session = Session(lm, STOPS, "The night train stops at")
    for entry in check(session):
        state = session.machine.step(session.state, entry.token)
        assert state is not None
        assert entry.distance == session.machine.distance_to_end(state)
        assert entry.data is not None and entry.ending is not None
        assert STOPS.accepts((entry.data + entry.ending).decode())


def test_the_greedy_trap_is_seen_before_the_step() -> None:
    lm = explorer.load_model("tiny")
    session = Session(lm, STOPS, "The night train stops at")
    first = session.ahead(1)[0]
    assert (first.data, first.wish_allowed) == (b" New", False)
    assert first.mass is not None and first.mass < 0.01
    (before,) = [trap for trap in session.traps() if trap.kind == "greedy_trap"]
    assert before.position == 0 and "' New' is likely" in before.message
    assert before.evidence["z_after"] == pytest.approx(first.mass, rel=1e-4)
    session.step()
    (after,) = [trap for trap in session_traps(session.machine, session.trace)
                if trap.kind == "greedy_trap"]  # fmt: skip
    assert after.evidence["token"] == before.evidence["token"]
    assert after.evidence["z_after"] == pytest.approx(first.mass, rel=1e-4)


def test_no_trap_is_announced_where_the_step_is_none() -> None:
    lm = explorer.load_model("tiny")
    fits = explorer.choice([" New Delhi", " New York", " Boston"])
    session = Session(lm, fits, "The night train stops at")
    assert [trap for trap in session.traps() if trap.kind == "greedy_trap"] == []


def test_a_full_context_has_nothing_ahead() -> None:
    model = language_model("llama")
    session = Session(model, explorer.regex("[a-z ]{400}"), "the " * 100)
    last = 255 - len(session.trace.prompt_ids)
    session.run(last)
    assert {entry.mass for entry in session.ahead(3)} != {None}
    session.step()
    assert {entry.mass for entry in session.ahead(3)} == {None}


class Counted(HuggingFaceModel):
    """Notes the shape of each forward pass, and lets another thread act within one."""

    passes: list[tuple[int, ...]]
    within: Any = None

    def _forward(self, **inputs: Any) -> Any:
        self.passes.append(tuple(inputs["input_ids"].shape))
        if self.within is not None and inputs["input_ids"].shape[0] > 1:
            self.within()
        return super()._forward(**inputs)


def counted() -> Counted:
    base = language_model("llama")
    model = Counted(base.model, base.tokenizer, "counted")
    model.passes = []
    return model


def test_it_is_one_pass_of_one_column() -> None:
    model = counted()
    session = Session(model, explorer.regex("[a-z ]{20}"), "the fox")
    session.run(4)
    model.passes.clear()
    assert isinstance(model, EachLanguageModel)
    session.ahead(10)
    assert model.passes == [(10, 1)]
    model.passes.clear()
    session.step()
    assert model.passes == []  # Where it stands was read before; nothing is read again.
