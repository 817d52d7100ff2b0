"""A run of a server as a value: its output, log-probabilities and request.

Everything in it comes from the log. Where the log has texts without ids, the ids are found with a
vocabulary (`explorer.servers.following`).

A request names its constraint by a key, and the key determines the kind (`_KEYS`). Keys and kinds
hold for every server, because servers accept each other's keys.

Some rules are the server's own: vLLM, SGLang and TGI write the members of an object in the order of
the schema and allow whitespace between the tokens of JSON, so that is assumed here, unless a
request forbids whitespace. Keywords of a schema that no automaton can follow are left out, as
servers do, and named.

A text may also end with a stop string or stop id of the request. A server removes the stop string
from the text, so such a text was not ended by the model. vLLM names the stop (`stop_reason`), and
so does SGLang (`matched`, `matched_stop`); OpenAI and TGI do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.grammar.functions import grammar
from explorer.languages.schema.source import json_schema
from explorer.servers.log import LogPlace
from explorer.servers.phases import (
    REASONING_PARSERS,
    after_reasoning,
    asks_for_calls,
    tag_constraint,
    tools_constraint,
)
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.decoding.models.model import Message


MOST_FREE_DEPTH: Final = 8
"""The greatest depth of values that a schema leaves free; see `explorer.json_schema`."""

_NESTED: Final = ("extra_body", "sampling_params", "parameters")
"""The keys of a request whose objects may hold its keys too."""

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
        kind: ``"json"``, ``"json_object"``, ``"regex"``, ``"choice"``, ``"grammar"``, ``"ebnf"``
            ``"structural_tag"`` or ``"tools"``.
        reasoning: The mark that ends the reasoning before it, if the log names one.
        compact: Whether the request forbids whitespace between the tokens of JSON.
        pattern: The whitespace that it asks for there, as a regular expression; ``None`` for
            the default. Only ``"json"`` follows it.
        notes: The parts that are not followed, as sentences.
    """

    place: LogPlace
    kind: str
    compact: bool = False
    pattern: str | None = None
    notes: tuple[str, ...] = field(default=())
    reasoning: str = ""

    def constraint(self, depth: int = 3, vocabulary: Vocabulary | None = None) -> Constraint:
        """The constraint.

        Args:
            depth: The nesting depth of values that a schema leaves free, at most `MOST_FREE_DEPTH`.
            vocabulary: The tokens of the model: names of its control tokens mean these tokens.

        Raises:
            DamagedFile: The value does not fit its key.
            ConstraintError: It is not usable; the place in the log is named.
        """
        try:
            made = self._made(depth, vocabulary)
            return after_reasoning(made, self.reasoning, vocabulary) if self.reasoning else made
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
            case "json_object":
                spaces = '""' if self.compact else "[ \\t\\n\\r]*"
                return grammar(_ANY_OBJECT + f"ws     ::= {spaces}\n")
            case _:
                return self._of_schema(depth)

    def _of_schema(self, depth: int) -> Constraint:
        value = self.place.value
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


def requested_of(request: LogPlace | None) -> RequestedConstraint | None:
    """The constraint of a request.

    Args:
        request: The request; ``None`` where the log has none.

    Raises:
        DamagedFile: It names two constraints, or one whose value does not fit.
    """
    if request is None:
        return None
    named = list(_named(request))
    if not named and asks_for_calls(request):
        named = [RequestedConstraint(request, "tools")]
    if len(named) > 1:
        first, second = named[0].place, named[1].place
        raise second.wrong(
            f"allowed beside {first.path}: a request has one constraint",
            remedy="Leave the one out of the log that the server did not follow.",
        )
    if not named:
        return None
    parser = request.at("reasoning_parser").value
    end = REASONING_PARSERS.get(parser, "") if isinstance(parser, str) else ""
    if parser is not None and not end:
        note = f"reasoning_parser {parser!r} is not followed: the constraint begins at once."
        return replace(named[0], notes=(*named[0].notes, note))
    return replace(named[0], reasoning=end)


def _named(request: LogPlace) -> Iterator[RequestedConstraint]:
    yield from _of_keys(request)
    for nested in _NESTED:
        if isinstance(request.at(nested).value, dict):
            yield from _of_keys(request.at(nested))


def _of_keys(owner: LogPlace) -> Iterator[RequestedConstraint]:
    """The constraints that the keys of one object name."""
    for key, kind in _KEYS.items():
        if owner.at(key):
            yield RequestedConstraint(owner.at(key), kind, notes=_removed(key))
    for key in ("structured_outputs", "guided_decoding"):
        if owner.at(key):
            yield from _of_parameters(owner.at(key))
    if owner.at("response_format"):
        yield from _of_response_format(owner.at("response_format"))
    if isinstance(owner.at("grammar").value, dict):
        yield from _of_typed_grammar(owner.at("grammar"))


def _removed(key: str) -> tuple[str, ...]:
    if not key.startswith("guided_"):
        return ()
    return (
        f"vLLM no longer reads {key}: releases that have structured_outputs alone ignore it and "
        "write unconstrained text.",
    )


def _of_parameters(owner: LogPlace) -> Iterator[RequestedConstraint]:
    """vLLM's ``structured_outputs``, and ``guided_decoding`` before it."""
    notes: list[str] = []
    if owner.at("disable_additional_properties").value is True:
        notes.append("disable_additional_properties is not followed.")
    compact = owner.at("disable_any_whitespace").value is True
    given = owner.at("whitespace_pattern")
    pattern = given.text() if given and not compact else None
    for key in ("json", "regex", "choice", "grammar", "structural_tag"):
        if owner.at(key):
            yield RequestedConstraint(owner.at(key), key, compact, pattern, tuple(notes))
    if owner.at("json_object").value is True:
        if pattern is not None:
            notes.append("whitespace_pattern is not followed: any whitespace is allowed here.")
        yield RequestedConstraint(
            owner.at("json_object"), "json_object", compact, notes=tuple(notes)
        )


def _of_response_format(owner: LogPlace) -> Iterator[RequestedConstraint]:
    """OpenAI's ``response_format``, and TGI's, which has a value."""
    kind = owner.at("type").text()
    if kind == "text":
        return
    if owner.at("value"):
        yield from _of_typed_grammar(owner)
    elif kind == "json_object":
        yield RequestedConstraint(owner.at("type"), "json_object")
    elif kind == "json_schema":
        yield RequestedConstraint(owner.at("json_schema").at("schema"), "json")
    elif kind == "structural_tag":
        yield RequestedConstraint(owner, "structural_tag")
    elif kind == "regex":
        yield RequestedConstraint(owner.at("regex"), "regex")
    elif kind == "grammar":
        yield RequestedConstraint(owner.at("grammar"), "grammar")
    else:
        raise owner.at("type").wrong("a response format that is known here")


def _of_typed_grammar(owner: LogPlace) -> Iterator[RequestedConstraint]:
    """TGI's ``grammar``: a type and a value."""
    kind = owner.at("type").text()
    kinds = {"json": "json", "json_object": "json", "json_schema": "json", "regex": "regex"}
    if kind not in kinds:
        raise owner.at("type").wrong(f"one of {', '.join(kinds)}")
    value = owner.at("value")
    if kind == "json_schema" and isinstance(value.at("schema").value, dict):
        value = value.at("schema")  # TGI takes a named schema too.
    yield RequestedConstraint(value, kinds[kind])


_KEYS: Final[Mapping[str, str]] = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "json_schema": "json",
    "regex": "regex",
    "ebnf": "grammar",
    "structural_tag": "structural_tag",
}
"""Keys that name a constraint by themselves: vLLM's former ones, and SGLang's."""


_STOP_KEYS: Final = ("stop", "stop_token_ids", "stop_sequences")


@dataclass(frozen=True, slots=True)
class Stops:
    """The stops that may have ended a text besides the model's own end."""

    possible: tuple[str | int, ...] = ()
    known: bool = False


def stops_of(request: LogPlace | None, answer: LogPlace | None = None, *named: str) -> Stops:
    """The stop strings and stop ids that may have ended a text.

    Args:
        request: The request; ``None`` where the log has none.
        *named: The keys of the response that name the stop; null there means the end of text.

    Returns:
        The stop that the response names, or all those of the request if it names none.

    Raises:
        DamagedFile: A value is neither a text nor a token id.
    """
    if answer is not None and isinstance(answer.value, dict):
        for key in named:
            if key in answer.mapping():
                return Stops(_listed(answer.at(key)), known=True)
    if request is None:
        return Stops()
    owners = [request, *(request.at(key) for key in _NESTED)]
    return Stops(
        tuple(
            stop
            for owner in owners
            if isinstance(owner.value, dict)
            for key in _STOP_KEYS
            for stop in _listed(owner.at(key))
        )
    )


def _listed(place: LogPlace) -> tuple[str | int, ...]:
    if place.value is None:
        return ()
    if not isinstance(place.value, list):
        return (_stop(place),)
    return tuple(_stop(entry) for entry in place.entries())


def _stop(place: LogPlace) -> str | int:
    if not isinstance(place.value, str | int) or isinstance(place.value, bool):
        raise place.wrong("a stop string or a token id")
    return place.value


@dataclass(frozen=True, slots=True)
class ServedToken:
    """One token that a server wrote.

    Args:
        token: Its id; ``None`` where the log has none.
        text: Its text in the log.
        data: Its bytes, where the log has them.
        log_prob: The natural log-probability that the server gives.
        top: The likeliest tokens there, each an id or a text, with its log-probability.
        num_allowed: The number of ids that the server's mask left, if it was recorded.
    """

    token: int | None = None
    text: str | None = None
    data: bytes | None = None
    log_prob: float | None = None
    top: tuple[tuple[int | str, float | None], ...] = ()
    num_allowed: int | None = None


@dataclass(frozen=True)
class ServerRun:
    """A run of a server.

    Args:
        place: The log's name, with the line and, among several, the number of the run.
        format: The name of the log's format.
        model: The model's name in the log.
        prompt: The text or the messages of the request.
        prompt_ids: The ids that the server read, where the log has them.
        tokens: The tokens, in order; empty where the log has only a text.
        text: The text that the server returned.
        finish: The server's word for why it stopped: ``"stop"``, ``"length"``, ``"eos_token"``, ...
        requested: The constraint of the request on the text; ``None`` without one.
        notes: Remarks for the reader, as sentences.
        stops: The stop strings and stop ids that may have ended the text.
        elsewhere: The reason why the request's constraint does not apply to the text, as a
            sentence; empty if it does.
        failed: The reason why there is no answer, as a sentence; empty if there is one.
    """

    place: str
    format: str
    model: str | None
    prompt: str | tuple[Message, ...] | None
    prompt_ids: tuple[int, ...] | None
    tokens: tuple[ServedToken, ...]
    text: str | None
    finish: str | None
    requested: RequestedConstraint | None
    notes: tuple[str, ...] = ()
    stops: Stops = Stops()
    elsewhere: str = ""
    failed: str = ""

    def __repr__(self) -> str:
        what = f"{len(self.tokens)} tokens" if self.tokens else "a text"
        return f"ServerRun({self.place!r}, {self.format}, {what}, finish={self.finish!r})"
