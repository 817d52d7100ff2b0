"""The reader of structural tags: from their JSON to a tree, one method per type of format.

Spans are those of the structural tag's text. Members are read with a check of their type; an error
names the JSON Pointer of the place.

Nodes name what the text that they read stands for (`NamedPart`): free text, a tag, the value of a
schema, a pattern or a grammar. Fixed text has no name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import accumulate, pairwise
from typing import Final, cast

from explorer.arguments import shown
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import (
    Branch,
    Concat,
    Deferred,
    Empty,
    Machine,
    Node,
    Repeat,
    Source,
    Written,
)
from explorer.automata.tree.parts import Kind, NamedPart
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ConstraintError, ExplorerError
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.phases.control import AnyTokens, Name, OtherToken, loaded_name
from explorer.languages.phases.free import (
    AnyText,
    Marked,
    marked,
    shown_string,
    string_node,
    text_up_to,
    text_without,
)
from explorer.languages.phases.markup import STYLES, XmlArguments
from explorer.languages.phases.objects import Object, TagObject, wrong_tag
from explorer.languages.regex.source import Regex
from explorer.languages.schema.reading.text import indented, spans_of
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import Intersection, Union
from explorer.languages.template.limited import Limited

Span = tuple[int, int]
WHITE: Final = r"[ \n\t\r]"
MOST_NAME: Final = 60
"""The most characters of a tag's beginning that serve as its name."""


TAGGED: Final[frozenset[Kind]] = frozenset(("tag", "rule", "text", "value", "turn"))
"""The kinds of parts by which the text of a structural tag is divided."""

SCHEMAS: Final = frozenset({"json_schema", "schema"})
"""The members that hold a JSON Schema."""

MOST_PARTS: Final = 100
"""The most parts of a schema that are checked before its machine is built."""

_OF_A_TAG: Final = ("begin", "content", "end")
_COUNTS: Final = ("at_least_one", "stop_after_first")

Placed = tuple[Marked, tuple[Span, ...]]
"""A string, and the span of each of its characters and tokens."""


@dataclass(frozen=True)
class Tag:
    """A tag: a beginning, a content and an end.

    Args:
        name: The name of the tag: its beginning, unless another name was given.
    """

    begin: tuple[Placed, ...]
    content: Node
    end: Node
    name: str

    def node(self, read: int = 0) -> Written:
        """The three parts in sequence, as a phase.

        Args:
            read: The number of characters of the beginning that stand before the tag.
        """
        body = Concat(0, 0, (_fixed(self.begin, read), self.content, self.end))
        return Written(0, 0, body, part=NamedPart("tag", self.name))


_Reads = Callable[[TagObject, tuple[Marked, ...]], Node]


class TagReader:
    """Reads a structural tag into a tree.

    Args:
        text: The JSON.
        controls: Names in the strings that stand for control tokens.
        given: Sources in place of the schemas, patterns and grammars.
        as_text: Whether control tokens are read as the text of their names.

    Attributes:
        tokens: The control tokens read so far.
        root: The tree.
        leaves: The schemas, patterns and grammars, in the order of the text.
    """

    def __init__(
        self, text: str, controls: tuple[str, ...] = (), names: tuple[tuple[str, str], ...] = (),
        *, strict: bool = True, given: tuple[Source, ...] | None = None, as_text: bool = False,
    ) -> None:  # fmt: skip
        self.text, self.controls = text, () if as_text else controls
        self.tokens: dict[Name, None] = {}
        self.strict, self.given, self.as_text = strict, given, as_text
        self.leaves: list[Source] = []
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
            "tag": (self._one_tag, _OF_A_TAG),
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
        self.root = self._whole(TagObject(cast("Object", data), ""))

    def leaf(self, made: Callable[[], Source], pointer: str, *, is_text: bool = False) -> Node:
        """The tree of a child source; its errors are reported at its place."""
        number = len(self.leaves)
        if self.given is not None:
            source = self.given[number]
            if self.as_text and isinstance(source, XmlArguments):
                source = replace(source, controls=())
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
        label, part = (
            f"the structural tag's {pointer}",
            NamedPart("value", source=None if is_text else source),
        )
        return replace(source.late_tree, child=number, label=label, part=part)

    def free(self, machine: Dfa, span: Span, behind: int = 0) -> Node:
        """A machine of free text, of which some characters at the end belong to what follows."""
        return Written(*span, Machine(*span, machine), part=NamedPart("text", behind=behind))

    # Strings and tokens.

    def string(self, value: object, pointer: str, *, empty: bool = False) -> Marked:
        """A string, with the names of control tokens replaced by these tokens."""
        if not isinstance(value, str):
            raise wrong_tag(pointer, f"{shown(value)} is not a string")
        if not value and not empty:
            raise wrong_tag(pointer, "it is empty", "Give a string of at least one character.")
        string = marked(value, self.controls)
        self.tokens.update((each[0], None) for each in string if isinstance(each, tuple))
        return string

    def token(self, value: object, pointer: str) -> Marked:
        """A token by its name or id, as a string."""
        try:
            token = loaded_name(value)
        except ConstraintError:
            raise wrong_tag(
                pointer, f"{shown(value)} is not a token", "Give its name or its id."
            ) from None
        self.tokens[token] = None
        return tuple(str(token)) if self.as_text else ((token,),)

    def strings(self, given: TagObject, name: str, *, empty: bool = True) -> list[Marked]:
        """A member that is a list of strings, or of tokens where its name says so; each once."""
        reads = self.token if "token" in name else self.string
        return [*dict.fromkeys(reads(*each) for each in given.entries(name, empty=empty))]

    def placed(self, string: Marked, pointer: str) -> Placed:
        """A string with the spans of its characters and tokens, given its JSON Pointer."""
        start, end = self.spans.get(pointer, (0, 0))
        text = shown_string(string)
        first = end - 1 - len(text)
        if self.text[first : end - 1] != text or first <= start:
            return string, ((start, end),) * len(string)
        sizes = (len(each) if isinstance(each, str) else len(str(each[0])) for each in string)
        ends = [*accumulate(sizes, initial=first)]
        return string, tuple(pairwise(ends))

    # The formats.

    def _whole(self, given: TagObject) -> Node:
        data = given.data
        if "structures" in data:
            return self._older(given)
        if data.get("type") != "structural_tag":
            if "type" in data:
                return self.format(data, "", ())
            raise wrong_tag(
                "/type", "the member 'type' is missing",
                'Write {"type": "structural_tag", "format": {…}}, or a format alone, of which the '
                f"type is one of {', '.join(self._readers)}.",
            )  # fmt: skip
        given.only("type", "format")
        return self.format(given.member("format", dict, "a format"), "/format", ())

    def _older(self, given: TagObject) -> Node:
        """The tree of vLLM's older form: structures with a schema, and triggers."""
        given.only("type", "structures", "triggers")
        triggers = self.strings(given, "triggers", empty=False)
        tags: list[tuple[Tag, str]] = []
        for structure in given.objects("structures"):
            structure.only("begin", "schema", "end")
            begin, end = structure.at("begin"), structure.at("end")
            first = self.string(structure.needed("begin"), begin)
            last = self.string(structure.data.get("end", ""), end, empty=True)
            schema = decoded_schema(structure.data.get("schema", True))
            content = self._schema(TagObject({}, structure.pointer), "json", schema, "schema")
            name = self._name(structure.pointer, first, last)
            ending = _fixed([self.placed(last, end)])
            tags.append((Tag((self.placed(first, begin),), content, ending, name), begin))
        rules = self._rules(triggers, tags)
        return self._dispatching(rules, frozenset(), True, "/triggers", every=False)

    def format(self, given: object, pointer: str, ends: tuple[Marked, ...]) -> Node:
        """The tree of a format.

        Args:
            ends: The ends of the enclosing tag, which free text must not contain.
        """
        read = TagObject.of(given, pointer)
        kind = read.data.get("type")
        known = self._readers.get(kind) if isinstance(kind, str) else None
        if known is None:
            close = get_close_matches(str(kind), self._readers, 1)
            meant = f"Did you mean {close[0]!r}? " if close else ""
            raise wrong_tag(
                read.at("type"), f"{shown(kind)} is not a type of format",
                f"{meant}The types are {', '.join(self._readers)}.",
            )  # fmt: skip
        reader, members = known
        read.only("type", *members)
        return reader(read, ends)

    def _const_string(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        at = given.at("value")
        return _fixed([self.placed(self.string(given.needed("value"), at, empty=True), at)])

    def _json_schema(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        usual = "qwen_xml" if given.data["type"] == "qwen_xml_parameter" else "json"
        style = cast("str", given.member("style", str, "a style", usual))
        if style not in ("json", *STYLES):
            raise wrong_tag(
                given.at("style"), f"the style {shown(style)} is not read",
                f"The styles are json, {', '.join(STYLES)}.",
            )  # fmt: skip
        return self._schema(given, style, given.needed("json_schema"))

    def _schema(
        self, given: TagObject, style: str, schema: object, name: str = "json_schema"
    ) -> Node:
        at = given.at(name)
        if not isinstance(schema, dict | bool):
            raise wrong_tag(at, f"{shown(schema)} is not a JSON Schema")
        most = given.count("max_whitespace_cnt")
        options: dict[str, object] = {
            "whitespace_pattern": WHITE + ("*" if most is None else f"{{0,{most}}}"),
            "property_order": "any" if given.flag("any_order") else "schema",
            "strict": self.strict,
        }
        excluded = self.strings(given, "excludes")
        for each, place in given.entries("excludes", empty=True):
            if not stands_in_strings(each):
                raise wrong_tag(
                    place, f"{shown(each)} may also stand outside of a string",
                    "Exclude a text with a character that JSON has in strings alone, and no quotes",
                )  # fmt: skip

        def made() -> Source:
            inner = cast("Mapping[str, object] | bool", schema)
            if style == "json":
                return _without(JsonSchema.of(schema_in_text(inner), None, **options), excluded)
            texts = tuple(sorted(map(shown_string, excluded)))
            return XmlArguments.of(inner, style, texts, options, controls)

        controls: tuple[str, ...] = ()
        if style in STYLES:
            marks = self.string(f"{STYLES[style].before}{STYLES[style].after}", at)
            controls = tuple(str(each[0]) for each in marks if not isinstance(each, str))
        return self.leaf(made, at)

    def _regex(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        pattern = cast("str", given.member("pattern", str, "a pattern"))
        excluded = self.strings(given, "excludes")
        return self.leaf(lambda: _without(_pattern(pattern), excluded), given.at("pattern"))

    def _grammar(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        text = cast("str", given.member("grammar", str, "a grammar"))
        return self.leaf(lambda: _grammar(text), given.at("grammar"))

    def _any_text(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        excluded = frozenset((*self.strings(given, "excludes"), *ends))
        tokens, chars = given.count("max_tokens"), given.count("max_chars")
        at = given.pointer
        if tokens is None and chars is None:
            return self.free(text_without(excluded), self.spans.get(at, (0, 0)))
        if any(isinstance(each, tuple) for string in excluded for each in string):
            raise wrong_tag(at, "a limit and a control token that ends the text", "Drop one.")

        def made() -> Source:
            free: Source = AnyText(tuple(sorted(map(shown_string, excluded))))
            if chars is not None:
                free = Intersection(free, Regex.read(f"(?s:.{{0,{chars}}})"))
            return free if tokens is None else Limited(free, tokens)

        return self.leaf(made, at, is_text=True)

    def _one_token(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        at = given.at("token")
        return _fixed([self.placed(self.token(given.needed("token"), at), at)])

    def _other_token(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        other = OtherToken(self._excluded_tokens(given, ends))
        text = Regex.read("(?P<TEXT_TOKEN>)")
        return self.leaf(lambda: Union((text, other)), given.pointer, is_text=True)

    def _any_tokens(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        most = given.count("max_tokens")
        free = AnyTokens(self._excluded_tokens(given, ends))
        return self.leaf(
            lambda: free if most is None else Limited(free, most), given.pointer, is_text=True
        )

    def _excluded_tokens(self, given: TagObject, ends: tuple[Marked, ...]) -> tuple[Name, ...]:
        """The excluded tokens, those in the ends of the enclosing tag included, each once."""
        strings = (*self.strings(given, "exclude_tokens"), *ends)
        return tuple(dict.fromkeys(s[0] for each in strings for s in each if isinstance(s, tuple)))

    def _sequence(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        return _row([*self._elements(given, ends)])

    def _either(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        return _one_of([*self._elements(given, ends)])

    def _elements(self, given: TagObject, ends: tuple[Marked, ...]) -> Iterable[Node]:
        return (self.format(each.data, each.pointer, ends) for each in given.objects("elements"))

    def _repeats(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        kind = str(given.data["type"])
        low, high = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}.get(kind, (0, 0))
        if kind == "repeat":
            low = cast("int", given.member("min", int, "a count"))
            most = cast("int", given.member("max", int, "a count, or -1"))
            high = None if most == -1 else most
            if low < 0 or (high is not None and high < low):
                raise wrong_tag(given.at("max"), f"{low} to {most} times", "Swap them.")
        inner = self.format(given.needed("content"), given.at("content"), ends)
        return self._turns(inner, low, high)

    def _turns(self, node: Node, fewest: int, most: int | None) -> Node:
        """A node several times; a turn that reads nothing has no parts."""
        return Repeat(0, 0, Written(0, 0, node, part=NamedPart("turn")), fewest, most, False)

    # Tags, and what dispatches to them.

    def _one_tag(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        return self._tag(given).node()

    def _tag(self, given: TagObject) -> Tag:
        begin, end = self._edge(given, "begin"), self._edge(given, "end")
        inside = tuple(stop for stop, _ in end if stop)
        content = self.format(given.needed("content"), given.at("content"), inside)
        if not inside and _is_endless(given.data.get("content")):
            raise wrong_tag(
                given.at("end"), "the content is text without an end, and the end is empty",
                "Give the tag an end.",
            )  # fmt: skip
        name = self._name(given.pointer, begin[0][0], end[0][0])
        return Tag(begin, content, _fixed(end), name)

    def _name(self, pointer: str, begin: Marked, end: Marked) -> str:
        text = shown_string(begin).strip() or shown_string(end).strip() or "tag"
        line = " ".join(text.split())
        short = line if len(line) <= MOST_NAME else f"{line[: MOST_NAME - 1]}…"
        return self.names.get(pointer, short)

    def _edge(self, given: TagObject, name: str) -> tuple[Placed, ...]:
        """The beginning or the end of a tag: a string, several for an end, or a token."""
        value, at = given.needed(name), given.at(name)
        if isinstance(value, dict):
            token = TagObject(cast("Object", value), at)
            token.only("type", "token")
            name_or_id, kind = token.needed("token"), token.data.get("type")
            if kind != "token":
                raise wrong_tag(token.at("type"), f"{shown(kind)} is not 'token'")
            at = token.at("token")
            return (self.placed(self.token(name_or_id, at), at),)
        if not isinstance(value, list) or name == "begin":
            return (self.placed(self.string(cast("object", value), at, empty=True), at),)
        if not value:
            raise wrong_tag(at, "it is empty", "Give at least one end.")
        entries = given.entries(name)
        return tuple(self.placed(self.string(each, at, empty=True), at) for each, at in entries)

    def _tags(self, given: TagObject) -> list[tuple[Tag, str]]:
        """Some tags, each with the JSON Pointer of its beginning."""
        tags: list[tuple[Tag, str]] = []
        for each in given.objects("tags"):
            each.only("type", *_OF_A_TAG)
            tags.append((self._tag(each), each.at("begin")))
        return tags

    def _rules(
        self, triggers: Sequence[Marked], tags: Sequence[tuple[Tag, str]]
    ) -> dict[Marked, list[Node]]:
        """The rests of the tags that begin with each of some triggers, behind it."""
        rules: dict[Marked, list[Node]] = {each: [] for each in triggers}
        for tag, at in tags:
            begin = tag.begin[0][0]
            fitting = [string for string in rules if begin[: len(string)] == string]
            if len(fitting) != 1:
                reason = (
                    "no trigger is its beginning" if not fitting
                    else "it begins with the triggers "
                    f"{shown_string(fitting[0])!r} and {shown_string(fitting[1])!r}"
                )  # fmt: skip
                raise wrong_tag(at, reason, "Give each tag one trigger that it begins with.")
            rules[fitting[0]].append(tag.node(len(fitting[0])))
        return rules

    def _triggered(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        by_token = given.data["type"] == "token_triggered_tags"
        name = "trigger_tokens" if by_token else "triggers"
        triggers = self.strings(given, name, empty=by_token)
        excluded = frozenset((*self._excluded(given), *ends))
        tags = self._tags(given)
        rules = self._rules(triggers, tags)
        once, some = given.flag("stop_after_first"), given.flag("at_least_one")
        first = _one_of([tag.node() for tag, _ in tags])
        if once and some:
            return first
        more = self._dispatching(rules, excluded, not once, given.at(name), every=by_token)
        return _row([first, more]) if some else more

    def _excluded(self, given: TagObject) -> list[Marked]:
        """The strings, or the control tokens, that free text must not contain."""
        by_token = str(given.data["type"]).startswith("token_")
        return self.strings(given, "exclude_tokens" if by_token else "excludes")

    def _dispatch(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        by_token = given.data["type"] == "token_dispatch"
        rules: dict[Marked, list[Node]] = {}
        for each, at in given.entries("rules"):
            pair = cast("list[object]", each if isinstance(each, list) else [])
            if len(pair) != 2:
                raise wrong_tag(at, "it is not a pair of a pattern and a format")
            string = (self.token if by_token else self.string)(pair[0], f"{at}/0")
            behind = self.format(pair[1], f"{at}/1", ())
            rule = Written(0, 0, behind, part=NamedPart("rule", shown_string(string)))
            rules.setdefault(string, []).append(rule)
        excluded = frozenset((*self._excluded(given), *ends))
        loops = given.flag("loop", True)
        return self._dispatching(rules, excluded, loops, given.at("rules"), every=by_token)

    def _dispatching(
        self, rules: Mapping[Marked, list[Node]], excluded: frozenset[Marked], loops: bool,
        pointer: str, *, every: bool,
    ) -> Node:  # fmt: skip
        """Free text up to a string and what it calls for; then text without a string.

        Args:
            rules: Each string with what may follow it.
            excluded: Strings that the free text must not hold.
            loops: Whether free text and further strings may follow the first one.
            every: Whether the text may hold any control tokens.
        """
        for string, some in rules.items():
            if not some:
                raise wrong_tag(
                    pointer, f"no tag begins with the trigger {shown_string(string)!r}",
                    "Leave the trigger out: xgrammar 0.2.8 does not read it either.",
                )  # fmt: skip
        span, strings = self.spans.get(pointer, (0, 0)), frozenset(rules)
        # Of two strings that begin at one place, a text is divided by the longer one if it can be.
        order = sorted(rules, key=len, reverse=True) if self.as_text else rules
        turn = _one_of([
            Concat(0, 0, (
                self.free(text_up_to(string, strings, excluded, every), span, len(string)),
                _one_of(rules[string]),
            ))
            for string in order
        ])  # fmt: skip
        last = self.free(text_without(excluded | strings, every), span)
        return _row([Repeat(0, 0, turn, 0, None, False), last]) if loops else _one_of([last, turn])

    def _separated(self, given: TagObject, ends: tuple[Marked, ...]) -> Node:
        at = given.at("separator")
        one = _one_of([tag.node() for tag, _ in self._tags(given)])
        separator = self.string(given.needed("separator"), at, empty=True)
        some = one
        if not given.flag("stop_after_first"):
            more = _row([_fixed([self.placed(separator, at)]), one])
            some = _row([one, self._turns(more, 0, None)])
        return some if given.flag("at_least_one") else self._turns(some, 0, 1)


def _row(nodes: Sequence[Node]) -> Node:
    """Some nodes in sequence."""
    return nodes[0] if len(nodes) == 1 else Concat(0, 0, tuple(nodes)) if nodes else Empty(0, 0)


def _one_of(nodes: Sequence[Node]) -> Node:
    """One of some nodes."""
    return nodes[0] if len(nodes) == 1 else Branch(0, 0, tuple(nodes))


def _fixed(strings: Iterable[Placed], read: int = 0) -> Node:
    """One of some strings, without the characters that were read before it."""
    return _one_of([string_node(string[read:], spans[read:]) for string, spans in strings])


def _without(source: Source, excluded: Iterable[Marked]) -> Source:
    """The texts of a source that contain none of some strings."""
    texts = tuple(sorted(map(shown_string, excluded)))
    return Intersection(source, AnyText(texts)) if texts else source


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
