"""The options of a schema: how it is followed and how its values are written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Final, Literal, cast, get_args

from explorer.arguments import flag, instance, naming, plain, whole_number, wrong
from explorer.automata.construction.operations import difference
from explorer.automata.machine import Dfa
from explorer.automata.words import has_no_word, shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.strings import EscapesOf, Whitespace
from explorer.languages.schema.values.places import Depth

BLANK: Final = r"[ \t\n\r]*"
"""All white space that JSON has between its tokens (RFC 8259, section 2)."""
LIMITS: Final = Budget(states=2_000, seconds=10)
"""The budget for the machine of a pattern, which is copied to every place of white space."""


@lru_cache(maxsize=64)
def blank_machine(pattern: str) -> Dfa:
    """The machine of a pattern of white space.

    Args:
        pattern: As `explorer.regex` reads it.

    Raises:
        RegexError: The pattern cannot be read.
        ConstraintError: The pattern matches nothing, or something that is not white space of JSON.
        BudgetExceeded: The machine takes more than `LIMITS`.

    Example:
        >>> blank_machine("[ ]?").accepts(b" "), blank_machine("[ ]?").accepts(b"\\n")
        (True, False)
    """
    meter = Meter(LIMITS)
    _, machine = compile_pattern(pattern, meter)
    if has_no_word(machine):
        raise ConstraintError(
            f"whitespace_pattern={pattern!r} matches nothing, so no object or array could be "
            "written.",
            remedy='Give a pattern such as r"[ \\n]?", or "" for no white space.',
            evidence={"pattern": pattern},
        )
    others = difference(machine, compile_pattern(BLANK, meter)[1], meter)
    if not has_no_word(others):
        text = shortest_word(others).decode()
        raise ConstraintError(
            f"whitespace_pattern={pattern!r} matches {text!r}, which is not white space of JSON.",
            remedy=r"Use space, \t, \n and \r alone; write [ \t\n\r] for \s, which has others.",
            evidence={"pattern": pattern, "text": text},
        )
    return machine


Order = Literal["schema", "any"]
"""The order in which the members of an object are written."""

Recursion = Literal["auto", "unroll", "stack"]
"""The way to follow recursive schemas: to a depth, on a stack, or whichever is better."""

USUAL_DEPTH: Final = 5
"""The default ``max_depth`` of an unrolled schema."""

_WORDS: Final = {
    "whitespace": (
        get_args(Whitespace), "a way to lay JSON out",
        'Give "compact", "dumps", "pretty" or "flexible".',
    ),
    "property_order": (get_args(Order), "an order of properties", 'Give "schema" or "any".'),
    "recursion": (
        get_args(Recursion), "a way to follow schemas that lead back to themselves",
        'Give "auto", "unroll" or "stack".',
    ),
    "escapes": (
        get_args(EscapesOf), "a choice of escapes",
        'Give "free" for escapes where any text may follow, or "any".',
    ),
}  # fmt: skip
"""The words, the description and the remedy of each option that is one of some words."""


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """The options of `explorer.json_schema`.

    Args:
        whitespace: White space between the tokens of JSON: ``"compact"`` for none, ``"dumps"`` for
            a space after commas and colons, ``"pretty"`` (lines, two spaces) or ``"flexible"``
            (any).
        property_order: The order of the members of objects: ``"schema"`` (that of ``properties``,
            then of the names that only other keywords give, then all others), or ``"any"``.
        strict: Whether a keyword that cannot be followed exactly is an error.
        formats: Whether ``format`` constrains.
        max_depth: How often a reference of a recursive schema is followed again inside the first
            one: references are followed ``max_depth + 1`` deep. ``None`` for `USUAL_DEPTH`.
        free_depth: How deep arrays and objects nest in a value that nothing describes; ``None``
            for no limit.
        recursion: ``"unroll"`` to ``max_depth``, ``"stack"`` without end, or ``"auto"``: unrolled
            where ``max_depth`` is given, else on a stack where references lead back.
        escapes: Where a character may be written as an escape, ``"free"`` or ``"any"``.
        whitespace_pattern: A pattern of the white space between the tokens of JSON.
        first: Names that come before all others, in this order; they belong to one text and are
            never saved.

    Raises:
        ConstraintError: An option has another value, or two options exclude each other.

    Example:
        >>> SchemaOptions(max_depth=2).depth.recursion
        2
    """

    whitespace: Whitespace = "compact"
    property_order: Order = "schema"
    strict: bool = True
    formats: bool = True
    max_depth: int | None = None
    free_depth: int | None = None
    recursion: Recursion = "auto"
    escapes: EscapesOf = "free"
    whitespace_pattern: str | None = None
    first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (words, what, remedy) in _WORDS.items():
            given: object = plain(getattr(self, name))
            object.__setattr__(self, name, given)
            # An array would compare item by item.
            if not isinstance(given, str) or given not in words:
                raise wrong(name, given, what, error=ConstraintError, remedy=remedy)
        if self.recursion == "stack" and self.whitespace == "pretty":
            raise ConstraintError(
                "Pretty JSON is indented by its depth, which a stack does not count.",
                remedy='Give whitespace="compact" or "flexible", or recursion="unroll".',
            )
        if self.whitespace_pattern is not None:
            object.__setattr__(self, "whitespace_pattern", plain(self.whitespace_pattern))
            self._check_pattern(self.whitespace_pattern)
        flag("strict", self.strict)
        flag("formats", self.formats)
        if self.max_depth is not None:
            whole_number("max_depth", self.max_depth, 0, 50)
            if self.recursion == "auto":
                object.__setattr__(self, "recursion", "unroll")
        if self.free_depth is not None:
            whole_number("free_depth", self.free_depth, 0, 8)

    def _check_pattern(self, pattern: object) -> None:
        if self.whitespace != "compact":
            raise ConstraintError(
                f"whitespace={self.whitespace!r} and whitespace_pattern both say what stands "
                "between the tokens of JSON.",
                remedy="Give one of them.",
            )
        instance(
            "whitespace_pattern", pattern, str, "a pattern of white space", error=ConstraintError,
            remedy=r'Write whitespace_pattern="[ ]?", or r"[\n\t ]*", for example.',
        )  # fmt: skip
        with naming("whitespace_pattern"):
            blank_machine(cast("str", pattern))

    @property
    def depth(self) -> Depth:
        """The depth to which values nest."""
        most = USUAL_DEPTH if self.max_depth is None else self.max_depth
        return Depth(most, self.free_depth)

    @property
    def spaces(self) -> bool:
        """Whether any white space may stand between the tokens of JSON."""
        return self.whitespace == "flexible"

    @property
    def blank(self) -> Dfa | None:
        """The machine of ``whitespace_pattern``; ``None`` without a pattern."""
        pattern = self.whitespace_pattern
        return None if pattern is None else blank_machine(pattern)

    @property
    def after_comma(self) -> bytes:
        """The space that always stands after a comma; a new line comes on top of it."""
        return b" " if self.whitespace == "dumps" else b""

    @property
    def after_colon(self) -> bytes:
        """The space that always stands after a colon."""
        return b" " if self.whitespace in ("dumps", "pretty") else b""

    def bounded(self) -> SchemaOptions:
        """These options, with a depth for values that nothing describes, for a closed form."""
        return replace(self, free_depth=3 if self.free_depth is None else self.free_depth)

    def to_dict(self) -> dict[str, object]:
        """The value of each option by name."""
        return {name: value for name, value in asdict(self).items() if name != "first"}

    def changed(self) -> dict[str, object]:
        """The options that differ from their defaults."""
        usual = USUAL.to_dict()
        return {name: value for name, value in self.to_dict().items() if value != usual[name]}


USUAL: Final = SchemaOptions()
"""The default options."""
