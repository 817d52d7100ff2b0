"""Rolled back = never went there, for every kind of machine.

A speculative decoder goes ahead and comes back. The state that it comes back to must answer as in a
machine that nobody ever drove further: masks, steps, ends, distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import explorer
from explorer import Constraint, Session, Vocabulary, phase, regex, terminals, token
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE, unpack

TINY = explorer.load_model("tiny")
LETTERS = Vocabulary(
    (b"a", b"b", b"ab", b"1", b"(", b")", b'"', b"{", b"}", b":", b",", b"x", None, None, None),
    (14,), special={12: "<think>", 13: "</think>"},
)  # fmt: skip
SCHEMA = explorer.json_schema(
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}
)
TREE = explorer.json_schema(
    {"$defs": {"n": {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}},
     "additionalProperties": False}}, "$ref": "#/$defs/n"},
)  # fmt: skip
NESTED = explorer.grammar('root ::= "(" root ")" root | [ab]*')
AMBIGUOUS = explorer.grammar(
    'root ::= a | b\na ::= "a" a "b" | "ab"\nb ::= "a" b | "a" | "x"', ambiguous=True
)
THOUGHT = phase("think", explorer.any_text(), begin=token("<think>"), end=token("</think>"))

KINDS: dict[str, Callable[[], TokenMachine]] = {
    "table": lambda: explorer.compile(regex("(a|b|ab){2,9}x"), LETTERS, lazy=False),
    "discovered": lambda: explorer.compile(regex("(a|b|ab){2,90}x"), LETTERS, lazy=True),
    "one stack": lambda: explorer.compile(NESTED, LETTERS, lazy=True),
    "several stacks": lambda: explorer.compile(AMBIGUOUS, LETTERS, lazy=True),
    "schema": lambda: explorer.compile(SCHEMA, LETTERS, lazy=True),
    "schema that recurs": lambda: explorer.compile(TREE, LETTERS, lazy=True),
    "intersection": lambda: explorer.compile(NESTED & regex(".{0,12}"), LETTERS, lazy=True),
    "complement": lambda: explorer.compile(~regex("a*"), LETTERS, lazy=True),
    "ends of tokens": lambda: explorer.compile(
        terminals.text_token() + regex("b*"), LETTERS, lazy=True
    ),
    "phases": lambda: explorer.compile(THOUGHT.optional() + phase("say", SCHEMA), LETTERS),
    "phases in a table": lambda: explorer.compile(
        THOUGHT + phase("say", regex("[ab]+")), LETTERS, lazy=False
    ),
    "canonical": lambda: explorer.compile(
        regex("[a-z ]{2,40}").canonical(TINY.vocabulary), TINY.vocabulary, lazy=True
    ),
    "restricted": lambda: explorer.compile(
        SCHEMA.restrict(scripts=["Latin"]), LETTERS, lazy=True
    ),
    "free": lambda: Session.from_ids(LETTERS, None, []).machine,
}  # fmt: skip


@dataclass(frozen=True)
class Answered:
    """Everything that a machine says about a place."""

    mask: bytes
    final: bool
    distance: int | None
    targets: tuple[bool, ...]


def answers(machine: TokenMachine, state: int) -> Answered:
    mask = machine.mask(state)
    sample = range(min(len(machine.vocabulary), 64))
    return Answered(
        mask.tobytes(), machine.is_final(state), machine.distance_to_end(state),
        tuple(machine.step(state, k) is not None for k in sample),
    )  # fmt: skip


def walked(machine: TokenMachine, state: int, random: np.random.Generator, most: int) -> list[int]:
    """Some tokens that the machine allows from a state on."""
    tokens: list[int] = []
    for _ in range(int(random.integers(1, most))):
        allowed = np.flatnonzero(unpack(machine.mask(state), len(machine.vocabulary)))
        if not len(allowed):
            break
        chosen = int(random.choice(allowed))
        following = machine.step(state, chosen)
        if following is None or following == DONE:
            break
        tokens.append(chosen)
        state = following
    return tokens


def after(machine: TokenMachine, tokens: list[int]) -> int:
    state = machine.start
    for each in tokens:
        following = machine.step(state, each)
        assert following is not None
        state = following
    return state


@pytest.mark.parametrize("kind", KINDS)
def test_rolled_back_is_never_went_there(kind: str) -> None:
    random = np.random.default_rng(28)
    drafted = KINDS[kind]()
    drafts = 0
    for number in range(12):
        path = walked(drafted, drafted.start, random, 2 + number % 6)
        here = after(drafted, path)
        before = answers(drafted, here)
        for _ in range(4):
            draft = walked(drafted, here, random, 9)
            far = after(drafted, [*path, *draft])
            drafted.mask(far)
            rejected = np.flatnonzero(~unpack(drafted.mask(far), len(drafted.vocabulary)))
            if len(rejected):  # The draft's last token is refused.
                assert drafted.step(far, int(random.choice(rejected))) is None
            drafts += bool(draft)
            assert answers(drafted, here) == before, (kind, path, draft)
            assert after(drafted, path) == here
        never = KINDS[kind]()
        assert answers(never, after(never, path)) == before, (kind, path)
    assert drafts >= 2


def test_a_machine_that_remembers_a_draft_is_caught() -> None:
    """The law can fail: a mask that a draft has changed is seen."""
    machine = KINDS["discovered"]()
    before = answers(machine, machine.start)
    corrupted = machine.mask(machine.start).copy()
    corrupted[0] ^= 1
    assert Answered(corrupted.tobytes(), before.final, before.distance, before.targets) != before


def test_a_session_that_goes_back_never_went_there() -> None:
    constraint: Constraint = phase("sum", regex("[0-9]{1,4}")) + phase("end", " ok")
    session = Session(TINY, constraint, "1 + 1 =", seed=3, sampler=explorer.Sampler(1.0))
    session.run()
    whole = session.trace
    for k in range(len(whole)):
        session.jump(k)
        fresh = Session(TINY, constraint, "1 + 1 =", seed=3, sampler=explorer.Sampler(1.0))
        fresh.run(max_tokens=k)
        assert fresh.ids == session.ids and fresh.phases == session.phases
        assert (fresh.allowed() == session.allowed()).all()
