"""The contents of a trace: its masks and other fields, their consistency, and derived properties.

Users hold a `explorer.decoding.trace.trace.Trace`, which adds the textual form, the records and the
file.

A mask at 131,072 tokens takes 16 kB, and a run of a thousand steps has a thousand of them. But most
tokens are allowed at the same positions. Two ids are in one *class* if no mask of the trace
distinguishes them; a mask is then a *row* of a few hundred bits, one per class, and the class of
each id is stored once.

The form is the same for every kind of machine. For a table the classes are its own token classes,
so a row is a row of the table. For a machine without a table they are computed from the masks of
the trace's positions (`SeenClasses`): all ids are in one class until a mask allows only some ids of
a class; these then become a new class. The numbers depend only on the masks and their order, so
equal runs have equal classes. A reader of a trace need not know the kind of machine. Class 0 holds
what no position allows, class 1 the ids that end the text.

Cost: two bytes per id once, an eighth of a byte per class and distinct row, two ints per position;
one pass over the vocabulary per mask that `SeenClasses` had not seen (0.15 ms at 131,072 ids).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from types import NoneType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import letter, show_bytes
from explorer.arguments import flag, whole_number, wrong
from explorer.automata.machine import Bool, Int32
from explorer.decoding.models.model import Message
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.records import Position, Step
from explorer.errors import ExplorerError
from explorer.jit import jit
from explorer.languages.constraint import Constraint
from explorer.languages.phases.followed import phase_net
from explorer.languages.sources.serial import source_from_dict
from explorer.tokens.words import DEAD_CLASS, EOS_CLASS, NUM_FIXED_CLASSES, UInt32
from explorer.vocabulary import Vocabulary

EXAMPLES_PER_CLASS: Final = 6
"""The most tokens of a token class whose bytes a trace keeps."""

NARROW: Final = 2**16
"""The most classes for which the class of an id takes two bytes instead of four."""


@dataclass(frozen=True, slots=True)
class MaskRows:
    """The masks of every position of a trace.

    Args:
        num_classes: The number of classes, including 0 and 1.
        class_bytes: The class of each id in two bytes if they suffice, otherwise four;
            little-endian.
        rows: The distinct rows, packed eight classes to a byte (`unpack_row`).
        row_of: The index of each position's row by the constraint alone.
        kept_row_of: The index of each position's row within the token budget.
    """

    num_classes: int
    class_bytes: bytes
    rows: tuple[bytes, ...]
    row_of: tuple[int, ...]
    kept_row_of: tuple[int, ...]

    @property
    def bytes_per_class(self) -> int:
        """The number of bytes for the class of an id, 2 or 4."""
        return bytes_per_class(self.num_classes)

    def token_class(self) -> Int32:
        """int32[size of the vocabulary], the class of each id."""
        kind = "<u2" if self.bytes_per_class == 2 else "<i4"
        return np.frombuffer(self.class_bytes, kind).astype(np.int32)

    def row(self, k: int, *, with_budget: bool = True) -> Bool:
        """The classes that position k allows, after the token budget or by the constraint alone.

        Returns:
            bool[num_classes].
        """
        number = self.kept_row_of[k] if with_budget else self.row_of[k]
        return unpack_row(self.rows[number], self.num_classes)

    def examples(self, most: int) -> list[int]:
        """The first `EXAMPLES_PER_CLASS` ids of each class that some position allows.

        Args:
            most: Only classes below this number are included.
        """
        first = first_of_classes(self.token_class(), self.num_classes, EXAMPLES_PER_CLASS)
        listed = first[DEAD_CLASS + 1 : most]
        return listed[listed >= 0].tolist()


def bytes_per_class(num_classes: int) -> int:
    """The number of bytes for the class of an id in a trace, 2 or 4."""
    return 2 if num_classes <= NARROW else 4


def pack_classes(token_class: NDArray[np.integer[Any]], count: int) -> bytes:
    """The class of each id, packed for `MaskRows.class_bytes`.

    Args:
        token_class: int[ids].
    """
    return token_class.astype("<u2" if bytes_per_class(count) == 2 else "<i4").tobytes()


def unpack_row(row: bytes, num_classes: int) -> Bool:
    """A packed row as flags.

    Returns:
        bool[num_classes].

    Example:
        >>> unpack_row(bytes([0b01100000]), 3).tolist()
        [False, True, True]
    """
    return np.unpackbits(np.frombuffer(row, np.uint8), count=num_classes).astype(np.bool_)


@jit
def _split(words: UInt32, token_class: Int32, sizes: Int32, count: int) -> int:
    """Refine the classes by one mask, in place; return the new number of classes.

    The allowed ids of a class get a new number if the mask does not allow all of the class, and
    always if they were in the dead class.
    """
    allowed = np.zeros(count, np.int32)
    for token in range(token_class.shape[0]):
        if words[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            allowed[token_class[token]] += 1
    following = np.full(count, -1, np.int32)
    before = count
    for token in range(token_class.shape[0]):
        old = token_class[token]
        if old >= before or not words[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            continue
        if old != 0 and allowed[old] == sizes[old]:
            continue
        if following[old] < 0:
            following[old] = count
            sizes[count] = allowed[old]
            count += 1
        token_class[token] = following[old]
    for old in range(before):
        if following[old] >= 0:
            sizes[old] -= allowed[old]
    return count


@jit
def first_of_classes(token_class: Int32, count: int, most: int) -> Int32:
    """The first ids of each class.

    Args:
        token_class: int32[ids].

    Returns:
        int32[count, most], ascending, padded with -1.
    """
    first = np.full((count, most), -1, np.int32)
    filled = np.zeros(count, np.int32)
    for token in range(token_class.shape[0]):
        which = token_class[token]
        if filled[which] < most:
            first[which, filled[which]] = token
            filled[which] += 1
    return first


class SeenClasses:
    """Classes computed mask by mask; not thread-safe, its owner holds a lock.

    A session computes its trace after every step, and the next path mostly extends the last one. So
    the partition is kept and refined further.

    Example:
        >>> seen = SeenClasses(5, (4,))
        >>> masks = [np.array([0b00011], np.uint32), np.array([0b10010], np.uint32)]
        >>> count, data, rows = seen.of([mask.tobytes() for mask in masks])
        >>> np.frombuffer(data, "<u2").tolist()
        [2, 3, 0, 0, 1]
        >>> [np.unpackbits(np.frombuffer(row, np.uint8), count=count).tolist() for row in rows]
        [[0, 0, 1, 1], [0, 1, 0, 1]]
    """

    def __init__(self, size: int, eos_ids: Sequence[int]) -> None:
        self._size = size
        self._eos_ids = list(eos_ids)
        # The partition is allocated when the first masks come.
        self._masks: tuple[bytes, ...] | None = None

    def of(self, masks: Sequence[bytes]) -> tuple[int, bytes, tuple[bytes, ...]]:
        """The classes that some masks distinguish.

        Returns:
            The number of classes; the class of each id and the row of each mask, both packed as in
            `MaskRows`.
        """
        known = () if self._masks is None else self._masks
        if self._masks is None or tuple(masks[: len(known)]) != known:
            self._begin()
            known = ()
        for mask in masks[len(known) :]:
            while 2 * self._count > len(self._sizes):
                self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            words = np.frombuffer(mask, "<u4")
            self._count = _split(words, self._token_class, self._sizes, self._count)
            self._packed = None
        self._masks = tuple(masks)
        if self._packed is None:
            self._packed = pack_classes(self._token_class, self._count)
        # A class is represented by its first id; no mask allows an empty class.
        first = np.full(self._count, -1, np.int64)
        first[self._token_class[::-1]] = np.arange(self._size)[::-1]
        filled: Bool = first >= 0
        filled[DEAD_CLASS] = False
        rows: list[bytes] = []
        for mask in masks:
            words = np.frombuffer(mask, "<u4")
            row = (words[first >> 5] >> (first & 31).astype(np.uint32) & 1).astype(np.bool_)
            rows.append(np.packbits(row & filled).tobytes())
        return self._count, self._packed, tuple(rows)

    def _begin(self) -> None:
        self._token_class: Int32 = np.full(self._size, DEAD_CLASS, np.int32)
        self._token_class[self._eos_ids] = EOS_CLASS
        self._count = NUM_FIXED_CLASSES
        self._sizes: Int32 = np.zeros(64, np.int32)
        self._sizes[:NUM_FIXED_CLASSES] = (self._size - len(self._eos_ids), len(self._eos_ids))
        self._masks = ()
        self._packed: bytes | None = None


MAX_CLASSES_SHOWN: Final = 2_000
"""The most classes whose tokens a trace keeps for display."""


@dataclass(frozen=True)
class MentionedTokens:
    """The tokens of the vocabulary that a trace mentions.

    Args:
        fingerprint: The fingerprint of the whole vocabulary (`Vocabulary.fingerprint`).
        size: The number of its ids.
        eos_ids: The ids that end a text.
        data: The bytes of each mentioned id; ``None`` for one that is not text, ``b""`` for an
            empty one.
        special: The names of mentioned ids that are not text.
    """

    fingerprint: str
    size: int
    eos_ids: tuple[int, ...]
    data: Mapping[int, bytes | None]
    special: Mapping[int, str] = field(default_factory=dict[int, str])

    @classmethod
    def of(cls, vocabulary: Vocabulary, mentioned: Iterable[int] | None = None) -> MentionedTokens:
        """The data of a vocabulary about some tokens.

        Args:
            mentioned: Ids, possibly past the vocabulary; by default all ids.
        """
        size = len(vocabulary)
        ids = range(size) if mentioned is None else sorted(set(mentioned))
        data = {token: vocabulary.tokens[token] if token < size else None for token in ids}
        data |= {token: b"" for token in vocabulary.empty_ids if token in data}
        return cls(
            fingerprint=vocabulary.fingerprint,
            size=size,
            eos_ids=vocabulary.eos_ids,
            data=data,
            special={t: vocabulary.special[t] for t in ids if t in vocabulary.special},
        )

    def __len__(self) -> int:
        """The number of ids of the vocabulary."""
        return self.size

    def show(self, token: int) -> str:
        """A token for display: text in quotes, bytes as ``<C3>``, its name, or its id.

        Example:
            >>> known = {0: b" the", 1: b"\\xf0\\x9f", 3: None}
            >>> table = MentionedTokens("", 4, (3,), known, {3: "</s>"})
            >>> [table.show(token) for token in range(4)]
            ["' the'", '<F0><9F>', 'id 2', '</s>']
        """
        data = self.data.get(token)
        if not data:
            return self.special.get(token) or f"id {token}"
        try:
            return repr(data.decode())
        except UnicodeDecodeError:
            return show_bytes(data)


@dataclass(frozen=True)
class Rejection:
    """A token of another engine's run that the constraint does not allow.

    Args:
        index: The number of tokens before it.
        token: Its id.
        state: The state that does not allow it.
    """

    index: int
    token: int
    state: int


_MADE_BY: Final = "Take traces from `Session.trace` or `Trace.load`."

_KINDS: Final[tuple[tuple[str, tuple[type, ...], str], ...]] = (
    ("model", (str, NoneType), "a name, or None"),
    ("prompt", (str, tuple, NoneType), "a text, messages, or None"),
    ("prompt_ids", (tuple,), "a tuple of token ids"),
    ("tokens", (MentionedTokens,), "the MentionedTokens of a vocabulary"),
    ("sampler", (Sampler,), "a Sampler"),
    ("seed", (int,), "a whole number"),
    ("stream", (int,), "a whole number"),
    ("max_tokens", (int, NoneType), "a whole number, or None"),
    ("masking_budget", (bool,), "True or False"),
    ("source", (Mapping, NoneType), "a mapping, or None"),
    ("num_states", (int,), "a whole number"),
    ("num_char_states", (int,), "a whole number"),
    ("masks", (MaskRows, NoneType), "the MaskRows of its positions, or None"),
    ("positions", (tuple,), "a tuple of Positions"),
    ("steps", (tuple,), "a tuple of Steps"),
    ("rejection", (Rejection, NoneType), "a Rejection, or None"),
    ("unread", (tuple,), "a tuple of token ids"),
    ("draft", (str, NoneType), "a name, or None"),
    ("prefixed", (int,), "a whole number"),
)
"""The fields of a trace, each with its types and a description of them."""


@dataclass(frozen=True, repr=False)
class Recording:
    """The positions and steps of a run, with their common data; the base class of `Trace`."""

    model: str | None
    prompt: str | tuple[Message, ...] | None
    prompt_ids: tuple[int, ...]
    tokens: MentionedTokens
    sampler: Sampler
    seed: int
    stream: int
    max_tokens: int | None
    masking_budget: bool
    source: Mapping[str, object] | None
    num_states: int
    num_char_states: int
    masks: MaskRows | None
    positions: tuple[Position, ...]
    steps: tuple[Step, ...]
    rejection: Rejection | None = None
    unread: tuple[int, ...] = ()
    draft: str | None = None
    prefixed: int = 0
    made_with: Constraint | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, kind, wanted in _KINDS:
            value: object = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind):
                raise wrong(name, value, wanted, remedy=_MADE_BY)
        for name, kind in (("positions", Position), ("steps", Step)):
            held: tuple[object, ...] = getattr(self, name)
            # Only the first and the last, because a trace is made after each of 10,000 steps.
            for one in (*held[:1], *held[-1:]):
                if not isinstance(one, kind):
                    raise wrong(f"One of the {name}", one, f"a {kind.__name__}", remedy=_MADE_BY)
        if len(self.positions) != len(self.steps) + 1:
            raise ExplorerError(
                f"A trace of {len(self.steps)} steps has {len(self.steps) + 1} positions, not "
                f"{len(self.positions)}.",
                remedy=_MADE_BY,
            )
        if not 0 <= self.prefixed <= len(self.prompt_ids):
            raise ExplorerError(
                f"A trace of {len(self.prompt_ids)} prompt ids says that the last {self.prefixed} "
                "begin the answer.",
                remedy=_MADE_BY,
            )
        masks = self.masks
        if masks is not None and not (
            len(masks.row_of) == len(masks.kept_row_of) == len(self.positions)
        ):
            raise ExplorerError(
                f"A trace of {len(self.positions)} positions has as many masks, not "
                f"{len(masks.row_of)} and {len(masks.kept_row_of)}.",
                remedy=_MADE_BY,
            )

    def __getstate__(self) -> dict[str, object]:
        # Like a file, a pickle holds the source but not the constraint made from it.
        kept: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        return kept | {"made_with": None}

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.steps)

    @property
    def data(self) -> bytes:
        """The bytes of all tokens, without the prompt's."""
        return self.positions[-1].data

    @property
    def text(self) -> str:
        """The text of the tokens; half a character at its end shows as U+FFFD."""
        return self.positions[-1].text

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids, without the prompt's."""
        return tuple(step.token for step in self.steps)

    @property
    def healed(self) -> str:
        """The end of the prompt that the text repeats because of healing; empty without."""
        source: Mapping[str, Any] = self.source or {}
        while source.get("kind") == "staged":
            source = source["parts"][0]
        return str(source.get("prefix", "")) if source.get("kind") == "healed" else ""

    @property
    def answer(self) -> str:
        """The text without the repeated end of the prompt (`healed`)."""
        return self.text[len(self.healed) :] if self.text.startswith(self.healed) else ""

    @property
    def finished(self) -> bool:
        """Whether the text has ended and so satisfies the constraint."""
        return self.positions[-1].finished

    @cached_property
    def constraint(self) -> Constraint | None:
        """The constraint, rebuilt from its source if needed; ``None`` for an unconstrained run."""
        if self.made_with is not None:  # Rebuilding takes longer than a step.
            return self.made_with
        return None if self.source is None else Constraint(source_from_dict(self.source))

    @cached_property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """The phases in which each step begins, the outermost first.

        Empty for steps outside all phases, and in a `part` that does not begin at the start.
        """
        if self.constraint is None or not self.constraint.source.phased:
            return ((),) * len(self.steps)
        names = self.tokens.special
        written = [
            b"" if step.token in self.tokens.eos_ids
            else step.data or letter(names.get(step.token, ""), step.token)
            for step in self.steps
        ]  # fmt: skip
        along = phase_net(self.constraint.source).names_along(b"".join(written))
        begins = accumulate(map(len, written), initial=0)
        return tuple(along[at] if at < len(along) else () for at in [*begins][:-1])

    @property
    def num_classes(self) -> int:
        """The number of token classes of the masks; 0 without a constraint."""
        return 0 if self.masks is None else self.masks.num_classes

    @cached_property
    def token_class(self) -> Int32:
        """int32[size of the vocabulary], the class of each id; empty without a constraint."""
        return np.empty(0, np.int32) if self.masks is None else self.masks.token_class()

    def row(self, k: int, *, with_budget: bool = True) -> Bool:
        """The token classes that position k allows.

        Args:
            with_budget: Whether to apply the token budget, or the constraint alone.

        Returns:
            bool[num_classes]; empty without a constraint.
        """
        k = self._checked(k)
        if type(with_budget) is not bool:
            with_budget = flag("with_budget", with_budget)
        if self.masks is None:
            return np.empty(0, np.bool_)
        return self.masks.row(k, with_budget=with_budget)

    def part(self, start: int, end: int) -> Self:
        """The part of the trace between two positions, both included.

        Positions keep their own index, but `row` and `allowed` count from ``start``.
        """
        start, end = self._checked(start), self._checked(end)
        masks = self.masks
        if masks is not None:
            masks = replace(
                masks,
                row_of=masks.row_of[start : end + 1],
                kept_row_of=masks.kept_row_of[start : end + 1],
            )
        positions, steps = self.positions[start : end + 1], self.steps[start:end]
        return replace(self, masks=masks, positions=positions, steps=steps)

    def _checked(self, k: int) -> int:
        if type(k) is not int:
            k = whole_number("k", k, None)
        if not 0 <= k < len(self.positions):
            number = str(k) if abs(k) < 10**18 else "of that size"
            raise ExplorerError(
                f"The trace has no position {number}; it has the positions 0 to {len(self.steps)}.",
                remedy="Position k is after k tokens.",
                evidence={"k": k, "positions": len(self.positions)},
            )
        return k

    def allowed(self, k: int) -> Bool:
        """The mask at position k, token budget included.

        Returns:
            bool[size of the vocabulary].
        """
        row = self.row(k)
        if len(row):
            return row[self.token_class]
        allowed = np.full(self.tokens.size, not self.positions[k].finished)
        allowed[list(self.tokens.eos_ids)] = True
        return allowed
