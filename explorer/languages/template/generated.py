"""From what users and expressions give to the sources of `gen`, `many` and `template`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from explorer.arguments import plain, wrong
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.limits import check_nesting
from explorer.languages.template.expression import Places, choices, constructor
from explorer.languages.template.limited import Limited
from explorer.languages.template.many import Many
from explorer.languages.template.source import Template, fields_of
from explorer.languages.template.until import Until
from explorer.languages.types.source import CallType, JsonType

KINDS = ("regex", "choices", "stop", "json_schema", "type", "constraint")
"""The kinds of generated parts."""


def generated(**given: object) -> Source:
    """The source of a part that the model writes.

    Args:
        given: One of `KINDS` by its name, and ``max_tokens``.

    Raises:
        ConstraintError: None or several are given, the limit is not usable, or parts nest too deep.
    """
    limit = given.pop("max_tokens", None)
    part = _without_limit(given)
    return part if limit is None else check_nesting(Limited.of(part, limit))


def _without_limit(given: Mapping[str, object]) -> Source:
    if len(given) != 1 or not given.keys() <= set(KINDS):
        raise ConstraintError(
            f"gen(...) takes exactly one of {', '.join(KINDS)}; it was given "
            f"{', '.join(given) or 'none'}.",
            remedy='Write gen(regex="..."), gen(choices=[...]), gen(stop="..."), '
            "gen(json_schema={...}), gen(type=...) or gen(constraint=...).",
        )
    ((name, value),) = given.items()
    match name:
        case "regex":
            if not isinstance(value, str):
                raise wrong("regex", value, "a pattern", error=ConstraintError)
            return Regex.read(value)
        case "choices":
            return choices(value)
        case "stop":
            return Until.of(value)
        case "type":
            return typed(value)
        case "constraint":
            if not isinstance(value, Source):
                raise wrong("constraint", value, "a constraint", error=ConstraintError)
            return value
        case _:
            return JsonSchema.of(
                dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value
            )


def typed(described: object, *, style: object = "json") -> Source:
    """The source of a type, or of the text that declares one as the editor has it.

    Args:
        described: The type, or class statements and an expression in a str.
        style: As `from_type` has it.

    Raises:
        ConstraintError: The type cannot be followed exactly, or the text does not declare one.
    """
    if style not in ("json", "python"):
        raise wrong("style", style, 'a style: "json" or "python"', error=ConstraintError)
    kind = JsonType if style == "json" else CallType
    return kind.read(described) if isinstance(described, str) else kind.of(described)


def repeated(part: object, min: object = 0, max: object = None, separator: object = "") -> Source:
    """The source of a part that comes several times.

    Args:
        min, max, separator: As `many` has them.

    Raises:
        ConstraintError: The part is not a constraint, a number is not usable, or parts nest too
            deep.
    """
    if not isinstance(part, Source):
        raise wrong("part", part, "a constraint", error=ConstraintError, remedy=_PART)
    return check_nesting(Many.of(part, min, max, separator))


def templated(text: object, places: Places = (), written: str = "", /, **parts: object) -> Source:
    """The source of a template.

    Args:
        text: With ``{name}`` for each part.
        places: Where the characters of the text stand in ``written``.
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
constructor("from_type", typed)
constructor("many", repeated)
constructor("template", templated, located=True)
