"""The masks of several engines at one state, side by side, and their differences, as text too."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import Bool, Int32
from explorer.errors import ExplorerError, display_width
from explorer.languages.constraint import Constraint
from explorer.vocabulary import Vocabulary
from explorer.witnesses.messages import Statement

OURS: Final = "explorer"
"""Our own name beside the other engines."""


@dataclass(frozen=True, eq=False)
class Testimony:
    """The answer of one engine at a state.

    Args:
        engine: Its name.
        version: The version of its distribution; empty where it could not be asked.
        mask: bool[len(vocabulary)], read-only; ``None`` where the engine did not answer, or did not
            follow the prefix.
        followed: How many tokens of the prefix it took.
        refused: Why it did not answer, in its own words or ours; empty where it did.
        stage: The step at which it failed: ``"import"``, ``"vocabulary"``, ``"constraint"`` or
            ``"mask"``; ``"time"`` if it did not answer in time, ``"process"`` if its process ended.
        compile_seconds, mask_seconds: The time that it took, measured in its process.
    """

    engine: str
    version: str
    mask: Bool | None
    followed: int = 0
    refused: str = ""
    stage: str = ""
    compile_seconds: float = 0.0
    mask_seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether the engine returned a mask."""
        return self.mask is not None


@dataclass(frozen=True, eq=False)
class Disagreement:
    """Tokens for which one engine differs from us for one reason.

    Args:
        kind: A key of `explorer.witnesses.reasons.CLASSES`.
        allows: Whether the engine allows the tokens and we mask them; else the reverse.
        tokens: int32[n], the ids, ascending.
        sentence: The reason.
        evidence: The facts that show the reason, by name.
        position: The number of prefix tokens before them: fewer than the whole prefix where an
            engine stopped following it earlier.
        same_as: A changed constraint for which the engine has the same mask at this state, if that
            is the reason; anybody can ask the engine for both.
    """

    engine: str
    kind: str
    allows: bool
    tokens: Int32
    sentence: str
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    position: int = 0
    same_as: Statement | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
        self.tokens.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Witness:
    """One state in our machine and in the other engines; made by `explorer.witness`.

    Args:
        statement: The constraint as the other engines were given it.
        prefix: The ids of the prefix.
        testimonies: The answer of each engine, ours first.
        disagreements: Every token on which an engine differs from us, grouped by reason.
    """

    constraint: Constraint
    statement: Statement
    vocabulary: Vocabulary
    prefix: tuple[int, ...]
    testimonies: tuple[Testimony, ...]
    disagreements: tuple[Disagreement, ...]

    @property
    def text(self) -> bytes:
        """The bytes of the prefix."""
        return b"".join(self.vocabulary.tokens[token] or b"" for token in self.prefix)

    @property
    def masks(self) -> Mapping[str, Bool]:
        """The mask, bool[len(vocabulary)], of each engine that answered; ours is ``"explorer"``."""
        return {each.engine: each.mask for each in self.testimonies if each.mask is not None}

    def testimony(self, engine: str) -> Testimony:
        """The answer of the engine of this name.

        Raises:
            ExplorerError: It was not asked.
        """
        for each in self.testimonies:
            if each.engine == engine:
                return each
        asked = ", ".join(each.engine for each in self.testimonies)
        raise ExplorerError(f"{engine!r} was not asked.", remedy=f"Name one of {asked}.")

    def disagreement(self, engine: str, token: int) -> Disagreement | None:
        """The reason why an engine differs from us on a token; ``None`` if it does not differ."""
        self.testimony(engine)
        for each in self.disagreements:
            if each.engine == engine and token in each.tokens:
                return each
        return None

    @property
    def agree(self) -> bool:
        """Whether every engine that answered has the same mask as ours."""
        return not self.disagreements

    def __str__(self) -> str:
        return table_of_witness(self)

    def __repr__(self) -> str:
        return (
            f"Witness({self.statement.kind}, after {len(self.prefix)} "
            f"token{'s' if len(self.prefix) != 1 else ''}, "
            f"{len(self.testimonies)} engines, {len(self.disagreements)} disagreements)"
        )


WIDTH = 100
"""The columns at which lines are wrapped."""

EXAMPLES = 4
"""The number of tokens that the line of a group names."""

_UNANSWERED = {
    "time": "did not answer in time", "process": "its process ended", "import": "not at hand",
}  # fmt: skip
"""The words of the table for an engine without a mask, by the stage at which it failed."""


def table_of_witness(witness: Witness) -> str:
    """The text of a witness: a table of engines, then each group of differences."""
    prefix = show_text(witness.text) if witness.prefix else "nothing"
    count = f"{len(witness.prefix)} token{'s' if len(witness.prefix) != 1 else ''}"
    text = " ".join(witness.statement.text.split())
    text = text if len(text) <= 70 else f"{text[:69]}…"
    lines = [f"{witness.statement.kind} {text}", f"after {prefix} ({count})", ""]
    lines += aligned([("engine", "version", "allows", "differs", "")] + [
        _row(witness, each) for each in witness.testimonies
    ])  # fmt: skip
    for each in witness.testimonies:
        if each.refused:
            lines += textwrap.wrap(
                f"{each.engine}: {' '.join(each.refused.split())}", WIDTH,
                initial_indent="  ", subsequent_indent="    ",
            )  # fmt: skip
    for each in witness.disagreements:
        lines += ["", *lines_of_group(each, witness.vocabulary)]
    return "\n".join(lines)


def _row(witness: Witness, said: Testimony) -> tuple[str, ...]:
    mine = [each for each in witness.disagreements if each.engine == said.engine]
    if said.mask is None:
        why = _UNANSWERED.get(said.stage, "refuses")
        if not said.refused:
            many = "token" if said.followed == 1 else "tokens"
            why = f"leaves the prefix after {said.followed} {many}"
        return said.engine, said.version, "–", "–", why
    allowed = f"{int(np.count_nonzero(said.mask)):,}"
    if said.engine == OURS:
        return said.engine, said.version, allowed, "", ""
    counts: dict[str, int] = {}
    for each in mine:
        counts[each.kind] = counts.get(each.kind, 0) + len(each.tokens)
    classes = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return said.engine, said.version, allowed, f"{sum(counts.values()):,}", classes


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """The rows of a table as lines with aligned columns."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - display_width(cell))
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def lines_of_group(each: Disagreement, vocabulary: Vocabulary) -> list[str]:
    """A group of differences as lines."""
    verb = "allows" if each.allows else "masks"
    named = ", ".join(name_of_token(vocabulary, int(token)) for token in each.tokens[:EXAMPLES])
    more = len(each.tokens) - EXAMPLES
    if more > 0:
        named += f" and {more:,} more"
    head = f"[{each.kind}] {each.engine} {verb} {named}: {each.sentence}"
    lines = textwrap.wrap(head, WIDTH, subsequent_indent="  ")
    for name, value in each.evidence.items():
        lines += textwrap.wrap(
            f"{name}: {value}", WIDTH, initial_indent="  - ", subsequent_indent="    "
        )
    return lines


def name_of_token(vocabulary: Vocabulary, token: int) -> str:
    """The name of a token in a sentence: its text in quotes, or the name of a special token."""
    data = vocabulary.tokens[token]
    if data is None:
        return vocabulary.special.get(token, f"id {token}")
    return show_text(data)
