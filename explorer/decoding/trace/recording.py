"""The contents of a trace: its fields, their consistency, and properties derived from them.

Users hold a `explorer.decoding.trace.trace.Trace`, which adds the textual form, the records and the
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from types import NoneType
from typing import Any, Final, Self

import numpy as np

from explorer.alphabet import letter, show_bytes
from explorer.arguments import flag, whole_number, wrong
from explorer.automata.machine import Bool, Int32
from explorer.decoding.models.model import Message
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.masks import MaskRows
from explorer.decoding.trace.records import Position, Step
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.phases.followed import phase_net
from explorer.languages.sources.serial import source_from_dict
from explorer.vocabulary import Vocabulary

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
