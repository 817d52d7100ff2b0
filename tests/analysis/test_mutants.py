"""Explainers with one thing wrong: the oracle must object to each, and not to the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.analysis.explaining import explanation
from explorer.analysis.places import spans, widening
from explorer.analysis.verdict import background, verdict
from explorer.analysis.verdict.background import SortedTokens
from explorer.automata.machine import Dfa
from explorer.budget import Budget
from explorer.languages.constraint import regex
from explorer.languages.regex.source import Regex
from explorer.languages.written import configuration
from explorer.languages.written.configuration import Configurations
from tests.analysis.cases import build, wrongs

CASES: list[tuple[str, list[bytes | None]]] = [
    ("a*b|ä", [b"a", b"b", b"\xc3", b"ab", b"\xb6", "ö".encode()]),
    ("[ä🙂]a?", [b"\xc3", b"\xa4", b"\xf0\x9f", b"\x99\x82", b"a", "äa".encode(), b"\xa4a"]),
    ("(?!ab)[ab]{2,3}", [b"a", b"b", b"ab", b"aa", b"1"]),
    ("a1|b ?", [b"a", b"b", b"b ", b" ", b"a1", b"a1a"]),
    ("(🙂|ab)1", ["🙂".encode(), b"a", b"b", b"1"]),
    ("ab1|b", [b"a", b"b"]),
    ("a.*1", [b"a", b"1", b" ", "ä".encode(), b"\xc3", b"a\xc3", b"\xa41"]),
]


def complaints() -> list[tuple[object, ...]]:
    spans.source_machines.cache_clear()
    found: list[tuple[object, ...]] = []
    for pattern, tokens in CASES:
        built = build(pattern, tokens, seed=0, count=0)
        assert built is not None
        found += wrongs(pattern, *built, Counter(), places=6)
    return found


def test_the_explainer_itself_is_right() -> None:
    assert complaints() == []


def _forget_the_trim(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything_finishes(self: background.Background) -> Any:
        return np.ones(self.byte_machine.num_states, np.bool_)

    monkeypatch.setattr(background.Background, "_kept", property(everything_finishes))


def _writable_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_byte(trie: Any, machine: Any, kept: Any, state: int, data: bytes) -> bytes:
        return machine.expected(int(verdict.run(machine, state, data)[-1]))

    monkeypatch.setattr(background, "writable_bytes", any_byte)


def _writable_within_one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    right = background.writable_bytes

    def from_a_boundary(
        trie: Any, machine: Any, kept: Any, state: int, data: bytes
    ) -> bytes | None:
        here = int(verdict.run(machine, state, data)[-1])
        return right(trie, machine, kept, here, b"")

    monkeypatch.setattr(background, "writable_bytes", from_a_boundary)


def _first_byte_is_not_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Dfa.expected
    monkeypatch.setattr(Dfa, "expected", lambda self, state: right(self, state)[1:])


def _characters_are_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "character_start", lambda data, index: index)


def _dead_end_witness_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "shortest_word", lambda dfa, state: b"")


def _bytes_before_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "TOKENS_FIRST", background.BYTES_ONLY)


def _nearest_from_the_far_end(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SortedTokens.nearest

    def without_bytes(
        self: SortedTokens, data: bytes, allowed: Any, rank: Any, count: int
    ) -> tuple[int, ...]:
        return right(self, b"", allowed, rank, count)

    monkeypatch.setattr(SortedTokens, "nearest", without_bytes)


def _more_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation.Explanation, "_forced", lambda self, state: b"1")


def _widening_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Regex.wider

    def unproved(self: Regex, start: int, end: int, rest: str) -> tuple[str, ...]:
        return (f"(?:{self.pattern[start:end]}|.*)", *right(self, start, end, rest))

    def wrong(self: widening.Widening) -> str:
        return self.pattern

    monkeypatch.setattr(Regex, "wider", unproved)
    monkeypatch.setattr(widening.Widening, "changed", property(wrong))


def _every_assertion_excludes(monkeypatch: pytest.MonkeyPatch) -> None:
    def same_word(dfa: Any, state: int | None = None) -> bytes:
        return b"\n"

    monkeypatch.setattr(spans, "shortest_word", same_word)


def _no_part_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "deciding_parts", lambda *_: ())


def _empty_tokens_are_special(monkeypatch: pytest.MonkeyPatch) -> None:
    right = verdict.judge

    def without_empty(*arguments: Any) -> verdict.Verdict:
        found = right(*arguments)
        return replace(found, stage="not_text") if found.stage == "empty_token" else found

    monkeypatch.setattr(explanation, "judge", without_empty)


def _only_whole_tokens_of_the_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "longest_spelled", lambda trie, data: 0)


MUTANTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    _forget_the_trim,
    _writable_is_expected,
    _writable_within_one_token,
    _first_byte_is_not_expected,
    _characters_are_bytes,
    _dead_end_witness_stops_early,
    _bytes_before_tokens,
    _nearest_from_the_far_end,
    _more_is_forced,
    _widening_without_a_proof,
    _every_assertion_excludes,
    _no_part_is_found,
    _empty_tokens_are_special,
    _only_whole_tokens_of_the_witness,
]


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__.strip("_"))
def test_a_mutant_is_caught(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    assert complaints() != []


def test_untrimmed_positions_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(pattern: str, text: bytes) -> bytes:
        here = Configurations(regex(pattern).source.tree, Budget()).after(text)
        return b"" if here is None else here.expected

    pattern = r"a[^\s\S]|ab"
    expected = regex(pattern).dfa.expected(regex(pattern).dfa.start)
    assert read(pattern, b"") == expected == b"a"
    pattern = r"x(a[^\s\S])?"
    assert read(pattern, b"x") == b""
    monkeypatch.setattr(configuration, "alive", lambda laid: np.ones(laid.num_states, np.bool_))
    assert read(pattern, b"x") == b"a"
