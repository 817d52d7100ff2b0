"""The reader of structural tags: from their JSON to pieces, one method per type of format.

Members are read with a check of their type; an error names the JSON Pointer of the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Final, cast

from explorer.arguments import shown
from explorer.automata.tree.nodes import Deferred, Source
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ConstraintError, ExplorerError
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.phases.control import AnyTokens, Name, OtherToken, loaded_name
from explorer.languages.phases.formats import (
    DispatchPiece,
    DispatchRule,
    EitherPiece,
    FixedPiece,
    FreePiece,
    RepeatedPiece,
    RowPiece,
    SourcePiece,
    Span,
    TagPart,
    TagPiece,
)
from explorer.languages.phases.free import AnyText
from explorer.languages.phases.leftmost import Marked, marked, shown_string
from explorer.languages.phases.markup import STYLES, XmlArguments
from explorer.languages.regex.source import Regex
from explorer.languages.schema.diagnosis.locating import spans_of
from explorer.languages.schema.source import JsonSchema, indented
from explorer.languages.sources.algebra import Intersection, Union
from explorer.languages.template.limited import Limited

Object = dict[str, object]
WHITE: Final = r"[ \n\t\r]"
MOST_NAME: Final = 60
"""The most characters of a tag's beginning that serve as its name."""


SCHEMAS: Final = frozenset({"json_schema", "schema"})
"""The members that hold a JSON Schema."""

MOST_PARTS: Final = 100
"""The most parts of a schema that are checked before its machine is built."""

_REQUIRED: Final = object()

_EXAMPLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("value", "separator"), '", "'),
    **dict.fromkeys(("format", "content"), '{"type": "any_text"}'),
    **dict.fromkeys(("elements", "structures"), "[{…}]"),
    "begin": '"<tool_call>"',
    "end": '"</tool_call>"',
    "grammar": '"root ::= [0-9]+"',
    "json_schema": '{"type": "object"}',
    "max": "3",
    "min": "1",
    "pattern": '"[0-9]+"',
    "rules": '[["<tool_call>", {"type": "any_text"}]]',
    "tags": '[{"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}]',
    "token": '"<tool_call>"',
    "trigger_tokens": '["<tool_call>"]',
    "triggers": '["<tool_call>"]',
}
"""An example of a value for each required member."""


def wrong_tag(pointer: str, reason: str, remedy: str = "") -> ConstraintError:
    """The error for a place of a structural tag.

    Args:
        pointer: The JSON Pointer of the place.
        reason: A clause without a full stop.
    """
    return ConstraintError(
        f"The structural tag cannot be followed at {pointer or 'its top'}: {reason}.",
        remedy=remedy or "Write it as xgrammar 0.2.8 reads it.",
        evidence={"pointer": pointer, "reason": reason},
    )


_OF_A_TAG: Final = ("begin", "content", "end")
_COUNTS: Final = ("at_least_one", "stop_after_first")

_Reads = Callable[[Object, str, tuple[Marked, ...]], TagPart]


class TagReader:
    """Reads a structural tag into pieces.

    Args:
        text: The JSON.
        controls: Names in the strings that stand for control tokens.

    Attributes:
        tokens: The control tokens read so far.
        root: The pieces.
        leaves: The schemas, patterns and grammars, in the order of the text.
    """

    def __init__(
        self, text: str, controls: tuple[str, ...] = (), names: tuple[tuple[str, str], ...] = (),
        *, strict: bool = True, given: tuple[Source, ...] | None = None,
    ) -> None:  # fmt: skip
        self.text, self.controls = text, controls
        self.tokens: dict[Name, None] = {}
        self.strict = strict
        self.leaves: list[Source] = []
        self.given = given
        self.names = dict(names)
        self._readers: Mapping[str, tuple[_Reads, tuple[str, ...]]] = {
            "const_string": (self._const_string, ("value",)),
            "json_schema": (
                self._json_schema,
                ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"),
            ),
            "regex": (self._regex, ("pattern", "excludes")),
            "grammar": (self._grammar, ("grammar",)),
            "any_text": (self._any_text, ("excludes", "max_tokens", "max_chars")),
            "token": (self._one_token, ("token",)),
            "exclude_token": (self._other_token, ("exclude_tokens",)),
            "any_tokens": (self._any_tokens, ("exclude_tokens", "max_tokens")),
            "sequence": (self._sequence, ("elements",)),
            "or": (self._either, ("elements",)),
            "optional": (self._repeats, ("content",)),
            "plus": (self._repeats, ("content",)),
            "star": (self._repeats, ("content",)),
            "repeat": (self._repeats, ("min", "max", "content")),
            "tag": (self._tag, _OF_A_TAG),
            "triggered_tags": (
                self._triggered, ("triggers", "tags", "excludes", *_COUNTS),
            ),
            "token_triggered_tags": (
                self._triggered, ("trigger_tokens", "tags", "exclude_tokens", *_COUNTS),
            ),
            "tags_with_separator": (self._separated, ("tags", "separator", *_COUNTS)),
            "dispatch": (self._dispatch, ("rules", "loop", "excludes")),
            "token_dispatch": (self._dispatch, ("rules", "loop", "exclude_tokens")),
            "qwen_xml_parameter": (self._json_schema, ("json_schema",)),
        }  # fmt: skip
        try:
            data: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise wrong_tag("", f"it is not JSON ({error})") from error
        self.spans = spans_of(text, SCHEMAS)
        if not isinstance(data, dict):
            raise wrong_tag("", "it is not an object")
        self.root = self._whole(cast("Object", data))

    def leaf(
        self, made: Callable[[], Source], pointer: str, *, is_text: bool = False
    ) -> SourcePiece:
        """The piece of a child source; its errors are reported at its place."""
        number = len(self.leaves)
        if self.given is not None:
            source = self.given[number]
        else:
            try:
                source = made()
                check_schemas(source)
            except ExplorerError as error:
                raise ConstraintError(
                    f"The structural tag cannot be followed at {pointer}: {error.message}",
                    remedy=error.remedy,
                    evidence={**error.evidence, "pointer": pointer},
                ) from error
        self.leaves.append(source)
        return SourcePiece(source, number, f"the structural tag's {pointer}", is_text)

    # The parts of objects.

    def member(
        self, owner: Object, pointer: str, name: str, kind: type, what: str,
        default: object = _REQUIRED,
    ) -> object:  # fmt: skip
        """A member of an object, checked to have a type."""
        if name not in owner and default is not _REQUIRED:
            return default
        value = self.needed(owner, pointer, name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise wrong_tag(f"{pointer}/{name}", f"{shown(value)} is not {what}")
        return value

    def only(self, owner: Object, pointer: str, *known: str) -> None:
        """Refuse members that are not known."""
        for name in owner:
            if name not in known:
                close = get_close_matches(name, known, 1)
                raise wrong_tag(
                    f"{pointer}/{name}", f"there is no such member; there are {', '.join(known)}",
                    f"Did you mean {close[0]!r}?" if close else "Leave it out.",
                )  # fmt: skip

    def flag(self, owner: Object, pointer: str, name: str, default: bool = False) -> bool:
        """A member that is true or false."""
        return bool(self.member(owner, pointer, name, bool, "true or false", default))

    def count(self, owner: Object, pointer: str, name: str) -> int | None:
        """A member that is a limit; ``None`` for no limit."""
        value = owner.get(name)
        if value is None or (type(value) is int and 0 <= value < 2**31):
            return value
        raise wrong_tag(f"{pointer}/{name}", f"{shown(value)} is not a count")

    def listed(self, owner: Object, pointer: str, name: str) -> list[object]:
        """A member that is a list of at least one entry."""
        value = cast("list[object]", self.member(owner, pointer, name, list, "a list"))
        if not value:
            raise wrong_tag(f"{pointer}/{name}", "it is empty", "Give at least one entry.")
        return value

    def objects(self, owner: Object, pointer: str, name: str) -> list[tuple[Object, str]]:
        """The objects of a list, each with its JSON Pointer."""
        return [
            (self.object(each, f"{pointer}/{name}/{k}"), f"{pointer}/{name}/{k}")
            for k, each in enumerate(self.listed(owner, pointer, name))
        ]

    def object(self, value: object, pointer: str) -> Object:
        """The value, checked to be an object."""
        if not isinstance(value, dict):
            raise wrong_tag(pointer, f"{shown(value)} is not an object")
        return cast("Object", value)

    def strings(self, owner: Object, pointer: str, name: str) -> frozenset[Marked]:
        """A member that is a list of non-empty strings; empty if it is missing."""
        given = cast("list[object]", self.member(owner, pointer, name, list, "a list", ()))
        return frozenset(self.string(each, f"{pointer}/{name}/{k}") for k, each in enumerate(given))

    def needed(self, owner: Object, pointer: str, name: str) -> object:
        """A required member of an object."""
        if name in owner:
            return owner[name]
        raise wrong_tag(
            f"{pointer}/{name}", f"the member {name!r} is missing",
            f'Give it, such as "{name}": {_EXAMPLES[name]}.',
        )  # fmt: skip

    def string(self, value: object, pointer: str, *, empty: bool = False) -> Marked:
        """A string, with the names of control tokens replaced by these tokens."""
        if not isinstance(value, str):
            raise wrong_tag(pointer, f"{shown(value)} is not a string")
        if not value and not empty:
            raise wrong_tag(pointer, "it is empty", "Give a string of at least one character.")
        string = marked(value, self.controls)
        self.tokens.update((each[0], None) for each in string if isinstance(each, tuple))
        return string

    def token(self, value: object, pointer: str) -> Name:
        """A token by its name or id."""
        try:
            token = loaded_name(value)
        except ConstraintError:
            raise wrong_tag(
                pointer, f"{shown(value)} is not a token", "Give its name or its id."
            ) from None
        self.tokens[token] = None
        return token

    def token_list(self, owner: Object, pointer: str, name: str) -> tuple[Name, ...]:
        """A member that is a list of tokens; empty if it is missing."""
        given = cast("list[object]", self.member(owner, pointer, name, list, "a list", ()))
        return tuple(self.token(each, f"{pointer}/{name}/{k}") for k, each in enumerate(given))

    # The places in the text.

    def span(self, pointer: str) -> Span:
        """The span of a value."""
        return self.spans.get(pointer, (0, 0))

    def fixed(self, *strings: tuple[Marked, str], label: str = "") -> FixedPiece:
        """The piece of some strings, given with their JSON Pointers, with spans of characters."""
        placed: list[tuple[Marked, tuple[Span, ...]]] = []
        for string, pointer in strings:
            start, end = self.span(pointer)
            text = shown_string(string)
            first = end - 1 - len(text)
            if self.text[first : end - 1] == text and first > start:
                spans: list[Span] = []
                for each in string:
                    size = len(each) if isinstance(each, str) else len(str(each[0]))
                    spans.append((first, first + size))
                    first += size
                placed.append((string, tuple(spans)))
            else:
                placed.append((string, ((start, end),) * len(string)))
        return FixedPiece(tuple(placed), label)

    # The formats.

    def _whole(self, data: Object) -> TagPart:
        if "structures" in data:
            return self._older(data)
        if data.get("type") != "structural_tag":
            if "type" in data:
                return self.format(data, "", ())
            raise wrong_tag(
                "/type", "the member 'type' is missing",
                'Write {"type": "structural_tag", "format": {…}}, or a format alone, of which the '
                f"type is one of {', '.join(self._readers)}.",
            )  # fmt: skip
        self.only(data, "", "type", "format")
        return self.format(self.member(data, "", "format", dict, "a format"), "/format", ())

    def _older(self, data: Object) -> TagPart:
        """The pieces of vLLM's older form: structures with a schema, and triggers."""
        self.only(data, "", "type", "structures", "triggers")
        triggers = self._triggers(data, "", "triggers")
        rules: dict[Marked, list[DispatchRule]] = {each: [] for each in triggers}
        for structure, at in self.objects(data, "", "structures"):
            self.only(structure, at, "begin", "schema", "end")
            begin = self.string(self.needed(structure, at, "begin"), f"{at}/begin")
            end = self.string(structure.get("end", ""), f"{at}/end", empty=True)
            given: object = structure.get("schema", True)
            content = self._schema({}, at, "json", decoded_schema(given), "schema")
            tag = TagPiece(
                self.fixed((begin, f"{at}/begin")), content, self.fixed((end, f"{at}/end")),
                self._name(at, begin, end),
            )  # fmt: skip
            self._dispatched(rules, begin, tag, f"{at}/begin")
        return DispatchPiece(_rules(rules, ""), frozenset(), True, self.span("/triggers"))

    def format(self, given: object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        """The piece of a format.

        Args:
            ends: The ends of the enclosing tag, which free text must not contain.
        """
        data = self.object(given, pointer)
        kind = data.get("type")
        known = self._readers.get(kind) if isinstance(kind, str) else None
        if known is None:
            close = get_close_matches(str(kind), self._readers, 1)
            meant = f"Did you mean {close[0]!r}? " if close else ""
            raise wrong_tag(
                f"{pointer}/type", f"{shown(kind)} is not a type of format",
                f"{meant}The types are {', '.join(self._readers)}.",
            )  # fmt: skip
        reader, members = known
        self.only(data, pointer, "type", *members)
        return reader(data, pointer, ends)

    def _const_string(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        at = f"{pointer}/value"
        return self.fixed((self.string(self.needed(data, pointer, "value"), at, empty=True), at))

    def _json_schema(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        usual = "qwen_xml" if data["type"] == "qwen_xml_parameter" else "json"
        style = cast("str", self.member(data, pointer, "style", str, "a style", usual))
        if style not in ("json", *STYLES):
            raise wrong_tag(
                f"{pointer}/style", f"the style {shown(style)} is not read",
                f"The styles are json, {', '.join(STYLES)}.",
            )  # fmt: skip
        return self._schema(data, pointer, style, self.needed(data, pointer, "json_schema"))

    def _schema(
        self, data: Object, pointer: str, style: str, schema: object, name: str = "json_schema"
    ) -> SourcePiece:
        at = f"{pointer}/{name}"
        if not isinstance(schema, dict | bool):
            raise wrong_tag(at, f"{shown(schema)} is not a JSON Schema")
        most = self.count(data, pointer, "max_whitespace_cnt")
        options: dict[str, object] = {
            "whitespace_pattern": WHITE + ("*" if most is None else f"{{0,{most}}}"),
            "property_order": "any" if self.flag(data, pointer, "any_order") else "schema",
            "strict": self.strict,
        }
        excluded = self.strings(data, pointer, "excludes")
        for k, each in enumerate(cast("list[str]", data.get("excludes") or [])):
            if not stands_in_strings(each):
                raise wrong_tag(
                    f"{pointer}/excludes/{k}", f"{shown(each)} may also stand outside of a string",
                    "Exclude a text with a character that JSON has in strings alone, and no quotes",
                )  # fmt: skip

        def made() -> Source:
            inner = cast("Mapping[str, object] | bool", schema)
            if style == "json":
                read: Source = JsonSchema.of(schema_in_text(inner), None, **options)
            else:
                texts = tuple(sorted(map(shown_string, excluded)))
                read = XmlArguments.of(inner, style, texts, options)
            return _without(read, excluded)

        return self.leaf(made, at)

    def _regex(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        pattern = cast("str", self.member(data, pointer, "pattern", str, "a pattern"))
        excluded = self.strings(data, pointer, "excludes")
        return self.leaf(lambda: _without(_pattern(pattern), excluded), f"{pointer}/pattern")

    def _grammar(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        text = cast("str", self.member(data, pointer, "grammar", str, "a grammar"))
        return self.leaf(lambda: _grammar(text), f"{pointer}/grammar")

    def _any_text(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        excluded = self.strings(data, pointer, "excludes").union(ends)
        tokens, chars = (self.count(data, pointer, name) for name in ("max_tokens", "max_chars"))
        if tokens is None and chars is None:
            return FreePiece(excluded, self.span(pointer))
        if any(isinstance(each, tuple) for string in excluded for each in string):
            raise wrong_tag(pointer, "a limit and a control token that ends the text", "Drop one.")

        def made() -> Source:
            free: Source = AnyText(tuple(sorted(map(shown_string, excluded))))
            if chars is not None:
                free = Intersection(free, Regex.read(f"(?s:.{{0,{chars}}})"))
            return free if tokens is None else Limited(free, tokens)

        return self.leaf(made, pointer, is_text=True)

    def _one_token(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        at = f"{pointer}/token"
        return self.fixed((((self.token(self.needed(data, pointer, "token"), at),),), at))

    def _other_token(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        other = OtherToken(self._excluded_tokens(data, pointer, ends))
        text = Regex.read("(?P<TEXT_TOKEN>)")
        return self.leaf(lambda: Union((text, other)), pointer, is_text=True)

    def _any_tokens(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        most = self.count(data, pointer, "max_tokens")
        free = AnyTokens(self._excluded_tokens(data, pointer, ends))
        return self.leaf(
            lambda: free if most is None else Limited(free, most), pointer, is_text=True
        )

    def _excluded_tokens(
        self, data: Object, pointer: str, ends: tuple[Marked, ...]
    ) -> tuple[Name, ...]:
        """The excluded tokens, those in the ends of the enclosing tag included, each once."""
        given = self.token_list(data, pointer, "exclude_tokens")
        around = (each[0] for end in ends for each in end if isinstance(each, tuple))
        return tuple(dict.fromkeys((*given, *around)))

    def _sequence(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        return RowPiece(tuple(self._elements(data, pointer, ends)))

    def _either(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        return EitherPiece(tuple(self._elements(data, pointer, ends)))

    def _elements(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> Iterable[TagPart]:
        for each, at in self.objects(data, pointer, "elements"):
            yield self.format(each, at, ends)

    def _repeats(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        low, high = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}.get(
            str(data["type"]), (0, 0)
        )
        if data["type"] == "repeat":
            low = cast("int", self.member(data, pointer, "min", int, "a count"))
            most = cast("int", self.member(data, pointer, "max", int, "a count, or -1"))
            high = None if most == -1 else most
            if low < 0 or (high is not None and high < low):
                raise wrong_tag(f"{pointer}/max", f"{low} to {most} times", "Swap them.")
        inner = self.format(self.needed(data, pointer, "content"), f"{pointer}/content", ends)
        return RepeatedPiece(inner, low, high)

    # Tags, and what dispatches to them.

    def _tag(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPiece:
        begin, starts = self._edge(data, pointer, "begin")
        end, stops = self._edge(data, pointer, "end")
        inside = tuple(stop for stop in stops if stop)
        content = self.format(self.needed(data, pointer, "content"), f"{pointer}/content", inside)
        if not inside and _is_endless(data.get("content")):
            raise wrong_tag(
                f"{pointer}/end", "the content is text without an end, and the end is empty",
                "Give the tag an end.",
            )  # fmt: skip
        return TagPiece(begin, content, end, self._name(pointer, starts[0], stops[0]))

    def _name(self, pointer: str, begin: Marked, end: Marked) -> str:
        text = shown_string(begin).strip() or shown_string(end).strip() or "tag"
        line = " ".join(text.split())
        short = line if len(line) <= MOST_NAME else f"{line[: MOST_NAME - 1]}…"
        return self.names.get(pointer, short)

    def _edge(self, data: Object, pointer: str, name: str) -> tuple[FixedPiece, list[Marked]]:
        """The beginning or the end of a tag: a string, several for an end, or a token."""
        value, at = self.needed(data, pointer, name), f"{pointer}/{name}"
        if isinstance(value, dict):
            token = cast("Object", value)
            self.only(token, at, "type", "token")
            name_or_id = self.needed(token, at, "token")
            if token.get("type") != "token":
                raise wrong_tag(f"{at}/type", f"{shown(token.get('type'))} is not 'token'")
            at = f"{at}/token"
            strings = [(((self.token(name_or_id, at),),), at)]
        elif isinstance(value, list) and name == "end":
            given = cast("list[object]", value)
            if not given:
                raise wrong_tag(at, "it is empty", "Give at least one end.")
            strings = [
                (self.string(each, f"{at}/{k}", empty=True), f"{at}/{k}")
                for k, each in enumerate(given)
            ]
        else:
            strings = [(self.string(cast("object", value), at, empty=True), at)]
        return self.fixed(*strings), [string for string, _ in strings]

    def _tags(self, data: Object, pointer: str) -> list[tuple[TagPiece, str]]:
        tags: list[tuple[TagPiece, str]] = []
        for each, at in self.objects(data, pointer, "tags"):
            self.only(each, at, "type", *_OF_A_TAG)
            tags.append((self._tag(each, at, ()), at))
        return tags

    def _triggers(self, data: Object, pointer: str, name: str) -> list[Marked]:
        given = self.listed(data, pointer, name)
        return list(
            dict.fromkeys(
                self.string(each, f"{pointer}/{name}/{k}") for k, each in enumerate(given)
            )
        )

    def _dispatched(
        self, rules: dict[Marked, list[DispatchRule]], begin: Marked, tag: TagPiece, pointer: str
    ) -> None:
        """Add a tag to the rules of the one string with which it begins."""
        fitting = [string for string in rules if begin[: len(string)] == string]
        if len(fitting) != 1:
            reason = (
                "no trigger is its beginning" if not fitting
                else "it begins with the triggers "
                f"{shown_string(fitting[0])!r} and {shown_string(fitting[1])!r}"
            )  # fmt: skip
            raise wrong_tag(pointer, reason, "Give each tag one trigger that it begins with.")
        (string,) = fitting
        fixed = cast("FixedPiece", tag.begin)
        rest = FixedPiece(
            tuple((s[len(string) :], spans[len(string) :]) for s, spans in fixed.strings)
        )
        rules[string].append(DispatchRule(rest, tag))

    def _triggered(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        by_token = data["type"] == "token_triggered_tags"
        name = "trigger_tokens" if by_token else "triggers"
        if by_token:
            tokens = dict.fromkeys(self.token_list(data, pointer, name))
            triggers: list[Marked] = [((token,),) for token in tokens]
        else:
            triggers = self._triggers(data, pointer, name)
        excluded = self._excluded(data, pointer, by_token)
        tags = self._tags(data, pointer)
        rules: dict[Marked, list[DispatchRule]] = {each: [] for each in triggers}
        for tag, at in tags:
            begin = cast("FixedPiece", tag.begin).strings[0][0]
            self._dispatched(rules, begin, tag, f"{at}/begin")
        once = self.flag(data, pointer, "stop_after_first")
        first = EitherPiece(tuple(tag for tag, _ in tags))
        if once and self.flag(data, pointer, "at_least_one"):
            return first
        span = self.span(f"{pointer}/{name}")
        some = DispatchPiece(
            _rules(rules, f"{pointer}/{name}"), excluded.union(ends), not once, span, by_token
        )
        return RowPiece((first, some)) if self.flag(data, pointer, "at_least_one") else some

    def _excluded(self, data: Object, pointer: str, by_token: bool) -> frozenset[Marked]:
        """The strings, or the control tokens, that free text must not contain."""
        if not by_token:
            return self.strings(data, pointer, "excludes")
        tokens = self.token_list(data, pointer, "exclude_tokens")
        return frozenset(cast("Marked", ((token,),)) for token in tokens)

    def _dispatch(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        by_token = data["type"] == "token_dispatch"
        rules: dict[Marked, list[DispatchRule]] = {}
        for k, each in enumerate(self.listed(data, pointer, "rules")):
            at = f"{pointer}/rules/{k}"
            pair = cast("list[object]", each if isinstance(each, list) else [])
            if len(pair) != 2:
                raise wrong_tag(at, "it is not a pair of a pattern and a format")
            string: Marked = (
                ((self.token(pair[0], f"{at}/0"),),) if by_token
                else self.string(pair[0], f"{at}/0")
            )  # fmt: skip
            rules.setdefault(string, []).append(DispatchRule(self.format(pair[1], f"{at}/1", ())))
        excluded = self._excluded(data, pointer, by_token)
        loops = self.flag(data, pointer, "loop", True)
        span = self.span(f"{pointer}/rules")
        return DispatchPiece(_rules(rules, pointer), excluded.union(ends), loops, span, by_token)

    def _separated(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        at = f"{pointer}/separator"
        one = EitherPiece(tuple(tag for tag, _ in self._tags(data, pointer)))
        separator = self.string(self.needed(data, pointer, "separator"), at, empty=True)
        between = self.fixed((separator, at))
        some: TagPart = one
        if not self.flag(data, pointer, "stop_after_first"):
            some = RowPiece((one, RepeatedPiece(RowPiece((between, one)), 0, None)))
        return some if self.flag(data, pointer, "at_least_one") else RepeatedPiece(some, 0, 1)


def _without(source: Source, excluded: frozenset[Marked]) -> Source:
    """The texts of a source that contain none of some strings."""
    if not excluded:
        return source
    return Intersection(source, AnyText(tuple(sorted(map(shown_string, excluded)))))


def _rules(
    rules: Mapping[Marked, list[DispatchRule]], pointer: str
) -> tuple[tuple[Marked, tuple[DispatchRule, ...]], ...]:
    for string, some in rules.items():
        if not some:
            raise wrong_tag(
                pointer, f"no tag begins with the trigger {shown_string(string)!r}",
                "Leave the trigger out: xgrammar 0.2.8 does not read it either.",
            )  # fmt: skip
    return tuple((string, tuple(some)) for string, some in rules.items())


def _is_endless(given: object) -> bool:
    """Whether a format is text that only the tag's end can end."""
    if not isinstance(given, dict):
        return False
    data = cast("Object", given)
    kind = data.get("type")
    limited = data.get("max_tokens") is not None or data.get("max_chars") is not None
    if kind in ("any_text", "any_tokens"):
        return not limited
    if kind in ("triggered_tags", "token_triggered_tags"):
        return not (data.get("at_least_one") and data.get("stop_after_first"))
    if kind in ("dispatch", "token_dispatch"):
        return True
    parts = data.get("elements", data.get("tags", [data.get("content")]))
    return kind not in ("tag", None) and any(map(_is_endless, cast("list[object]", parts)))


def _grammar(text: str) -> Source:
    """A grammar in xgrammar's notation, which is that of llama.cpp."""
    try:
        return GbnfGrammar.of(text)
    except ExplorerError as error:
        if error.evidence.get("rewrite") is None:
            raise
        return GbnfGrammar.of(text, ambiguous=True)


def _pattern(text: str) -> Regex:
    """A pattern as xgrammar reads it: with ASCII classes and a dot that matches any character."""
    Regex.read(text)  # So that errors show the text as it was written, without the group.
    return Regex.read(f"(?as:{text})")


def stands_in_strings(text: object) -> bool:
    """Whether a text can occur in JSON only inside one string."""
    if not isinstance(text, str) or '"' in text:
        return False
    return any(char not in " \t\n\r{}[],:+-.0123456789eEtrufalsn" for char in text)


def schema_in_text(schema: Mapping[str, object] | bool) -> object:
    """A schema as JSON text; unchanged if it is not JSON, so that a later error names the place."""
    try:
        return indented(json.dumps(schema, ensure_ascii=False, allow_nan=False))
    except ValueError:
        return schema


def decoded_schema(schema: object) -> object:
    """A schema as data; the older form may give it as JSON text."""
    if not isinstance(schema, str):
        return schema
    try:
        return cast("object", json.loads(schema))
    except ValueError:
        return schema


def check_schemas(source: Source) -> None:
    """Raise the errors of schemas now, not when their machines are built.

    Raises:
        UnsupportedSchema: A keyword cannot be followed, or is not well formed.
    """
    for child in source.children:
        check_schemas(child)
    if isinstance(source, JsonSchema) and not source.on_stack and not source.may_wait:
        with suppress(BudgetExceeded):
            waiting = [source.outline]
            for outline in waiting:  # The list grows while it is read.
                parts = (part for _, part, _ in outline(Meter()).parts)
                late = (part.outline for part in parts if isinstance(part, Deferred))
                waiting += [each for each in late if each][: MOST_PARTS - len(waiting)]
