"""A session whose machine has spent its budget keeps its text and still answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.analysis.traps import machine_traps
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import regex
from explorer.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_bytes([b"a", b"b", b"z"], eos_ids=[3])
A, B, Z = range(3)


@pytest.fixture
def spent() -> Session:
    """A session after as many tokens as its machine has states for."""
    machine = explorer.compile(
        regex("(a|b)*a(a|b){12}"), VOCABULARY, explorer.Budget(states=60), lazy=True
    )
    session = Session.from_ids(VOCABULARY, machine, [])
    with pytest.raises(BudgetExceeded):
        for token in random.Random(0).choices([A, B], k=200):
            session.step(token=token)
    return session


def test_the_trace_ends_where_the_last_mask_is_known(spent: Session, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded):
        spent.allowed()
    trace = spent.trace
    assert 0 < len(trace) == spent.index - 1
    assert trace.ids == spent.ids[:-1] and spent.text.startswith(trace.text)
    trace.save(tmp_path / "trace")
    assert explorer.Trace.load(tmp_path / "trace").text == trace.text


def test_a_masked_token_is_explained(spent: Session) -> None:
    found = spent.explain(Z)
    assert found.stage == "constraint" and found.expected == b"ab"
    assert "stopped" in found.paragraph and spent.reasons().groups


def test_the_traps_say_that_the_search_stopped(spent: Session) -> None:
    last = spent.traps()[-1]
    assert last.kind == "visited_only" and last.evidence["stopped"]
    assert "The search for traps stopped" in last.message


def test_traps_without_a_limit_in_the_way_do_not_say_so() -> None:
    machine = explorer.compile(regex("[ ]*a"), Vocabulary.from_bytes([b" ", b"a"], eos_ids=[2]),
                               lazy=True)  # fmt: skip
    last = machine_traps(machine)[-1]
    assert last.kind == "visited_only" and not last.evidence["stopped"]
