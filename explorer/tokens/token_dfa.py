"""The token DFA: the constraint as a table over tokens.

A table of states × token classes, and the class of each token id. The vocabulary and the constraint
stay with the machine, because a mask without them cannot be explained.

A state's mask is the union of the classes that its row allows, put together class by class and not
id by id (`ClassWords`). A large class (a quoted string's run of letters holds 126,000 ids) is kept
as packed words and joined to a mask by OR, 16 kB at a time; the ids of small classes are set one by
one. Either costs about half a microsecond for a class of `num_words / 8` ids, so that is where the
line is drawn. A mask at 131,072 tokens takes a few microseconds, where reading a row of classes id
by id takes a hundred; the masks of visited states are kept.

Source: Koo, Liu & He 2024 store such sets under "terminal labels"; here the classes are found by
the composition, so the sets are disjoint and every mask is a union of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from explorer.arguments import file_path, instance, listed, whole_number
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.errors import ConstraintError, MissingDependency
from explorer.jit import jit
from explorer.languages.constraint import Constraint
from explorer.memo import Kept
from explorer.tokens.closed_form.assemble import Table
from explorer.tokens.lost import Lost
from explorer.tokens.machine import Filtered, Mark, Refusal, TokenMachine, TokenTable, storable_of
from explorer.tokens.masks.needed import fitting_words
from explorer.tokens.report import Report
from explorer.tokens.words import (
    DEAD,
    DONE,
    EOS_CLASS,
    FREE,
    SENTINEL_DISTANCE,
    Cells,
    UInt16,
    UInt32,
    checked_state,
    num_words,
    pack,
    unpack,
)
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

    from explorer.tokens.masks.device import DeviceMasks


@dataclass(frozen=True, eq=False)
class TokenDFA:
    """A deterministic automaton over token ids, trimmed: every state can finish.

    Made by `explorer.compile`. A state is an int: 0 or more, or one of the sentinels `DONE`
    (only EOS again), `FREE` (unconstrained) and `DEAD` (nothing).

    Args:
        constraint: The language, with its source and its character FSA.
        vocabulary: The tokens.
        table: int16 or int32[num_states, num_classes], the next state, `DEAD` or `DONE`.
        token_class: uint16 or int32[len(vocabulary)], the class of each id. Class 0 is never
            allowed; class 1 holds all EOS ids.
        char_state: int32[num_states], the character state of each token state.
        accepting: bool[num_states], where the text may end.
        distance: int32[num_states], the fewest tokens to the end of the text, EOS included.
        stuck: int32[n], character states that tokens reach and this vocabulary cannot finish.
        report: Times and sizes of the compilation.
        sets: The ids of each class in the form of `ClassWords`; made from ``token_class`` by
            default.
        filtered: The machine behind a filter that this table tabulates, with the same numbers;
            ``None`` where no filter masks anything.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> [vocab.tokens[i] for i in dfa.allowed(dfa.start).nonzero()[0]]
        [b'f', b'foo', b'food']
        >>> dfa.step(dfa.step(dfa.start, 4), 5) == explorer.DONE
        True
    """

    constraint: Constraint
    vocabulary: Vocabulary
    table: Table
    token_class: NDArray[np.uint16] | Int32
    char_state: Int32
    accepting: Bool
    distance: Int32
    stuck: Int32
    report: Report
    sets: ClassWords | None = field(default=None, repr=False)
    filtered: Filtered | None = field(default=None, repr=False)
    _masks: Kept[int, UInt32] = field(
        default_factory=lambda: Kept[int, UInt32](), init=False, repr=False
    )

    @property
    def start(self) -> int:
        """The start state, 0."""
        return 0

    @property
    def num_states(self) -> int:
        """The number of token states; the sentinels do not count."""
        return self.table.shape[0]

    @property
    def num_classes(self) -> int:
        """The number of token classes, the dead class and the EOS class included."""
        return self.table.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes held by the machine's arrays."""
        arrays = (self.table, self.token_class, self.char_state, self.accepting, self.distance)
        return sum(array.nbytes for array in arrays) + self._sets.nbytes

    def _checked_state(self, state: int) -> int:
        # The plain case comes first: this runs at every step. `FREE` is the lowest sentinel.
        if type(state) is int and FREE <= state < len(self.table):
            return state
        return checked_state(state, self.num_states)

    def class_row(self, state: int) -> Bool:
        """The token classes that a state allows.

        Args:
            state: A state or a sentinel.

        Returns:
            bool[num_classes].
        """
        state = self._checked_state(state)
        if state >= 0:
            return self.table[state] != DEAD
        row = np.zeros(self.num_classes, np.bool_)
        row[EOS_CLASS] = state == DONE
        return row

    def allowed(self, state: int) -> Bool:
        """The mask of a state: the token ids that may come next.

        Args:
            state: A state or a sentinel. `DONE` allows only EOS, `FREE` every id, `DEAD` none.

        Returns:
            bool[len(vocabulary)], read-only.

        Raises:
            ExplorerError: There is no such state.
        """
        row = unpack(self.mask(state), len(self.vocabulary))
        row.setflags(write=False)
        return row

    @property
    def byte_machine(self) -> Dfa:
        """The character FSA that the machine follows, with token ends where they matter."""
        return self._followed

    @cached_property
    def _followed(self) -> Dfa:
        return self.constraint.for_tokens(Meter())

    def byte_state(self, state: int) -> int:
        """The character state of a token state; `NO_ARC` for a sentinel."""
        state = self._checked_state(state)
        return int(self.char_state[state]) if state >= 0 else NO_ARC

    def distance_to_end(self, state: int) -> int | None:
        """The fewest tokens to the end of the text, EOS included; ``None`` from `DEAD`.

        0 from `DONE`, where the end is written; 1 from `FREE`; ``None`` from `DEAD`.
        """
        state = self._checked_state(state)
        if state >= 0:
            return int(self.distance[state])
        return SENTINEL_DISTANCE[state]

    def mask(self, state: int) -> UInt32:
        """The mask of a state as packed words; see `explorer.tokens.machine.TokenMachine`.

        Returns:
            uint32[ceil(len(vocabulary) / 32)], read-only; kept for visited states.

        Raises:
            ExplorerError: There is no such state.
        """
        state = self._checked_state(state)
        words = self._masks.get(state)
        if words is None:
            if state == FREE:
                words = pack(np.ones(len(self.vocabulary), np.bool_))
            elif state < 0:
                words = self._sets.mask(np.where(self.class_row(state), DONE, DEAD).astype("i2"))
            else:
                words = self._sets.mask(self.table[state])
            words.setflags(write=False)
            self._masks.put(state, words, words.nbytes)
        return words

    @property
    def knows_distances(self) -> bool:
        """True: a table knows them all (`distance`)."""
        return True

    def mask_within(self, state: int, remaining: int) -> UInt32:
        """The mask of the tokens after which the text can still be ended in time.

        Args:
            state: A state or a sentinel; no budget changes the mask of a sentinel.
            remaining: The number of tokens that may still be written, EOS included.

        Returns:
            As `mask`, read-only; where the budget removes nothing, the same object.

        Raises:
            ExplorerError: There is no such state, or ``remaining`` is not a whole number.
        """
        state = self._checked_state(state)
        remaining = whole_number("remaining", remaining, None)
        words = None if state < 0 else fitting_words(self).words(state, remaining)
        return self.mask(state) if words is None else words

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token.

        Args:
            state: A state or a sentinel.
            token: A token id.

        Returns:
            The next state or `DONE`; ``None`` where the token is not allowed, ids outside the
            vocabulary included.

        Raises:
            ExplorerError: There is no such state.
        """
        state = self._checked_state(state)
        if type(token) is not int:
            token = whole_number("token", token, None)
        if not 0 <= token < len(self.token_class):
            return None
        if state == FREE:
            return FREE
        class_ = int(self.token_class[token])
        if state < 0:
            return DONE if state == DONE and class_ == EOS_CLASS else None
        target = int(self.table[state, class_])
        return None if target == DEAD else target

    def walk(self, tokens: Iterable[int], state: int | None = None) -> list[int]:
        """The states along a token sequence, the first included, up to the first masked token.

        Args:
            tokens: Token ids.
            state: The state to begin in; default `start`.
        """
        states = [self._checked_state(self.start if state is None else state)]
        for token in listed("tokens", tokens, "a list of token ids"):
            following = self.step(states[-1], cast("int", token))
            if following is None:
                break
            states.append(following)
        return states

    def is_final(self, state: int) -> bool:
        """Whether the text may end here, so that EOS is allowed; true of `DONE`.

        Raises:
            ExplorerError: There is no such state.
        """
        state = self._checked_state(state)
        return bool(self.accepting[state]) if state >= 0 else state in (DONE, FREE)

    @cached_property
    def _sets(self) -> ClassWords:
        if self.sets is not None:
            return self.sets
        live = int(np.count_nonzero(self.token_class))
        return class_words(self.token_class, self.num_classes, live)

    @cached_property
    def tokens_of_class(self) -> tuple[Int32, ...]:
        """The ids of each token class, ascending; those of the dead class are never allowed."""
        order = np.argsort(self.token_class, kind="stable").astype(np.int32)
        counts = np.bincount(self.token_class, minlength=self.num_classes)
        return tuple(np.split(order, np.cumsum(counts)[:-1]))

    @property
    def lost(self) -> Lost:
        """The parts of the constraint that this vocabulary cannot write; see `Report.lost`."""
        return self.report.lost

    def to(self, device: str | torch.device = "cpu") -> DeviceMasks:
        """The machine's tables on a device, for masks of whole batches there.

        Args:
            device: A device's name in torch, such as ``"cpu"`` or ``"cuda"``.

        Returns:
            ``mask_(logits, states)`` and ``advance(states, tokens)``; see `DeviceMasks`.
        """
        try:
            from explorer.tokens.masks.device import DeviceMasks
        except ModuleNotFoundError as error:
            raise MissingDependency(
                f"Masks on a device need the library {error.name!r}, which is not installed.",
                remedy="Install the extra `models`: pip install 'constraint-explorer[models]'.",
                evidence={"library": error.name},
            ) from error
        return DeviceMasks([self], device=device)

    @property
    def unfiltered(self) -> TokenMachine | None:
        """The machine before the filter; ``None`` where there is no filter."""
        return None if self.filtered is None else self.filtered.unfiltered

    @property
    def filter_name(self) -> str:
        """The name of the filter that this is a table behind; empty where there is none."""
        return "" if self.filtered is None else self.filtered.filter_name

    def refusal(self, state: int, token: int) -> Refusal | None:
        """The filter's reason for masking a token that the text allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        return None if self.filtered is None else self.filtered.refusal(state, token)

    def marks(self, state: int, token: int) -> frozenset[Mark]:
        """The remarks of a filter on a token that is allowed in a state."""
        return frozenset() if self.filtered is None else self.filtered.marks(state, token)

    def text_to(self, state: int) -> bytes | None:
        """A text that led to a state behind a filter; ``None`` where none was recorded."""
        return None if self.filtered is None else self.filtered.text_to(state)

    def of_constraint(self, constraint: Constraint) -> TokenDFA:
        """This table under a constraint of the same texts, such as one with a stage removed.

        Args:
            constraint: The constraint.
        """
        return replace(self, constraint=constraint)

    def save(self, path: str | Path) -> None:
        """Write the machine, its constraint and the vocabulary's fingerprint to one file.

        For a table behind a filter, the table before the filter is written; read it with
        `explorer.tokens.filtered.apply.load_filtered`, which filters it again.

        Args:
            path: The file; an existing one is replaced, or left unchanged if that fails.

        Raises:
            FileError: The file cannot be written.

        Example:
            >>> import tempfile
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
            >>> dfa = explorer.compile(explorer.regex("ab*"), vocab)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     dfa.save(f"{folder}/machine")
            ...     TokenDFA.load(f"{folder}/machine", vocab).num_states
            2
        """
        filtered = None if self.filtered is None else storable_of(self.filtered)
        if filtered is not None:
            filtered.of_constraint(self.constraint).save(path)
        else:
            from explorer.tokens.closed_form import store  # Only files need it.

            store.save(
                file_path("path", path),
                self.constraint,
                self.vocabulary.fingerprint,
                self.report,
                self,
            )

    @classmethod
    def load(cls, path: str | Path, vocabulary: Vocabulary) -> TokenDFA:
        """Read a saved machine.

        Args:
            path: A file that `save` wrote.
            vocabulary: The vocabulary that it was compiled for.

        Raises:
            DamagedFile: The file is of another kind or version, damaged, or was compiled for
                another vocabulary.
            ConstraintError: It holds a machine behind a filter, which is more than a
                table; `explorer.tokens.filtered.apply.load_filtered` reads it.
        """
        machine = load_texts(path, vocabulary)
        if stages := machine.constraint.source.token_stages:
            raise ConstraintError(
                f"{path} holds a machine behind the stage {stages[0]}, which filters its tokens.",
                remedy="Read it with explorer.tokens.filtered.apply.load_filtered(path, "
                "vocabulary).",
                evidence={"stages": [str(stage) for stage in stages]},
            )
        return machine

    def __reduce__(self) -> tuple[object, ...]:
        return TokenDFA, (
            self.constraint, self.vocabulary, self.table, self.token_class, self.char_state,
            self.accepting, self.distance, self.stuck, self.report, None, self.filtered,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"TokenDFA({self.constraint!r}, {self.num_states} states, "
            f"{self.num_classes} token classes, {len(self.vocabulary):,} tokens)"
        )


def same_machine(one: TokenTable, other: TokenTable) -> bool:
    """Whether two tables are the same machine, state by state and token by token.

    Their classes may be numbered differently, as long as every token leads to the same states.
    """
    return (
        np.array_equal(one.char_state, other.char_state)
        and np.array_equal(one.accepting, other.accepting)
        and np.array_equal(one.distance, other.distance)
        and np.array_equal(one.stuck, other.stuck)
        and one.table.shape == other.table.shape
        and np.array_equal(one.table[:, one.token_class], other.table[:, other.token_class])
    )


def load_texts(path: str | Path, vocabulary: Vocabulary) -> TokenDFA:
    """The machine of the texts in a file, without the stages that filter tokens.

    Raises:
        DamagedFile: As in `TokenDFA.load`.
    """
    vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    from explorer.tokens.closed_form import store

    constraint, report, arrays = store.load(file_path("path", path), vocabulary)
    return TokenDFA(constraint=constraint, vocabulary=vocabulary, report=report, **arrays)


@jit
def _live(
    token_class: UInt16 | Int32, fours: NDArray[np.uint64], count: int, num_classes: int
) -> tuple[Int32, NDArray[np.int64]]:
    """The ids whose class is not 0, ascending, and how many each class has.

    Args:
        fours: The first classes, four at a time.
        count: The number of these ids.
    """
    ids = np.empty(count + 1, np.int32)  # Every id is written; only live ones advance the count.
    # Four counters take turns: neighbours often share a class, and adding to one counter again and
    # again would wait for itself.
    tally = np.zeros((4, num_classes), np.int32)
    filled = 0
    for k in range(fours.shape[0]):
        if fours[k] != 0:
            for turn in range(4):
                class_ = token_class[4 * k + turn]
                ids[filled] = 4 * k + turn
                filled += class_ != 0
                tally[turn, class_] += 1
    for token in range(4 * fours.shape[0], token_class.shape[0]):
        ids[filled] = token
        filled += token_class[token] != 0
        tally[0, token_class[token]] += 1
    sizes = np.zeros(num_classes, np.int64)
    for turn in range(4):
        sizes += tally[turn]
    sizes[0] = 0
    return ids[:count], sizes


@jit
def _by_class(
    ids: Int32, token_class: UInt16 | Int32, small: Bool, start: NDArray[np.int64]
) -> Int32:
    """The ids of small classes, grouped by class; each class begins at its ``start``."""
    place, ordered = start[:-1].copy(), np.empty(start[-1], np.int32)
    filled = 0
    for k in range(ids.shape[0]):  # Without a branch, which would be unpredictable.
        token = ids[k]
        ids[filled] = token
        filled += small[token_class[token]]
    for k in range(filled):
        class_ = token_class[ids[k]]
        ordered[place[class_]] = ids[k]
        place[class_] += 1
    return ordered


@jit
def _join(
    row: Cells, start: NDArray[np.int64], ids: Int32, large: Int32, words: UInt32, out: UInt32
) -> None:
    """The mask of a row: the union of the classes that are not -1 in it."""
    for class_ in range(row.shape[0]):
        if row[class_] == -1:
            continue
        if large[class_] >= 0:
            block = words[large[class_]]
            for k in range(out.shape[0]):
                out[k] |= block[k]
        else:
            for k in range(start[class_], start[class_ + 1]):
                token = ids[k]
                out[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@dataclass(frozen=True, slots=True, eq=False)
class ClassWords:
    """The ids of every token class, in the form from which masks are joined.

    Args:
        start: int64[classes + 1], where each small class begins in ``ids``.
        ids: int32[n], the ids of small classes, class by class.
        large: int32[classes], the row of ``words`` of a large class, else −1.
        words: uint32[large classes, ceil(tokens / 32)].
    """

    start: NDArray[np.int64]
    ids: Int32
    large: Int32
    words: UInt32

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.start.nbytes + self.ids.nbytes + self.large.nbytes + self.words.nbytes

    def mask(self, row: Cells) -> UInt32:
        """The packed mask of a row of the table.

        Args:
            row: int16 or int32[classes], -1 where the class is not allowed.

        Returns:
            uint32[ceil(tokens / 32)].
        """
        out = np.zeros(self.words.shape[1], np.uint32)
        _join(row, self.start, self.ids, self.large, self.words, out)
        return out


def _most(num_tokens: int) -> int:
    """The most ids of a small class."""
    return max(8, num_words(num_tokens) // 8)


def packed_bytes(num_tokens: int, num_live: int) -> int:
    """The most memory that `class_words` can take, with every class large."""
    return 8 * num_live + num_live // _most(num_tokens) * 4 * num_words(num_tokens)


def class_words(token_class: UInt16 | Int32, num_classes: int, num_live: int) -> ClassWords:
    """Sort the ids of a vocabulary by class. Cost: 0.2 ms for 131,072 ids, 0.02 ms for few live.

    Args:
        token_class: uint16 or int32[tokens]; class 0 is never allowed and left out.
        num_classes: The number of classes.
        num_live: The number of ids outside of class 0.

    Example:
        >>> sets = class_words(np.array([2, 0, 1, 2], np.uint16), 3, 3)
        >>> sets.mask(np.array([-1, -1, 7], np.int16)).tolist()
        [9]
    """
    classes = cast("UInt16", np.ascontiguousarray(token_class))
    narrow = len(classes) // 4 * 4 if classes.itemsize == 2 else 0
    ids, sizes = _live(classes, classes[:narrow].view(np.uint64), num_live, num_classes)
    is_large = sizes > _most(len(classes))
    large = np.full(num_classes, -1, np.int32)
    large[is_large] = np.arange(np.count_nonzero(is_large))
    start = np.zeros(num_classes + 1, np.int64)
    np.cumsum(np.where(is_large, 0, sizes), out=start[1:])
    ids = _by_class(ids, classes, ~is_large, start)
    words = np.zeros((np.count_nonzero(is_large), num_words(len(classes))), np.uint32)
    for row, class_ in enumerate(np.flatnonzero(is_large)):
        words[row] = pack(token_class == class_)
    return ClassWords(start, ids, large, words)
