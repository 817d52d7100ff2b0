"""Drafts that are taken and taken back: is a state the same as if it had never been left?

A speculative decoder lets an engine accept the tokens of a draft, and rolls those back that the
model did not want. Then the mask must be what it was. Each engine is compared with itself: with the
mask that it gave before it went there. Our own states are values, so nothing is rolled back.
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
"""How many drafts are taken back at one state."""

LONGEST_DRAFT: Final = 8
"""The most tokens of a draft."""

Draft = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Rollback:
    """The effect of drafts that were taken back on the mask of one engine; part of a `Witness`.

    Args:
        engine, version: The engine.
        prefix: The ids before the drafts.
        drafts: How many were taken back, one after the other, by one matcher.
        after: The drafts up to the first after which the mask had changed, that one last; empty
            where it never did.
        tokens: int32[n], the ids by which it changed, ascending.
        refused: Why the engine did not answer; empty where it did.
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
        """Whether the mask was always the one of before."""
        return not self.after and not self.refused


def drafts_from(
    machine: TokenMachine, state: int, random: np.random.Generator, count: int = DRAFTS
) -> tuple[Draft, ...]:
    """Drafts from a state: texts that the machine allows, half of them with a last token that it
    masks, as a model proposes them.
    """
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
    """The effect of drafts rolled back on an engine; ``None`` if it does not allow the prefix."""
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
    """The last draft alone where it suffices, and as few of its tokens as do."""
    last = drafts[-1:]
    if not changes(last):
        return drafts
    for length in range(1, len(last[0])):
        if changes((last[0][:length],)):
            return (last[0][:length],)
    return last
