"""What users call: `template`, `gen` and `many`."""

from __future__ import annotations

from explorer.automata.algebra import filtered_operand
from explorer.automata.constraint import Constraint
from explorer.automata.template.generated import generated, repeated, templated


def gen(
    *,
    regex: str | None = None,
    choices: object = None,
    stop: object = None,
    json_schema: object = None,
    max_tokens: int | None = None,
) -> Constraint:
    """A part of a template that the model writes; give exactly one of the kinds.

    Args:
        regex: A pattern, as `regex` has it.
        choices: Texts, or a mapping from names to texts, as `choice` has it.
        stop: A text, or several: any text before one of them appears.
        json_schema: A JSON Schema, as `json_schema` has it.
        max_tokens: Not possible for a part: see `ConstraintError` below.

    Raises:
        ConstraintError: None or several kinds are given; or ``max_tokens`` is. A constraint is a
            set of texts, and how many tokens a stretch takes is not a property of its text: a token
            may cross the border of two parts. ``regex="(?s:.{0,200})"`` limits the characters, and
            ``Session(max_tokens=...)`` limits the tokens of the whole text exactly.

    Example:
        >>> gen(stop='"').accepts('a "quoted" text'), gen(stop='"').accepts("plain")
        (False, True)
    """
    given = {"regex": regex, "choices": choices, "stop": stop, "json_schema": json_schema}
    chosen = {name: value for name, value in given.items() if value is not None}
    return Constraint(generated(**chosen, max_tokens=max_tokens))


def many(
    part: Constraint, min: int = 0, max: int | None = None, *, separator: str = ""
) -> Constraint:
    """A part several times, with a separator between.

    Args:
        part: What is repeated.
        min: The fewest times.
        max: The most times; ``None`` for no limit.
        separator: What stands between two repetitions, not after the last one.

    Returns:
        A constraint whose `Constraint.parse` gives a list of what the part makes of each.

    Raises:
        ConstraintError: The part is not a constraint, or a number is not usable.

    Example:
        >>> from explorer import regex
        >>> names = many(regex("[a-z]+"), 1, 3, separator=", ")
        >>> names.parse("ann, bob"), names.accepts("")
        (['ann', 'bob'], False)
    """
    return Constraint(repeated(_source(part), min, max, separator))


def template(text: str, /, **parts: Constraint) -> Constraint:
    """Fixed text and generated parts in turn, as one constraint over the whole.

    The whole is composed at once, so a token may cross the border of two parts.

    Args:
        text: With ``{name}`` for each part; ``{{`` and ``}}`` stand for single braces.
        parts: For each name a constraint: `gen`, `many`, or any other.

    Returns:
        A constraint whose `Constraint.parse` gives the parts as a dict. Where a text can be divided
        in several ways, each part from the left takes the longest stretch with which the rest still
        fits.

    Raises:
        ConstraintError: The names of the text and the parts do not fit.

    Example:
        >>> greeting = template("Hello {who}, you are {age}.", who=gen(stop=","),
        ...                     age=gen(regex="[0-9]+"))
        >>> greeting.parse("Hello Ann, you are 30.")
        {'who': 'Ann', 'age': '30'}
    """
    return Constraint(templated(text, **{name: _source(part) for name, part in parts.items()}))


def _source(part: object) -> object:
    if not isinstance(part, Constraint):
        return part
    if part.rules is not None:
        raise filtered_operand()
    return part.source
