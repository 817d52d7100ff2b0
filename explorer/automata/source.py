"""What a constraint was made of: a tree that can be built, shown, saved and explained.

The tree is kept beside the machine because determinization forgets where an arc came from.
Each node builds its own byte machine; combinations build their parts first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from explorer.arguments import listed, wrong
from explorer.automata import operations
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.regex import compile_tree, parse
from explorer.automata.regex.tree import Tree
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError


@dataclass(frozen=True)
class Regex:
    """A pattern in the syntax of Python's ``re``; the whole text must match it."""

    pattern: str

    def __reduce__(self) -> tuple[object, ...]:
        return Regex, (self.pattern,)  # The tree is read again where it is needed.

    @cached_property
    def tree(self) -> Tree:
        """The parsed pattern; every node knows its span in the pattern."""
        return parse(self.pattern)

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return compile_tree(self.tree, meter)

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}…"
        return f"regex({shown!r})"


@dataclass(frozen=True)
class Choice:
    """One of some texts, letter for letter."""

    texts: tuple[str, ...]

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine: a prefix tree, minimised."""
        encoded = [encode(text) for text in self.texts]
        meter.check("Alternatives", states=1 + sum(map(len, encoded)))
        children: dict[tuple[int, int], int] = {}
        arcs: list[tuple[int, int, int, int]] = []
        accepting: set[int] = set()
        for word in encoded:
            here = 0
            for byte in word:
                there = children.get((here, byte))
                if there is None:
                    there = children[here, byte] = len(children) + 1
                    arcs.append((here, byte, byte, there))
                here = there
            accepting.add(here)
        nfa = Nfa(
            len(children) + 1,
            0,
            np.array(arcs, np.int32).reshape(-1, 4),
            np.empty((0, 2), np.int32),
            np.array(sorted(accepting), np.int32),
        )
        return operations.minimal_dfa(nfa, meter)

    def __str__(self) -> str:
        if len(self.texts) == 1:
            return f"literal({self.texts[0]!r})"
        shown = [repr(text) for text in self.texts[:4]]
        shown += [f"… {len(self.texts) - 4:,} more"] if len(self.texts) > 4 else []
        return f"choice([{', '.join(shown)}])"


@dataclass(frozen=True, eq=False)
class Imported:
    """A machine from elsewhere: it has states, but no source text."""

    origin: str
    machine: Dfa = field(repr=False)

    def build(self, meter: Meter) -> Dfa:
        """The machine itself."""
        return self.machine

    def __str__(self) -> str:
        return f"{self.origin}({self.machine.num_states} states)"


@dataclass(frozen=True)
class Union:
    """Words of any part."""

    parts: tuple[Source, ...]

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return operations.union([part.build(meter) for part in self.parts], meter)

    def __str__(self) -> str:
        return "(" + " | ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True)
class Concatenation:
    """A word of each part, one after the other."""

    parts: tuple[Source, ...]

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return operations.concatenation([part.build(meter) for part in self.parts], meter)

    def __str__(self) -> str:
        return "(" + " + ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True)
class Intersection:
    """Words of both parts."""

    left: Source
    right: Source

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return operations.intersection(self.left.build(meter), self.right.build(meter), meter)

    def __str__(self) -> str:
        return f"({self.left} & {self.right})"


@dataclass(frozen=True)
class Difference:
    """Words of the left part that are none of the right."""

    left: Source
    right: Source

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return operations.difference(self.left.build(meter), self.right.build(meter), meter)

    def __str__(self) -> str:
        return f"({self.left} - {self.right})"


@dataclass(frozen=True)
class Complement:
    """Valid UTF-8 texts that are no word of the part."""

    part: Source

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        return operations.difference(any_text(), self.part.build(meter), meter)

    def __str__(self) -> str:
        return f"~{self.part}"


@dataclass(frozen=True)
class Repetition:
    """Words of the part after each other: any number, at least one, or at most one."""

    part: Source
    minimum: int
    unbounded: bool

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine."""
        part = self.part.build(meter)
        if self.unbounded:
            return operations.repetition(part, meter, at_least_once=self.minimum == 1)
        return operations.union([part, Choice(("",)).build(meter)], meter)

    def __str__(self) -> str:
        name = "optional" if not self.unbounded else "plus" if self.minimum else "star"
        return f"{self.part}.{name}()"


Source = (
    Regex | Choice | Imported | Union | Concatenation | Intersection | Difference | Complement
    | Repetition
)  # fmt: skip
"""Any node of the tree."""


def encode(text: str) -> bytes:
    """The UTF-8 bytes of a text.

    Raises:
        ConstraintError: The text holds a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ConstraintError(
            f"The text {text!r} holds a lone surrogate at character {error.start}, which is no "
            f"character and has no UTF-8 form.",
            remedy="Remove it, or write the character that the pair of surrogates stands for.",
            evidence={"offset": error.start},
        ) from None


def choice_of(texts: Iterable[str]) -> Choice:
    """A `Choice` of distinct texts in the order given.

    Raises:
        ConstraintError: There is none, one is no string, or one is no text.
    """
    if isinstance(texts, str):
        raise ConstraintError(
            f"choice({texts!r}) would mean a choice of single characters.",
            remedy="Give a list of texts, or use literal(...) for one text.",
        )
    given = listed("texts", texts, "a list of texts", error=ConstraintError)
    if not given:
        raise ConstraintError("A choice of nothing has no word.", remedy="Give at least one text.")
    for k, text in enumerate(given):
        if not isinstance(text, str):
            name = "text" if len(given) == 1 else f"texts[{k}]"
            remedy = "Write it as a string."
            raise wrong(name, text, "a text", remedy=remedy, error=ConstraintError)
        encode(text)
    return Choice(tuple(dict.fromkeys(cast("list[str]", given))))
