"""The stage of a constraint as a protocol, and the one registry of its kinds.

A *stage* is a machine or a relation that a constraint is composed with: one of the text, such as
"only Latin letters", or one of the tokens, such as "only what the tokenizer itself would write".
After Cognetta et al. (2025), who write a constrained generation as one composition of automata.

A kind registers itself once::

    @register_stage
    @dataclass(frozen=True)
    class Canonical(TokenStage): ...

From then on saved constraints, traces, the process that compiles, exported pages and the pipeline
bar carry it. How a stage of the tokens filters a machine stands on the other side of the
composition, in `explorer.tokens.filtered.apply`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import ClassVar, Final, Self, TypeVar

from explorer.automata.drawn import DrawnTransducer
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Empty, Node, Source, Written
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile

Kind = TypeVar("Kind", bound="type[PipelineStage]")


class PipelineStage(ABC):
    """One stage of a constraint: a frozen value that knows its name and its saved form.

    Attributes:
        kind: The name of the kind, in files and in messages.
        in_bytes: Whether its machine is about bytes, and drawn with bytes.
        of_tokenizer: Whether it asks the tokenizer of the vocabulary.
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
        """The fields that `load` takes, as values that JSON can hold; most stages have none."""
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved.

        Args:
            fields: From `fields`, read from a file that may be damaged or forged.

        Raises:
            ExplorerError: It could not have been saved so.
        """
        return cls()

    def __str__(self) -> str:
        """The call that makes it, such as ``canonical()``."""
        return f"{self.kind.replace('-', '_')}()"

    def picture(self, meter: Meter) -> Dfa | None:
        """The machine of the stage, to be looked at; ``None`` where it is a relation.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return None

    def transducer(self, meter: Meter) -> DrawnTransducer | None:
        """The transducer of the stage, to be looked at; ``None`` where it has none."""
        return None

    def to_send(self) -> PipelineStage:
        """The stage without what another process can find out again by itself."""
        return self


class TextStage(PipelineStage):
    """A stage that changes which texts there are."""

    @abstractmethod
    def around(self, part: Written) -> Node:
        """The tree of the constraint behind this stage."""

    def original(self, part: Node, text: str) -> str:
        """The text before this stage that is a given one after it; most stages rewrite nothing."""
        return text

    def named(self, node: Node) -> Written:
        """A tree under the name of this stage, so that explanations can say it."""
        return Written(0, 0, node, StageSource(self))


@dataclass(frozen=True)
class StageSource(Source):
    """A stage where explanations ask for the source of a part of a tree."""

    kind: ClassVar[str] = "stage"
    plain_text: ClassVar[bool] = False

    stage: PipelineStage

    @property
    def part_played(self) -> str:
        """It takes texts away."""
        return "stage"

    def lower(self) -> Node:
        """The empty text: a stage has no language of its own, it changes that of a source."""
        return Empty(0, 0)

    def fields(self) -> dict[str, object]:
        """The stage; a source of this kind is never saved by itself."""
        return stage_to_dict(self.stage)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The stage that was saved."""
        return cls(stage_from_dict(fields))

    def __str__(self) -> str:
        return str(self.stage)


class TokenStage(PipelineStage):
    """A stage that leaves the texts as they are and filters the tokens that write them."""

    of_tokenizer: ClassVar[bool] = True


_STAGES: Final[dict[str, type[PipelineStage]]] = {}

_BUILT_IN: Final = (
    "normalized", "preprocessed", "restricted", "tokens",
)  # fmt: skip
"""The files whose stages every process knows, imported when somebody asks for one by its name."""


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
        _load_built_in()  # So that their names are taken.
    other = _STAGES.get(made.kind)
    if other is not None and other.__qualname__ != made.__qualname__:
        raise ConstraintError(
            f"The stage {made.kind!r} is registered already, as {other.__qualname__}.",
            remedy="Choose another name for the class attribute `kind`.",
        )
    _STAGES[made.kind] = made
    return made


def stages_alone() -> tuple[PipelineStage, ...]:
    """The stages that need no arguments: ours by the names of their files, then all others."""
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
