"""The answer of a session's token machine at one place: state, mask, tokens over the budget.

A thin layer over any token machine (`explorer.tokens.machine`). What it adds is the token budget,
which needs the distance of every target and therefore a table, and the mask in a form that a trace
can keep. `forced_run` follows the tokens that are the only ones allowed.

Where only one text can follow, such as a tag or the key of a member, the model has no say in the
text, only in how it is cut into tokens. ``forced="prefill"`` does not ask it that either
(`prefilled_run`): it takes the tokens that the tokenizer writes, all read in one forward pass. The
last of them is left out where a token that is allowed would write it and go on beyond the forced
text: then the model chooses, as without a forced text before.

Cost: a visited (state, budget) answers in microseconds, a new one in about 100 µs at 131,072 ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, cast, get_args

import numpy as np

from explorer.alphabet import LETTER
from explorer.arguments import named_way, plain, wrong
from explorer.automata.machine import Bool, Int32
from explorer.budget import Budget
from explorer.decoding.trace.masks import MaskRows, SeenClasses, pack_classes
from explorer.errors import ConstraintError, ExplorerError, VocabularyError
from explorer.languages.constraint import Constraint
from explorer.languages.phases.followed import PhaseNet, phase_net
from explorer.languages.sources.serial import source_to_dict
from explorer.memo import memo
from explorer.tokens.filtered.table import visited_whole
from explorer.tokens.machine import (
    PlansAhead,
    TokenMachine,
    TokenTable,
    is_free,
    planner_of,
    table_of,
)
from explorer.tokens.masks.needed import FIRST_STATE, UNLIMITED, fitting_words
from explorer.tokens.numbered_places import Free
from explorer.tokens.shared import shared_machine
from explorer.tokens.words import DONE, FREE, UInt32, unpack
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class StateMask:
    """The mask at one place.

    Args:
        allowed: bool[len(vocabulary)], what may come next; read-only.
        row: What the machine alone allows, packed: of a table its row over token classes, of any
            other machine the packed words over ids.
        kept_row: What the token budget leaves of ``row``; the same object where it removes
            nothing.
    """

    allowed: Bool
    row: bytes
    kept_row: bytes
    over_budget: int


@dataclass(frozen=True, eq=False)
class Rule:
    """A token machine as a session asks it."""

    machine: TokenMachine

    @classmethod
    def of(cls, constraint: object, vocabulary: Vocabulary, budget: Budget | None = None) -> Rule:
        """The rule of what a user gave.

        Raises:
            ConstraintError: It is something else; a string could mean a pattern or a text.
            VocabularyError: The token machine belongs to another vocabulary.
            BudgetExceeded, EmptyConstraint, IncompatibleVocabulary: As `explorer.compile` has it.
        """
        match constraint:
            case None:
                return cls(Free(vocabulary))
            case Constraint():
                return cls(shared_machine(constraint, vocabulary, budget))
            case str():
                raise ConstraintError(
                    f"constraint is {plain(constraint)!r}, which could be a pattern or a text.",
                    remedy="Write regex(...) or literal(...).",
                    evidence={"constraint": constraint},
                )
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
                remedy = "Give a Constraint, such as regex(...), a compiled one, or None."
                raise wrong(
                    "constraint", constraint, "a constraint", remedy=remedy, error=ConstraintError
                )

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
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
    def phases(self) -> PhaseNet | None:
        """The phases of the constraint; ``None`` if it has none."""
        constraint = self.machine.constraint
        phased = constraint is not None and constraint.source.phased
        return phase_net(constraint.source) if constraint is not None and phased else None

    def waits_for(self, ids: Sequence[int]) -> str:
        """The role that must write next, where that is not the model; empty where it is.

        A phase with a role waits for it (`explorer.phase`).
        """
        return "" if self.phases is None else self.phases.waits_for(self.vocabulary.written(ids))

    @property
    def num_byte_states(self) -> int:
        """The number of known states of the machine over bytes; 0 without a constraint."""
        machine = self.machine.byte_machine
        return 0 if machine is None else machine.num_states

    def byte_state(self, state: int) -> int:
        """The state of the machine over bytes that a state stands for; `NO_ARC` for a sentinel."""
        return self.machine.byte_state(state)

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token, whatever the budget; ``None`` if it is not allowed."""
        return self.machine.step(state, token)

    def mask(self, state: int, remaining: int | None) -> StateMask:
        """The mask: what may come next.

        Args:
            remaining: Tokens that may still be written, EOS included; ``None`` for no limit, as
                for every machine that does not know the distances (`knows_distances`).
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
        """The mask as packed words; see `explorer.tokens.machine.TokenMachine.mask`.

        Returns:
            As the machine has it, read-only; the machine's own where the budget removes nothing.
        """
        whole = self.machine.mask(state)
        if remaining is None or state < 0:
            return whole
        return whole if self._planner is None else self._planner.mask_within(state, remaining)

    @property
    def knows_distances(self) -> bool:
        """Whether the fewest tokens to the end are known, so that a budget can be planned with."""
        return self._planner is not None or is_free(self.machine)

    @cached_property
    def _planner(self) -> PlansAhead | None:
        return planner_of(self.planned or self.machine)

    @cached_property
    def planned(self) -> TokenTable | None:
        """The machine as a table, or visited whole where its texts are few; else ``None``."""
        return self._table or visited_whole(self.machine)

    def plans(
        self,
        max_tokens: int | None,
        asked: bool | None,
        otherwise: str = "give masking_budget=False to be cut off",
    ) -> bool:
        """Whether a token budget takes part in the mask; refuse one that the mask cannot keep.

        Args:
            max_tokens: The budget, EOS included; ``None`` for none.
            asked: ``False`` for a mask without it, ``True`` to insist, ``None`` for a mask with it
                where the machine knows how many tokens each text still takes.
            otherwise: What the caller can do to have no such budget, as an imperative.

        Raises:
            ExplorerError: It is too small for the constraint, or it is insisted on and the machine
                does not know the distances.
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
        """The masks of a path as a trace keeps them; ``None`` without a constraint."""
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


# Sessions that share a machine share what is worked out from it.


@memo
def _packed_classes(table: TokenTable) -> bytes:
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
"""How tokens that are the only ones allowed are read: one by one, or a whole run of them in one
forward pass of the model. ``"prefill"`` does that for a whole text that is forced, however it may
be cut into tokens: the tokenizer's own are taken."""

LONGEST_FORCED_RUN: Final = 256
"""How many forced tokens are read together at most."""


def checked_forced(forced: object) -> Forced:
    """A way to read forced tokens.

    Raises:
        ExplorerError: It is something else.
    """
    ways = 'a way to take forced tokens: "step" or "run", or "prefill"'
    return cast("Forced", named_way("forced", forced, get_args(Forced), ways))


def forced_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The tokens from a state on that are the only ones allowed, one after the other.

    The end of the text is not among them: nothing is read after it.

    Args:
        remaining: Tokens that may still be written, EOS included; ``None`` for no limit.

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
"""The most bytes of a forced text that are followed."""


def prefilled_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The tokens from a state on that write what is forced.

    Args:
        remaining: Tokens that may still be written, EOS included; ``None`` for no limit.

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
    """The tokenizer's tokens of the text that is forced from a state on."""
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
    """The text that every word goes on with; empty where there is a choice."""
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
