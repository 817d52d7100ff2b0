"""What a session's constraint says at one place: the state, the mask, what the budget removes.

A thin layer over the token DFA that also covers "no constraint", so that a session has one way to
ask. Rows are over token classes and packed eight to a byte, because a trace keeps many of them.

Cost: a visited (state, budget) answers in microseconds, a new one in about 100 µs at 131,072 ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from explorer.arguments import wrong
from explorer.automata.constraint import Constraint
from explorer.automata.machine import Bool, Int32
from explorer.budget import Budget
from explorer.errors import ConstraintError, ExplorerError, VocabularyError
from explorer.tokens.compile import compile
from explorer.tokens.device import DeviceMasks
from explorer.tokens.needed import FIRST_STATE, UNLIMITED, needed_rows
from explorer.tokens.states import DONE, FREE
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

NO_CHARACTER_STATE: Final = -1
"""The character state of a sentinel: none."""


@dataclass(frozen=True, eq=False)
class Mask:
    """The mask at one place.

    Args:
        allowed: bool[len(vocabulary)], what may come next; read-only.
        row: The state's row over token classes, packed; ``None`` without a constraint.
        kept_row: What the token budget leaves of ``row``; the same object where it removes
            nothing.
        over_budget: How many ids the budget removes.
    """

    allowed: Bool
    row: bytes | None
    kept_row: bytes | None
    over_budget: int


@dataclass(frozen=True, eq=False)
class Rule:
    """A constraint over a vocabulary, or none.

    Args:
        vocabulary: The model's tokens.
        dfa: The token DFA; ``None`` leaves every id free.
    """

    vocabulary: Vocabulary
    dfa: TokenDFA | None

    @classmethod
    def of(cls, constraint: object, vocabulary: Vocabulary, budget: Budget | None = None) -> Rule:
        """The rule of what a user gave.

        Args:
            constraint: A `Constraint`, a `TokenDFA` or ``None``.
            vocabulary: The model's tokens.
            budget: Limits for compiling it.

        Raises:
            ConstraintError: It is something else; a string could mean a pattern or a text.
            VocabularyError: The token DFA belongs to another vocabulary.
            BudgetExceeded, EmptyConstraint, IncompatibleVocabulary: As `explorer.compile` has it.
        """
        match constraint:
            case None:
                return cls(vocabulary, None)
            case Constraint():
                return cls(vocabulary, compile(constraint, vocabulary, budget))
            case TokenDFA():
                if constraint.vocabulary != vocabulary:
                    raise VocabularyError(
                        "The token DFA was compiled for another vocabulary than the model's: the "
                        "same ids would mean other text.",
                        remedy="Compile the constraint with `lm.vocabulary`, or give it as it is.",
                        evidence={
                            "dfa": constraint.vocabulary.fingerprint,
                            "model": vocabulary.fingerprint,
                        },
                    )
                return cls(vocabulary, constraint)
            case str():
                raise ConstraintError(
                    f"constraint is {constraint!r}, which could be a pattern or a text.",
                    remedy="Write regex(...) or literal(...).",
                    evidence={"constraint": constraint},
                )
            case _:
                remedy = "Give a Constraint, such as regex(...), a TokenDFA, or None."
                raise wrong(
                    "constraint", constraint, "a constraint", remedy=remedy, error=ConstraintError
                )

    @property
    def start(self) -> int:
        """The state before the first token."""
        return FREE if self.dfa is None else self.dfa.start

    @property
    def num_states(self) -> int:
        """How many token states there are; 0 without a constraint."""
        return 0 if self.dfa is None else self.dfa.num_states

    @property
    def num_char_states(self) -> int:
        """How many character states there are; 0 without a constraint."""
        return 0 if self.dfa is None else self.dfa.constraint.dfa.num_states

    @property
    def num_classes(self) -> int:
        """How many token classes a row has; 0 without a constraint."""
        return 0 if self.dfa is None else self.dfa.num_classes

    @property
    def least(self) -> int:
        """The fewest tokens of any text, EOS included; 0 without a constraint."""
        return 0 if self.dfa is None else int(self.dfa.distance[self.dfa.start])

    def char_state(self, state: int) -> int:
        """The character state that a state is; `NO_CHARACTER_STATE` for a sentinel."""
        if self.dfa is None or state < 0:
            return NO_CHARACTER_STATE
        return int(self.dfa.char_state[state])

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token, whatever the budget; ``None`` if it is not allowed."""
        if self.dfa is not None:
            return self.dfa.step(state, token)
        if not 0 <= token < len(self.vocabulary):
            return None
        return DONE if token in self.vocabulary.eos_ids else FREE

    def mask(self, state: int, remaining: int | None) -> Mask:
        """What may come next.

        Args:
            state: A state of the machine, or a sentinel.
            remaining: Tokens that may still be written, EOS included; ``None`` for no limit.
        """
        if self.dfa is None:
            return Mask(self._ends if state == DONE else self._free, None, None, 0)
        allowed = self._masks.allowed(0, state, remaining)
        needed = self._needed[state + FIRST_STATE]
        row = kept_row = np.packbits(needed <= UNLIMITED).tobytes()
        over_budget = 0
        if remaining is not None:
            removed = (needed <= UNLIMITED) & (needed > remaining)
            if removed.any():
                over_budget = int(self._class_sizes[removed].sum())
                kept_row = np.packbits(needed <= remaining).tobytes()
        return Mask(allowed, row, kept_row, over_budget)

    def check_budget(self, max_tokens: int | None) -> None:
        """Refuse a token budget that no text fits into.

        Args:
            max_tokens: The budget, EOS included.

        Raises:
            ExplorerError: It is too small for the constraint.
        """
        if max_tokens is not None and max_tokens < self.least:
            raise ExplorerError(
                f"No text of the constraint fits into max_tokens={max_tokens}: the shortest takes "
                f"{self.least} tokens, the end of text included.",
                remedy=f"Give at least {self.least}, or masking_budget=False to be cut off.",
                evidence={"max_tokens": max_tokens, "fewest": self.least},
            )

    @cached_property
    def class_bytes(self) -> bytes:
        """The class of each id, two bytes each where they suffice, else four; little-endian."""
        if self.dfa is None:
            return b""
        kind = "<u2" if self.dfa.num_classes <= 2**16 else "<i4"
        return self.dfa.token_class.astype(kind).tobytes()

    @cached_property
    def _free(self) -> Bool:
        return np.ones(len(self.vocabulary), np.bool_)

    @cached_property
    def _ends(self) -> Bool:
        ends = np.zeros(len(self.vocabulary), np.bool_)
        ends[list(self.vocabulary.eos_ids)] = True
        return ends

    @cached_property
    def _masks(self) -> DeviceMasks:
        machines = [] if self.dfa is None else [self.dfa]
        return DeviceMasks(machines, vocabulary=self.vocabulary)

    @cached_property
    def _needed(self) -> Int32:
        return np.empty((0, 0), np.int32) if self.dfa is None else needed_rows(self.dfa)

    @cached_property
    def _class_sizes(self) -> Int32:
        if self.dfa is None:
            return np.empty(0, np.int32)
        return np.bincount(self.dfa.token_class, minlength=self.dfa.num_classes).astype(np.int32)


def unpack_row(row: bytes, num_classes: int) -> Bool:
    """The row that was packed.

    Args:
        row: As in `Mask`.
        num_classes: Its length.

    Returns:
        bool[num_classes].

    Example:
        >>> unpack_row(bytes([0b01100000]), 3).tolist()
        [False, True, True]
    """
    return np.unpackbits(np.frombuffer(row, np.uint8), count=num_classes).astype(np.bool_)
