"""The error and the remark for a grammar that leads to two stacks: a shortest such text, both
derivations, and an example of a rewrite.

With ``ambiguous=False`` a grammar must lead to one stack after every text (decision 29 says what
that means and why); by default the same search makes a remark. A conflict is a state of the network
that has two moves over one class of bytes
(`explorer.automata.rules.moves`). The shortest text that leads to it is put together from the
shortest words of rules and the shortest paths through them (Dijkstra, rule by rule); if one of the
moves is to end the rule, also from a shortest chain of callers after which the byte may follow.

A rewrite is shown in the notation of the grammar. Each sketch has the rules to write and the rules
that they replace, and the tests read each as a grammar.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from explorer.alphabet import shown_letters
from explorer.automata.machine import Network
from explorer.automata.rules.moves import Actions, Conflict, Move, begins_with
from explorer.automata.stacks.of_grammar import decided
from explorer.automata.tree.nodes import Rules
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, GrammarError
from explorer.languages.grammar.notations.reading import WrittenRule
from explorer.languages.written.configuration import Configurations, LivePlace

STAGE: Final = "The search for an ambiguous text"

MOST_LOOKED_AT: Final = 500
"""The most conflicts among which the shortest text is searched."""


@dataclass(frozen=True, slots=True)
class AmbiguousText:
    """A text that leads to two stacks.

    Args:
        prefix: The text before the byte.
        byte: The byte that may be read in two ways.
        rule: The rule that may read it in two ways.
        kind: ``"left recursion"``, ``"end or go on"`` or ``"begin alike"``.
        others: The rules that the moves call, in the order of the moves.
    """

    prefix: bytes
    byte: int
    rule: str
    moves: tuple[Move, ...]
    kind: str
    others: tuple[str, ...]


class Shortest:
    """The shortest words of the rules of a network, and the shortest texts to its states."""

    def __init__(self, network: Network, meter: Meter) -> None:
        self._network = network
        self._meter = meter
        classes: list[int] = network.symbol_class.tolist()
        self.byte = [classes.index(c) for c in range(network.num_classes)]
        printable = [b for b in (*range(97, 123), *range(33, 127)) if b < 127]
        for b in reversed(printable):
            self.byte[classes[b]] = b
        self.word = self._words()
        self.within = self._ways()
        self.callers: list[list[tuple[int, int]]] = [[] for _ in network.entry]
        for state, pairs in enumerate(network.calls):
            for rule, after in pairs:
                self.callers[rule].append((state, after))
        self.enter = self._entries()

    def _words(self) -> list[bytes]:
        """A shortest word of each rule (Knuth 1977)."""
        network = self._network
        uses: list[list[int]] = [[] for _ in network.calls]
        for state, pairs in enumerate(network.calls):
            for target in network.arcs(state).values():
                uses[target].append(state)
            for rule, after in pairs:
                uses[after].append(state)
                uses[network.entry[rule]].append(state)
        rest: list[bytes | None] = [None] * len(network.calls)
        queue = [(0, b"", state) for state, ends in enumerate(network.exits) if ends]
        while queue:
            _, text, state = heapq.heappop(queue)
            if rest[state] is not None:
                continue
            self._meter.check_time(STAGE)
            rest[state] = text
            for source in set(uses[state]):
                if rest[source] is not None:
                    continue
                for symbol, target in network.arcs(source).items():
                    if target == state:
                        heapq.heappush(queue, _entry(bytes([self.byte[symbol]]) + text, source))
                for rule, after in network.calls[source]:
                    inner, tail = rest[network.entry[rule]], rest[after]
                    if inner is not None and tail is not None:
                        heapq.heappush(queue, _entry(inner + tail, source))
        return [rest[entry] or b"" for entry in network.entry]

    def _ways(self) -> list[bytes]:
        """A shortest text from the start of its rule to each state."""
        network = self._network

        def onward(state: int) -> Iterator[tuple[bytes, int]]:
            for symbol, target in network.arcs(state).items():
                yield bytes([self.byte[symbol]]), target
            for rule, after in network.calls[state]:
                yield self.word[rule], after

        return _shortest(network.entry, len(network.calls), onward)

    def _entries(self) -> list[bytes]:
        """A shortest text after which each rule may begin."""
        network = self._network
        calls: list[list[tuple[bytes, int]]] = [[] for _ in network.entry]
        for state, rule in enumerate(network.rule):
            calls[rule] += [(self.within[state], callee) for callee, _ in network.calls[state]]
        return _shortest([0], len(network.entry), calls.__getitem__)

    def to(self, state: int, symbol: int, ends: bool) -> bytes:
        """A shortest text to a state; if its rule ends there, one after which a byte may follow."""
        network, looks = self._network, self._network.arrays
        queue = [_entry(self.within[state], network.rule[state])]
        if not ends:
            return self.enter[network.rule[state]] + self.within[state]
        best: bytes | None = None
        seen: set[int] = set()
        while queue:
            _, text, rule = heapq.heappop(queue)
            if rule in seen or (best is not None and len(text) >= len(best)):
                continue
            seen.add(rule)
            for caller, after in self.callers[rule]:
                longer = self.within[caller] + text
                around = network.rule[caller]
                if looks.reads[after, symbol]:
                    whole = self.enter[around] + longer
                    if best is None or len(whole) < len(best):
                        best = whole
                if looks.empty[after]:
                    heapq.heappush(queue, _entry(longer, around))
        return best or b""


def _entry(text: bytes, place: int) -> tuple[int, bytes, int]:
    """An entry of a queue that gives the shortest text first."""
    return len(text), text, place


def _shortest(
    starts: Iterable[int], count: int, onward: Callable[[int], Iterable[tuple[bytes, int]]]
) -> list[bytes]:
    """A shortest text to each place of a graph (Dijkstra); empty if no text leads there.

    Args:
        starts: The places where the texts begin.
        onward: Gives the texts that lead on from a place, each with its target.
    """
    known: list[bytes | None] = [None] * count
    queue = [(0, b"", place) for place in sorted(starts)]
    while queue:
        _, text, place = heapq.heappop(queue)
        if known[place] is None:
            known[place] = text
            for more, target in onward(place):
                if known[target] is None:
                    heapq.heappush(queue, _entry(text + more, target))
    return [each or b"" for each in known]


def shortest_ambiguous(
    network: Network, conflicts: Sequence[Conflict], meter: Meter
) -> AmbiguousText:
    """A shortest text that leads to two stacks.

    Args:
        conflicts: The conflicts of the network, at least one; the first `MOST_LOOKED_AT` count.

    Raises:
        BudgetExceeded: The time is up.
    """
    shortest = Shortest(network, meter)
    candidates: list[tuple[int, int, bytes, Conflict]] = []
    for number, (state, symbol, moves) in enumerate(conflicts[:MOST_LOOKED_AT]):
        ends = any(move[0] == "end" for move in moves)
        text = shortest.to(state, symbol, ends)
        candidates.append((len(text), number, text, (state, symbol, moves)))
    _, _, prefix, (state, symbol, moves) = min(candidates)
    rule = network.rule[state]
    called = [move[1] for move in moves if move[0] == "call"]
    begins = [begins_with(network, each) for each in called]
    if any(rule in each for each in begins) and network.entry[rule] == state:
        kind = "left recursion"
    elif any(move[0] == "end" for move in moves):
        kind = "end or go on"
    else:
        kind = "begin alike"
    names = tuple(network.names[each] for each in called)
    byte = shortest.byte[symbol]
    return AmbiguousText(prefix, byte, network.names[rule], moves, kind, names)


# --- what to write instead ------------------------------------------------------------------------


Sketch = tuple[str, str]
"""The rules to write, and the rules that they replace."""

SKETCHES: Final[Mapping[str, Mapping[str, Sketch]]] = MappingProxyType(
    {
        "left recursion": {
            "gbnf": ('e ::= t ("+" t)*', 'e ::= e "+" t | t'),
            "lark": ('e: t ("+" t)*', 'e: e "+" t | t'),
        },
        "end or go on": {
            "gbnf": ('s ::= "if" s ("else" s)? "fi" | "x"', 's ::= "if" s ("else" s)? | "x"'),
            "lark": ('s: "if" s ["else" s] "fi" | "x"', 's: "if" s ["else" s] | "x"'),
        },
        "begin alike": {
            "gbnf": ('s ::= "(" s ")" | "x" | "y"',
                     's ::= a | b\na ::= "(" a ")" | "x"\nb ::= "(" b ")" | "y"'),
            "lark": ('s: "(" s ")" | "x" | "y"',
                     's: a | b\na: "(" a ")" | "x"\nb: "(" b ")" | "y"'),
        },
        "keyword": {
            "gbnf": (r"name ::= /(?!(?:if|do)\Z)[a-z]+/", "name ::= [a-z]+"),
            "lark": (r"NAME: /(?!(?:if|do)\Z)[a-z]+/", "NAME: /[a-z]+/"),
        },
    }
)  # fmt: skip
"""The rewrite for each kind of ambiguity and each notation."""

_ADVICE: Final = {
    "left recursion": "A rule that begins with itself has a stack for every number of times that "
    "it may do so. Write a repetition:",
    "end or go on": "Let what follows tell the two apart: one rule for what may stand before and "
    "one for the rest (matched and unmatched), a repetition for a rule that calls itself twice, or "
    "an end of its own for the inner rule:",
    "begin alike": "Write what the two share once, before the choice:",
    "keyword": "Write what the two share once, before the choice; or if one is a keyword and the "
    "other a name, leave the keywords out of the names:",
}

_LOOSE: Final = (
    "Or leave ambiguous=False out: every stack is followed. For some languages, such as "
    "palindromes, nothing else helps."
)


def rewrite_of(kind: str, dialect: str) -> str:
    """The remedy for a text with two stacks.

    Args:
        kind: A kind of `SKETCHES`.
        dialect: The notation of the grammar: ``gbnf`` or ``lark``.
    """
    good, bad = (sketch.replace("\n", "\n  ") for sketch in SKETCHES[kind][dialect])
    return f"{_ADVICE[kind]}\n  {good}\nfor\n  {bad}\n{_LOOSE}"


# --- in words -------------------------------------------------------------------------------------


LIMITS: Final = Budget(states=200_000, arcs=20_000_000, seconds=30.0)
"""The budget of the check that comes with reading a grammar, unless another is given."""

MOST_BYTES: Final = 300
"""The most bytes of an ambiguous text that are searched for a keyword."""

LONGEST_QUOTED: Final = 60
"""The most characters of a pattern that a message quotes."""

MOST_COMPARED: Final = 8
"""The most ways to read a byte that are compared to find a keyword."""


def check_deterministic(
    text: str, rules: Sequence[WrittenRule], node: Rules, dialect: str, given: Meter | None = None
) -> None:
    """Refuse a grammar if some text leads to two stacks.

    Args:
        dialect: The notation, for `rewrite_of`.
        given: The meter of the caller's budget; without one, `LIMITS` hold.

    Raises:
        GrammarError: There is such a text; the message has a shortest one.
        BudgetExceeded: The grammar is too large to check.
    """
    meter = given or Meter(LIMITS)
    known = decided(node, meter)
    if known is None:
        return
    network, actions = known
    if isinstance(actions, Actions):
        return
    shortest = shortest_ambiguous(network, actions, meter)
    place = next((rule for rule in rules if rule.name == shortest.rule), rules[0])
    where = "At the start" if not shortest.prefix else f"After {_shown(shortest.prefix)}"
    byte = _shown(bytes([shortest.byte]))
    ways, keyword = _two_ways(shortest, text, node)
    kind = "keyword" if keyword and shortest.kind != "left recursion" else shortest.kind
    raise GrammarError(
        f"{where}, the text {byte} can be read with two stacks: {_ways(shortest)}",
        text=text, start=place.start, end=place.end, more=f"{_derivations(ways, text)}{keyword}",
        remedy=rewrite_of(kind, dialect),
        evidence={
            "prefix": shortest.prefix, "byte": shortest.byte, "kind": shortest.kind,
            "rewrite": kind,
        },
    )  # fmt: skip


def _ways(shortest: AmbiguousText) -> str:
    """The part of a sentence that lists the ways in which the rule may go on."""
    said: dict[str, None] = {}
    names = iter(shortest.others)
    for what, *_ in shortest.moves:
        if what == "read":
            said["read it itself"] = None
        elif what == "end":
            said["end, so that what follows it reads it"] = None
        else:
            name = next(names)
            again = "call" if f"call {name!r}" not in said else "call once more"
            said[f"{again} {name!r}"] = None
    return f"the rule {shortest.rule!r} can {' or '.join(said)}"


def _two_ways(shortest: AmbiguousText, text: str, node: Rules) -> tuple[list[LivePlace], str]:
    """Two ways to read the byte, and a line about a word that is both a keyword and a name; both
    empty if the search took too long.
    """
    try:
        written = Configurations(node, LIMITS)
        ways = _ways_to_read(written, shortest.prefix, shortest.byte, 2)
        return ways, _keyword(written, shortest.prefix + bytes([shortest.byte]), text)
    except BudgetExceeded:
        return [], ""


def _keyword(written: Configurations, data: bytes, text: str) -> str:
    """A line about the last word that can be read as a literal text and through a class."""
    if len(data) > MOST_BYTES:
        return ""
    word = b""
    said: tuple[LivePlace, LivePlace] | None = None
    for at in range(len(data) - 1, -1, -1):
        ways = _ways_to_read(written, data[:at], data[at], MOST_COMPARED)
        classes = [way for way in ways if _is_class(text[way.origin.start : way.origin.end])]
        letters = [way for way in ways if way not in classes]
        if classes and letters:
            word, said = data[at : at + 1] + word, (letters[0], classes[0])
        elif said is not None:
            break
    if said is None:
        return ""
    letter, other = said
    return (
        f"{_shown(word)} is read as it stands in {_at(text, letter.origin.start)}, and by "
        f"{_cut(text[other.origin.start : other.origin.end])} in {_at(text, other.origin.start)}.\n"
    )


def _ways_to_read(written: Configurations, text: bytes, byte: int, most: int) -> list[LivePlace]:
    """Different ways to read a byte after a text, the shortest first."""
    here = written.after(text)
    return [] if here is None else here.ways(byte, most)


def _is_class(written: str) -> bool:
    """Whether the written form is a class, a pattern or an imported terminal, not a letter."""
    return len(written) > 1 and (written.startswith(("[", "/")) or written.isidentifier())


def _derivations(places: Sequence[LivePlace], text: str) -> str:
    """Two ways to read the byte, each as the rules that are open."""
    lines = [f"  {_line(text, place)}\n" for place in places]
    if len(set(lines)) == 1:  # They differ only in where the rules are called.
        lines = [f"  {_line(text, place, calls=True)}\n" for place in places]
    return f"Two derivations:\n{''.join(lines)}" if len(lines) == 2 else ""


def _line(text: str, place: LivePlace, *, calls: bool = False) -> str:
    outermost_first = list(reversed(place.stack))
    names = [place.stack[-1].rule] if place.stack else [place.rule]
    for frame in outermost_first:
        names.append(f"{frame.called} ({_at(text, frame.start)})" if calls else frame.called)
    written = _cut(text[place.origin.start : place.origin.end])
    return f"{' → '.join(names)}, which reads {written} in {_at(text, place.origin.start)}"


def _cut(written: str) -> str:
    """The text of a part as it was written, cut if it is long."""
    return written if len(written) <= LONGEST_QUOTED else f"{written[: LONGEST_QUOTED - 1]}…"


def _at(text: str, start: int) -> str:
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f"line {line}, column {column}"


def _shown(data: bytes) -> str:
    return repr(shown_letters(data, "backslashreplace"))
