"""Which rules of a grammar a text has opened and closed: a derivation of the text so far.

The machine that decides has merged rules, and keeps only what it must return to. A person wants to
see the rules as they were written: which of them are open, what each has read, and what it waits
for. So the text is read once more by Earley's algorithm (1970) over the automata of the rules as
they were written (`explorer.languages.grammar.diagnosis.places`). Each item remembers the first way
in which it was found; followed back, these ways are one derivation of the text, whatever the
grammar.

A rule is opened only where the next byte can begin it, as by the machine: after ``(`` in
``E → ( E )`` no inner E is open yet. So the pending calls of the innermost rule are the stack of a
push-down automaton, one symbol for each, the innermost first.

The sets of a text are kept for the next one, which usually begins in the same way.

Cost: per byte some tens of microseconds in Python; a list by right recursion, whose every item
ends all items before it, costs the square of its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Final

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import Network
from explorer.automata.tree.nodes import Node
from explorer.automata.tree.origin import Origin
from explorer.budget import Budget, Meter
from explorer.languages.grammar.diagnosis.places import GrammarPlaces

STAGE: Final = "Deriving a text"

ROOT: Final = 0
"""The rule of the network that stands around everything."""


@dataclass(slots=True, eq=False)
class _Item:
    """A state of a rule that was begun somewhere, and the first way to it.

    Args:
        state: The state of the network.
        start, end: The bytes of the text that its rule has read.
        before: The item of the same rule before it; ``None`` where the rule begins.
        closed: The last item of the rule that was read in between; ``None`` for a byte.
        made: The rule, once it has ended.
    """

    state: int
    start: int
    end: int
    before: _Item | None = None
    closed: _Item | None = None
    made: ClosedRule | None = None


@dataclass(slots=True, eq=False)
class _Set:
    """The items after some bytes.

    Args:
        kernel: Those that the last byte leads to.
        items: All, once the next byte is known.
        calls: For each rule that is begun here, the items that call it, and the states after it.
        read: The byte for which it was closed; −1 before.
    """

    kernel: list[_Item]
    items: dict[tuple[int, int], _Item]
    calls: dict[int, list[tuple[_Item, int]]]
    read: int = -1


@dataclass(frozen=True, slots=True)
class ClosedRule:
    """A rule that has ended.

    Args:
        rule: Its name.
        start, end: The bytes of the text that it has read.
        closed: The rules that have ended in it, in their order.
    """

    rule: str
    start: int
    end: int
    closed: tuple[ClosedRule, ...]


@dataclass(frozen=True, slots=True)
class OpenRule:
    """A rule that has begun and not ended.

    Args:
        rule: Its name; empty for what stands around a grammar.
        start: The byte of the text where it began.
        states: Where it is: the states of the written rules to go on in; several where the rule
            goes on in several ways that began alike.
        call: Where in the grammar it called the rule inside of it; ``None`` for the innermost.
        closed: The rules that have ended in it, in their order.
    """

    rule: str
    start: int
    states: tuple[int, ...]
    call: Origin | None
    closed: tuple[ClosedRule, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One derivation of the beginning of a text.

    Args:
        open: The open rules, the innermost first; without what stands around a grammar alone.
        several: Whether there are others that have opened other rules.
    """

    open: tuple[OpenRule, ...]
    several: bool


class Derivations:
    """A grammar, and the derivations of texts; thread-safe.

    Args:
        node: A grammar, or a tree with grammars inside.
        budget: Limits for laying it out, and for one question.

    Raises:
        BudgetExceeded: A limit was reached.
        NotRegular: A grammar that recurses stands inside of what needs a closed form.

    Example:
        >>> from explorer.languages.grammar.source import GbnfGrammar
        >>> source = GbnfGrammar.of('root ::= "(" root ")" | [0-9]')
        >>> found = Derivations(source.lower(), Budget()).at(b"((1")
        >>> [(each.rule, each.start) for each in found.open]
        [('root', 1), ('root', 0)]
    """

    def __init__(self, node: Node, budget: Budget) -> None:
        self._budget = budget
        self._places = GrammarPlaces(node, budget)
        network = self._places.network
        self._network: Network = network
        self._classes: list[int] = network.symbol_class.tolist()
        self._first, self._ends = _firsts(network)
        self._lock = RLock()
        self._text = b""
        start = network.entry[ROOT]
        self._sets = [_Set([_Item(start, 0, 0)], {}, {})]

    @property
    def places(self) -> GrammarPlaces:
        """The rules as they were written."""
        return self._places

    def following(self, states: Sequence[int]) -> bytes:
        """The bytes that can be read in some states before their rule ends, ascending."""
        bits = 0
        for state in states:
            bits |= self._first[state]
        return bytes(byte for byte in range(NUM_BYTES) if bits >> self._classes[byte] & 1)

    def may_end(self, states: Sequence[int]) -> bool:
        """Whether a rule can end in one of its states without another byte."""
        return any(self._ends[state] for state in states)

    def must_end(self, states: Sequence[int]) -> bool:
        """Whether a rule can only end in its states."""
        return all(self._ends[state] and not self._first[state] for state in states)

    def at(self, text: bytes) -> Derivation | None:
        """One derivation of the beginning of a text.

        Args:
            text: The bytes so far.

        Returns:
            The derivation; ``None`` if no word begins so.

        Raises:
            BudgetExceeded: It took too long.
        """
        with self._lock:
            if not self._read(text):
                return None
            last = self._sets[len(text)]
            item = last.kernel[0]
            states = self._alike(item, [(each, each.state) for each in last.kernel])
            several = len(states) < len({(i.state, i.start) for i in last.kernel})
            # A rule that can only end has ended: nothing waits for it, in the machine either.
            while not several and self._calls_back(item) and self.must_end(states):
                callers = self._callers(item)
                caller, after = callers[0]
                states = self._alike(caller, callers)
                several = len(states) < len({(i.start, s) for i, s in callers})
                item = _Item(after, caller.start, len(text), caller, item)
            found: list[OpenRule] = []
            call: Origin | None = None
            while True:
                rule = self._network.rule[item.state]
                name = self._network.names[rule]
                found.append(OpenRule(name, item.start, states, call, self._closed_in(item)))
                if not self._calls_back(item):
                    return Derivation(tuple(found), several)
                callers = self._callers(item)
                item, after = callers[0]
                states = self._alike(item, callers)
                several |= len(states) < len({(i.start, s) for i, s in callers})
                call = self._places.call(rule, after)

    def _callers(self, item: _Item) -> list[tuple[_Item, int]]:
        """The items that called the rule of an item, and the states after the call."""
        return self._sets[item.start].calls[self._network.rule[item.state]]

    def _alike(self, item: _Item, others: Sequence[tuple[_Item, int]]) -> tuple[int, ...]:
        """The states to go on in of those that are in the same rule, begun at the same byte."""
        rule = self._network.rule[item.state]
        found = {
            state
            for each, state in others
            if each.start == item.start and self._network.rule[each.state] == rule
        }
        return tuple(sorted(found))

    def _calls_back(self, item: _Item) -> bool:
        """Whether an item has a caller that is shown: not what stands around a grammar alone."""
        if self._network.rule[item.state] == ROOT:
            return False
        caller, after = self._callers(item)[0]
        around = self._network.rule[caller.state] == ROOT
        return not (around and not self._network.names[ROOT] and self.must_end((after,)))

    def _closed_in(self, item: _Item) -> tuple[ClosedRule, ...]:
        """The rules that have ended in a rule so far. Without recursion: a text may nest deeply."""
        inner = _pieces(item)
        waiting = [*inner]
        while waiting:
            here = waiting[-1]
            missing = [] if here.made else [each for each in _pieces(here) if each.made is None]
            if not missing:
                waiting.pop()
                if here.made is None:
                    name = self._network.names[self._network.rule[here.state]]
                    closed = tuple(each.made for each in _pieces(here) if each.made)
                    here.made = ClosedRule(name, here.start, here.end, closed)
            waiting += missing
        return tuple(each.made for each in inner if each.made)

    def _read(self, text: bytes) -> bool:
        """Make the sets of a text; whether some word begins with it."""
        same = 0
        for one, other in zip(self._text, text, strict=False):
            if one != other:
                break
            same += 1
        if same == len(text):
            return True
        del self._sets[same + 1 :]
        self._text = text[:same]
        meter = Meter(self._budget)
        for byte in text[same:]:
            if not len(self._sets) % 64:
                meter.check_time(STAGE)
            here = self._sets[-1]
            self._close(here, byte)
            symbol = self._classes[byte]
            at = len(self._sets)
            after: dict[tuple[int, int], _Item] = {}
            for item in here.items.values():
                for target in self._network.arcs[item.state].get(symbol, ()):
                    if (target, item.start) not in after:
                        after[target, item.start] = _Item(target, item.start, at, item)
            if not after:
                return False
            self._sets.append(_Set([*after.values()], {}, {}))
            self._text += bytes([byte])
        return True

    def _close(self, here: _Set, byte: int) -> None:
        """Begin and end the rules that can be begun and ended before a byte."""
        if here.read == byte:
            return
        network, at = self._network, len(self._sets) - 1
        bit = 1 << self._classes[byte]
        first, ends = self._first, self._ends
        here.read, here.calls = byte, {}
        here.items = {(item.state, item.start): item for item in here.kernel}
        waiting = [*here.kernel]

        def add(state: int, start: int, before: _Item | None, closed: _Item | None) -> None:
            if (state, start) not in here.items and (first[state] & bit or ends[state]):
                item = here.items[state, start] = _Item(state, start, at, before, closed)
                waiting.append(item)

        for item in waiting:  # The list grows while it is read.
            for rule, after in network.calls[item.state]:
                entry = network.entry[rule]
                if first[entry] & bit:
                    here.calls.setdefault(rule, []).append((item, after))
                    add(entry, at, None, None)
                if ends[entry]:  # It may read nothing; then it is begun and ended here.
                    add(after, item.start, item, None)
            if network.exits[item.state] and item.start < at:
                rule = network.rule[item.state]
                for caller, after in self._sets[item.start].calls.get(rule, ()):
                    add(after, caller.start, caller, item)


def _pieces(item: _Item) -> list[_Item]:
    """The last items of the rules that have ended in a rule, in their order."""
    found: list[_Item] = []
    here: _Item | None = item
    while here is not None:
        if here.closed is not None:
            found.append(here.closed)
        here = here.before
    found.reverse()
    return found


def _firsts(network: Network) -> tuple[list[int], list[bool]]:
    """For each state the classes that its rule can go on with, as bits, and whether it can end."""
    first = [sum(1 << symbol for symbol in row) for row in network.arcs]
    ends = [*network.exits]
    asking: dict[int, list[int]] = {}
    for state, calls in enumerate(network.calls):
        for rule, after in calls:
            asking.setdefault(network.entry[rule], []).append(state)
            asking.setdefault(after, []).append(state)
    waiting = dict.fromkeys(state for state, calls in enumerate(network.calls) if calls)
    while waiting:
        state, _ = waiting.popitem()
        seen, end = first[state], ends[state]
        for rule, after in network.calls[state]:
            entry = network.entry[rule]
            seen |= first[entry]
            if ends[entry]:
                seen |= first[after]
                end = end or ends[after]
        if (seen, end) != (first[state], ends[state]):
            first[state], ends[state] = seen, end
            waiting.update(dict.fromkeys(asking.get(state, ())))
    return first, ends
