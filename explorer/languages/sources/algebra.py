"""The kinds of sources that combine others: what the operators of `Constraint` make.

Each is shown by its short form, as Python would write it. None has a text of its own to edit.

`Healed` begins inside the prompt's last token (token healing). A prompt that ends in the middle of
a word, ``"https:"``, is tokenized as nothing that a model has read would be: ``"://"`` is a token
of its own. So the last token is taken back, and the constraint begins with its text, in whatever
tokens the model prefers.

Functions over a source recurse into its parts, so a source that nests too deep would end one of
them halfway at Python's recursion limit. So the depth is checked when parts are put together.
Constraints are values, so ``c & c`` holds one source twice, and after thirty such steps a thousand
million times. So the size is counted when a constraint is made, without walking a shared part
twice, and a source that is too large is refused before anything else walks it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import ClassVar, Final, Self, TypeVar

from explorer.arguments import flag, instance, whole_number, wrong
from explorer.automata.tree.nodes import (
    MAX_REPEAT,
    Branch,
    Concat,
    Intersect,
    Negate,
    Node,
    Repeat,
    Source,
    Subtract,
    Written,
    letters,
)
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.membership import Membership
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register


class Combination(Source):
    """A source that is made of others; ``sign`` is the operator that combines them."""

    plain_text: ClassVar[bool] = False
    sign: ClassVar[str] = ""

    def spelled(self) -> str:
        """The expression that combines the expressions of its parts."""
        return self.written([part.spelled() for part in self.children])

    def written(self, parts: list[str]) -> str:
        """The expression, given those of its parts; by default they are joined by the sign."""
        return f"({f' {self.sign} '.join(parts)})"

    def __str__(self) -> str:
        return self.written([str(part) for part in self.children])

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The combination of the parts that were saved."""
        return cls(*children)

    def lower(self) -> Node:
        """The node that combines the trees of the children."""
        return self.combined(
            tuple(replace(child.tree, child=k) for k, child in enumerate(self.children))
        )

    @abstractmethod
    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The node over the trees of the children, in their order."""


class Several(Combination):
    """A combination of any number of parts; a dataclass with the field ``parts``."""

    parts: tuple[Source, ...]

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The combination of the parts that were saved."""
        if not children:
            raise ConstraintError("It has 0 parts.", remedy="Give it a part.")
        return cls(children)  # pyright: ignore[reportCallIssue]


class Pair(Combination):
    """A combination of two parts; a dataclass with the fields ``left`` and ``right``."""

    left: Source
    right: Source

    @property
    def letters_stand(self) -> bool:
        """False with control tokens: one part may exclude a token that the other asks for."""
        return not self.control_tokens


@register("union")
@dataclass(frozen=True)
class Union(Several):
    """Words of any part."""

    kind: ClassVar[str] = "union"
    sign: ClassVar[str] = "|"

    parts: tuple[Source, ...]

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """Alternatives."""
        return Branch(0, 0, trees)

    def parse(self, data: bytes) -> object:
        """The value that the first part which accepts the text gives it."""
        return next(part for part in self._texts if part.has(data)).source.parse(data)

    @cached_property
    def _texts(self) -> tuple[Membership, ...]:
        return tuple(map(Membership, self.parts))


@register("sequence")
@dataclass(frozen=True)
class Concatenation(Several):
    """Words that are a word of each part, one after the other."""

    kind: ClassVar[str] = "concatenation"
    sign: ClassVar[str] = "+"

    parts: tuple[Source, ...]

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """A sequence."""
        return Concat(0, 0, trees)


@register("intersection")
@dataclass(frozen=True)
class Intersection(Pair):
    """Words of both parts."""

    kind: ClassVar[str] = "intersection"
    sign: ClassVar[str] = "&"

    left: Source
    right: Source

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """Both."""
        return Intersect(0, 0, *trees)

    def by_parts(self, has: Callable[[Source], bool]) -> bool:
        """Whether both parts have a text."""
        return has(self.left) and has(self.right)

    def parse(self, data: bytes) -> object:
        """The value of the word for the left part."""
        return self.left.parse(data)


@register("difference")
@dataclass(frozen=True)
class Difference(Pair):
    """Words of the left part that are not words of the right one."""

    kind: ClassVar[str] = "difference"
    sign: ClassVar[str] = "-"

    left: Source
    right: Source

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The left without the right."""
        return Subtract(0, 0, *trees)

    def by_parts(self, has: Callable[[Source], bool]) -> bool:
        """Whether the left part has a text and the right one does not."""
        return has(self.left) and not has(self.right)

    def parse(self, data: bytes) -> object:
        """The value of the word for the left part."""
        return self.left.parse(data)


@register("complement")
@dataclass(frozen=True)
class Complement(Combination):
    """Valid UTF-8 texts that are not words of the part."""

    kind: ClassVar[str] = "complement"

    part: Source

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """Everything but the words of the part."""
        return Negate(0, 0, *trees)

    def by_parts(self, has: Callable[[Source], bool]) -> bool:
        """Whether the part does not have a text; asked of texts that are valid UTF-8."""
        return not has(self.part)

    def written(self, parts: list[str]) -> str:
        """The sign before the part."""
        return f"~{parts[0]}"


@register("repetition")
@dataclass(frozen=True)
class Repetition(Combination):
    """Words that are several words of the part, one after the other.

    Args:
        maximum: The most words; ``None`` for no limit.
    """

    kind: ClassVar[str] = "repetition"

    part: Source
    minimum: int
    maximum: int | None

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The repetition of the part that was saved."""
        if "unbounded" in fields:  # As files of earlier releases have it.
            most = None if flag("unbounded", fields["unbounded"]) else 1
        else:
            most = fields["maximum"]
        return cls(children[0], *counted_times(fields["minimum"], most))

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The repeat of the part."""
        return Repeat(0, 0, trees[0], self.minimum, self.maximum, False)

    def written(self, parts: list[str]) -> str:
        """The call that repeats the part."""
        return f"{parts[0]}.{repeating_call(self.minimum, self.maximum)}"


def counted_times(fewest: object, most: object = ...) -> tuple[int, int | None]:
    """The bounds of a repeat, from a user's arguments; without ``most`` both are the fewest.

    Raises:
        ConstraintError: One of them is not a whole number from 0, or ``most`` is below ``fewest``.
    """
    low = whole_number("fewest", fewest, 0, MAX_REPEAT - 1, error=ConstraintError)
    if most is None:
        return low, None
    high = low
    if most is not ...:
        high = whole_number("most", most, 0, MAX_REPEAT - 1, error=ConstraintError)
    if high < low:
        raise ConstraintError(
            f"The most, {high:,}, is below the fewest, {low:,}.", remedy="Swap them."
        )
    return low, high


REPEATING: Final[Mapping[str, tuple[int, int | None]]] = MappingProxyType(
    {"star": (0, None), "plus": (1, None), "optional": (0, 1)}
)
"""The methods of `Constraint` for common bounds; all other bounds are written ``times(...)``."""


def repeating_call(fewest: int, most: int | None) -> str:
    """The method call of a repeat with these bounds, as Python writes it.

    Example:
        >>> repeating_call(1, None), repeating_call(2, 2), repeating_call(2, None)
        ('plus()', 'times(2)', 'times(2, None)')
    """
    name = next((name for name, known in REPEATING.items() if known == (fewest, most)), "")
    both = f"{fewest}" if fewest == most else f"{fewest}, {most}"
    return f"{name}()" if name else f"times({both})"


Chain = TypeVar("Chain", bound=Union | Concatenation)


def chained(kind: type[Chain], *sources: Source) -> Chain:
    """A union or concatenation; parts of the same kind are merged, so a long chain is one source.

    Example:
        >>> from explorer import literal
        >>> a = literal("a").source
        >>> len(chained(Union, chained(Union, a, a), a).parts)
        3
    """
    parts = (each.parts if isinstance(each, kind) else (each,) for each in sources)
    return kind(tuple(chain.from_iterable(parts)))


def not_an_operand(sign: str, other: object) -> ExplorerError:
    """The error for an operand that is not a constraint."""
    return wrong(
        f"The other side of {sign}",
        other,
        "a constraint or a text",
        remedy="Write regex(...) for a pattern, a text in quotes for itself.",
        error=ConstraintError,
    )


def filtered_operand(stage: str) -> ExplorerError:
    """The error for an operand with a filter over tokens.

    Args:
        stage: The call that made the filter, such as ``canonical()``.
    """
    return ConstraintError(
        f"{stage} filters the tokens of the whole text, so it cannot stand inside a combination.",
        remedy=f"Combine first, then write (...).{stage}.",
    )


@register("healed")
@dataclass(frozen=True)
class Healed(Combination):
    """The end of a prompt, and then a constraint.

    Args:
        prefix: The text of the token that was taken back.
    """

    kind: ClassVar[str] = "healed"

    prefix: str
    part: Source

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """A sequence of the prompt's end, labelled as such, and the part."""
        before = letters(self.prefix, lambda _: (0, 0))
        named = Written(0, 0, before, label="the end of the prompt")
        return Concat(0, 0, (named, trees[0]))

    def parse(self, data: bytes) -> object:
        """The value of the text after the prompt."""
        return self.part.parse(data.removeprefix(self.prefix.encode()))

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The end of the prompt and the part that were saved."""
        prefix = instance("prefix", fields["prefix"], str, "a str")
        check_encodable(prefix)
        return cls(prefix, children[0])

    def written(self, parts: list[str]) -> str:
        """The end of the prompt before the part; Python has no expression for it."""
        return f"({self.prefix!r} of the prompt + {parts[0]})"


MOST_NESTED: Final = 100
"""The deepest nesting of sources; a notebook's stack has room for about 160 templates."""


def check_nesting(source: Source) -> Source:
    """Return a source, unless its parts are nested too deep.

    Raises:
        ConstraintError: The parts are nested more than `MOST_NESTED` deep.

    Example:
        >>> from explorer import regex, template
        >>> check_nesting(template("({x})", x=regex("a")).source).kind
        'template'
    """
    level = {id(source): source}
    for _ in range(MOST_NESTED):
        level = {id(child): child for each in level.values() for child in each.children}
        if not level:
            return source
    raise ConstraintError(
        f"The parts of this {source.kind} are nested more than {MOST_NESTED} deep.",
        remedy="Nest fewer parts: write fixed text around a part into the text of one template, "
        "or use grammar(...) for nesting without a limit.",
        evidence={"limit": MOST_NESTED},
    )


MOST_PARTS: Final = 200_000
"""The most sources that a constraint is made of; each occurrence of a shared one counts."""


def too_many_parts(source: Source) -> ConstraintError:
    """The error for a source of more than `MOST_PARTS`.

    Example:
        >>> from explorer import literal
        >>> a = literal("a")
        >>> ((a & a) | (a & a)).source.parts_written_out
        7
    """
    return ConstraintError(
        f"The constraint has {source.parts_written_out:,} parts written out; at most "
        f"{MOST_PARTS:,} are followed.",
        remedy="Use choice([...]) for many texts, star() or a pattern with {m,n} for repeats, "
        "and do not combine a constraint with itself.",
        evidence={"limit": MOST_PARTS, "parts": source.parts_written_out},
    )
