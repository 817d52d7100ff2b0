"""The functions for templates: `template`, `gen` and `many`."""

from __future__ import annotations

import re

from explorer.languages.constraint import Constraint
from explorer.languages.schema.reading.text import is_response_format
from explorer.languages.stages.staged import check_operand
from explorer.languages.template.generated import generated, repeated, templated
from explorer.languages.types.schema import is_type
from explorer.languages.types.source import as_constraint


def gen(
    name: str | None = None,
    *,
    regex: str | re.Pattern[str] | None = None,
    choices: object = None,
    stop: object = None,
    stop_regex: str | re.Pattern[str] | None = None,
    json_schema: object = None,
    type: object = None,
    constraint: Constraint | None = None,
    max_tokens: int | None = None,
) -> Constraint:
    """A part of a template that the model writes: any text, or one kind; with a limit on tokens.

    Args:
        name: A name of the part outside a template; the parsed value is then a dict of one entry,
            also in ``|``, and as a part of `template` and `many`. What ``+`` joins is parsed as one
            text, without its names: write ``template("Name: {x}.", x=gen(...))``.
        regex: A pattern, as for `regex`.
        choices: Texts, or a mapping from names to texts, as for `choice`.
        stop: A text, or several: any text before the first of them.
        stop_regex: A pattern: any text before its first match. The pattern has no assertions and
            does not match the empty text.
        json_schema: A JSON Schema, as for `json_schema`.
        type: A Python type, as for `from_type`; the parsed value is an instance.
        constraint: Any other constraint, to give it a limit.
        max_tokens: The most tokens that may write the part; ``None`` for no limit. A token counts
            if it writes at least one byte of the part, so one that crosses into the part, or out of
            it, counts too. The part is never cut off: tokens after which it could not be complete
            within the limit are masked.

    Raises:
        ConstraintError: Several kinds are given, or the limit is not a whole number from 1 to
            10,000.

    Example:
        >>> gen(stop='"').accepts('a "quoted" text'), gen(stop='"').accepts("plain")
        (False, True)
        >>> gen(stop_regex="[.!?]").accepts("Yes"), gen("age", regex="[0-9]+").parse("41")
        (True, {'age': '41'})
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b'b"', b'"'], eos_ids=[4])
        >>> quoted = template('"{x}"', x=gen(stop='"', max_tokens=2))
        >>> machine = explorer.compile(quoted, vocab)
        >>> state = machine.start
        >>> for token in (3, 0, 1):  # " a b
        ...     state = machine.step(state, token)
        >>> machine.allowed(state).tolist()
        [False, False, False, True, False]
    """
    given = {
        "regex": regex, "choices": choices, "stop": stop, "stop_regex": stop_regex,
        "json_schema": json_schema, "type": type, "name": name, "max_tokens": max_tokens,
        "constraint": constraint if constraint is None else _source(constraint),
    }  # fmt: skip
    return Constraint(generated(**given))


def many(
    part: Constraint | str, min: int = 0, max: int | None = None, *, separator: str = ""
) -> Constraint:
    """A part several times, with a separator between.

    Args:
        part: The part to repeat; a str stands for that text.
        min: The fewest times.
        max: The most times; ``None`` for no limit.
        separator: The text between two repetitions, not after the last one.

    Returns:
        A constraint whose `Constraint.parse` gives a list of the parsed values of the part.

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
    """Fixed text and generated parts as one constraint.

    It is one machine over the whole text, so a token may cross the border of two parts.

    Args:
        text: The text with ``{name}`` for each part; ``{{`` and ``}}`` stand for single braces.
        parts: A constraint for each name: `gen`, `many`, or any other.

    Returns:
        A constraint whose `Constraint.parse` gives the parts as a dict. Where a text can be divided
        in several ways, each part from the left takes the longest stretch with which the rest still
        fits.

    Raises:
        ConstraintError: The names in the text and those of the parts differ.

    Example:
        >>> greeting = template("Hello {who}, you are {age}.", who=gen(stop=","),
        ...                     age=gen(regex="[0-9]+"))
        >>> greeting.parse("Hello Ann, you are 30.")
        {'who': 'Ann', 'age': '30'}
    """
    return Constraint(templated(text, **{name: _source(part) for name, part in parts.items()}))


def _source(part: object) -> object:
    if is_type(part) or is_response_format(part):
        part = as_constraint(part)
    return check_operand(part.source) if isinstance(part, Constraint) else part
