"""The tree that every kind of source lowers to, and what a source is.

Regexes, choices, algebra, schemas and grammars are the front ends of a compiler: each lowers to the
nodes of this file, and what comes after knows nothing of their syntax. A node carries the *span*
``start:end`` of what was written, and a `Written` node says in which source, for all below it; that
is what carets, highlighting and explanations show. A node without a text has the empty span 0:0.

Nothing is changed or merged: the tree is what was written, one `Literal` for each character of a
pattern, its groups kept, also those that capture nothing. Flags are resolved: a `Literal` under
IGNORECASE holds all characters that it matches, a ``\\b`` the word characters it goes by, and ``^``
is one of two kinds. A match is of the whole text: laziness and captures make no difference.

A pattern has a node for each character, so the nodes of patterns are msgspec's structs: frozen like
dataclasses, and made in a tenth of the time. Leaves refer to no node (``gc=False``).

The table `SHAPES` gives the role of every kind of node; a walk of a tree uses the table and matches
on no kind; others are leaves. Sources of further kinds may come (`languages.sources.registry`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Final, Self, cast
from typing import Literal as OneOf

from msgspec import Struct, json, structs

from explorer.alphabet import shown_letters
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.tree.changes import Changeable, NamedSpan
from explorer.automata.tree.charset import CharSet, character
from explorer.automata.tree.parts import NamedPart
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, EmptyConstraint


class Empty(Struct, frozen=True, gc=False):
    """The empty text: an empty alternative, an empty group, an empty pattern."""

    start: int
    end: int


class Literal(Struct, frozen=True, gc=False):
    """One character of the pattern, however it is written (``a``, ``\\x61``, ``\\N{BULLET}``).

    ``chars`` holds the character itself, or with IGNORECASE all its cases.
    """

    start: int
    end: int
    chars: CharSet


class Class(Struct, frozen=True, gc=False):
    """A set ``[...]`` or a category escape such as ``\\d``."""

    start: int
    end: int
    chars: CharSet


class Dot(Struct, frozen=True, gc=False):
    """The dot: any character, or any but the newline."""

    start: int
    end: int
    chars: CharSet


class Concat(Struct, frozen=True):
    """Pieces one after the other; at least two."""

    start: int
    end: int
    items: tuple[Node, ...]


class Branch(Struct, frozen=True):
    """Alternatives between bars; at least two."""

    start: int
    end: int
    options: tuple[Node, ...]


class Repeat(Struct, frozen=True):
    """A piece and its quantifier; a maximum of ``None`` is no limit."""

    start: int
    end: int
    body: Node
    minimum: int
    maximum: int | None
    lazy: bool


class Group(Struct, frozen=True):
    """Parentheses; the number is ``None`` without a capture, the name is ``None`` without one."""

    start: int
    end: int
    body: Node
    number: int | None
    name: str | None


class AssertionKind(Enum):
    """The kinds of conditions on a place in the text."""

    TEXT_START = "text start"
    """``\\A``, and ``^`` without MULTILINE."""
    LINE_START = "line start"
    """``^`` with MULTILINE."""
    TEXT_END = "text end"
    """``\\Z``."""
    FINAL_LINE_END = "end, or before a final newline"
    """``$`` without MULTILINE."""
    LINE_END = "line end"
    """``$`` with MULTILINE."""
    BOUNDARY = "word boundary"
    """``\\b``; negated, ``\\B``."""
    AHEAD = "lookahead"
    """``(?=...)``; negated, ``(?!...)``."""
    BEHIND = "lookbehind"
    """``(?<=...)``; negated, ``(?<!...)``."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on a place in the text, which reads nothing; a lookaround has a body."""

    start: int
    end: int
    kind: AssertionKind
    negated: bool = False
    body: Node | None = None
    word: CharSet | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """One of several different literal texts; laid out as a prefix tree."""

    start: int
    end: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A finished minimal machine over valid UTF-8, without nodes below."""

    start: int
    end: int
    dfa: Dfa = field(repr=False)


class Outline(Struct, frozen=True, eq=False):
    """An automaton whose arcs are nodes, which keeps large parts by name.

    A row ``(source, node, target)`` of ``parts`` is an arc that reads any word of the node.
    """

    nfa: Nfa
    parts: tuple[tuple[int, Node, int], ...]


class Deferred(Struct, frozen=True):
    """A machine that its source builds when it is needed, within the limits of the caller.

    Args:
        make: From a meter to a minimal machine over valid UTF-8; raises `BudgetExceeded`.
        locate: From a text, the beginning of a word, the byte that fails there, what was written
            after it, and what all of that is, to the spans of the source that decide,
            each with its label; ``None`` where the source cannot say.
        outline: The same language as an automaton over nodes, if that is much smaller.
        written: Gives the tree that it was written as, where the places are those of that tree.
        is_late: Whether it may wait until a text comes to it.
        calls: Whether the outline calls rules; the node then has no other form.
        rules: Gives the same language as rules, if its values nest without end; else ``None``.
    """

    start: int
    end: int
    make: Callable[[Meter], Dfa]
    locate: Locate | None = None
    outline: Callable[[Meter], Outline] | None = None
    written: Callable[[], Node] | None = None
    is_late: bool = False
    calls: bool = False
    rules: Callable[[], Rules | None] | None = None


class Call(Struct, frozen=True):
    """A call of the rule with this name; only in the bodies of `Rules`."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Rules:
    """The words of one rule of a grammar, whose rules call each other and themselves.

    Args:
        root, rules: The rule, and the body of every rule that is called.
        make: Builds the minimal machine of the rules; raises `NotRegular` if they recurse.
        locate: As for `Deferred`; by default the places are those of the rules.
        apart: Rules that are not laid into several callers, as their machines would multiply.
    """

    start: int
    end: int
    root: str
    rules: Mapping[str, Node] = field(repr=False)
    make: Callable[[Rules, Meter], Dfa] = field(repr=False)
    locate: Locate | None = field(default=None, repr=False)
    apart: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True)
class TokenPiece:
    """A piece of whole tokens, such as one text token without a newline.

    Args:
        tokens: Its machine over bytes and marks (`explorer.automata.tree.build`).
        text: The machine of its texts, for machines over bytes.
    """

    start: int
    end: int
    tokens: Callable[[], Dfa] = field(repr=False)
    text: Callable[[], Dfa] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """A piece that at most a number of tokens may write; a text does not determine the number.

    A token counts if it writes at least one byte of the piece: also one that crosses its edge.
    """

    start: int
    end: int
    body: Node
    most: int


@dataclass(frozen=True, slots=True)
class Intersect:
    """Words of both nodes."""

    start: int
    end: int
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Subtract:
    """Words of the left node that are not words of the right one."""

    start: int
    end: int
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Negate:
    """Valid UTF-8 texts that are not words of the body."""

    start: int
    end: int
    body: Node


@dataclass(frozen=True, slots=True)
class Whole:
    """A pattern whose assertions see nothing outside of it."""

    start: int
    end: int
    body: Node


@dataclass(frozen=True, slots=True)
class Written:
    """The origin of the nodes below: their spans count in the text of this source.

    Args:
        source: The source; ``None`` for the one around, to give a place in it a label or a name.
        label: The name of the place beside its span, such as ``/properties/age``; empty for the
            label around it.
        child: Which child of the source around this one is, from 0; ``None`` if it is not one.
    """

    start: int
    end: int
    body: Node
    source: Source | None = None
    label: str = ""
    child: int | None = None
    part: NamedPart | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """A language of which no finite machine, and no stack, knows what may come next.

    Its texts are those of the body that a kind of configurations allows, which remembers what it
    reads where there are marks.

    Args:
        body: All texts, and more.
        marked: The body with marks, bytes that no text holds, where something is to be remembered.
        closed: The language, where nothing is to be remembered; its machine may be refused.
        kind: Makes the kind of `explorer.automata.discovered.discovered.Discovered` from the
            machines of ``marked`` and of ``body``.
        marks: The marks.
        waits: Whether parts with marks may be late.
    """

    start: int
    end: int
    body: Node
    marked: Node = field(repr=False)
    closed: Node = field(repr=False)
    kind: Callable[[Any, Any], Any] = field(repr=False)
    marks: bytes
    waits: bool


Node = (
    Empty | Literal | Class | Dot | Concat | Branch | Repeat | Group | Assertion | Texts | Machine
    | Deferred | Call | Rules | TokenPiece | TokenLimit | Intersect | Subtract | Negate | Whole
    | Written | Remembered
)  # fmt: skip
Leaf = Literal | Class | Dot
Offered = OneOf["token", "text", "part", "nothing"]
"""An offer after a text: one token, more of a text, what may belong to the next part, or nothing,
where only the place of the text is asked for."""
Locate = Callable[[bytes, int | None, bytes, Offered], tuple[NamedSpan, ...]]
Closed = (
    Machine | Deferred | Rules | TokenPiece | TokenLimit | Intersect | Subtract | Negate
    | Remembered
)  # fmt: skip
"""Nodes that become a machine of their own before the layout."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The origin of an arc or a call.

    Args:
        source: Whose text its span counts in; ``None`` outside any source.
        label: What the place is called beside its span; empty if it has no name.
        phases: The phases that it is in, the outermost first.
    """

    node: Leaf | Texts | Closed | Call
    source: Source | None = None
    label: str = ""
    before: bytes = b""
    phases: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """The beginning of its span, in characters of the source's text."""
        return self.node.start

    @property
    def end(self) -> int:
        """The end of its span."""
        return self.node.end


Part = OneOf["leaf", "around", "pattern", "sequence", "alternatives", "both", "without", "ready"]
"""The part that a node plays to the nodes below it.

``around``: nothing; it names or bounds the text of the one below. ``pattern``: a pattern that looks
at nothing outside. ``sequence``: one after the other. ``alternatives``: any of them. ``both``: what
both have. ``without``: the first, or any text where there is only one, without the last. ``ready``:
a machine, with no nodes below. ``leaf``: it reads or asserts something by itself.
"""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The role and the children of a kind of node.

    Args:
        fields: The fields of the children: one node each, or one field with a tuple of nodes.
        again: Whether what is below may be read more than once.
    """

    part: Part
    fields: tuple[str, ...] = ()
    again: Callable[[Any], bool] = lambda node: False


SHAPES: Final[Mapping[type, NodeShape]] = {
    Group: NodeShape("around", ("body",)),
    Written: NodeShape("around", ("body",)),
    TokenLimit: NodeShape("around", ("body",)),
    Remembered: NodeShape("around", ("body",)),
    Whole: NodeShape("pattern", ("body",)),
    Concat: NodeShape("sequence", ("items",)),
    Repeat: NodeShape("sequence", ("body",), lambda node: node.maximum != 1),
    Branch: NodeShape("alternatives", ("options",)),
    Intersect: NodeShape("both", ("left", "right")),
    Subtract: NodeShape("without", ("left", "right")),
    Negate: NodeShape("without", ("body",)),
    Machine: NodeShape("ready"),
    Deferred: NodeShape("ready"),
    Rules: NodeShape("ready"),
    Assertion: NodeShape("leaf", ("body",)),
}
_LEAF: Final = NodeShape("leaf")


def shape_of(node: Node) -> NodeShape:
    """The `NodeShape` of a node."""
    return SHAPES.get(type(node), _LEAF)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    below: list[Node] = []
    for name in shape_of(node).fields:
        held: Node | tuple[Node, ...] | None = getattr(node, name)
        if isinstance(held, tuple):
            return held
        if held is not None:
            below.append(held)
    return tuple(below)


def with_children(node: Node, below: tuple[Node, ...]) -> Node:
    """The same node with other children; their number stays the same.

    Args:
        below: The new `children`.

    Example:
        >>> with_children(Group(0, 2, Empty(1, 1), 1, None), (Empty(0, 0),)).body
        Empty(start=0, end=0)
    """
    if not below:
        return node
    names = shape_of(node).fields
    if isinstance(getattr(node, names[0]), tuple):
        changed: dict[str, object] = {names[0]: below}
    else:
        changed = dict(zip(names, below, strict=True))
    made: Any = structs.replace(node, **changed) if isinstance(node, Struct) else replace(
        node, **changed  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    return made


def inside(node: Node) -> Node:
    """The node below groups, `Written` nodes and limits, which do not change the texts."""
    while shape_of(node).part == "around":
        (node,) = children(node)
    return node


def walk(node: Node) -> Iterator[Node]:
    """A node and all its descendants, in the order of the pattern."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


MAX_REPEAT: Final = 2**32 - 1
"""The count of an unlimited repeat in `re`, one more than the largest count."""


def letters(text: str, span: Callable[[int], tuple[int, int]]) -> Node:
    """The node of a literal text, one `Literal` per character.

    Args:
        span: A function from the index of a character to its span in the source.

    Example:
        >>> letters("ab", lambda k: (k, k + 1)).end
        2
    """
    spans = [span(k) for k in range(len(text))]
    items = tuple(
        Literal(start, end, character(char)) for char, (start, end) in zip(text, spans, strict=True)
    )
    if len(items) < 2:
        return items[0] if items else Empty(0, 0)
    return Concat(spans[0][0], spans[-1][1], items)


Loop = OneOf["space", "number", "string", "array", "object", "repeat"]
"""The kinds of endless runs: white space, digits of a number, characters of a string, items of an
array, members of an object, or any other part that repeats."""


@dataclass(frozen=True, eq=False)
class Source(Changeable, ABC):
    """One kind of constraint: a frozen value that knows its text, its tree and its saved form.

    A kind is a frozen dataclass that `explorer.languages.sources.registry.register` was called on;
    then the editor, the command line, traces, explanations and exports know it. Its parts are the
    fields that hold sources.

    Attributes:
        kind: The name of the kind, in files and in the editor.
        plain_text: Whether `read` accepts `text`. Otherwise the editor does not offer the kind, and
            views show the short form ``str(source)`` of its sources.
    """

    kind: ClassVar[str]
    plain_text: ClassVar[bool] = True

    @property
    def text(self) -> str:
        """The editable text of the source, to which spans refer; by default its short form."""
        return str(self)

    @abstractmethod
    def lower(self) -> Node:
        """The tree, without the `Written` node of this source itself; use `tree`."""

    def fields(self) -> dict[str, object]:
        """The fields for `load` as JSON values, without the children; by default all of them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: as_saved(value) for name, value in values.items() if not _held(value)}

    @classmethod
    @abstractmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The source of saved fields and children.

        Raises:
            ExplorerError: The fields are not those of a source; the file is damaged or forged.
        """

    @abstractmethod
    def __str__(self) -> str:
        """A short form on one line, such as ``regex('a+')``."""

    def spelled(self) -> str:
        """The Python expression that makes the source, or the short form if there is none."""
        return str(self)

    @classmethod
    def read(cls, text: str) -> Self:
        """The source that a person wrote, for kinds that are offered; or an `ExplorerError`."""
        raise NotImplementedError

    def parse(self, data: bytes) -> object:
        """The meaning of a word of the language to a program; by default the text itself, which a
        model has written: nothing of it is ever evaluated. An `ExplorerError` says that the text
        has no value, for a reason that no automaton can see.

        Args:
            data: The bytes of the word, with control tokens as letters.
        """
        return shown_letters(data)

    @cached_property
    def children(self) -> tuple[Source, ...]:
        """The sources in the fields of this one, in order."""
        return tuple(part for each in fields(self) for part in _held(getattr(self, each.name)))

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same source with other children; their number stays the same."""
        rest, changed = iter(children), dict[str, Any]()
        for each in fields(self):
            if parts := _held(value := getattr(self, each.name)):
                taken = tuple(islice(rest, len(parts)))
                changed[each.name] = taken if isinstance(value, tuple) else taken[0]
        return replace(self, **changed) if changed else self

    def why_empty(self) -> EmptyConstraint | None:
        """The error that explains why the source has no words; asked only if it has none."""
        return None

    def why_large(self, error: BudgetExceeded, seconds: float) -> BudgetExceeded:
        """An error about the size of the source that names its largest part, found in time."""
        return error

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts of a source that is a choice between texts; empty for other sources."""
        return ()

    @property
    def phased(self) -> bool:
        """Whether the source names phases of a run."""
        return any(child.phased for child in self.children)

    @property
    def part_played(self) -> str:
        """A noun such as ``stage`` that names it where it only takes texts away from a source."""
        return ""

    @property
    def space_remedy(self) -> str:
        """A sentence on how to bound endless white space in this source."""
        return ""

    def loop_remedy(self, what: Loop) -> str:
        """A sentence on which setting of this source ends such a loop."""
        return ""

    def state_name(self, state: int) -> str:
        """The name of a state of a source that is a machine, which has no text."""
        return ""

    def by_parts(self, has: Callable[[Source], bool]) -> bool | None:
        """Whether a text is a word, where that follows from the parts, each asked with ``has``, so
        that the whole may be without words; ``None`` where the source's own machine answers."""
        return None

    def warnings(self) -> tuple[str, ...]:
        """Sentences on what the machine ignores, children included; asked after it was built."""
        return tuple(each for child in self.children for each in child.warnings())

    def decisions(self) -> tuple[str, ...]:
        """Sentences on choices made by the compiler, children included; asked as `warnings` is."""
        return tuple(each for child in self.children for each in child.decisions())

    def wider(self, start: int, end: int, rest: str) -> tuple[str, ...]:
        """Propose texts for a span from which ``rest`` can be read on, the shortest first."""
        return ()

    @property
    def over_tokens(self) -> bool:
        """Whether a part of it speaks about tokens, so that texts alone do not decide."""
        return any(child.over_tokens for child in self.children)

    @property
    def control_tokens(self) -> tuple[str | int, ...]:
        """The control tokens that it speaks of, by name or id; each must be in a vocabulary."""
        return tuple(dict.fromkeys(each for part in self.children for each in part.control_tokens))

    @property
    def letters_stand(self) -> bool:
        """Whether a vocabulary that has all control tokens can write each where it is asked for."""
        return all(child.letters_stand for child in self.children)

    @property
    def token_stages(self) -> tuple[Any, ...]:
        """The stages around it that filter tokens and are on, in order (`languages.stages`)."""
        return ()

    @cached_property
    def tree(self) -> Written:
        """The tree, with this source as the origin of its nodes."""
        body = self.lower()
        return Written(body.start, body.end, body, self)

    @property
    def late_tree(self) -> Written:
        """The tree for a place that few texts come to, of which a part may wait until one does."""
        return self.tree

    @cached_property
    def parts_written_out(self) -> int:
        """The number of sources in it, itself included; one that stands twice counts twice."""
        return 1 + sum(child.parts_written_out for child in self.children)

    @property
    def shown(self) -> str:
        """The text for a view: the one in which spans count, or the short form."""
        return self.text if self.plain_text else str(self)

    def __getstate__(self) -> dict[str, object]:
        """The fields alone: what follows from them is worked out again where it is needed."""
        made, kind = vars(self), type(self)
        derived = {n for n in made if isinstance(getattr(kind, n, None), cached_property)}
        return {name: value for name, value in made.items() if name not in derived}


def as_saved(value: object) -> object:
    """A value as a JSON file gives it back: a tuple is a list."""
    return json.decode(json.encode(value))


def _held(value: object) -> tuple[Source, ...]:
    """The sources that a field is or holds."""
    if isinstance(value, tuple) and value and isinstance(value[0], Source):
        return cast("tuple[Source, ...]", value)
    return (value,) if isinstance(value, Source) else ()
