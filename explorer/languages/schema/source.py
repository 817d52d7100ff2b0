"""The kind of source that is a JSON Schema."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar, cast

import msgspec

from explorer.arguments import (
    instance,
    plain,
    wrong,
)
from explorer.automata.machine import Dfa
from explorer.automata.tree.changes import Change
from explorer.automata.tree.nodes import Deferred, Loop, Node, Outline, Rules, Source, Written
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
from explorer.files import read_text
from explorer.languages.schema.diagnosis.annotations import leaves_free, schema_remarks
from explorer.languages.schema.diagnosis.deciding import (
    conflict,
    deciding,
    endless_reference,
    excluding,
)
from explorer.languages.schema.diagnosis.locating import Spot, spans_of, spot_of
from explorer.languages.schema.diagnosis.remedies import (
    LOOP_REMEDIES,
    UNKNOWN_PROPERTY,
    in_any_order,
    relaxed_keywords,
    relaxed_options,
)
from explorer.languages.schema.machine import (
    WHOLE,
    SchemaRules,
    can_wait,
    compile_schema,
    finite_form,
    is_possible,
    outline_schema,
)
from explorer.languages.schema.options import USUAL, SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema, root_of
from explorer.languages.schema.reading.text import (
    as_python,
    read_schema,
    repeated_names,
    text_of_data,
    value_of_json,
)
from explorer.languages.schema.values.containers import MOST_TRACKED
from explorer.languages.schema.values.places import Site
from explorer.languages.schema.values.sets import ValueSets
from explorer.languages.sources.registry import register

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

_ENDLESS: Final = '; recursion="stack" sets no limit'

_REFERENCE: Final = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)"')
"""A reference; a schema without one is not recursive."""

_DEFINING: Final = re.compile(r'"(?:\$|(?:id|definitions)")')
"""A member that may define or address a subschema; without one there are none of either."""

_BYTE_ORDER_MARK: Final = "\ufeff"
"""The mark with which some editors begin a file."""

MOST_LOCATED: Final = 3
"""The most parts of a schema that are named for one spot."""

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
        return parsed(self.schema)

    @property
    def space_remedy(self) -> str:
        """The remedy for white space without end."""
        return LOOP_REMEDIES["space"]

    def loop_remedy(self, what: Loop) -> str:
        """The remedy for a loop: the keyword or the option that ends it."""
        return LOOP_REMEDIES[what]

    def lower(self) -> Node:
        """One machine for the whole schema, or the rules of a schema that needs a stack."""
        if not self.on_stack:
            return Deferred(0, len(self.schema), self.build, self.locate, self.outline)
        rules = self._rules
        object.__delattr__(self, "_rules")  # Each machine is built under its own budget.
        return Rules(0, len(self.schema), WHOLE, rules, finite_form, locate=self.locate)

    @cached_property
    def may_wait(self) -> bool:
        """Whether it is clear at a glance that the schema is sound and has values."""
        plain = not _DEFINING.search(self.schema)
        return can_wait(self.parsed, self.options, self.remote_schemas, all_used=plain)

    @property
    def late_tree(self) -> Written:
        """The syntax tree; if the schema `may_wait`, it is built when a text reaches it."""
        if self.on_stack or not self.may_wait:
            return self.tree
        return replace(self.tree, body=replace(cast("Deferred", self.tree.body), is_late=True))

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

    def build(self, meter: Meter) -> Dfa:
        """The machine over the bytes of JSON texts, recursive schemas unrolled.

        Raises:
            UnsupportedSchema: A keyword cannot be followed exactly, or is not well formed.
            BudgetExceeded: A limit was reached.
        """
        return self._compiled(meter)

    def parse(self, text: str) -> object:
        """The value that a JSON text stands for, as `json.loads` gives it."""
        return value_of_json(text)

    def locate(self, data: bytes, byte: int | None = None) -> tuple[tuple[int, int, str], ...]:
        """The parts of the schema that decide what may follow the beginning of a text.

        Args:
            byte: The byte that fails; ``None`` asks what must come before the text may end.

        Returns:
            Spans of `text`, each with a JSON Pointer; at most `MOST_LOCATED`. They are the deciding
            keywords, or, if none decides alone, the subschemas of the innermost place.
        """
        spot = spot_of(data)
        sets = ValueSets(self.options, Meter())
        places = [sets.place([root_of(self.parsed, self.remote_schemas)])]
        for kind, step in spot.steps:
            above = places[-1]
            places.append(above.member(str(step)) if kind == "member" else above.item)
        pointers = deciding(
            spot, places, byte, self.options.property_order, formats=self.options.formats
        )
        if limit := self._limit(spot, places, byte, pointers):
            around = places[-1].subschemas or places[0].subschemas
            spots = self._located([*pointers, *([] if pointers else [around[0].pointer])])
            return ((*spots[0][:2], limit),) if not pointers else (*spots, (*spots[-1][:2], limit))
        if not pointers:
            described = [place for place in places if place.subschemas]
            pointers = [sub.pointer for sub in described[-1].subschemas] if described else []
            pointers = [each for each in map(excluding, pointers) if each] or pointers
        return self._located(pointers)

    @property
    def remark(self) -> str:
        """The options that differ from their defaults."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.changed().items())

    def edited(self, text: str) -> Self | None:
        """The source of an edited text, with these options; ``None`` if they are the defaults."""
        if self.options == USUAL and not self.remotes:
            return None
        return replace(self, schema=self.read(text).schema)

    def relaxed(self, labels: Sequence[str]) -> Iterator[tuple[Change, Self]]:
        """Changes that allow more: other options, or the schema without a deciding keyword."""
        for change, options in relaxed_options(self.options):
            yield change, replace(self, options=options)
        for change, schema in relaxed_keywords(self.parsed, labels):
            changed = replace(self, schema=indented(text_of_data(schema)))
            yield change, changed
            if change.cause == UNKNOWN_PROPERTY:  # It may also come before required properties.
                remedy = f'{change.remedy[:-1]}, and with property_order="any".'
                freer = replace(changed, options=in_any_order(self.options))
                yield replace(change, remedy=remedy), freer

    def _limit(self, spot: Spot, places: list[Site], byte: int | None, pointers: list[str]) -> str:
        """The option that decides, rather than a keyword; empty if none does."""
        outline = spot.outline or b""
        if not pointers:
            if outline not in (b"[", b"{") or byte is None or byte in b"]}":
                return ""
            container = places[-1] if outline == b"{" else places[-2]
            if not container.subschemas:
                return f"free_depth={self.options.free_depth}, the deepest that values nest"
            most = self.options.depth.recursion
            return f"max_depth={most}, with which references are followed {most + 1} deep"
        names = places[-1].names
        if outline[:1] != b"{" or self.options.property_order == "any" or len(names) > MOST_TRACKED:
            return ""
        if deciding(spot, places, byte, "any", formats=self.options.formats):
            return ""
        return 'property_order="schema", where "any" takes every order'

    def _located(self, pointers: Iterable[str]) -> tuple[tuple[int, int, str], ...]:
        known = dict.fromkeys(self._nearest(pointer) for pointer in pointers)
        return tuple((*self._spans[pointer], pointer or WHOLE) for pointer in known)[:MOST_LOCATED]

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
        return {address: parsed(text) for address, text in self.remotes}

    @cached_property
    def _noted(self) -> list[list[UnsupportedSchema]]:
        """The ignored keywords of the last build, in a list; empty before the first build."""
        return []

    def ignored(self) -> list[UnsupportedSchema]:
        """The keywords that ``strict=False`` ignores, each with its place and reason."""
        if self.options.strict:
            return []
        if not self._noted:  # Nothing was built here, so build now.
            with suppress(BudgetExceeded):
                self.outline(Meter())
        return self._noted[0] if self._noted else []

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each limit, each ignored keyword, and each that constrains little."""
        ignored = tuple(f"Ignored {error.message}" for error in self.ignored())
        remarks = schema_remarks(self.parsed, formats=self.options.formats)
        return ignored + self._limits() + repeated_names(self.schema) + remarks

    def _limits(self) -> tuple[str, ...]:
        """One sentence for each limit of depth; there is none on a stack."""
        if self.on_stack:
            return ()
        free, deep = self.options.free_depth, self.options.depth.recursion + 1
        said: list[str] = []
        if leaves_free(self.parsed):
            endless = "" if self.options.whitespace == "pretty" else _ENDLESS
            said.append(
                f"Values that the schema does not describe nest at most {free} deep "
                f"(free_depth={free}{endless})."
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

    def why_empty(self) -> UnsatisfiableSchema:
        """The error that names the keywords that exclude each other."""
        meter = Meter(LIMITS_OF_CONFLICTS)
        options = replace(
            self.options, strict=False, free_depth=min(self.options.free_depth, 1),
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

    def outline(self, meter: Meter) -> Outline:
        """The automaton over the bytes of JSON texts, with nodes for inner values and repeats.

        Raises:
            UnsupportedSchema, BudgetExceeded: As `build`.
        """
        return self._noting(
            lambda: outline_schema(self.parsed, meter, self.options, self.remote_schemas)
        )

    def _compiled(self, meter: Meter) -> Dfa:
        return self._noting(
            lambda: compile_schema(self.parsed, meter, self.options, self.remote_schemas)
        )

    def _noting(self, make: Callable[[], tuple[_T, list[UnsupportedSchema]]]) -> _T:
        """Call a function: note the keywords it ignored, and add the place to its error."""
        try:
            made, ignored = make()
        except UnsupportedSchema as error:
            raise error.at(self._place(error.pointer)) from error
        self._noted[:] = [ignored]
        return made

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
        made = cls(text.removeprefix(_BYTE_ORDER_MARK))
        _ = made.parsed  # It is JSON.
        return made

    @classmethod
    def of(cls, schema: object, folder: object = None, **options: Any) -> Self:
        """The source of what a user gave: Python data, or JSON as text.

        Raises:
            ConstraintError: The argument is neither, or not JSON.
        """
        if isinstance(schema, bool | Mapping):
            given = schema if isinstance(schema, bool) else cast("_Mapped", schema)
            text = indented(text_of_data(given))
        elif isinstance(schema, str):
            text = plain(schema).removeprefix(_BYTE_ORDER_MARK)
        else:
            raise wrong(
                "schema", schema, "a JSON Schema", error=ConstraintError,
                remedy="Give a dict, True or False, the schema as JSON text, or a class, such as a "
                "pydantic model or a dataclass (not an instance of it).",
            )  # fmt: skip
        made = cls(text, SchemaOptions(**options), _texts_of(folder))
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


def indented(text: str) -> str:
    """JSON laid out as by ``json.dumps(indent=2)``, in a tenth of its time.

    Args:
        text: JSON that `json.dumps` wrote; if it holds half of a surrogate pair, it is returned
            unchanged.

    Example:
        >>> print(indented('{"a": [1, {}]}'))
        {
          "a": [
            1,
            {}
          ]
        }
    """
    try:
        return msgspec.json.format(text, indent=2)
    except UnicodeEncodeError:
        return text


def _texts_of(folder: object) -> tuple[tuple[str, str], ...]:
    """The texts of the schemas in a folder, by path and, where they have one, by ``$id``."""
    if folder is None:
        return ()
    if not isinstance(folder, str | Path):
        raise wrong("folder", folder, "a folder", remedy="Give its path.", error=ConstraintError)
    root = Path(plain(folder))
    try:
        is_there = root.is_dir()
    except (OSError, ValueError):  # A name that is too long, or holds a zero byte.
        is_there = False
    if not is_there:
        raise ConstraintError(
            f"There is no folder {str(root)!r}.", remedy="Give a folder that holds *.json files."
        )
    pairs: list[tuple[str, str]] = []
    for path in sorted(root.rglob("*.json")):
        text = read_text(path).removeprefix(_BYTE_ORDER_MARK)
        try:
            content = parsed(text)
        except ConstraintError as error:
            name = path.relative_to(root).as_posix()
            raise ConstraintError(
                f"The file {name!r} of the folder: {error.message}", remedy=error.remedy,
                evidence=error.evidence,
            ) from error  # fmt: skip
        pairs.append((path.relative_to(root).as_posix(), text))
        if isinstance(content, dict) and isinstance(own := content.get("$id"), str):
            pairs.append((own, text))
    return tuple(pairs)


def parsed(text: str) -> Schema:
    """A schema from its JSON text, as `read_schema` reads it.

    Raises:
        ConstraintError: As `read_schema`.
    """
    return cast("Schema", read_schema(text))
