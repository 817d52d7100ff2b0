"""A machine of pynini as a value of letters, to be drawn and compared arc by arc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from explorer.alphabet import EPSILON
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange import openfst

if TYPE_CHECKING:
    import pynini


def fst_letters(fst: pynini.Fst) -> DrawnTransducer:
    """A machine of pynini, its start first; labels by its symbol tables, or as characters.

    Args:
        fst: A machine of a few states.

    Example:
        >>> import pynini
        >>> fst_letters(pynini.cross("ab", "x")).arcs
        ((0, 'a', 'x', 1), (1, 'b', '', 2))
    """
    library = cast(Any, fst)  # pynini's stubs leave out its symbol tables.
    tables = (library.input_symbols(), library.output_symbols())
    bare = library.copy()
    bare.set_input_symbols(None)
    bare.set_output_symbols(None)
    states, start, arcs, accepting = openfst.read_fst(bare.write_to_string())
    number = {start: 0}
    for k in range(states):
        number.setdefault(k, len(number))

    def words(label: int, side: int) -> str:
        if label == EPSILON:
            return ""
        table = tables[side]
        return chr(label) if table is None else str(table.find(label))

    rows = sorted(
        (number[source], words(read, 0), words(written, 1), number[target])
        for source, read, written, target in arcs.tolist()
    )
    ends = frozenset(number[k] for k in accepting.nonzero()[0].tolist())
    return DrawnTransducer(states, tuple(rows), ends)
