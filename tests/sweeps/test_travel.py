"""Token machines travel to other processes of the user, without caches, and are the same there."""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.sweeps.grid import SweepGrid
from explorer.sweeps.worker import packed_setup
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine
from tests.evidence import few

NESTED = {
    "$defs": {"n": {"type": "object", "properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}},
    "$ref": "#/$defs/n",
}
PERSON = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}

KINDS: dict[str, Callable[[Any], TokenMachine]] = {
    "closed": lambda v: explorer.compile(explorer.regex("(yes|no), [0-9]{1,3}"), v),
    "lazy": lambda v: explorer.compile(explorer.regex("[a-z]+( [a-z]+)*"), v, lazy=True),
    "canonical": lambda v: explorer.compile(explorer.regex("[a-z ]{1,30}").canonical(), v),
    "grammar": lambda v: explorer.compile(
        explorer.grammar('root ::= "(" root ")" | "[" root "]" | num\nnum ::= [0-9]+'), v
    ),
    "schema": lambda v: explorer.compile(explorer.json_schema(PERSON), v),
    "nested schema": lambda v: explorer.compile(explorer.json_schema(NESTED), v),
    "counted tokens": lambda v: explorer.compile(
        explorer.template("a{x}b", x=explorer.gen(regex="[a-z]+", max_tokens=3)), v
    ),
    "free": Free,
}


@cache
def vocabulary() -> Any:
    return explorer.load_model("tiny").vocabulary


def walk(machine: TokenMachine, seed: int, length: int = 25) -> list[int]:
    """Tokens of a random walk: short ones often, so that it does not end at once."""
    draw = random.Random(seed)
    taken: list[int] = []
    state = machine.start
    while len(taken) < length:
        ids = np.flatnonzero(machine.allowed(state)).tolist()
        token = draw.choice(ids)
        following = machine.step(state, token)
        if following is None or following == explorer.DONE:
            break
        taken.append(token)
        state = following
    return taken


def seen(machine: TokenMachine, tokens: Sequence[int]) -> str:
    """A digest of all answers that decoding needs along some tokens."""
    state = machine.start
    found = sha256()
    for token in [*tokens, None]:
        found.update(machine.mask(state).tobytes())
        found.update(repr((machine.is_final(state), machine.distance_to_end(state))).encode())
        if token is not None:
            following = machine.step(state, token)
            assert following is not None
            state = following
    return found.hexdigest()


def seen_there(data: bytes, walks: Sequence[Sequence[int]]) -> list[str]:
    machine = pickle.loads(data)
    return [seen(machine, tokens) for tokens in walks]


@pytest.mark.parametrize("kind", few(KINDS, 5))
def test_a_machine_is_the_same_on_arrival(kind: str) -> None:
    machine = KINDS[kind](vocabulary())
    fresh = pickle.dumps(machine)
    arrived = pickle.loads(fresh)
    assert arrived.vocabulary == machine.vocabulary
    walks = [walk(machine, seed) for seed in range(8)]
    assert any(walks)
    for tokens in walks:
        assert seen(arrived, tokens) == seen(machine, tokens)
    # What was worked out on the way stays behind; the numbers that states were given go along.
    used = pickle.dumps(machine)
    assert len(used) <= len(fresh) + 64 * machine.num_states
    for tokens in walks:
        assert seen(pickle.loads(used), tokens) == seen(machine, tokens)


@pytest.mark.long
def test_another_process_sees_the_same_masks() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        for kind, make in KINDS.items():
            machine = make(vocabulary())
            walks = [walk(machine, seed) for seed in range(3)]
            there = pool.submit(seen_there, pickle.dumps(machine), walks).result(timeout=120)
            assert there == [seen(machine, tokens) for tokens in walks], kind


def test_the_setup_of_a_sweep_travels_without_machines() -> None:
    constraint = explorer.json_schema(PERSON)
    grid = SweepGrid.of("a", constraint, "tiny", explorer.Sampler(0.0), 0)
    before = len(packed_setup(grid.setup))
    assert constraint.dfa.num_states > 100  # It is built now, and kept.
    assert len(packed_setup(grid.setup)) == before < 5_000
    (there,) = pickle.loads(packed_setup(grid.setup)).constraints
    assert there.constraint.dfa.num_states == constraint.dfa.num_states
    assert there.fingerprint == grid.setup.constraints[0].fingerprint
