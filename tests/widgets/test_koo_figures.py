"""The figures of Koo et al. that the course shows, beside the machines that they claim to be."""

from __future__ import annotations

import re
from itertools import groupby, pairwise, product
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.automata.machine import Nfa
from explorer.automata.textbook.composition import composition_stages, fst_letters
from explorer.automata.textbook.detokenizing import algorithm_one
from explorer.automata.textbook.steps import subsets_of
from explorer.automata.tree.layout import lay_out
from explorer.budget import Meter
from explorer.languages.regex import parse
from explorer.languages.stages.stage import DrawnTransducer
from widgets.lessons.film import way_through
from widgets.lessons.lettered import (
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_9,
    acceptor,
    dfa_letters,
    matched,
    nfa_letters,
    subset_letters,
)

WORDS = ["".join(w) for k in range(7) for w in product("ab", repeat=k)]
TOY = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
RULES: dict[str, Any] = {
    "ab to x": lambda word: "x" if word == "ab" else None,
    "an odd number of a to xoxo…x": lambda word: (
        "".join("xo"[k % 2] for k in range(len(word)))
        if set(word) <= {"a"} and len(word) % 2
        else None
    ),
    "a run of a or b in brackets": lambda word: f"[{word}]" if len([*groupby(word)]) == 1 else None,
}


def changed(machine: DrawnTransducer, number: int) -> DrawnTransducer:
    """The same machine with one arc to another state."""
    source, read, written, target = machine.arcs[number]
    arc = (source, read, written, (target + 1) % machine.num_states)
    arcs = (*machine.arcs[:number], arc, *machine.arcs[number + 1 :])
    return DrawnTransducer(machine.num_states, arcs, machine.accepting)


@pytest.mark.parametrize("pattern", FIGURE_1)
def test_figure_1_is_the_machine_of_its_pattern(pattern: str) -> None:
    figure = FIGURE_1[pattern]
    assert matched(figure, dfa_letters(explorer.regex(pattern).dfa)) is not None
    for word in WORDS:
        assert (way_through(figure, word) is not None) == bool(re.fullmatch(pattern, word))


@pytest.mark.parametrize("pattern", FIGURE_1)
def test_another_arc_is_another_machine(pattern: str) -> None:
    figure = FIGURE_1[pattern]
    for number in range(len(figure.arcs)):
        assert matched(changed(figure, number), figure) is None


def test_figure_2_is_determinized_into_itself() -> None:
    before, after = FIGURE_2
    rows = [[s, ord(read), ord(read), t] for s, read, _, t in before.arcs]
    nfa = Nfa(
        before.num_states,
        0,
        np.array(rows, np.int32),
        np.zeros((0, 2), np.int32),
        np.array(sorted(before.accepting), np.int32),
    )
    found = subsets_of(nfa)
    assert [sorted(one) for one in found.sets] == [[0], [1, 2], [1], [3]]
    assert matched(subset_letters(found), after) is not None
    assert matched(dfa_letters(explorer.regex("a+|ab").dfa), after) is not None
    assert matched(before, after) is None
    for word in WORDS:
        said = bool(re.fullmatch("a+|ab", word))
        assert said == (way_through(before, word) is not None)
        assert said == (way_through(after, word) is not None)


def test_thompsons_machine_reads_the_same() -> None:
    written = nfa_letters(lay_out(parse("a+|ab").root, Meter()))
    for word in WORDS:
        assert (way_through(written, word) is None) == (re.fullmatch("a+|ab", word) is None)


@pytest.mark.parametrize("name", FIGURE_3)
def test_figure_3_writes_what_its_caption_says(name: str) -> None:
    figure = FIGURE_3[name]
    for word in WORDS:
        found = way_through(figure, word)
        assert (found.written[-1] if found else None) == RULES[name](word), word


def test_figure_9_left_is_what_algorithm_1_builds() -> None:
    """The paper's counts, from its algorithm: 9 states, 13 arcs, three of them ε : f."""
    figure, _ = FIGURE_9
    steps = algorithm_one([data for data in TOY.tokens if data])
    assert matched(figure, steps[-1].machine) is not None
    assert matched(figure, fst_letters(explorer.detokenizing_fst(TOY, "original"))) is not None
    assert (figure.num_states, len(figure.arcs)) == (9, 13)
    assert sum(arc[1:3] == ("", "f") for arc in steps[-1].machine.arcs) == 3
    assert all(matched(changed(figure, k), figure) is None for k in range(13))
    # Each line adds one state and one arc, or one arc, or nothing.
    for before, after in pairwise(steps):
        grown = (
            after.machine.num_states - before.machine.num_states,
            len(after.machine.arcs) - len(before.machine.arcs),
        )
        assert grown == {3: (0, 0), 5: (1, 1), 6: (0, 1)}[after.line]


def test_algorithm_1_makes_a_state_per_byte_but_the_last_of_each_token() -> None:
    tokens = [data for data in explorer.load_model("tiny").vocabulary.tokens if data]
    made = explorer.detokenizing_fst(explorer.load_model("tiny").vocabulary, "original")
    assert made.num_states() == 1 + sum(len(data) - 1 for data in tokens) == 14_002


def test_figure_4_is_the_compact_form() -> None:
    assert matched(FIGURE_4, fst_letters(explorer.detokenizing_fst(TOY, "compact"))) is not None
    assert FIGURE_9[1] is FIGURE_4 and matched(*FIGURE_9) is None


def test_figure_5_is_the_composition() -> None:
    machine = explorer.regex("(foo)+d").dfa
    last = composition_stages(TOY, machine, range(5))[-1]
    arcs = [(s, (TOY.tokens[t] or b"").decode(), u) for s, t, u in last.arcs]
    number = {last.start: 0}
    for k in range(last.num_states):
        number.setdefault(k, len(number))
    made = acceptor(
        last.num_states,
        [(number[s], word, number[u]) for s, word, u in arcs],
        [number[k] for k in last.accepting],
    )
    assert matched(FIGURE_5, made) is not None
