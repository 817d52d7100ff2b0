"""A subschema at its place: its content, its address, and the targets of its references.

The ``referencing`` library resolves addresses and references: ``$id``, ``$anchor``,
``$dynamicRef``, embedded resources, and the older drafts. Nothing is ever fetched; other schemas
that a reference may name are given as a folder. The library reads the addresses in every subschema
before any keyword is checked, and its errors name no place; only after such an error a walk looks
for the place (`malformed_address`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import jsonschema_specifications  # pyright: ignore[reportMissingTypeStubs]
import referencing.exceptions
import referencing.jsonschema
from referencing import Registry, Resource, Specification

from explorer.errors import UnsupportedSchema
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

    def with_owners(self, owners: frozenset[int]) -> Subschema:
        """The same subschema with other owners."""
        return Subschema(
            self.schema, self.resolver, self.pointer, self.draft, owners, self.referenced,
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
            dialect = schema.get("$schema")
            identifier = schema.get("id" if draft == 4 else "$id")
            if isinstance(identifier, str) and not (draft <= 7 and "$ref" in schema):
                specification = _specification(draft)
                resolver = resolver.in_subresource(specification.create_resource(schema))
                if isinstance(dialect, str) and (known := DRAFTS.get(dialect.rstrip("#"))):
                    draft = known[0]
        same = resolver is self.resolver and draft == self.draft
        pointer = self.pointer + pointer_to(*path)
        return Subschema(
            schema, resolver, pointer, draft, owners or _NOBODY, scope=self.scope if same else None
        )

    def target(self, reference: str, keyword: str) -> Subschema:
        """Follow a reference.

        Raises:
            UnsupportedSchema: The reference leads nowhere.
        """
        try:
            if keyword == "$recursiveRef":
                resolved = referencing.jsonschema.lookup_recursive_ref(self.resolver)
            else:
                resolved = self.resolver.lookup(reference)
        except (referencing.exceptions.Unresolvable, ValueError, AttributeError) as error:
            raise UnsupportedSchema(
                f"Nothing is at {reference!r}.",
                pointer=f"{self.pointer}/{keyword}",
                keyword=keyword,
                remedy="Put it under $defs, or give the folder that holds it as folder=...; "
                "nothing is fetched from the network.",
            ) from error
        content: object = resolved.contents
        if not isinstance(content, bool | dict):
            raise UnsupportedSchema(
                f"What is at {reference!r} is not a schema.",
                pointer=f"{self.pointer}/{keyword}",
                keyword=keyword,
                remedy="Let the reference name an object, true or false.",
            )
        draft = self.draft
        content = cast("Schema", content)
        if isinstance(content, dict):
            dialect = content.get("$schema")
            if isinstance(dialect, str) and (known := DRAFTS.get(dialect.rstrip("#"))):
                draft = known[0]
        pointer = reference[1:] if reference.startswith("#") else reference
        return Subschema(content, resolved.resolver, pointer, draft, self.owners, referenced=True)


def not_too_deep(make: Callable[[], _T]) -> _T:
    """Call a function that follows subschemas.

    Raises:
        UnsupportedSchema: They nest too deep for Python.
    """
    try:
        return make()
    except RecursionError as error:
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
) -> tuple[Registry[Any], str]:  # fmt: skip
    """Every schema by its address, and the address of the whole schema."""
    resources: list[tuple[str, Resource[Any]]] = []
    for address, content in remotes.items():
        resources.append((address, Resource.from_contents(content, specification)))
    registry: Registry[Any] = jsonschema_specifications.REGISTRY.with_resources(resources).crawl()
    resource = specification.create_resource(schema)
    base = resource.id() or ""
    registry = registry.with_resource(base, resource)
    return registry.crawl() if addressed else registry, base


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
    draft = DEFAULT_DRAFT
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        address = schema["$schema"].rstrip("#")
        if address in DRAFTS:
            draft = DRAFTS[address][0]
        elif address not in remotes:
            raise UnsupportedSchema(
                f"The draft {schema['$schema']!r} is not known.",
                pointer="/$schema",
                keyword="$schema",
                remedy="Known are drafts 4, 6, 7, 2019-09 and 2020-12.",
            )
        elif not _validates(remotes[address]):
            raise UnsupportedSchema(
                f"The dialect {schema['$schema']!r} leaves out the validation vocabulary.",
                pointer="/$schema",
                keyword="$schema",
                remedy="Name one of the drafts, or leave $schema out.",
            )
    try:
        registry, base = _addresses(schema, remotes, _specification(draft), addressed)
    except (AttributeError, TypeError) as error:  # Keywords are not checked yet.
        raise malformed_address(schema, draft) from error
    return Subschema(schema, registry.resolver(base), "", draft)


_ONE: Final = (
    "not", "if", "then", "else", "contains", "propertyNames", "items", "additionalItems",
    "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LIST: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_TEXTS: Final = ("$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor")


def malformed_address(schema: Any, draft: int) -> UnsupportedSchema:
    """The error of a schema whose addresses cannot be read.

    Example:
        >>> malformed_address({"properties": {"a": {"$id": 5}}}, 2020).pointer
        '/properties/a/$id'
    """
    for path, keyword, value, wanted in _faults(schema, (), draft):
        return UnsupportedSchema(
            f"{keyword} is {value!r:.80}, not {wanted}.",
            pointer="".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path),
            keyword=keyword,
            remedy="Write the value that the keyword asks for, or leave the keyword out.",
        )
    return UnsupportedSchema(
        "An address in the schema cannot be read.",
        pointer="",
        keyword="$id",
        remedy="Look for $id, $ref and $anchor whose values are not addresses.",
    )


def _faults(
    schema: Any, path: tuple[str, ...], draft: int
) -> Iterator[tuple[tuple[str, ...], str, Any, str]]:
    """The malformed values at and below a schema: path, keyword, value, and what was expected."""
    wanted = "a schema: an object" + (" in draft 4" if draft == 4 else ", true or false")
    rest = [(schema, path, path[-1] if path else "schema")]
    while rest:
        part, place, keyword = rest.pop()
        if isinstance(part, bool) and draft > 4:
            continue
        if not isinstance(part, dict):
            yield place, keyword, part, wanted
            continue
        held = cast("dict[str, Any]", part)
        for name in (*_TEXTS, *(("id",) if draft == 4 else ())):
            if name in held and not isinstance(held[name], str):
                yield (*place, name), name, held[name], "a string"
        for name in _ONE:
            # Draft 4 allows true and false only in these two places.
            switch = isinstance(held.get(name), bool) and name.startswith("additional")
            if name in held and not isinstance(held[name], list) and not switch:
                rest.append((held[name], (*place, name), name))
        for name in _LIST:
            if isinstance(held.get(name), list):
                entries = enumerate(cast("list[Any]", held[name]))
                rest += [(entry, (*place, name, str(at)), name) for at, entry in entries]
        for name in _NAMED:
            if isinstance(held.get(name), dict):
                entries = cast("dict[str, Any]", held[name]).items()
                rest += [(entry, (*place, name, key), name) for key, entry in entries]
            elif name in held:
                yield (*place, name), name, held[name], "an object whose values are schemas"
