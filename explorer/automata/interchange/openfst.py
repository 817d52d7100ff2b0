"""Conversion of byte machines from and to pynini acceptors, through OpenFST's file format.

pynini holds the definitions: of acceptors, of composition, determinization and equivalence. Our
machines go there for the tests, for lessons, and for anyone who wants to go on with pynini;
acceptors written with pynini come in as constraints.

pynini adds arcs one Python call at a time; a detokenizing FST has hundreds of thousands. Its
files are simple, though: a header, then for each state a final weight, the number of arcs, and
the arcs, all in four-byte words. numpy writes and reads them whole, about a hundred times
faster. Only the tropical ``standard`` arc type with weights 0 and ∞ occurs here.

Format: OpenFST's ``FstHeader`` and ``VectorFst``, version 2, little-endian.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import EPSILON, NUM_BYTES, byte_label
from explorer.automata.construction.operations import empty_dfa, minimal_dfa
from explorer.automata.interchange.libraries import installed
from explorer.automata.interchange.validate import check_text, checked_nfa
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.jit import jit

if TYPE_CHECKING:
    import pynini


_MAGIC: Final = 2125659606
_VECTOR: Final = b"vector"
_STANDARD: Final = b"standard"
_VERSION: Final = 2
# Bits 0 and 1: the states are counted, the machine may be changed. All else is unknown.
_PROPERTIES: Final = 3

_ONE: Final = 0
_ZERO: Final = 0x7F800000  # The bits of float32 infinity: no path ends here.


def write(num_states: int, start: int, arcs: Int32, accepting: Bool) -> bytes:
    """The contents of an OpenFST file for an unweighted machine.

    Args:
        num_states: States are ``0 .. num_states - 1``.
        arcs: int32[arcs, 4], rows ``(source, input label, output label, target)``.
    """
    order = np.argsort(arcs[:, 0], kind="stable")
    arcs = arcs[order]
    counts = np.bincount(arcs[:, 0], minlength=num_states)
    before = np.zeros(num_states, np.int64)
    np.cumsum(counts[:-1], out=before[1:])
    # In four-byte words: a state has a weight and a 64-bit count, an arc has four.
    state_at = 3 * np.arange(num_states) + 4 * before
    words = np.zeros(3 * num_states + 4 * len(arcs), np.int32)
    words[state_at] = np.where(accepting, _ONE, _ZERO)
    words[state_at + 1] = counts
    arc_at = 3 * (arcs[:, 0].astype(np.int64) + 1) + 4 * np.arange(len(arcs))
    words[arc_at] = arcs[:, 1]
    words[arc_at + 1] = arcs[:, 2]
    words[arc_at + 3] = arcs[:, 3]
    header = (
        struct.pack("<i", _MAGIC)
        + struct.pack("<i", len(_VECTOR)) + _VECTOR
        + struct.pack("<i", len(_STANDARD)) + _STANDARD
        + struct.pack("<iiQqqq", _VERSION, 0, _PROPERTIES, start, num_states, len(arcs))
    )  # fmt: skip
    return header + words.astype("<i4").tobytes()


@jit
def _offsets(words: Int32, num_states: int) -> NDArray[np.int64]:
    """The offset of each state and of the end, in words; −1 from the first broken state on."""
    result = np.full(num_states + 1, -1, np.int64)
    here = 0
    for s in range(num_states):
        if here + 3 > words.shape[0] or words[here + 2] != 0 or words[here + 1] < 0:
            return result
        result[s] = here
        here += 3 + 4 * words[here + 1]
    result[num_states] = here
    return result


def arrays_of(fst: pynini.Fst) -> tuple[int, int, Int32, Bool]:
    """The arguments of `write` of a pynini machine, without its symbol tables."""
    bare = cast(Any, fst.copy())
    bare.set_input_symbols(None)
    bare.set_output_symbols(None)
    return read_fst(bare.write_to_string())


def read_fst(data: bytes) -> tuple[int, int, Int32, Bool]:
    """The machine in an OpenFST file, as the arguments of `write`.

    Raises:
        ConstraintError: The file is of another type, carries symbol tables, has weights, or is
            damaged.
    """

    def text(at: int) -> tuple[bytes, int]:
        (length,) = struct.unpack_from("<i", data, at)
        return data[at + 4 : at + 4 + length], at + 4 + length

    (magic,) = struct.unpack_from("<i", data, 0)
    fst_type, at = text(4)
    arc_type, at = text(at)
    _, flags, _, start, num_states, _ = struct.unpack_from("<iiQqqq", data, at)
    at += struct.calcsize("<iiQqqq")
    if magic != _MAGIC or fst_type != _VECTOR or arc_type != _STANDARD or flags:
        raise ConstraintError(
            f"Only a vector FST over standard arcs without symbol tables can be read; this is "
            f"{fst_type!r} over {arc_type!r} with flags {flags}.",
            remedy="Make a VectorFst over the standard arc type and remove its symbol tables.",
        )
    words = np.frombuffer(data, "<i4", offset=at)
    offset = _offsets(words, num_states)
    if offset[-1] < 0 or offset[-1] > len(words):
        raise ConstraintError(
            "The FST's data ends in the middle of a state.",
            remedy="Build the machine again with pynini.",
        )
    weight = words[offset[:-1]]
    counts = words[offset[:-1] + 1].astype(np.int64)
    source = np.repeat(np.arange(num_states), counts)
    first = np.repeat(offset[:-1] + 3, counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    arc_at = first + 4 * within
    arcs = np.column_stack([source, words[arc_at], words[arc_at + 1], words[arc_at + 3]])
    accepting = weight != _ZERO
    if (words[arc_at + 2] != _ONE).any() or (weight[accepting] != _ONE).any():
        raise ConstraintError(
            "The FST has weights; a constraint only knows yes and no.",
            remedy="Remove the weights: `pynini.arcmap(fst, map_type='rmweight')`.",
        )
    return num_states, start, np.ascontiguousarray(arcs, np.int32), accepting


STAGE: Final = "Reading the acceptor"
_SECONDS_PER_ARC: Final = 2e-7


def fst_from_arrays(
    num_states: int, start: int, arcs: Int32, accepting: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> pynini.Fst:
    """A pynini machine from flat arrays; see `write`."""
    pynini = installed("pynini", "A machine of OpenFST")
    return pynini.Fst.read_from_string(write(num_states, start, arcs, accepting))


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
    if not isinstance(acceptor, installed("pynini", "from_fst()").Fst):
        raise ConstraintError(
            f"from_fst() takes a pynini machine, not a {type(cast(object, acceptor)).__name__}.",
            remedy="Build one with pynini, for instance pynini.accep(text).",
        )
    if labels not in ("bytes", "codepoints", "explorer"):
        raise ConstraintError(
            f"labels={labels!r} is not known.",
            remedy='Write labels="bytes", "codepoints" or "explorer".',
        )
    # pynini's stubs omit the methods of its C++ base class.
    given = cast(Any, acceptor)
    num_arcs = sum(given.num_arcs(state) for state in given.states())
    # The copy, the file and the arrays exist at once, and no check can run while they are made.
    meter.check(
        STAGE, states=given.num_states(), arcs=num_arcs, bytes=80 * num_arcs,
        ahead=num_arcs * _SECONDS_PER_ARC,
    )  # fmt: skip
    if given.start() < 0:
        return empty_dfa(NUM_BYTES)
    num_states, start, arcs, accepting = arrays_of(acceptor)
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
    """Replace each arc over a code point by a chain of arcs over its bytes."""
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
