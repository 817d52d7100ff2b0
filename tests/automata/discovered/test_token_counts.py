"""Limits on tokens that are counted while a text is read, beside the machine written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.alphabet import LETTER, TOKEN_END
from explorer.automata.discovered.discover import discover_limits
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.token_counts import CountingTokens
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.build import build_over_tokens
from explorer.budget import Budget, Meter
from tests.evidence import examples

WORDS = [b"ab", b"abab", b'"', b"ax", b"a-", b"aa-1", "ä".encode(), b"ba", b"-x"]
FEW = explorer.Vocabulary.from_bytes([b"a", b"b", b"x", b"1", b"-", *WORDS], eos_ids=[14])
"""Not every byte is a token: whether a text can be finished is searched for."""
ALL = explorer.Vocabulary.from_bytes([*(bytes([k]) for k in range(256)), *WORDS], eos_ids=[265])

gen, many, template = explorer.gen, explorer.many, explorer.template
SHAPES = {
    "turn": template(
        "{x}-{y}", x=gen(regex="[ab]{1,6}", max_tokens=2), y=gen(regex="(a|1)*", max_tokens=1)
    ),
    "touching": template(
        "a{x}{y}b", x=gen(regex="[aä]*", max_tokens=2), y=gen(regex="[äb]+", max_tokens=2)
    ),
    "stop": template('"{x}"', x=gen(stop='"', max_tokens=3)),
    "some": template("{x}x", x=many(gen(regex="a*b", max_tokens=2), 1, 3, separator="-")),
    "any": template("{x}x", x=many(gen(regex="ab?", max_tokens=1), 0, None)),
    "choice": (template("{x}", x=gen(regex="a+b", max_tokens=1)) | explorer.choice(["x-", "abab"]))
    + explorer.literal("-"),
    "optional": template("{x}-", x=gen(regex="(ab)*", max_tokens=4)).optional(),
    "long": template("{x}-", x=gen(regex="(ab|ba){4}", max_tokens=3)),
}


@pytest.mark.parametrize("vocabulary", [FEW, ALL], ids=["few bytes", "all bytes"])
@pytest.mark.parametrize("shape", SHAPES)
def test_masks_are_those_of_the_table(shape: str, vocabulary: explorer.Vocabulary) -> None:
    table = explorer.compile(SHAPES[shape], vocabulary, lazy=False)
    lazy = explorer.compile(SHAPES[shape], vocabulary, lazy=True)
    assert lazy.report.byte_machine == "discovered" and lazy.report.warnings == ()
    pairs = {(table.start, lazy.start)}
    waiting = [*pairs]
    while waiting:
        here, there = waiting.pop()
        allowed = table.allowed(here)
        assert np.array_equal(allowed, lazy.allowed(there))
        for token in np.flatnonzero(allowed).tolist():
            after, met = table.step(here, token), lazy.step(there, token)
            assert after is not None and met is not None and (after < 0) == (met < 0)
            if after >= 0 and (after, met) not in pairs and len(pairs) < 400:
                pairs.add((after, met))
                waiting.append((after, met))


_PART = st.builds(
    lambda pattern, most: gen(regex=pattern, max_tokens=most),
    st.sampled_from(["a*", "[ab]{1,3}", "ab|b", "a+b?", "(ba)*", "ä?b"]), st.integers(1, 3),
)  # fmt: skip
_TREE = st.recursive(
    st.one_of(_PART, st.sampled_from(["a", "b", "ab", "-"]).map(explorer.literal)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner), st.builds(lambda a, b: a | b, inner, inner),
        inner.map(lambda a: a.star()), inner.map(lambda a: a.optional()),
    ),
    max_leaves=5,
)  # fmt: skip


@given(_TREE)
@settings(max_examples=examples(25))
def test_it_reads_what_is_written_out(constraint: explorer.Constraint) -> None:
    if not constraint.over_tokens:
        return
    closed = build_over_tokens(constraint.source.tree, Meter())
    found = discover_limits(constraint.source.tree, Meter())
    assert isinstance(found, Discovered) and isinstance(found.kind, CountingTokens)
    pairs = {(closed.start, found.start)}
    waiting = [*pairs]
    while waiting:
        here, there = waiting.pop()
        assert closed.is_accepting(here) == found.is_accepting(there)
        for symbol in [*b'ab-x"', *"ä".encode(), TOKEN_END, LETTER]:
            pair = closed.step(here, symbol), found.step(there, symbol)
            assert (pair[0] == NO_ARC) == (pair[1] == NO_ARC)
            if pair[0] != NO_ARC and pair not in pairs and len(pairs) < 2_000:
                pairs.add(pair)
                waiting.append(pair)


def test_a_large_part_with_many_tokens_begins_at_once() -> None:
    """Written out, it has over a million states before it is minimal."""
    text = {"type": "string"}
    schema = {
        "type": "object", "properties": {"name": text, "tags": {"type": "array", "items": text}},
        "required": ["name", "tags"],
    }  # fmt: skip
    constraint = template("x {a}.", a=gen(json_schema=schema, max_tokens=60))
    machine = explorer.compile(constraint, ALL, Budget(states=20_000), lazy=True)
    state: int | None = machine.start
    for byte in b'x {"name":"':
        assert state is not None
        state = machine.step(state, byte)
    for _ in range(60 - len('{"name":"')):  # What the limit leaves, if nothing else must follow.
        assert state is not None
        if not machine.allowed(state)[ord("b")]:
            break
        state = machine.step(state, ord("b"))
    assert state is not None
    rest = b'","tags":[]}'
    assert machine.allowed(state)[rest[0]] and not machine.allowed(state)[ord("b")]
    for byte in rest + b".":
        state = machine.step(state, byte)
        assert state is not None
    assert machine.is_final(state)


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("a(?P<TEXT_TOKEN>)b"),
        gen(regex="[ab]*", max_tokens=2) & explorer.regex("a*"),
    ],
    ids=["terminal", "intersection"],
)
def test_what_is_written_out_all_the_same_says_so(constraint: explorer.Constraint) -> None:
    report = explorer.compile(constraint, FEW, lazy=True).report
    assert report.byte_machine == "closed"
    assert "written out as a whole, though lazy=True" in report.warnings[0]
    assert explorer.compile(constraint, FEW, lazy=False).report.warnings == ()
