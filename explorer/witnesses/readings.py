"""Other readings of a constraint: how another engine may understand it.

A reading is the constraint with one change, such as a schema without one keyword, a pattern with
ASCII classes, or our machine with states that no tokens can finish. `explorer.witnesses.reasons`
compares our mask under each reading with the engine's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any, Final, cast

import numpy as np

import explorer.languages.grammar.functions as grammars
from explorer.alphabet import in_quotes
from explorer.analysis.explaining.groups import explain_all
from explorer.analysis.verdict.verdict import STAGES
from explorer.automata.machine import Bool
from explorer.budget import Budget
from explorer.errors import EmptyConstraint, ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.schema.reading.text import json_of
from explorer.languages.schema.source import JsonSchema
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.messages import Statement

BUDGET: Final = Budget(seconds=2, states=100_000)
"""The limits for compiling a reading."""

MOST: Final = 48
"""The most keywords of a schema that are left out one by one."""


@dataclass(frozen=True)
class OtherReading:
    """A constraint with one change.

    Args:
        kind: A key of `explorer.witnesses.reasons.CLASSES`.
        sentence: The change.
        mask: Our mask under the change, bool[len(vocabulary)]; ``None`` if it has none here.
        statement: The changed constraint as the engines are given it; ``None`` if the change is
            not one of the constraint.
    """

    kind: str
    sentence: str
    mask: Callable[[], Bool | None]
    statement: Statement | None = None


@dataclass(frozen=True, eq=False)
class ComparedState:
    """A state of our machine, and the constraint as the engines were given it.

    Args:
        ours: bool[len(vocabulary)], our mask.
        prefix: The ids before it.
    """

    constraint: Constraint
    statement: Statement
    machine: TokenMachine
    state: int
    prefix: tuple[int, ...]
    ours: Bool

    @property
    def text(self) -> bytes:
        """The bytes of the prefix."""
        tokens = self.machine.vocabulary.tokens
        return b"".join(tokens[token] or b"" for token in self.prefix)


def readings_of(place: ComparedState) -> Iterator[OtherReading]:
    """The other readings of a constraint at a state, in the order in which they are tried."""
    yield OtherReading(
        "forced tokens",
        "only one text can follow, and it allows only the longest token that begins it; the others "
        "are masked, which changes what the model says about them",
        lambda: _longest_forced(place),
    )
    yield OtherReading(
        "trim",
        "the text may go on, but no tokens of this vocabulary can finish it: we trim such states, "
        "it does not",
        lambda: _untrimmed(place),
    )
    source = place.constraint.source
    if isinstance(source, JsonSchema):
        changes = _changes_of_schema(source)
    else:
        changes = _changes_of_text(place.statement.text, place.statement.kind)
    for change in changes:
        yield OtherReading(
            change.kind, change.sentence,
            lambda make=change.make: _mask_after(make, place), change.statement,
        )  # fmt: skip


def _untrimmed(place: ComparedState) -> Bool:
    reasons = explain_all(place.machine, place.state, text=place.text)
    return place.ours | (reasons.stage == STAGES.index("dead_end"))


def _longest_forced(place: ComparedState) -> Bool | None:
    """The mask of the one longest token where one text only can follow."""
    machine, vocabulary = place.machine.byte_machine, place.machine.vocabulary
    if machine is None:
        return None
    most = max(map(len, filter(None, vocabulary.tokens)), default=0)
    longest, read = None, b""
    state = place.machine.byte_state(place.state)
    while len(read) < most and not machine.is_accepting(state):
        if len(expected := machine.expected(state)) != 1:
            break
        read += expected
        state = machine.step(state, expected[0])
        ids = [token for token in vocabulary.ids_of(read) if place.ours[token]]
        longest = ids[0] if ids else longest
    if longest is None:
        return None
    return np.arange(len(place.ours)) == longest


@lru_cache(maxsize=256)
def _machine_of(constraint: Constraint, vocabulary: Vocabulary) -> TokenMachine:
    return compile(constraint, vocabulary, BUDGET, lazy=True)


def _mask_after(make: Callable[[], Constraint], place: ComparedState) -> Bool | None:
    """The mask of a changed constraint after the prefix; ``None`` if it does not allow the prefix.

    A constraint that matches nothing allows no token at the start.
    """
    try:
        machine = _machine_of(make(), place.machine.vocabulary)
        state: int | None = machine.start
        for token in place.prefix:
            state = machine.step(state, token)
            if state is None:
                return None
        return unpack(machine.mask(state), len(place.ours))
    except EmptyConstraint:
        return None if place.prefix else np.zeros(len(place.ours), np.bool_)
    except ExplorerError:
        return None


@dataclass(frozen=True)
class _OtherText:
    kind: str
    sentence: str
    make: Callable[[], Constraint]
    statement: Statement


# --- patterns and grammars --------------------------------------------------------------------

_SPACE: Final = "\\t-\\r "
_ASCII: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": _SPACE}
_SPELLINGS: Final[tuple[tuple[str, Callable[[], Mapping[str, str]]], ...]] = (
    ("", lambda: {}),
    ("its \\d, \\w and \\s hold ASCII characters only", lambda: _ASCII),
    ("its \\s holds U+0009 to U+000D, the space and U+00A0 alone, and \\d and \\w ASCII characters",
     lambda: {**_ASCII, "s": f"{_SPACE}\xa0"}),
    ("its \\w and \\s are those of Unicode's own properties, as in Rust's regex crate",
     lambda: {"w": _rust_word(),
              "s": f"{_SPACE}\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"}),
)  # fmt: skip
"""The sentence of each reading of the classes, and what a class holds as ranges of characters."""


def _respelled(pattern: str, classes: Mapping[str, str], any_dot: bool) -> str:
    r"""A pattern with some classes spelled out, so that all engines read them alike.

    Args:
        any_dot: Whether a dot is to match a new line too.

    Example:
        >>> _respelled(r"\d[\d.]\D.", {"d": "0-9"}, True)
        '[0-9][0-9.][^0-9](?:.|\\n)'
    """
    inside = False

    def other(sign: re.Match[str]) -> str:
        nonlocal inside
        letter = sign[1]
        if letter is None:
            if sign[0] == ".":
                return r"(?:.|\n)" if any_dot and not inside else "."
            inside = sign[0] != "]" and not (inside and sign[0][-1] == "]")
            return sign[0]
        held = classes.get(letter.lower())
        if held is None or letter not in "dDwWsS" or (inside and letter.isupper()):
            return sign[0]
        return held if inside else f"[{'^' * letter.isupper()}{held}]"

    return re.sub(r"\\(.)|\[\^?\]?|\]|\.", other, pattern, flags=re.DOTALL)


@cache
def _rust_word() -> str:
    r"""The characters of Rust's ``\w`` as ranges: Alphabetic, marks, decimal digits, connectors."""
    circled = (range(0x24B6, 0x24EA), range(0x1F130, 0x1F14A), range(0x1F150, 0x1F16A),
               range(0x1F170, 0x1F18A))  # fmt: skip
    codes = [
        code
        for code in range(0x110000)
        if (category := unicodedata.category(chr(code)))[0] in "LM"
        or category in ("Nd", "Nl", "Pc")
        or code in (0x200C, 0x200D)
        or any(code in each for each in circled)
    ]
    ranges: list[str] = []
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        part = [code for _, code in group]
        ranges.append(f"{chr(part[0])}-{chr(part[-1])}")
    return "".join(ranges)


def _respellings(
    text: str,
    notation: str,
    read: Callable[[str], Constraint],
    spell: Callable[[Mapping[str, str], bool], str],
) -> Iterator[_OtherText]:
    """The readings of the classes and the dot of a text, without those that change nothing."""
    seen = {text}
    for any_dot in (False, True):
        for sentence, classes in _SPELLINGS:
            if (other := spell(classes(), any_dot)) in seen:
                continue
            seen.add(other)
            dot = "a dot also matches a new line" if any_dot else ""
            yield _OtherText(
                "dialect" if any_dot else "Unicode class",
                ", and ".join(filter(None, (dot, sentence))),
                partial(read, other),
                Statement(notation, other),
            )


_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|/(?:[^/\\\n]|\\.)+/|\.')


def _changes_of_text(text: str, notation: Any) -> Iterator[_OtherText]:
    """The other readings of a pattern or of a grammar."""
    if notation == "regex":
        yield from _respellings(text, notation, regex, partial(_respelled, text))
        return
    read = partial(grammars.grammar, syntax=notation)
    if notation == "gbnf":
        other = _QUOTED.sub(lambda quoted: r"[^\n]" if quoted[0] == "." else quoted[0], text)
        if other != text:
            yield _OtherText(
                "dialect", "a dot does not match a new line", partial(read, other),
                Statement(notation, other),
            )  # fmt: skip
        return

    def spell(classes: Mapping[str, str], any_dot: bool) -> str:
        def part(quoted: re.Match[str]) -> str:
            pattern = quoted[0][0] == "/"
            return _respelled(quoted[0], classes, any_dot) if pattern else quoted[0]

        return _QUOTED.sub(part, text)

    yield from _respellings(text, notation, read, spell)


# --- schemas ----------------------------------------------------------------------------------

_STRUCTURE: Final = frozenset({
    "type", "properties", "items", "$ref", "$defs", "definitions", "anyOf", "prefixItems",
    "$schema", "$id", "title", "description", "examples", "default", "$comment",
})  # fmt: skip
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required"})
_SAME: Final = "it shows the same mask here"

_Path = tuple[str | int, ...]
_Part = dict[str, Any]


def _subschemas(schema: Any, path: _Path = ()) -> Iterator[tuple[_Path, _Part]]:
    """The subschemas of a schema that are objects, each with its path."""
    if not isinstance(schema, dict):
        return
    part = cast("_Part", schema)
    yield path, part
    for keyword, value in part.items():
        if keyword in _DATA:
            continue
        named = keyword in _NAMED and isinstance(value, dict)
        inner: _Part = cast("_Part", value) if named else {"": value}
        for name, each in inner.items():
            here = (*path, keyword, name) if named else (*path, keyword)
            if isinstance(each, list):
                for k, item in enumerate(cast("list[Any]", each)):
                    yield from _subschemas(item, (*here, k))
            else:
                yield from _subschemas(each, here)


def _changed(schema: Any, paths: list[_Path], change: Callable[[_Part], object]) -> Any:
    """A copy of a schema with some subschemas changed, the innermost first."""
    copy = deepcopy(schema)
    for path in sorted(paths, key=len, reverse=True):
        part = copy
        for step in path:
            part = part[step]
        change(part)
    return copy


def _pointer(path: _Path) -> str:
    return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in path)


def _changes_of_schema(source: JsonSchema) -> Iterator[_OtherText]:
    schema: Any = source.parsed
    options = source.options

    def made(kind: str, change: str, given: Any, asked: Any = None, **other: Any) -> _OtherText:
        chosen = replace(options, strict=False, **other)
        text = json_of(given)
        return _OtherText(
            kind, f"{change} {_SAME}",
            lambda: Constraint(JsonSchema(text, chosen, source.remotes)),
            Statement(
                "json_schema", text if asked is None else json_of(asked), chosen.whitespace,
                options.property_order == "any",
            ),
        )  # fmt: skip

    for whitespace in ("flexible", "compact"):
        if options.whitespace != whitespace:
            yield made(
                "whitespace rule", "asked with and without white space between the tokens of JSON",
                schema, whitespace=whitespace,
            )  # fmt: skip
    places = list(_subschemas(schema))
    several = [path for path, part in places if len(part.get("properties") or ()) > 1]
    if options.property_order == "schema" and several:
        turned = _changed(schema, several, _turn)
        yield made(
            "dialect", "members may come in any order: with the properties turned round", schema,
            turned, property_order="any",
        )  # fmt: skip
    keywords = [(path, each) for path, part in places for each in part if each not in _STRUCTURE]
    for path, keyword in keywords[:MOST]:
        without = _changed(schema, [path], lambda part, k=keyword: part.pop(k))
        where = in_quotes(f"{_pointer(path)}/{keyword}")[1:-1]
        yield made("unsupported keyword", f"with {where} left out", without)
    names = sorted({keyword for _, keyword in keywords})
    for listed in [[name] for name in names] + [names]:
        paths = [path for path, part in places if not part.keys().isdisjoint(listed)]
        if len(paths) > 1 or len(listed) > 1:
            bare = _changed(schema, paths, lambda part, k=listed: [part.pop(n, None) for n in k])
            what = f"every {listed[0]}" if len(listed) == 1 else ", ".join(listed)
            yield made("unsupported keyword", f"with {what} left out", bare)
    for path, part in places:
        if "oneOf" in part and "anyOf" not in part:
            either = _changed(schema, [path], lambda t: t.update(anyOf=t.pop("oneOf")))
            where = f"{_pointer(path)}/oneOf"
            yield made("unsupported keyword", f"with anyOf in place of {where}", either)
    closed = [
        path
        for path, part in places
        if "additionalProperties" not in part and ("properties" in part or "required" in part)
    ]
    if closed:
        excluding = _changed(schema, closed, lambda part: part.update(additionalProperties=False))
        yield made("dialect", "with members excluded that the schema does not name", excluding)


def _turn(part: _Part) -> None:
    part["properties"] = dict(reversed(part["properties"].items()))


__all__ = ["ComparedState", "OtherReading", "readings_of"]
