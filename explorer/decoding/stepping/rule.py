"""A session's view of a token machine: the mask of a state within a token budget, and forced runs.

It is a thin layer over any token machine (`explorer.tokens.machine`). It adds the token budget,
which needs the distance of every target and therefore a table, and masks in a form for traces.
`forced_run` follows the tokens that are the only ones allowed.

If only one text can follow, such as a tag or the key of a member, the model decides nothing but how
the text is split into tokens. With ``forced="prefill"`` it does not decide that either
(`prefilled_run`): the tokenizer's own tokens are taken and read in one forward pass. The last of
them is omitted if an allowed token begins with it and continues beyond the forced text: there the
model chooses as usual.

Cost: a visited pair of state and budget takes microseconds, a new one about 100 µs at 131,072 ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

import numpy as np

from explorer.alphabet import LETTER
from explorer.arguments import named_way
from explorer.automata.machine import Bool, Int32
from explorer.budget import Budget
from explorer.errors import ExplorerError, VocabularyError
from explorer.languages.constraint import Constraint
from explorer.languages.phases.followed import PartNet, phase_net
from explorer.languages.sources.serial import source_to_dict
from explorer.memo import memo
from explorer.tokens.filtered.table import visited_whole
from explorer.tokens.lazy import Free
from explorer.tokens.machine import (
    PlansAhead,
    TokenMachine,
    TokenTable,
    is_free,
    planner_of,
    table_of,
)
from explorer.tokens.masks.needed import FIRST_STATE, UNLIMITED, fitting_words
from explorer.tokens.shared import shared_machine
from explorer.tokens.words import DONE, FREE, UInt32, unpack
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:  # It comes with torch, which a machine does not need.
    from explorer.decoding.trace.recording import MaskRows, SeenClasses


@dataclass(frozen=True, eq=False)
class StateMask:
    """The mask of one state.

    Args:
        allowed: bool[len(vocabulary)], the tokens allowed next; read-only.
        row: The packed mask of the machine alone: for a table over token classes, for any other
            machine over ids.
        kept_row: The packed mask within the token budget; the same object if that removes nothing.
        over_budget: The number of ids that the token budget removes.
    """

    allowed: Bool
    row: bytes
    kept_row: bytes
    over_budget: int


def read_constraint(given: object) -> Constraint:
    """A user's constraint, which may be a type or a ``response_format``.

    Raises:
        ConstraintError: It is something else.
    """
    if isinstance(given, Constraint):
        return given
    from explorer.languages.types.source import as_constraint  # Few runs begin with a type.

    return as_constraint(given)


@dataclass(frozen=True, eq=False)
class Rule:
    """A token machine with the questions that a session asks."""

    machine: TokenMachine

    @classmethod
    def of(cls, constraint: object, vocabulary: Vocabulary, budget: Budget | None = None) -> Rule:
        """The rule of a user's constraint.

        Raises:
            ConstraintError: It is not a constraint; a string could mean a pattern or a text.
            VocabularyError: The token machine belongs to another vocabulary.
            BudgetExceeded, EmptyConstraint, IncompatibleVocabulary: As in `explorer.compile`.
        """
        match constraint:
            case None:
                return cls(Free(vocabulary))
            case Constraint():
                return cls(shared_machine(constraint, vocabulary, budget))
            case TokenMachine():
                if constraint.vocabulary.id_space != vocabulary.id_space:
                    raise VocabularyError(
                        "The token machine was compiled for another vocabulary than the model's: "
                        "the same ids would mean other text.",
                        remedy="Compile the constraint with `lm.vocabulary`, or give it as it is.",
                        evidence={
                            "machine": constraint.vocabulary.fingerprint,
                            "model": vocabulary.fingerprint,
                        },
                    )
                return cls(constraint)
            case _:
                return cls(shared_machine(read_constraint(constraint), vocabulary, budget))

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the machine."""
        return self.machine.vocabulary

    @property
    def start(self) -> int:
        """The state before the first token."""
        return self.machine.start

    @cached_property
    def source(self) -> Mapping[str, object] | None:
        """The constraint's source as a plain mapping; ``None`` without a constraint."""
        constraint = self.machine.constraint
        return None if constraint is None else source_to_dict(constraint.source)

    @cached_property
    def phases(self) -> PartNet | None:
        """The phases of the constraint; ``None`` if it has none."""
        constraint = self.machine.constraint
        phased = constraint is not None and constraint.source.phased
        return phase_net(constraint.source) if constraint is not None and phased else None

    def waits_for(self, ids: Sequence[int]) -> str:
        """The role that must write next; empty if it is the model.

        A phase with a role waits for that role (`explorer.phase`).
        """
        return "" if self.phases is None else self.phases.waits_for(self.vocabulary.written(ids))

    @property
    def num_byte_states(self) -> int:
        """The number of known states of the byte machine; 0 without a constraint."""
        machine = self.machine.byte_machine
        return 0 if machine is None else machine.num_states

    def byte_state(self, state: int) -> int:
        """The byte machine's state of a token state; `NO_ARC` for a sentinel."""
        return self.machine.byte_state(state)

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token regardless of the budget; ``None`` if not allowed."""
        return self.machine.step(state, token)

    def mask(self, state: int, remaining: int | None) -> StateMask:
        """The mask of a state.

        Args:
            remaining: The remaining token budget, EOS included; ``None`` for no limit, as for every
                machine that does not know the distances (`knows_distances`).
        """
        whole = self.machine.mask(state)
        words = whole if remaining is None else self.words(state, remaining)
        allowed = unpack(words, len(self.vocabulary))
        allowed.setflags(write=False)
        removed = 0 if words is whole else _count(whole) - _count(words)
        if self._table is None:
            row = whole.tobytes()
            return StateMask(allowed, row, words.tobytes() if removed else row, removed)
        needed = self._needed[state + FIRST_STATE]
        row = kept_row = np.packbits(needed <= UNLIMITED).tobytes()
        if words is not whole:
            kept_row = np.packbits(needed <= (remaining or 0)).tobytes()
        return StateMask(allowed, row, kept_row, removed)

    def words(self, state: int, remaining: int | None) -> UInt32:
        """The mask of a state as packed words; see `explorer.tokens.machine.TokenMachine.mask`.

        Returns:
            Read-only words; the machine's own if the budget removes nothing.
        """
        whole = self.machine.mask(state)
        if remaining is None or state < 0:
            return whole
        return whole if self._planner is None else self._planner.mask_within(state, remaining)

    @property
    def knows_distances(self) -> bool:
        """Whether the fewest tokens to the end are known, so that masks can keep a budget."""
        return self._planner is not None or is_free(self.machine)

    @cached_property
    def _planner(self) -> PlansAhead | None:
        return planner_of(self.planned or self.machine)

    @cached_property
    def planned(self) -> TokenTable | None:
        """The machine as a table, fully explored if its texts are few; otherwise ``None``."""
        return self._table or visited_whole(self.machine)

    def plans(
        self,
        max_tokens: int | None,
        asked: bool | None,
        otherwise: str = "give masking_budget=False to be cut off",
    ) -> bool:
        """Whether a token budget is part of the mask; refuse a budget that the mask cannot keep.

        Args:
            max_tokens: The budget, EOS included; ``None`` for none.
            asked: ``False`` for a mask without it, ``True`` to insist on it, ``None`` for yes if
                the machine knows how many tokens its texts still need.
            otherwise: Advice for running without such a budget, as an imperative.

        Raises:
            ExplorerError: The budget is too small for the constraint, or it is insisted on and the
                machine does not know the distances.
        """
        if max_tokens is None or is_free(self.machine) or asked is False:
            return asked is not False
        if not self.knows_distances:
            if asked is None:
                return False
            remedy = f"{otherwise[0].upper()}{otherwise[1:]}."
            if self.machine.report.reason:
                remedy += " Where the constraint does not recurse, a larger budget also helps."
            raise without_distances(self.machine, f"max_tokens={max_tokens}", remedy)
        least = (self.planned or self.machine).distance_to_end(self.machine.start) or 0
        if max_tokens < least:
            raise ExplorerError(
                f"No text of the constraint fits into max_tokens={max_tokens}: the shortest takes "
                f"{least} tokens, the end of text included.",
                remedy=f"Give at least {least}, or {otherwise}.",
                evidence={"max_tokens": max_tokens, "fewest": least},
            )
        return True

    def mask_rows(
        self, rows: Sequence[bytes], kept_rows: Sequence[bytes], seen: SeenClasses
    ) -> MaskRows | None:
        """The masks of a path in the form of a trace; ``None`` without a constraint."""
        from explorer.decoding.trace.recording import MaskRows

        if self.machine.constraint is None:
            return None
        numbers: dict[bytes, int] = {}
        pairs = zip(rows, kept_rows, strict=True)
        places = [
            (numbers.setdefault(row, len(numbers)), numbers.setdefault(kept, len(numbers)))
            for row, kept in pairs
        ]
        if self._table is not None:
            count, classes, distinct = self._table.table.shape[1], self._classes, tuple(numbers)
        else:
            count, classes, distinct = seen.of(tuple(numbers))
        row_of, kept_row_of = zip(*places, strict=True)
        return MaskRows(count, classes, distinct, row_of, kept_row_of)

    @cached_property
    def _table(self) -> TokenTable | None:
        return table_of(self.machine)

    @cached_property
    def _classes(self) -> bytes:
        return b"" if self._table is None else _packed_classes(self._table)

    @cached_property
    def _needed(self) -> Int32:
        if self.planned is None:
            return np.empty((0, 0), np.int32)
        return fitting_words(self.planned).needed


# Sessions that share a machine share its packed classes.


@memo
def _packed_classes(table: TokenTable) -> bytes:
    from explorer.decoding.trace.recording import pack_classes

    return pack_classes(table.token_class, table.table.shape[1])


def _count(words: UInt32) -> int:
    """The number of ids that a mask allows."""
    return int(np.bitwise_count(words).sum())


def without_distances(machine: TokenMachine, asked: str, remedy: str) -> ExplorerError:
    """The error for a token budget that a machine without a table cannot keep."""
    reason = machine.report.reason
    return ExplorerError(
        f"{asked} takes part in the mask, which needs the fewest tokens to the end from every "
        "state. This machine works its states out as they are visited and does not know them."
        + (f" It was not made a table: {reason}" if reason else ""),
        remedy=remedy,
        evidence={"budget": asked, "reason": reason},
    )


Forced = Literal["step", "run", "prefill"]
"""The way of reading forced tokens: one by one, or a run of them in one forward pass. With
``"prefill"`` also a forced text that could be split differently is taken in the tokenizer's own
tokens."""

LONGEST_FORCED_RUN: Final = 256
"""The most forced tokens that are read together."""


def checked_forced(forced: object) -> Forced:
    """The argument ``forced``, checked.

    Raises:
        ExplorerError: It is not a way to read forced tokens.
    """
    ways = 'a way to take forced tokens: "step" or "run", or "prefill"'
    return cast("Forced", named_way("forced", forced, get_args(Forced), ways))


def forced_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The consecutive tokens from a state on that are each the only one allowed.

    The end of the text is excluded, because nothing is read after it.

    Args:
        remaining: The remaining token budget, EOS included; ``None`` for no limit.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"o", b"d", b"t"], eos_ids=[4])
        >>> rule = Rule.of(explorer.choice(["food", "foot"]), vocab)
        >>> forced_run(rule, rule.start, None)
        (0, 1, 1)
    """
    run: list[int] = []
    ends = rule.vocabulary.eos_ids
    while state not in (DONE, FREE) and len(run) < longest:
        mask = rule.mask(state, None if remaining is None else remaining - len(run))
        if np.count_nonzero(mask.allowed) != 1:
            break
        token = int(mask.allowed.argmax())
        following = rule.step(state, token)
        if token in ends or following is None:
            break
        run.append(token)
        state = following
    return tuple(run)


LONGEST_TEXT: Final = 2_000
"""The most bytes of a forced text."""


def prefilled_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The tokenizer's own tokens for the forced text from a state on.

    Args:
        remaining: The remaining token budget, EOS included; ``None`` for no limit.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> rule = Rule.of(explorer.literal("The answer is ") + explorer.choice("yes", "no"),
        ...                lm.vocabulary)
        >>> lm.vocabulary.written(prefilled_run(rule, rule.start, None))
        b'The answer is'
    """
    run: list[int] = []
    while len(run) < longest and state >= 0:
        left = None if remaining is None else remaining - len(run)
        more = forced_run(rule, state, left, longest - len(run))
        more = more or _own_tokens(rule, state, left)[: longest - len(run)]
        if not more:
            break
        run += more
        for token in more:
            state = rule.step(state, token) or 0
    return tuple(run)


def _own_tokens(rule: Rule, state: int, remaining: int | None) -> tuple[int, ...]:
    """The tokenizer's own tokens for the text that is forced at a state, as far as allowed."""
    text = _forced_text(rule, state)
    ids = rule.vocabulary.encode(text) if text else None
    known = rule.vocabulary.tokens
    if not ids or b"".join(known[token] or b"" for token in ids) != text.encode():
        return ()
    taken: list[int] = []
    for k, token in enumerate(ids):
        allowed = rule.mask(state, None if remaining is None else remaining - k).allowed
        following = rule.step(state, token)
        if following is None or not allowed[token]:
            break
        data = known[token] or b""
        longer = (known[int(other)] or b"" for other in np.flatnonzero(allowed))
        if k == len(ids) - 1 and any(
            len(each) > len(data) and each.startswith(data) for each in longer
        ):
            break
        taken.append(token)
        state = following
    return tuple(taken)


def _forced_text(rule: Rule, state: int) -> str:
    """The text with which every word must continue; empty if there is a choice."""
    machine = rule.machine.byte_machine
    if machine is None or machine.over_tokens:
        return ""
    here, forced = rule.byte_state(state), bytearray()
    while here >= 0 and not machine.is_accepting(here) and len(forced) < LONGEST_TEXT:
        following = machine.expected(here)
        if len(following) != 1 or following[0] == LETTER:
            break
        forced += following
        here = machine.step(here, following[0])
    return forced.decode(errors="ignore")
