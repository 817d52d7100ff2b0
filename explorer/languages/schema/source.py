"""The kind of source that is a JSON Schema."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, cast

from msgspec import structs

from explorer.arguments import (
    instance,
    plain,
    wrong,
)
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import ByteMachine, Dfa
from explorer.automata.tree.changes import Change, NamedSpan
from explorer.automata.tree.nodes import (
    Deferred,
    Loop,
    Node,
    Offered,
    Outline,
    Remembered,
    Rules,
    Source,
    Written,
)
from explorer.budget import Budget, Meter
from explorer.errors import (
    BudgetExceeded,
    ConstraintError,
    DamagedFile,
    ExplorerError,
    Located,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from explorer.languages.constraint import Constraint
from explorer.languages.schema.diagnosis.annotations import leaves_free, schema_remarks
from explorer.languages.schema.machine import (
    WHOLE,
    ClosedSchema,
    SchemaRules,
    finite_form,
    holds_free,
    is_possible,
)
from explorer.languages.schema.options import USUAL, Order, Recursion, SchemaOptions
from explorer.languages.schema.reading.folder import schemas_in
from explorer.languages.schema.reading.openapi import read_dialect
from explorer.languages.schema.reading.subschemas import Schema, not_too_deep, prepared, root_of
from explorer.languages.schema.reading.text import (
    BYTE_ORDER_MARK,
    as_python,
    asked_schema,
    indented,
    json_of,
    repeated_names,
    spans_of,
    text_of_data,
    value_of_json,
)
from explorer.languages.schema.text.strings import EscapesOf, Whitespace
from explorer.languages.schema.values.places import Wanted
from explorer.languages.schema.values.sets import OnceMode, ValueSets
from explorer.languages.schema.values.spelled import JsonTexts, endless
from explorer.languages.sources.registry import kind_of, register
from explorer.languages.types.schema import is_type, type_name

if TYPE_CHECKING:
    from explorer.languages.schema.diagnosis.reasons import Reason, ReasonSearch

LIMITS_OF_CONFLICTS: Final = Budget(states=100_000, seconds=10)
"""The budget of the search for keywords that exclude each other."""

_ORDERS: Final = {
    "schema": 'Members are written in the order of the schema (property_order="schema").',
    "any": 'Members are written in any order (property_order="any").',
}
_SPACES: Final = {
    "compact": 'No white space stands between the tokens of JSON (whitespace="compact").',
    "dumps": 'A space stands after each comma and colon (whitespace="dumps").',
    "pretty": 'JSON is indented by two spaces (whitespace="pretty").',
    "flexible": 'Any white space may stand between the tokens of JSON (whitespace="flexible").',
}
_PATTERN: Final = "White space between the tokens of JSON is as whitespace_pattern={!r} says."
_ESCAPES: Final = {
    "free": 'Escapes are taken from where on any text may follow (escapes="free").',
    "any": 'Escapes are taken everywhere (escapes="any").',
}

_REFERENCE: Final = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)"')
"""A reference; a schema without one is not recursive."""

_DEFINING: Final = re.compile(r'"(?:\$|(?:id|definitions)")')
"""A member that may define or address a subschema; without one there are none of either."""

_UNIQUE: Final = re.compile(
    r'"uniqueItems"\s*:\s*true|"\$(?:ref|dynamicRef|recursiveRef)"\s*:\s*"https?://json-schema\.org/'
)
"""The keyword by which items come once, or a reference to a metaschema, which has it."""

_Mapped = Mapping[str, object]
_T = TypeVar("_T")


@register("JSON Schema")
@dataclass(frozen=True)
class JsonSchema(Source):
    """A JSON Schema, and how its values are written."""

    kind: ClassVar[str] = "json_schema"

    schema: str
    options: SchemaOptions = USUAL
    remotes: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The schema as JSON."""
        return self.schema

    @cached_property
    def parsed(self) -> Schema:
        """The schema as Python data."""
        return read_dialect(self.schema)

    @property
    def space_remedy(self) -> str:
        """The remedy for white space without end."""
        return self.loop_remedy("space")

    def loop_remedy(self, what: Loop) -> str:
        """The remedy for a loop: the keyword or the option that ends it."""
        from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES

        return LOOP_REMEDIES[what]

    def lower(self) -> Node:
        """One machine for the whole schema, or the rules of a schema that needs a stack."""
        if not self.may_remember:
            return self._node("refused")
        from explorer.languages.schema.once.machine import MARKS, ItemsOnce

        return Remembered(
            0, len(self.schema), self._node("free"), self._node("marked"), self._node("refused"),
            ItemsOnce, MARKS, waits=self.options.property_order == "any",
        )  # fmt: skip

    def _node(self, once: OnceMode) -> Node:
        """The machine or the rules.

        Args:
            once: What is done about unique items that are too many to draw.
        """
        if not self.on_stack:
            build, outline = self.build, self.outline
            if once != "refused":
                build, outline = partial(self.build, once=once), partial(self.outline, once=once)
            rules = partial(self._endless_rules, once)
            return Deferred(0, len(self.schema), build, self.locate, outline, rules=rules)
        if once != "refused":
            return self._as_rules(once)
        rules = self._rules
        object.__delattr__(self, "_rules")  # Each machine is built under its own budget.
        return Rules(0, len(self.schema), WHOLE, rules, finite_form, locate=self.locate)

    def _as_rules(self, once: OnceMode) -> Rules:
        """The schema as rules, under any budget."""
        rules = SchemaRules(self.parsed, self._noting, self.options, self.remote_schemas, once)
        return Rules(0, len(self.schema), WHOLE, rules, finite_form, locate=self.locate)

    def _endless_rules(self, once: OnceMode) -> Rules | None:
        """The rules of a schema that is not on a stack, if only free values nest without end."""
        options = self.options
        if options.free_depth is not None or options.whitespace == "pretty":
            return None
        if self._best_recursion or self._leaves_free is False:
            return None
        return self._made_rules.setdefault(once, self._as_rules(once))

    @cached_property
    def _made_rules(self) -> dict[OnceMode, Rules]:
        return {}

    @property
    def may_remember(self) -> bool:
        """Whether the schema speaks of unique items, and they are not ignored."""
        texts = self.schema, *(text for _, text in self.remotes)
        return self.options.strict and any(map(_UNIQUE.search, texts))

    @cached_property
    def may_wait(self) -> bool:
        """Whether it is clear at a glance that the schema is sound and has values."""
        sets = ValueSets(self.options, Meter())
        schema, addressed = self.parsed, False
        try:
            if _DEFINING.search(self.schema):  # Else all of it is checked as it is used.
                schema, addressed = prepared(schema)
            root = root_of(schema, self.remote_schemas, addressed=addressed)
            return sets.may_wait(Wanted((root,)), self.options.depth)
        except (UnsupportedSchema, RecursionError):
            return False

    @property
    def late_tree(self) -> Written:
        """The syntax tree; if the schema `may_wait`, it is built when a text reaches it."""
        if self.may_remember or self.on_stack or not self.may_wait:
            return self.tree
        body = structs.replace(cast("Deferred", self.tree.body), is_late=True)
        return replace(self.tree, body=body)

    @cached_property
    def _rules(self) -> SchemaRules:
        return SchemaRules(self.parsed, self._noting, self.options, self.remote_schemas)

    @cached_property
    def on_stack(self) -> bool:
        """Whether recursion is followed on a stack, because of the options or by choice."""
        if self.options.recursion != "auto":
            return self.options.recursion == "stack"
        return self._best_recursion == "stack"

    @cached_property
    def _best_recursion(self) -> str:
        if not _REFERENCE.search(self.schema):
            return ""
        return self._rules.best_recursion()

    def __getstate__(self) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}

    def build(self, meter: Meter, once: OnceMode = "refused") -> Dfa:
        """The machine over the bytes of JSON texts, recursive schemas unrolled.

        Args:
            once: What is done about unique items that are too many to draw.

        Raises:
            UnsupportedSchema: A keyword cannot be followed exactly, or is not well formed.
            BudgetExceeded: A limit was reached.
        """
        if self.options.free_depth is None and self._leaves_free:
            self.outline(meter, once)  # What has to be refused is told first.
            raise endless()
        closed = ClosedSchema(self.options, meter, once)
        return self._noting(closed.sets, lambda: closed.whole(self.parsed, self.remote_schemas))

    def parse(self, data: bytes) -> object:
        """The value that a JSON text stands for, as `json.loads` gives it."""
        return value_of_json(data.decode())

    def locate(
        self, data: bytes, byte: int | None = None, rest: bytes = b"", offered: Offered = "token"
    ) -> tuple[NamedSpan, ...]:
        """The parts of the schema that decide what may follow the beginning of a text.

        Args:
            byte: The byte that fails; ``None`` asks what must come before the text may end.
            rest: What was written after it.
            offered: What the byte and the rest are. Of a token all counts, else what belongs
                together in JSON.

        Returns:
            Spans of `text`, each with a label: JSON Pointers, a clause, or both. They are keywords
            or an option of which each decides, several that decide together, a rule of JSON, or, if
            nothing forbids the byte, the subschemas of the innermost place.
        """
        search = search_of(self)
        named: dict[tuple[tuple[int, int], str], NamedSpan] = {}
        for reason in search.of(data, byte, rest, offered):
            changes = partial(self._changes, search, reason)
            for span in (self._spans[self._nearest(pointer)] for pointer in reason.pointers):
                named.setdefault((span, reason.label), NamedSpan(*span, reason.label, changes))
        return tuple(named.values())

    def _changes(self, search: ReasonSearch, reason: Reason) -> Iterator[tuple[Change, Self]]:
        """The schemas and options with which the text goes on."""
        lines = {
            pointer: self.schema.count("\n", 0, self._spans[pointer][0]) + 1
            for pointer in reason.lifted.pointers
            if pointer in self._spans and "\n" in self.schema
        }
        for change, schema, options in search.changes(reason, lines):
            same = schema == self.parsed
            text = self.schema if same else indented(json_of(schema))
            yield change, replace(self, schema=text, options=options)

    def with_parsed(self, schema: Schema, options: SchemaOptions) -> Self:
        """A schema that was changed a little, for a machine; its `text` is the one before."""
        changed = replace(self, options=options)
        object.__setattr__(changed, "parsed", schema)
        return changed

    @property
    def remark(self) -> str:
        """The options that differ from their defaults."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.changed().items())

    def edited(self, text: str) -> Self | None:
        """The source of an edited text, with these options; ``None`` if they are the defaults."""
        if self.options == USUAL and not self.remotes:
            return None
        return replace(self, schema=self.read(text).schema)

    def _nearest(self, pointer: str) -> str:
        """The pointer, or that of the nearest part around it that has a span in `text`."""
        while pointer and pointer not in self._spans:
            pointer = pointer.rpartition("/")[0]
        return pointer

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        return spans_of(self.schema)

    @property
    def remote_schemas(self) -> dict[str, Schema]:
        """The schemas that references may name, by their address, as Python data."""
        return {address: read_dialect(text) for address, text in self.remotes}

    @cached_property
    def _noted(self) -> list[ValueSets]:
        """The sets of values of the last build; empty before the first build."""
        return []

    def ignored(self) -> list[UnsupportedSchema]:
        """The keywords that ``strict=False`` ignores, each with its place and reason."""
        if self.options.strict:
            return []
        if not self._noted:  # Nothing was built here, so build now.
            with suppress(BudgetExceeded):
                self.outline(Meter())
        return self._noted[0].ignored if self._noted else []

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each limit, each ignored keyword, and each that constrains little."""
        ignored = tuple(f"Ignored {error.message}" for error in self.ignored())
        remarks = schema_remarks(self.parsed, formats=self.options.formats)
        return ignored + self._limits() + self._remembers() + repeated_names(self.schema) + remarks

    def _remembers(self) -> tuple[str, ...]:
        """One sentence on the arrays whose items are remembered."""
        if not (self.may_remember and self._noted and self._noted[0].remembered):
            return ()
        from explorer.languages.schema.once.machine import MOST_SEARCHED

        pointers = ", ".join(self._noted[0].remembered)
        return (
            f"With items that are remembered ({pointers}) no distance to the end is known, and an "
            f"item is masked if no ending that makes it new is among the first {MOST_SEARCHED:,}.",
        )

    @cached_property
    def _leaves_free(self) -> bool | None:
        """Whether a text may hold values that the schema does not describe; ``None``: unclear."""
        return leaves_free(self.parsed) and holds_free(
            self.parsed, self.options, self.remote_schemas
        )

    def _limits(self) -> tuple[str, ...]:
        """One sentence for each limit of depth; there is none on a stack."""
        if self.on_stack:
            return ()
        free, deep = self.options.free_depth, self.options.depth.recursion + 1
        said: list[str] = []
        if free is not None and self._leaves_free is not False:
            said.append(
                f"Values that the schema does not describe nest at most {free} deep "
                f"(free_depth={free}; without it there is no limit)."
            )
        if self._best_recursion:
            said.append(
                f"References that lead back are followed {deep} deep (max_depth={deep - 1})."
            )
        return tuple(said)

    def decisions(self) -> tuple[str, ...]:
        """One sentence each for the order, white space, escapes, depth and ignored keywords."""
        options = self.options
        limits = self._limits()
        pattern = options.whitespace_pattern
        spaces = _SPACES[options.whitespace] if pattern is None else _PATTERN.format(pattern)
        said = [_ORDERS[options.property_order], spaces, _ESCAPES[options.escapes]]
        if self.on_stack:
            said.append(
                "References that lead back, and values that the schema does not describe, "
                "nest without end, on a stack."
            )
        return (*said, *limits, *(f"Ignored {error.message}" for error in self.ignored()))

    def why_large(self, error: BudgetExceeded, seconds: float) -> BudgetExceeded:
        """The error with the largest part, and an option that helps."""
        from explorer.languages.schema.diagnosis.large import Large, explained

        def made(options: SchemaOptions, meter: Meter) -> ByteMachine:
            return discover(replace(self, options=options).tree, meter.budget, meter)

        large = Large(self.parsed, self.remote_schemas, self.options, made)
        return explained(error, large, seconds)

    def why_empty(self) -> UnsatisfiableSchema:
        """The error that names the keywords that exclude each other."""
        from explorer.languages.schema.diagnosis.conflicts import conflict, endless_reference

        meter = Meter(LIMITS_OF_CONFLICTS)
        deep = self.options.free_depth
        options = replace(
            self.options, strict=False, free_depth=1 if deep is None else min(deep, 1),
            whitespace="compact", property_order="schema", escapes="free",
        )  # fmt: skip

        def is_empty(schema: Schema) -> bool:
            return not is_possible(schema, meter, options, self.remote_schemas)

        pointers = conflict(self.parsed, is_empty)
        endless = endless_reference(self.parsed, is_empty) if pointers else ""
        first = UnsatisfiableSchema(pointers).evidence["pointers"]
        named = [endless] if endless else cast("list[str]", first)
        place = self._place(named[0]) if named else None
        return UnsatisfiableSchema(pointers, place, endless=endless)

    def _place(self, pointer: str) -> Located:
        return Located(self.schema, *self._spans[self._nearest(pointer)])

    def outline(self, meter: Meter, once: OnceMode = "refused") -> Outline:
        """The automaton over the bytes of JSON texts, with nodes for inner values and repeats.

        Args:
            once: As for `build`.

        Raises:
            UnsupportedSchema, BudgetExceeded: As `build`.
        """
        sets = ValueSets(self.options, meter, once=once)
        texts = JsonTexts(sets, self.options, late=True)
        whole = self._noting(sets, lambda: texts.whole(
            *sets.root(self.parsed, self.remote_schemas), self.options.depth
        ))  # fmt: skip
        return self._placing(whole, {})

    def _noting(self, sets: ValueSets, make: Callable[[], _T]) -> _T:
        """Call a function: note the sets of values, and add the place to its error."""
        made = self._with_place(lambda: not_too_deep(make))
        self._noted[:] = [sets]
        return made

    def _with_place(self, make: Callable[[], _T]) -> _T:
        """Call a function, and add the place to its error."""
        try:
            return make()
        except UnsupportedSchema as error:
            raise error.at(self._place(error.pointer)) from error

    def _placing(self, outline: Outline, known: dict[int, tuple[Node, Node]]) -> Outline:
        """An outline whose inner values, which are drawn later, add the place to their errors."""

        def placed(node: Node) -> Node:
            if not isinstance(node, Deferred) or node.outline is None:
                return node
            if id(node) not in known:
                make, draw = node.make, node.outline

                def made(meter: Meter) -> Dfa:
                    return self._with_place(lambda: make(meter))

                def drawn(meter: Meter) -> Outline:
                    return self._placing(self._with_place(lambda: draw(meter)), known)

                changed = structs.replace(node, make=made, outline=drawn)
                known[id(node)] = node, changed  # The node stays, so that its id is its own.
            return known[id(node)][1]

        return Outline(outline.nfa, tuple((a, placed(node), b) for a, node, b in outline.parts))

    def fields(self) -> dict[str, object]:
        """The schema and the options."""
        remotes = [list(pair) for pair in self.remotes]
        return {"schema": self.schema, **self.options.to_dict(), "remotes": remotes}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The schema that was saved."""
        given: dict[str, Any] = {name: fields.get(name) for name in USUAL.to_dict()}
        given["escapes"] = fields.get("escapes", "free")  # Older files do not say.
        listed = cast("list[tuple[object, object]]", fields.get("remotes"))
        try:
            schema = instance("schema", fields.get("schema"), str, "a str")
            pairs = tuple((str(address), str(text)) for address, text in listed)
            given["recursion"] = given["recursion"] or "unroll"  # Older files do not say.
            source = cls(schema, SchemaOptions(**given), pairs)
            _ = source.parsed
        except (ExplorerError, TypeError, ValueError, KeyError) as error:
            raise DamagedFile(f"A saved schema cannot be read: {error}") from error
        return source

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a schema that is given as JSON text."""
        return cls.of(text)

    @classmethod
    def of(cls, schema: object, folder: object = None, **options: Any) -> Self:
        """The source of what a user gave: Python data, or JSON as text.

        Raises:
            ConstraintError: The argument is neither, or not JSON.
        """
        if isinstance(schema, bool | dict | Mapping):  # A dict is told at once.
            given = schema if isinstance(schema, bool) else cast("_Mapped", schema)
            text = indented(text_of_data(given))
        elif isinstance(schema, str):
            text = plain(schema).removeprefix(BYTE_ORDER_MARK)
        else:
            raise wrong(
                "schema", schema, "a JSON Schema", error=ConstraintError,
                remedy="Give a dict, True or False, the schema as JSON text, or a class, such as a "
                "pydantic model or a dataclass (not an instance of it).",
            )  # fmt: skip
        made = cls(text, SchemaOptions(**options), schemas_in(folder, text))
        _ = made.parsed  # It is JSON.
        return made

    def spelled(self) -> str:
        """The Python call that makes this source; the short form if it has remote schemas."""
        if self.remotes:
            return str(self)
        changed = self.options.changed().items()
        options = "".join(f", {name}={value!r}" for name, value in changed)
        return f"json_schema({as_python(self.schema)}{options})"

    def __str__(self) -> str:
        short = " ".join(self.schema.split())
        return f"json_schema({short if len(short) <= 80 else short[:77] + '…'})"


def json_schema(
    schema: Mapping[str, object] | bool | str | type[Any],
    *,
    whitespace: Whitespace = "compact",
    property_order: Order = "schema",
    strict: bool = True,
    formats: bool = True,
    max_depth: int | None = None,
    free_depth: int | None = None,
    recursion: Recursion = "auto",
    folder: str | PathLike[str] | None = None,
    escapes: EscapesOf = "free",
    whitespace_pattern: str | None = None,
) -> Constraint:
    """The JSON texts of the values that a JSON Schema allows.

    Drafts 4, 6, 7, 2019-09 and 2020-12, taken from ``$schema``; the last is the default.
    ``dependencies``, ``dependentRequired`` and ``dependentSchemas`` are followed in every draft.

    Numbers that no keyword bounds have every spelling of JSON (``1E+2``) up to 1.797…e308, the
    largest that a float holds; whole ones plain digits (``12``, ``12.0``) and exponents of 0 to 99
    after them (``12e3``). All other numbers, under bounds, ``multipleOf``, ``enum``, ``const`` or
    ``not``, are written as Python and JavaScript write them, and a little more freely: plain
    (``-12.50``, also with ``e0``), small (``1.5e-07``: one digit before the point, at most three in
    the exponent but for zeros before them), or large (``1.5e+22``: at most 16 digits after the
    point, an exponent from 16 on). So what ``json.dumps`` writes is taken. An integer is therefore
    allowed to begin as ``1.5`` does, unless all from 1e16 on are excluded, and as ``-1.5``, unless
    all from -1e16 down are; then it may have every exponent that leaves no decimals (``1.5e1``),
    but under ``multipleOf`` the large one alone. Integers of draft 4 are digits only, and a
    ``multipleOf`` of thousands of remainders has no large spelling.

    A string may always be written as ``json.dumps(ensure_ascii=False)`` writes it. ``escapes`` says
    where other spellings are allowed too, alike for values and names, whether they are listed
    (``enum``, ``const``, ``properties``), bounded, under a ``pattern``, or left over
    (``additionalProperties``). With ``"free"`` every escape is allowed from the place on from which
    any text may follow: in all of an unconstrained string, after the beginning that a pattern asks
    for or that distinguishes a name from those listed, and after ``minLength`` characters; so never
    in a listed text or one with a maximal length. With ``"any"`` every escape is allowed
    everywhere.

    ``minProperties``, and ``maxProperties`` that must not hold, count a name that is written
    twice as two members, unless there are at most twelve names beside ``properties``; where this
    happens stands in ``report.warnings`` of the compiled constraint.

    Args:
        schema: The schema as Python data or as JSON text; or OpenAI's ``response_format``, whose
            ``{"type": "json_object"}`` is any object; or a pydantic model, a dataclass or another
            type, which `explorer.from_type` reads.
        whitespace: ``"compact"`` for none, ``"dumps"`` for that of plain `json.dumps` (``", "``
            and ``": "``), ``"pretty"`` for ``json.dumps(indent=2)``, ``"flexible"`` for any between
            tokens and around the text.
        property_order: ``"schema"`` writes the members of an object in the order of its
            ``properties`` (those of branches too), then those that only ``required`` or a
            dependency names, in the order in which they are named, and all others last; ``"any"``
            in every order.
        strict: Whether a keyword that no automaton can follow exactly is an error, and items that
            come once (``uniqueItems``) are remembered while a text is read, where they are too many
            for a table. Otherwise such a keyword is ignored, and ``report.warnings`` of the
            compiled constraint names it.
        formats: Whether ``format`` constrains, or is an annotation, as the drafts allow. A host
            name with labels that encode others (``xn--``) is judged by what they encode where the
            schema lists it (``enum``, ``const``, ``properties``), and not written elsewhere; leap
            seconds may have an offset of whole quarters of an hour.
        max_depth: How often a reference of a recursive schema is followed again inside the first
            one: references are followed ``max_depth + 1`` deep. If given, the schema is unrolled;
            without it, an unrolled schema has 5.
        free_depth: How deep arrays and objects nest in a value that the schema does not describe, 0
            to 8. Without it they nest to any depth, so there is no table of all states
            (``lazy=False``), which a depth allows. On a stack they nest without limit.
        recursion: ``"unroll"`` builds a finite machine to ``max_depth``; ``"stack"`` a machine
            with a stack (a push-down automaton), without a limit; ``"auto"`` takes a stack where
            references lead back and ``max_depth`` is not given. ``report.decisions`` of the
            compiled constraint says which was taken, and ``report.warnings`` names each limit.
        folder: A folder of schemas that references may name, by their path in it or their ``$id``.
            Nothing is fetched.
        escapes: ``"any"`` allows ``\\uXXXX`` for every character in names and all strings, at
            several times the states; ``"free"`` only where any text may follow.
        whitespace_pattern: A pattern of the white space between two tokens of JSON, in place of
            ``whitespace``: ``"[ ]?"``, ``r"[\\n\\t ]*"``. As in Outlines it is allowed before and
            after every bracket, comma, colon and name, not around the text.

    Raises:
        ConstraintError: ``whitespace_pattern`` matches nothing, or something that is not white
            space of JSON; the schema is not JSON, or a part of a ``response_format`` is malformed.
        UnsupportedSchema: When the machine is built: a keyword cannot be followed exactly.

    Example:
        >>> age = {"type": "integer", "minimum": 0}
        >>> person = {"properties": {"age": age}, "required": ["age"], "type": "object"}
        >>> c = json_schema(person)
        >>> c.accepts('{"age":7}'), c.accepts('{"age":-7}')
        (True, False)
    """
    options: dict[str, Any] = {
        "whitespace": whitespace, "property_order": property_order, "strict": strict,
        "formats": formats, "max_depth": max_depth, "free_depth": free_depth,
        "recursion": recursion, "escapes": escapes, "whitespace_pattern": whitespace_pattern,
    }  # fmt: skip
    if isinstance(schema, bool | str | dict | Mapping) or not is_type(schema):
        return Constraint(JsonSchema.of(asked_schema(schema), folder, **options))
    if folder is not None:
        raise ConstraintError(
            f"A folder of schemas does not go with the type {type_name(schema)}.",
            remedy="Leave folder out.",
        )
    typed: Any = kind_of("type")  # It reads types by way of schemas, so it is not imported here.
    return Constraint(typed.of(schema, **options))


OPTIONS: Final = tuple(name for name in signature(json_schema).parameters if name != "schema")
"""The names of the options of `json_schema`."""


def check_options(of: str, given: Iterable[str], known: Sequence[str] = OPTIONS) -> None:
    """Refuse an option that a function does not have.

    Args:
        of: The function, for the message.

    Raises:
        ConstraintError: There is no such option.
    """
    for name in given:
        if name not in known:
            where = 'It is an option of style="json"' if name in OPTIONS else "Leave it out"
            raise ConstraintError(
                f"{of} has no option {name!r}.",
                remedy=f"{where}; the options are {', '.join(known)}.",
                evidence={"option": name},
            )


@lru_cache(maxsize=8)
def search_of(source: JsonSchema) -> ReasonSearch:
    """The search for reasons of a source, with the machines that it has made."""
    from explorer.languages.schema.diagnosis.deciding import Deciding
    from explorer.languages.schema.diagnosis.reasons import ReasonSearch
    from explorer.languages.schema.diagnosis.variants import LIMITS, Variants

    def alone(schema: Schema, options: SchemaOptions) -> ByteMachine:
        return discover(source.with_parsed(schema, options).late_tree, LIMITS)

    remotes = source.remote_schemas
    may_share = not (source.on_stack or source.may_remember)
    variants = Variants(source.parsed, remotes, may_share, alone)
    root = root_of(source.parsed, remotes)
    search = Deciding(source.parsed, root, source.options, variants, on_stack=source.on_stack)
    return ReasonSearch(search, source.options, _any_json)


@cache
def _any_json() -> ByteMachine:
    """The machine of every JSON text."""
    options = SchemaOptions(
        recursion="stack", whitespace="flexible", property_order="any", escapes="any"
    )
    return discover(JsonSchema("true", options).tree, Budget())
