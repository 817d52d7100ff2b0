"""Terminals over tokens: both kinds of machine and pynini's against a matcher of token sequences.

Every sequence of up to three tokens of a vocabulary with duplicates, halves of a character, tokens
with newlines, ids that are not text and an id that writes nothing.
"""

from __future__ import annotations

import codecs
import itertools
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import Vocabulary, literal, regex, terminals
from explorer.errors import EmptyConstraint, IncompatibleVocabulary
from explorer.tokens.machine import TokenMachine
from tests.evidence import examples
from tests.tokens.sequences import (
    Expression,
    Image,
    Many,
    Place,
    Text,
    Then,
    Token,
    Until,
    expressions,
    matches,
)

VOCABULARY = Vocabulary.from_bytes(
    [b"a", b"b", b"ab", b"\n", b"a\nb", b"a", None, None, b"\xc3", b"\xa4", b"", b"aa"],
    eos_ids=[12],
)
IDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
LONGEST = 3
SEQUENCES = [s for n in range(LONGEST + 1) for s in itertools.product(IDS, repeat=n)]


def machines(expression: Expression) -> list[TokenMachine]:
    """The closed form, the lazy machine and pynini's; none where the vocabulary has no word."""
    constraint = expression.constraint()
    try:
        return [
            explorer.compile(constraint, VOCABULARY, lazy=False),
            explorer.compile(constraint, VOCABULARY, lazy=True),
            explorer.compile(constraint, VOCABULARY, method="pynini"),
        ]
    except (EmptyConstraint, IncompatibleVocabulary):
        for lazy in (False, True):
            with pytest.raises((EmptyConstraint, IncompatibleVocabulary)):
                explorer.compile(constraint, VOCABULARY, lazy=lazy)
        return []


def after(machine: TokenMachine, ids: tuple[int, ...]) -> int | None:
    state: int | None = machine.start
    for token in ids:
        state = None if state is None else machine.step(state, token)
    return state


def shortest_end(machine: TokenMachine, state: int) -> tuple[int, ...]:
    """Some fewest tokens to a complete text, found with steps alone."""
    queue: list[tuple[int, tuple[int, ...]]] = [(state, ())]
    met = {state}
    for here, ids in queue:
        if machine.is_final(here):
            return ids
        for token in machine.allowed(here).nonzero()[0].tolist():
            there = machine.step(here, token)
            if there is not None and there >= 0 and there not in met:
                met.add(there)
                queue.append((there, (*ids, token)))
    raise AssertionError("a dead end")


def assert_right(expression: Expression) -> None:
    words = {ids for ids in SEQUENCES if matches(expression, VOCABULARY, ids)}
    prefixes = {ids[:k] for ids in words for k in range(len(ids) + 1)}
    built = machines(expression)
    if not built:
        assert not words
    for machine in built:
        for ids in SEQUENCES:
            state = after(machine, ids)
            assert (state is not None and machine.is_final(state)) == (ids in words), ids
            if state is None:
                assert ids not in prefixes
                continue
            # Alive means that some tokens end it; the matcher agrees about those that do.
            rest = shortest_end(machine, state)
            assert matches(expression, VOCABULARY, (*ids, *rest))
            distance = machine.distance_to_end(state)
            assert distance is None or distance == len(rest) + 1
            allowed = machine.allowed(state)
            steps = [machine.step(state, t) is not None for t in range(len(VOCABULARY))]
            assert steps == allowed.tolist()
            if len(ids) < LONGEST:
                for token in IDS:
                    assert allowed[token] or (*ids, token) not in prefixes
            assert not allowed[10]


@given(expressions)
@settings(max_examples=examples(15))
def test_machines_agree_with_the_matcher(expression: Expression) -> None:
    assert_right(expression)


@pytest.mark.long
@given(expressions)
def test_machines_agree_with_the_matcher_at_length(expression: Expression) -> None:
    assert_right(expression)


@dataclass(frozen=True)
class Anywhere(Token):
    """A mutant: a text token that may begin in the middle of one."""

    def ends(self, tokens: object, place: Place) -> set[Place]:
        return super().ends(tokens, (place[0], 0)) if place[1] else super().ends(tokens, place)  # type: ignore[arg-type]


def test_the_matcher_can_fail() -> None:
    assert_right(Then(Text("a"), Token(True)))
    with pytest.raises(AssertionError):
        assert_right(Then(Text("a"), Anywhere(True)))


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        (r"(?P<TEXT_TOKEN>){2}", (8, 9)),
        (r"a(?P<TEXT_TOKEN>)b", (0, 3, 1)),
        (r"(\n(?P<PARAGRAPH_TOKEN>)+){1,2}", (3, 0, 3, 1)),
        (r"(?P<TEXT_UNTIL>ab)a?", (0, 1, 5)),
        (r"x?(?P<IMAGE>)(?P<IMAGE>7)", (6, 7)),
        (r"(?i)A(?P<DELIMITED_LIST>\n|(?P<TEXT_TOKEN>))$", (0, 1, 3, 0)),
    ],
)
def test_terminals_in_patterns(pattern: str, ids: tuple[int, ...]) -> None:
    for lazy in (False, True):
        machine = explorer.compile(regex(pattern), VOCABULARY, lazy=lazy)
        state = after(machine, ids)
        assert state is not None and machine.is_final(state)


def test_texts_are_those_of_any_vocabulary() -> None:
    assert regex(r"(?P<TEXT_TOKEN>){2}").accepts("ä")
    assert not regex(r"(?P<TEXT_TOKEN>){2}").accepts("a")
    assert regex("a(?P<PARAGRAPH_TOKEN>)").examples(1) == ["a\x00"]
    assert not regex("(?P<PARAGRAPH_TOKEN>)+").accepts("a\n")
    assert regex("a(?P<IMAGE>)b").accepts("ab")
    assert terminals.text_until("ab").accepts("aab") and not terminals.text_until("ab").accepts(
        "abab"
    )
    assert not terminals.image().is_empty() and terminals.image().is_finite()
    assert (terminals.text_token() & terminals.image()).is_empty()


def test_equivalence_is_about_tokens() -> None:
    token, some = terminals.text_token(), regex("(?s:.+)")
    assert not token.equivalent(some)
    assert token.plus().equivalent(token + token.star())
    assert (token & some).equivalent(token)
    assert (literal("a") & token).equivalent(token - ~literal("a"))


def test_ids_that_a_model_cannot_give_are_no_images() -> None:
    wide = Vocabulary.from_bytes([b"a", None, None, b"b", None], eos_ids=[4, 2])
    machine = explorer.compile(terminals.image(), wide)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == [1]
    with pytest.raises(IncompatibleVocabulary):
        explorer.compile(terminals.image(4), wide)
    many = Vocabulary.from_bytes([b"a", None, None, None, b"b"], eos_ids=[2])
    narrow = explorer.compile(terminals.image(), many, width=3)
    assert narrow.allowed(narrow.start).nonzero()[0].tolist() == [1]


@given(st.integers(0, 300))
def test_an_image_may_have_any_id(token: int) -> None:
    tokens = [None] * 301 + [b"a"]
    vocabulary = Vocabulary.from_bytes(tokens, eos_ids=[302])
    machine = explorer.compile(terminals.image(token, 5), vocabulary)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == sorted({token, 5})


def can_begin_text(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def test_a_paragraph_at_full_size(tekken_131k: Vocabulary) -> None:
    """Over 131,072 tokens, against the definition said in Python, for both kinds of machine."""
    pattern = regex(r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>)+){3,5}")
    first = [tekken_131k.ids_of(text)[0] for text in (b"Summary", b":", b"\n", b"*", b" ", b"x")]
    expected = [
        data is not None
        and (b"\n* ".startswith(data) or (b"\n" not in data and can_begin_text(data)))
        for data in tekken_131k.tokens
    ]
    for lazy in (False, True):
        machine = explorer.compile(pattern, tekken_131k, lazy=lazy)
        state = after(machine, tuple(first))
        assert state is not None
        assert machine.allowed(state).tolist() == expected


def sampled(machine: TokenMachine, rng: random.Random) -> tuple[int, ...]:
    """A word of a machine, by steps drawn at random, finished the shortest way after a while."""
    state, ids = machine.start, []
    while rng.random() < 0.85 or not machine.is_final(state):
        if len(ids) > 8:
            return (*ids, *shortest_end(machine, state))
        allowed = [t for t in machine.allowed(state).nonzero()[0].tolist() if t in IDS]
        if not allowed:
            break
        ids.append(rng.choice(allowed))
        following = machine.step(state, ids[-1])
        assert following is not None
        state = following
    return tuple(ids)


@pytest.mark.long
@pytest.mark.parametrize(
    "expression",
    [
        Many(Token(True)),
        Then(Text("a"), Many(Token(False))),
        Then(Until("ab"), Text("b")),
        Then(Many(Image(())), Then(Token(True), Image((7,)))),
    ],
)
def test_sampled_sequences_are_words(expression: Expression) -> None:
    rng = random.Random(11)
    for lazy in (False, True):
        machine = explorer.compile(expression.constraint(), VOCABULARY, lazy=lazy)
        for _ in range(1000):
            assert matches(expression, VOCABULARY, sampled(machine, rng))
