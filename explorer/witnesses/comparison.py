"""Our mask and one engine's at one state, and the questions that the rules ask about them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from explorer.alphabet import split_tail
from explorer.analysis.explaining.explanation import explain
from explorer.analysis.explaining.groups import explain_all
from explorer.analysis.verdict.verdict import STAGES
from explorer.automata.machine import Bool
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import Testimony
from explorer.witnesses.asking import written_with
from explorer.witnesses.judging import Judge
from explorer.witnesses.messages import Statement

Finish = Callable[[tuple[int, ...]], "tuple[int, ...] | None"]
"""From a prefix to ids with which the engine ends the text; ``None`` if it finds none."""


Ask = Callable[[Statement, tuple[int, ...]], Testimony]
"""From a constraint and a prefix to the engine's answer after that prefix."""


class OutOfTime(Exception):
    """The time for classifying the differences of a state is up."""


class PartingGroup(NamedTuple):
    """The key of tokens that leave a mask at the same byte.

    Args:
        read: Their bytes up to and including the byte at which we stop, or up to the end of the
            first beginning that the engine masks; ``None`` for the end of text.
        character: The character at that byte; empty at the end of the text, or if only part of a
            character is left.
    """

    allows: bool
    read: bytes | None
    character: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Our mask and one engine's, at one state.

    Args:
        theirs: bool[len(vocabulary)], the engine's mask.
        ask: Asks the engine about another constraint or prefix; the rules test their reasons so.
        own_pattern: Returns the pattern that the engine matches texts with, if it has one.
        deadline: By `time.monotonic`; after it no further rule is tried.
    """

    engine: str
    statement: Statement
    constraint: Constraint
    machine: TokenMachine
    state: int
    prefix: tuple[int, ...]
    theirs: Bool
    judge: Judge | None
    finish: Finish
    ask: Ask
    own_pattern: Callable[[], str | None] = lambda: None
    deadline: float = math.inf

    def check_time(self) -> None:
        """Raise if the deadline has passed.

        Raises:
            OutOfTime: The deadline has passed.
        """
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def shows_the_same_for(self, statement: Statement) -> bool:
        """Whether the engine has the same mask after this prefix for another constraint."""
        mask = self.ask(statement, self.prefix).mask
        return mask is not None and np.array_equal(mask, self.theirs)

    def follows(self, token: int) -> bool:
        """Whether the engine accepts a token and continues, even one that its mask excludes."""
        return self.ask(self.statement, (*self.prefix, token)).mask is not None

    def accepts(self, text: bytes, statement: Statement | None = None) -> bool | None:
        """Whether the engine accepts a whole text, spelled with the shortest tokens.

        Args:
            statement: Another constraint; by default the compared one.

        Returns:
            ``None`` if it gave no answer.
        """
        ids = written_with(self.vocabulary, text)
        said = None if ids is None else self.ask(statement or self.statement, ids)
        if said is None or said.refused:
            return None
        return said.mask is not None and bool(said.mask[min(self.vocabulary.eos_ids)])

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the machine."""
        return self.machine.vocabulary

    @cached_property
    def ours(self) -> Bool:
        """bool[len(vocabulary)], our mask."""
        mask = unpack(self.machine.mask(self.state), len(self.vocabulary)).copy()
        # An engine knows only one end-of-text token, so the others are not compared.
        for token in self.vocabulary.eos_ids[1:]:
            mask[token] = self.theirs[token]
        return mask

    @cached_property
    def differing(self) -> Bool:
        """bool[len(vocabulary)], the ids on which the masks differ."""
        return self.ours != self.theirs

    @cached_property
    def text(self) -> bytes:
        """The bytes of the prefix."""
        return b"".join(self.vocabulary.tokens[token] or b"" for token in self.prefix)

    @cached_property
    def stages(self) -> dict[str, Bool]:
        """The ids, bool[len(vocabulary)], that each stage of our verdict decides."""
        reasons = explain_all(self.machine, self.state, text=self.text)
        return {stage: reasons.stage == k for k, stage in enumerate(STAGES)}

    def parting(self, token: int) -> tuple[int, str]:
        """The byte of a token at which the side that masks it stops reading.

        Ours is known. Another engine's is taken from its own mask: it reads as far as the longest
        beginning of the token that is itself an allowed token.

        Returns:
            An offset in the token's bytes, and the character at that offset; the character is empty
            at the end of the text, or if only part of a character is left.
        """
        data = self.vocabulary.tokens[token] or b""
        if self.ours[token]:
            whole = 0
            for end in range(1, len(data)):
                if any(self.theirs[same] for same in self.vocabulary.ids_of(data[:end])):
                    whole = end
        else:
            why = explain(self.machine, self.state, token, text=self.text)
            whole = len(data) if why.byte_offset is None else why.byte_offset
        before = self.text + data[:whole]
        begun = split_tail(before)[1]
        rest = (begun + data[whole:]).decode(errors="ignore")
        return whole, rest[:1]

    def partings(self, among: Bool) -> Iterator[tuple[int, int, str]]:
        """The differing ids among some, each with the offset and character of its `parting`.

        Args:
            among: bool[len(vocabulary)].
        """
        for count, token in enumerate(np.flatnonzero(among & self.differing).tolist()):
            if count % 256 == 0:
                self.check_time()
            if self.vocabulary.tokens[token] is not None:
                yield token, *self.parting(token)

    def alike(self, among: Bool) -> dict[PartingGroup, list[int]]:
        """The differing ids, grouped by the bytes up to which they were read.

        If such a beginning is masked, every token that starts with it is masked too. Ids that the
        engine allows and ids that it masks are in separate groups. The shortest token comes first
        in its group, and the group of the shortest token first of all.

        Args:
            among: bool[len(vocabulary)].
        """
        groups: dict[PartingGroup, list[int]] = {}
        tokens = self.vocabulary.tokens
        for token, offset, character in self.partings(among):
            data = tokens[token] or b""
            end = offset + 1
            if self.ours[token]:  # Up to the first token that the engine masks.
                ends = range(offset + 1, len(data) + 1)
                end = next(k for k in ends if self.vocabulary.ids_of(data[:k]))
            key = PartingGroup(bool(self.theirs[token]), data[:end], character)
            groups.setdefault(key, []).append(token)
        for token in np.flatnonzero(among & self.differing).tolist():
            if tokens[token] is None:
                groups.setdefault(PartingGroup(bool(self.theirs[token]), None, ""), []).append(
                    token
                )
        for ids in groups.values():
            ids.sort(key=lambda token: len(tokens[token] or b""))
        return dict(sorted(groups.items(), key=lambda item: len(tokens[item[1][0]] or b"")))

    def whole_text(self, token: int) -> bytes | None:
        """A complete text that contains a token, found by the side that allows the token.

        Returns:
            ``None`` if none was found.
        """
        data = self.vocabulary.tokens[token]
        ends = token in self.vocabulary.eos_ids
        if self.ours[token]:
            if ends:
                return self.text
            try:
                completion = explain(self.machine, self.state, token, text=self.text).completion
            except ExplorerError:
                return None
            return None if completion is None else completion.text
        if ends:
            return self.text
        way = self.finish((*self.prefix, token))
        if way is None or data is None:
            return None
        return self.text + data + b"".join(self.vocabulary.tokens[each] or b"" for each in way)
