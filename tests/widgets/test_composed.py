"""The machine that is drawn comes from pynini where there is one, and is the one that decodes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import explorer
from explorer import Budget, Vocabulary
from tests.optional import pynini
from widgets.compiling import worker_process
from widgets.compiling.composed import drawn_machine
from widgets.compiling.worker import CompileWorker
from widgets.figures.packets import machine_packet
from widgets.shown_place import PageData

TOY = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food", b"o"], eos_ids=[6])
BUDGET = Budget(seconds=60)
EXACT = ("table", "token_class", "char_state", "accepting", "distance", "stuck")
SAID = re.compile(r"composed by pynini, [0-9.]+ ms; by functions, [0-9.]+ ms; the same machine(.*)")


@pytest.fixture(scope="module")
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    assert made.unavailable == ""
    yield made
    made.close()


@pytest.mark.parametrize("pattern", ["(foo)+d", "(f|o)*", "foo(d|r)?|o+", "(food?){1,3}"])
def test_what_is_drawn_is_pyninis_and_the_same(worker: CompileWorker, pattern: str) -> None:
    assert pynini.Fst
    ours = explorer.compile(explorer.regex(pattern), TOY)
    made = drawn_machine(ours, worker, BUDGET)
    theirs = made.machine
    assert isinstance(theirs, explorer.TokenDFA) and theirs.report.method == "pynini"
    assert made.line is not None and SAID.fullmatch(made.line)
    for name in EXACT:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    drawn, usual = machine_packet(theirs), machine_packet(ours)
    assert drawn.pop("report") != usual.pop("report")
    assert drawn == usual


def test_a_page_draws_what_pynini_composed(worker: CompileWorker) -> None:
    assert pynini.Fst
    session = explorer.Session.from_ids(TOY, explorer.regex("(foo)+d"), [2])
    page = PageData(session)
    assert page.drawn is session.machine
    packet = page.machines(worker, BUDGET)
    assert page.drawn.report.method == "pynini" and session.machine.report.method == "functions"
    assert SAID.fullmatch(page.composed(worker, BUDGET) or "")
    assert page.machines(None, BUDGET) is packet


def test_a_filter_is_nobodys_composition(worker: CompileWorker) -> None:
    assert pynini.Fst
    lm = explorer.load_model("tiny")
    machine = explorer.compile(explorer.regex("[a-c]{1,3}").canonical(), lm.vocabulary)
    made = drawn_machine(machine, worker, BUDGET)
    said = SAID.fullmatch(made.line or "")
    assert said is not None and said[1] == "; then the filter canonical, which is not composed"
    assert made.machine is machine


def test_without_pynini_the_line_says_so() -> None:
    machine = explorer.compile(explorer.regex("(foo)+d"), TOY)

    class Without:
        def composed(self, *_: object) -> worker_process.Outcome:
            return worker_process.Outcome("composed", reason="pynini is not installed")

    made = drawn_machine(machine, Without(), BUDGET)  # pyright: ignore[reportArgumentType]
    assert made.machine is machine
    assert re.fullmatch(
        r"composed by functions, [0-9.]+ ms \(pynini is not installed\)", made.line or ""
    )


def test_what_is_larger_than_a_page_of_pynini_is_drawn_as_it_is(worker: CompileWorker) -> None:
    many = Vocabulary.from_bytes([b"%d" % k for k in range(20_001)], eos_ids=[20_001])
    machine = explorer.compile(explorer.regex("[0-9]+"), many)
    made = drawn_machine(machine, worker, BUDGET)
    assert made.machine is machine
    assert re.fullmatch(r"composed by functions, [0-9.]+ ms", made.line or "")


def test_a_constraint_does_not_wait_for_a_composition() -> None:
    """A composition that takes minutes is ended when a constraint is asked for."""
    assert pynini.Fst
    worker = CompileWorker()
    worker.warm().join()
    words = [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    many = Vocabulary.from_bytes([*words, b"a", b"b"], eos_ids=[len(words) + 2])
    large = explorer.regex("([a-z]{1,40}b){1,40}")
    said: list[object] = []
    thread = threading.Thread(target=lambda: said.append(worker.composed(large, many, BUDGET)))
    thread.start()
    while not worker._turn.locked():
        time.sleep(0.01)
    assert worker.compile(("regex", "(foo)+d"), TOY, BUDGET).num_states == 5
    thread.join()
    outcome = said[0]
    assert isinstance(outcome, worker_process.Outcome)
    assert outcome.outcome == "busy" or outcome.times is not None
    worker.close()


NESTED = 'root ::= "a" root "b" | ""'
LETTERS = Vocabulary.from_bytes([b"a", b"b", b"bb", b"aaab"], eos_ids=[4])


def test_a_grammar_is_composed_by_the_push_down_composition(worker: CompileWorker) -> None:
    assert pynini.Fst
    machine = explorer.compile(explorer.grammar(NESTED), LETTERS)
    made = drawn_machine(machine, worker, BUDGET)
    assert made.machine is machine
    assert made.line is not None
    said = re.fullmatch(
        r"not composed as a whole: .*; pynini's push-down composition \(Algorithm 3\) has the same "
        r"(\d+) texts of up to 4 tokens",
        made.line,
    )
    assert said is not None and int(said[1]) > 3


def test_a_grammar_over_many_tokens_says_why_not(worker: CompileWorker) -> None:
    lm = explorer.load_model("tiny")
    machine = explorer.compile(explorer.grammar(NESTED), lm.vocabulary)
    line = drawn_machine(machine, worker, BUDGET).line or ""
    assert line.startswith("not composed as a whole: ") and "Algorithm 3" not in line
