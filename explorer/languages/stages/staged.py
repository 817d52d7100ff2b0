"""The kind of source that has a stage around it.

So a stage has its place in the source and is saved with it: in traces, saved machines and exported
pages. A stage that is switched off stays in its place and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

from explorer.alphabet import shown_letters
from explorer.arguments import flag, shown
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.automata.words import shortest_word
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, EmptyConstraint
from explorer.languages.sources.algebra import Combination, filtered_operand
from explorer.languages.sources.imported import Imported
from explorer.languages.sources.registry import register
from explorer.languages.stages.stage import (
    PipelineStage,
    TextStage,
    TokenStage,
    stage_from_dict,
    stage_to_dict,
)


@register("staged")
@dataclass(frozen=True)
class Staged(Combination):
    """A source with a stage around it."""

    kind: ClassVar[str] = "staged"

    part: Source
    stage: PipelineStage
    on: bool = True

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The tree of the part with a stage of the text around it; else that of the part."""
        if self.on and isinstance(self.stage, TextStage):
            return self.stage.around(trees[0])
        return Written(0, 0, trees[0])

    @property
    def token_stages(self) -> tuple[TokenStage, ...]:
        """Those of the part, and this stage where it is on and is one of the tokens."""
        mine = (self.stage,) if self.on and isinstance(self.stage, TokenStage) else ()
        return (*self.part.token_stages, *mine)

    def why_empty(self) -> EmptyConstraint | None:
        """The error that names this stage if no text of the part passes it."""
        if not (self.on and isinstance(self.stage, TextStage)):
            return self.part.why_empty()
        try:
            before = build(self.part.tree, Meter())
        except BudgetExceeded:
            return None
        if before.start == NO_ARC:
            return self.part.why_empty()
        witness = shown_letters(shortest_word(before), "backslashreplace")
        return EmptyConstraint(
            f"No text of {self.part} passes the stage {self.stage}, so nothing could ever be "
            f"generated: {shown(witness)}, for example, does not pass.",
            remedy="Leave out the stage, or allow texts that pass it.",
            evidence={"stage": str(self.stage), "text": witness},
        )

    def by_parts(self, has: Callable[[Source], bool]) -> bool | None:
        """Whether the part has a text that a stage of the text keeps."""
        if not (self.on and isinstance(self.stage, TextStage)):
            return has(self.part)
        return None if self._kept is None else has(self.part) and has(self._kept)

    @cached_property
    def _kept(self) -> Source | None:
        kept = self.stage.kept(Meter()) if isinstance(self.stage, TextStage) else None
        return None if kept is None else Imported("restrict", kept)

    def parse(self, data: bytes) -> object:
        """The part's value of the text, as it was before this stage."""
        if self.on and isinstance(self.stage, TextStage):
            data = self.stage.original(self.part.tree, data.decode()).encode()
        return self.part.parse(data)

    def fields(self) -> dict[str, object]:
        """The stage, and whether it is on."""
        return {"stage": stage_to_dict(self.stage), "on": self.on}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The stage and the part that were saved."""
        return cls(children[0], stage_from_dict(fields["stage"]), flag("on", fields["on"]))

    def written(self, parts: list[str]) -> str:
        """The call of the stage, where it is on."""
        return f"{parts[0]}.{self.stage}" if self.on else parts[0]


Placed = tuple[PipelineStage, bool]
"""A stage, and whether it is on."""


def stages_of(source: Source) -> tuple[Placed, ...]:
    """The stages around a source, in the order in which they are applied.

    Example:
        >>> from explorer import regex
        >>> from explorer.languages.stages.tokens import Canonical
        >>> [str(stage) for stage, on in stages_of(Staged(regex("a").source, Canonical()))]
        ['canonical()']
    """
    stages: list[Placed] = []
    while isinstance(source, Staged):
        stages.append((source.stage, source.on))
        source = source.part
    return tuple(reversed(stages))


def unstaged(source: Source) -> Source:
    """A source without the stages around it."""
    while isinstance(source, Staged):
        source = source.part
    return source


def with_stages(source: Source, stages: Iterable[Placed]) -> Source:
    """A source with its stages replaced by others.

    Args:
        stages: The stages in the order in which they are applied.
    """
    source = unstaged(source)
    for stage, on in stages:
        source = Staged(source, stage, on)
    return source


def check_operand(source: Source) -> Source:
    """A source that may be a part of another one.

    Raises:
        ConstraintError: A stage of the tokens is on, which must see all tokens of a text.
    """
    if stages := source.token_stages:
        raise filtered_operand(str(stages[0]))
    return source
