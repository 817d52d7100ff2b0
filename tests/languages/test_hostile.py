"""Patterns and machines that are made to take long or take much: a budget holds for each.

Whether a limit is reached in time depends on the machine, so the outcome is asserted, the sizes
that are announced, and how often a construction looks at its meter; the processes below have a hard
limit of memory and a generous one of time, which a construction that does not look would pass.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import explorer
from explorer.automata.construction.rows import QUANTUM
from explorer.automata.construction.subset import determinize
from explorer.automata.machine import Nfa
from explorer.automata.tree.assertions import each_once, without_edge_anchors
from explorer.automata.tree.layout import lay_out
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.regex import parse
from tests.evidence import LONG

CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import explorer
from explorer import Budget
for pattern in sys.argv[1:]:
    piece, _, count = pattern.rpartition(" ")
    try:
        explorer.regex(piece * int(count), Budget(seconds=1))
        print("built")
    except explorer.errors.BudgetExceeded as error:
        print("stopped", error.resource)
"""

MANY = [r"\b 250000", r"a\b 160000", r"\b\B 120000", "a$ 250000", r"\w 250000", r"\W 250000",
        "a* 250000", "a? 250000", ".? 250000", ".* 250000"]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set on Linux only")
def test_no_repeated_piece_hangs_or_takes_gigabytes() -> None:
    given = MANY if LONG else MANY[3:6]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *given],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    told = done.stdout.splitlines()
    assert len(told) == len(given)
    assert all(line in ("built", "stopped seconds", "stopped states", "stopped bytes")
               for line in told)  # fmt: skip
    ways = dict(zip(given, told, strict=True))
    # Gigabytes, were they laid out.
    assert ways[r"\w 250000"].startswith("stopped") and ways[r"\W 250000"].startswith("stopped")


class Looks(Meter):
    """A meter that counts how often it is looked at, and what is announced to it."""

    __slots__ = ("arcs", "bytes", "looks", "stages")

    def __init__(self, budget: Budget | None = None) -> None:
        super().__init__(budget)
        self.looks = self.arcs = self.bytes = 0
        self.stages: list[str] = []

    def check_time(self, stage: str, ahead: float = 0.0) -> None:
        self.looks += 1
        self.stages.append(stage)
        super().check_time(stage, ahead)

    def check(
        self, stage: str, *, states: int = 0, arcs: int = 0, bytes: int = 0, ahead: float = 0.0
    ) -> None:
        self.arcs, self.bytes = max(self.arcs, arcs), max(self.bytes, bytes)
        super().check(stage, states=states, arcs=arcs, bytes=bytes, ahead=ahead)


def test_reading_is_within_the_budget() -> None:
    meter = Looks()
    parse(r"\d" * 50_000, meter=meter)
    assert meter.stages.count("Reading the pattern") >= 10
    meter = Looks()
    parse("|".join("ab" for _ in range(50_000)), meter=meter)
    assert meter.stages.count("Reading the pattern") >= 10
    with pytest.raises(BudgetExceeded, match="Reading the pattern") as caught:
        explorer.regex("a" * 100_000, Budget(bytes=1_000_000))
    assert caught.value.resource == "bytes" and caught.value.reached >= 100_000
    with pytest.raises(BudgetExceeded, match="Reading the pattern"):
        explorer.regex(r"\d" * 100_000, Budget(seconds=1e-6))


@pytest.mark.parametrize("piece", ["^", "(?:)", "(?=a)", "(?:^|b)", r"\b"])
def test_the_search_for_assertions_looks_at_the_clock(piece: str) -> None:
    root = parse(piece * 20_000).root
    stays = piece.startswith(
        "(?:"
    )  # What is at the edge, so that nothing is looked for further in.
    for simplify in (each_once,) if stays else (each_once, without_edge_anchors):
        meter = Looks()
        simplify(root, meter)
        assert meter.stages.count("Finding where the assertions of the pattern hold") >= 10
    meter = Looks(Budget(seconds=1e-9))
    with pytest.raises(BudgetExceeded, match="Finding where the assertions"):
        each_once(root, meter)
    assert meter.looks == 1


def test_a_budget_builds_the_machine_at_once() -> None:
    with pytest.raises(BudgetExceeded):
        explorer.regex("a{300}", Budget(states=200))
    assert explorer.regex("a{300}").source.text == "a{300}"


@pytest.mark.parametrize("piece", [r"\w", r"(?:\W)", r"\w?"])
def test_a_long_sequence_is_foreseen_before_it_is_laid_out(piece: str) -> None:
    tree = parse(piece * 50_000)
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded) as caught:
            lay_out(tree.root, Meter())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reached > 10_000_000  # The whole sequence, not the piece that was too much.
    assert peak < 10_000_000


def _clique(size: int) -> Nfa:
    """Every state leads to every other by ε, and by 256 bytes to 256 of them."""
    pairs = np.indices((size, size)).reshape(2, -1).T.astype(np.int32)
    arcs = np.array([(0, byte, byte, byte % size) for byte in range(256)], np.int32)
    return Nfa(size, 0, arcs, pairs, np.array([size - 1], np.int32))


def test_closures_are_metered_also_within_one_state() -> None:
    size = 600
    meter = Looks()
    dfa = determinize(_clique(size), meter)
    followed = 256 * size * size  # By the one set that there is.
    assert dfa.num_states <= 2
    assert meter.looks >= followed // (4 * QUANTUM)


def test_an_acceptor_announces_its_arcs() -> None:
    pynini = pytest.importorskip("pynini")

    acceptor = pynini.Fst()
    acceptor.add_states(300)
    acceptor.set_start(0)
    acceptor.set_final(299)
    for source in range(300):
        for target in range(300):
            acceptor.add_arc(source, pynini.Arc(0, 0, 0, target))  # pyright: ignore
    assert explorer.Constraint.from_fst(acceptor).accepts("")
    with pytest.raises(BudgetExceeded, match="Reading the acceptor") as caught:
        explorer.Constraint.from_fst(acceptor, budget=Budget(arcs=80_000))
    assert caught.value.reached == 90_000
