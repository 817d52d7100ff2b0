"""From what users and expressions give to the sources of `gen`, `many` and `template`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from explorer.arguments import plain, shown, wrong
from explorer.automata.regex.source import Regex
from explorer.automata.schema.source import JsonSchema
from explorer.automata.template.expression import Places, choices, constructor
from explorer.automata.template.many import Many
from explorer.automata.template.source import Template, fields_of
from explorer.automata.template.until import Until
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError

KINDS = ("regex", "choices", "stop", "json_schema")
"""The kinds of generated parts."""


def generated(**given: object) -> Source:
    """The source of a part that the model writes.

    Args:
        given: One of `KINDS` by its name, and ``max_tokens``.

    Raises:
        ConstraintError: None or several are given, or ``max_tokens`` is.
    """
    limit = given.pop("max_tokens", None)
    if limit is not None:
        raise ConstraintError(
            f"max_tokens={shown(limit)} cannot be kept for a part: a token may cross the border of "
            "two parts, so the tokens of one are not a property of the text.",
            remedy='Limit the characters (regex="(?s:.{0,200})"), or the tokens of the whole text '
            "(Session(..., max_tokens=...)), which is exact.",
            evidence={"max_tokens": limit},
        )
    if len(given) != 1 or not given.keys() <= set(KINDS):
        raise ConstraintError(
            f"gen(...) takes exactly one of {', '.join(KINDS)}; it was given "
            f"{', '.join(given) or 'none'}.",
            remedy='Write gen(regex="..."), gen(choices=[...]), gen(stop="...") or '
            "gen(json_schema={...}).",
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
        case _:
            return JsonSchema.of(
                dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value
            )


def repeated(part: object, min: object = 0, max: object = None, separator: object = "") -> Source:
    """The source of a part that comes several times.

    Args:
        part: A source.
        min, max, separator: As `many` has them.

    Raises:
        ConstraintError: The part is not a constraint, or a number is not usable.
    """
    if not isinstance(part, Source):
        raise wrong("part", part, "a constraint", error=ConstraintError, remedy=_PART)
    return Many.of(part, min, max, separator)


def templated(text: object, places: Places = (), written: str = "", /, **parts: object) -> Source:
    """The source of a template.

    Args:
        text: With ``{name}`` for each part.
        places: Where the characters of the text stand in ``written``.
        written: The expression that a person wrote.
        parts: A source for each name.

    Raises:
        ConstraintError: The text and the parts do not fit.
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
    return Template.of(fixed, names, given, written if at else "", at)


_PART = 'Give regex("..."), gen(stop="..."), choice([...]) or another constraint.'

constructor("gen", generated)
constructor("many", repeated)
constructor("template", templated, located=True)
