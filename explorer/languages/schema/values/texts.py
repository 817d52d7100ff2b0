"""Sets of texts, closed under union, intersection and difference.

A set of strings is a union of parts. A part is a list of texts, or a machine over UTF-8 beside
bounds on the number of characters. The complement of such a part is a union of three parts (outside
the machine, too short, too long), so long bounds never become states here.

A part may also have a test of whole texts that no machine can make. Such a part is combined like
any other and decides about listed texts, but its texts are never written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from msgspec import structs

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction import operations
from explorer.automata.construction.operations import (
    difference,
    intersection,
    minimal_dfa,
    minimize,
)
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import among, length_between, nothing

Test = Callable[[str], bool]
"""A property of whole texts."""


@dataclass(frozen=True, eq=False, slots=True)
class StringPart:
    """The strings of a machine with a bounded length, or of a list.

    Args:
        dfa: The machine; ``None`` for any text.
        low, high: The fewest and the most characters; ``None`` for no upper bound.
        listed: The texts of a list, for which the other fields are not used.
        test: Whether a text of the machine is in the part; ``None`` if all of them are.
    """

    dfa: Dfa | None = None
    low: int = 0
    high: int | None = None
    listed: tuple[str, ...] | None = None
    test: Test | None = None

    def holds(self, text: str) -> bool:
        """Whether a text is in the part."""
        if self.listed is not None:
            return text in self.listed
        if len(text) < self.low or (self.high is not None and len(text) > self.high):
            return False
        if self.dfa is not None and not self.dfa.accepts(text.encode()):
            return False
        return self.test is None or self.test(text)

    def machine(self, meter: Meter) -> Dfa | None:
        """The machine of the part, its bounds written out; ``None`` for any text."""
        if self.listed is not None:
            return among(list(self.listed), meter)
        if not self.low and self.high is None:
            return self.dfa
        bounds = length_between(self.low, self.high)
        return bounds if self.dfa is None else intersection(self.dfa, bounds, meter)


ANY = StringPart()
"""Every string."""


class Strings(tuple[StringPart, ...]):
    """A union of parts; empty for no strings."""

    def met(self, other: Strings, meter: Meter) -> Strings:
        """The strings of both."""
        parts = (_met(one, two, meter) for one in self for two in other)
        return Strings(part for part in parts if part is not None)

    def without(self, other: Strings, meter: Meter) -> Strings:
        """The strings of this set that are not in the other."""
        left: list[StringPart] = list(self)
        for taken in other:
            left = [rest for part in left for rest in _without(part, taken, meter)]
        return Strings(left)

    def joined(self, other: Strings, meter: Meter) -> Strings:
        """The strings of either."""
        listed = [text for part in (*self, *other) for text in part.listed or ()]
        rest = [part for part in self if part.listed is None]
        rest += [part for part in other if part.listed is None and all(part is not p for p in rest)]
        if any(
            part.dfa is None and not part.low and part.high is None and part.test is None
            for part in rest
        ):
            return Strings((ANY,))
        if not listed:
            return Strings(rest)
        return Strings((StringPart(listed=tuple(dict.fromkeys(listed))), *rest))

    @property
    def written(self) -> Strings:
        """The parts whose texts can be written: those without a test."""
        return Strings(part for part in self if part.test is None)

    def machine(self, meter: Meter) -> Dfa | None:
        """One machine for all parts, without regard to their tests; ``None`` for any text."""
        machines = [part.machine(meter) for part in self]
        if any(machine is None for machine in machines):
            return None
        real = [machine for machine in machines if machine is not None]
        return operations.union(real, meter) if len(real) > 1 else real[0] if real else nothing()


def _met(one: StringPart, two: StringPart, meter: Meter) -> StringPart | None:
    if one.listed is None and two.listed is not None:
        one, two = two, one
    if one.listed is not None:
        kept = tuple(text for text in one.listed if two.holds(text))
        return StringPart(listed=kept) if kept else None
    low = max(one.low, two.low)
    high = (
        one.high if two.high is None else two.high if one.high is None else min(one.high, two.high)
    )
    if one.dfa is None or two.dfa is None or one.dfa is two.dfa:
        dfa = one.dfa if two.dfa is None else two.dfa
    else:
        dfa = intersection(one.dfa, two.dfa, meter)
    return checked(StringPart(dfa, low, high, test=_both(one.test, two.test)))


def _both(one: Test | None, two: Test | None) -> Test | None:
    if one is None or two is None:
        return two if one is None else one
    return lambda text: one(text) and two(text)


def _opposite(test: Test) -> Test:
    return lambda text: not test(text)


def _without(part: StringPart, taken: StringPart, meter: Meter) -> list[StringPart]:
    if part.listed is not None:
        kept = tuple(text for text in part.listed if not taken.holds(text))
        return [StringPart(listed=kept)] if kept else []
    dfa, low, high = taken.dfa, taken.low, taken.high
    if taken.listed is not None:
        dfa, low, high = among(list(taken.listed), meter), 0, None
    rest: list[StringPart | None] = []
    if dfa is not None and dfa is not part.dfa:
        whole = any_text() if part.dfa is None else part.dfa
        rest.append(checked(replace(part, dfa=difference(whole, dfa, meter))))
    if low:
        most = low - 1 if part.high is None else min(part.high, low - 1)
        rest.append(checked(replace(part, high=most)))
    if high is not None:
        rest.append(checked(replace(part, low=max(part.low, high + 1))))
    if (test := taken.test) is not None:
        rest.append(_met(part, replace(taken, test=_opposite(test)), meter))
    return [each for each in rest if each is not None]


def checked(part: StringPart) -> StringPart | None:
    """The part, or ``None`` if it has no texts."""
    if part.listed is not None:
        return part if part.listed else None
    if part.high is not None and part.high < part.low:
        return None
    if part.dfa is None:
        return part
    if part.dfa.num_states == 0:
        return None
    return part if _has_length(part.dfa, part.low, part.high) else None


def _has_length(dfa: Dfa, low: int, high: int | None) -> bool:
    """Whether the length of some word is within two bounds."""
    if not low and high is None:
        return True
    begins = np.ones(dfa.num_classes, np.bool_)
    begins[dfa.symbol_class[0x80:0xC0]] = False
    most = -1 if high is None else high
    return bool(_reads_length(dfa.table, begins, dfa.accepting, dfa.start, low, most))


@jit
def _reads_length(
    table: Int32, begins: Bool, accepting: Bool, start: int, low: int, high: int
) -> bool:
    """Whether a word has from ``low`` to ``high`` characters; -1 for no upper bound.

    Args:
        begins: bool[classes], whether the bytes of a class begin characters.
    """
    here = np.zeros(len(table), np.bool_)  # With the states inside the last character.
    here[start] = True
    kept, kept_at, power, length = here.copy(), 0, 1, 0
    while True:
        if length >= low and (here & accepting).any():
            return True
        if length == high or not here.any():
            return False
        after = np.zeros(len(table), np.bool_)
        todo = [(state, True) for state in np.flatnonzero(here)]
        while todo:
            state, is_begun = todo.pop()
            for symbol in range(table.shape[1]):
                target = table[state, symbol]
                if target >= 0 and begins[symbol] == is_begun and not after[target]:
                    after[target] = True
                    todo.append((np.int64(target), False))
        here = after
        length += 1
        # The sets of states repeat at last: whole periods are passed over.
        if (here == kept).all():
            period = length - kept_at
            if length - period >= low:
                return False
            length += max(0, low - length) // period * period
            kept_at = length
        elif length - kept_at == power:
            kept, kept_at, power = here.copy(), length, 2 * power


def told_apart(
    whole: Dfa, machines: Sequence[Dfa], meter: Meter
) -> list[tuple[Callable[[], Dfa], tuple[int, ...]]]:
    """The words of a machine, told apart by which of some others read them.

    All machines are determinized side by side, each word followed by a mark for each machine that
    reads it. So the work is that of one product, not of one for each kind and machine.

    Returns:
        For each kind a function that makes its minimal machine, and the places of the machines that
        read its words.
    """
    own = list(dict.fromkeys(map(id, machines)))
    by_id = {id(each): each for each in machines}
    sketch = Sketch(meter, 2)
    for place, each in enumerate((whole, *(by_id[it] for it in own))):
        states = sketch.copy(each)
        sketch.epsilon(0, states[each.start])
        ends = np.flatnonzero(each.accepting) + states.start
        mark = np.full(len(ends), NUM_BYTES + place)
        sketch.rows(np.column_stack([ends, mark, mark, np.ones_like(ends)]).astype(np.int32))
    side_by_side = structs.replace(sketch.drawn(0, [1]), num_symbols=NUM_BYTES + 1 + len(own))
    joint = minimal_dfa(side_by_side, meter)
    if not joint.num_states:
        return []
    read = joint.table[:, joint.symbol_class[NUM_BYTES:]] != NO_ARC
    bytes_ = joint.symbol_class[:NUM_BYTES]
    table = np.ascontiguousarray(joint.table[:, : int(bytes_.max()) + 1])
    kinds = sorted({tuple(row) for row in (~read[read[:, 0]]).tolist()})
    return [
        (
            partial(
                minimize,
                Dfa(bytes_, table, (read != np.array(kind)).all(axis=1), joint.start),
                meter,
            ),
            tuple(at for at, each in enumerate(machines) if not kind[1 + own.index(id(each))]),
        )
        for kind in kinds
    ]
