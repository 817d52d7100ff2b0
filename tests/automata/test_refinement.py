"""Equal states by refinement, beside Moore's rounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.automata.construction import minimize
from explorer.automata.machine import Bool, Dfa
from explorer.budget import Meter
from tests.evidence import calls_of, examples


@st.composite
def machines(draw: st.DrawFn) -> tuple[Dfa, Bool]:
    """Machines with many equal states, and which of them lie on an accepting path."""
    different, classes = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    states = different * draw(st.integers(1, 6))
    # Each state has copies; an arc leads to any copy of its target, most often of the next state.
    names = np.arange(states) % different
    table = random.integers(-1, different, (different, classes))
    table[:, 0] = np.where(random.random(different) < 0.9, np.arange(different) + 1, table[:, 0])
    copies = different * random.integers(0, states // different, (states, classes))
    table = np.where(table[names] < 0, -1, table[names] % different + copies).astype(np.int32)
    accepting = (random.random(different) < draw(st.sampled_from([0.05, 0.5])))[names]
    symbol_class = np.minimum(np.arange(256), classes - 1).astype(np.int32)
    useful = minimize._trim(table, accepting, 0)[0]  # pyright: ignore[reportPrivateUsage]
    return Dfa(symbol_class, table, accepting, 0), useful


def in_rounds(dfa: Dfa, useful: Bool, rounds: int | None = None) -> list[int]:
    """The block of each state after rounds that each compare one more symbol; −1 if useless."""
    blocks = [int(end) if kept else -1 for end, kept in zip(dfa.accepting, useful, strict=True)]
    while rounds is None or rounds > 0:
        rows = [(b, *(blocks[t] if t >= 0 else -1 for t in row)) if b >= 0 else None
                for b, row in zip(blocks, dfa.table.tolist(), strict=True)]  # fmt: skip
        number = {row: k for k, row in enumerate(dict.fromkeys(row for row in rows if row))}
        after = [-1 if row is None else number[row] for row in rows]
        if len(number) == len({*blocks} - {-1}):
            break
        blocks, rounds = after, None if rounds is None else rounds - 1
    return blocks


def refined(dfa: Dfa, useful: Bool, quantum: int) -> tuple[list[int], list[int], int]:
    """The blocks by refinement, a state of each, and how often it paused."""
    _, offset, source = minimize._trim(dfa.table, dfa.accepting, 0)  # pyright: ignore[reportPrivateUsage]
    parts, slots, progress = minimize.blocks_at_first(dfa.accepting, useful)
    pauses = 0
    while not minimize.refine(dfa.table, offset, source, parts, slots, progress, quantum):
        pauses += 1
    firsts = parts[1][parts[5, : progress[0]]]
    return parts[0].tolist(), firsts.tolist(), pauses


def same_parts(one: list[int], other: list[int]) -> bool:
    pairs = {*zip(one, other, strict=True)}
    return len(pairs) == len({*one}) == len({*other})


@given(machines(), st.sampled_from([0, 10, 1000]))
@settings(max_examples=examples(200))
def test_refinement_and_rounds_agree(drawn: tuple[Dfa, Bool], quantum: int) -> None:
    dfa, useful = drawn
    blocks, firsts, _ = refined(dfa, useful, quantum)
    wanted = in_rounds(dfa, useful)
    assert same_parts(blocks, wanted)
    assert [blocks[state] for state in firsts] == list(range(len(firsts)))


def test_a_round_too_few_differs() -> None:
    """A mutant: blocks of states that were compared too little are not the answer."""
    states = 12
    table = np.minimum(np.arange(states, dtype=np.int32) + 1, states - 1)[:, None]
    table[-1] = 0
    accepting = np.arange(states) == states - 1
    dfa = Dfa(np.zeros(256, np.int32), np.ascontiguousarray(table), accepting, 0)
    useful = np.ones(states, np.bool_)
    blocks, _, pauses = refined(dfa, useful, 0)
    assert same_parts(blocks, in_rounds(dfa, useful)) and pauses > 5
    assert not same_parts(blocks, in_rounds(dfa, useful, 4))


def test_refinement_looks_at_the_clock() -> None:
    """Once for each piece of the work, of which a large machine has many."""

    def looks(states: int) -> int:
        table = np.random.default_rng(0).integers(0, states, (states, 20)).astype(np.int32)
        symbol_class = np.minimum(np.arange(256), 19).astype(np.int32)
        dfa = Dfa(symbol_class, table, np.arange(states) == 0, 0)
        return calls_of(lambda: minimize.minimize(dfa, Meter()), Meter.check_time)

    assert looks(200_000) > looks(6) + 2
