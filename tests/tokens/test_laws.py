"""The laws of every token machine of any kind: one list of machines, one list of laws.

Each law is a function of a machine and of a walk along it, so that a kind that is added to
`MACHINES` is held to all of them. `Broken` shows that each law can fail.
"""

from __future__ import annotations

import pickle
import random
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import Vocabulary, terminals
from explorer.automata.machine import NO_ARC
from explorer.decoding.stepping.healing import healed
from explorer.errors import ExplorerError
from explorer.tokens.filtered.apply import load_filtered
from explorer.tokens.filtered.table import visited_whole
from explorer.tokens.lazy import Free
from explorer.tokens.machine import Storable, TokenMachine, table_of
from explorer.tokens.schemes.fixed import fixed_tokens
from explorer.tokens.schemes.lookahead import lookahead_machine
from explorer.tokens.schemes.templates import template_machine
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.tokens.words import DEAD, DONE, FREE
from tests.decoding.models import tokenizer
from tests.decoding.untabled import Untabled
from tests.evidence import LONG

NESTED = 'root ::= "(" root ")" | "[" root "]" | [0-9]{1,3}'
AMBIGUOUS = 'root ::= "a" root "a" | "b" root "b" | "a" | "b"'
TREE = {
    "$defs": {"n": {"type": "object", "properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}},
    "$ref": "#/$defs/n",
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
    "additionalProperties": False,
}
ONCE = {"type": ["array", "string"], "items": {"$ref": "#"}, "uniqueItems": True}
SUMS = TerminalGrammar(
    {"plus": r"\+", "open": r"\(", "close": r"\)", "int": "([1-9][0-9]*)|(0+)"},
    {"E": (("E", "plus", "E"), ("open", "E", "close"), ("int",))},
)
WORDS = "(foo|bar)( [a-z]{1,4})*"


@cache
def vocabulary() -> Vocabulary:
    """Some 400 tokens of byte-level BPE, with its encoder, and ids that are not text."""
    return Vocabulary.from_tokenizer(tokenizer())


def compiled(constraint: explorer.Constraint, **options: Any) -> TokenMachine:
    return explorer.compile(constraint, vocabulary(), **options)


def of_schema(schema: object, **options: Any) -> TokenMachine:
    return compiled(explorer.json_schema(schema), **options)  # pyright: ignore[reportArgumentType]


def loaded() -> TokenMachine:
    """A table that was written to a file and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.dfa"
        explorer.compile(explorer.regex(WORDS), vocabulary()).save(path)
        return explorer.TokenDFA.load(path, vocabulary())


def taken_back() -> TokenMachine:
    """A constraint that begins inside the last token of a prompt."""
    return healed(explorer.regex("[a-z]*"), "foo", vocabulary(), None).machine


def all_met() -> TokenMachine:
    """A finite machine behind the canonical filter, all of whose states were met."""
    whole = visited_whole(compiled(explorer.choice([" Rome", " Paris", " Rim"]).canonical()))
    assert whole is not None
    return whole


MACHINES: dict[str, Callable[[], TokenMachine]] = {
    "table": lambda: compiled(explorer.regex(WORDS)),
    "table of pynini": lambda: compiled(explorer.regex(WORDS), method="pynini"),
    "table, narrow": lambda: compiled(explorer.regex("[a-z ]+"), width=300),
    "table, loaded": loaded,
    "table of a schema": lambda: of_schema(PERSON, lazy=False),
    "lazy": lambda: compiled(explorer.regex(WORDS), lazy=True),
    "lazy, wide": lambda: compiled(explorer.regex(r"(?s)(.|é)*x"), lazy=True),
    "lazy, counted": lambda: compiled(explorer.regex("([ab]{2,40}c){3,9}"), lazy=True),
    "lazy, looking ahead": lambda: compiled(explorer.regex(r"(?!foo)\w+\b.?"), lazy=True),
    "lazy of a schema": lambda: of_schema(PERSON, lazy=True),
    "open schema": lambda: of_schema({"properties": {"a": {"maxLength": 3}}}),
    "schema on a stack": lambda: of_schema(TREE),
    "items once": lambda: of_schema({"items": {"type": "integer"}, "uniqueItems": True}),
    "strings once": lambda: of_schema(
        {"properties": {"a": {"items": {"pattern": "^(a|b.*)$"}, "uniqueItems": True}}}
    ),
    "items once on a stack": lambda: of_schema(ONCE),
    "items once, but a few": lambda: compiled(
        explorer.json_schema(
            {"type": "array", "items": {"enum": [*range(300)]}, "uniqueItems": True}
        )
        - explorer.literal("[1,2]")
    ),
    "one stack": lambda: compiled(explorer.grammar(NESTED)),
    "many stacks": lambda: compiled(explorer.grammar(AMBIGUOUS, ambiguous=True)),
    "grammar and regex": lambda: compiled(explorer.grammar(NESTED) & explorer.regex(r".{3,9}")),
    "grammar without": lambda: compiled(explorer.grammar(NESTED) - explorer.regex(r"\(1\)|7+")),
    "grammar or word": lambda: compiled(explorer.grammar(NESTED) | explorer.literal("no")),
    "intersection": lambda: compiled(
        explorer.regex("[a-z]+") & explorer.regex(".{2,5}"), lazy=True
    ),
    "complement": lambda: compiled(~explorer.regex(".*aa.*"), lazy=True),
    "template": lambda: compiled(
        explorer.template(
            "a {x}, {y}.", x=explorer.gen(regex="[0-9]+"), y=explorer.gen(choices=["b"])
        )
    ),
    "limit on tokens": lambda: compiled(
        explorer.template("a{x}b", x=explorer.gen(regex="[a-z]+", max_tokens=3))
    ),
    "terminals of tokens": lambda: compiled(
        explorer.literal("a") + terminals.text_token().plus() + explorer.literal("!")
    ),
    "terminals of tokens, lazy": lambda: compiled(
        explorer.literal("a") + terminals.text_token() + explorer.literal("!"), lazy=True
    ),
    "canonical": lambda: compiled(explorer.regex(WORDS).canonical()),
    "canonical, lazy": lambda: compiled(explorer.regex(WORDS).canonical(), lazy=True),
    "canonical grammar": lambda: compiled(explorer.grammar(NESTED).canonical()),
    "canonical, all met": all_met,
    "restricted": lambda: compiled(explorer.regex(r"\w+").restrict(scripts=["Latin"])),
    "type": lambda: compiled(explorer.from_type(dict[str, int])),
    "healed": taken_back,
    "template of fixed tokens": lambda: template_machine(
        explorer.template("a {x}!", x=explorer.gen(regex="[0-9]+")), vocabulary()
    ),
    "fixed tokens, no text": lambda: fixed_tokens(
        [tuple(vocabulary().encode("foo") or ()), explorer.regex("[a-z]+")], vocabulary()
    ),
    "terminals, k = 0": lambda: lookahead_machine(SUMS, vocabulary(), 0),
    "terminals, any k": lambda: lookahead_machine(SUMS, vocabulary(), None),
    "free": lambda: Free(vocabulary()),
}

NOT_TO_THE_END = {"template of fixed tokens", "fixed tokens, no text", "terminals, k = 0"}
"""Schemes: the language can be finished there, but perhaps not with the tokens that are left."""

MORE_THAN_TEXT = {"terminals of tokens", "terminals of tokens, lazy", "limit on tokens"}
"""Machines whose states depend on where tokens end, and so not on the bytes alone."""


@cache
def machine_of(kind: str) -> TokenMachine:
    return MACHINES[kind]()


def walk(machine: TokenMachine, seed: int, length: int = 12) -> list[int]:
    """The ids of a random walk along the masks; it may end in `DONE`."""
    draw = random.Random(seed)
    ids: list[int] = []
    state = machine.start
    while state != DONE and len(ids) < length:
        allowed = np.flatnonzero(machine.allowed(state)).tolist()
        if not allowed:
            break  # Only a scheme may lead here; `no_dead_end` says which.
        token = draw.choice(allowed)
        following = machine.step(state, token)
        assert following is not None, (state, token)
        ids.append(token)
        state = following
    return ids


def states_along(machine: TokenMachine, ids: Sequence[int]) -> list[int]:
    """The states before, between and after the tokens of a walk."""
    states = [machine.start]
    for token in ids:
        following = machine.step(states[-1], token)
        assert following is not None, (states[-1], token)
        states.append(following)
    return states


def masks_along(machine: TokenMachine, ids: Sequence[int]) -> list[bytes]:
    return [machine.mask(state).tobytes() for state in states_along(machine, ids)]


# --- the laws: each is asked of a machine and the ids of a walk --------------------------------


def a_mask_says_what_can_be_stepped(machine: TokenMachine, ids: Sequence[int]) -> None:
    size = len(machine.vocabulary)
    for state in states_along(machine, ids):
        stepped = [machine.step(state, token) is not None for token in range(size)]
        assert machine.allowed(state).tolist() == stepped
        words = machine.mask(state)
        assert words.dtype == np.uint32 and words.shape == ((size + 31) // 32,)
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        assert bits[:size].astype(bool).tolist() == stepped and not bits[size:].any()
        assert not words.flags.writeable and not machine.allowed(state).flags.writeable


def ids_that_are_not_there_are_masked(machine: TokenMachine, ids: Sequence[int]) -> None:
    for state in (*states_along(machine, ids), DONE, DEAD, FREE):
        for token in (-1, len(machine.vocabulary), 10**6, 2**40):
            assert machine.step(state, token) is None, (state, token)


def the_text_ends_where_it_may(machine: TokenMachine, ids: Sequence[int]) -> None:
    for state in states_along(machine, ids):
        for end in machine.vocabulary.eos_ids:
            if end < len(machine.vocabulary):
                assert machine.is_final(state) == bool(machine.allowed(state)[end])
                assert machine.step(state, end) == (DONE if machine.is_final(state) else None)
        for token in np.flatnonzero(machine.allowed(state)).tolist():
            ends = machine.step(state, token) == DONE
            assert ends == (token in machine.vocabulary.eos_ids)


def sentinels_mean_the_same_everywhere(machine: TokenMachine, ids: Sequence[int]) -> None:
    size, ends = len(machine.vocabulary), set(machine.vocabulary.eos_ids)
    allowed = {DONE: ends, DEAD: set[int](), FREE: set(range(size))}
    for state, tokens in allowed.items():
        assert set(np.flatnonzero(machine.allowed(state)).tolist()) == tokens, state
        assert machine.is_final(state) == (state != DEAD)
        assert machine.byte_state(state) == NO_ARC
        for token in range(size):
            # A free text may end, in a machine that has nothing else, or go on beside others.
            after = {DONE} if state == DONE else {state, DONE} if token in ends else {state}
            assert machine.step(state, token) in (after if token in tokens else {None})
    assert machine.distance_to_end(DEAD) is None
    assert machine.distance_to_end(DONE) == 0
    assert machine.distance_to_end(FREE) == 1


def a_distance_is_one_more_than_the_nearest(machine: TokenMachine, ids: Sequence[int]) -> None:
    for state in states_along(machine, ids):
        distance = machine.distance_to_end(state)
        if distance is None or state < 0:
            continue
        nearest: list[int] = []
        for token in np.flatnonzero(machine.allowed(state)).tolist():
            following = machine.step(state, token)
            assert following is not None
            rest = machine.distance_to_end(following)
            assert rest is not None, (state, token)
            nearest.append(rest)
        assert distance == 1 + min(nearest), state


def no_dead_end(machine: TokenMachine, ids: Sequence[int]) -> None:
    for state in states_along(machine, ids):
        assert machine.mask(state).any(), state
        tokens = np.flatnonzero(machine.allowed(state)).tolist()
        for token in random.Random(state).sample(tokens, min(40, len(tokens))):
            following = machine.step(state, token)
            assert following is not None and machine.mask(following).any(), (state, token)


def a_finished_text_is_accepted(machine: TokenMachine, ids: Sequence[int]) -> None:
    if machine.constraint is None:
        return
    states = states_along(machine, ids)
    tokens = machine.vocabulary.tokens
    for k, state in enumerate(states):
        if state >= 0:
            text = b"".join(tokens[token] or b"" for token in ids[:k])
            if machine.is_final(state):
                assert machine.constraint.accepts(text), text


def bytes_lead_where_tokens_do(machine: TokenMachine, ids: Sequence[int]) -> None:
    characters = machine.byte_machine
    states = states_along(machine, ids)
    if characters is None:
        assert {machine.byte_state(state) for state in states} == {NO_ARC}
        return
    place = characters.start
    for state, token in zip(states, ids, strict=False):
        assert machine.byte_state(state) == place
        for byte in machine.vocabulary.tokens[token] or b"":
            place = characters.step(place, byte)


def rolled_back_is_never_gone(machine: TokenMachine, ids: Sequence[int]) -> None:
    states, before = states_along(machine, ids), masks_along(machine, ids)
    for seed in (101, 102):  # Other ways, on which other states are met.
        walk(machine, seed)
    assert states_along(machine, ids) == states and masks_along(machine, ids) == before


def what_travels_is_the_same(machine: TokenMachine, ids: Sequence[int]) -> None:
    try:
        packed = pickle.dumps(machine)
    except ExplorerError as error:
        assert error.remedy
        return
    assert masks_along(pickle.loads(packed), ids) == masks_along(machine, ids)


def what_is_saved_is_read_again(machine: TokenMachine, ids: Sequence[int]) -> None:
    if not isinstance(machine, Storable):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.dfa"
        try:
            machine.save(path)
        except ExplorerError as error:
            assert table_of(machine) is None and error.remedy
            return
        again = load_filtered(path, machine.vocabulary)
    assert masks_along(again, ids) == masks_along(machine, ids)


def what_is_not_a_state_is_refused(machine: TokenMachine, ids: Sequence[int]) -> None:
    for wrong in (-4, machine.num_states + 10**6, "0", None, 0.5):
        for question in (
            machine.mask,
            machine.allowed,
            machine.is_final,
            machine.distance_to_end,
            machine.byte_state,
            lambda state: machine.step(state, 0),
        ):
            with pytest.raises(ExplorerError) as raised:
                question(wrong)  # pyright: ignore[reportArgumentType]
            assert raised.value.remedy, wrong
    with pytest.raises(ExplorerError):
        machine.step(machine.start, "a")  # pyright: ignore[reportArgumentType]


def an_explanation_agrees_with_the_mask(machine: TokenMachine, ids: Sequence[int]) -> None:
    draw = random.Random(len(ids))
    states = states_along(machine, ids)
    for state in draw.sample(states, min(3, len(states))):
        for k, token in enumerate(draw.sample(range(len(machine.vocabulary)), 12 if LONG else 5)):
            if machine.constraint is None:
                with pytest.raises(ExplorerError, match="no constraint"):
                    explorer.explain(machine, state, token)
                continue
            why = explorer.explain(machine, state, token)
            assert why.allowed == bool(machine.allowed(state)[token])
            assert why.message.strip()
            if LONG or k == 0:  # It looks for the nearest tokens that are allowed.
                assert why.to_dict()["allowed"] == why.allowed


LAWS: tuple[Callable[[TokenMachine, Sequence[int]], None], ...] = (
    a_mask_says_what_can_be_stepped,
    ids_that_are_not_there_are_masked,
    the_text_ends_where_it_may,
    sentinels_mean_the_same_everywhere,
    a_distance_is_one_more_than_the_nearest,
    no_dead_end,
    a_finished_text_is_accepted,
    bytes_lead_where_tokens_do,
    rolled_back_is_never_gone,
    what_travels_is_the_same,
    what_is_saved_is_read_again,
    what_is_not_a_state_is_refused,
    an_explanation_agrees_with_the_mask,
)


def exempt(law: Callable[[TokenMachine, Sequence[int]], None], kind: str) -> bool:
    """Whether a law is not one of a kind, as the kind's documentation says."""
    if law is no_dead_end:
        return kind in NOT_TO_THE_END
    if law in (bytes_lead_where_tokens_do, a_finished_text_is_accepted):
        return kind in MORE_THAN_TEXT
    return False


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", MACHINES)
def test_a_law_holds(kind: str, law: Callable[[TokenMachine, Sequence[int]], None]) -> None:
    machine = machine_of(kind)
    if not exempt(law, kind):
        for seed in range(2 if LONG else 1):
            law(machine, walk(machine, seed))


class Broken(Untabled):
    """A table with one answer that is wrong, from the first state on.

    Args:
        fault: The name of the question that is answered wrongly.
    """

    def __init__(self, fault: str) -> None:
        self.dfa = explorer.compile(explorer.regex(WORDS), vocabulary())
        super().__init__(self.dfa)
        self.fault = fault
        self.asked = 0

    def step(self, state: int, token: int) -> int | None:
        if self.fault == "takes any id" and token >= len(self.vocabulary):
            return state
        if self.fault == "takes anything" and not isinstance(token, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return None
        if self.fault == "free ends nowhere" and state == FREE:
            return None
        return self.dfa.step(state, token)

    def mask(self, state: int) -> Any:
        self.asked += 1
        words = self.dfa.mask(state)
        if self.fault == "mask" or (self.fault == "forgets" and self.asked > 14):
            return ~words
        if self.fault == "dead end" and state >= 0:
            return np.zeros_like(words)
        return words

    def is_final(self, state: int) -> bool:
        return (self.fault == "ends early" and state >= 0) or self.dfa.is_final(state)

    def distance_to_end(self, state: int) -> int | None:
        distance = self.dfa.distance_to_end(state)
        far = self.fault == "distance" and state >= 0 and distance is not None
        return distance + 1 if far and distance is not None and distance > 1 else distance

    def byte_state(self, state: int) -> int:
        return 0 if self.fault == "bytes" and state >= 0 else self.dfa.byte_state(state)

    def save(self, path: Path) -> None:
        other = (
            explorer.regex("[a-z ]+") if self.fault == "saves another" else explorer.regex(WORDS)
        )
        explorer.compile(other, vocabulary()).save(path)

    def of_constraint(self, constraint: explorer.Constraint) -> Broken:
        return self

    def __reduce__(self) -> Any:
        return (Free, (vocabulary(),)) if self.fault == "travels" else (Broken, (self.fault,))


SEEN_BY: dict[str, Callable[[TokenMachine, Sequence[int]], None]] = {
    "mask": a_mask_says_what_can_be_stepped,
    "takes any id": ids_that_are_not_there_are_masked,
    "ends early": the_text_ends_where_it_may,
    "free ends nowhere": sentinels_mean_the_same_everywhere,
    "distance": a_distance_is_one_more_than_the_nearest,
    "dead end": no_dead_end,
    "bytes": bytes_lead_where_tokens_do,
    "forgets": rolled_back_is_never_gone,
    "travels": what_travels_is_the_same,
    "saves another": what_is_saved_is_read_again,
    "takes anything": what_is_not_a_state_is_refused,
}


@pytest.mark.parametrize("fault", SEEN_BY)
def test_a_law_can_fail(fault: str) -> None:
    ids = walk(machine_of("table"), 1)
    SEEN_BY[fault](Broken(""), ids)
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        SEEN_BY[fault](Broken(fault), ids)


def test_a_text_that_is_not_of_the_language_is_seen() -> None:
    class Elsewhere(Broken):
        @property
        def constraint(self) -> explorer.Constraint:
            return explorer.literal("something else")

    ids = walk(machine_of("table"), 1)
    with pytest.raises(AssertionError):
        a_finished_text_is_accepted(Elsewhere(""), ids)
