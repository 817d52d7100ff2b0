"""The data that all explanations of one token machine share: characters, trie, shortest paths.

`SortedTokens` is the vocabulary in byte order, which finds the allowed tokens that are nearest to a
masked one.

Of a table it is computed once and freed with it; then each further explanation costs the walk of
its own bytes. A machine that discovers its states is copied for each question. The only inputs are
the machine over bytes and the vocabulary. A table knows the byte states that can be finished; for
any other machine they are decided by `explorer.tokens.walks.finishing`.

`Paths` are shortest paths through the machine, over the byte states that the token states stand
for: to a state with the fewest bytes, by Dijkstra's algorithm; to a state that allows a token, or
to the end of the text, with the fewest tokens and of those the fewest bytes. A search for such a
goal asks all states that are as many tokens away before it walks from the first of them, so that it
walks from the states before the goal alone. Of the tokens between two states only the shortest
matters, and among these the lowest id; among equally near states the lower number comes first. So
the answer does not depend on the kind of machine. A table gives the steps of a state as one row,
class by class; for any other machine the trie is walked from the state. A search that stops at a
limit in the midst of equally near states knows of a goal behind them only if it has met it: then
other tokens, as many, may have fewer bytes.

A path is kept as a pointer to its last step. A text per state would take the square of their
number: 5 GB for ``[a-z]{0,100000}``.

Cost: for each state nearer than the goal one row of the table (20 µs), or one walk of the trie
(0.03 to 4 ms); about 300 bytes. Every search has a `Meter`. Without given limits, a search that
walks the trie stops at `WALKED`, one for a text to a state of a machine that discovers its states
at `DISCOVERED`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import Final, TypeAlias, cast
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters.view import Characters
from explorer.automata.discovered.discovered import apart
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Int32, run, whole_table
from explorer.automata.rules.moves import occurs_nowhere
from explorer.automata.words import shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.jit import jit
from explorer.memo import memo
from explorer.tokens.machine import Filtered, TokenMachine, TokenTable, filtered_of, table_of
from explorer.tokens.walks.failing import fail_words, writable_bytes
from explorer.tokens.walks.finishing import Finishing, finishing_of
from explorer.tokens.walks.spelling import fewest_tokens
from explorer.tokens.walks.trie import Trie, after_token, single_bytes, trie_of, word_of, written
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import DEAD, NUM_FIXED_CLASSES
from explorer.vocabulary import Vocabulary


def common_length(one: bytes, other: bytes) -> int:
    """The number of bytes that two texts have in common at their beginning.

    Example:
        >>> common_length(b"food", b"for")
        2
    """
    size = min(len(one), len(other))
    if size == 0:
        return 0
    differ = np.frombuffer(one, np.uint8, size) != np.frombuffer(other, np.uint8, size)
    return int(differ.argmax()) if differ.any() else size


class SortedTokens:
    """A vocabulary's tokens in byte order, to find those that share a prefix.

    Args:
        trie: The trie of its texts.
    """

    def __init__(self, trie: Trie) -> None:
        words = word_of(trie)
        text = np.flatnonzero(words >= 0)
        self._ids = text[np.argsort(words[text], kind="stable")].astype(np.int32)
        listed: list[int] = self._ids.tolist()
        self._data = [trie.tokens[token] or b"" for token in listed]

    def starting_with(self, prefix: bytes) -> Int32:
        """The ids whose bytes begin with a prefix, in byte order."""
        low, high = self._begin_with(prefix)
        return self._ids[low:high]

    def _begin_with(self, prefix: bytes) -> tuple[int, int]:
        """The range of tokens that begin with a prefix: the first index, and one past the last."""
        low = bisect_left(self._data, prefix)
        # The first string after all with the prefix: the prefix with its last byte raised.
        cut = prefix.rstrip(b"\xff")
        if not cut:
            return low, len(self._data)
        return low, bisect_left(self._data, cut[:-1] + bytes([cut[-1] + 1]))

    def _lengths(self, data: bytes) -> Iterator[int]:
        """The distinct lengths of the prefixes that some text shares with tokens, longest first.

        Of 210,000 bytes only a few prefixes are shared with more tokens than the next longer one.
        """
        low = high = bisect_left(self._data, data)
        while low > 0 or high < len(self._data):
            beside = self._data[max(low - 1, 0) : low] + self._data[high : high + 1]
            length = max(common_length(data, other) for other in beside)
            yield length
            low, high = self._begin_with(data[:length])

    def nearest(
        self, data: bytes, allowed: Bool, rank: NDArray[np.float64], count: int
    ) -> tuple[int, ...]:
        """Allowed tokens with the longest common byte prefix, then of the highest rank.

        Args:
            allowed: bool[ids].
            rank: float64[ids], higher is better; of equals the lower id.
            count: The most tokens.
        """
        nearest: list[int] = []
        for length in self._lengths(data):
            ids = self.starting_with(data[:length])
            ids = ids[allowed[ids]]
            if len(ids) > len(nearest):
                new = ids[~np.isin(ids, np.array(nearest, np.int32))]
                missing = count - len(nearest)
                if len(new) > missing:  # Only what may be among the best is sorted.
                    new = new[rank[new] >= np.partition(rank[new], -missing)[-missing]]
                order = np.lexsort((new, -rank[new]))
                nearest += new[order][:missing].tolist()
            if len(nearest) >= count:
                break
        return tuple(nearest)


@memo
def sorted_tokens(vocabulary: Vocabulary) -> SortedTokens:
    """The vocabulary in byte order."""
    return SortedTokens(trie_of(vocabulary, None))


STAGE: Final = "The search for a way through the machine"

BYTES_PER_STATE: Final = 300
"""The approximate memory of a search for each state that it met."""

ASKED: Final = Budget(states=100_000, bytes=500_000_000, seconds=1.0)
"""Default limits on what one question discovers in a machine of its own."""

DISCOVERED: Final = Budget(states=2_000, seconds=1.0)
"""Default limits of a search for a text to a state, over a machine that discovers its states."""

WALKED: Final = Budget(states=1_000, arcs=600_000, seconds=1.0)
"""Default limits of a search for a goal that walks the trie: the states that it walks from, and the
tokens that it meets there. From most states these are few, and a walk takes 0.03 ms; inside a
string they are nearly all of 131,072, and it takes up to 4 ms. So an answer takes about 50 ms at
most."""

_Ints: TypeAlias = NDArray[np.int64]
_Floats: TypeAlias = NDArray[np.float64]


class Background:
    """A token machine with the data that its explanations share.

    Args:
        machine: A machine that follows a machine over bytes. It is held weakly, so that it can be
            freed: users of the background hold it.
        byte_machine: The machine over bytes that it follows.

    Attributes:
        trie: The trie of the bytes of all tokens.
        characters: The characters that the machine over bytes reads.
    """

    def __init__(self, machine: TokenMachine, byte_machine: ByteMachine) -> None:
        self._machine = ref(machine)
        self.byte_machine = byte_machine
        self.trie = trie_of(machine.vocabulary, byte_machine)
        self.characters = Characters(byte_machine)

    @property
    def machine(self) -> TokenMachine:
        """The token machine."""
        machine = self._machine()
        if machine is None:
            raise ExplorerError(
                "The machine of this explanation is no longer there.",
                remedy="Keep the machine as long as its explanations are used.",
            )
        return machine

    @property
    def word_of(self) -> Int32:
        """int32[ids], the word of the trie that each id writes; -1 if it writes nothing."""
        return word_of(self.trie)

    def ids_of(self, token: int) -> tuple[int, ...]:
        """All ids that write the same bytes as a token of text, in order."""
        word = self.word_of[token]
        further = self.trie.further_id[self.trie.further_word == word]
        return tuple(sorted([int(self.trie.first_id[word]), *further.tolist()]))

    # The byte states that this vocabulary can finish.

    def can_finish(self, byte_state: int) -> bool:
        """Whether the vocabulary can finish from a byte state in which a token ends."""
        if byte_state == NO_ARC:
            return False
        if self._kept is not None:
            return bool(self._kept[byte_state])
        return self._finishing.can_finish(byte_state, Meter())

    def finishing(self, byte_states: Int32) -> Bool:
        """`can_finish` for many byte states, none of them `NO_ARC`."""
        if self._kept is not None:
            return self._kept[byte_states]
        distinct, place = np.unique(byte_states, return_inverse=True)
        able = np.array([self.can_finish(state) for state in distinct.tolist()], np.bool_)
        return able[place]

    def state_after(self, text: bytes, wanted: int) -> int:
        """The byte state after a text, or `NO_ARC`.

        Args:
            wanted: The expected state. Where the ends of tokens count, a text leads to several
                states, and this one is returned if any text of the constraint has this prefix.
        """
        machine, constraint = self.byte_machine, self.machine.constraint
        if constraint is None or not constraint.over_tokens:
            after = int(run(machine, machine.start, text)[-1])
            # A text does not say where control tokens are.
            return wanted if after != wanted and machine.reads_letters else after
        texts = constraint.machine
        return NO_ARC if run(texts, texts.start, text)[-1] == NO_ARC else wanted

    def writable(self, byte_state: int, data: bytes) -> bytes | None:
        """The bytes that this vocabulary can write after some others and still finish, ascending.

        Args:
            byte_state: A finishable state in which a token begins.
            data: Bytes that the machine can read from there.

        Returns:
            The bytes; ``None`` where the search would take too long.
        """
        try:
            return writable_bytes(self.trie, self.byte_machine, self.finishing, byte_state, data)
        except BudgetExceeded:
            return None

    def fail_words(self, byte_state: int, owed: int) -> tuple[Int32, Int32, Int32]:
        """The offset at which each word fails; see `explorer.tokens.walks.failing.fail_words`."""
        return fail_words(self.trie, self.byte_machine, byte_state, owed)

    @cached_property
    def _kept(self) -> Bool | None:
        """bool[byte states], those that can be finished; ``None`` unless all are known."""
        if whole_table(self.byte_machine) is None:
            return None
        table = table_of(self.machine)
        if table is None:
            # Every byte state can finish, so with all bytes at hand the answer is always yes.
            with_all_bytes = bool(single_bytes(self.trie).all())
            if self.byte_machine.over_tokens or self.byte_machine.reads_letters:
                return None
            return np.ones(self.byte_machine.num_states, np.bool_) if with_all_bytes else None
        kept = np.zeros(self.byte_machine.num_states, np.bool_)
        kept[table.char_state] = True
        return kept

    @cached_property
    def _finishing(self) -> Finishing:
        constraint = self.machine.constraint
        letters_stand = constraint is not None and constraint.source.letters_stand
        return finishing_of(self.byte_machine, self.trie, letters_stand)

    @cached_property
    def paths(self) -> Paths:
        """The searches of the machine."""
        return Paths(self)


@memo
def measured(vocabulary: Vocabulary) -> tuple[_Ints, _Floats, _Ints]:
    """Each token's length and plainness; and the ids, the longest first."""
    lengths = np.array([len(data or b"") for data in vocabulary.tokens], np.int64)
    first = np.array([(data or b"\0")[0] for data in vocabulary.tokens], np.int64)
    # Among equally short tokens a printable one is preferred.
    plainness = -lengths - 0.5 * ((first < 0x20) | (first >= 0x7F))
    by_length = np.argsort(lengths, kind="stable")[::-1]
    for array in (lengths, plainness, by_length):  # All machines share these arrays.
        array.flags.writeable = False
    return lengths, plainness, by_length


@jit
def _shortest(
    words: Int32, targets: Int32, first_id: Int32, lengths: _Ints, states: int
) -> Int32:  # fmt: skip
    """The shortest token that leads to each state, of those the lowest id; −1 for none."""
    tokens = np.full(states, -1, np.int32)
    for k in range(words.shape[0]):
        new, old = first_id[words[k]], tokens[targets[k]]
        if old < 0 or lengths[new] < lengths[old] or (lengths[new] == lengths[old] and new < old):
            tokens[targets[k]] = new
    return tokens


class _Search:
    """Dijkstra's algorithm from one byte state, which can be resumed.

    Args:
        moves: The steps from a byte state: targets, tokens, lengths.
        begin: The byte state to begin at.
    """

    def __init__(self, moves: Callable[[int], Iterator[tuple[int, int, int]]], begin: int) -> None:
        self._moves = moves
        self._came_from: dict[int, tuple[int, int] | None] = {begin: None}
        self._best = {begin: 0}
        self._queue = [(0, begin)]
        self.settled: set[int] = set()

    def settle(self, meter: Meter) -> int | None:
        """The next state in the order of cost; ``None`` when all states are settled.

        Raises:
            BudgetExceeded: Too many states were met, or the time is up.
        """
        while self._queue:
            cost, state = self._queue[0]
            if state in self.settled:
                heapq.heappop(self._queue)
                continue
            met = len(self._best)
            meter.check(STAGE, states=met, bytes=BYTES_PER_STATE * met)
            steps = list(self._moves(state))
            heapq.heappop(self._queue)  # Only now, so that a search out of time can resume.
            for target, token, length in steps:
                total = cost + length
                if total < self._best.get(target, total + 1):
                    self._best[target] = total
                    self._came_from[target] = (state, token)
                    heapq.heappush(self._queue, (total, target))
            self.settled.add(state)
            return state
        return None

    def way_to(self, state: int) -> tuple[int, ...]:
        """The tokens that lead to a state that was met."""
        return _way(self._came_from, state)


def _way(came_from: Mapping[int, tuple[int, int] | None], state: int) -> tuple[int, ...]:
    """The tokens that lead to a state, from the last step to each."""
    tokens: list[int] = []
    while (step := came_from[state]) is not None:
        state, token = step
        tokens.append(token)
    return tuple(reversed(tokens))


def _anywhere(table: Int32, state: int, symbols: Sequence[int]) -> bool:
    """Whether some symbols can be read in turn from any state that is reached from a state."""
    met, fresh = np.zeros(len(table), np.bool_), np.array([state])
    while len(fresh):
        met[fresh] = True
        after = np.unique(table[fresh])
        fresh = after[after >= 0]
        fresh = fresh[~met[fresh]]
    states = np.flatnonzero(met)
    for symbol in symbols:
        states = table[states, symbol]
        states = states[states >= 0]
    return len(states) > 0


class Paths:
    """The shortest paths between the states of a machine."""

    def __init__(self, ground: Background) -> None:
        self._ground = ground
        machine = ground.machine
        self._tokens = machine.vocabulary.tokens
        self._eos_ids = frozenset(machine.vocabulary.eos_ids)
        self.lengths, self.plainness, _ = measured(machine.vocabulary)
        self._is_table = table_of(machine) is not None
        self._met = 0  # The tokens that walks of the trie met.
        self._lock = RLock()
        self._from_start: _Search | None = None
        self._is_discovered = whole_table(ground.byte_machine) is None

    def meter(self, budget: Budget | None = None) -> Meter:
        """A meter for a search for a text to a state."""
        limits = DISCOVERED if self._is_discovered else None
        return Meter(limits if budget is None else budget)

    def meter_of_walks(self, budget: Budget | None = None) -> Meter:
        """A meter for a search for a goal; without a table its limits are those of walks."""
        limits = None if self._is_table else WALKED
        return Meter(limits if budget is None else budget)

    def text_to(self, state: int, meter: Meter) -> bytes:
        """A shortest text, in bytes, that tokens write from the start to a byte state.

        The search stops at the state, and the next one resumes there.

        Args:
            state: The byte state of a token state.

        Raises:
            BudgetExceeded: The state is further away than the limits allow.
        """
        with self._lock:
            if self._from_start is None:
                machine = self._ground.machine
                start = machine.byte_state(machine.start)
                self._from_start = _Search(self.moves, start)
            search = self._from_start
            while state not in search.settled and search.settle(meter) is not None:
                pass
            return self._ground.machine.vocabulary.written(search.way_to(state))

    def text_of(self, state: int, meter: Meter) -> bytes:
        """A shortest text to a token state; that which first led there, of a machine with a filter
        or one that discovers its states.

        Raises:
            BudgetExceeded: The state is further away than the limits allow, and has no record.
        """
        machine = self._ground.machine
        if filtered_of(machine) is not None or self._is_discovered:
            known = cast("Filtered", machine).text_to(state)
            if known is not None:
                return known
        return self.text_to(machine.byte_state(state), meter)

    def after(self, state: int, token: int, meter: Meter) -> tuple[int, ...] | None:
        """The shortest tokens after which a token is allowed.

        Returns:
            Ids; empty if it is allowed at once, ``None`` if it is never allowed from here.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        if self._is_never_written(state, token):
            return None
        return self._nearest(state, self._allows(token), meter)

    def _is_never_written(self, state: int, token: int) -> bool:
        """Whether it is certain that no text from a state on contains the token's bytes."""
        machine, data = self._ground.byte_machine, self._tokens[token]
        if data is None or token in self._eos_ids:
            return False
        if (closed := whole_table(machine)) is not None and not machine.over_tokens:
            symbols: list[int] = machine.symbol_class[list(data)].tolist()
            return not _anywhere(closed.table, state, symbols)
        if machine.stacks is None:
            return False
        network = machine.stacks.network
        if not network.read[list(data)].all():
            return True
        return occurs_nowhere(network.arrays, network.symbol_class[list(data)].tolist())

    def completion(self, state: int, meter: Meter) -> tuple[int, ...]:
        """The shortest tokens to a complete text, EOS not included.

        Args:
            state: A byte state that can be finished.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        machine = self._ground.byte_machine
        if machine.least(state) is not None:  # Too many states to search for the fewest tokens.
            tokens = fewest_tokens(self._ground.trie, shortest_word(machine, state, meter))
            if tokens is not None:
                return tokens
        return self._nearest(state, machine.is_accepting, meter) or ()

    def _nearest(
        self, begin: int, is_goal: Callable[[int], bool], meter: Meter
    ) -> tuple[int, ...] | None:
        """The fewest tokens to a goal, of those the fewest bytes; ``None`` if none is reached.

        Raises:
            BudgetExceeded: A limit was reached, and no goal was met before.
        """
        came_from: dict[int, tuple[int, int] | None] = {begin: None}
        layer, walked, met, stopped = {begin: 0}, 1, self._met, None
        while layer:
            # All states of a layer are as many tokens away: none is walked from before all are
            # asked, the nearest first.
            ordered = sorted(layer, key=lambda state: (layer[state], state))
            if (goal := next(filter(is_goal, ordered), None)) is not None:
                return _way(came_from, goal)
            further: dict[int, int] = {}
            for state in ordered if stopped is None else ():
                try:
                    size = BYTES_PER_STATE * len(came_from)
                    meter.check(STAGE, states=walked, arcs=self._met - met, bytes=size)
                    steps = self.moves(state)
                except BudgetExceeded as error:
                    stopped = error
                    break
                walked += 1
                for target, token, length in steps:
                    total = layer[state] + length
                    seen = total + 1 if target not in came_from else further.get(target, 0)
                    if total < seen:
                        further[target], came_from[target] = total, (state, token)
            layer = further
        if stopped is not None:
            raise stopped
        return None

    def _allows(self, token: int) -> Callable[[int], bool]:
        """A function that says whether a byte state allows a token."""
        machine = self._ground.byte_machine
        if token in self._eos_ids:
            return machine.is_accepting
        symbols = written(self._ground.machine.vocabulary, machine, token)

        def allows(state: int) -> bool:
            after = after_token(machine, state, symbols)
            return after != NO_ARC and self._ground.can_finish(after)

        return allows

    # The steps of one state.

    def moves(self, state: int) -> Iterator[tuple[int, int, int]]:
        """The byte states that one token reaches, with the shortest token to each and its length.

        Args:
            state: A byte state in which a token ends.
        """
        targets, tokens = self._row_moves(state) if self._is_table else self._walked_moves(state)
        lengths = self.lengths[tokens].tolist()
        return zip(targets.tolist(), tokens.tolist(), lengths, strict=True)

    def _row_moves(self, state: int) -> tuple[Int32, _Ints]:
        table, (number_of, columns, tokens) = self._table, self._columns
        row = table.table[number_of[state]][columns]
        live = np.flatnonzero(row >= 0)
        # Columns are sorted by their tokens, so the first one to a target has the shortest.
        targets, first = np.unique(row[live], return_index=True)
        return table.char_state[targets], tokens[live[first]]

    def _walked_moves(self, state: int) -> tuple[Int32, _Ints]:
        trie, machine = self._ground.trie, self._ground.byte_machine
        seen = walk_trie(machine, trie, state)
        self._met += len(seen.words)
        targets = seen.distinct()
        targets = targets[self._ground.finishing(targets)]
        shortest = _shortest(
            seen.words, seen.targets, trie.first_id, self.lengths, machine.num_states
        )
        return targets, shortest[targets].astype(np.int64)

    @property
    def _table(self) -> TokenTable:
        table = table_of(self._ground.machine)
        if table is None:
            raise TypeError("This machine has no table.")
        return table

    @cached_property
    def _columns(self) -> tuple[Int32, _Ints, _Ints]:
        """The token state of each byte state; the live columns and the shortest token of each."""
        table = self._table
        *_, by_length = measured(table.vocabulary)
        # Written from long to short, so that the shortest token of a class remains.
        ids = np.full(table.table.shape[1], NO_ARC, np.int64)
        ids[table.token_class[by_length]] = by_length
        classes = np.flatnonzero(ids >= 0)
        columns = classes[classes >= NUM_FIXED_CLASSES]
        columns = columns[np.lexsort((ids[columns], self.lengths[ids[columns]]))]
        number_of = np.full(self._ground.byte_machine.num_states, DEAD, np.int32)
        number_of[table.char_state] = np.arange(len(table.char_state), dtype=np.int32)
        return number_of, columns, ids[columns]


def background_of(machine: TokenMachine, budget: Budget | None = None) -> Background:
    """The background for one question about a token machine.

    A closed machine has one for all questions. A machine that discovers its states is copied as it
    is now, so that a question never discovers states in the machine that decides.

    Args:
        budget: Limits on what the question discovers, and on its seconds; default `ASKED`.

    Raises:
        ExplorerError: The machine has no constraint, so there is nothing to explain.
    """
    byte_machine = machine.byte_machine
    if byte_machine is None:
        raise unconstrained()
    if whole_table(byte_machine) is not None:
        return _of_table(machine)
    return Background(machine, apart(byte_machine, Meter(budget or ASKED)))


@memo
def _of_table(machine: TokenMachine) -> Background:
    byte_machine = machine.byte_machine
    if byte_machine is None:
        raise unconstrained()
    return Background(machine, byte_machine)


def unconstrained() -> ExplorerError:
    """The error for a question about a machine without a constraint."""
    return ExplorerError(
        "There is no constraint here, so nothing is masked.",
        remedy="Make the session with a constraint.",
    )
