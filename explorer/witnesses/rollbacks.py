"""A test of rollback: the mask of an engine before a draft, and after accepting and undoing it.

A speculative decoder lets an engine accept the tokens of a draft and rolls back those that the
model rejects. The mask must then be the same as before, so each engine is compared with itself. Our
own states are immutable values and need no rollback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from explorer.automata.machine import Int32
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE, unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.messages import Refused, Statement
from explorer.witnesses.process import EngineProcess

DRAFTS: Final = 16
"""The number of drafts rolled back at one state."""

LONGEST_DRAFT: Final = 8
"""The most tokens in a draft."""

Draft = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Rollback:
    """The effect of rolled-back drafts on the mask of one engine; part of a `Witness`.

    Args:
        engine, version: The engine.
        prefix: The ids before the drafts.
        drafts: The number of drafts that one matcher rolled back, one after the other.
        after: Drafts that change the mask, as few and as short as were found; empty if the mask
            never changed.
        tokens: int32[n], the ids on which the mask changed, ascending.
        refused: The reason why the engine did not answer; empty if it did.
    """

    engine: str
    version: str
    prefix: tuple[int, ...]
    drafts: int
    after: tuple[Draft, ...] = ()
    tokens: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    refused: str = ""

    @property
    def same(self) -> bool:
        """Whether the mask after every rollback was the mask before it."""
        return not self.after and not self.refused


def drafts_from(
    machine: TokenMachine, state: int, random: np.random.Generator, count: int = DRAFTS
) -> tuple[Draft, ...]:
    """Random drafts from a state; every second one ends with a token that the machine masks."""
    size = len(machine.vocabulary)
    drafts: list[Draft] = []
    for number in range(count):
        draft: list[int] = []
        here = state
        for _ in range(int(random.integers(1, LONGEST_DRAFT + 1))):
            allowed = np.flatnonzero(unpack(machine.mask(here), size))
            token = int(random.choice(allowed)) if len(allowed) else -1
            following = machine.step(here, token) if token >= 0 else None
            if following is None or following == DONE:
                break
            draft.append(token)
            here = following
        masked = np.flatnonzero(~unpack(machine.mask(here), size))
        if number % 2 and len(masked):
            draft.append(int(random.choice(masked)))
        if draft:
            drafts.append(tuple(draft))
    return tuple(drafts)


def rollback_of(
    process: EngineProcess,
    statement: Statement,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    drafts: tuple[Draft, ...],
    seconds: float,
) -> Rollback | None:
    """The effect of rolled-back drafts on an engine; ``None`` if it does not allow the prefix."""
    said = process.rolled_back(statement, vocabulary, prefix, drafts, seconds)
    if isinstance(said, Refused):
        return Rollback(process.name, process.version, prefix, len(drafts), refused=said.reason)
    if not said.rows:
        return None
    first = said.rows[0]
    for k, row in enumerate(said.rows[1:]):
        if row != first:
            bits = np.frombuffer(row, np.uint8) ^ np.frombuffer(first, np.uint8)
            changed = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
            after = _shortest(
                drafts[: k + 1],
                lambda tried: _changes(process, statement, vocabulary, prefix, tried, seconds),
            )
            return Rollback(
                process.name, process.version, prefix, len(drafts), after, changed.astype(np.int32)
            )
    return Rollback(process.name, process.version, prefix, len(drafts))


def _changes(
    process: EngineProcess, statement: Statement, vocabulary: Vocabulary,
    prefix: tuple[int, ...], drafts: tuple[Draft, ...], seconds: float,
) -> bool:  # fmt: skip
    said = process.rolled_back(statement, vocabulary, prefix, drafts, seconds)
    return not isinstance(said, Refused) and len(set(said.rows)) > 1


def _shortest(
    drafts: tuple[Draft, ...], changes: Callable[[tuple[Draft, ...]], bool]
) -> tuple[Draft, ...]:
    """The shortest beginning of the last draft that changes the mask, or else all the drafts."""
    last = drafts[-1:]
    if not changes(last):
        return drafts
    for length in range(1, len(last[0])):
        if changes((last[0][:length],)):
            return (last[0][:length],)
    return last
