"""Byte machines as pynini acceptors, and back.

pynini holds the definitions: of acceptors, of composition, determinization and equivalence. Our
machines go there for the tests, for lessons, and for anyone who wants to go on with pynini;
acceptors written with pynini come in as constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from explorer.alphabet import EPSILON, NUM_BYTES, byte_label
from explorer.automata.construction.operations import empty_dfa, minimal_dfa
from explorer.automata.interchange import openfst
from explorer.automata.interchange.validate import check_text, checked_nfa
from explorer.automata.machine import Dfa, Int32
from explorer.budget import Meter
from explorer.errors import ConstraintError

if TYPE_CHECKING:
    import pynini


STAGE: Final = "Reading the acceptor"
_SECONDS_PER_ARC: Final = 2e-7


def fst_from_arrays(
    num_states: int, start: int, arcs: Int32, accepting: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> pynini.Fst:
    """A pynini machine from flat arrays; see `openfst.write`."""
    import pynini

    return pynini.Fst.read_from_string(openfst.write(num_states, start, arcs, accepting))


def dfa_to_fst(dfa: Dfa) -> pynini.Fst:
    """A byte machine as an acceptor; byte b has label b + 1, and so have marks of tokens.

    An empty language becomes one state that accepts nothing.
    """
    if dfa.num_states == 0:
        return fst_from_arrays(1, 0, np.empty((0, 4), np.int32), np.zeros(1, np.bool_))
    targets = dfa.table[:, dfa.symbol_class]
    source, byte = np.nonzero(targets >= 0)
    label = byte + byte_label(0)
    arcs = np.column_stack([source, label, label, targets[source, byte]]).astype(np.int32)
    return fst_from_arrays(dfa.num_states, dfa.start, arcs, dfa.accepting)


def fst_to_dfa(acceptor: pynini.Fst, labels: str, meter: Meter) -> Dfa:
    """The minimal byte machine of an acceptor; see `Constraint.from_fst`."""
    import pynini

    if not isinstance(acceptor, pynini.Fst):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(
            f"from_fst() takes a pynini machine, not a {type(acceptor).__name__}.",
            remedy="Build one with pynini, for instance pynini.accep(text).",
        )
    if labels not in ("bytes", "codepoints", "explorer"):
        raise ConstraintError(
            f"labels={labels!r} is not known.",
            remedy='Write labels="bytes", "codepoints" or "explorer".',
        )
    # pynini's stubs leave out what it inherits from its C++ base class.
    given = cast(Any, acceptor)
    num_arcs = sum(given.num_arcs(state) for state in given.states())
    # The copy, the file and the arrays are there at once; nobody can look while they are made.
    meter.check(
        STAGE, states=given.num_states(), arcs=num_arcs, bytes=80 * num_arcs,
        ahead=num_arcs * _SECONDS_PER_ARC,
    )  # fmt: skip
    plain = cast(Any, acceptor.copy())
    plain.set_input_symbols(None)
    plain.set_output_symbols(None)
    if plain.start() < 0:
        return empty_dfa(NUM_BYTES)
    num_states, start, arcs, accepting = openfst.read_fst(plain.write_to_string())
    if (arcs[:, 1] != arcs[:, 2]).any():
        raise ConstraintError(
            "A constraint is a language; this is a transducer, whose two sides differ.",
            remedy="Project it to one side first: `pynini.project(fst, 'output')`.",
        )
    is_epsilon = arcs[:, 1] == EPSILON
    epsilons = np.ascontiguousarray(arcs[is_epsilon][:, [0, 3]])
    arcs = arcs[~is_epsilon]
    top = {"bytes": 255, "codepoints": 0x10FFFF, "explorer": 256}[labels]
    wrong = (arcs[:, 1] < 0) | (arcs[:, 1] > top)
    if wrong.any():
        raise ConstraintError(
            f"The label {int(arcs[wrong][0, 1])} is not a label of {labels!r} (1 to {top}).",
            remedy="Name the convention that the acceptor was written in: "
            'labels="bytes", "codepoints" or "explorer".',
            evidence={"label": int(arcs[wrong][0, 1])},
        )
    if labels == "codepoints":
        num_states, arcs = _spell_out(num_states, arcs)
    else:
        byte = arcs[:, 1] - (byte_label(0) if labels == "explorer" else 0)
        arcs = np.column_stack([arcs[:, 0], byte, byte, arcs[:, 3]]).astype(np.int32)
    nfa = checked_nfa(
        num_states, start, arcs, epsilons, np.flatnonzero(accepting),
        meter=meter, error=ConstraintError, remedy="Build the acceptor again with pynini.",
    )  # fmt: skip
    dfa = minimal_dfa(nfa, meter)
    check_text(
        dfa, meter, error=ConstraintError,
        remedy='If its labels are code points, write labels="codepoints".',
    )  # fmt: skip
    return dfa


def _spell_out(num_states: int, arcs: Int32) -> tuple[int, Int32]:
    """Arcs over code points as chains of byte arcs."""
    result: list[tuple[int, int, int, int]] = []
    for source, label, _, target in arcs.tolist():
        try:
            data = chr(label).encode()
        except UnicodeEncodeError:
            raise ConstraintError(
                f"The label U+{label:04X} is a surrogate, which is not a character.",
                remedy="Leave surrogates out of the acceptor.",
                evidence={"label": label},
            ) from None
        here = source
        for k, byte in enumerate(data):
            there = target if k == len(data) - 1 else num_states
            num_states += k < len(data) - 1
            result.append((here, byte, byte, there))
            here = there
    return num_states, np.array(result, np.int32).reshape(-1, 4)
