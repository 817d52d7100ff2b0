"""The smaller constraints of a constraint, whatever its notation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.grammar.source import GbnfGrammar, GrammarText, LarkGrammar
from explorer.languages.regex.source import Regex
from explorer.languages.schema.reading.text import json_of
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.choice import Choice
from explorer.witnesses.shrinking.alternatives import smaller_grammars
from explorer.witnesses.shrinking.patterns import smaller_patterns
from explorer.witnesses.shrinking.schema_keywords import size_of_schema, smaller_schemas


def size_of(constraint: Constraint) -> int:
    """How long a constraint is, for comparing it with smaller ones.

    Args:
        constraint: Any.
    """
    source = constraint.source
    return size_of_schema(source.parsed) if isinstance(source, JsonSchema) else len(source.text)


def smaller(constraint: Constraint) -> list[Constraint]:
    """The constraints that are one reduction smaller, the smallest first.

    Args:
        constraint: A pattern, a choice, a JSON Schema or a grammar.
    """
    found = list(_smaller(constraint))
    found.sort(key=size_of)
    return [each for each in found if size_of(each) < size_of(constraint)]


def _smaller(constraint: Constraint) -> Iterator[Constraint]:
    source = constraint.source
    if isinstance(source, Regex):
        for text in smaller_patterns(source.parsed):
            try:
                yield regex(text)
            except ExplorerError:
                continue
    elif isinstance(source, Choice):
        for k in range(len(source.texts)):
            if rest := source.texts[:k] + source.texts[k + 1 :]:
                yield choice(list(rest))
    elif isinstance(source, JsonSchema):
        for schema in smaller_schemas(source.parsed):
            try:
                options = replace(source.options, strict=False)
                yield Constraint(JsonSchema(json_of(schema), options, source.remotes))
            except ExplorerError:
                continue
    elif isinstance(source, GbnfGrammar | LarkGrammar):
        yield from _grammars(source)


def _grammars(source: GrammarText) -> Iterator[Constraint]:
    for text in smaller_grammars(source.grammar, source.notation):
        try:
            yield Constraint(type(source).of(text, ambiguous=source.ambiguous))
        except ExplorerError:
            continue
