"""The stack of a grammar after a text: its open rules, and what each waits for.

The rows are the open rules of a derivation (`explorer.languages.written.derivation`), the innermost
first. The innermost reads; each of the others waits for the rule above it. Where the deciding
machine keeps a symbol for a waiting rule, the row has that symbol: the state of the machine's own
network to return to. A row without one was merged into the row below it, or has nothing left to
read, so that the machine need not return to it.

Cost: that of the derivation, and some microseconds for each row that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from explorer.alphabet import NUM_BYTES
from explorer.analysis.characters.display import show_characters, show_text
from explorer.analysis.places.spans import source_machines
from explorer.automata.machine import ByteMachine, Network, Stacks
from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import (
    Node,
    Origin,
    Rules,
    Source,
    Written,
    children,
    inside,
    shape_of,
    walk,
)
from explorer.errors import ExplorerError
from explorer.languages.stages.staged import unstaged
from explorer.languages.written.configuration import Point
from explorer.languages.written.derivation import ClosedRule, Derivation, OpenRule, derivation

MOST_PLACES: Final = 16
"""The most places that a row names."""

MOST_REPLAYED: Final = 2_000
"""The longest text, in bytes and symbols, that is read again to find its pushes."""

NO_PLACE: Final = -1

QUOTES: Final = ('"', "'", "/")
"""The delimiters of a literal or a pattern in a grammar."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StackRow:
    """One open rule.

    Args:
        rule: Its name; empty for the part around a grammar.
        start: The offset in the text where it began.
        text: The source text of its open alternative; may be empty.
        begin: Where that alternative begins in the text of the source.
        call: The span of the call that it waits for, in the text of the source; ``None`` for the
            innermost, which reads.
        next: The spans at which it can go on.
        expects: The characters with which it can go on, in words.
        ends: Whether it may end without another byte.
        symbol: The row's symbol on the machine's stack; ``None`` without one.
        closed: The rules that have ended in it.
    """

    rule: str
    start: int
    text: str
    begin: int
    call: Span | None
    next: tuple[Span, ...]
    expects: str
    ends: bool
    symbol: int | None
    closed: tuple[ClosedRule, ...]


class GrammarStack:
    """The open rules after a text; a row is made when it is asked for.

    Args:
        symbols: The machine's symbol of each open rule; ``None`` if it has several stacks.
        state: The state of the machine's network, above the stack.
    """

    def __init__(
        self,
        reader: StackReader,
        derivation: Derivation,
        symbols: Sequence[int | None] | None,
        state: int | None = None,
    ) -> None:
        self.reader = reader
        self.state = state
        self._symbols = symbols
        self.derivation = derivation

    @property
    def several(self) -> bool:
        """Whether the text could have opened other rules as well."""
        return self.derivation.several

    @property
    def depth(self) -> int | None:
        """The number of symbols on the machine's stack; ``None`` if it follows several stacks."""
        if self._symbols is None:
            return None
        return sum(symbol is not None for symbol in self._symbols)

    def __len__(self) -> int:
        return len(self.derivation.open)

    def __getitem__(self, place: int) -> StackRow:
        symbol = None if self._symbols is None else self._symbols[place]
        return self.reader.row(self.derivation, place, symbol)

    @property
    def live(self) -> int:
        """The number of rows the next byte can be for: one that may end leaves it to the next."""
        count = 1
        while count < len(self) and self.reader.may_end(self.derivation.open[count - 1]):
            count += 1
        return count

    def sentence(self, text: bytes) -> str:
        """A sentence that names the next characters, and the open rule that expects each of them.

        Example:
            >>> from explorer.languages.grammar.functions import grammar
            >>> source = grammar('root ::= "(" root ")" | [0-9]+').source
            >>> reader = stack_reader(source)
            >>> print(reader.at(b"(1", None, -1).sentence(b"(1"))
            After '(1' the rule root → "(" root ")" on the stack expects ')' or 0-9: ')' itself, \
a digit 0-9 in root → [0-9]+.
        """
        rows = [self[place] for place in range(self.live)]
        opened = self.derivation.open
        following = {b for row in opened[: len(rows)] for b in self.reader.following(row.points)}
        *inner, outer = rows
        whole = outer.ends and len(rows) == len(self)
        expects = _in_words(bytes(sorted(following)))
        words = " or ".join([expects] * bool(expects) + ["the end"] * whole) or "nothing"
        begun = f"After {show_text(text)}" if text else "At the start"
        said = f"{begun} the rule {_ruled(outer)}{' on the stack' * bool(inner)} expects {words}"
        if not inner:
            return f"{said}."
        parts = [f"{outer.expects} itself"] if outer.expects else []
        parts += [f"{row.expects} in {_ruled(row)}" for row in reversed(inner) if row.expects]
        return f"{said}: {', '.join(parts)}."

    @property
    def rows(self) -> list[StackRow]:
        """All rows, the innermost first."""
        return [self[place] for place in range(len(self))]


class StackReader:
    """A constraint with grammars inside, and the stacks that texts lead to.

    Raises:
        ExplorerError: It cannot be laid out within the limits of explanations.
    """

    def __init__(self, source: Source, grammars: Sequence[Rules]) -> None:
        self.source = source
        self._configurations = source_machines(source).whole
        self.program = self._configurations.program
        self._bodies: dict[str, Node] = {}
        for rules in grammars:
            if rules.locate is not None:
                continue  # Its rules are not text that somebody wrote.
            for name, body in rules.rules.items():
                self._bodies.setdefault(name, body)

    def derivation(self, text: bytes) -> Derivation | None:
        """One derivation of a text as a prefix; ``None`` if no word has this prefix.

        Raises:
            BudgetExceeded: The text is too long.
        """
        here = self._configurations.after(text)
        return None if here is None else derivation(here)

    def at(self, text: bytes, machine: ByteMachine | None, state: int) -> GrammarStack | None:
        """The stack after a text; ``None`` if no word has this prefix.

        Raises:
            BudgetExceeded: The text is too long.
        """
        derived = self.derivation(text)
        if derived is None:
            return None
        stacks = None if machine is None or state < 0 else machine.stacks
        stack = None if stacks is None else stacks.symbols(state)
        if machine is None or stacks is None or stack is None:
            return GrammarStack(self, derived, None)
        here, symbols = stack
        return GrammarStack(
            self, derived, self._laid(derived, text, machine, stacks, symbols), here
        )

    def _laid(
        self,
        derived: Derivation,
        text: bytes,
        machine: ByteMachine,
        stacks: Stacks,
        symbols: Sequence[int],
    ) -> list[int | None] | None:
        """The machine's symbol of each open rule; ``None`` if they do not correspond.

        A rule that the machine keeps is called with a symbol. Where it keeps a rule in some places
        and has inlined it in others, there are fewer symbols than such calls; then the byte at
        which a symbol was pushed identifies its call.
        """
        opened = derived.open
        network = stacks.network
        kept = {*network.names}
        last = len(opened) - 1
        tail = False  # Whether nothing is read after the rules below, up to one that is kept.
        waiting: list[int] = []
        for place in range(last, 0, -1):
            here = opened[place]
            tail = self.program.must_end(here.points) and (here.rule in kept or tail)
            if opened[place - 1].rule in kept and not tail:
                waiting.append(place)
        placed: list[int | None] = [None] * len(opened)
        if len(waiting) == len(symbols):
            for place, symbol in zip(reversed(waiting), symbols, strict=True):
                placed[place] = symbol
            if all(
                self._holds(opened[place:], network, symbol)
                for place, symbol in enumerate(placed)
                if symbol is not None
            ):
                return placed
        if max(len(text), len(symbols)) > MOST_REPLAYED:
            return None
        placed = [None] * len(opened)
        outer = len(opened)
        for symbol, begun in zip(reversed(symbols), _pushed_at(machine, stacks, text), strict=True):
            places = (
                place
                for place in waiting
                if place < outer
                and opened[place - 1].start == begun
                and self._holds(opened[place:outer], network, symbol)
            )
            outer = next(places, NO_PLACE)
            if outer == NO_PLACE:
                return None
            placed[outer] = symbol
        return placed

    def _holds(self, rows: Sequence[OpenRule], network: Network, symbol: int) -> bool:
        """Whether the rule to which a symbol returns is one of some open rules."""
        holder = network.names[network.rule[symbol]]
        return holder not in self._bodies or any(each.rule == holder for each in rows)

    def following(self, points: tuple[Point, ...]) -> bytes:
        """The bytes with which an open rule can go on, ascending."""
        bits = 0
        for point in points:
            bits |= self.program.first(point)
        return bytes(byte for byte in range(NUM_BYTES) if bits >> byte & 1)

    def may_end(self, opened: OpenRule) -> bool:
        """Whether an open rule may end without another byte."""
        return any(map(self.program.may_end, opened.points))

    def row(self, derivation: Derivation, place: int, symbol: int | None) -> StackRow:
        """One open rule in the form in which it is shown."""
        here = derivation.open[place]
        written = [
            origin for point in here.points for *_, origin in self.program.moves(point).reads
        ]
        written += [
            origin for point in here.points for *_, origin in self.program.moves(point).calls
        ]
        following = [span for origin in written if origin and (span := self._span(origin))]
        call = None if here.call is None else self._span(here.call)
        text, begin = self._written(here.rule, call or (following[0] if following else None))
        following = [*dict.fromkeys(following)][:MOST_PLACES]
        return StackRow(
            here.rule, here.start, text, begin, call, tuple(following),
            _in_words(self.following(here.points)),
            self.may_end(here), symbol, here.closed,
        )  # fmt: skip

    def _span(self, origin: Origin) -> Span | None:
        """The span of an origin in the text that a person edits, if it is there."""
        if origin.source is not None and origin.source != self.source:
            return None
        return origin.start, origin.end

    def _written(self, rule: str, near: Span | None) -> tuple[str, int]:
        """The source text of a rule's alternative around a span, and its offset."""
        body = self._bodies.get(rule)
        if body is None:
            return "", 0
        origin: Source | None = None
        chosen: Node | None = body
        while chosen is not None:
            if isinstance(chosen, Written):
                origin = chosen.source or origin
            body = inside(chosen)
            options = children(body) if shape_of(body).part == "alternatives" else ()
            around = (o for o in options if near and o.start <= near[0] and near[1] <= o.end)
            chosen = next(around, None)
        if origin is not None and origin != self.source:
            return "", 0
        text, begin, end = self.source.text, body.start, body.end
        # The span of a literal excludes its quotes, which belong to the rule.
        if text[begin - 1 : begin] in QUOTES:
            begin -= 1
        if text[end : end + 1] in QUOTES:
            end += 1
        return text[begin:end], begin


def _pushed_at(machine: ByteMachine, stacks: Stacks, text: bytes) -> list[int]:
    """The byte that pushed each symbol on the stack after a text, the outermost symbol first."""
    state = machine.start
    before: tuple[int, ...] = ()
    begun: list[int] = []
    for at, byte in enumerate(text):
        state = machine.step(state, byte)
        stack = stacks.symbols(state)
        after = () if stack is None else tuple(reversed(stack[1]))
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        begun = [*begun[:same], *[at] * (len(after) - same)]
        before = after
    return begun


def _ruled(row: StackRow) -> str:
    """A rule with its alternative."""
    text = " ".join(row.text.split())
    return f"{row.rule or 'around the grammar'} → {text}" if text else row.rule or "around it"


def _in_words(following: bytes) -> str:
    """The characters with these first bytes in words; empty if there are none."""
    ranges = [(byte, byte) for byte in following if byte < 0x80]
    leads = sum(byte >= 0xC2 for byte in following)
    if leads >= 0xF4 - 0xC2:
        ranges.append((0x80, 0x10FFFF))
    words = show_characters(char_set(ranges)) if ranges else ""
    if 0 < leads < 0xF4 - 0xC2 or (not leads and any(byte >= 0x80 for byte in following)):
        words = f"{words} or characters beyond ASCII" if words else "characters beyond ASCII"
    return words


@lru_cache(maxsize=16)
def stack_reader(source: Source) -> StackReader | None:
    """The reader of a constraint, kept for the last few; ``None`` without a grammar inside."""
    bare = unstaged(source)
    try:
        grammars = [node for node in walk(bare.tree) if isinstance(node, Rules)]
        return StackReader(bare, grammars) if grammars else None
    except ExplorerError:  # Too large, or a grammar inside of what needs a closed form.
        return None
