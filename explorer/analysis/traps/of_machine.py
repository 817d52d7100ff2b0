"""The traps of a token machine alone: loops of white space, endless loops, choices that begin with
the same token, text that can only be written byte by byte.

All states of a table are examined. Of a machine that computes its states as they are visited, only
the visited ones are; the last of its traps says so (``visited_only``).

Cost: a pass over the table of the machine, or a walk of the trie per visited state; for the
byte-by-byte check a pass over the allowed tokens of at most `MOST_STATES` states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Final, Protocol

import numpy as np

from explorer.alphabet import show_bytes, split_tail
from explorer.analysis.characters.display import show_text
from explorer.analysis.places.spans import live_places
from explorer.analysis.traps.loops import loop_at, loop_remedy
from explorer.analysis.traps.trap import Trap
from explorer.analysis.verdict.asked import checked_machine
from explorer.analysis.verdict.background import (
    BYTES_PER_STATE,
    Background,
    background_of,
    sorted_tokens,
)
from explorer.arguments import counted
from explorer.automata.machine import NO_ARC, Bool, whole_table
from explorer.automata.rules.pieces import components
from explorer.automata.words import is_finite, words
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, TokenTable, table_of
from explorer.tokens.walks.failing import READ
from explorer.tokens.words import NUM_FIXED_CLASSES
from explorer.vocabulary import Vocabulary

MOST_STATES: Final = 400
"""The most states that are examined token by token."""

MOST_CHOICES: Final = 5_000
"""The most texts of a choice that are split into tokens."""

MOST_WORDS: Final = 48
"""The most texts of another finite language that are split into tokens."""

FEW_CHARACTERS: Final = 16
"""A place that expects more characters than these stands for a class."""


LONGEST_PLACE: Final = 60
"""The longest part of a source that names a place."""

STAGE: Final = "The search for traps"


def machine_traps(machine: TokenMachine, *, budget: Budget | None = None) -> tuple[Trap, ...]:
    """Find the traps of a token machine, whatever the model.

    Args:
        machine: The machine. The traps of a table are computed once.
        budget: Limits of the search.

    Raises:
        ExplorerError: There is no constraint.
        BudgetExceeded: A given limit was reached, or one over a table. Otherwise the search over
            any other machine stops at a limit, and the last of the traps says so.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> from explorer.tokens.compile import compile
        >>> from explorer.vocabulary import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b" ", b"\\n", b"x"], eos_ids=[3])
        >>> [trap.kind for trap in machine_traps(compile(regex(r"\\s*x"), vocab))]
        ['whitespace_loop']
    """
    background = background_of(checked_machine(machine))
    known = _known(machine)
    table = table_of(machine)
    if table is not None and known:
        return known[0]
    meter = background.paths.meter(budget)
    arcs = _Visited(background) if table is None else _Table(table)
    searches = (
        _loops(background, arcs, meter),
        _shared_first_tokens(machine, meter),
        _byte_by_byte(background, arcs, meter),
    )
    if table is None and budget is None:
        return _as_far_as_possible(searches, machine, len(arcs.states))
    traps = tuple(chain(*searches))
    if table is None:
        return (*traps, _visited_only(machine, len(arcs.states), None))
    known.append(traps)
    return traps


def _as_far_as_possible(
    searches: Sequence[Iterator[Trap]], machine: TokenMachine, count: int
) -> tuple[Trap, ...]:
    """The traps found before a limit is reached, and a trap that names the states examined."""
    traps: list[Trap] = []
    stopped: BudgetExceeded | None = None
    for search in searches:
        try:
            traps.extend(search)  # One by one: those before the limit stay.
        except BudgetExceeded as error:
            stopped = error
    return (*traps, _visited_only(machine, count, stopped))


@memo
def _known(machine: TokenMachine) -> list[tuple[Trap, ...]]:
    """The cache for the traps of a table."""
    return []


class _ArcsOfStates(Protocol):
    """The states and arcs that the search for loops may use."""

    @property
    def states(self) -> Sequence[int]:
        """The states, ascending from 0."""
        ...

    def targets(self, state: int) -> list[int]:
        """The states that one token of text reaches, ascending."""
        ...

    def some_stay(self, members: Sequence[int], some: Bool) -> bool:
        """Whether one of some ids leads from a member to a member.

        Args:
            some: bool[ids].
        """
        ...


class _Table:
    """The states of a table, all of them."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self.states: Sequence[int] = range(table.num_states)
        self._stays: tuple[Sequence[int], Bool] | None = None

    def targets(self, state: int) -> list[int]:
        row = self._table.table[state][NUM_FIXED_CLASSES:]
        return np.unique(row[row >= 0]).tolist()

    def some_stay(self, members: Sequence[int], some: Bool) -> bool:
        if self._stays is None or self._stays[0] is not members:
            inside = np.zeros(self._table.num_states, np.bool_)
            inside[members] = True
            rows = self._table.table[members]
            stays: Bool = np.asarray((inside[np.maximum(rows, 0)] & (rows >= 0)).any(axis=0))
            stays[:NUM_FIXED_CLASSES] = False
            self._stays = members, stays
        holds = np.zeros(self._table.table.shape[1], np.bool_)
        holds[self._table.token_class[some]] = True
        return bool((self._stays[1] & holds).any())


class _Visited:
    """The states that a machine without a table has met so far.

    Args:
        background: The machine's.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        machine = background.machine
        self.states: Sequence[int] = range(machine.num_states)
        self._number = {machine.byte_state(state): state for state in self.states}

    def targets(self, state: int) -> list[int]:
        byte_state = self._background.machine.byte_state(state)
        reached = (target for target, _, _ in self._background.paths.moves(byte_state))
        return sorted(self._number[target] for target in reached if target in self._number)

    def some_stay(self, members: Sequence[int], some: Bool) -> bool:
        inside = {self._background.machine.byte_state(state) for state in members}
        words = np.zeros(self._background.trie.num_words + 1, np.bool_)
        words[self._background.word_of[some]] = True  # Ids without a word share the last entry.
        for byte_state in inside:
            fails, reached, _ = self._background.fail_words(byte_state, 0)
            read = np.flatnonzero((fails == READ) & words[:-1])
            if inside.intersection(np.unique(reached[read]).tolist()):
                return True
        return False


def _visited_only(machine: TokenMachine, count: int, stopped: BudgetExceeded | None) -> Trap:
    larger = "with a larger budget" if machine.report.reason else "with lazy=False"
    message = (
        f"Only the {counted(count, 'state')} visited so far {'was' if count == 1 else 'were'} "
        "looked at: this machine works its states out as they are visited."
    )
    if stopped is not None:
        message += f" The search for traps stopped before it had seen all that: {stopped.message}"
    return Trap(
        "visited_only",
        message,
        f"Ask again after more steps, or compile {larger} to look at all of them.",
        evidence={"states": count, "stopped": stopped is not None},
    )


@memo
def _blank_and_telling(vocabulary: Vocabulary) -> tuple[Bool, Bool]:
    """bool[ids] each: the ids that are all white space, and those with a whole character that is
    not."""
    tokens = vocabulary.tokens
    blank = [data is not None and not data.strip() for data in tokens]
    telling = [data is not None and bool(data.decode(errors="ignore").strip()) for data in tokens]
    return np.array(blank, np.bool_), np.array(telling, np.bool_)


def _components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components that hold a cycle, ascending."""
    return sorted(
        sorted(members)
        for members in components(edges)
        if len(members) > 1 or members[0] in edges[members[0]]
    )


def _loops(background: Background, arcs: _ArcsOfStates, meter: Meter) -> Iterator[Trap]:
    """Find the loops; each is a trap, either of white space alone or of text."""
    blank, telling = _blank_and_telling(background.machine.vocabulary)
    edges: list[list[int]] = []
    held = 0
    for state in arcs.states:
        targets = arcs.targets(state)
        held += BYTES_PER_STATE + 8 * len(targets)
        meter.check(STAGE, states=state, bytes=held)
        edges.append(targets)
    for members in _components(edges):
        meter.check_time(STAGE)
        # A class may hold white space, parts of a character of white space, and other text.
        if arcs.some_stay(members, blank) and not arcs.some_stay(members, telling):
            yield _whitespace_loop(background, members, blank, meter)
        else:
            yield _endless(background, members, meter)


def _whitespace_loop(background: Background, members: list[int], blank: Bool, meter: Meter) -> Trap:
    # The tightest state of the loop; worst is one that allows nothing else.
    machine = background.machine
    shares: dict[int, float] = {}
    for member in members[:MOST_STATES]:
        meter.check_time(STAGE)
        shares[member] = _share_of(machine.allowed(member), blank)
    state = max(shares, key=lambda q: (shares[q], -q))
    text = background.paths.text_to(machine.byte_state(state), meter)
    only = shares[state] == 1.0
    ids = np.flatnonzero(machine.allowed(state) & blank)
    return Trap(
        "whitespace_loop",
        f"After {show_text(text)} white space may be written for ever"
        + (", and nothing else is allowed there." if only else "."),
        loop_remedy(machine, "space"),
        state,
        evidence={
            "states": tuple(members), "text": text, "only_whitespace": only,
            "share_of_mask": shares[state], "tokens": tuple(ids[:8].tolist()),
        },
    )  # fmt: skip


def _share_of(mask: Bool, some: Bool) -> float:
    count = int(mask.sum())
    return int((mask & some).sum()) / count if count else 0.0


def _endless(background: Background, members: list[int], meter: Meter) -> Trap:
    machine = background.machine
    state = members[0]
    may_end = any(machine.is_final(member) for member in members)
    place = machine.byte_state(state)
    text = background.paths.text_to(place, meter)
    inside = {machine.byte_state(member) for member in members}
    byte_machine = background.byte_machine

    def stays(more: bytes) -> bool:
        after = place
        for byte in more:
            if after != NO_ARC:
                after = byte_machine.step(after, byte)
        return after in inside

    what, where = ("repeat", "") if byte_machine.over_tokens else loop_at(text, stays)
    return Trap(
        "endless",
        f"After {show_text(text)} the text can go on for ever"
        + (", though it may also end." if may_end else " without being complete."),
        loop_remedy(machine, what),
        state,
        evidence={
            "states": tuple(members), "text": text, "may_end": may_end, "what": what,
            "where": where or _written_at(machine, text),
        },
    )  # fmt: skip


def _written_at(machine: TokenMachine, text: bytes) -> str:
    """The part of a pattern, or the rule, that goes on after a text; empty if unknown."""
    source = None if machine.constraint is None else machine.constraint.source
    try:
        places = () if source is None else live_places(source, split_tail(text)[0])
    except BudgetExceeded:
        return ""
    for place in places:
        if place.label:
            return place.label
        if place.span is not None and len(place.text) <= LONGEST_PLACE:
            return place.text
    return ""


def _shared_first_tokens(machine: TokenMachine, meter: Meter) -> Iterator[Trap]:
    """Find texts of a choice that begin with the same token when the tokenizer writes them."""
    constraint, byte_machine = machine.constraint, machine.byte_machine
    source = None if constraint is None else constraint.source
    choices = () if source is None else source.choices
    noun = "choices" if choices else "texts"
    whole = whole_table(byte_machine)
    if 0 < len(choices) <= MOST_CHOICES:
        texts_listed = choices
    elif whole is not None and not whole.over_tokens and is_finite(whole, meter):
        # A language of few words is a choice, however it is written.
        first = list(islice(words(whole, meter), MOST_WORDS + 1))
        if len(first) > MOST_WORDS:
            return
        texts_listed = tuple(word.decode() for word in first)
    else:
        return
    by_token: dict[int, list[str]] = {}
    for text in texts_listed:
        meter.check_time(STAGE)
        ids = machine.vocabulary.encode(text) if text else None
        if ids and machine.step(machine.start, ids[0]) is not None:
            by_token.setdefault(ids[0], []).append(text)
    for token, texts in by_token.items():
        # A text that merely continues another one is not a separate alternative.
        if not all(b.startswith(a) for a, b in pairwise(sorted(texts))):
            data = machine.vocabulary.tokens[token] or b""
            yield Trap(
                "shared_first_token",
                f"{len(texts)} {noun} begin with the token {show_text(data)}: "
                f"{', '.join(map(repr, texts[:4]))}. A model that likes one of them lends its "
                f"first token to the others, and one token at a time cannot take it back.",
                f"Compare whole {noun} by their total probability, or name them so that they "
                "differ from the first token on.",
                machine.start,
                evidence={"token": token, "texts": tuple(texts)},
            )


def _byte_by_byte(background: Background, arcs: _ArcsOfStates, meter: Meter) -> Iterator[Trap]:
    """Find expected characters that no single token writes; each is reported once.

    Wide classes always have such characters, so only places that expect few are examined.
    """
    machine = background.machine
    reported: set[int] = set()
    for state in arcs.states[:MOST_STATES]:
        meter.check_time(STAGE)
        byte_state = machine.byte_state(state)
        text = background.paths.text_to(byte_state, meter)
        if split_tail(text)[1]:
            continue
        chars = background.characters.expected(byte_state)
        if chars.size() > FEW_CHARACTERS:
            continue
        mask = machine.allowed(state)
        starting_with = sorted_tokens(machine.vocabulary).starting_with
        for code in (c for low, high in chars.ranges for c in range(low, high + 1)):
            data = chr(code).encode()
            if code in reported or len(data) == 1 or mask[starting_with(data)].any():
                continue
            begins = starting_with(data[:1])
            halves = begins[mask[begins]]
            if len(halves):  # A character that cannot be written at all is not a trap.
                reported.add(code)
                yield Trap(
                    "byte_by_byte",
                    f"After {show_text(text)} the character {show_text(data)} can only be written "
                    f"in parts: {show_bytes(data)}.",
                    "Expect low probabilities there. If it is not needed, leave it out of the "
                    "pattern; if it is, a tokenizer that has it is better.",
                    state,
                    evidence={
                        "text": text,
                        "character": chr(code),
                        "tokens": tuple(halves.tolist()),
                    },
                )
