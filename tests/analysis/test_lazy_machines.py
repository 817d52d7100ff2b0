"""A machine that works its states out as they are visited is explained as the closed form is."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.analysis import Explanation, explain, explain_all, machine_traps
from explorer.automata.machine import ByteMachine
from explorer.budget import Budget
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from tests.automata.discovered.beside import Renumbered
from tests.decoding.patterns import random_pattern
from tests.evidence import few

TOKENS = [
    b"f", b"oo", b"foo", b"for", b"food", b"d", b"o", b"yes", b"no", b", ", b"y", b"e", b"s", b"n",
    b"\xc3", b"\xa9", "é".encode(), b"1", b"2", b"12", b"-", b"<", b"foo", b"a", b"b", b"ab", b"c",
    b" ", b"\"", b".", b"A", b"k", b"ok", "王".encode(), b"\xe7\x8e", b"\x8b", b"", None,
]  # fmt: skip
HALF = Vocabulary.from_bytes([*TOKENS, None], eos_ids=[len(TOKENS)])
WHOLE = Vocabulary.from_bytes(
    [*TOKENS, None, *(bytes([b]) for b in range(256))], eos_ids=[len(TOKENS)]
)


def over_any_byte_machine(machine: explorer.TokenDFA) -> TokenMachine:
    """The lazy machine over `Renumbered`, to show that nothing needs the tables of a `Dfa`."""
    from explorer.tokens.lazy import LazyMachine

    byte_machine: ByteMachine = Renumbered(machine.constraint.dfa, 7)
    return LazyMachine(
        machine.constraint, machine.vocabulary, byte_machine, machine.report, Budget()
    )


def words(found: Explanation) -> dict[str, Any]:
    """Everything an explanation says but the numbers of its states."""
    said = found.to_dict()
    said.pop("state")
    said.pop("char_state")
    said["walk"] = [byte for byte, _, _ in said["walk"]]  # pyright: ignore
    for part in said["parts"]:  # pyright: ignore
        part.pop("state")  # pyright: ignore
    return said


def walked(seed: int, vocabulary: Vocabulary, count: int = 12) -> Any:
    """A closed machine, and the states of it and of others along one random run."""
    draw = random.Random(seed)
    while True:
        try:
            constraint = explorer.regex(random_pattern(draw))
            closed = explorer.compile(constraint, vocabulary)
        except ExplorerError:
            continue
        break
    others: list[TokenMachine] = [
        explorer.compile(constraint, vocabulary, lazy=True),
        over_any_byte_machine(closed),
    ]
    places = [(closed.start, [other.start for other in others])]
    state, theirs = places[0]
    for _ in range(count):
        ids = np.flatnonzero(closed.allowed(state)).tolist()
        token = draw.choice(ids)
        after = closed.step(state, token)
        stepped = [other.step(q, token) for other, q in zip(others, theirs, strict=True)]
        following = [q for q in stepped if q is not None]
        assert after is not None and len(following) == len(others)
        state, theirs = after, following
        places.append((state, theirs))
        if state < 0:
            break
    return closed, others, places, draw


@pytest.mark.parametrize("vocabulary", [HALF, WHOLE], ids=["half", "whole"])
@pytest.mark.parametrize("seed", few(range(10), 4))
def test_explanations_equal_those_of_the_closed_form(seed: int, vocabulary: Vocabulary) -> None:
    closed, others, places, draw = walked(seed, vocabulary)
    for state, theirs in places:
        ids = [draw.randrange(len(vocabulary)) for _ in range(8)]
        for token in [*ids, vocabulary.eos_ids[0], -1, len(vocabulary)]:
            wanted = words(explain(closed, state, token))
            for other, q in zip(others, theirs, strict=True):
                assert words(explain(other, q, token)) == wanted
        reasons = explain_all(closed, state)
        for other, q in zip(others, theirs, strict=True):
            same = explain_all(other, q)
            assert str(same) == str(reasons) and same.to_dict() == reasons.to_dict()
            assert (same.stage == reasons.stage).all() and (same.offset == reasons.offset).all()


def test_another_machine_would_be_seen() -> None:
    """One in which the same token leads into a dead end, and one that expects another byte."""
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"ad"], eos_ids=[3])
    closed = explorer.compile(explorer.regex("a*d|b"), vocabulary)
    for pattern, same in (("a*d|b", True), ("a*c|b", False), ("a*da?|b", False)):
        lazy = explorer.compile(explorer.regex(pattern), vocabulary, lazy=True)
        assert (words(explain(lazy, 0, 0)) == words(explain(closed, 0, 0))) == same


def test_explaining_visits_no_state() -> None:
    lazy = explorer.compile(explorer.regex("[a-z]{2,9}, yes"), WHOLE, lazy=True)
    for token in range(len(WHOLE)):
        explain(lazy, lazy.start, token).paragraph  # noqa: B018 - All searches are made.
    explain_all(lazy, lazy.start)
    assert lazy.num_states <= 1 + len(WHOLE)  # `completion` asks for the state after a token.
    before = lazy.num_states
    explain(lazy, lazy.start, WHOLE.eos_ids[0]).to_dict()
    assert lazy.num_states == before


def test_traps_are_those_of_the_visited_states() -> None:
    vocabulary = Vocabulary.from_bytes([b" ", b"\n", b"x", b"y"], eos_ids=[4])
    constraint = explorer.regex(r"x\s*y")
    lazy = explorer.compile(constraint, vocabulary, lazy=True)
    (said,) = machine_traps(lazy)
    assert said.kind == "visited_only" and "1 state visited" in said.message
    state = lazy.step(lazy.start, 2)
    assert state is not None and lazy.step(state, 0) is not None
    found = machine_traps(lazy)
    assert [trap.kind for trap in found] == ["whitespace_loop", "visited_only"]
    (closed,) = machine_traps(explorer.compile(constraint, vocabulary))
    assert found[0].message == closed.message
    assert found[0].evidence["share_of_mask"] == closed.evidence["share_of_mask"]


def test_a_session_over_a_lazy_machine_says_why() -> None:
    constraint = explorer.regex("(foo)+d, (yes|no)")
    lazy = explorer.compile(constraint, HALF, lazy=True)
    ids = [0, 1, 4, 9, 7]
    ours = explorer.Session.from_ids(HALF, lazy, ids)
    theirs = explorer.Session.from_ids(HALF, constraint, ids)
    assert ours.text == theirs.text == "foofood, yes"
    for k in range(len(ids) + 1):
        for token in range(0, len(HALF), 5):
            assert words(ours.explain(token, k)) == words(theirs.explain(token, k))
        assert str(ours.reasons(k)) == str(theirs.reasons(k))
    assert [trap.kind for trap in ours.traps()][-1] == "visited_only"


def test_searches_keep_to_their_budget() -> None:
    dfa = explorer.compile(explorer.regex("[a-z]{0,3000}!"), WHOLE)
    few = Budget(states=50)
    with pytest.raises(BudgetExceeded):
        explain(dfa, dfa.num_states - 1, 0, budget=few)
    with pytest.raises(BudgetExceeded):
        explain_all(dfa, dfa.num_states - 1, budget=few)
    with pytest.raises(BudgetExceeded):
        machine_traps(dfa, budget=few)
    never = WHOLE.ids_of(b"<")[0]
    found = explain(dfa, dfa.start, never, budget=few)
    with pytest.raises(BudgetExceeded):
        found.after  # noqa: B018
    assert "The search for a place where it would be allowed stopped" in found.paragraph
    assert explain(dfa, dfa.start, never).after is None
    # What ran out of time goes on where it stopped, and comes to the same.
    last = explain(dfa, dfa.num_states - 2, 0)
    assert len(last.verdict.prefix) >= 2990


def test_a_way_is_kept_as_a_pointer() -> None:
    """A text per state would hold the square of their number."""
    import tracemalloc

    states = 6_000
    dfa = explorer.compile(explorer.regex(f"a{{0,{states}}}"), WHOLE)
    explain(dfa, 1, 0)
    tracemalloc.start()
    found = explain(dfa, dfa.num_states - 1, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.verdict.prefix == b"a" * states
    assert most < 8_000_000 < states * states / 2
