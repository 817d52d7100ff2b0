"""The loop in which a run stopped: text that the constraint allows without end.

A run that is cut was often in a loop: white space between two tokens of JSON, digits of a number,
characters of a string, items of an array. The end of its text is such a loop if the machine over
bytes returns to the same states again and again, so that nothing in the constraint ends it. Then
the trap names the beginning of the loop, in bytes of the text, and the setting that bounds it.

A bounded repeat, such as ``{0,40}``, counts: its states are all different, and it is not a loop.

Cost: a step of the machine over bytes for each byte of the run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from explorer.alphabet import shown_letters
from explorer.analysis.traps.trap import Trap
from explorer.arguments import counted
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.nodes import Loop
from explorer.languages.schema.reading.text import spot_of
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE

LEAST_SPACE: Final = 24
"""The fewest bytes of white space that are more than indentation."""

LEAST_DIGITS: Final = 24
"""The fewest digits that are more than an ordinary number."""

LEAST_TEXT: Final = 120
"""The fewest bytes that are more than an ordinary string or array."""

LEAST_ITEMS: Final = 8
"""The fewest items of an array, or members of an object."""

_TAIL: Final = 40
"""The number of characters before a loop that are shown."""

_SPACE: Final = b" \t\n\r"
_DIGITS: Final = b"0123456789"
_JSON: Final = re.compile(rb"[ \t\n\r]*[\[{\"]")

REMEDIES: Final[dict[Loop, str]] = {
    "space": "Bound the part of the pattern that writes it: [ ]{0,2} for white space alone, "
    "{0,200} for a part that allows other text too.",
    "number": "Bound its digits, such as [0-9]{1,9} for [0-9]+.",
    "string": "Bound its length, such as {0,200} for *.",
    "array": "Bound how many items it has, such as {0,20} for *.",
    "object": "Bound how many members it has, such as {0,20} for *.",
    "repeat": "Bound the repeat, such as {1,40} for +, or give max_tokens, which ends it in time.",
}
"""The way to end each kind of loop in a pattern or a grammar."""

_NAMES: Final[dict[Loop, str]] = {
    "space": "white space",
    "number": "the digits of a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
    "repeat": "a part that repeats",
}


def run_loops(
    machine: TokenMachine, tokens: Sequence[int], states: Sequence[int]
) -> Iterator[Trap]:
    """Find the loop in which a run ends, if there is one.

    Args:
        states: int[len(tokens) + 1], the state before each of them and after the last.

    Yields:
        At most one trap; ``position`` is the place in the run where the loop began, and the
        evidence has its first byte, its number of bytes, and its kind.
    """
    if machine.byte_machine is None or states[-1] == DONE or not tokens:
        return
    run = _StatesOfRun.of(machine, tokens, states)
    loop = run.space() or run.digits() or run.around()
    if loop is None:
        return
    what, begin, detail = loop
    size = len(run.data) - begin
    may_end = machine.is_final(states[-1])
    position = bisect_right(run.ends, begin) - 1
    yield Trap(
        "whitespace_loop" if what == "space" else "endless",
        f"From byte {begin} on{_after(run.data[:begin])}, the run writes {_NAMES[what]}{detail} "
        f"({counted(size, 'byte')}), and the constraint lets it go on without end"
        + (", though the text may also end there." if may_end else "."),
        loop_remedy(machine, what),
        state=states[-1],
        position=position,
        evidence={
            "what": what, "byte": begin, "bytes": size, "may_end": may_end,
            "text": shown_letters(run.data[:begin])[-_TAIL:],
        },
    )  # fmt: skip


def _after(data: bytes) -> str:
    """The end of the text before the loop, as a clause."""
    text = shown_letters(data)
    return "" if not text else f", after {'…' * (len(text) > _TAIL)}{text[-_TAIL:]!r}"


def loop_remedy(machine: TokenMachine, what: Loop) -> str:
    """The remedy for a loop, in the terms of the source that contains it."""
    waiting = [] if machine.constraint is None else [machine.constraint.source]
    for source in waiting:  # The list grows while it is read.
        said = (source.space_remedy if what == "space" else "") or source.loop_remedy(what)
        if said:
            return said
        waiting += source.children
    return REMEDIES[what]


def loop_at(text: bytes, stays: Callable[[bytes], bool]) -> tuple[Loop, str]:
    """The part of a JSON text that repeats at its end, and its path.

    Args:
        text: A text that leads into the loop.
        stays: Whether some further bytes lead to a state of the loop.

    Returns:
        Its kind, ``"repeat"`` for a text that is not JSON, and the path of names to it, such as
        ``"address.street"`` or ``"tags[]"``.

    Example:
        >>> loop_at(b'{"tags":["', lambda more: more in (b"x", b'"', b'",'))
        ('array', 'tags')
        >>> loop_at(b'{"name":"', lambda more: more == b"x")
        ('string', 'name')
    """
    if not _JSON.match(text):
        return "repeat", ""
    opened = _opened(text)
    if opened is not None and opened.what == "string":
        outer = _opened(text[: opened.begin])
        if outer is None or not stays(b'"'):
            return "string", _names_to(text)
        # The loop continues after the string, and perhaps after the object around it.
        around = _opened(text[: outer.begin]) if stays(b'"}') else None
        opened = outer if around is None else around
    elif _NUMBER_END.search(text):
        if opened is None or not stays(b","):
            return "number", _names_to(text)
    elif text.endswith(b"{"):  # Only an array returns to the beginning of an object.
        opened = _opened(text[:-1])
    return ("repeat", "") if opened is None else (opened.what, _names_to(text[: opened.begin]))


def _names_to(text: bytes) -> str:
    """The names of the members and arrays that are open at the end of a JSON text, in order."""
    steps = spot_of(text).steps
    if steps and steps[-1][0] == "item":  # The array itself is meant.
        steps = steps[:-1]
    names = ["[]" if kind == "item" else str(name) for kind, name in steps]
    return ".".join(names).replace(".[]", "[]")


LoopInText = tuple[Loop, int, str]
"""The kind of a loop, its first byte, and a clause with details."""


@dataclass(frozen=True, slots=True)
class _StatesOfRun:
    """The bytes of a run, and the states of the machine over bytes along them.

    Args:
        data: The bytes of the tokens.
        ends: The number of bytes before each position of the run.
        offsets: The byte offsets at which a state is known.
        places: The state at each of these offsets.
    """

    data: bytes
    ends: tuple[int, ...]
    offsets: Sequence[int]
    places: Sequence[int]

    @classmethod
    def of(
        cls, machine: TokenMachine, tokens: Sequence[int], states: Sequence[int]
    ) -> _StatesOfRun:
        """The run of some tokens."""
        pieces = [machine.vocabulary.tokens[token] or b"" for token in tokens]
        data, ends = b"".join(pieces), (0, *accumulate(map(len, pieces)))
        byte_machine = machine.byte_machine
        if byte_machine is not None and not byte_machine.over_tokens:
            # A loop may lie within tokens, so its states are those after each byte.
            places = [machine.byte_state(states[0])]
            for byte in data:
                places.append(byte_machine.step(places[-1], byte))
                if places[-1] == NO_ARC:
                    break
            else:
                return cls(data, ends, range(len(data) + 1), places)
        return cls(data, ends, ends, [machine.byte_state(state) for state in states])

    def space(self) -> LoopInText | None:
        """White space at the end."""
        begin = len(self.data.rstrip(_SPACE))
        if len(self.data) - begin < LEAST_SPACE or not self._returns(begin):
            return None
        opened = _opened(self.data[:begin])
        if opened is not None and opened.what == "string":
            return "string", opened.begin, ", of which the end is white space"
        return "space", begin, ""

    def digits(self) -> LoopInText | None:
        """Digits at the end that are those of a number."""
        begin = len(self.data.rstrip(_DIGITS))
        if len(self.data) - begin < LEAST_DIGITS or not self._returns(begin):
            return None
        opened = _opened(self.data[:begin])
        if opened is not None and opened.what == "string":
            return None
        return "number", begin, ""

    def around(self) -> LoopInText | None:
        """A string, an array, an object or any other part that repeats at the end."""
        begin = self._loop()
        if len(self.data) - begin < LEAST_TEXT or not self._returns(begin):
            return None
        opened = _opened(self.data)
        if opened is None:
            return "repeat", begin, ""
        size = len(self.data) - opened.begin
        if opened.what == "string":
            if size >= LEAST_TEXT and self._returns(opened.begin):
                return "string", opened.begin, ""
            opened = _opened(self.data[: opened.begin])
        while opened is not None:
            if opened.parts >= LEAST_ITEMS and self._returns(opened.begin):
                noun = "item" if opened.what == "array" else "member"
                return opened.what, opened.begin, f" of {counted(opened.parts, noun)} so far"
            opened = _opened(self.data[: opened.begin])
        return None

    def _loop(self) -> int:
        """The first byte from which on all states recur until the end."""
        first: dict[int, int] = {}
        for position, place in enumerate(self.places):
            first.setdefault(place, position)
        begin = position = len(self.places) - 1
        while position >= begin:
            begin = min(begin, first[self.places[position]])
            position -= 1
        return self.offsets[self._first_time(begin)]

    def _first_time(self, begin: int) -> int:
        """The index at which the first round began, which may start from a state outside the loop.

        In ``(ab)+`` the first ``a`` leaves the start, to which nothing returns; but its target is
        that of the later ones.
        """
        if begin == 0:
            return 0
        here, piece = self.places[begin], self._piece(begin)
        later = range(begin + 1, len(self.places))
        return begin - any(self.places[k] == here and self._piece(k) == piece for k in later)

    def _piece(self, k: int) -> bytes:
        """The bytes that lead to the state at an index."""
        return self.data[self.offsets[k - 1] : self.offsets[k]]

    def _returns(self, begin: int) -> bool:
        """Whether a state recurs after some byte, so that no counter bounds the text."""
        inside = self.places[bisect_right(self.offsets, begin) :]
        return len(set(inside)) < len(inside)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The innermost part of a JSON text that is still open.

    Args:
        what: A string, an array or an object.
        begin: Where it begins, its quote or bracket.
        parts: The number of its items or members, with the last one.
    """

    what: Loop
    begin: int
    parts: int = 0


_NUMBER_END: Final = re.compile(rb"[0-9][eE.+-]*$")

_TOKEN: Final = re.compile(rb'(?P<closed>"(?:[^"\\]|\\.)*")|(?P<open>")|[\[\]{},]', re.DOTALL)
"""A closed string, an open one, or a mark between values."""


def _opened(data: bytes) -> _Opened | None:
    """The innermost open part of a text, read as JSON; ``None`` without one."""
    if not _JSON.match(data):
        return None
    stack: list[list[int]] = []
    for found in _TOKEN.finditer(data):
        mark = found[0][:1]
        if found["open"]:
            return _Opened("string", found.start())
        if mark in b"[{":
            stack.append([found.start(), 1])
        elif mark == b"," and stack:
            stack[-1][1] += 1
        elif mark in b"]}" and stack:
            stack.pop()
    if not stack:
        return None
    begin, parts = stack[-1]
    return _Opened("array" if data[begin : begin + 1] == b"[" else "object", begin, parts)
