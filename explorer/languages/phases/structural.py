"""Structural tags: the format in which xgrammar, vLLM and SGLang write a run of several phases.

Every type of xgrammar 0.2.8 is read, and vLLM's older form with ``structures`` and ``triggers``.
The text of the source is the JSON; its schemas, patterns and grammars are its children, and its
tags are phases. The meaning of the format is that of xgrammar:

- Free text anywhere inside a tag does not contain the tag's end.
- Of the strings that start a tag the leftmost in the text counts (`free`).
- With ``at_least_one`` a text begins with a tag; without it free text may come first.
- A ``.`` of a pattern matches a line break; ``\\d``, ``\\w`` and ``\\s`` are ASCII.
- White space between the tokens of JSON is free; there is none around the JSON text.

Objects keep JSON Schema's meaning: they have other members unless ``additionalProperties`` says
otherwise, and with ``any_order`` the required ones are still required, each once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Final, Self, cast

from explorer.alphabet import shown_letters
from explorer.arguments import instance, shown
from explorer.automata.tree.nodes import Node, Source
from explorer.errors import ConstraintError
from explorer.languages.phases.control import Name, checked_name, loaded_name
from explorer.languages.phases.followed import PartNet, Stretch
from explorer.languages.phases.reading import TAGGED, TagReader
from explorer.languages.schema.reading.text import indented, text_of_data
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

_Object = dict[str, object]

_NAMED: Final = re.compile(r"[<\[][^<>\[\]\s\"]+[>\]]")
"""A text that looks like the name of a control token."""


@register("structural tag")
@dataclass(frozen=True)
class StructuralTag(Source):
    """A structural tag.

    Args:
        tag: The structural tag as JSON.
        controls: Names in its strings that stand for control tokens.
        names: The names of tags, by JSON Pointer.
        strict: The option of `explorer.json_schema` for all its schemas.
        parts: Sources that replace its schemas, patterns and grammars.
    """

    kind: ClassVar[str] = "structural_tag"

    tag: str
    controls: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    strict: bool = True
    parts: tuple[Source, ...] | None = field(default=None)

    @property
    def text(self) -> str:
        """The JSON."""
        return self.tag

    @cached_property
    def _reading(self) -> TagReader:
        return TagReader(self.tag, self.controls, self.names, strict=self.strict, given=self.parts)

    @cached_property
    def _division(self) -> PartNet:
        """The parts of a text in which control tokens are shown by their names."""
        read = TagReader(
            self.tag, names=self.names, strict=self.strict, given=self.children, as_text=True
        )
        return PartNet(read.root, TAGGED)

    @cached_property
    def children(self) -> tuple[Source, ...]:
        """The schemas, patterns and grammars."""
        return tuple(self._reading.leaves)

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same tags around other children."""
        return replace(self, parts=children)

    @property
    def control_tokens(self) -> tuple[Name, ...]:
        """The control tokens of the strings and of the parts."""
        return tuple(dict.fromkeys((*self._reading.tokens, *super().control_tokens)))

    @property
    def _unmet(self) -> tuple[str, ...]:
        """The names of control tokens that stand in no string."""
        return tuple(name for name in self.controls if name not in self._reading.tokens)

    def with_met_controls(self) -> Self:
        """The same tags without the control tokens that stand in no string."""
        unmet = self._unmet
        return replace(self, controls=tuple(each for each in self.controls if each not in unmet))

    def warnings(self) -> tuple[str, ...]:
        """The warnings of the parts, and one for each control token that stands in no string."""
        written = list(dict.fromkeys(_NAMED.findall(self.tag)))
        said: list[str] = []
        for name in self._unmet:
            close = get_close_matches(name, written, 1)
            near = f" Near it is {close[0]}." if close else ""
            said.append(f"The control token {name} stands in no string of the tags.{near}")
        return (*super().warnings(), *said)

    @property
    def phased(self) -> bool:
        """True: its tags are phases."""
        return True

    def lower(self) -> Node:
        """The tree of the formats."""
        return self._reading.root

    def parse(self, data: bytes) -> list[_Object]:
        """The parts of the text, in order.

        ``{"text": …}`` for free text, ``{"value": …}`` for the text of a schema, a pattern or a
        grammar, ``{"tag": name, "parts": […]}`` for a tag. Fixed text is not a part.
        """
        shown_data = shown_letters(data).encode()
        whole = self._division.division(shown_data, whole=True)
        if whole is None:
            raise ConstraintError(
                "The text does not divide into the parts of the structural tag.",
                remedy="Give a whole text of the constraint.",
            )
        return [*_parts(whole, shown_data)]

    def fields(self) -> dict[str, object]:
        """The JSON, and how it is read."""
        return {
            "tag": self.tag, "controls": list(self.controls), "strict": self.strict,
            "names": [list(each) for each in self.names],
        }  # fmt: skip

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The structural tag that was saved."""
        controls = cast("list[object]", fields["controls"])
        names = cast("list[list[object]]", fields["names"])
        made = cls.of(
            instance("tag", fields["tag"], str, "a str"),
            tuple(str(loaded_name(each)) for each in controls),
            tuple((checked_name(str(a)), checked_name(str(b))) for a, b in names),
            strict=fields["strict"] is True,
        )  # fmt: skip
        other = len(children) == len(made.children) and children != made.children
        return made.with_children(children) if other else made

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a structural tag given as JSON text."""
        return cls.of(text)

    @classmethod
    def of(
        cls, given: object, controls: tuple[str, ...] = (),
        names: tuple[tuple[str, str], ...] = (), *, strict: bool = True,
    ) -> Self:  # fmt: skip
        """The source of a structural tag, read at once so that errors are raised here.

        Raises:
            ConstraintError: The data is not a structural tag, or a part of it cannot be followed.
        """
        if isinstance(given, Mapping):
            text = indented(text_of_data(cast("Mapping[str, object]", given)))
        elif isinstance(given, str):
            text = given.removeprefix("\ufeff")
        else:
            raise ConstraintError(
                f"{shown(given)} is not a structural tag.",
                remedy="Give a dict, or JSON as text.",
            )
        check_encodable(text)
        made = cls(text, controls, names, strict)
        made._reading  # noqa: B018 - It is read here, so that its errors come here.
        return made

    def __str__(self) -> str:
        short = " ".join(self.tag.split())
        return f"structural_tag({short if len(short) <= 80 else short[:77] + '…'})"


def _parts(stretch: Stretch, data: bytes) -> Iterator[_Object]:
    """The parts inside a stretch of a text."""
    for each in stretch.inside:
        part, written = each.part, data[each.begin : each.end]
        text = written.decode()
        if part is None or part.kind == "turn":
            yield from _parts(each, data) if text else ()
        elif part.kind in ("tag", "rule"):
            yield {"tag": part.name, "parts": [*_parts(each, data)]}
        elif part.source is not None:
            yield {"value": part.source.parse(written)}
        elif part.kind == "value" or len(text) > part.behind:
            yield {"text": text[: len(text) - part.behind]}
