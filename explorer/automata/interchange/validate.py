"""Checks of imported machines, before anything runs them.

The kernels index arrays with the numbers of a machine without bounds checks: a table entry of
2,000,000,000 ends the process. So a machine that comes from a file or another library becomes a
`Dfa` or an `Nfa` here and nowhere else. The checks cover the shape, type and range of every array;
a `Dfa` must also be minimal (words, distances and explanations rely on it: every state can be
reached and can finish), and its words must be valid UTF-8 with control tokens between characters.

Cost: one minimisation and one product with the machine of valid UTF-8, 8 states, about a
millisecond for a thousand states.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.arguments import whole_number
from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.operations import difference
from explorer.automata.control_letters import texts_and_letters
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32, Nfa
from explorer.automata.words import shortest_word
from explorer.budget import Meter
from explorer.errors import DamagedFile, ExplorerError

STAGE: Final = "Checking a machine"

_INTEGERS: Final = "iu"
_BOOLEANS: Final = "b"


def checked_dfa(
    symbol_class: object,
    table: object,
    accepting: object,
    start: object,
    *,
    meter: Meter | None = None,
    error: type[ExplorerError] = DamagedFile,
    remedy: str = "Take an undamaged copy, or make the machine again.",
) -> Dfa:
    """Check a minimal byte machine from arrays or lists that may be damaged or forged.

    Args:
        symbol_class: int[256], the class of each byte.
        table: int[num_states, num_classes], the target state or −1.
        start: The start state; −1 if and only if there is no state.

    Returns:
        The machine, with the given numbers of its states.

    Raises:
        ExplorerError: Of the kind ``error``; the message names the array and what is wrong.
        BudgetExceeded: The machine is too large to be checked.

    Example:
        >>> from explorer import regex
        >>> given = regex("(foo)+d").dfa
        >>> table = given.table.copy()
        >>> table[0, 0] = 2_000_000_000
        >>> try:
        ...     checked_dfa(given.symbol_class, table, given.accepting, 0)
        ... except ExplorerError as error:
        ...     print(error.message)
        The table of the machine holds 2,000,000,000, not numbers from -1 to 4.
    """
    check = _Check(meter or Meter(), error, remedy)
    rows = check.sized("table", table)
    check.meter.check(STAGE, states=rows)
    if rows == 0:
        check.integers("symbol classes", symbol_class, (NUM_BYTES,), 0, NUM_BYTES - 1)
        check.booleans("accepting states", accepting, (0,))
        check.number("start state", start, NO_ARC, NO_ARC)
        none = np.zeros(NUM_BYTES, np.int32)
        return Dfa(none, np.empty((0, 1), np.int32), np.empty(0, np.bool_), NO_ARC)
    entries = check.integers("table", table, (rows, None), NO_ARC, rows - 1)
    classes = entries.shape[1]
    check.meter.check(STAGE, states=rows, arcs=entries.size, bytes=16 * entries.nbytes)
    dfa = Dfa(
        check.integers("symbol classes", symbol_class, (NUM_BYTES,), 0, classes - 1),
        entries,
        check.booleans("accepting states", accepting, (rows,)),
        check.number("start state", start, 0, rows - 1),
    )
    minimal = minimize(dfa, check.meter).num_states
    if minimal != rows:
        raise check.fault(f"has {rows:,} states where a minimal one has {minimal:,}")
    check.text(dfa)
    return dfa


def checked_nfa(
    num_states: object,
    start: object,
    arcs: object,
    epsilons: object,
    accepting: object,
    *,
    meter: Meter | None = None,
    error: type[ExplorerError] = DamagedFile,
    remedy: str = "Take an undamaged copy, or make the machine again.",
) -> Nfa:
    """Check a nondeterministic machine over bytes from arrays that may be damaged or forged.

    Args:
        num_states: At least 1.
        arcs: int[arcs, 4], rows ``(source, low, high, target)``.
        epsilons: int[epsilons, 2], rows ``(source, target)``.
        meter, error, remedy: As in `checked_dfa`.

    Raises:
        ExplorerError: Of the kind ``error``; the message names the array and what is wrong.
        BudgetExceeded: The machine is too large.

    Example:
        >>> checked_nfa(2, 0, [(0, 97, 122, 1)], [], [1]).num_states
        2
    """
    check = _Check(meter or Meter(), error, remedy)
    states = check.number("number of states", num_states, 1, 2**31 - 2)
    check.meter.check(STAGE, states=states, arcs=check.sized("arcs", arcs))
    rows = check.integers("arcs", arcs, (None, 4), 0, max(states, NUM_BYTES) - 1)
    check.range("arcs", rows[:, [0, 3]], 0, states - 1)
    check.range("arcs", rows[:, 1:3], 0, NUM_BYTES - 1)
    if (rows[:, 1] > rows[:, 2]).any():
        raise check.fault("has an arc whose interval of bytes ends before it begins")
    return Nfa(
        states,
        check.number("start state", start, 0, states - 1),
        rows,
        check.integers("ε-arcs", epsilons, (None, 2), 0, states - 1),
        check.integers("accepting states", accepting, (None,), 0, states - 1),
    )


def check_text(
    dfa: Dfa, meter: Meter, *, error: type[ExplorerError] = DamagedFile, remedy: str
) -> None:
    """Raise an error if a word of the machine is not valid UTF-8.

    Args:
        meter, error, remedy: As in `checked_dfa`.

    Raises:
        ExplorerError: Of the kind ``error``, with such a word as evidence.
        BudgetExceeded: The machine is too large.
    """
    _Check(meter, error, remedy).text(dfa)


class _Check:
    """The checks of the parts of a machine; each raises the same kind of error."""

    def __init__(self, meter: Meter, error: type[ExplorerError], remedy: str) -> None:
        self.meter = meter
        self._error = error
        self._remedy = remedy

    def fault(self, what: str, **evidence: object) -> ExplorerError:
        return self._error(f"The machine {what}.", remedy=self._remedy, evidence=evidence)

    def _part(self, name: str, what: str) -> ExplorerError:
        message = f"The {name} of the machine {'hold' if name.endswith('s') else 'holds'} {what}."
        return self._error(message, remedy=self._remedy, evidence={"part": name})

    def sized(self, name: str, value: object) -> int:
        """The number of rows of a list or an array."""
        if isinstance(value, list | tuple):
            return len(cast("list[object]", value))
        if isinstance(value, np.ndarray) and value.ndim:
            return len(cast("NDArray[Any]", value))
        raise self._part(name, "something that is not a list")

    def number(self, name: str, value: object, low: int, high: int) -> int:
        try:
            return whole_number(name, value, low, high)
        except ExplorerError:
            what = f"the {name} {value!r}" if isinstance(value, int) else f"no {name}"
            wanted = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            raise self.fault(f"has {what}; it should be {wanted}") from None

    def integers(
        self, name: str, value: object, shape: tuple[int | None, ...], low: int, high: int
    ) -> Int32:
        array = self._array(name, value, shape, _INTEGERS, "whole numbers")
        self.range(name, array, low, high)
        return np.ascontiguousarray(array, np.int32)

    def booleans(self, name: str, value: object, shape: tuple[int | None, ...]) -> Bool:
        array = self._array(name, value, shape, _BOOLEANS, "true or false")
        return np.ascontiguousarray(array, np.bool_)

    def range(self, name: str, array: NDArray[Any], low: int, high: int) -> None:
        for extreme in (int(array.min()), int(array.max())) if array.size else ():
            if not low <= extreme <= high:
                raise self._part(name, f"{extreme:,}, not numbers from {low:,} to {high:,}")

    def _array(
        self, name: str, value: object, shape: tuple[int | None, ...], kinds: str, wanted: str
    ) -> NDArray[Any]:
        try:
            array = np.asarray(value)
        except (ValueError, TypeError, OverflowError):  # Rows of different lengths, for instance.
            raise self._part(name, f"something that is not a table of {wanted}") from None
        if array.size == 0:  # An empty list has no type, and no second dimension.
            array = array.astype(np.bool_ if kinds == _BOOLEANS else np.int32)
            if array.ndim == 1 and not shape[0]:
                array = array.reshape([size or 0 for size in shape])
        if array.dtype.kind not in kinds:
            raise self._part(name, f"values of type {array.dtype}, not {wanted}")
        fits = array.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
        if not fits:
            sizes = " × ".join("any number" if size is None else f"{size:,}" for size in shape)
            given = " × ".join(map("{:,}".format, array.shape)) or "one"
            raise self._part(name, f"{given} values, not {sizes}")
        return array

    def text(self, dfa: Dfa) -> None:
        foreign = difference(dfa, texts_and_letters(), self.meter)
        if foreign.num_states:
            word = shortest_word(foreign)
            raise self.fault(f"has words that are not valid UTF-8, such as {word!r}", word=word)
