"""The functions for phases that users call: control tokens, free text, named parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import Final, cast

from explorer.alphabet import MOST_ID
from explorer.arguments import flag, instance, listed, plain, shown, whole_number
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, literal
from explorer.languages.phases.control import AnyTokens, ControlToken, Name, checked_name
from explorer.languages.phases.free import AnyText, TextUntil
from explorer.languages.phases.phase import Phase, checked_phase_name
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.schema.reading.text import is_response_format
from explorer.languages.stages.staged import check_operand
from explorer.languages.types.schema import is_type
from explorer.languages.types.source import as_constraint
from explorer.vocabulary import Vocabulary

_WRITTEN: Final = ("begin", "end", "triggers", "value", "separator")
_HOLDING: Final = ("format", "elements", "tags", "content", "structures")
"""The members of a tag that hold other formats; `_WRITTEN` are those that are fixed strings."""


def token(token: str | int) -> Constraint:
    """Exactly one control token: a token that is not text, such as ``<|tool_call|>``.

    It writes nothing into the text, and text that looks the same is a different thing. It combines
    with every other constraint: ``token("<think>") + text_until("</think>") + json_schema(...)``. A
    class of characters, free text and a complement contain no control token. To test a constraint
    with control tokens, give it the bytes that a vocabulary writes for tokens
    (`Vocabulary.written`); plain text is not a word where a control token is required.

    Args:
        token: The tokenizer's name of the token (`Vocabulary.special`), or its id. It is checked
            with the vocabulary: `explorer.compile` refuses a name or an id that the vocabulary does
            not have, that is text, or that ends the text. A name of several ids stands for each of
            them.

    Raises:
        ConstraintError: The argument is neither a name nor an id.

    Example:
        >>> import explorer
        >>> names = {2: "<tool>", 3: "<end>"}
        >>> vocab = explorer.Vocabulary((b"a", b"<tool>", None, None), (3,), special=names)
        >>> machine = explorer.compile(explorer.token("<tool>") + explorer.regex("a+"), vocab)
        >>> machine.allowed(machine.start).tolist()  # the control token, not the text
        [False, False, True, False]
        >>> (explorer.token("<tool>") + explorer.regex("a+")).accepts(vocab.written([2, 0, 0]))
        True
    """
    return Constraint(ControlToken(_name(token)))


def any_tokens(*, excluding: Iterable[str | int] = ()) -> Constraint:
    """Any number of tokens of text and control tokens, possibly none, without some control tokens.

    The text between two control tokens consists of whole characters. Tokens that end the text are
    never included.

    Args:
        excluding: Names or ids of control tokens. To keep a string out of the text write
            `any_text`; for tokens of text, ``terminals.text_token() - literal(...)``.

    Raises:
        ConstraintError: ``excluding`` is not a list of names and ids.

    Example:
        >>> import explorer
        >>> names = {1: "<think>", 2: "</think>", 3: "<end>"}
        >>> vocab = explorer.Vocabulary((b"a", None, None, None), (3,), special=names)
        >>> thought = any_tokens(excluding=["</think>"]) + token("</think>")
        >>> machine = explorer.compile(thought, vocab)
        >>> machine.allowed(machine.start).tolist()
        [True, True, True, False]
    """
    if isinstance(excluding, str):
        excluding = plain(excluding)
        raise ConstraintError(
            f"excluding={excluding!r} would mean its single characters.",
            remedy=f"Give a list: excluding=[{excluding!r}].",
        )
    given = listed("excluding", excluding, "a list of tokens", error=ConstraintError)
    return Constraint(AnyTokens(tuple(dict.fromkeys(map(_name, given)))))


def any_text(*, excluding: Iterable[str] = ()) -> Constraint:
    """Any text, possibly empty, in which none of some strings occurs.

    Strings are searched in the text, not in the tokens: a string that is spread over two tokens, or
    lies inside one, counts too. Control tokens are not text; see `any_tokens`.

    Args:
        excluding: Strings of at least one character.

    Raises:
        ConstraintError: ``excluding`` is not a list of such strings.

    Example:
        >>> free = any_text(excluding=["</a>"])
        >>> free.accepts("<a> </"), free.accepts("x</a>y")
        (True, False)
    """
    return Constraint(AnyText.of("excluding", excluding))


def text_until(end: str, *more: str) -> Constraint:
    """Any text up to and including the first occurrence of a string.

    A token may hold the end of the string and text behind it. (`terminals.text_until` ends with a
    token.) To end with a control token, write ``any_text() + token("</think>")``.

    Args:
        end: The string, of at least one character.
        *more: Further strings; the first that is complete ends the text.

    Raises:
        ConstraintError: A string is empty or not valid text.

    Example:
        >>> thought = text_until("</think>")
        >>> [thought.accepts(text) for text in ("so </think>", "so", "a</think>b</think>")]
        [True, False, False]
    """
    return Constraint(TextUntil.of("end", [end, *more]))


def phase(
    name: str,
    constraint: Constraint | str,
    *,
    begin: Constraint | str | None = None,
    end: Constraint | str | None = None,
    role: str = "",
) -> Constraint:
    """A named part of a run, such as ``reasoning``; it combines like any other constraint.

    The name does not change the texts. It appears in every reason ("in the phase reasoning"),
    beside the tokens of a trace, and in the result of `Constraint.parse`. Phases may nest.

    Args:
        name: One line of 1 to 80 characters.
        constraint: The content; a str stands for that text.
        begin: The beginning of the phase, such as ``token("<think>")``, which is not in its value.
        end: The end of the phase, which is not in its value.
        role: The writer, if it is not the model, such as ``"tool"``: `Session.run` stops before
            the phase, and `Session.feed` supplies the text.

    Raises:
        ConstraintError: The name cannot stand in a sentence, or another argument is not a
            constraint.

    Example:
        >>> from explorer import regex
        >>> sums = phase("sum", regex("[0-9]+")) + (phase("check", " ok") | phase("doubt", " ?"))
        >>> [(part.name, part.text) for part in sums.parse("12 ok")]
        [('sum', '12'), ('check', ' ok')]
    """
    given = {"begin": begin, "end": end}
    around = {key: None if c is None else _part(key, c) for key, c in given.items()}
    part, role = _part("constraint", constraint), _writer(role)
    return Constraint(Phase(checked_phase_name(name), part=part, **around, role=role))


def phases(
    *parts: Constraint | str | tuple[str, Constraint | str] | Mapping[str, Constraint | str],
) -> Constraint:
    """Phases in a row: each begins where the one before it may end.

    Args:
        *parts: The parts in order, each one of: ``(name, constraint)``; a mapping from names to
            constraints, of which the model chooses one by what it writes; a constraint, such as
            `phase` or ``phases(...).optional()``; a text. Use `many` for a part that repeats, with
            bounds and a separator.

    Returns:
        A constraint whose `Constraint.parse` gives the phases of a text in order.

    Raises:
        ConstraintError: There is no part, a mapping is empty, a name stands twice, or a part is
            something else.

    Example:
        >>> from explorer import choice, regex
        >>> run = phases(
        ...     ("reasoning", text_until("</think>")),
        ...     {"tool add": regex(r"add [0-9]+"), "answer": choice(["yes", "no"])},
        ... )
        >>> [(part.name, part.text) for part in run.parse("2 and 2</think>add 4")]
        [('reasoning', '2 and 2</think>'), ('tool add', 'add 4')]
    """
    if not parts:
        raise ConstraintError(
            "There is no phase.", remedy='Give at least one: phases(("answer", regex(...))).'
        )
    names: set[str] = set()
    return reduce(add, (_in_a_row(part, names) for part in parts))


def _in_a_row(part: object, names: set[str]) -> Constraint:
    """One part of `phases`; adds its names to ``names``."""
    if isinstance(part, Mapping):
        one_of = [
            _named(*each, names) for each in cast("Mapping[object, object]", part).items()
        ]  # fmt: skip
        if not one_of:
            raise ConstraintError(
                "A mapping of phases is empty: the model could choose none of them.",
                remedy="Give at least one, or leave the mapping out.",
            )
        return reduce(lambda left, right: left | right, one_of)
    if isinstance(part, tuple):
        pair = cast("tuple[object, ...]", part)
        if len(pair) == 2:
            return _named(*pair, names)
    if isinstance(part, Constraint | str):
        return Constraint(_part("a phase", part))
    raise ConstraintError(
        f"{shown(cast('object', part))} is not a phase.",
        remedy='Write ("answer", regex(...)), a mapping of those, or phase("answer", ...).',
    )


def _named(name: object, constraint: object, names: set[str]) -> Constraint:
    checked = checked_phase_name(name)
    if checked in names:
        raise ConstraintError(
            f"Two phases have the name {checked!r}.",
            remedy="Give each a name of its own, so that a reason says which it means.",
            evidence={"name": checked},
        )
    names.add(checked)
    return Constraint(Phase(checked, None, _part(checked, constraint)))


def _writer(role: object) -> str:
    """The checked role; empty for the model."""
    return "" if isinstance(role, str) and not role else checked_phase_name(role, "role")


def _part(name: str, constraint: object) -> Source:
    """The source of a constraint; a str stands for that text."""
    if isinstance(constraint, str):
        return literal(constraint).source
    if is_type(constraint) or is_response_format(constraint):
        constraint = as_constraint(constraint)
    if not isinstance(constraint, Constraint):
        raise ConstraintError(
            f"{name} is {shown(constraint)}, not a constraint.",
            remedy="Give regex(...), a text for itself, or any other constraint.",
        )
    return check_operand(constraint.source)


def structural_tag(
    tag: Mapping[str, object] | str,
    *,
    control_tokens: Iterable[str] | Vocabulary = (),
    strict: bool = True,
) -> Constraint:
    """A run of several phases in the format of xgrammar, vLLM and SGLang.

    Every type of xgrammar 0.2.8 is read, ``{"type": "structural_tag", "format": {...}}`` or the
    format alone, and vLLM's older form with ``structures`` and ``triggers``. What cannot be
    followed is refused with its JSON Pointer. `Constraint.parse` gives the parts of a text: free
    text, values and tags.

    Args:
        tag: The structural tag as Python data, or as JSON text.
        control_tokens: Names in the strings of the tag, such as ``<|tool_call_begin|>``, that stand
            for control tokens; or a vocabulary, for the names of all its control tokens.
            `explorer.compile` refuses a tag that needs a token which ends the text, and its
            ``report.warnings`` lists the given names that stand in no string. By default strings
            are text, as for a server that reads a token by the text of its name.
        strict: Whether a keyword of a schema that no automaton can follow exactly is an error, as
            in `json_schema`.

    Raises:
        ConstraintError: The data is not a structural tag, or a part of it cannot be followed.

    Source:
        xgrammar 0.2.8, ``xgrammar/structural_tag.py``.

    Example:
        >>> number = {"type": "regex", "pattern": "[0-9]+"}
        >>> call = {"type": "tag", "begin": "<add>", "content": number, "end": "</add>"}
        >>> c = structural_tag({"type": "triggered_tags", "triggers": ["<add"], "tags": [call]})
        >>> c.accepts("so: <add>12</add>"), c.accepts("so: <add>x</add>")
        (True, False)
        >>> c.parse("so: <add>12</add>")[1]
        {'tag': '<add>', 'parts': [{'value': '12'}]}
    """
    names, strict = control_names(control_tokens), flag("strict", strict)
    made = StructuralTag.of(tag, names, strict=strict)
    if isinstance(control_tokens, Vocabulary):
        special = control_tokens.special
        ends = [special[end] for end in control_tokens.eos_ids if special.get(end)]
        needed = tuple(end for end in ends if _is_needed(end, ends, json.loads(made.tag)))
        if needed:  # `explorer.compile` refuses them, because they end the text.
            made = StructuralTag.of(tag, (*names, *needed), strict=strict)
        made = made.with_met_controls()
    return Constraint(made)


def _is_needed(name: str, ends: list[str], value: object) -> bool:
    """Whether a tag needs a name that ends the text: a string has it, without an alternative."""
    if isinstance(value, list):
        return any(_is_needed(name, ends, each) for each in cast("list[object]", value))
    if not isinstance(value, dict):
        return False
    for key, each in cast("dict[str, object]", value).items():
        if key in _WRITTEN:
            strings = cast("list[object]", each if isinstance(each, list) else [each])
            texts = [text for text in strings if isinstance(text, str)]
            others = any(not any(end in text for end in ends) for text in texts)
            if not others and any(name in text for text in texts):
                return True
        elif key in _HOLDING and _is_needed(name, ends, each):
            return True
    return False


def control_names(given: Iterable[str] | Vocabulary) -> tuple[str, ...]:
    """The names of control tokens that were given, or those of a vocabulary.

    Raises:
        ConstraintError: The argument is neither.
    """
    if isinstance(given, Vocabulary):
        ends = set(given.eos_ids)
        return tuple(given.special[token] for token in given.special if token not in ends)
    names = listed("control_tokens", given, "a list of names", error=ConstraintError)
    remedy = "Give names, such as '<|tool_call|>'."
    return tuple(
        checked_name(
            instance("control_tokens", name, str, "a name", error=ConstraintError, remedy=remedy)
        )
        for name in names
    )


def _name(token: object) -> Name:
    if isinstance(token, str):
        return checked_name(plain(token))
    if isinstance(token, bool) or not isinstance(token, int):
        raise ConstraintError(
            f"{shown(token)} is not a control token.",
            remedy="Give the name of a token, such as '<think>', or its id.",
        )
    return whole_number("token", token, 0, MOST_ID, error=ConstraintError)
