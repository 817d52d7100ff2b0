"""The pieces that llguidance adds to Lark's notation: schemas, substrings and control tokens.

``%json {...}`` is a JSON Schema, ``<|name|>`` and ``<[id]>`` are control tokens: each becomes a
source of its own, a child of the grammar. ``%regex {...}`` is a part of a text. ``A & B`` and
``~A`` combine terminals, and ``rule[stop="x"]`` ends a rule as early as possible: their operands
are closed machines, so the terminals that they name are copied into them (`written_out`).
(llguidance 1.9, ``docs/syntax.md``.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from explorer.arguments import shown
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import (
    Call,
    Deferred,
    Intersect,
    Negate,
    Node,
    Source,
    Subtract,
    children,
    walk,
    with_children,
)
from explorer.budget import Meter
from explorer.errors import ExplorerError, GrammarError
from explorer.languages.grammar.notations.reading import WrittenRule
from explorer.languages.phases.control import ControlToken
from explorer.languages.schema.source import JsonSchema
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.sources.algebra import Union

WHITE: Final = r"[ \n\t\r]*"
"""The white space between the tokens of JSON; llguidance writes none around a value."""

MOST_IDS: Final = 10_000
"""The most ids that one ``<[...]>`` stands for."""

_GUIDANCE: Final = "x-guidance"
_IDS: Final = re.compile(r"\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*")
_TOKEN: Final = re.compile(r"<(?:\[([^\]>\n]*)\]|([^\s<>\[\]][^\s<>]*))>")
_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]+")
_SUBSTRINGS: Final[Mapping[str, Callable[[str], Sequence[str]]]] = {
    "substring_chars": lambda text: [*text],
    "substring_words": lambda text: [each[0] for each in _WORDS.finditer(text)],
}

ENDING: Final = ("stop", "suffix", "lazy")
"""The attributes of a rule that ends as early as possible."""

OTHER_ATTRIBUTES: Final = {
    "max_tokens": "Write explorer.gen(regex=..., max_tokens=3), which stands beside a grammar.",
    "temperature": "Leave it out, or give it to the sampler: it changes no text.",
}
"""The remedies for attributes that are not supported."""


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """The attribute of a rule that ends as early as possible; ``stop`` is the text that ends it."""

    stop: Node | None


Wrong = Callable[..., GrammarError]
"""The reader's `GrammarReader.wrong`."""


def data_at(text: str, at: int, wrong: Wrong) -> tuple[object, int]:
    """The JSON value that begins at a position, and the position after it."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except RecursionError:
        raise wrong("The JSON nests too deep", "Nest fewer values.", at) from None
    except ValueError as error:
        place = getattr(error, "pos", at)
        raise wrong(
            f"This is not JSON: {getattr(error, 'msg', error)}",
            "Write JSON behind the name.",
            place,
        ) from error


def schema_source(text: str, data: object, at: int, wrong: Wrong) -> Source:
    """The source of ``%json``.

    Args:
        text: The JSON of the schema.
        at: Its position in the grammar.
    """
    end = at + len(text)
    options: dict[str, Any] = {"whitespace_pattern": WHITE}
    if isinstance(data, dict) and _GUIDANCE in data:
        options = _layout(cast("dict[str, object]", data)[_GUIDANCE], at, end, wrong)
    elif not isinstance(data, dict | bool):
        raise wrong("A JSON Schema is an object", 'Write {"type": "object"}.', at, end)
    try:
        return JsonSchema.of(text, None, **options)
    except ExplorerError as error:
        raise wrong(f"In the schema: {error.message}", error.remedy, at, end) from error


def _layout(given: object, at: int, end: int, wrong: Wrong) -> dict[str, Any]:
    """The schema options of a member ``x-guidance``."""
    said = dict(cast("dict[str, object]", given)) if isinstance(given, dict) else {"": given}
    pattern, flexible = said.pop("whitespace_pattern", None), said.pop("whitespace_flexible", True)
    between = said.pop("item_separator", ","), said.pop("key_separator", ":")
    layouts: dict[object, str] = {(",", ":"): "compact", (", ", ": "): "dumps"}
    if said or between not in layouts or not isinstance(flexible, bool):
        name = next(iter(said), "item_separator")
        raise wrong(
            f"{name!r} of {_GUIDANCE} is not followed",
            "Write whitespace_flexible, whitespace_pattern, or the separators of json.dumps.",
            at, end,
        )  # fmt: skip
    if isinstance(pattern, str):
        return {"whitespace_pattern": f"(?:{pattern})?"}
    if flexible and between == (",", ":"):
        return {"whitespace_pattern": WHITE}
    return {"whitespace": layouts[between]}


def substrings(data: object, start: int, end: int, wrong: Wrong) -> Node:
    """The node of ``%regex``: consecutive pieces of a text, possibly none."""
    given = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    name = next(iter(given), "")
    value = given.get(name)
    pieces: Sequence[str] | None = None
    if len(given) == 1 and name in _SUBSTRINGS and isinstance(value, str):
        pieces = _SUBSTRINGS[name](value)
    elif len(given) == 1 and name == "substring_chunks" and isinstance(value, list):
        chunks = cast("list[object]", value)
        if all(isinstance(each, str) for each in chunks):
            pieces = cast("list[str]", chunks)
    if pieces is None:
        raise wrong(
            f"{shown(given or cast('object', data))} is not followed",
            f"Write {', '.join(_SUBSTRINGS)} with a text, or substring_chunks with a list of them.",
            start, end,
        )  # fmt: skip
    known = pieces
    return Deferred(start, end, lambda meter: _in_a_row(known, meter))


def _in_a_row(pieces: Sequence[str], meter: Meter) -> Dfa:
    """The minimal machine of all runs of consecutive pieces, the empty run included."""
    sketch = Sketch(meter, stage="The pieces of a text")
    start = sketch.state()
    borders = [sketch.state()]
    for piece in pieces:
        borders.append(sketch.state())
        sketch.text(borders[-2], piece.encode(), borders[-1])
    for border in borders:
        sketch.epsilon(start, border)
    return sketch.finish(start, borders)


def token_source(text: str, at: int, wrong: Wrong) -> tuple[Source, int]:
    """The control token named at a position, and the position after its name."""
    written = _TOKEN.match(text, at)
    if written is None:
        raise wrong(
            "< begins the name of a control token, which does not end here",
            'Write <|name|> or <[5]>; a text stands in quotes: "<".', at,
        )  # fmt: skip
    if written[1] is None:
        return ControlToken(written[0]), written.end()
    if not _IDS.fullmatch(written[1]):
        raise wrong(
            f"<[{written[1]}]> is not a list of ids",
            "Write <[5]>, <[5,7]> or <[5-9]>. For any tokens but some, explorer.any_tokens("
            "excluding=[5]) stands beside a grammar, in explorer.phases(...).", at, written.end(),
        )  # fmt: skip
    bounds = [each.partition("-") for each in written[1].split(",")]
    pairs = [(int(low), int(high or low)) for low, _, high in bounds]
    count = sum(high - low + 1 for low, high in pairs)
    if count > MOST_IDS or any(high < low for low, high in pairs):
        raise wrong(
            f"<[{written[1]}]> has an empty range, or more than {MOST_IDS:,} ids",
            f"Write the lower id of a range first, and at most {MOST_IDS:,} ids.",
            at, written.end(),
        )  # fmt: skip
    ids = dict.fromkeys(each for low, high in pairs for each in range(low, high + 1))
    tokens = tuple(ControlToken(each) for each in ids)
    return tokens[0] if len(tokens) == 1 else Union(tokens), written.end()


def is_closed(node: Node) -> bool:
    """Whether a node must be built as a closed machine: an intersection, difference, complement."""
    return isinstance(node, Intersect | Subtract | Negate)


def written_out(
    rules: Sequence[WrittenRule], wrong: Wrong, terminals: Mapping[str, Node]
) -> list[WrittenRule]:
    """The rules, with each terminal that is named in a closed node replaced by its body.

    Args:
        terminals: The bodies of terminals, as they stand in others.

    Raises:
        GrammarError: A closed node names a rule, or a terminal refers to itself.
    """
    bodies = {rule.name: rule.body for rule in rules} | {**terminals}

    def with_calls(node: Node, within: tuple[str, ...], named: set[str], closed: bool) -> Node:
        closed = closed or is_closed(node)
        if closed and isinstance(node, Call) and node.name in bodies:
            name = node.name
            if not name.lstrip("_").isupper():
                raise wrong(
                    f"{name!r} is a rule, and &, ~, lazy, stop and suffix are for terminals",
                    "Name it in capital letters if it calls no rule.", node.start, node.end,
                )  # fmt: skip
            if name in within:
                raise wrong(
                    f"The terminal {name!r} leads back to itself",
                    "Only rules may, which are named in small letters.", node.start, node.end,
                )  # fmt: skip
            named.add(name)
            return with_calls(bodies[name], (*within, name), named, True)
        below = children(node)
        return with_children(node, tuple(with_calls(each, within, named, closed) for each in below))

    made: list[WrittenRule] = []
    for rule in rules:
        if not any(map(is_closed, walk(rule.body))):
            made.append(rule)
            continue
        named: set[str] = set()
        body = with_calls(rule.body, (rule.name,), named, False)
        made.append(replace(rule, body=body, also=rule.also | named))
    return made
