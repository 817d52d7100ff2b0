"""The stage of a constraint as a protocol, and the one registry of its kinds.

A *stage* is a machine or a relation that a constraint is composed with: one of the text, such as
"only Latin letters", or one of the tokens, such as "only what the tokenizer itself would write".
After Cognetta et al. (2025), who write a constrained generation as one composition of automata.

A kind registers itself once::

    @register_stage
    @dataclass(frozen=True)
    class Canonical(TokenStage): ...

From then on saved constraints, traces, the process that compiles, exported pages and the pipeline
bar know it. The filter that a stage of the tokens puts on a machine is in
`explorer.tokens.filtered.apply`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Final, Self, TypeVar, cast

from explorer.automata.drawn import DrawnTransducer
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Empty, Node, Source, Written, as_saved
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile

Kind = TypeVar("Kind", bound="type[PipelineStage]")


class PipelineStage(ABC):
    """One stage of a constraint: a frozen value that knows its name and its saved form.

    Attributes:
        kind: The name of the kind, in files and in messages.
        in_bytes: Whether its machine is drawn with bytes, not characters.
        of_tokenizer: Whether it depends on the tokenizer of the vocabulary.
        alone: Whether ``load({})`` makes a usable stage, so that a page can offer it.
    """

    kind: ClassVar[str]
    in_bytes: ClassVar[bool] = False
    of_tokenizer: ClassVar[bool] = False
    alone: ClassVar[bool] = False

    @property
    @abstractmethod
    def title(self) -> str:
        """The name on the pipeline bar, such as ``canonical``."""

    @property
    @abstractmethod
    def about(self) -> str:
        """One sentence that says what the stage does."""

    def fields(self) -> dict[str, object]:
        """The fields that `load` takes, as values that JSON can hold; by default all of them."""
        mine = cast("Any", self)
        return {each.name: as_saved(getattr(self, each.name)) for each in fields(mine)
                if each.compare}  # fmt: skip

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved.

        Args:
            fields: From `fields`, read from a file that may be damaged or forged.

        Raises:
            ExplorerError: No stage could have been saved with these fields.
        """
        return cls()

    def __str__(self) -> str:
        """The Python call that makes the stage, such as ``canonical()``."""
        return f"{self.kind.replace('-', '_')}()"

    def picture(self, meter: Meter) -> Dfa | None:
        """The machine of the stage for a drawing; ``None`` if the stage is a relation.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return None

    def transducer(self, meter: Meter) -> DrawnTransducer | None:
        """The transducer of the stage for a drawing; ``None`` if there is none."""
        return None

    def to_send(self) -> PipelineStage:
        """The stage to send to another process, without the parts that it can derive itself."""
        return self


class TextStage(PipelineStage):
    """A stage that changes the texts of a constraint."""

    @abstractmethod
    def around(self, part: Written) -> Node:
        """The syntax tree of the constraint with this stage around it."""

    def original(self, part: Node, text: str) -> str:
        """The text before this stage, given the text after it; most stages rewrite nothing."""
        return text

    def kept(self, meter: Meter) -> Dfa | None:
        """The texts that pass, of a stage that keeps some texts and rewrites none, whatever the
        constraint is; else ``None``.
        """
        return None

    def named(self, node: Node) -> Written:
        """A tree labelled with this stage, so that explanations can name it."""
        return Written(0, 0, node, StageSource(self))


@dataclass(frozen=True)
class StageSource(Source):
    """A stage as the source of a part of a tree, for explanations."""

    kind: ClassVar[str] = "stage"
    plain_text: ClassVar[bool] = False

    stage: PipelineStage

    @property
    def part_played(self) -> str:
        """Its role in explanations."""
        return "stage"

    def lower(self) -> Node:
        """The empty text, since a stage has no language of its own."""
        return Empty(0, 0)

    def fields(self) -> dict[str, object]:
        """The stage as a mapping; a source of this kind is never saved by itself."""
        return stage_to_dict(self.stage)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The stage that was saved."""
        return cls(stage_from_dict(fields))

    def __str__(self) -> str:
        return str(self.stage)


class TokenStage(PipelineStage):
    """A stage that keeps the texts and filters the tokens that write them."""

    of_tokenizer: ClassVar[bool] = True


_STAGES: Final[dict[str, type[PipelineStage]]] = {}

_BUILT_IN: Final = (
    "normalized", "preprocessed", "restricted", "tokens",
)  # fmt: skip
"""The files whose stages every process knows, imported when one is first asked for by name."""


@cache
def _load_built_in() -> None:
    for name in _BUILT_IN:
        import_module(f"explorer.languages.stages.{name}")


def register_stage(made: Kind) -> Kind:
    """Make a kind of stage known; a decorator for its class.

    Raises:
        ConstraintError: Another class is registered as this kind.
    """
    if not made.__module__.startswith("explorer.languages."):
        _load_built_in()  # So that the built-in names are taken.
    other = _STAGES.get(made.kind)
    if other is not None and other.__qualname__ != made.__qualname__:
        raise ConstraintError(
            f"The stage {made.kind!r} is registered already, as {other.__qualname__}.",
            remedy="Choose another name for the class attribute `kind`.",
        )
    _STAGES[made.kind] = made
    return made


def stages_alone() -> tuple[PipelineStage, ...]:
    """The stages that need no arguments: the built-in ones by their files, then all others."""
    _load_built_in()
    files = [f"explorer.languages.stages.{name}" for name in _BUILT_IN]
    made = sorted(
        _STAGES.values(),
        key=lambda made: files.index(made.__module__) if made.__module__ in files else len(files),
    )
    return tuple(one.load({}) for one in made if one.alone)


def stage_to_dict(stage: PipelineStage) -> dict[str, object]:
    """A mapping of plain values that `stage_from_dict` reads."""
    return {"kind": stage.kind} | stage.fields()


def stage_from_dict(data: object) -> PipelineStage:
    """The stage that a mapping holds.

    Args:
        data: From `stage_to_dict`, read from a file that may be damaged or forged.

    Raises:
        DamagedFile: The kind is not known, or a field is missing or impossible.

    Example:
        >>> str(stage_from_dict({"kind": "canonical"}))
        'canonical()'
    """
    fields: Mapping[str, object] = data if isinstance(data, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
    name = fields.get("kind")
    if name not in _STAGES:
        _load_built_in()
    made = _STAGES.get(name) if isinstance(name, str) else None
    if made is None:
        raise DamagedFile(
            f"A stage of kind {name!r} is not known.",
            remedy="Use the release that wrote it, or write the constraint again.",
        )
    try:
        return made.load(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"A saved stage of kind {made.kind!r} has no usable field {error}.",
            remedy="Use the release that wrote it, or write the constraint again.",
        ) from error
