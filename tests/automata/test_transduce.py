"""Our composition of small transducers, beside pynini's of the same machines."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import numpy as np
import pytest

from explorer import regex
from explorer.alphabet import EPSILON, byte_label
from explorer.automata.construction.operations import equivalent
from explorer.automata.construction.transduce import (
    NOTHING,
    Transducer,
    image_of,
    in_turn,
    origins_of,
    smallest,
)
from explorer.automata.interchange.openfst import dfa_to_fst, fst_from_arrays, fst_to_dfa
from explorer.automata.machine import Dfa
from explorer.budget import Meter

PATTERNS = ["", "a", "(ab)*", "[abc]*", "a+b|c{2,3}", "(a|b)*c", "[^\\s\\S]", "((a|b)(b|c))*"]


def random_transducer(draw: Random) -> Transducer:
    states = draw.randint(1, 4)
    letters = [NOTHING, *b"abc"]
    rows = sorted(
        (draw.randrange(states), draw.choice(letters), draw.choice(letters), draw.randrange(states))
        for _ in range(draw.randint(0, 9))
    )
    accepting = np.array([draw.random() < 0.6 for _ in range(states)])
    return Transducer(states, np.array(rows, np.int32).reshape(-1, 4), accepting)


def as_fst(transducer: Transducer) -> Any:
    """pynini's form; a byte b has the label b + 1."""
    arcs = transducer.arcs.copy()
    for column in (1, 2):
        silent = arcs[:, column] == NOTHING
        arcs[:, column] = np.where(silent, EPSILON, arcs[:, column] + byte_label(0))
    return cast(Any, fst_from_arrays(transducer.num_states, 0, arcs, transducer.accepting.copy()))


def by_pynini(machine: Dfa, transducer: Transducer, wanted: Dfa | None) -> Dfa:
    pynini = pytest.importorskip("pynini")

    library = pynini
    composed = library.compose(
        cast(Any, dfa_to_fst(machine)).arcsort("olabel"), as_fst(transducer).arcsort("ilabel")
    )
    if wanted is not None:
        after = cast(Any, dfa_to_fst(wanted)).arcsort("ilabel")
        composed = library.compose(composed.arcsort("olabel"), after)
    kept = library.project(composed, "output" if wanted is None else "input").rmepsilon()
    return fst_to_dfa(kept, "explorer", Meter())


@pytest.mark.parametrize("seed", range(60))
def test_images_and_origins_are_pyninis(seed: int) -> None:
    draw = Random(seed)
    machine, wanted = (regex(draw.choice(PATTERNS)).dfa for _ in range(2))
    transducer = random_transducer(draw)
    mine = image_of(machine, transducer, Meter())
    assert equivalent(mine, by_pynini(machine, transducer, None), Meter())
    words = origins_of(machine, transducer, wanted, Meter())
    assert equivalent(words, by_pynini(machine, transducer, wanted), Meter())


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_does_what_its_parts_do(seed: int) -> None:
    draw = Random(1000 + seed)
    first, second = random_transducer(draw), random_transducer(draw)
    both = in_turn(first, second, Meter())
    for pattern in PATTERNS:
        machine = regex(pattern).dfa
        one_by_one = image_of(image_of(machine, first, Meter()), second, Meter())
        assert equivalent(image_of(machine, both, Meter()), one_by_one, Meter()), pattern
        least = smallest(first, Meter())
        assert least.num_states <= first.num_states or least.num_states <= 2**first.num_states
        assert equivalent(
            image_of(machine, least, Meter()), image_of(machine, first, Meter()), Meter()
        )


def test_another_arc_is_noticed() -> None:
    """The oracle can fail: one arc that writes something else makes another image."""
    arcs = np.array([[0, 97, 98, 0], [0, 98, 97, 0]], np.int32)
    swap = Transducer(1, arcs, np.array([True]))
    wrong = Transducer(1, arcs[:, [0, 1, 1, 3]].copy(), np.array([True]))
    machine = regex("aab").dfa
    assert equivalent(image_of(machine, swap, Meter()), regex("bba").dfa, Meter())
    assert not equivalent(
        image_of(machine, wrong, Meter()), by_pynini(machine, swap, None), Meter()
    )
