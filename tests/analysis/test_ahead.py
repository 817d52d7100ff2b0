"""A look ahead against the session itself: step there, and read the feasible mass."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import explorer
from explorer.analysis.ahead import Ahead
from explorer.analysis.session import Session
from explorer.analysis.traps import session_traps
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.model import EachLanguageModel
from explorer.decoding.sampling.sampler import Sampler
from tests.decoding.models import KINDS, LINEAR, WITHOUT_CACHE, hash_model, language_model

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


def test_a_step_does_not_wait_for_it() -> None:
    """The look is held within its forward pass until a step in another thread is done."""
    model = counted()
    session = Session(model, explorer.regex("[a-z ]{20}"), "the fox")
    session.run(4)
    expected = session.copy().ahead(3)
    inside, stepped = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert stepped.wait(30)

    model.within = hold
    answers: list[tuple[Ahead, ...]] = []
    thread = threading.Thread(target=lambda: answers.append(session.ahead(3)))
    thread.start()
    assert inside.wait(30)
    session.step()
    _ = session.position
    stepped.set()
    thread.join(30)
    assert answers == [expected]  # It is about the place where it was asked.
