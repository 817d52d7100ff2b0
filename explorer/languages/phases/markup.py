"""The arguments of a call in a model's own markup, with unquoted text.

In ``<parameter=city>Paris</parameter>`` and the like, the members of an object come in the order of
the schema; text is unquoted up to the closing mark, all other values are JSON. As in xgrammar
0.2.8, an object with ``properties`` has no further parameters unless ``additionalProperties`` says
so. White space around a value is not part of it, as the templates of models write a value on a line
of its own; of text that a schema leaves free, a line break on each side. In any order, each of up
to `MOST_IN_ANY_ORDER` parameters comes once; of more only the number is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self, cast

from explorer.arguments import instance, shown
from explorer.automata.tree.nodes import Branch, Concat, Node, Repeat, Source, Written, letters
from explorer.automata.tree.parts import NamedPart
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.engines.patterns import facts
from explorer.languages.phases.control import Name
from explorer.languages.phases.followed import PartNet
from explorer.languages.phases.free import AnyText, marked, string_node
from explorer.languages.regex.source import Regex
from explorer.languages.schema.options import USUAL, SchemaOptions
from explorer.languages.schema.reading.subschemas import check_well_formed
from explorer.languages.schema.reading.text import indented, text_of_data
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import Intersection
from explorer.languages.sources.choice import Choice
from explorer.languages.sources.registry import register

_KEY: Final = "\x00"
_KIND: Final = "\x01"


@dataclass(frozen=True, slots=True)
class MarkupStyle:
    """One way to write parameters.

    Args:
        before, after: The marks around the value. NUL stands for the key, the character 1 for the
            kind of the value; a line break in ``before`` stands for any white space.
        kinds: The written kind of each JSON type; empty where no kind is written.
        unclear: The kinds that may be written for a value of several possible types.
        exact: Whether all between the marks is the value, white space too.
    """

    before: str
    after: str
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    unclear: tuple[str, ...] = ()
    exact: bool = False


_JSON_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_IS_STRING: Final = {name: "true" if name == "string" else "false" for name in _JSON_TYPES}
_AS_NUMBER: Final = {name: "number" if name == "integer" else name for name in _JSON_TYPES}

STYLES: Final[Mapping[str, MarkupStyle]] = {
    "qwen_xml": MarkupStyle(f"<parameter={_KEY}>", "</parameter>"),
    "minimax_xml": MarkupStyle(f'<parameter name="{_KEY}">', "</parameter>"),
    "glm_xml": MarkupStyle(f"<arg_key>{_KEY}</arg_key>\n<arg_value>", "</arg_value>"),
    "deepseek_xml": MarkupStyle(
        f'<｜DSML｜parameter name="{_KEY}" string="{_KIND}">', "</｜DSML｜parameter>", _IS_STRING,
        exact=True,
    ),
    "deepseek_v4_1_xml": MarkupStyle(
        f'<｜DSML｜ parameter name="{_KEY}" string="{_KIND}">', "</｜DSML｜ parameter>", _IS_STRING,
        exact=True,
    ),
    "kimi_k3_xml": MarkupStyle(
        f'<|open|>argument key="{_KEY}" type="{_KIND}"<|sep|>', "<|close|>argument<|sep|>",
        _AS_NUMBER, _JSON_TYPES,
    ),
}  # fmt: skip
"""The supported styles, by xgrammar's names."""

_REMARKS: Final = (
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
    "$comment", "$schema", "$id", "$defs", "definitions", "format",
)  # fmt: skip


@register("arguments in markup")
@dataclass(frozen=True)
class XmlArguments(Source):
    """The members of an object as parameters.

    Args:
        schema: The JSON Schema of the object.
        style: One of `STYLES`.
        excluded: Texts that no value contains.
        options: How JSON values are written.
        parts: Constraints that replace those of the schema for the values.
        controls: The names in the marks that stand for control tokens.
    """

    kind: ClassVar[str] = "xml_arguments"
    plain_text: ClassVar[bool] = False

    schema: str
    style: str
    excluded: tuple[str, ...] = ()
    options: SchemaOptions = USUAL
    parts: tuple[Source, ...] | None = None
    controls: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, schema: Mapping[str, object] | bool, style: str, excluded: tuple[str, ...],
        options: Mapping[str, Any], controls: tuple[str, ...] = (),
    ) -> Self:  # fmt: skip
        """The parameters of a schema, read at once so that errors are raised here.

        Raises:
            ConstraintError: The schema does not describe an object, or a keyword is not supported.
        """
        text = indented(text_of_data(schema))
        made = cls(text, style, excluded, SchemaOptions(**options), controls=controls)
        made._read  # noqa: B018
        return made

    @property
    def text(self) -> str:
        """The schema."""
        return self.schema

    @cached_property
    def _read(self) -> tuple[_MarkupParameter, ...]:
        given = list(_MarkupReader(self).parameters())
        if self.parts is None:
            return tuple(given)
        values = iter(self.parts)
        return tuple(
            replace(each, values=tuple((kind, next(values)) for kind, _ in each.values))
            for each in given
        )

    @cached_property
    def children(self) -> tuple[Source, ...]:
        """The constraints of the values."""
        return tuple(value for each in self._read for _, value in each.values)

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same parameters with other values."""
        return replace(self, parts=children)

    def lower(self) -> Node:
        """The parameters in sequence, with white space between them."""
        return self._laid()

    @property
    def control_tokens(self) -> tuple[Name, ...]:
        """The control tokens of the marks."""
        return self.controls

    def _laid(self, *, json_first: bool = False) -> Node:
        """The tree.

        Args:
            json_first: Whether a text that is JSON is no string where it could be either.
        """
        style, nodes, number = STYLES[self.style], list[Node](), 0
        for each in self._read:
            several = len({kind for kind, _ in each.values}) > 1
            options: list[Node] = []
            for kind, value in sorted(each.values, key=_is_text) if json_first else each.values:
                label = f"parameter `{each.name or '…'}`"
                parsed_by = None if _is_text((kind, value)) else value
                part = NamedPart("value", each.name, source=parsed_by)
                tree = replace(value.tree, child=number, label=label, part=part)
                number += 1
                options.append(_parameter(style, each, kind, self.controls, tree, several=several))
            one: Node = options[0] if len(options) == 1 else Branch(0, 0, tuple(options))
            one = Concat(0, 0, (_white(), one))
            if self.options.property_order == "any":
                pass
            elif not each.name:
                one = Repeat(0, 0, one, 0, None, False)
            elif not each.required:
                one = Repeat(0, 0, one, 0, 1, False)
            nodes.append(one)
        if self.options.property_order == "any" and nodes:
            nodes = [_in_any_order(nodes, self._read)]
        nodes.append(_white())
        return Concat(0, 0, tuple(nodes)) if len(nodes) > 1 else nodes[0]

    @cached_property
    def _division(self) -> PartNet:
        return PartNet(self._laid(json_first=True), frozenset(("value", "name")))

    def parse(self, data: bytes) -> dict[str, object]:
        """The arguments by name: the text itself for strings, else the value of the JSON."""
        whole = self._division.division(data, whole=True)
        if whole is None:
            raise ConstraintError(
                "The text does not divide into parameters.",
                remedy="Give a whole text of the constraint.",
            )
        parsed: dict[str, object] = {}
        name = ""
        for each in whole.inside:
            read, part = data[each.begin : each.end], each.part
            if part is None or part.kind == "name":
                name = read.decode()
            else:
                text = read.decode()
                if not STYLES[self.style].exact:
                    text = text.removeprefix("\n").removesuffix("\n")
                value = text if part.source is None else part.source.parse(read)
                parsed[part.name or name] = value
        return parsed

    def fields(self) -> dict[str, object]:
        """The schema and the style."""
        return {
            "schema": self.schema, "style": self.style, "excluded": list(self.excluded),
            "options": self.options.to_dict(), "controls": list(self.controls),
        }  # fmt: skip

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The parameters that were saved."""
        style = instance("style", fields["style"], str, "a str", error=DamagedFile)
        if style not in STYLES:
            raise DamagedFile(f"A saved style {shown(style)} is not known.")
        options = SchemaOptions(**cast("dict[str, Any]", fields["options"]))
        excluded = tuple(map(str, cast("list[object]", fields["excluded"])))
        schema = instance("schema", fields["schema"], str, "a str", error=DamagedFile)
        controls = tuple(map(str, cast("list[object]", fields.get("controls", []))))
        made = cls(schema, style, excluded, options, controls=controls)
        other = len(children) == len(made.children) and children != made.children
        return made.with_children(children) if other else made

    def __str__(self) -> str:
        short = " ".join(self.schema.split())
        return f"{self.style} of {short if len(short) <= 60 else short[:57] + '…'}"


@dataclass(frozen=True)
class _MarkupParameter:
    """A parameter.

    Args:
        name: The name; empty for parameters that the schema does not name.
        values: For each possible type, the source of its text.
        listed: Whether the values are listed by ``enum`` or ``const``.
    """

    name: str
    required: bool
    values: tuple[tuple[str, Source], ...]
    listed: bool = False


class _MarkupReader:
    """Reads the parameters of a schema."""

    def __init__(self, source: XmlArguments) -> None:
        self.source = source
        self.style = STYLES[source.style]
        self.root: object = json.loads(source.schema)

    def parameters(self) -> Iterator[_MarkupParameter]:
        given = self.resolved(self.root, "")
        schema = cast("dict[str, object]", given) if isinstance(given, dict) else {}
        kind = schema.get("type", "object")
        if given is False or kind != "object":
            raise _refused("", "it does not describe an object")
        if not set(schema) - {*_REMARKS, "type"}:
            yield _MarkupParameter("", False, tuple(self.values(True, "")))
            return
        known = ("type", "properties", "required", "additionalProperties", *_REMARKS)
        for keyword in schema:
            if keyword not in known:
                raise _refused(f"/{keyword}", "the keyword is not followed around parameters")
        properties = cast("dict[str, object]", schema.get("properties", {}))
        required = cast("list[str]", schema.get("required", []))
        if not isinstance(schema.get("properties", {}), dict):
            raise _refused("/properties", "it is not an object")
        if not isinstance(schema.get("required", []), list):
            raise _refused("/required", "it is not a list of names")
        for name, inner in properties.items():
            at = f"/properties/{name}"
            resolved = self.resolved(inner, at)
            is_listed = isinstance(resolved, dict) and ("enum" in resolved or "const" in resolved)
            yield _MarkupParameter(
                name, name in required, tuple(self.values(inner, at)), listed=is_listed
            )
        for name in required:
            if name not in properties:
                raise _refused("/required", f"{name!r} is required and has no schema")
        more = schema.get("additionalProperties", not properties)
        if more is not False:
            yield _MarkupParameter("", False, tuple(self.values(more, "/additionalProperties")))

    def resolved(self, schema: object, pointer: str) -> object:
        """The target of a schema's references within the document; the schema if it has none.

        Raises:
            UnsupportedSchema: A keyword does not have the required type.
        """
        for _ in range(20):
            if not isinstance(schema, dict):
                return schema
            data = cast("dict[str, Any]", schema)
            check_well_formed(data, pointer, 7)
            if "$ref" not in data:
                return data
            reference = data["$ref"]
            if set(data) - {"$ref", *_REMARKS} or not str(reference).startswith("#"):
                raise _refused(pointer, "a reference is followed alone and within the schema only")
            schema = self.root
            for step in str(reference)[1:].split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")
                if not isinstance(schema, dict) or step not in schema:
                    raise _refused(pointer, f"{reference!r} leads nowhere")
                schema = cast("dict[str, object]", schema)[step]
        raise _refused(pointer, "its references lead in a circle")

    def values(self, given: object, pointer: str) -> Iterator[tuple[str, Source]]:
        """The types of a schema, each with the source of its texts."""
        schema = self.resolved(given, pointer)
        data = cast("dict[str, object]", schema) if isinstance(schema, dict) else {}
        if schema is True or (isinstance(schema, dict) and not set(data) - set(_REMARKS)):
            yield "string", self.free()
            if self.style.kinds:
                for kind in ("number", "boolean", "null", "array", "object"):
                    yield kind, self.json({"type": kind})
            return
        if not isinstance(schema, dict):
            raise _refused(pointer, "no value is allowed")
        for several in ("anyOf", "oneOf"):
            if several in data:
                if set(data) - {several, *_REMARKS}:
                    raise _refused(pointer, f"{several} is followed alone only")
                for k, each in enumerate(cast("list[object]", data[several])):
                    yield from self.values(each, f"{pointer}/{several}/{k}")
                return
        if "const" in data or "enum" in data:
            yield from self.listed(data, pointer)
            return
        types = data.get("type", list(_JSON_TYPES))
        for kind in [types] if isinstance(types, str) else cast("list[str]", types):
            if kind == "string":
                yield kind, self.string(data, pointer)
            else:
                yield kind, self.json({**data, "type": kind})

    def listed(self, data: dict[str, object], pointer: str) -> Iterator[tuple[str, Source]]:
        """The values of ``const`` and ``enum``."""
        values = [data["const"]] if "const" in data else cast("list[object]", data["enum"])
        types = data.get("type", list(_JSON_TYPES))
        allowed = [types] if isinstance(types, str) else cast("list[str]", types)
        texts = [
            each for each in values
            if isinstance(each, str) and "string" in allowed
            and not any(text in each for text in (*self.source.excluded, self.style.after))
        ]  # fmt: skip
        if texts:
            yield "string", Choice(tuple(dict.fromkeys(texts)))
        others = [each for each in values if not isinstance(each, str)]
        rest = {name: part for name, part in data.items() if name != "const"}
        for kind in dict.fromkeys(map(_type_of, others)):
            same = [each for each in others if _type_of(each) == kind]
            yield kind, self.json({**rest, "enum": same})
        if not others and not texts:
            raise _refused(pointer, "none of its values can be written")

    def string(self, data: dict[str, object], pointer: str) -> Source:
        """The source of a string's texts, under its pattern and length."""
        source: Source = self.free()
        known = ("type", "pattern", "minLength", "maxLength", *_REMARKS)
        for keyword in data:
            if keyword not in known:
                raise _refused(f"{pointer}/{keyword}", "the keyword is not followed of text")
        known = facts("xgrammar")["formats"]
        if data.get("format") in known and self.source.options.formats:
            source = Intersection(source, Regex.read(known[data["format"]]))
        if "pattern" in data:
            source = Intersection(source, Regex.read(f"(?s:.*(?:{data['pattern']}).*)"))
        if "minLength" in data or "maxLength" in data:
            most = data.get("maxLength", "")
            source = Intersection(
                source, Regex.read(f"(?s:.{{{data.get('minLength', 0)},{most}}})")
            )
        return source

    def free(self) -> Source:
        """Any text without the closing mark."""
        return AnyText((*self.source.excluded, self.style.after))

    def json(self, schema: dict[str, object]) -> Source:
        """The source of a schema's JSON texts, without the excluded texts."""
        root = cast("dict[str, object]", self.root) if self.root is not True else {}
        beside = {name: root[name] for name in ("$defs", "definitions") if name in root}
        source = JsonSchema.of({**beside, **schema}, None, **self.source.options.to_dict())
        if not self.source.excluded:
            return source
        return Intersection(source, AnyText(self.source.excluded))


def _is_text(value: tuple[str, Source]) -> bool:
    """Whether a value is text without quotes."""
    return value[0] == "string"


def _parameter(
    style: MarkupStyle,
    each: _MarkupParameter,
    kind: str,
    controls: tuple[str, ...],
    value: Written,
    *,
    several: bool,
) -> Node:
    """The tree of one parameter: its marks, its key and its value."""
    body: Node = value
    # The markup names the kind of a value before it, unless the style leaves the kind unclear.
    said = bool(style.kinds) and not style.unclear
    loose = isinstance(value.source, Intersection) and not style.exact
    if kind != "string" or loose or (each.listed and not said):
        body = Concat(0, 0, (_white(), value, _white()))
    written = style.unclear if several and style.unclear else (style.kinds.get(kind, ""),)
    nodes: list[Node] = []
    for piece in re.split(f"({_KEY}|{_KIND}|\n)", style.before):
        if piece == _KEY:
            nodes.append(_key(each.name))
        elif piece == _KIND:
            nodes.append(Choice(written).tree)
        elif piece == "\n":
            nodes.append(_white())
        elif piece:
            nodes.append(string_node(marked(piece, controls)))
    return Concat(0, 0, (*nodes, body, string_node(marked(style.after, controls))))


def _in_any_order(nodes: list[Node], given: tuple[_MarkupParameter, ...]) -> Node:
    """Parameters in any order, those without a name again and again."""
    free = [node for node, each in zip(nodes, given, strict=True) if not each.name]
    named = [(node, each.required) for node, each in zip(nodes, given, strict=True) if each.name]
    if len(named) > MOST_IN_ANY_ORDER or free:
        least = sum(is_required for _, is_required in named)
        one = nodes[0] if len(nodes) == 1 else Branch(0, 0, tuple(nodes))
        return Repeat(0, 0, one, least, None if free else len(named), False)

    def rest(left: list[tuple[Node, bool]]) -> Node:
        ways: list[Node] = []
        for k, (node, _) in enumerate(left):
            others = [*left[:k], *left[k + 1 :]]
            ways.append(Concat(0, 0, (node, rest(others))) if others else node)
        one = ways[0] if len(ways) == 1 else Branch(0, 0, tuple(ways))
        must = any(is_required for _, is_required in left)
        return one if must else Repeat(0, 0, one, 0, 1, False)

    return rest(named)


MOST_IN_ANY_ORDER: Final = 4
"""The most parameters that are each followed once in any order."""


def _type_of(value: object) -> str:
    """The type of a JSON value."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "boolean", int: "number", float: "number", list: "array", dict: "object",
    }  # fmt: skip
    return names[type(value)]


def _key(name: str) -> Node:
    if name:
        return letters(name, lambda _: (0, 0))
    return replace(Regex.read("[a-zA-Z_][a-zA-Z0-9_]*").tree, part=NamedPart("name"))


def _white() -> Node:
    return Regex.read(r"[ \n\t\r]*").tree


def _refused(pointer: str, reason: str) -> ConstraintError:
    return ConstraintError(
        f"The schema of the arguments cannot be followed at {pointer or 'its top'}: {reason}.",
        remedy='Write the schema with "properties" of plain types, or use the style "json".',
        evidence={"pointer": pointer, "reason": reason},
    )
