"""The kind of source that is one of some texts, letter for letter."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from numbers import Integral
from typing import ClassVar, Self, cast

from explorer.arguments import check_whole_characters, instance, listed, plain, wrong
from explorer.automata.tree.nodes import Node, Source, Texts
from explorer.errors import ConstraintError
from explorer.languages.sources.registry import register


@register("choices")
@dataclass(frozen=True)
class Choice(Source):
    """One of some texts."""

    kind: ClassVar[str] = "choice"

    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        """A text on each line."""
        return "\n".join(self.texts)

    @property
    def shown(self) -> str:
        """The short form: lines are for the editor."""
        return str(self)

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts."""
        return self.texts

    def lower(self) -> Node:
        """A prefix tree."""
        return Texts(0, 0, self.texts)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The texts that were saved; each must be one that can be written in UTF-8."""
        texts = cast("list[str]", fields["texts"])
        return cls.of([instance("text", text, str, "a text") for text in texts])

    @classmethod
    def read(cls, text: str) -> Self:
        """A text on each line; empty lines do not count."""
        return cls.of([line for line in text.split("\n") if line])

    @classmethod
    def of(cls, texts: object) -> Self:
        """The choice between distinct texts, in the given order; a number stands for its text.

        Raises:
            ConstraintError: The list is empty, or an element is neither a number nor a valid text.
        """
        if isinstance(texts, str):
            raise ConstraintError(
                f"choice({plain(texts)!r}) would mean a choice of single characters.",
                remedy="Give texts, choice('a', 'b'), or a list of them; literal(...) is one text.",
            )
        given = listed("texts", texts, "a list of texts", error=ConstraintError)
        if not given:
            raise ConstraintError(
                "A choice without texts has no word.",
                remedy='Give one text at least, such as choice("yes", "no").',
            )
        chosen: list[str] = []
        for k, each in enumerate(given):
            text = plain(each) if isinstance(each, str) else _number(each)
            if text is None:
                name = "text" if len(given) == 1 else f"texts[{k}]"
                remedy = "Write it as a string."
                raise wrong(name, each, "a text or number", remedy=remedy, error=ConstraintError)
            check_encodable(text)
            chosen.append(text)
        return cls(tuple(dict.fromkeys(chosen)))

    def spelled(self) -> str:
        """The call that makes it, with all texts."""
        one = len(self.texts) == 1
        return f"literal({self.texts[0]!r})" if one else f"choice({list(self.texts)!r})"

    def __str__(self) -> str:
        if len(self.texts) == 1:
            return f"literal({self.texts[0]!r})"
        shown = [repr(text) for text in self.texts[:4]]
        shown += [f"… {len(self.texts) - 4:,} more"] if len(self.texts) > 4 else []
        return f"choice([{', '.join(shown)}])"


def _number(value: object) -> str | None:
    """The text of a number as Python writes it; ``None`` for anything else, NaN and infinity."""
    if isinstance(value, bool):
        return None
    # Python writes no number of too many digits, and a user's own number may raise anything.
    with suppress(Exception):
        if isinstance(value, Integral):
            return str(int(value))
        if isinstance(value, float) and isfinite(value):
            return repr(float(value))
    return None


def check_encodable(text: str) -> None:
    """Refuse a text that has no UTF-8 form.

    Raises:
        ConstraintError: The text holds half of a surrogate pair.
    """
    check_whole_characters(f"The text {text!r}", text, error=ConstraintError)
