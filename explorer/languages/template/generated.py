"""The sources of `gen`, `many` and `template`, made from the arguments of users and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from explorer.arguments import naming, plain, wrong
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import json_schema
from explorer.languages.sources.algebra import check_nesting
from explorer.languages.template.expression import Places, choices, constructor, text_of
from explorer.languages.template.limited import Limited
from explorer.languages.template.many import Many
from explorer.languages.template.source import Template, fields_of
from explorer.languages.template.until import Until, UntilMatch
from explorer.languages.types.source import typed

_ANY_TEXT: Final = "(?s).*"


def generated(name: object = None, /, **given: object) -> Source:
    """The source of a part that the model writes.

    Args:
        name: The name of the part; with it the source is a template of this part alone.
        given: One of `KINDS` by its name, or none for any text; also ``max_tokens`` and ``name``.
            ``None`` counts as not given.

    Raises:
        ConstraintError: Several kinds are given, the limit or the name is not usable, or parts nest
            too deep.
    """
    given = {key: value for key, value in given.items() if value is not None}
    limit, name = given.pop("max_tokens", None), given.pop("name", name)
    part = _without_limit(given or {"regex": _ANY_TEXT})
    part = part if limit is None else check_nesting(Limited.of(part, limit))
    if name is None:
        return part
    if not isinstance(name, str) or not name.isidentifier():
        raise wrong(
            "name", name, "a name of letters, digits and underscores", error=ConstraintError,
            remedy='Write gen("answer"), or gen(regex="...") for a pattern.',
        )  # fmt: skip
    return templated(f"{{{name}}}", **{plain(name): part})


def _without_limit(given: Mapping[str, object]) -> Source:
    if len(given) != 1 or not given.keys() <= KINDS.keys():
        raise ConstraintError(
            f"gen(...) takes exactly one of {', '.join(KINDS)}; it was given {', '.join(given)}.",
            remedy='Write gen(regex="..."), gen(choices=[...]), gen(stop="..."), '
            "gen(json_schema={...}), gen(type=...) or gen(constraint=...).",
        )
    ((name, value),) = given.items()
    return KINDS[name](value)


def _pattern(name: str, value: object) -> Regex:
    if not isinstance(value, str | re.Pattern):
        remedy = f'Write {name}="[a-z]+", for example.'
        raise wrong(name, value, "a pattern", error=ConstraintError, remedy=remedy)
    with naming(name):
        return Regex.read(cast("str | re.Pattern[str]", value))


def _source(value: object) -> Source:
    if not isinstance(value, Source):
        raise wrong("constraint", value, "a constraint", error=ConstraintError)
    return value


def _schema(value: object) -> Source:
    return json_schema(cast("type[Any]", value)).source


KINDS: Final[Mapping[str, Callable[[object], Source]]] = {
    "regex": lambda value: _pattern("regex", value),
    "choices": choices,
    "stop": Until.of,
    "stop_regex": lambda value: UntilMatch.of(_pattern("stop_regex", value)),
    "json_schema": _schema,
    "type": typed,
    "constraint": _source,
}
"""The kinds of generated parts, and how the source of each is made."""


def repeated(part: object, min: object = 0, max: object = None, separator: object = "") -> Source:
    """The source of a part that comes several times.

    Args:
        min, max, separator: As for `many`.

    Raises:
        ConstraintError: The part is not a constraint, a number is not usable, or parts nest too
            deep.
    """
    if isinstance(part, str):
        part = text_of(part)
    if not isinstance(part, Source):
        raise wrong("part", part, "a constraint", error=ConstraintError, remedy=_PART)
    return check_nesting(Many.of(part, min, max, separator))


def templated(text: object, places: Places = (), written: str = "", /, **parts: object) -> Source:
    """The source of a template.

    Args:
        text: The text with ``{name}`` for each part.
        places: The spans of its characters in ``written``, the expression it was read from.
        parts: A source for each name.

    Raises:
        ConstraintError: The text and the parts do not fit, or parts nest too deep.
    """
    if not isinstance(text, str):
        raise wrong("text", text, "the text of the template", error=ConstraintError)
    for name, part in parts.items():
        if not isinstance(part, Source):
            raise wrong(
                f"The part {name}", part, "a constraint", error=ConstraintError, remedy=_PART
            )
    text = plain(text)
    fixed, names, offsets = fields_of(text)
    given = {name: part for name, part in parts.items() if isinstance(part, Source)}
    at = tuple(tuple(places[k] for k in row) for row in offsets) if places else ()
    return check_nesting(Template.of(fixed, names, given, written if at else "", at))


_PART = 'Give regex("..."), gen(stop="..."), choice([...]) or another constraint.'

constructor("gen", generated)
constructor("many", repeated)
constructor("template", templated, located=True)
