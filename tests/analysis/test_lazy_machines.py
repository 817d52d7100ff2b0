"""Explanations of lazy machines, and mutants of explanations."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.analysis import Explanation, explain, explain_all, machine_traps
from explorer.analysis.explaining.explanation import Completion
from explorer.analysis.places.widening import Cause
from explorer.analysis.verdict.verdict import DeadEnd
from explorer.automata.machine import ByteMachine
from explorer.budget import Budget
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import regex
from explorer.languages.written.configuration import Configurations
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from tests.analysis.cases import Explain, build, common, plain, wrongs
from tests.automata.discovered.beside import Renumbered
from tests.decoding.patterns import random_pattern
from tests.evidence import few

# A machine that works its states out as they are visited is explained as the closed form is.


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
    far = explorer.compile(explorer.regex("[a-z]{3000}!"), WHOLE)
    found = explain(far, far.start, WHOLE.ids_of(b"!")[0], budget=few)
    with pytest.raises(BudgetExceeded):
        found.after  # noqa: B018
    assert "The search for a place where it would be allowed stopped" in found.stopped[0]
    assert explain(dfa, dfa.start, WHOLE.ids_of(b"<")[0], budget=few).after is None
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


# Explainers with one thing wrong: the oracle must object to each, and not to the right one.


CASES: list[tuple[str, list[bytes | None]]] = [
    ("a*b|ä", [b"a", b"b", b"\xc3", b"ab", b"\xb6", "ö".encode()]),
    ("[ä🙂]a?", [b"\xc3", b"\xa4", b"\xf0\x9f", b"\x99\x82", b"a", "äa".encode(), b"\xa4a"]),
    ("(?!ab)[ab]{2,3}", [b"a", b"b", b"ab", b"aa", b"1"]),
    ("a1|b ?", [b"a", b"b", b"b ", b" ", b"a1", b"a1a"]),
    ("(🙂|ab)1", ["🙂".encode(), b"a", b"b", b"1"]),
    ("ab1|b", [b"a", b"b"]),
    ("a.*1", [b"a", b"1", b" ", "ä".encode(), b"\xc3", b"a\xc3", b"\xa41"]),
]


def complaints(explainer: Explain = plain) -> Iterator[tuple[object, ...]]:
    for pattern, tokens in CASES:
        built = build(pattern, tokens, seed=0, count=0)
        assert built is not None
        yield from wrongs(pattern, *built, Counter(), explainer, places=6)


def test_the_explainer_itself_is_right() -> None:
    assert list(complaints()) == []


# In the verdict and the parts.


def _dead_ends_are_allowed(why: Explanation) -> Explanation:
    stage = "allowed" if why.stage == "dead_end" else why.verdict.stage
    return replace(why, verdict=replace(why.verdict, stage=stage))


def _writable_is_expected(why: Explanation) -> Explanation:
    return replace(why, verdict=replace(why.verdict, writable=why.expected))


def _writable_within_one_token(why: Explanation) -> Explanation:
    """The bytes that tokens begin with, though the failing byte need not begin one."""
    begin = {data[0] for data in why.machine.vocabulary.tokens if data}
    writable = bytes(byte for byte in why.expected if byte in begin)
    return replace(why, verdict=replace(why.verdict, writable=writable))


def _first_byte_is_not_expected(why: Explanation) -> Explanation:
    return replace(why, verdict=replace(why.verdict, expected=why.expected[1:]))


def _characters_are_bytes(why: Explanation) -> Explanation:
    return replace(why, verdict=replace(why.verdict, char_offset=why.byte_offset))


def _with_dead_end(why: Explanation, change: Callable[[DeadEnd, int], DeadEnd]) -> Explanation:
    dead, verdict = why.verdict.dead_end, why.verdict
    if dead is None:
        return why
    through = len(verdict.prefix + (verdict.data or b""))
    return replace(why, verdict=replace(verdict, dead_end=change(dead, through)))


def _dead_end_witness_stops_early(why: Explanation) -> Explanation:
    return _with_dead_end(why, lambda dead, n: replace(dead, witness=dead.witness[:n]))


def _only_whole_tokens_of_the_witness(why: Explanation) -> Explanation:
    return _with_dead_end(why, lambda dead, n: replace(dead, offset=n))


def _every_assertion_excludes(why: Explanation) -> Explanation:
    parts = tuple(
        replace(part, words=(b"\n",)) if part.role == "excludes" else part for part in why.parts
    )
    return replace(why, parts=parts)


def _no_part_is_found(why: Explanation) -> Explanation:
    return replace(why, parts=())


def _empty_tokens_are_special(why: Explanation) -> Explanation:
    stage = "not_text" if why.stage == "empty_token" else why.verdict.stage
    return replace(why, verdict=replace(why.verdict, stage=stage))


# In the searches.


class _OneTokenMore(Explanation):
    @cached_property
    def after(self) -> tuple[int, ...] | None:
        known = super().after
        return known and (known[0], *known)


class _NearestFromTheFarEnd(Explanation):
    @cached_property
    def nearest(self) -> tuple[int, ...]:
        tokens, data = self.machine.vocabulary.tokens, self.verdict.data or b""
        return tuple(sorted(super().nearest, key=lambda near: common(data, tokens[near] or b"")))


class _MoreIsForced(Explanation):
    @property
    def completion(self) -> Completion | None:
        known = super().completion
        return known and replace(known, forced=b"1")


class _CauseWithoutAProof(Explanation):
    @cached_property
    def cause(self) -> Cause | None:
        known = super().cause
        return known and self.constraint and replace(known, constraint=self.constraint)


def as_kind(kind: type[Explanation]) -> Callable[[Explanation], Explanation]:
    return lambda why: kind(**{each.name: getattr(why, each.name) for each in fields(why)})


MUTANTS: dict[str, Callable[[Explanation], Explanation]] = {
    mutate.__name__.strip("_"): mutate
    for mutate in (
        _dead_ends_are_allowed, _writable_is_expected, _writable_within_one_token,
        _first_byte_is_not_expected, _characters_are_bytes, _dead_end_witness_stops_early,
        _only_whole_tokens_of_the_witness, _every_assertion_excludes, _no_part_is_found,
        _empty_tokens_are_special,
    )
} | {
    kind.__name__.strip("_"): as_kind(kind)
    for kind in (_OneTokenMore, _NearestFromTheFarEnd, _MoreIsForced, _CauseWithoutAProof)
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant: str) -> None:
    def explainer(dfa: explorer.TokenDFA, state: int, token: int, text: bytes) -> Explanation:
        return MUTANTS[mutant](plain(dfa, state, token, text))

    assert any(complaints(explainer))


def test_positions_that_cannot_end_are_left_out() -> None:
    def read(pattern: str, text: bytes) -> bytes:
        here = Configurations(regex(pattern).source.tree, Budget()).after(text)
        return b"" if here is None else here.expected

    pattern = r"a[^\s\S]|ab"
    expected = regex(pattern).dfa.expected(regex(pattern).dfa.start)
    assert read(pattern, b"") == expected == b"a"
    assert read(r"x(a[^\s\S])?", b"x") == b""
