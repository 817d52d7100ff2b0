"""The constraint of a request: a table of the places where servers look for one.

A row of `_PLACES` is a path into the request and the kind of constraint that stands there. Keys and
kinds hold for every server, because servers accept each other's keys.

A schema is read as the server's engine reads it (`explorer.languages.engines`): xgrammar under
vLLM, SGLang and TensorRT-LLM, Outlines under TGI. Of no engine, it means what JSON Schema says,
members in the order of the schema and any white space between the tokens of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, cast

from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.engines.reading import as_engine
from explorer.languages.grammar.functions import grammar
from explorer.languages.phases.functions import control_names
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.schema.source import json_schema
from explorer.languages.tools.functions import tools
from explorer.servers.log import LogPlace, owners_of, parsed
from explorer.servers.tables import ASSUMED, SERVERS, by_name, sentence, table
from explorer.vocabulary import Vocabulary

TOOL_PARSERS: Final = by_name("tool_parsers")
"""The markup of vLLM's and SGLang's parsers of calls, by the styles of `explorer.tools`."""

UNREAD_PARSERS: Final = by_name("unread_parsers")
"""The parsers that are known and not followed, each with the reason."""

# The marks with which calls begin, and the parsers that read them.
_CALL_MARKS: Final = table("call_marks", dict[str, str])


IS_JSON: Final = ("json", "json_object")
"""The kinds of constraints that are about a text of JSON."""

HAS_SCHEMA: Final = ("json", "json_object", "structural_tag", "tools")
"""The kinds of constraints that hold a schema, which engines read each in its way."""


@dataclass(frozen=True)
class RequestedConstraint:
    """The constraint that a request puts on the text.

    Args:
        place: The key that names it, with its value.
        kind: ``"json"``, ``"json_object"``, ``"regex"``, ``"choice"``, ``"grammar"``,
            ``"structural_tag"`` or ``"tools"``.
        blank: The white space between the tokens of JSON, as a regular expression, which only
            Outlines reads; empty where the server forbids it, ``None`` for any.
        notes: The parts that are not followed, as sentences.
        engine: The engine that reads it, a name of `explorer.languages.engines`; empty for none.
    """

    place: LogPlace
    kind: str
    blank: str | None = None
    notes: tuple[str, ...] = ()
    engine: str = ""

    def constraint(self, vocabulary: Vocabulary | None = None) -> Constraint:
        """The constraint, as the engine reads it.

        Args:
            vocabulary: The tokens of the model: names of its control tokens mean these tokens.

        Raises:
            DamagedFile: The value does not fit its key.
            ConstraintError: It is not usable; the place in the log is named.
        """
        try:
            made = self._made(vocabulary)
            return as_engine(made, self.engine) if self.engine else made
        except ExplorerError as error:
            if "place" in error.evidence:
                raise
            raise self.unusable(error) from error

    def _made(self, vocabulary: Vocabulary | None) -> Constraint:
        place, value = self.place, self.place.value
        match self.kind:
            case "structural_tag":
                tag = dict[str, Any] | str
                value = place.checked(tag, "a structural tag, an object or its text")
                names = () if vocabulary is None else control_names(vocabulary)
                return Constraint(StructuralTag.of(value, names, strict=False).with_met_controls())
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
            whitespace="flexible" if self.blank is None else "compact",
            whitespace_pattern=self.blank or None,
            strict=False,
        )

    def unusable(self, error: ExplorerError) -> ConstraintError:
        """The error for a constraint that could not be built.

        Args:
            error: The error of building it.
        """
        own = "Give the constraint yourself: --regex, --json-schema, --grammar or --choice."
        return ConstraintError(
            f"{self.place.file}: {self.place.path} is not usable as a constraint.\n{error.message}",
            remedy=error.remedy or own,
            evidence={"file": self.place.file, "place": self.place.path, **error.evidence},
        )


@dataclass(frozen=True, slots=True)
class ConstraintPlace:
    """A row of the table.

    Args:
        path: Where the constraint stands in a request.
        kind: Its kind, as in `RequestedConstraint`.
        when: The values that must stand at some paths, one of each.
        note: What its reader should know, as a sentence.
        server: The server of which the note is true; empty for any.
    """

    path: str
    kind: str
    when: Mapping[str, tuple[str | bool, ...]] = field(default_factory=dict[str, Any])
    note: str = ""
    server: str = ""

    def fits(self, owner: LogPlace) -> bool:
        """Whether the value that stands there is one of the row's."""
        met = all(owner.find(path).value in values for path, values in self.when.items())
        return met and owner.find(self.path).value not in (None, "")


# The places of a constraint in a request, the likelier first where one holds another.
_PLACES: Final = table("places", tuple[ConstraintPlace, ...])

# The paths of objects whose ``type`` says what the others mean.
_FORMATTED: Final = ("response_format", "text.format", "output_format", "output_config.format")

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
    for row in _PLACES:
        key = row.path.split(".")[0]
        if (key in seen and key not in _SEVERAL) or not row.fits(owner):
            continue
        seen.add(key)
        yield _of_row(owner, row, server)
    for path in _FORMATTED:
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
    compact |= "disable-any-whitespace" in backend
    if owner.find(f"{key}.disable_any_whitespace").value is True and not compact:
        notes.append(sentence("ignored", setting=SERVERS["vllm"]["whitespace"]))
    if owner.find(f"{key}.disable_additional_properties").value is True:
        notes.append("disable_additional_properties is not followed.")
    blank = owner.find(f"{key}.whitespace_pattern").optional_text() or None
    if row.kind == "json_object" and isinstance(place.value, dict):
        place = place.at("type")
    return RequestedConstraint(place, row.kind, "" if compact else blank, tuple(notes))


def _as_read(made: RequestedConstraint, request: LogPlace, server: str) -> RequestedConstraint:
    """A constraint with the engine that reads it, and the white space that this engine takes."""
    schema = made.place.value if made.kind == "json" else None
    schema = parsed(schema) if isinstance(schema, str) else schema
    made = replace(made, engine=engine_of(request, server, schema))
    if made.engine != engine_of(request, server):
        made = replace(made, notes=(*made.notes, sentence("fallen_back", engine=made.engine)))
    if made.blank is None and (server, made.engine) == ("tgi", "outlines"):
        version = str(request.find("server.version", "server.name").value)
        compiled_by_router = re.search(r"\b[3-9]\.", version)
        return made if compiled_by_router else replace(made, blank=TGI_BLANK)
    if made.blank and made.engine in ("xgrammar", "llguidance"):
        note = sentence("pattern_ignored", engine=made.engine)
        return replace(made, blank=None, notes=(*made.notes, note))
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
    parts = [*_objects(schema)] if server == "vllm" else []
    if any(map(_falls_back, parts)):
        return "outlines" if any("patternProperties" in part for part in parts) else "llguidance"
    return SERVERS[server or ASSUMED]["engine"]


# The parts of a schema that vLLM 0.33 does not give to xgrammar (`backend_xgrammar.py`): types,
# and sets of keywords, or of facts about them, of each of which one must hold.
_FALL_BACKS: Final = table(
    "falls_back", tuple[tuple[frozenset[str], tuple[frozenset[str], ...]], ...]
)

# The formats of strings that vLLM gives to xgrammar.
_FORMATS_OF_XGRAMMAR: Final = table("formats_of_xgrammar", frozenset[str])


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


def asks_for_calls(request: LogPlace) -> bool:
    """Whether a request's answer consists of calls in the markup of a parser that the log names.

    Under ``tool_choice="auto"`` servers enforce the schema only of tools that are ``strict``.
    """
    followed = str(request.find("tool_call_parser").value) in TOOL_PARSERS
    is_demanded = demanded_tools(request) is not None
    listed = tools_of(request) if followed else []
    return any(is_demanded or tool.at("strict").value is True for tool in listed)


def tools_of(request: LogPlace) -> list[LogPlace]:
    """The tools of a request, each the object that has its name and its parameters."""
    listed = request.find("tools", "functions")
    each = listed.entries("a list of tools") if listed else []
    return [tool.one("function", "custom") or tool for tool in each]


def demanded_tools(request: LogPlace) -> tuple[str, ...] | None:
    """The tools of which the request demands a call; none of them for any tool.

    OpenAI names a tool in an object, and TGI as a text; ``allowed_tools`` names several. Anthropic
    writes ``any`` for what is ``required`` elsewhere.

    Returns:
        ``None`` where no call is demanded.
    """
    choice = request.find("tool_choice", "function_call")
    kind = choice.value if isinstance(choice.value, str) else choice.find("type").value
    if kind in ("required", "any"):
        return ()
    if kind == "allowed_tools":
        if choice.find("allowed_tools.mode", "mode").value != "required":
            return None
        listed = choice.find("allowed_tools.tools", "tools").entries("a list of tools")
        return tuple(each.find("function.name", "name").text() for each in listed)
    in_object = choice.find("function.name", "name", "function")
    named = choice if isinstance(choice.value, str) else in_object
    return (named.text(),) if named and named.value not in ("auto", "none") else None


def schema_of_calls(request: LogPlace) -> object:
    """The schema of the calls that a request demands; ``None`` where its parser, or none, says.

    OpenAI's form of tools alone: servers make the model write the arguments of a named tool, or a
    list of names and parameters.
    """
    demanded, listed = demanded_tools(request), tools_of(request)
    given = all(tool.find("parameters") for tool in listed)
    if demanded is None or request.find("tool_call_parser") or not listed or not given:
        return None
    wanted = [tool for tool in listed if not demanded or tool.at("name").value in demanded]
    if request.find("tool_choice").value not in ("required", "any") and len(wanted) == 1:
        return wanted[0].at("parameters").value
    calls: list[object] = []
    for tool in wanted:
        call = {"name": {"const": tool.at("name").value}, "parameters": tool.at("parameters").value}
        calls.append({"type": "object", "properties": call, "required": [*call]})
    return {"type": "array", "minItems": 1, "items": {"anyOf": calls}} if calls else None


def unparsed_call(request: LogPlace, text: str) -> str:
    """A sentence on a call that stands in the text of an answer; empty where there is none."""
    mark = next((each for each in _CALL_MARKS if each in text), None)
    if mark is None or not tools_of(request) or request.find("tool_call_parser"):
        return ""
    return sentence("unparsed_call", mark=mark, parser=_CALL_MARKS[mark])


def unknown_parser(request: LogPlace) -> str:
    """A sentence on an unknown parser of calls that a request names; else empty."""
    parser = request.find("tool_call_parser").value
    if not isinstance(parser, str) or parser in TOOL_PARSERS:
        return ""
    if parser in UNREAD_PARSERS:
        return sentence("unread_calls", parser=parser, why=UNREAD_PARSERS[parser])
    near = get_close_matches(parser, TOOL_PARSERS, 3)
    meant = f" Is it {' or '.join(near)}?" if near else ""
    return sentence("unknown_calls", parser=parser, meant=meant)


def tools_constraint(place: LogPlace, vocabulary: Vocabulary | None) -> Constraint:
    """The constraint of a request with tools.

    Args:
        place: The request.
    """
    demanded = demanded_tools(place)
    choice: Any = "none" if place.at("tool_choice").value == "none" else "auto"
    if demanded is not None:
        listed = [{"type": "function", "function": {"name": name}} for name in demanded]
        wanted = {"mode": "required", "tools": listed}
        choice = {"type": "allowed_tools", "allowed_tools": wanted} if demanded else "required"
    return tools(
        [each.mapping() for each in place.at("tools").entries("a list of tools")],
        style=TOOL_PARSERS[place.at("tool_call_parser").text()],
        choice=choice,
        parallel=place.at("parallel_tool_calls").value is not False,
        control_tokens=vocabulary or (),
        strict=False,
    )
