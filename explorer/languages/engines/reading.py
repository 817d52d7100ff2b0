"""A constraint under another engine: its JSON Schemas are replaced by the engine's reading of
them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, UnsupportedSchema
from explorer.languages.constraint import Constraint
from explorer.languages.engines.llguidance import NOT_DRAWN
from explorer.languages.engines.patterns import CLASSES, EnginePattern, pattern_for
from explorer.languages.engines.source import ENGINES, EngineSchema
from explorer.languages.regex.source import Regex
from explorer.languages.schema.reading.text import spot_of
from explorer.languages.schema.source import JsonSchema
from explorer.vocabulary import Vocabulary

TITLES: Final = {"xgrammar": "xgrammar", "llguidance": "llguidance", "outlines": "Outlines", "": ""}
"""The names of the engines as they are written."""


def engine_name(name: str) -> str:
    """A name of an engine; empty for none of them.

    Raises:
        ConstraintError: There is no such engine here.
    """
    if name == "none":
        return ""
    if name not in TITLES or not name:
        raise ConstraintError(
            f"{name!r} is not an engine that is read here.",
            remedy="Give xgrammar, llguidance, outlines, or none for JSON Schema itself.",
        )
    return name


def as_engine(constraint: Constraint, engine: str) -> Constraint:
    """A constraint whose JSON Schemas are read as an engine reads them.

    Args:
        engine: A name of `TITLES`.
    """
    source = constraint.source
    if isinstance(source, Regex) and engine in CLASSES:
        made = pattern_for(source, engine)
    else:
        made = _read(source, engine)
    return constraint if made is constraint.source else Constraint(made)


def _read(source: Source, engine: str) -> Source:
    if isinstance(source, JsonSchema) and not source.remotes:
        if engine in ENGINES:
            options = source.options
            compact = options.whitespace == "compact" and options.whitespace_pattern is None
            made = EngineSchema(source.schema, engine, compact, options.whitespace_pattern)
            try:
                made.remarks  # noqa: B018 - It is drawn here, so that its errors come here.
            except UnsupportedSchema as error:
                if error.keyword == NOT_DRAWN:
                    return source
                raise
            return made
        return source
    below = tuple(_read(child, engine) for child in source.children)
    same = all(new is old for new, old in zip(below, source.children, strict=True))
    return source if same else source.with_children(below)


@lru_cache(maxsize=4)
def engine_vocabulary(vocabulary: Vocabulary, engine: str) -> Vocabulary:
    """A vocabulary as an engine has it: xgrammar reads the names of control tokens as their
    text."""
    if engine != "xgrammar":
        return vocabulary
    named = tuple(
        vocabulary.special[token].encode() or None
        if data is None and token in vocabulary.special and token not in vocabulary.eos_ids
        else data
        for token, data in enumerate(vocabulary.tokens)
    )
    return replace(vocabulary, tokens=named, empty_ids=frozenset())


def remarks_of(
    constraint: Constraint | None, written: bytes, after: bytes, *, white: bool = False
) -> list[str]:
    """Sentences on the parts of a constraint that an engine reads in its own way: those of the
    innermost part around the place where a text stops.

    Args:
        written: The text.
        after: The byte that is not allowed after it.
        white: Whether it is about white space.
    """
    waiting = [] if constraint is None else [constraint.source]
    told: list[tuple[str, str]] = []
    for source in waiting:  # The list grows while it is read.
        if isinstance(source, EngineSchema | EnginePattern):
            told += [each for each in source.remarks if ("white space" in each[1]) is white]
        waiting += source.children
    if white or not told:
        return list(dict.fromkeys(said for _, said in told))
    spot = spot_of(written)
    steps = [str(step) for _, step in spot.steps]
    if spot.is_finished and (written.rstrip().endswith((b'"', b"]", b"}")) or after in b",]}"):
        steps = steps[:-1]  # The value is over, and the part around it decides.
    depths = [_depth(pointer, steps) for pointer, _ in told]
    close = [
        said for (_, said), depth in zip(told, depths, strict=True) if 0 <= depth == max(depths)
    ]
    return list(dict.fromkeys(close))


def _depth(pointer: str, steps: list[str]) -> int:
    """The number of steps to a part of a schema, if they lead to a place in it; else -1."""
    way: list[str] = []
    parts = pointer.split("/")[1:]
    while parts:
        keyword = parts.pop(0)
        if keyword in ("properties", "prefixItems") and parts:
            way.append(parts.pop(0).replace("~1", "/").replace("~0", "~"))
        elif keyword == "patternProperties" and parts:
            parts.pop(0)
            way.append("*")
        elif keyword in ("items", "additionalProperties", "unevaluatedItems"):
            way.append("*")
        elif keyword in ("$defs", "definitions"):
            return 0  # It may be anywhere.
    same = all(one in ("*", step) for one, step in zip(way, steps, strict=False))
    return len(way) if same and len(way) <= len(steps) else -1
