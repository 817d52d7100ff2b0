"""The constraint of a request: a table of the places where servers look for one.

A row of `PLACES` is a path into the request and the kind of constraint that stands there. Keys and
kinds hold for every server, because servers accept each other's keys.

A schema is read as the server's engine reads it (`explorer.languages.engines`): xgrammar under
vLLM, SGLang and TensorRT-LLM, Outlines under TGI. Of no engine, it means what JSON Schema says,
members in the order of the schema and any white space between the tokens of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

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
from explorer.servers.tables import table
from explorer.vocabulary import Vocabulary

MOST_FREE_DEPTH: Final = 8
"""The greatest depth of values that a schema leaves free; see `explorer.json_schema`."""

_OWN_CONSTRAINT: Final = (
    "Give the constraint yourself: --regex, --json-schema, --grammar or --choice."
)

_ANY_OBJECT: Final = r"""
root   ::= ws object ws
object ::= "{" ws ( member ( ws "," ws member )* ws )? "}"
member ::= string ws ":" ws value
array  ::= "[" ws ( value ( ws "," ws value )* ws )? "]"
value  ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ( [^"\\\x00-\x1F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} ) )* "\""
number ::= "-"? ( "0" | [1-9] [0-9]* ) ( "." [0-9]+ )? ( [eE] [+-]? [0-9]+ )?
"""


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
    notes: tuple[str, ...] = field(default=())
    engine: str = ""

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
        place = self.place
        match self.kind:
            case "structural_tag":
                return tag_constraint(place, vocabulary)
            case "tools":
                return tools_constraint(place, vocabulary)
            case "regex":
                return regex(place.text())
            case "choice":
                return choice([entry.text() for entry in place.entries("a list of texts")])
            case "grammar":
                # vLLM's rule: GBNF writes "::=", Lark a colon.
                return grammar(place.text(), "gbnf" if "::=" in place.text() else "lark")
            case "json_object" if self.engine:
                return self._of_schema({"type": "object"}, depth)
            case "json_object":
                spaces = '""' if self.compact else "[ \\t\\n\\r]*"
                return grammar(_ANY_OBJECT + f"ws     ::= {spaces}\n")
            case _:
                return self._of_schema(place.value, depth)

    def _of_schema(self, value: object, depth: int) -> Constraint:
        if not isinstance(value, dict | str | bool):
            raise self.place.wrong("a JSON Schema, an object or its text")
        return json_schema(
            cast("Mapping[str, object] | bool | str", value),
            whitespace="compact" if self.compact or self.pattern is not None else "flexible",
            whitespace_pattern=self.pattern,
            strict=False,
            free_depth=min(depth, MOST_FREE_DEPTH),
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
        note: What its reader should know, as a sentence.
    """

    path: str
    kind: str
    types: tuple[str, ...] = ()
    note: str = ""

    @property
    def above(self) -> str:
        """The path of the format that it is a part of; empty without one."""
        return next((path for path in _FORMATS if self.path.startswith(path)), "")


PLACES: Final = table("places", tuple[ConstraintPlace, ...])
"""The places of a constraint in a request, the likelier first where one holds another."""

_CALLS_AS_JSON: Final = (
    "A call is demanded and the log names no parser of calls, so the text was held against the "
    "JSON that servers make a model write then: the arguments of the named tool, or a list of "
    "objects with a name and parameters."
)

_FORMATS: Final = ("response_format", "text.format", "output_format", "output_config.format")


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
        named = [RequestedConstraint(place, "json", notes=(_CALLS_AS_JSON,))]
    if len(named) > 1:
        first, second = named[0].place, named[1].place
        raise second.wrong(
            f"allowed beside {first.path}: a request has one constraint",
            remedy="Leave the one out of the log that the server did not follow.",
        )
    if not named:
        return None
    made = named[0]
    schema = made.place.value if made.kind == "json" else None
    schema = parsed(schema) if isinstance(schema, str) else schema
    made = replace(made, engine=engine_of(request, server, schema))
    if made.engine != engine_of(request, server):
        made = replace(made, notes=(*made.notes, _FALLEN_BACK.format(made.engine)))
    if made.pattern is None and not made.compact and (server, made.engine) == ("tgi", "outlines"):
        version = request.one("server.version", "server.name").value
        compiled_by_router = re.search(r"\b[3-9]\.", version if isinstance(version, str) else "")
        return made if compiled_by_router else replace(made, pattern=TGI_BLANK)
    if made.pattern is not None and made.engine in ("xgrammar", "llguidance"):
        note = f"whitespace_pattern is read by Outlines alone; {made.engine} ignores it."
        return replace(made, pattern=None, notes=(*made.notes, note))
    return made


TGI_BLANK: Final = r"[\n ]*"
"""The white space between the tokens of JSON that TGI hands to Outlines, before version 3."""

_FALLEN_BACK: Final = (
    "vLLM gives a schema with such keywords (multipleOf, uniqueItems, patternProperties beside "
    "properties, a length beside a pattern or format, several allOf, ...) to {0} where no backend "
    "is set, so it was read as {0} reads it."
)


def engine_of(request: LogPlace, server: str, schema: object = None) -> str:
    """The engine that the log names, or that the server has by default.

    Args:
        request: The request; without a value where the log has none.
        server: A name of `SERVERS`; empty where it is not known.
        schema: The schema, if there is one: vLLM reads some with another engine.
    """
    for path in ("server.engine", "guided_decoding_backend", "guided_decoding.backend",
                 "structured_outputs._backend", "structured_outputs.backend", "grammar_backend",
                 "structured_outputs_config.backend"):  # fmt: skip
        value = request.one(path).value if request and request.has(path) else None
        if isinstance(value, str) and value.split(":")[0] not in ("", "auto"):
            return ENGINE_NAMES.get(value.split(":")[0], "")
    if server == "vllm":
        return _auto_of_vllm(schema)
    return SERVERS[server or ASSUMED].engine


_FORMATS_OF_XGRAMMAR: Final = table("formats_of_xgrammar", frozenset[str])
"""The formats of strings that vLLM gives to xgrammar."""


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
    """Whether vLLM gives a part of a schema not to xgrammar (`backend_xgrammar.py` of 0.33)."""
    named = part.get("type")
    types = set(map(str, cast("list[object]", named) if isinstance(named, list) else [named]))
    if types & {"integer", "number"} and "multipleOf" in part:
        return True
    if "array" in types and {"uniqueItems", "contains", "minContains", "maxContains"} & set(part):
        return True
    if "string" in types and (
        _bounded(part) or part.get("format", "date") not in _FORMATS_OF_XGRAMMAR
    ):
        return True
    names, patterns = part.get("propertyNames"), part.get("patternProperties")
    if "object" in types and "propertyNames" in part:
        is_bounded = isinstance(names, dict) and _bounded(cast("dict[str, object]", names))
        if is_bounded or {"patternProperties", "properties"} & set(part):
            return True
        if part.get("unevaluatedProperties", True) is not True:
            return True
    several_patterns = isinstance(patterns, dict) and len(cast("dict[str, object]", patterns)) > 1
    if "object" in types and (several_patterns or {"patternProperties", "properties"} <= set(part)):
        return True
    several = part.get("allOf")
    return isinstance(several, list) and len(cast("list[object]", several)) > 1


def _bounded(part: Mapping[str, object]) -> bool:
    """Whether a length stands beside a pattern or a format."""
    return bool({"pattern", "format"} & set(part) and {"minLength", "maxLength"} & set(part))


ENGINE_NAMES: Final[Mapping[str, str]] = {
    "xgrammar": "xgrammar", "llguidance": "llguidance", "guidance": "llguidance",
    "outlines": "outlines", "outlines_core": "outlines",
}  # fmt: skip
"""The engines by the names that servers give them."""


def _named(owner: LogPlace, server: str) -> Iterator[RequestedConstraint]:
    """The constraints that one object names: the first of the rows that share a key."""
    seen: list[str] = []
    for row in PLACES:
        key = row.path.split(".")[0]
        if key in seen and not key.startswith(("guided_d", "structured")):
            continue
        if not owner.has(row.path) or not _fits(owner, row):
            continue
        seen.append(key)
        made = _of_row(owner, row, server)
        if made is not None:
            yield made
    for path in _FORMATS:
        key = path.split(".")[0]
        if key not in seen and owner.has(path) and owner.has(f"{path}.type"):
            kind = owner.one(f"{path}.type")
            if kind.text() != "text":
                raise kind.wrong("a response format that is known here, with its constraint")
    if "grammar" not in seen and owner.has("grammar") and owner.has("grammar.type"):
        raise owner.one("grammar.type").wrong("one of json, json_object, json_schema and regex")


def _fits(owner: LogPlace, row: ConstraintPlace) -> bool:
    """Whether the type that stands beside a value is one of the row's."""
    value = owner.one(row.path).value
    if value == "":
        return False  # A setting that is not used.
    if not row.types:
        is_format = row.path == "format"
        typed = isinstance(value, dict) and row.path == "grammar"
        known = not is_format or isinstance(value, dict) or value == "json"
        return known and not typed and not (value is False and row.kind == "json_object")
    above = row.above or row.path.split(".")[0]
    return owner.has(f"{above}.type") and owner.one(f"{above}.type").value in row.types


def _of_row(owner: LogPlace, row: ConstraintPlace, server: str) -> RequestedConstraint | None:
    place, kind = owner.one(row.path), row.kind
    own = row.above == "response_format" and owner.one("response_format.type").value
    notes = [row.note] if row.note and own == "json_schema" else []
    pattern = None
    compact = True in (
        owner.one(key).value
        for key in ("disable_any_whitespace", "constrained_json_disable_any_whitespace")
    ) or "disable-any-whitespace" in str(owner.one("guided_decoding_backend").value)
    if row.path.startswith("guided_") and "." not in row.path and server in ("", "vllm"):
        notes.append(
            f"vLLM no longer reads {row.path}: releases that have structured_outputs alone ignore "
            "it and write unconstrained text."
        )
    above = row.path.split(".")[0]
    if above in ("structured_outputs", "guided_decoding"):
        asked = owner.at(above)
        if kind == "json_object" and place.value is not True:
            return None
        if asked.at("disable_any_whitespace").value is True and not compact:
            notes.append(_IGNORED.format(SERVERS["vllm"].whitespace))
        if asked.at("disable_additional_properties").value is True:
            notes.append("disable_additional_properties is not followed.")
        if asked.at("whitespace_pattern"):
            pattern = asked.at("whitespace_pattern").text()
    if row.path == "format" and place.value == "json":
        kind = "json_object"
    if kind == "json_object" and isinstance(place.value, dict):
        place = place.at("type")
    return RequestedConstraint(place, kind, compact, pattern, tuple(notes))


_IGNORED: Final = (
    "vLLM ignores disable_any_whitespace in a request, so white space was allowed between the "
    "tokens of JSON. Set it at the server: {}"
)
