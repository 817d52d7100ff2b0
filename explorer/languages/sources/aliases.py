"""The kind of source that is a choice whose texts stand for names.

``{"Green": "Forest green"}``: the model writes *Forest green*, the program gets *Green*. A name may
have several texts; a text stands for one name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, cast

from explorer.arguments import listed, mapped, plain, wrong
from explorer.automata.tree.nodes import Branch, Node, Source, Written, letters
from explorer.errors import ConstraintError, Located, caret
from explorer.languages.schema.reading.text import pointer_to, spans_of
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register


@register("choices with aliases")
@dataclass(frozen=True)
class Aliases(Source):
    """One of some texts, each of which stands for a name.

    Example:
        >>> colours = Aliases.of({"Green": "Forest green", "Red": ["Brick", "Rust"]})
        >>> colours.parse(b"Rust"), colours.parse(b"Forest green")
        ('Red', 'Green')
    """

    kind: ClassVar[str] = "aliases"

    entries: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        """A JSON object: a text, or a list of texts, for each name; a line for each."""
        lines = [
            f"  {_json(name)}: {_json(texts[0] if len(texts) == 1 else texts)}"
            for name, texts in self.entries
        ]
        return "{\n" + ",\n".join(lines) + "\n}"

    def lower(self) -> Node:
        """An alternative for each text; its place is that of the text in the JSON object."""
        spans = spans_of(self.text)
        options: list[Node] = []
        for name, texts in self.entries:
            pointer = pointer_to(name)
            for k, text in enumerate(texts):
                start, end = spans[pointer if len(texts) == 1 else pointer_to(name, k)]
                node = letters(text, lambda _, span=(start, end): span)
                options.append(Written(start, end, node, label=f"choice `{name}`"))
        return options[0] if len(options) == 1 else Branch(0, len(self.text), tuple(options))

    def parse(self, data: bytes) -> str:
        """The name that a text stands for."""
        return self._names[data.decode()]

    @cached_property
    def _names(self) -> dict[str, str]:
        return {text: name for name, texts in self.entries for text in texts}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The names and texts that were saved."""
        pairs = cast("list[tuple[str, list[str]]]", fields["entries"])
        return cls.of({name: list(texts) for name, texts in pairs})

    @classmethod
    def read(cls, text: str) -> Self:
        """The JSON object that a text is."""
        try:
            data: object = json.loads(text, object_pairs_hook=_without_repeats)
        except json.JSONDecodeError as error:
            where = Located(text, error.pos, error.pos + 1)
            reason = f"The aliases are not JSON: {error.msg}"
            raise ConstraintError(
                f"{reason} in line {error.lineno}, column {error.colno}:\n"
                f"{caret(text, error.pos)}\n",
                remedy='Write {"name": "text", ...}.',
                evidence={"offset": error.pos, **where.evidence(f"{reason}.")},
            ) from error
        except RecursionError as error:
            raise ConstraintError(
                "The aliases nest too deep to be read.", remedy='Write {"name": "text", ...}.'
            ) from error
        except ValueError as error:  # A whole number of more digits than Python reads.
            raise ConstraintError(
                f"The aliases cannot be read: {error}.", remedy='Write {"name": "text", ...}.'
            ) from error
        return cls.of(data)

    @classmethod
    def of(cls, texts: object) -> Self:
        """The source of a mapping from names to texts.

        Args:
            texts: For each name a text or a list of texts.

        Raises:
            ConstraintError: A text is not a str, or stands for two names.
        """
        remedy = 'Give {"name": "text"}, or {"name": ["text", "text"]}.'
        given_texts = mapped(
            "texts", texts, "a mapping of names to texts", remedy=remedy, error=ConstraintError
        )
        owner: dict[str, str] = {}
        entries: list[tuple[str, tuple[str, ...]]] = []
        for key, value in given_texts.items():
            if not isinstance(key, str):
                raise wrong(
                    "A name of the choice", key, "a str", error=ConstraintError,
                    remedy=f"Write the name in quotes: {str(key)!r}.",
                )  # fmt: skip
            name = plain(key)
            given = (
                [value]
                if isinstance(value, str)
                else listed(f"texts[{name!r}]", value, "a text or texts", error=ConstraintError)
            )
            check_encodable(name)
            own: list[str] = []
            for each in given:
                if not isinstance(each, str):
                    raise wrong(f"texts[{name!r}]", each, "a text", error=ConstraintError)
                text = plain(each)
                check_encodable(text)
                own.append(text)
                if owner.setdefault(text, name) != name:
                    raise ConstraintError(
                        f"The text {text!r} stands for {owner[text]!r} and for {name!r}, so it "
                        "could not be mapped back.",
                        remedy="Give each name texts of its own.",
                        evidence={"text": text},
                    )
            if own:
                entries.append((name, tuple(dict.fromkeys(own))))
        if not entries:
            raise ConstraintError("A choice without texts has no word.", remedy="Give one text.")
        return cls(tuple(entries))

    def spelled(self) -> str:
        """The call that makes it, with all names."""
        entries = {name: t[0] if len(t) == 1 else list(t) for name, t in self.entries}
        return f"choice({entries!r})"

    def __str__(self) -> str:
        shown = [
            f"{name!r}: {(texts[0] if len(texts) == 1 else list(texts))!r}"
            for name, texts in self.entries[:4]
        ]
        shown += [f"… {len(self.entries) - 4:,} more"] if len(self.entries) > 4 else []
        return f"choice({{{', '.join(shown)}}})"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON without repeated names, of which Python would keep only the last entry."""
    entries: dict[str, object] = {}
    for name, texts in pairs:
        if name in entries:
            raise ConstraintError(
                f"The name {name!r} is given twice.",
                remedy="Write a list of the texts that are written for it.",
            )
        entries[name] = texts
    return entries
