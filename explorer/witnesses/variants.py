"""Variants of a constraint: how another engine may read it.

Most differences are recognised so: the constraint is rewritten with one change, such as ASCII
classes or a schema without one keyword, and compiled by us. If our mask of the variant agrees with
the engine's, token by token, the change may be the reason. The engine itself confirms it: given the
variant, it must have the same mask as for the original. So every variant also comes in a form for
the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np

import explorer.languages.grammar.functions as grammars
from explorer.automata.machine import Bool
from explorer.budget import Budget
from explorer.errors import EmptyConstraint, ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.regex.parser import parse
from explorer.languages.schema.reading.text import json_of
from explorer.languages.schema.source import JsonSchema
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.messages import Statement
from explorer.witnesses.plain_patterns import as_rust_reads, rust_classes, spelled_out, with_spaces

BUDGET: Final = Budget(seconds=10, states=100_000)
"""The limits for compiling a variant."""

MOST: Final = 48
"""The most keywords of a schema that are left out one by one."""


@dataclass(frozen=True)
class Variant:
    """A constraint with one change.

    Args:
        make: Builds the changed constraint.
        ask: Builds its form for an engine, in a notation that every engine reads alike; ``None`` if
            there is no such form.
    """

    kind: str
    sentence: str
    make: Callable[[], Constraint]
    ask: Callable[[], Statement | None]


SHORT_BUDGET: Final = Budget(seconds=1, states=100_000)
"""The limits where many constraints are tried in a given time."""


@lru_cache(maxsize=256)
def machine_of(
    constraint: Constraint, vocabulary: Vocabulary, budget: Budget = BUDGET
) -> TokenMachine:
    """The lazy machine of a constraint; the last 256 are cached."""
    return compile(constraint, vocabulary, budget, lazy=True)


def mask_after(
    constraint: Constraint,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    budget: Budget = BUDGET,
) -> Bool | None:
    """The mask of a constraint after a prefix; ``None`` if it does not allow the prefix.

    A constraint that matches nothing allows no token at the start.
    """
    try:
        machine = machine_of(constraint, vocabulary, budget)
        state: int | None = machine.start
        for token in prefix:
            state = machine.step(state, token)
            if state is None:
                return None
        return unpack(machine.mask(state), len(vocabulary))
    except EmptyConstraint:
        return None if prefix else np.zeros(len(vocabulary), np.bool_)
    except ExplorerError:
        return None


# --- patterns ---------------------------------------------------------------------------------

_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES: Final = frozenset("dDwWsSbBnrtfva0123456789xuU\\")


def _of_pattern(kind: str, sentence: str, pattern: str, flags: str = "") -> Variant:
    """The variant that reads a pattern as another one in Python's syntax."""
    other = f"(?{flags}){pattern}" if flags else pattern

    def ask() -> Statement | None:
        tree = parse(other)
        plain = spelled_out(tree.root, tree.pattern)
        return None if plain is None else Statement("regex", plain)

    return Variant(kind, sentence, lambda: regex(other), ask)


def _unknown_escapes(pattern: str) -> str:
    return _ESCAPED.sub(
        lambda found: (
            found[1] if found[1].isalpha() and found[1] not in _KNOWN_ESCAPES else found[0]
        ),
        pattern,
    )


ASCII_AND_NBSP: Final = r"\t-\r \xa0"
SPACES_ALONE: Final = (
    r"\s holds U+0009 to U+000D, the space and U+00A0 alone, and other classes hold ASCII "
    "characters only, where Python's hold Unicode's"
)


def variants_of_pattern(pattern: str) -> Iterator[Variant]:
    """The other ways to read a Python pattern."""
    for space, flags, dot in (
        (ASCII_AND_NBSP, "a", ""),
        (ASCII_AND_NBSP, "as", "; a dot also matches a new line"),
    ):
        spaced = with_spaces(pattern, space)
        if spaced is not None:
            yield _of_pattern("Unicode class", SPACES_ALONE + dot, spaced, flags)
    named = "the classes of the pattern hold ASCII characters only, where Python's hold Unicode's"
    yield _of_pattern("Unicode class", named, pattern, "a")
    if (other := rust_classes(pattern)) != pattern:
        yield _of_pattern(
            "Unicode class",
            r"\w and \s are those of Unicode's own properties (as in Rust's regex crate), which "
            "differ from Python's for some characters", other,
        )  # fmt: skip
    yield _of_pattern("dialect", "a dot also matches a new line", pattern, "s")
    yield _of_pattern(
        "dialect", "a dot also matches a new line, and classes hold ASCII characters only",
        pattern, "as",
    )  # fmt: skip
    if (plain := _unknown_escapes(pattern)) != pattern:
        yield _of_pattern("dialect", "an escape that it does not know means its letter", plain)
    if "[^]" in pattern:
        yield _of_pattern(
            "dialect", "[^] is a class by itself (as in JavaScript), and the ] after it a letter",
            pattern.replace("[^]", r"[\s\S]"),
        )  # fmt: skip
    if (nested := as_rust_reads(pattern)) is not None:
        yield _of_pattern(
            "dialect",
            "inside a class, [ begins a nested or named class, and &&, -- and ~~ are an "
            "intersection and differences (as in Rust's regex crate)", nested,
        )  # fmt: skip


# --- schemas ----------------------------------------------------------------------------------

_STRUCTURE: Final = frozenset({
    "type", "properties", "items", "$ref", "$defs", "definitions", "anyOf", "prefixItems",
    "$schema", "$id", "title", "description", "examples", "default", "$comment",
})  # fmt: skip
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required"})

Path = tuple[str | int, ...]


def subschemas_of(schema: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The subschemas of a schema that are objects, each with its path."""
    if not isinstance(schema, dict):
        return
    part = cast("dict[str, Any]", schema)
    yield path, part
    for keyword, value in part.items():
        if keyword in _DATA:
            continue
        if keyword in _NAMED and isinstance(value, dict):
            for name, each in cast("dict[str, Any]", value).items():
                yield from subschemas_of(each, (*path, keyword, name))
        elif isinstance(value, dict):
            yield from subschemas_of(value, (*path, keyword))
        elif isinstance(value, list):
            for k, each in enumerate(cast("list[Any]", value)):
                yield from subschemas_of(each, (*path, keyword, k))


def changed(schema: Any, path: Path, change: Callable[[dict[str, Any]], None]) -> Any:
    """A copy of a schema with one subschema changed, if that still exists."""
    copy = deepcopy(schema)
    part = copy
    for step in path:
        try:
            part = part[step]
        except (KeyError, IndexError):
            return copy  # An earlier change removed the keyword that held it.
    change(part)
    return copy


def pointer_of(path: Path) -> str:
    """A path in a schema as a JSON Pointer."""
    return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in path)


Make = Callable[..., Variant]
"""From a class, a sentence, a schema and changed options to a variant."""


def variants_of_schema(source: JsonSchema) -> Iterator[Variant]:
    """The other ways to read a schema."""
    schema: Any = source.parsed
    options = source.options

    def made(kind: str, sentence: str, given: Any, asked: Any = None, **other: Any) -> Variant:
        chosen = replace(options, strict=False, **other)
        text = given if isinstance(given, str) else json_of(given)
        put = text if asked is None else json_of(asked)
        any_order = options.property_order == "any"
        return Variant(
            kind, sentence,
            lambda: Constraint(JsonSchema(text, chosen, source.remotes)),
            lambda: Statement("json_schema", put, chosen.whitespace, any_order),
        )  # fmt: skip

    for whitespace in ("flexible", "compact"):
        if options.whitespace != whitespace:
            yield made(
                "whitespace rule",
                "asked with and without white space between the tokens of JSON, it shows the same "
                "mask here", source.schema, whitespace=whitespace,
            )  # fmt: skip
    places = list(subschemas_of(schema))
    turned = _turned(schema, places)
    if options.property_order == "schema" and turned is not None:
        yield made(
            "dialect", "members may come in any order: with the properties turned round it shows "
            "the same mask here", source.schema, turned, property_order="any",
        )  # fmt: skip
    yield from _without_keywords(schema, places, made)
    for path, part in places:
        if "oneOf" in part and "anyOf" not in part:
            either = changed(schema, path, lambda t: t.update(anyOf=t.pop("oneOf")))
            where = f"{pointer_of(path)}/oneOf"
            yield made(
                "unsupported keyword", f"with anyOf in place of {where} it shows the same mask "
                "here", either,
            )  # fmt: skip
    closed = schema
    for path, part in places:
        if "additionalProperties" not in part and ("properties" in part or "required" in part):
            closed = changed(closed, path, lambda target: target.update(additionalProperties=False))
    if closed is not schema:
        yield made("dialect", "members that the schema does not name are excluded", closed)
    yield from _patterns_of_schema(schema, places, made)


def _without_keywords(
    schema: Any, places: list[tuple[Path, dict[str, Any]]], made: Make
) -> Iterator[Variant]:
    """The schema without one keyword in one place or in all places, and without all keywords."""
    count = 0
    dropped_everywhere: dict[str, Any] = {}
    times: dict[str, int] = {}
    for path, part in places:
        for keyword in part:
            if keyword in _STRUCTURE or count >= MOST:
                continue
            count += 1

            def drop(target: dict[str, Any], keyword: str = keyword) -> None:
                target.pop(keyword, None)

            where = f"{pointer_of(path)}/{keyword}"
            yield made(
                "unsupported keyword", f"with {where} left out it shows the same mask here",
                changed(schema, path, drop),
            )  # fmt: skip
            everywhere = dropped_everywhere.get(keyword, schema)
            dropped_everywhere[keyword] = changed(everywhere, path, drop)
            times[keyword] = times.get(keyword, 0) + 1
    for keyword, without in dropped_everywhere.items():
        if times[keyword] > 1:
            yield made(
                "unsupported keyword", f"with every {keyword} left out it shows the same mask here",
                without,
            )  # fmt: skip
    if len(dropped_everywhere) > 1:
        bare = schema
        for path, part in places:
            for keyword in part:
                if keyword not in _STRUCTURE:
                    bare = changed(bare, path, lambda target, k=keyword: target.pop(k, None))
        listed = ", ".join(sorted(dropped_everywhere))
        yield made(
            "unsupported keyword", f"with {listed} left out it shows the same mask here", bare
        )


def _turned(schema: Any, places: list[tuple[Path, dict[str, Any]]]) -> Any:
    """The schema with its properties in reverse order; ``None`` if no object has two of them."""
    other = schema

    def turn(target: dict[str, Any]) -> None:
        target["properties"] = dict(reversed(target["properties"].items()))

    for path, part in places:
        members = part.get("properties")
        if isinstance(members, dict) and len(cast("dict[str, Any]", members)) > 1:
            other = changed(other, path, turn)
    return None if other is schema else other


def _as_whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _looks_anywhere(pattern: str) -> bool:
    return not (pattern.startswith("^") and pattern.endswith("$"))


def _patterns_of_schema(
    schema: Any, places: list[tuple[Path, dict[str, Any]]], made: Make
) -> Iterator[Variant]:
    for path, part in places:
        keys = part.get("patternProperties")
        if isinstance(keys, dict) and any(map(_looks_anywhere, cast("dict[str, Any]", keys))):
            whole = {_as_whole(key): value for key, value in cast("dict[str, Any]", keys).items()}
            yield made(
                "dialect", f"the patterns of {pointer_of(path)}/patternProperties must match the "
                "whole key, where JSON Schema looks for them anywhere in it",
                changed(schema, path, lambda t, w=whole: t.update(patternProperties=w)),
            )  # fmt: skip
        pattern = part.get("pattern")
        if isinstance(pattern, str) and _looks_anywhere(pattern):
            anchored = _as_whole(pattern)
            yield made(
                "dialect", f"{pointer_of(path)}/pattern must match the whole string, where JSON "
                "Schema looks for it anywhere",
                changed(schema, path, lambda target, p=anchored: target.update(pattern=p)),
            )  # fmt: skip


# --- grammars ---------------------------------------------------------------------------------

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|/(?:[^/\\\n]|\\.)+/|\.')


def variants_of_grammar(text: str, syntax: Any) -> Iterator[Variant]:
    """The other ways to read a grammar.

    Args:
        syntax: ``"gbnf"`` or ``"lark"``.
    """

    def made(kind: str, sentence: str, other: str, asked: str) -> Variant:
        return Variant(
            kind, sentence, lambda: grammars.grammar(other, syntax),
            lambda: Statement(syntax, asked) if asked else None,
        )  # fmt: skip

    if syntax == "gbnf":
        less = _QUOTED.sub(lambda found: r"[^\n]" if found[0] == "." else found[0], text)
        if less != text:
            yield made("dialect", "a dot does not match a new line", less, less)
        return
    for flag, kind, sentence in (
        ("nbsp", "Unicode class", SPACES_ALONE),
        ("s", "dialect", "a dot also matches a new line"),
        ("a", "Unicode class", "classes hold ASCII characters only"),
        ("rust", "Unicode class", r"\w and \s are those of Unicode's own properties"),
    ):

        def again(found: re.Match[str], flag: str = flag) -> str:
            word = found[0]
            if not word.startswith("/"):
                return word
            if flag == "rust":
                return rust_classes(word)
            if flag == "nbsp":
                spaced = with_spaces(word[1:-1], ASCII_AND_NBSP)
                return word if spaced is None else f"/(?a:{spaced})/"
            return f"/(?{flag}:{word[1:-1]})/"

        other = _QUOTED.sub(again, text)
        if other != text:
            yield made(kind, sentence, other, _terminals_spelled_out(other))


def _terminals_spelled_out(text: str) -> str:
    """A Lark grammar with its patterns spelled out; empty if one of them cannot be."""
    patterns = [quoted[0] for quoted in _QUOTED.finditer(text) if quoted[0].startswith("/")]
    plain: dict[str, str] = {}
    for word in patterns:
        try:
            tree = parse(word[1:-1])
        except ExplorerError:
            return ""
        if (made := spelled_out(tree.root, tree.pattern)) is None:
            return ""
        plain[word] = f"/{made}/"
    return _QUOTED.sub(lambda quoted: plain.get(quoted[0], quoted[0]), text)


def variants_of(comparison: Comparison) -> Iterator[Variant]:
    """The other ways to read the constraint of a comparison."""
    statement = comparison.statement
    source = comparison.constraint.source
    if isinstance(source, JsonSchema):
        yield from variants_of_schema(source)
    elif statement.kind == "regex":
        yield from variants_of_pattern(statement.text)
    else:
        yield from variants_of_grammar(statement.text, statement.kind)


__all__ = [
    "SHORT_BUDGET", "Variant", "changed", "machine_of", "mask_after", "pointer_of",
    "subschemas_of", "variants_of",
]  # fmt: skip
