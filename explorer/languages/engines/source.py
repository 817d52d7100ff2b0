"""The kind of source that is a JSON Schema as another engine reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Final, Self, cast

from explorer.arguments import flag, instance
from explorer.automata.rules.network import regular
from explorer.automata.tree.nodes import Loop, Node, Rules, Source
from explorer.errors import DamagedFile
from explorer.languages.engines.drawing import EngineDrawing
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.languages.schema.reading.text import value_of_json
from explorer.languages.sources.registry import register

ENGINES: Final[Mapping[str, str]] = {
    "xgrammar": "XGrammarDrawing", "llguidance": "LLGuidanceDrawing", "outlines": "OutlinesDrawing",
}  # fmt: skip
"""The class of each reading, in the file of the engine's name."""

_WHOLE: Final = "the whole schema"


@register("JSON Schema (as an engine reads it)")
@dataclass(frozen=True)
class EngineSchema(Source):
    """A JSON Schema as an engine reads it.

    Args:
        schema: The schema as JSON.
        engine: A name of `ENGINES`.
        compact: Whether the server forbids white space between the tokens of JSON.
        blank: A pattern of the white space between them, for an engine that follows one.
    """

    kind: ClassVar[str] = "engine_schema"
    plain_text: ClassVar[bool] = False

    schema: str
    engine: str = "xgrammar"
    compact: bool = False
    blank: str | None = None

    @property
    def text(self) -> str:
        """The schema as JSON."""
        return self.schema

    @property
    def shown(self) -> str:
        """The schema as JSON."""
        return self.schema

    @cached_property
    def _drawn(self) -> tuple[EngineDrawing, Node]:
        file = import_module(f"explorer.languages.engines.{self.engine}")
        made: Any = getattr(file, ENGINES[self.engine])
        drawing = cast("EngineDrawing", made(self.schema, compact=self.compact, blank=self.blank))
        try:
            return drawing, drawing.whole()
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise drawing.refused("", "a keyword has a value that does not fit it.") from error
        except RecursionError as error:
            raise drawing.refused("", "it nests too deep, or refers to itself at once.") from error

    @property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        """The parts that the engine reads in its own way: a pointer and a sentence each."""
        return tuple(self._drawn[0].remarks)

    def lower(self) -> Node:
        """The rules of the engine."""
        drawing, root = self._drawn
        if not drawing.rules:
            return root
        rules = {**drawing.rules, _WHOLE: root}
        return Rules(0, len(self.schema), _WHOLE, rules, regular)

    def parse(self, data: bytes) -> object:
        """The value of a text."""
        return value_of_json(data.decode())

    @property
    def space_remedy(self) -> str:
        """The remedy for endless white space: a setting of the server."""
        return LOOP_REMEDIES["space"]

    def loop_remedy(self, what: Loop) -> str:
        """The remedy for a loop: the keyword or the setting that ends it."""
        return LOOP_REMEDIES[what]

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The source that was saved."""
        engine = instance("engine", fields["engine"], str, "a str", error=DamagedFile)
        if engine not in ENGINES:
            raise DamagedFile(f"{engine!r} is not an engine.", remedy="Save the file again.")
        schema = instance("schema", fields["schema"], str, "a str", error=DamagedFile)
        blank = fields["blank"]
        given = None if blank is None else instance("blank", blank, str, "a str", error=DamagedFile)
        return cls(schema, engine, flag("compact", fields["compact"]), given)

    def __str__(self) -> str:
        return f"the schema as {self.engine} reads it"
