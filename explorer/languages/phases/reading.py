"""The types of formats: from the JSON of a structural tag to its pieces, or to an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from explorer.arguments import shown
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.phases.control import AnyTokens
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
from explorer.languages.phases.leftmost import Marked, shown_string
from explorer.languages.phases.markup import STYLES, XmlArguments
from explorer.languages.phases.members import (
    Object,
    TagMembers,
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
"""The characters of a tag's beginning that it is called by."""


_Reads = Callable[[Object, str, tuple[Marked, ...]], TagPart]


class TagReader(TagMembers):
    """The pieces of a structural tag, and what was met on the way.

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
        """A child; what is wrong with it is wrong at its place."""
        number = len(self.leaves)
        if self.given is not None:
            source = self.given[number]
        else:
            try:
                source = made()
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
            if data.get("type") in self._readers:
                return self.format(data, "", ())
            raise wrong_tag(
                "/type", f"it is {shown(data.get('type'))}",
                'Write {"type": "structural_tag", "format": {…}}, or a format alone, of which the '
                f"type is one of {', '.join(self._readers)}.",
            )  # fmt: skip
        self.only(data, "", "type", "format")
        return self.format(self.member(data, "", "format", dict, "a format"), "/format", ())

    def _older(self, data: Object) -> TagPart:
        """vLLM's form: structures with a schema, and triggers."""
        self.only(data, "", "type", "structures", "triggers")
        triggers = self._triggers(data, "", "triggers")
        rules: dict[Marked, list[DispatchRule]] = {each: [] for each in triggers}
        for structure, at in self.objects(data, "", "structures"):
            self.only(structure, at, "begin", "schema", "end")
            begin = self.string(structure.get("begin"), f"{at}/begin")
            end = self.string(structure.get("end", ""), f"{at}/end", empty=True)
            given: object = structure.get("schema", True)
            content = self._schema(
                {"json_schema": decoded_schema(given)}, at, "schema", f"{at}/schema"
            )
            tag = TagPiece(
                self.fixed((begin, f"{at}/begin")), content, self.fixed((end, f"{at}/end")),
                self._name(at, begin, end),
            )  # fmt: skip
            self._dispatched(rules, begin, tag, f"{at}/begin")
        return DispatchPiece(_rules(rules, ""), frozenset(), True, self.span("/triggers"))

    def format(self, given: object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        """The piece of a format.

        Args:
            ends: The ends of the tag around it, which free text does not hold.
        """
        data = self.object(given, pointer)
        kind = data.get("type")
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise wrong_tag(
                f"{pointer}/type", f"{shown(kind)} is not a type of format",
                f"The types are {', '.join(self._readers)}.",
            )  # fmt: skip
        return reader(data, pointer, ends)

    def _const_string(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "value")
        at = f"{pointer}/value"
        return self.fixed((self.string(data.get("value"), at, empty=True), at))

    def _json_schema(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(
            data, pointer, "type", "json_schema", "style", "any_order", "max_whitespace_cnt",
            "excludes",
        )  # fmt: skip
        return self._schema(data, pointer, "json_schema", f"{pointer}/json_schema")

    def _qwen_xml(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "json_schema")
        given = {**data, "style": "qwen_xml"}
        return self._schema(given, pointer, "json_schema", f"{pointer}/json_schema")

    def _schema(self, data: Object, pointer: str, name: str, at: str) -> SourcePiece:
        schema = data.get("json_schema")
        if not isinstance(schema, dict | bool):
            raise wrong_tag(at, f"{shown(schema)} is not a JSON Schema")
        style = self.member(data, pointer, "style", str, "a style", "json")
        if style not in ("json", *STYLES):
            raise wrong_tag(
                f"{pointer}/style", f"the style {shown(style)} is not read",
                f"The styles are json, {', '.join(STYLES)}.",
            )  # fmt: skip
        most = data.get("max_whitespace_cnt")
        if most is not None and (type(most) is not int or most < 0):
            raise wrong_tag(f"{pointer}/max_whitespace_cnt", f"{shown(most)} is not a count")
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
                return XmlArguments.of(inner, str(style), texts, options)
            return self._without(read, excluded)

        return self.leaf(made, at)

    def _without(self, source: Source, excluded: frozenset[Marked]) -> Source:
        if not excluded:
            return source
        from explorer.languages.phases.free import AnyText

        return Intersection(source, AnyText(tuple(sorted(map(shown_string, excluded)))))

    def _regex(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "pattern", "excludes")
        pattern = cast("str", self.member(data, pointer, "pattern", str, "a pattern"))
        excluded = self.strings(data, pointer, "excludes")
        return self.leaf(lambda: self._without(_pattern(pattern), excluded), f"{pointer}/pattern")

    def _grammar(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "grammar")
        text = cast("str", self.member(data, pointer, "grammar", str, "a grammar"))
        return self.leaf(lambda: _grammar(text), f"{pointer}/grammar")

    def _any_text(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "excludes", "max_tokens", "max_chars")
        excluded = self.strings(data, pointer, "excludes").union(ends)
        limits = self._limits(data, pointer, "max_tokens", "max_chars")
        if limits == (None, None):
            return FreePiece(excluded, self.span(pointer))
        if any(isinstance(each, tuple) for string in excluded for each in string):
            raise wrong_tag(pointer, "a limit and a control token that ends the text", "Drop one.")

        def made() -> Source:
            from explorer.languages.phases.free import AnyText

            free: Source = AnyText(tuple(sorted(map(shown_string, excluded))))
            if limits[1] is not None:
                free = Intersection(free, Regex.read(f"(?s:.{{0,{limits[1]}}})"))
            return free if limits[0] is None else Limited(free, limits[0])

        return self.leaf(made, pointer, is_text=True)

    def _limits(self, data: Object, pointer: str, *names: str) -> tuple[int | None, ...]:
        limits: list[int | None] = []
        for name in names:
            value = data.get(name)
            if value is not None and (type(value) is not int or not 0 <= value < 2**31):
                raise wrong_tag(f"{pointer}/{name}", f"{shown(value)} is not a count")
            limits.append(value)
        return tuple(limits)

    def _one_token(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "token")
        at = f"{pointer}/token"
        return self.fixed((((self.token(data.get("token"), at),),), at))

    def _other_token(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "exclude_tokens")
        excluded = self.token_list(data, pointer, "exclude_tokens")
        excluded += tuple(each[0] for end in ends for each in end if isinstance(each, tuple))

        def made() -> Source:
            from explorer.languages.phases.control import OtherToken

            return Union((Regex.read("(?P<TEXT_TOKEN>)"), OtherToken(tuple(excluded))))

        return self.leaf(made, pointer, is_text=True)

    def _any_tokens(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "exclude_tokens", "max_tokens")
        excluded = self.token_list(data, pointer, "exclude_tokens")
        excluded += tuple(each[0] for end in ends for each in end if isinstance(each, tuple))
        (most,) = self._limits(data, pointer, "max_tokens")
        free: Source = AnyTokens(tuple(dict.fromkeys(excluded)))
        return self.leaf(
            lambda: free if most is None else Limited(free, most), pointer, is_text=True
        )

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
        inner = self.format(data.get("content"), f"{pointer}/content", ends)
        return RepeatedPiece(inner, low, high)

    # Tags, and what dispatches to them.

    def _tag(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPiece:
        self.only(data, pointer, "type", "begin", "content", "end")
        begin, starts = self._edge(data, pointer, "begin")
        end, stops = self._edge(data, pointer, "end")
        inside = tuple(stop for stop in stops if stop)
        content = self.format(data.get("content"), f"{pointer}/content", inside)
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
        value, at = data.get(name), f"{pointer}/{name}"
        if isinstance(value, dict):
            token = cast("Object", value)
            self.only(token, at, "type", "token")
            if token.get("type") != "token":
                raise wrong_tag(f"{at}/type", f"{shown(token.get('type'))} is not 'token'")
            strings = [(((self.token(token.get("token"), f"{at}/token"),),), f"{at}/token")]
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
        """Enter a tag under the one string that its beginning begins with."""
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
        without = "exclude_tokens" if by_token else "excludes"
        self.only(data, pointer, "type", name, "tags", without, "at_least_one", "stop_after_first")
        if by_token:
            tokens = self.token_list(data, pointer, name)
            triggers = [((token,),) for token in dict.fromkeys(tokens)]
            excluded = frozenset(((t,),) for t in self.token_list(data, pointer, without))
        else:
            triggers = list(self._triggers(data, pointer, name))
            excluded = self.strings(data, pointer, without)
        tags = self._tags(data, pointer)
        rules: dict[Marked, list[DispatchRule]] = {cast("Marked", each): [] for each in triggers}
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
        if by_token:
            excluded = frozenset(
                cast("Marked", ((t,),)) for t in self.token_list(data, pointer, without)
            )
        else:
            excluded = self.strings(data, pointer, without)
        loops = self.flag(data, pointer, "loop", True)
        span = self.span(f"{pointer}/rules")
        return DispatchPiece(_rules(rules, pointer), excluded.union(ends), loops, span, by_token)

    def _separated(self, data: Object, pointer: str, ends: tuple[Marked, ...]) -> TagPart:
        self.only(data, pointer, "type", "tags", "separator", "at_least_one", "stop_after_first")
        at = f"{pointer}/separator"
        one = EitherPiece(tuple(tag for tag, _ in self._tags(data, pointer)))
        between = self.fixed((self.string(data.get("separator"), at, empty=True), at))
        some: TagPart = one
        if not self.flag(data, pointer, "stop_after_first"):
            some = RowPiece((one, RepeatedPiece(RowPiece((between, one)), 0, None)))
        return some if self.flag(data, pointer, "at_least_one") else RepeatedPiece(some, 0, 1)


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
    """Whether a format is text that only an end ends."""
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
    """A pattern as xgrammar reads it: over ASCII classes, and the point is any character."""
    Regex.read(text)  # Its faults are shown in the text as it was written, and not in a group.
    return Regex.read(f"(?as:{text})")
