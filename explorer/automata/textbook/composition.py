"""The composition as the textbook has it, by pynini from end to end.

Koo, Liu & He 2024, Algorithm 2: compose the detokenizing FST with the character FSA, keep the input
side, and determinize. `explorer.tokens.walks.functions` computes the same machine without writing
the composed one down; this is the definition that it is held equal to, timed beside it in the
benchmark, and what the lessons show. Nothing in pynini can be interrupted: the clock is looked at
between its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from explorer.alphabet import (
    EPSILON,
    NUM_TOKEN_SYMBOLS,
    TOKEN_END,
    byte_label,
    id_digits,
    token_label,
)
from explorer.automata.interchange import openfst
from explorer.automata.interchange.pynini_bridge import dfa_to_fst, fst_from_arrays
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.automata.textbook.detokenizing import detokenizing_fst
from explorer.budget import Meter
from explorer.memo import memo
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pynini

STAGE: Final = "Composition by pynini"


@memo
def _transducer(vocabulary: Vocabulary) -> pynini.Fst:
    """T_V without names, its arcs sorted for composition."""
    transducer = cast(Any, detokenizing_fst(vocabulary))
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    return transducer.arcsort("olabel")


@memo
def _transducer_with_ends(vocabulary: Vocabulary) -> pynini.Fst:
    """T_V that writes the end of each token too, and the digits of ids that are not text.

    A cycle per token: it reads the id, then writes a symbol after the other; symbol s has the label
    s + 1, as a byte has.
    """
    arcs: list[tuple[int, int, int, int]] = []
    states = 1
    not_text = frozenset(vocabulary.not_text)
    for token, data in enumerate(vocabulary.tokens):
        if data is None and token not in not_text:
            continue
        symbols = [*(id_digits(token) if data is None else data), TOKEN_END]
        here, label = 0, token_label(token)
        for k, symbol in enumerate(symbols):
            there = 0 if k == len(symbols) - 1 else states
            states += there == states
            arcs.append((here, label, byte_label(symbol), there))
            here, label = there, EPSILON
    accepting = np.zeros(states, np.bool_)
    accepting[0] = True
    rows = np.array(arcs, np.int32).reshape(-1, 4)
    return cast(Any, fst_from_arrays(states, 0, rows, accepting)).arcsort("olabel")


def compose(vocabulary: Vocabulary, dfa: Dfa, meter: Meter) -> tuple[int, Int32, Bool]:
    """The deterministic machine over token ids: compose, project, remove ε, determinize, connect.

    Args:
        vocabulary: The tokens.
        dfa: The character FSA; its language is not empty.
        meter: Watches the time between the operations, and the sizes.

    Returns:
        The start state; int32[arcs, 3], rows ``(source, token id, target)``; bool[states], where
        the text may end. No states where the vocabulary can write no word.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    import pynini

    acceptor = dfa_to_fst(dfa)
    over_tokens = dfa.num_symbols == NUM_TOKEN_SYMBOLS
    transducer = _transducer_with_ends(vocabulary) if over_tokens else _transducer(vocabulary)
    meter.check_time(STAGE)
    # pynini's stubs leave most types out.
    library = cast(Any, pynini)
    operations: tuple[Callable[[Any], Any], ...] = (
        lambda machine: machine.project("input"),
        lambda machine: machine.rmepsilon(),
        library.determinize,
        lambda machine: machine.connect(),
    )
    machine = library.compose(transducer, acceptor)
    for operation in operations:
        meter.check(STAGE, states=machine.num_states())
        machine = operation(machine)
    meter.check(STAGE, states=machine.num_states())
    num_states, start, arcs, accepting = openfst.read_fst(machine.write_to_string())
    meter.check(STAGE, states=num_states, arcs=len(arcs), bytes=32 * len(arcs))
    rows = arcs[:, [0, 1, 3]]
    rows[:, 1] -= token_label(0)
    return start, rows, accepting
