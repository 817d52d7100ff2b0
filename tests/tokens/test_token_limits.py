"""Limits on tokens, and terminals of tokens."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings

import explorer
from explorer import Constraint, Vocabulary, gen, literal, many, regex, template, terminals
from explorer.automata.tree.build import texts_are_those_of, texts_of
from explorer.budget import Meter
from explorer.errors import ConstraintError, EmptyConstraint, IncompatibleVocabulary
from explorer.tokens.machine import TokenMachine
from tests.evidence import examples
from tests.tokens.sequences import (
    Both,
    But,
    Expression,
    InFewTokens,
    Many,
    Other,
    Place,
    Text,
    Then,
    Token,
    Until,
    expressions,
    matches,
)

# Parts that at most so many tokens may write, against a matcher of token sequences.


A_OR_B = Many(Text("a"))
CASES: list[Expression] = [
    InFewTokens(A_OR_B, 1),
    InFewTokens(A_OR_B, 2),
    Then(Text("b"), Then(InFewTokens(A_OR_B, 1), Text("b"))),
    Then(InFewTokens(Many(Text("ab")), 1), InFewTokens(Many(Text("a")), 1)),
    Many(Then(InFewTokens(Text("aa"), 1), Text("b"))),
    InFewTokens(Then(InFewTokens(Text("aa"), 2), Text("b")), 2),
    But(Many(Text("a")), InFewTokens(Many(Text("a")), 1)),
    Other(InFewTokens(Many(Text("a")), 2)),
    Both(InFewTokens(Many(Text("a")), 2), Then(InFewTokens(Text("a"), 1), Many(Text("a")))),
    InFewTokens(Until("ab"), 2),
    InFewTokens(Text("ä"), 1),
]


@pytest.mark.parametrize("expression", CASES, ids=str)
def test_a_limit_counts_tokens_that_write_a_byte_of_the_part(expression: Expression) -> None:
    assert_right(expression)


class Floored(InFewTokens):
    """A mutant: a token that crosses the edge of the part does not count."""

    def ends(self, tokens: Sequence[bytes | int], place: tuple[int, int]) -> set[tuple[int, int]]:
        whole = place[0] + (place[1] > 0)
        return {t for t in self.body.ends(tokens, place) if t[0] - whole <= self.most}


def test_the_matcher_can_see_which_tokens_count() -> None:
    with pytest.raises(AssertionError):
        assert_right(Then(Text("b"), Then(Floored(A_OR_B, 1), Text("b"))))


# A template by brute force: every sequence of tokens, every way to divide its text.

TOKENS = [b"x", b"xx", b"y", b"xy", b'"', b'x"', b'"x', b'y"y', b", "]
SMALL = Vocabulary.from_bytes(TOKENS, eos_ids=[len(TOKENS)])
Check = Callable[[bytes], bool]


def touched(ids: Sequence[int], low: int, high: int) -> int:
    """The number of tokens that write a byte between two places of the text."""
    ends = list(itertools.accumulate(len(TOKENS[token]) for token in ids))
    begins = [end - len(TOKENS[token]) for end, token in zip(ends, ids, strict=True)]
    return sum(begin < high and end > low for begin, end in zip(begins, ends, strict=True))


def divided(ids: Sequence[int], pieces: Sequence[bytes | tuple[Check, int]]) -> bool:
    """Whether the text of some tokens can be divided into pieces that keep their limits."""
    text = b"".join(TOKENS[token] for token in ids)

    def fits(place: int, rest: Sequence[bytes | tuple[Check, int]]) -> bool:
        if not rest:
            return place == len(text)
        piece = rest[0]
        if isinstance(piece, bytes):
            return text.startswith(piece, place) and fits(place + len(piece), rest[1:])
        check, most = piece
        return any(
            check(text[place:end]) and touched(ids, place, end) <= most and fits(end, rest[1:])
            for end in range(place, len(text) + 1)
        )

    return fits(0, pieces)


def no_quote(data: bytes) -> bool:
    return b'"' not in data


def letters(data: bytes) -> bool:
    return set(data) <= set(b"xy")


TEMPLATES: list[tuple[Constraint, list[bytes | tuple[Check, int]]]] = [
    (template('"{a}"', a=gen(stop='"', max_tokens=2)), [b'"', (no_quote, 2), b'"']),
    (
        template("{a}{b}", a=gen(regex="[xy]*", max_tokens=1), b=gen(regex="[xy]*", max_tokens=2)),
        [(letters, 1), (letters, 2)],
    ),
    (
        template('{a}"{b}', a=gen(choices=["x", "xx", "y"], max_tokens=1), b=gen(
            constraint=regex("[xy]*"), max_tokens=1)),
        [(lambda data: data in (b"x", b"xx", b"y"), 1), b'"', (letters, 1)],
    ),
]  # fmt: skip


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("constraint", "pieces"), TEMPLATES, ids=[str(constraint) for constraint, _ in TEMPLATES]
)
def test_a_template_allows_what_brute_force_finds(
    constraint: Constraint, pieces: list[bytes | tuple[Check, int]], lazy: bool
) -> None:
    longest = 4
    machine = explorer.compile(constraint, SMALL, lazy=lazy)
    words = {
        ids
        for n in range(longest + 1)
        for ids in itertools.product(range(len(TOKENS)), repeat=n)
        if divided(ids, pieces)
    }
    prefixes = {ids[:k] for ids in words for k in range(len(ids) + 1)}
    assert words
    waiting: list[tuple[tuple[int, ...], int]] = [((), machine.start)]
    met = set[tuple[int, ...]]()
    while waiting:
        ids, state = waiting.pop()
        if machine.is_final(state):
            met.add(ids)
            constraint.parse(b"".join(TOKENS[token] for token in ids).decode())
        if len(ids) == longest:
            continue
        for token in machine.allowed(state).nonzero()[0].tolist():
            there = machine.step(state, token)
            if there is not None and there >= 0:
                waiting.append(((*ids, token), there))
        shorter = [token for token in range(len(TOKENS)) if (*ids, token) in prefixes]
        assert set(shorter) <= set(machine.allowed(state).nonzero()[0].tolist())
    assert met == words


# What a user sees


def test_the_texts_are_those_of_the_parts() -> None:
    limited = template("{a}, {b}", a=gen(regex="x+", max_tokens=1), b=gen(stop='"', max_tokens=3))
    plain = template("{a}, {b}", a=gen(regex="x+"), b=gen(stop='"'))
    assert limited.over_tokens and not limited.equivalent(plain)
    assert limited.dfa.num_states == plain.dfa.num_states and limited.examples() == plain.examples()
    assert limited.parse("xx, abc") == {"a": "xx", "b": "abc"}
    assert not (plain - limited).is_empty() and (limited - plain).is_empty()


@pytest.mark.parametrize(
    "constraint",
    [
        gen(regex="a|bb", max_tokens=1) + regex("c?"),
        many(gen(regex="ab?", max_tokens=1), 1, 3, separator=","),
        regex("[ab]*") & gen(regex="a+b", max_tokens=2),
        gen(regex="a+", max_tokens=1) - regex("aa"),
        ~regex("a") & gen(regex="a*", max_tokens=1),
    ],
    ids=str,
)
def test_texts_are_read_without_marks_where_that_is_the_same(constraint: Constraint) -> None:
    assert texts_are_those_of(constraint.source.tree)
    over_tokens = texts_of(constraint.for_tokens(Meter()), Meter())
    assert explorer.Constraint(constraint.source, over_tokens).examples(20) == constraint.examples(
        20
    )
    assert over_tokens.num_states == constraint.dfa.num_states


def test_texts_of_what_is_taken_away_depend_on_the_cut() -> None:
    rest = regex("ab|a") - gen(regex="ab|a", max_tokens=1)
    assert not texts_are_those_of(rest.source.tree)
    assert rest.accepts("ab") and not rest.accepts("a")


def test_a_limit_is_saved_and_spelled() -> None:
    typed = gen(type="int", max_tokens=2)
    for part in (
        gen(regex="a", max_tokens=3), gen(stop='"', max_tokens=3),
        gen(stop=["a", "b"], max_tokens=3),
        gen(choices=["a", "b"], max_tokens=3), gen(choices=["a"], max_tokens=3),
        gen(choices={"A": "a", "B": ["b", "c"]}, max_tokens=3), typed,
        gen(json_schema={"type": "integer"}, max_tokens=3),
        gen(constraint=regex("a") | regex("b"), max_tokens=3),
        gen(constraint=gen(regex="a+", max_tokens=3).star(), max_tokens=9),
    ):  # fmt: skip
        whole = template("{x}", x=part)
        from explorer.languages.sources import registry, serial

        again = registry.read("template", whole.source.text)
        assert again.text == whole.source.text
        # Written as a text, a type is the schema that pydantic makes of it.
        assert (again == whole.source) == (part is not typed)
        assert serial.source_from_dict(serial.source_to_dict(whole.source)) == whole.source


def test_rules_that_recurse_are_not_counted_in_tokens_and_it_is_said() -> None:
    nested = explorer.grammar('root ::= "x" root "y" | "y"')
    for constraint in (gen(constraint=nested, max_tokens=3), nested | gen(regex="x", max_tokens=1)):
        for lazy in (None, True):
            with pytest.raises(ConstraintError, match="not followed together"):
                explorer.compile(constraint, SMALL, lazy=lazy)
    with pytest.raises(ConstraintError, match="would forget"):
        gen(constraint=nested, max_tokens=2).bounded(depth=1)
    bounded = gen(constraint=nested.bounded(depth=1), max_tokens=2)
    machine = explorer.compile(bounded, SMALL)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == [2, 3]
    flat = gen(constraint=explorer.grammar('root ::= "x" more\nmore ::= "y"'), max_tokens=1)
    machine = explorer.compile(flat, SMALL)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == [3]


# Terminals over tokens: both kinds of machine and pynini's against a matcher of token sequences.
#
# Every sequence of up to three tokens of a vocabulary with duplicates, halves of a character,
# tokens with newlines, ids that are not text and an id that writes nothing.


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
