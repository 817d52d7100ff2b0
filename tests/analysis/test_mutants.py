"""Explainers with one thing wrong: the oracle must object to each, and not to the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property

import pytest

import explorer
from explorer.analysis.explaining.explanation import Completion, Explanation
from explorer.analysis.places.widening import Widening
from explorer.analysis.verdict.verdict import DeadEnd
from explorer.budget import Budget
from explorer.languages.constraint import regex
from explorer.languages.written.configuration import Configurations
from tests.analysis.cases import Explain, build, common, plain, wrongs

CASES: list[tuple[str, list[bytes | None]]] = [
    ("a*b|ä", [b"a", b"b", b"\xc3", b"ab", b"\xb6", "ö".encode()]),
    ("[ä🙂]a?", [b"\xc3", b"\xa4", b"\xf0\x9f", b"\x99\x82", b"a", "äa".encode(), b"\xa4a"]),
    ("(?!ab)[ab]{2,3}", [b"a", b"b", b"ab", b"aa", b"1"]),
    ("a1|b ?", [b"a", b"b", b"b ", b" ", b"a1", b"a1a"]),
    ("(🙂|ab)1", ["🙂".encode(), b"a", b"b", b"1"]),
    ("ab1|b", [b"a", b"b"]),
    ("a.*1", [b"a", b"1", b" ", "ä".encode(), b"\xc3", b"a\xc3", b"\xa41"]),
]


def complaints(explainer: Explain = plain) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for pattern, tokens in CASES:
        built = build(pattern, tokens, seed=0, count=0)
        assert built is not None
        found += wrongs(pattern, *built, Counter(), explainer, places=6)
    return found


def test_the_explainer_itself_is_right() -> None:
    assert complaints() == []


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


class _WideningWithoutAProof(Explanation):
    @cached_property
    def widening(self) -> Widening | None:
        wide = super().widening
        return wide and replace(wide, replacement=wide.pattern[wide.start : wide.end])


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
    for kind in (_OneTokenMore, _NearestFromTheFarEnd, _MoreIsForced, _WideningWithoutAProof)
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant: str) -> None:
    def explainer(dfa: explorer.TokenDFA, state: int, token: int, text: bytes) -> Explanation:
        return MUTANTS[mutant](plain(dfa, state, token, text))

    assert complaints(explainer) != []


def test_positions_that_cannot_end_are_left_out() -> None:
    def read(pattern: str, text: bytes) -> bytes:
        here = Configurations(regex(pattern).source.tree, Budget()).after(text)
        return b"" if here is None else here.expected

    pattern = r"a[^\s\S]|ab"
    expected = regex(pattern).dfa.expected(regex(pattern).dfa.start)
    assert read(pattern, b"") == expected == b"a"
    assert read(r"x(a[^\s\S])?", b"x") == b""
