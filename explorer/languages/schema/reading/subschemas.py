"""A subschema at its place: its keywords, its address, and the targets of its references.

The ``referencing`` library resolves addresses and references: ``$id``, ``$anchor``,
``$dynamicRef``, embedded resources, and the older drafts. Nothing is ever fetched; other schemas
that a reference may name are given as a folder. The library reads the addresses in every subschema
before they are checked, and its errors name no place; only after such an error a walk looks for the
place (`malformed_address`).

Equal subschemas become one object (`prepared`), so that each is built once. Real schemas repeat
themselves: a string of at most 255 characters, twenty times. The compiler knows a subschema by its
identity, so equal ones are made identical before it starts. Annotations (``title``,
``description``) are left out first, because they would make equal subschemas differ. A subschema
that has an address of its own, or an ``unevaluated...`` keyword, is never shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, TypeVar, cast

import jsonschema_specifications  # pyright: ignore[reportMissingTypeStubs]
import referencing.exceptions
import referencing.jsonschema
from referencing import Registry, Resource, Specification

from explorer.errors import UnsupportedSchema
from explorer.jit import is_too_deep
from explorer.languages.schema.reading.text import pointer_to

if TYPE_CHECKING:
    from referencing._core import Resolver

DRAFTS: Final[dict[str, tuple[int, Specification[Any]]]] = {
    "http://json-schema.org/draft-04/schema": (4, referencing.jsonschema.DRAFT4),
    "http://json-schema.org/draft-06/schema": (6, referencing.jsonschema.DRAFT6),
    "http://json-schema.org/draft-07/schema": (7, referencing.jsonschema.DRAFT7),
    "https://json-schema.org/draft/2019-09/schema": (2019, referencing.jsonschema.DRAFT201909),
    "https://json-schema.org/draft/2020-12/schema": (2020, referencing.jsonschema.DRAFT202012),
}
"""The supported drafts by the address in ``$schema``."""

DEFAULT_DRAFT: Final = 2020

Schema = bool | dict[str, Any]
_T = TypeVar("_T")
_Object = dict[str, Any]

Number = int | float | Decimal
"""A number of a schema: whole or an exact decimal if read from text, else possibly a float."""


_Check = Callable[[Any], bool]


def _is_schema(value: Any) -> bool:
    return isinstance(value, bool | dict)


def _a(kind: type[object]) -> _Check:
    return lambda value: isinstance(value, kind)


def _list_of(of: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(of, cast("list[Any]", value)))


def _some_of(of: _Check) -> _Check:
    every = _list_of(of)
    return lambda value: bool(value) and every(value)


def _named(of: _Check) -> _Check:
    return lambda value: isinstance(value, dict) and all(map(of, cast("_Object", value).values()))


def _either(one: _Check, other: _Check) -> _Check:
    return lambda value: one(value) or other(value)


def is_number(value: object) -> TypeGuard[Number]:
    """Whether a value of a schema is a number."""
    return isinstance(value, Number) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


class Keyword(NamedTuple):
    """The values that a keyword may have: a check, what they are, and one of them as JSON."""

    fits: _Check
    what: str
    example: str


_NAMES: Final = _list_of(_a(str))
_SCHEMA: Final = Keyword(_is_schema, "a schema: an object, true or false", '{"type": "string"}')
_SCHEMAS: Final = Keyword(
    _list_of(_is_schema), "a list of schemas", '[{"type": "string"}, {"type": "null"}]'
)
_SOME_SCHEMAS: Final = Keyword(
    _some_of(_is_schema), "a list of schemas that holds at least one", _SCHEMAS.example
)
_NAMED: Final = Keyword(
    _named(_is_schema), "an object whose values are schemas", '{"name": {"type": "string"}}'
)
_NUMBER: Final = Keyword(is_number, "a number", "3")
_TEXT: Final = Keyword(_a(str), "a string", '"..."')

WELL_FORMED: Final[dict[str, Keyword]] = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _SOME_SCHEMAS),
    "prefixItems": _SCHEMAS,
    **dict.fromkeys(
        ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties",
         "unevaluatedProperties", "additionalItems", "unevaluatedItems"),
        _SCHEMA,
    ),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _NAMED),
    **dict.fromkeys(
        ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
         "minContains", "maxContains", "minProperties", "maxProperties"),
        _NUMBER,
    ),
    "multipleOf": Keyword(_is_positive, "a number above 0", "0.5"),
    **dict.fromkeys(("pattern", "format", "$ref", "$dynamicRef", "$recursiveRef"), _TEXT),
    # In draft 3 a member said by itself that it was required; no later draft reads that.
    "required": Keyword(_either(_a(bool), _NAMES), "a list of strings", '["name"]'),
    "enum": Keyword(_a(list), "a list of values", '["red", "green"]'),
    "items": Keyword(
        _either(_is_schema, _SCHEMAS.fits), "a schema, or a list of them", _SCHEMA.example
    ),
    "type": Keyword(_either(_a(str), _NAMES), "a type, or a list of them", '"string"'),
    "uniqueItems": Keyword(_a(bool), "true or false", "true"),
    "dependentRequired": Keyword(
        _named(_NAMES), "an object whose values are lists of names", '{"name": ["age"]}'
    ),
    "dependencies": Keyword(
        _named(_either(_is_schema, _NAMES)),
        "an object whose values are schemas or lists of names", '{"name": ["age"]}',
    ),
}  # fmt: skip
"""The values of each keyword that constrains, in all drafts."""

BY_NAME: Final = frozenset(
    ("$defs", "definitions", "dependencies",
     *(word for word, kind in WELL_FORMED.items() if kind is _NAMED))
)  # fmt: skip
"""The keywords that hold subschemas by name."""

_HOLDING: Final = BY_NAME.union(
    ("items",),
    (word for word, kind in WELL_FORMED.items() if kind in (_SCHEMA, _SCHEMAS, _SOME_SCHEMAS)),
)
"""The keywords that may hold subschemas: one, a list of them, or some by name."""

LEADING: Final = _HOLDING | {"$ref"}
"""The keywords that may lead to subschemas, but for dynamic references."""

_ADDRESSES: Final = frozenset(
    ("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema")
)
"""Keywords that the ``referencing`` library reads; it reports the faults in them."""

REMARKS: Final = frozenset(
    ("title", "description", "$comment", "default", "examples", "deprecated", "readOnly",
     "writeOnly")
)  # fmt: skip
"""Annotations: keywords that do not constrain values."""

_APART: Final = _ADDRESSES | {"$vocabulary", "unevaluatedProperties", "unevaluatedItems"}
"""The keywords of a subschema that is never made one with an equal one."""


def parts_of(schema: dict[str, Any]) -> Iterator[tuple[tuple[str] | tuple[str, str | int], Schema]]:
    """The subschemas in the keywords of a schema, each with its path.

    Malformed keywords are passed over.
    """
    if _HOLDING.isdisjoint(schema):
        return
    for keyword, value in schema.items():
        if keyword not in _HOLDING:
            continue
        if keyword in BY_NAME:
            for name, part in cast("_Object", value).items() if isinstance(value, dict) else ():
                if _is_schema(part):
                    yield (keyword, name), part
        elif isinstance(value, list):
            for index, part in enumerate(cast("list[Any]", value)):
                if _is_schema(part):
                    yield (keyword, index), part
        elif _is_schema(value):
            yield (keyword,), cast("Schema", value)


def every_part(schema: Schema) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The pointer, keywords and draft of each subschema that is an object, in order."""
    todo: list[tuple[str, Schema, int]] = [("", schema, DEFAULT_DRAFT)]
    while todo:
        pointer, here, draft = todo.pop()
        if isinstance(here, dict):
            draft = draft_of(here, draft)
            yield pointer, here, draft
            below = [(pointer + pointer_to(*path), part, draft) for path, part in parts_of(here)]
            todo += reversed(below)


def draft_of(schema: dict[str, Any], around: int) -> int:
    """The draft that a subschema names, or else the one around it."""
    dialect = schema.get("$schema")
    known = DRAFTS.get(dialect.rstrip("#")) if isinstance(dialect, str) else None
    return around if known is None else known[0]


class Checked(dict[str, Any]):
    """The keywords of a subschema that were checked, as those of a draft."""

    __slots__ = ("draft",)

    draft: int


def check_well_formed(schema: dict[str, Any], pointer: str, draft: int) -> None:
    """Raise for a keyword of a wrong type in a subschema.

    Raises:
        UnsupportedSchema: A keyword does not have the required type.
    """
    if type(schema) is Checked and schema.draft == draft:
        return
    for keyword, value in schema.items():
        expected = WELL_FORMED.get(keyword)
        if expected is not None and not expected.fits(value):
            shown = repr(value) if not isinstance(value, Decimal) else str(value)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
            raise UnsupportedSchema(
                f"{keyword} is {shown}, not {expected.what}.",
                pointer=f"{pointer}/{keyword}",
                keyword=keyword,
                remedy=f'For example "{keyword}": {expected.example}.',
            )
    if draft >= 2020 and isinstance(schema.get("items"), list):
        raise UnsupportedSchema(
            "items is a list; in draft 2020-12 it is one schema, and prefixItems is the list.",
            pointer=f"{pointer}/items", keyword="items",
            remedy="Write prefixItems for the list and items for what was additionalItems, or say "
            'that the schema is older: "$schema": "http://json-schema.org/draft-07/schema#".',
        )  # fmt: skip


def prepared(schema: Schema, sharing: Sharing | None = None) -> tuple[Schema, bool]:
    """The schema checked, with equal subschemas made the same object.

    Args:
        sharing: The objects of other schemas, which it shares.

    Returns:
        The schema, and whether some subschema may have an address of its own.

    Raises:
        UnsupportedSchema: A keyword does not have the required type.

    Example:
        >>> both, _ = prepared({"properties": {"a": {"type": "null"}, "b": {"type": "null"}}})
        >>> both["properties"]["a"] is both["properties"]["b"]
        True
    """
    sharing = sharing or Sharing()
    try:
        return sharing.of(schema, DEFAULT_DRAFT), sharing.addressed
    except UnsupportedSchema:  # The pointer is worked out only now.
        for pointer, here, draft in every_part(schema):
            check_well_formed(here, pointer, draft)
        raise


class Sharing:
    """Copies of subschemas without annotations; equal ones are one object."""

    def __init__(self) -> None:
        self.addressed = False
        self._made: dict[int, tuple[Schema, Checked]] = {}  # With the schema that has the id.
        self._known: dict[object, Checked] = {}

    def of(self, here: Schema, draft: int) -> Schema:
        """The shared copy of a subschema.

        Raises:
            UnsupportedSchema: A keyword does not have the required type.
        """
        if not isinstance(here, dict):
            return here
        made = self._made.get(id(here))
        if made is not None:
            return made[1]
        if "$schema" in here:
            draft = draft_of(here, draft)
        self.addressed = self.addressed or not _ADDRESSES.isdisjoint(here)
        copy = Checked()
        copy.draft = draft
        content: list[tuple[str, object, object]] = []
        for keyword, value in here.items():
            kind = type(cast("object", value))
            expected = WELL_FORMED.get(keyword)
            if expected is None:
                # A reference may lead into an object or a list.
                if keyword in REMARKS and kind is not dict and kind is not list:
                    continue
                if keyword in BY_NAME and not _NAMED.fits(value):
                    self.addressed = True  # The library reports the fault.
            elif not expected.fits(value):
                check_well_formed(here, "", draft)
            if keyword in _HOLDING:
                copy[keyword], said = self._held(keyword, value, draft)
            else:
                copy[keyword] = value
                said = value if kind is str or kind is int else _said(value)
            content.append((keyword, said, kind))  # With the type, text is not a number.
        if draft >= 2020 and isinstance(here.get("items"), list):
            check_well_formed(here, "", draft)
        key = id(here) if not _APART.isdisjoint(here) else frozenset(content)
        made = here, self._known.setdefault(key, copy)
        self._made[id(here)] = made
        return made[1]

    def _held(self, keyword: str, value: Any, draft: int) -> tuple[object, object]:
        """The value of a keyword with the shared subschemas in it, and what tells it apart."""
        if isinstance(value, list):
            parts = [self.of(part, draft) for part in cast("list[Any]", value)]
            return parts, tuple(map(id, parts))
        if keyword in BY_NAME and isinstance(value, dict):
            entries = cast("_Object", value).items()
            named = {name: self.of(part, draft) for name, part in entries}
            return named, (*named, *map(id, named.values()))
        part = self.of(value, draft)
        return part, id(part)


def _said(value: object) -> object:
    """A key that two values of a keyword share only if they have the same content."""
    try:
        return repr(value)
    except RecursionError:
        return id(value)


class Subschema:
    """A schema at its place; nothing changes it.

    Args:
        owners: The keys of subschemas with ``unevaluatedProperties`` or ``unevaluatedItems`` for
            which this one evaluates members or items.
        referenced: Whether a reference led here.
        scope: The base address and the dynamic scope, where they are known.
    """

    __slots__ = (
        "draft", "key", "owners", "pointer", "referenced", "resolver", "schema", "scope", "words",
    )  # fmt: skip

    def __init__(
        self,
        schema: Schema,
        resolver: Resolver[Any],
        pointer: str,
        draft: int,
        owners: frozenset[int] = frozenset(),
        referenced: bool = False,
        scope: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.schema = schema
        self.words: dict[str, Any] = schema if isinstance(schema, dict) else _NO_WORDS
        """The keywords; none in ``true`` and ``false``."""
        self.resolver = resolver
        self.pointer = pointer
        self.draft = draft
        self.owners = owners
        self.referenced = referenced
        self.scope = _scope_of(resolver, draft) if scope is None else scope
        self.key: tuple[int, str, tuple[str, ...], frozenset[int]]
        """The key that equal subschemas share: content, base address, dynamic scope, owners."""
        self.key = id(schema), *self.scope, owners

    def with_schema(self, schema: Schema) -> Subschema:
        """Another schema at the same place."""
        return Subschema(
            schema, self.resolver, self.pointer, self.draft, self.owners, self.referenced,
            self.scope,
        )  # fmt: skip

    def alone(self) -> Subschema:
        """The same subschema without owners, as if no reference had led here."""
        if not self.owners and not self.referenced:
            return self
        return Subschema(self.schema, self.resolver, self.pointer, self.draft, scope=self.scope)

    def keyword(self, name: str) -> Any:
        """The value of a keyword, or ``None``."""
        return self.words.get(name)

    def schema_at(self, name: str) -> Schema | None:
        """The value of a keyword if it is a schema, else ``None``."""
        value = self.words.get(name)
        return cast("Schema", value) if isinstance(value, bool | dict) else None

    def schemas_at(self, name: str) -> list[Schema]:
        """The value of a keyword that is a list of schemas; empty if it is something else."""
        value = self.words.get(name)
        return cast("list[Schema]", value) if isinstance(value, list) else []

    def named_at(self, name: str) -> dict[str, Schema]:
        """The schemas of a keyword that maps names to schemas, in order."""
        value = self.words.get(name)
        if not isinstance(value, dict):
            return {}
        entries = cast("dict[str, Any]", value).items()
        return {key: part for key, part in entries if isinstance(part, bool | dict)}

    def needed_at(self, name: str) -> dict[str, list[str]]:
        """The lists of names of a keyword that maps names to lists, in order."""
        value = self.words.get(name)
        if not isinstance(value, dict):
            return {}
        entries = cast("dict[str, Any]", value).items()
        return {key: part for key, part in entries if isinstance(part, list)}

    def names_at(self, name: str) -> list[str]:
        """The value of a keyword that is a list of names; empty if it is something else."""
        value = self.words.get(name)
        return cast("list[str]", value) if isinstance(value, list) else []

    def below(
        self, schema: Schema, *path: str | int, owners: frozenset[int] | None = None
    ) -> Subschema:
        """The subschema at a path below this one; it has no owners unless they are given."""
        resolver = self.resolver
        draft = self.draft
        if isinstance(schema, dict) and ("$id" in schema or "id" in schema):
            identifier = schema.get("id" if draft == 4 else "$id")
            if isinstance(identifier, str) and not (draft <= 7 and "$ref" in schema):
                specification = _specification(draft)
                resolver = resolver.in_subresource(specification.create_resource(schema))
                draft = draft_of(schema, draft)
        same = resolver is self.resolver and draft == self.draft
        pointer = self.pointer + pointer_to(*path)
        return Subschema(
            schema, resolver, pointer, draft, owners or _NOBODY, scope=self.scope if same else None
        )

    def target(
        self, reference: str, keyword: str, owners: frozenset[int] | None = None
    ) -> Subschema:
        """Follow a reference; the target has this subschema's owners unless others are given.

        Raises:
            UnsupportedSchema: The reference leads nowhere.
        """
        try:
            if keyword == "$recursiveRef":
                resolved = referencing.jsonschema.lookup_recursive_ref(self.resolver)
            else:
                resolved = self.resolver.lookup(reference)
            content: object = resolved.contents
        except (referencing.exceptions.Unresolvable, ValueError, AttributeError) as error:
            raise UnsupportedSchema(
                f"Nothing is at {reference!r}.",
                pointer=f"{self.pointer}/{keyword}",
                keyword=keyword,
                remedy="Put it under $defs, or give the folder that holds it as folder=...; "
                "nothing is fetched from the network.",
            ) from error
        if not isinstance(content, bool | dict):
            raise UnsupportedSchema(
                f"What is at {reference!r} is not a schema.",
                pointer=f"{self.pointer}/{keyword}",
                keyword=keyword,
                remedy="Let the reference name an object, true or false.",
            )
        content = cast("Schema", content)
        draft = draft_of(content, self.draft) if isinstance(content, dict) else self.draft
        pointer = reference[1:] if reference.startswith("#") else reference
        owners = self.owners if owners is None else owners
        return Subschema(content, resolved.resolver, pointer, draft, owners, referenced=True)


def not_too_deep(make: Callable[[], _T]) -> _T:
    """Call a function that follows subschemas.

    Raises:
        UnsupportedSchema: They nest too deep for Python.
    """
    try:
        return make()
    except (RecursionError, SystemError) as error:
        if not is_too_deep(error):
            raise
        raise UnsupportedSchema(
            "Subschemas are nested too deep, or references lead through too many of them.",
            pointer="", keyword="",
            remedy="Nest at most about a hundred of them inside each other.",
        ) from error  # fmt: skip


_NOBODY: Final[frozenset[int]] = frozenset()
_NO_WORDS: Final[dict[str, Any]] = {}


def _scope_of(resolver: Resolver[Any], draft: int) -> tuple[str, tuple[str, ...]]:
    """The base address, and the dynamic scope."""
    scope: tuple[str, ...] = ()
    if draft >= 2019:
        scope = tuple(uri for uri, _ in resolver.dynamic_scope())
    return resolver._base_uri, scope  # pyright: ignore[reportPrivateUsage]


def _addresses(
    schema: Schema, remotes: Mapping[str, Schema], specification: Specification[Any],
    addressed: bool,
) -> Resolver[Any]:  # fmt: skip
    """The resolver of references in the whole schema, which knows every schema by its address."""
    resources: list[tuple[str, Resource[Any]]] = []
    for address, content in remotes.items():
        resources.append((address, Resource.from_contents(content, specification)))
    registry: Registry[Any] = jsonschema_specifications.REGISTRY
    if resources:
        registry = registry.with_resources(resources).crawl()
    resource = specification.create_resource(schema)
    base = resource.id() or ""
    registry = registry.with_resource(base, resource)
    return (registry.crawl() if addressed else registry).resolver(base)


class _LateResolver:
    """A resolver that is made when a reference is first followed.

    Args:
        make: Makes it.
    """

    def __init__(self, make: Callable[[], Resolver[Any]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Resolver[Any]:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _specification(draft: int) -> Specification[Any]:
    return next(specification for number, specification in DRAFTS.values() if number == draft)


def _validates(dialect: Schema) -> bool:
    """Whether a dialect has the validation vocabulary, as all drafts do."""
    vocabulary: object = dialect.get("$vocabulary") if isinstance(dialect, dict) else None
    return not isinstance(vocabulary, dict) or any(
        name.endswith("/vocab/validation") for name in cast("dict[str, Any]", vocabulary)
    )


def root_of(schema: Schema, remotes: Mapping[str, Schema], *, addressed: bool = True) -> Subschema:
    """The whole schema as a subschema.

    Args:
        addressed: Whether a subschema may have an address of its own. If not, addresses need not
            be gathered before references are followed.
    """
    draft = draft_of(schema, DEFAULT_DRAFT) if isinstance(schema, dict) else DEFAULT_DRAFT
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    address = dialect.rstrip("#") if isinstance(dialect, str) else None
    if address is not None and address not in DRAFTS:
        known = address in remotes
        if not known or not _validates(remotes[address]):
            raise UnsupportedSchema(
                f"The dialect {dialect!r} leaves out the validation vocabulary." if known
                else f"The draft {dialect!r} is not known.",
                pointer="/$schema", keyword="$schema",
                remedy="Name one of the drafts, or leave $schema out." if known
                else "Known are drafts 4, 6, 7, 2019-09 and 2020-12.",
            )  # fmt: skip
    if not addressed and not remotes:
        made = _LateResolver(lambda: _addresses(schema, {}, _specification(draft), False))
        return Subschema(schema, cast("Any", made), "", draft, scope=("", ()))
    try:
        resolver = _addresses(schema, remotes, _specification(draft), addressed)
    except (AttributeError, TypeError) as error:  # Keywords are not checked yet.
        raise malformed_address(schema) from error
    return Subschema(schema, resolver, "", draft)


_TEXTS: Final = ("$schema", "$id", "$anchor", "$dynamicAnchor")


def malformed_address(schema: Schema) -> UnsupportedSchema:
    """The error of a schema whose addresses cannot be read.

    Example:
        >>> malformed_address({"properties": {"a": {"$id": 5}}}).pointer
        '/properties/a/$id'
    """
    for pointer, here, draft in every_part(schema):
        for path, value, wanted in _faults(here, draft):
            return UnsupportedSchema(
                f"{path[0]} is {value!r:.80}, not {wanted}.",
                pointer=pointer + pointer_to(*path),
                keyword=str(path[0]),
                remedy="Write the value that the keyword asks for, or leave the keyword out.",
            )
    return UnsupportedSchema(
        "An address in the schema cannot be read.",
        pointer="",
        keyword="$id",
        remedy="Look for $id, $ref and $anchor whose values are not addresses.",
    )


def _faults(here: _Object, draft: int) -> Iterator[tuple[tuple[str | int, ...], object, str]]:
    """The values in a subschema on which the library fails: path, value, and what was expected."""
    wanted = "a schema: an object" + (" in draft 4" if draft == 4 else ", true or false")
    for name in (*_TEXTS, *(("id",) if draft == 4 else ())):
        if name in here and not isinstance(here[name], str):
            yield (name,), here[name], _TEXT.what
    for name in ("$defs", "definitions"):
        if not isinstance(here.get(name, {}), dict):
            yield (name,), here[name], _NAMED.what
            continue
        for key, part in here.get(name, {}).items():
            if not _is_schema(part):
                yield (name, key), part, wanted
    for path, part in parts_of(here) if draft == 4 else ():
        # Draft 4 allows true and false only in two places.
        if isinstance(part, bool) and not path[0].startswith("additional"):
            yield path, part, wanted


def subschemas(schema: Schema, remotes: Mapping[str, Schema]) -> list[Subschema]:
    """The subschemas of a schema, the whole first, then those in it, in order."""
    found = [root_of(prepared(schema)[0], remotes)]

    def add(sub: Subschema) -> None:
        for path, part in parts_of(sub.words):
            found.append(sub.below(part, *path))
            add(found[-1])

    add(found[0])
    return found
