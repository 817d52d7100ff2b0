"""The reader of structural tags: from their JSON to pieces, one method per type of format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, cast

from explorer.arguments import shown
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.phases.control import AnyTokens, Name, OtherToken
from explorer.languages.phases.formats import (
    DispatchPiece,
    DispatchRule,
    EitherPiece,
    FixedPiece,
    FreePiece,
    RepeatedPiece,
    RowPiece,
    SourcePiece,
    TagPart,
    TagPiece,
)
from explorer.languages.phases.free import AnyText
from explorer.languages.phases.leftmost import Marked, shown_string
from explorer.languages.phases.markup import STYLES, XmlArguments
from explorer.languages.phases.members import (
    Object,
    TagMembers,
    check_schemas,
    decoded_schema,
    schema_in_text,
    stands_in_strings,
    wrong_tag,
)
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import Intersection, Union
from explorer.languages.template.limited import Limited

WHITE: Final = r"[ \n\t\r]"
MOST_NAME: Final = 60
"""The most characters of a tag's beginning that serve as its name."""


_Reads = Callable[[Object, str, tuple[Marked, ...]], TagPart]


class TagReader(TagMembers):
    """Reads a structural tag into pieces.

    Attributes:
        root: The pieces.
        leaves: The schemas, patterns and grammars, in the order of the text.
    """

    def __init__(
        self, text: str, controls: tuple[str, ...] = (), names: tuple[tuple[str, str], ...] = (),
        *, strict: bool = True, given: tuple[Source, ...] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(text, controls)
        self.strict = strict
        self.leaves: list[Source] = []
        self.given = given
        self.names = dict(names)
        self._readers: Mapping[str, _Reads] = {
            "const_string": self._const_string,
            "json_schema": self._json_schema,
            "regex": self._regex,
            "grammar": self._grammar,
            "any_text": self._any_text,
            "token": self._one_token,
            "exclude_token": self._other_token,
            "any_tokens": self._any_tokens,
            "sequence": self._sequence,
            "or": self._either,
            "optional": self._repeats,
            "plus": self._repeats,
            "star": self._repeats,
            "repeat": self._repeats,
            "tag": self._tag,
            "triggered_tags": self._triggered,
            "token_triggered_tags": self._triggered,
            "tags_with_separator": self._separated,
            "dispatch": self._dispatch,
            "token_dispatch": self._dispatch,
            "qwen_xml_parameter": self._qwen_xml,
        }
        self.root = self._whole(self.data)

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

    # What it is made of.

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
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        if reader is None:
            close = get_close_matches(str(kind), self._readers, 1)
            meant = f"Did you mean {close[0]!r}? " if close else ""
            raise wrong_tag(
                f"{pointer}/type", f"{shown(kind)} is not a type of format",
                f"{meant}The types are {', '.join(self._readers)}.",
            )  # fmt: skip
        return reader(data, pointer, ends)

    def _const_string(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "value")
        at = f"{pointer}/value"
        return self.fixed((self.string(self.needed(data, pointer, "value"), at, empty=True), at))

    def _json_schema(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(
            data, pointer, "type", "json_schema", "style", "any_order", "max_whitespace_cnt",
            "excludes",
        )  # fmt: skip
        style = cast("str", self.member(data, pointer, "style", str, "a style", "json"))
        if style not in ("json", *STYLES):
            raise wrong_tag(
                f"{pointer}/style", f"the style {shown(style)} is not read",
                f"The styles are json, {', '.join(STYLES)}.",
            )  # fmt: skip
        return self._schema(data, pointer, style, self.needed(data, pointer, "json_schema"))

    def _qwen_xml(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "json_schema")
        return self._schema(data, pointer, "qwen_xml", self.needed(data, pointer, "json_schema"))

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
        self.only(data, pointer, "type", "pattern", "excludes")
        pattern = cast("str", self.member(data, pointer, "pattern", str, "a pattern"))
        excluded = self.strings(data, pointer, "excludes")
        return self.leaf(lambda: _without(_pattern(pattern), excluded), f"{pointer}/pattern")

    def _grammar(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "grammar")
        text = cast("str", self.member(data, pointer, "grammar", str, "a grammar"))
        return self.leaf(lambda: _grammar(text), f"{pointer}/grammar")

    def _any_text(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "excludes", "max_tokens", "max_chars")
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
        self.only(data, pointer, "type", "token")
        at = f"{pointer}/token"
        return self.fixed((((self.token(self.needed(data, pointer, "token"), at),),), at))

    def _other_token(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "exclude_tokens")
        other = OtherToken(self._excluded_tokens(data, pointer, ends))
        text = Regex.read("(?P<TEXT_TOKEN>)")
        return self.leaf(lambda: Union((text, other)), pointer, is_text=True)

    def _any_tokens(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "exclude_tokens", "max_tokens")
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
        self.only(data, pointer, "type", "elements")
        return RowPiece(tuple(self._elements(data, pointer, ends)))

    def _either(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "elements")
        return EitherPiece(tuple(self._elements(data, pointer, ends)))

    def _elements(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> Iterable[TagPart]:
        for each, at in self.objects(data, pointer, "elements"):
            yield self.format(each, at, ends)

    def _repeats(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        low, high = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}.get(
            str(data["type"]), (0, 0)
        )
        if data["type"] == "repeat":
            self.only(data, pointer, "type", "min", "max", "content")
            low = cast("int", self.member(data, pointer, "min", int, "a count"))
            most = cast("int", self.member(data, pointer, "max", int, "a count, or -1"))
            high = None if most == -1 else most
            if low < 0 or (high is not None and high < low):
                raise wrong_tag(f"{pointer}/max", f"{low} to {most} times", "Swap them.")
        else:
            self.only(data, pointer, "type", "content")
        inner = self.format(self.needed(data, pointer, "content"), f"{pointer}/content", ends)
        return RepeatedPiece(inner, low, high)

    # Tags, and what dispatches to them.

    def _tag(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPiece:
        self.only(data, pointer, "type", "begin", "content", "end")
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
        return [
            (self._tag({"type": "tag", **each}, at, ()), at)
            for each, at in self.objects(data, pointer, "tags")
        ]

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
        self.only(
            data, pointer, "type", name, "tags", "exclude_tokens" if by_token else "excludes",
            "at_least_one", "stop_after_first",
        )  # fmt: skip
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
        without = "exclude_tokens" if by_token else "excludes"
        self.only(data, pointer, "type", "rules", "loop", without)
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
        self.only(data, pointer, "type", "tags", "separator", "at_least_one", "stop_after_first")
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
