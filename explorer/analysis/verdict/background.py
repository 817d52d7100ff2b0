"""The parts that all explanations of one token machine share: characters, trie, ways on.

Worked out once per machine and forgotten with it. An explanation after the first then costs the
walk of its own bytes.

Everything is asked of the machine over bytes and of the vocabulary. Which byte states can be
finished a table says at once; any other machine is asked (`CanFinish`), or the question is decided
by `explorer.tokens.walks.finishing`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Protocol, runtime_checkable
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters.view import Characters
from explorer.analysis.verdict.paths import Paths
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Int32, whole_table
from explorer.budget import Meter
from explorer.errors import ExplorerError
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.walks.failing import fail_words, run, writable_bytes
from explorer.tokens.walks.finishing import Finishing
from explorer.tokens.walks.trie import Trie, single_bytes, trie_for


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
        tokens: Bytes by id.
        word_of: int32[ids], the number of each id's bytes in byte order; -1 if it writes none.
    """

    def __init__(self, tokens: tuple[bytes | None, ...], word_of: Int32) -> None:
        text = np.flatnonzero(word_of >= 0)
        self._ids = text[np.argsort(word_of[text], kind="stable")].astype(np.int32)
        listed: list[int] = self._ids.tolist()
        self._data = [tokens[token] or b"" for token in listed]

    def starting_with(self, prefix: bytes) -> Int32:
        """The ids whose bytes begin with a prefix, in byte order."""
        low, high = self._begin_with(prefix)
        return self._ids[low:high]

    def _begin_with(self, prefix: bytes) -> tuple[int, int]:
        """The places of the tokens that begin with a prefix: the first, and one past the last."""
        low = bisect_left(self._data, prefix)
        # The first string past all that begin so: the prefix with its last byte raised.
        cut = prefix.rstrip(b"\xff")
        if not cut:
            return low, len(self._data)
        return low, bisect_left(self._data, cut[:-1] + bytes([cut[-1] + 1]))

    def _lengths(self, data: bytes) -> Iterator[int]:
        """The lengths of the prefixes shared with tokens, each once, the longest first.

        Of 210,000 bytes only a few prefixes are shared with one token more than the next longer.
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
            count: How many at most.
        """
        nearest: list[int] = []
        for length in self._lengths(data):
            ids = self.starting_with(data[:length])
            ids = ids[allowed[ids]]
            if len(ids) > len(nearest):
                new = np.setdiff1d(ids, np.array(nearest, np.int32))
                order = np.lexsort((new, -rank[new]))
                nearest += new[order][: count - len(nearest)].tolist()
            if len(nearest) >= count:
                break
        return tuple(nearest)


@runtime_checkable
class CanFinish(Protocol):
    """A token machine that knows which byte states its vocabulary can finish."""

    def can_finish(self, byte_state: int) -> bool:
        """Whether this vocabulary can finish from a byte state."""
        ...


class Background:
    """A token machine with what explanations need beside it.

    Args:
        machine: A machine that follows a machine over bytes. It is held weakly, so that it can be
            forgotten: whoever uses its background holds it.
    """

    def __init__(self, machine: TokenMachine, byte_machine: ByteMachine) -> None:
        self._machine = ref(machine)
        self._byte_machine = byte_machine
        self._trie = trie_for(machine.vocabulary, byte_machine)
        self.characters = Characters(byte_machine)
        self._tokens = machine.vocabulary.tokens
        self._lock = Lock()

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
    def byte_machine(self) -> ByteMachine:
        """The machine over bytes that it follows."""
        return self._byte_machine

    @property
    def trie(self) -> Trie:
        """The trie of the bytes of all tokens."""
        return self._trie

    @cached_property
    def sorted_tokens(self) -> SortedTokens:
        """The vocabulary in byte order."""
        is_text = np.array([data is not None for data in self._tokens], np.bool_)
        return SortedTokens(self._tokens, np.where(is_text, self.word_of, np.int32(-1)))

    @cached_property
    def word_of(self) -> Int32:
        """int32[ids], the word of the trie that each id writes; -1 if it writes no text."""
        word_of = np.full(len(self._tokens), -1, np.int32)
        word_of[self.trie.first_id] = np.arange(self.trie.num_words, dtype=np.int32)
        word_of[self.trie.further_id] = self.trie.further_word
        return word_of

    def ids_of(self, token: int) -> tuple[int, ...]:
        """All ids that write the same bytes as a token of text, in order."""
        word = self.word_of[token]
        further = self.trie.further_id[self.trie.further_word == word]
        return tuple(sorted([int(self.trie.first_id[word]), *further.tolist()]))

    # Which byte states this vocabulary can finish.

    def can_finish(self, byte_state: int) -> bool:
        """Whether the vocabulary can finish from a byte state in which a token ends."""
        if byte_state == NO_ARC:
            return False
        if self._kept is not None:
            return bool(self._kept[byte_state])
        machine = self.machine
        if isinstance(machine, CanFinish):
            return machine.can_finish(byte_state)
        with self._lock:
            return self._finishing.can_finish(byte_state, Meter())

    def finishing(self, byte_states: Int32) -> Bool:
        """`can_finish` of many byte states, none of them `NO_ARC`."""
        if self._kept is not None:
            return self._kept[byte_states]
        distinct, place = np.unique(byte_states, return_inverse=True)
        able = np.array([self.can_finish(state) for state in distinct.tolist()], np.bool_)
        return able[place]

    def state_after(self, text: bytes, wanted: int) -> int:
        """The byte state after a text, or `NO_ARC`.

        Args:
            wanted: The state that it should lead to. Where the ends of tokens count a text leads to
                several, and this is taken for the one if any text of the constraint begins so.
        """
        machine, constraint = self.byte_machine, self.machine.constraint
        if constraint is None or not constraint.over_tokens:
            after = int(run(machine, machine.start, text)[-1])
            # A text does not say where the control tokens stood.
            return wanted if after != wanted and machine.reads_letters else after
        texts = constraint.machine
        return NO_ARC if run(texts, texts.start, text)[-1] == NO_ARC else wanted

    def writable(self, byte_state: int, data: bytes) -> bytes | None:
        """The bytes that this vocabulary can write after some others and still finish, ascending.

        Args:
            byte_state: Where a token begins; a state that can be finished.
            data: Bytes that the machine can read from there.

        Returns:
            The bytes; ``None`` where finding them would take too long.
        """
        return writable_bytes(self.trie, self.byte_machine, self.finishing, byte_state, data)

    def fail_words(self, byte_state: int, owed: int) -> tuple[Int32, Int32, Int32]:
        """The offset at which each word fails; see `explorer.tokens.walks.failing.fail_words`."""
        return fail_words(self.trie, self.byte_machine, byte_state, owed)

    @cached_property
    def _kept(self) -> Bool | None:
        """bool[byte states], which ones can be finished; ``None`` unless all are known."""
        if whole_table(self.byte_machine) is None:
            return None
        table = table_of(self.machine)
        if table is None:
            # Every byte state can finish, so with all bytes at hand there is no question.
            with_all_bytes = bool(single_bytes(self.trie).all())
            if self.byte_machine.over_tokens or self.byte_machine.reads_letters:
                return None
            return np.ones(self.byte_machine.num_states, np.bool_) if with_all_bytes else None
        kept = np.zeros(self.byte_machine.num_states, np.bool_)
        kept[table.char_state] = True
        return kept

    @cached_property
    def _finishing(self) -> Finishing:
        return Finishing(self.byte_machine, self.trie)

    @cached_property
    def paths(self) -> Paths:
        """The searches of the machine."""
        return Paths(self)


@memo
def background_of(machine: TokenMachine) -> Background:
    """The background of a token machine, made on first use.

    Raises:
        ExplorerError: The machine has no constraint, so there is nothing to explain.
    """
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
