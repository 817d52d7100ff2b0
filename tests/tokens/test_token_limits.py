"""Parts that at most so many tokens may write, against a matcher of token sequences."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import Constraint, Session, Trace, Vocabulary, gen, many, regex, template
from explorer.automata.tree.build import texts_are_those_of, texts_of
from explorer.budget import Meter
from explorer.errors import ConstraintError, IncompatibleVocabulary
from tests.evidence import examples
from tests.tokens.sequences import (
    Both,
    But,
    Expression,
    InFewTokens,
    Many,
    Other,
    Text,
    Then,
    Until,
)
from tests.tokens.test_token_terminals import assert_right

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


def test_distances_and_masks_lead_to_the_end_within_the_limit() -> None:
    machine = explorer.compile(
        template('"{a}"', a=gen(regex="[xy]{4}", max_tokens=2)), SMALL, lazy=False
    )
    state = machine.step(machine.start, TOKENS.index(b'"'))
    assert state is not None
    # Four letters in two tokens: only those of two letters may begin.
    assert machine.allowed(state).nonzero()[0].tolist() == [1, 3]
    assert machine.distance[state] == 4
    with pytest.raises(IncompatibleVocabulary):
        explorer.compile(gen(regex="[xy]{4}", max_tokens=1), SMALL)


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


def test_a_session_keeps_limits_and_its_trace_is_read_back(tmp_path: object) -> None:
    from pathlib import Path

    lm = explorer.load_model("tiny")
    limits = {"title": 3, "year": 2}
    record = template(
        '{{"title": "{title}", "year": {year}}}\n',
        title=gen(stop=['"', "\n"], max_tokens=limits["title"]),
        year=gen(regex="[0-9]{4}", max_tokens=limits["year"]),
    )
    for seed in range(5):
        sampler = explorer.Sampler(temperature=1.0)
        trace = Session(lm, record, '{"title": ', sampler=sampler, seed=seed).run(max_tokens=60)
        assert trace.finished
        record.parse(trace.text)
        ids = [step.token for step in trace.steps][:-1]
        data = [lm.vocabulary.tokens[token] or b"" for token in ids]
        text = b"".join(data)
        low = text.index(b'": "') + 4
        high = text.index(b'"', low)
        ends = list(itertools.accumulate(map(len, data)))
        count = sum(
            end > low and end - len(one) < high for end, one in zip(ends, data, strict=True)
        )
        assert count <= limits["title"]
        path = Path(str(tmp_path)) / "run.json"
        trace.save(path)
        assert (
            Trace.load(path).constraint == trace.constraint or Trace.load(path).text == trace.text
        )


@pytest.mark.long
@given(st.integers(0, 10**6))
@settings(max_examples=examples(10))
def test_random_runs_keep_limits(seed: int) -> None:
    rng = random.Random(seed)
    constraint, pieces = rng.choice(TEMPLATES)
    machine = explorer.compile(constraint, SMALL)
    state, ids = machine.start, list[int]()
    while not machine.is_final(state) or rng.random() < 0.6:
        allowed = [t for t in machine.allowed(state).nonzero()[0].tolist() if t < len(TOKENS)]
        if not allowed:
            break
        ids.append(rng.choice(allowed))
        following = machine.step(state, ids[-1])
        assert following is not None
        state = following
    assert divided(ids, pieces)


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
