"""The constraint of a request: a table of the places where servers look for one.

A row of `PLACES` is a path into the request and the kind of constraint that stands there. Keys and
kinds hold for every server, because servers accept each other's keys.

A schema is read as the server's engine reads it (`explorer.languages.engines`): xgrammar under
vLLM, SGLang and TensorRT-LLM, Outlines under TGI. Of no engine, it means what JSON Schema says,
members in the order of the schema and any white space between the tokens of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.engines.reading import as_engine
from explorer.languages.grammar.functions import grammar
from explorer.languages.schema.source import json_schema
from explorer.servers.log import LogPlace, owners_of, parsed
from explorer.servers.phases import (
    asks_for_calls,
    schema_of_calls,
    tag_constraint,
    tools_constraint,
)
from explorer.servers.settings import ASSUMED, SERVERS
from explorer.servers.tables import by_name, sentence, table
from explorer.vocabulary import Vocabulary

MOST_FREE_DEPTH: Final = 8
"""The greatest depth of values that a schema leaves free; see `explorer.json_schema`."""

_OWN_CONSTRAINT: Final = (
    "Give the constraint yourself: --regex, --json-schema, --grammar or --choice."
)


@dataclass(frozen=True)
class RequestedConstraint:
    """The constraint that a request puts on the text.

    Args:
        place: The key that names it, with its value.
        kind: ``"json"``, ``"json_object"``, ``"regex"``, ``"choice"``, ``"grammar"``,
            ``"structural_tag"`` or ``"tools"``.
        compact: Whether the server forbids white space between the tokens of JSON.
        pattern: The white space that is asked for there, as a regular expression; only Outlines
            reads it.
        notes: The parts that are not followed, as sentences.
        engine: The engine that reads it, a name of `explorer.languages.engines`; empty for none.
    """

    place: LogPlace
    kind: str
    compact: bool = False
    pattern: str | None = None
    notes: tuple[str, ...] = ()
    engine: str = ""

    @property
    def is_json(self) -> bool:
        """Whether it is about a text of JSON."""
        return self.kind in ("json", "json_object")

    @property
    def has_schema(self) -> bool:
        """Whether it holds a schema, which engines read each in its way."""
        return self.is_json or self.kind in ("structural_tag", "tools")

    def constraint(self, depth: int = 3, vocabulary: Vocabulary | None = None) -> Constraint:
        """The constraint, as the engine reads it.

        Args:
            depth: The nesting depth of values that a schema leaves free, at most `MOST_FREE_DEPTH`.
            vocabulary: The tokens of the model: names of its control tokens mean these tokens.

        Raises:
            DamagedFile: The value does not fit its key.
            ConstraintError: It is not usable; the place in the log is named.
        """
        try:
            made = self._made(depth, vocabulary)
            return as_engine(made, self.engine) if self.engine else made
        except ExplorerError as error:
            if "place" in error.evidence:
                raise
            raise self.unusable(error) from error

    def _made(self, depth: int, vocabulary: Vocabulary | None) -> Constraint:
        place, value = self.place, self.place.value
        match self.kind:
            case "structural_tag":
                return tag_constraint(place, vocabulary)
            case "tools":
                return tools_constraint(place, vocabulary)
            case "regex":
                return regex(place.text())
            case "choice":
                return choice(place.checked(list[str], "a list of texts"))
            case "grammar":
                # vLLM's rule: GBNF writes "::=", Lark a colon.
                return grammar(place.text(), "gbnf" if "::=" in place.text() else "lark")
            case "json_object":
                value = {"type": "object"}
            case _:
                place.checked(dict[str, Any] | str | bool, "a JSON Schema, an object or its text")
        return json_schema(
            cast("Mapping[str, object] | bool | str", value),
            whitespace="compact" if self.compact or self.pattern is not None else "flexible",
            whitespace_pattern=self.pattern,
            strict=False,
            free_depth=min(depth, MOST_FREE_DEPTH),
            recursion="stack" if self.kind == "json_object" else "auto",
        )

    def unusable(self, error: ExplorerError) -> ConstraintError:
        """The error for a constraint that could not be built.

        Args:
            error: The error of building it.
        """
        return ConstraintError(
            f"{self.place.file}: {self.place.path} is not usable as a constraint.\n{error.message}",
            remedy=error.remedy or _OWN_CONSTRAINT,
            evidence={"file": self.place.file, "place": self.place.path, **error.evidence},
        )


@dataclass(frozen=True, slots=True)
class ConstraintPlace:
    """A row of the table.

    Args:
        path: Where the constraint stands in a request.
        kind: Its kind, as in `RequestedConstraint`.
        types: The values of ``type`` beside it (above it, for a ``json_schema``) with which it
            counts; empty for any.
        equals: The value that must stand there; ``None`` for any.
        note: What its reader should know, as a sentence.
        server: The server of which the note is true; empty for any.
    """

    path: str
    kind: str
    types: tuple[str, ...] = ()
    equals: str | bool | None = None
    note: str = ""
    server: str = ""

    def fits(self, owner: LogPlace) -> bool:
        """Whether the value that stands there is one of the row's."""
        value = owner.find(self.path).value
        if value in (None, "") or self.equals not in (None, value):
            return False
        if self.path == "format" and self.equals is None and not isinstance(value, dict):
            return False
        path = next(filter(self.path.startswith, FORMATTED), self.path.split(".")[0])
        return not self.types or owner.find(f"{path}.type").value in self.types


PLACES: Final = table("places", tuple[ConstraintPlace, ...])
"""The places of a constraint in a request, the likelier first where one holds another."""

FORMATTED: Final = ("response_format", "text.format", "output_format", "output_config.format")
"""The paths of objects whose ``type`` says what the others mean."""

# The objects of which each key is a constraint of its own.
_SEVERAL: Final = ("structured_outputs", "guided_decoding")


def requested_of(request: LogPlace, server: str = "") -> RequestedConstraint | None:
    """The constraint of a request.

    Args:
        request: The request; without a value where the log has none.
        server: The server that was asked, a name of `SERVERS`; empty where it is not known.

    Raises:
        DamagedFile: It names two constraints, or one whose value does not fit.
    """
    named = [each for owner in owners_of(request) for each in _named(owner, server)]
    if not named and request and asks_for_calls(request):
        named = [RequestedConstraint(request, "tools")]
    elif not named and request and (schema := schema_of_calls(request)) is not None:
        place = LogPlace(request.file, "request.tools", schema)
        named = [RequestedConstraint(place, "json", notes=(sentence("calls_as_json"),))]
    if len(named) > 1:
        raise named[1].place.wrong(
            f"allowed beside {named[0].place.path}: a request has one constraint",
            remedy="Leave the one out of the log that the server did not follow.",
        )
    return _as_read(named[0], request, server) if named else None


def _named(owner: LogPlace, server: str) -> Iterator[RequestedConstraint]:
    """The constraints that one object names: the first of the rows that share a key."""
    seen = set[str]()
    for row in PLACES:
        key = row.path.split(".")[0]
        if (key in seen and key not in _SEVERAL) or not row.fits(owner):
            continue
        seen.add(key)
        yield _of_row(owner, row, server)
    for path in FORMATTED:
        kind = owner.find(f"{path}.type")
        if path.split(".")[0] not in seen and kind and kind.text() != "text":
            raise kind.wrong("a response format that is known here, with its constraint")


def _of_row(owner: LogPlace, row: ConstraintPlace, server: str) -> RequestedConstraint:
    place, key = owner.one(row.path), row.path.split(".")[0]
    told = row.note if server in ("", row.server or server) else ""
    notes = [told.replace("PATH", row.path)] if told else []
    flags = ("disable_any_whitespace", "constrained_json_disable_any_whitespace")
    backend = str(owner.find("guided_decoding_backend").value)
    compact = any(owner.find(flag).value is True for flag in flags)
    compact = compact or "disable-any-whitespace" in backend
    if owner.find(f"{key}.disable_any_whitespace").value is True and not compact:
        notes.append(sentence("ignored", setting=SERVERS["vllm"].whitespace))
    if owner.find(f"{key}.disable_additional_properties").value is True:
        notes.append("disable_additional_properties is not followed.")
    pattern = owner.find(f"{key}.whitespace_pattern").optional_text()
    if row.kind == "json_object" and isinstance(place.value, dict):
        place = place.at("type")
    return RequestedConstraint(place, row.kind, compact, pattern, tuple(notes))


def _as_read(made: RequestedConstraint, request: LogPlace, server: str) -> RequestedConstraint:
    """A constraint with the engine that reads it, and the white space that this engine takes."""
    schema = made.place.value if made.kind == "json" else None
    schema = parsed(schema) if isinstance(schema, str) else schema
    made = replace(made, engine=engine_of(request, server, schema))
    if made.engine != engine_of(request, server):
        made = replace(made, notes=(*made.notes, sentence("fallen_back", engine=made.engine)))
    if made.pattern is None and not made.compact and (server, made.engine) == ("tgi", "outlines"):
        version = str(request.find("server.version", "server.name").value)
        compiled_by_router = re.search(r"\b[3-9]\.", version)
        return made if compiled_by_router else replace(made, pattern=TGI_BLANK)
    if made.pattern is not None and made.engine in ("xgrammar", "llguidance"):
        note = sentence("pattern_ignored", engine=made.engine)
        return replace(made, pattern=None, notes=(*made.notes, note))
    return made


TGI_BLANK: Final = r"[\n ]*"
"""The white space between the tokens of JSON that TGI hands to Outlines, before version 3."""

# The engines by the names that servers give them.
_ENGINES: Final = by_name("engines")

# The settings of a request or a server that name its engine.
_ENGINE_PATHS: Final = table("engine_paths", tuple[str, ...])


def engine_of(request: LogPlace, server: str, schema: object = None) -> str:
    """The engine that the log names, or that the server has by default.

    Args:
        request: The request; without a value where the log has none.
        server: A name of `SERVERS`; empty where it is not known.
        schema: The schema, if there is one: vLLM reads some with another engine.
    """
    for value in (request.find(path).value for path in _ENGINE_PATHS):
        if isinstance(value, str) and (name := value.split(":")[0]) not in ("", "auto"):
            return _ENGINES.get(name, "")
    if server == "vllm":
        return _auto_of_vllm(schema)
    return SERVERS[server or ASSUMED].engine


# The parts of a schema that vLLM 0.33 does not give to xgrammar (`backend_xgrammar.py`): types,
# and sets of keywords, or of facts about them, of each of which one must hold.
_FALL_BACKS: Final = table(
    "falls_back", tuple[tuple[frozenset[str], tuple[frozenset[str], ...]], ...]
)

# The formats of strings that vLLM gives to xgrammar.
_FORMATS_OF_XGRAMMAR: Final = table("formats_of_xgrammar", frozenset[str])


def _auto_of_vllm(schema: object) -> str:
    """The engine to which vLLM gives a schema where no backend is set."""
    parts = [*_objects(schema)]
    if not any(map(_falls_back, parts)):
        return "xgrammar"
    return "outlines" if any("patternProperties" in part for part in parts) else "llguidance"


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    """The objects in a schema."""
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        yield held
        value = list(held.values())
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _objects(each)


def _falls_back(part: Mapping[str, object]) -> bool:
    """Whether vLLM gives a part of a schema not to xgrammar."""
    named, names = part.get("type"), part.get("propertyNames")
    listed = cast("list[object]", named) if isinstance(named, list) else [named]
    types, facts = {"any", *map(str, listed)}, set(part)
    for key in ("allOf", "patternProperties"):
        value = part.get(key)
        if isinstance(value, list | dict) and len(cast("list[object]", value)) > 1:
            facts.add(f"several {key}")
    if part.get("unevaluatedProperties", True) is not True:
        facts.add("closed")
    if str(part.get("format", "date")) not in _FORMATS_OF_XGRAMMAR:
        facts.add("unread format")
    if isinstance(names, dict) and _falls_back(
        {**cast("dict[str, object]", names), "type": "name"}
    ):
        facts.add("bounded names")
    return any(types & of and all(facts & each for each in sets) for of, sets in _FALL_BACKS)


_STOP_KEYS: Final = ("stop", "stop_token_ids", "stop_sequences", "options.stop")


def stops_of(request: LogPlace, named: Sequence[LogPlace] = ()) -> tuple[str | int, ...]:
    """The stop strings and stop ids that may have ended a text.

    Args:
        request: The request; without a value where the log has none.
        named: The values of the response that name the stop; null means the end of text.

    Returns:
        The stops that the response names, or all those of the request if it names none.

    Raises:
        DamagedFile: A value is neither a text nor a token id.
    """
    asked = [owner.find(key) for owner in owners_of(request) for key in _STOP_KEYS]
    stops: list[str | int] = []
    for place in filter(None, named or asked):
        for each in place.entries() if isinstance(place.value, list) else [place]:
            stops.append(each.checked(str | int, "a stop string or a token id"))
    return tuple(stops)
