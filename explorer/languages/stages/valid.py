"""The stage of valid UTF-8, which is always there: as a stage it can be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Node, Written
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.languages.stages.stage import TextStage, register_stage


@register_stage
@dataclass(frozen=True)
class ValidUtf8(TextStage):
    """Bytes that are UTF-8: no overlong form, no half of a surrogate pair, nothing past U+10FFFF.

    Its machine is the decoder's of Höhrmann (2010, "Flexible and Economical UTF-8 Decoder"): the
    eight states of the Unicode Standard's table 3-7. All constraints are about texts, so the stage
    takes nothing away.
    """

    kind: ClassVar[str] = "utf8"
    in_bytes: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "UTF-8"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return "only bytes that are valid UTF-8; true of every constraint, here to be looked at"

    def around(self, part: Written) -> Node:
        """The part as it is: its texts are valid."""
        return Written(0, 0, part)

    def picture(self, meter: Meter) -> Dfa:
        """Höhrmann's machine."""
        return any_text()

    def fields(self) -> dict[str, object]:
        """No fields."""
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage."""
        return cls()

    def __str__(self) -> str:
        return "valid_utf8()"
