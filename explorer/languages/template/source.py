"""The kind of source that is a template: fixed text and named parts.

Its text is the Python expression ``template("Name: {name}", name=gen(regex="[a-z]+"))``, read with
`ast` and never evaluated. Spans of the fixed text refer to this expression; a part keeps its own
text, and its places are labelled "part `name`".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Self

from explorer.alphabet import in_quotes
from explorer.arguments import check_whole_characters, instance
from explorer.automata.tree.nodes import Concat, Empty, Node, Source, Written, letters
from explorer.automata.tree.parts import NamedPart
from explorer.errors import ConstraintError, Located
from explorer.languages.phases.followed import stretches
from explorer.languages.sources.registry import register
from explorer.languages.template.expression import places_in, read_expression

MOST_SHOWN: Final = 24
"""The most characters of a fixed text in the label of its place."""

_PIECE: Final = re.compile(r"\{\{|\}\}|\{([^}]*)\}|.", re.DOTALL)


@register("template")
@dataclass(frozen=True)
class Template(Source):
    """Fixed text and parts in turn.

    Args:
        fixed: The texts before, between and after the parts: one more than there are parts.
        written: The expression if it was given as text; else it is spelled out. It does not count
            for equality.
        places: The spans of the characters of each fixed text in ``written``.
    """

    kind: ClassVar[str] = "template"

    fixed: tuple[str, ...]
    names: tuple[str, ...]
    parts: tuple[Source, ...]
    written: str = field(default="", compare=False)
    places: tuple[tuple[tuple[int, int], ...], ...] = field(default=(), compare=False, repr=False)

    @property
    def text(self) -> str:
        """The expression."""
        return self.written or self.spelled()

    def spelled(self) -> str:
        """The Python expression of this template."""
        parts = [
            f", {name}={part.spelled()}" for name, part in zip(self.names, self.parts, strict=True)
        ]
        return f"template({self.format!r}{''.join(parts)})"

    @property
    def format(self) -> str:
        """The text with ``{name}`` for each part and doubled braces for single ones."""
        texts = [text.replace("{", "{{").replace("}", "}}") for text in self.fixed]
        fields = [*(f"{{{name}}}" for name in self.names), ""]
        return "".join(text + name for text, name in zip(texts, fields, strict=True))

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same text with other parts."""
        return replace(self, parts=children, written="", places=())

    def lower(self) -> Node:
        """The sequence of fixed texts and parts, each part labelled with its name."""
        places = self.places
        if not places:  # In the expression that is spelled out.
            text = self.format
            written = places_in(repr(text), len("template("), text)
            places = tuple(tuple(written[k] for k in row) for row in fields_of(text)[2])
        nodes: list[Node] = []
        for k, text in enumerate(self.fixed):
            if text:
                written = letters(text, places[k].__getitem__)
                shown = text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
                label = f"the text {in_quotes(shown)}"
                nodes.append(Written(written.start, written.end, written, label=label))
            if k < len(self.parts):
                label = f"part `{self.names[k]}`"
                nodes.append(
                    replace(self.parts[k].tree, child=k, label=label, part=NamedPart("value"))
                )
        if len(nodes) < 2:
            return nodes[0] if nodes else Empty(0, 0)
        return Concat(0, len(self.text), tuple(nodes))

    def parse(self, data: bytes) -> dict[str, object]:
        """The parsed value of each part by name.

        Where a text can be divided in several ways, each part from the left takes the longest
        stretch with which the rest still fits (`explorer.languages.phases.followed`).
        """
        named = zip(self.names, self.parts, stretches(self, data), strict=True)
        return {name: part.parse(stretch) for name, part, stretch in named}

    def fields(self) -> dict[str, object]:
        """The text with the names of the parts."""
        return {"format": self.format}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The template that was saved."""
        fixed, names, _ = fields_of(instance("format", fields["format"], str, "a str"))
        return cls.of(fixed, names, dict(zip(names, children, strict=True)))

    @classmethod
    def read(cls, text: str) -> Self:
        """The template that an expression makes."""
        expression = read_expression(text)
        if not isinstance(expression, cls):
            raise ConstraintError(
                f"This is {expression}, not a template.",
                remedy='Write template("Name: {name}", name=gen(regex="[a-z]+")).',
            )
        return expression

    @classmethod
    def of(
        cls,
        fixed: tuple[str, ...],
        names: tuple[str, ...],
        parts: Mapping[str, Source],
        written: str = "",
        places: tuple[tuple[tuple[int, int], ...], ...] = (),
    ) -> Self:
        """A template whose parts are given by name.

        Raises:
            ConstraintError: A name has no part, a part is not in the text, or a name stands twice.
        """
        for name in names:
            if names.count(name) > 1:
                raise ConstraintError(
                    f"The part {{{name}}} stands in the template twice.",
                    remedy="Give each place a name of its own: two places cannot be held equal by "
                    "a finite automaton.",
                    evidence={"name": name},
                )
            if name not in parts:
                raise ConstraintError(
                    f"The template has a place {{{name}}}, but there is no part {name!r}.",
                    remedy=f"Give {name}=gen(...), or write {{{{{name}}}}} for braces.",
                    evidence={"name": name},
                )
        for name in parts:
            if name not in names:
                raise ConstraintError(
                    f"The template has no place {{{name}}} for the part {name!r}.",
                    remedy=f"Write {{{name}}} where it belongs, or leave the part out.",
                    evidence={"name": name},
                )
        return cls(fixed, names, tuple(parts[name] for name in names), written, places)

    def __str__(self) -> str:
        short = self.spelled()
        return short if len(short) <= 100 else f"{short[:99]}…"


def fields_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """The fixed texts and the names of a text with ``{name}`` in it.

    Args:
        text: ``{{`` and ``}}`` stand for single braces.

    Returns:
        The fixed texts before, between and after the names; the names; and the offsets of the
        characters of each fixed text in ``text``.

    Raises:
        ConstraintError: A brace is not closed, a field is not a plain name, or there is half of a
            surrogate pair.

    Example:
        >>> fields_of("a {x}{{b}} {y}")[:2]
        (('a ', '{b} ', ''), ('x', 'y'))
    """
    check_whole_characters("The template", text, error=ConstraintError)
    fixed: list[list[str]] = [[]]
    offsets: list[list[int]] = [[]]
    names: list[str] = []
    for piece in _PIECE.finditer(text):
        name, written = piece[1], piece[0]
        if name is not None and name.isidentifier():
            names.append(name)
            fixed.append([])
            offsets.append([])
        elif name is None and written not in ("{", "}"):
            fixed[-1].append(written[0])
            offsets[-1].append(piece.start())
        else:
            reason = "A place for a part is a name in braces"
            if name is None:
                reason = f"This brace {'is not closed' if written == '{' else 'closes nothing'}"
            span = Located(text, *piece.span())
            raise span.error(reason, "Write {name} for a part, {{ and }} for single braces.")
    return tuple(map("".join, fixed)), tuple(names), tuple(map(tuple, offsets))
