"""Terminals as functions: quoted strings, plain scalars, pieces of a text, lists.

Each returns a constraint that combines with all others. It is a pattern with one specially named
group (`explorer.languages.terminals`), so it can be edited, saved and explained like any pattern.
In your own pattern write the group itself; `escape` turns any text into an argument of it.

    >>> from explorer import literal, terminals
    >>> c = literal("name: ") + terminals.quoted_text()
    >>> c.accepts('name: "Ada \\\\"Countess\\\\" Lovelace"')
    True

(Koo, Liu & He 2024, "Automata-based constraints for language model decoding", table 1.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from explorer.arguments import listed, whole_number, wrong
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, literal, regex
from explorer.languages.sources.choice import check_encodable
from explorer.languages.terminals.kinds import as_argument

__all__ = [
    "delimited_list",
    "delimited_subsequence_of",
    "escape",
    "image",
    "paragraph_token",
    "quoted_text",
    "substring_of",
    "text_token",
    "text_until",
    "unquoted_text",
]


def escape(text: str) -> str:
    """A text escaped as the argument of a terminal in a pattern.

    Raises:
        ConstraintError: It is not a text, or holds half of a surrogate pair.

    Example:
        >>> from explorer import regex
        >>> regex(f"(?P<SUBSTRING_OF>{escape('f(x) | y')})").accepts("(x) |")
        True
    """
    return as_argument(_text("text", text))


def quoted_text() -> Constraint:
    """A string in double quotes on one line; a backslash may stand before any character.

    The group ``(?P<QUOTED_TEXT>)``; the texts of ``"(?:[^"\\\\\\n]|\\\\.)*"``.

    Example:
        >>> quoted_text().accepts('"a \\\\" b"'), quoted_text().accepts('"a " b"')
        (True, False)
    """
    return regex("(?P<QUOTED_TEXT>)")


def unquoted_text() -> Constraint:
    """A plain scalar of YAML on one line, outside of brackets and braces.

    The group ``(?P<UNQUOTED_TEXT>)``. A YAML reader reads it as one scalar with exactly this text,
    which it may resolve to a number or ``true``. (YAML 1.2.2, section 7.3.3; without tabs.)

    Example:
        >>> plain = unquoted_text()
        >>> plain.accepts("it's a:b"), plain.accepts("a: b"), plain.accepts("- a")
        (True, False, False)
    """
    return regex("(?P<UNQUOTED_TEXT>)")


def substring_of(text: str) -> Constraint:
    """Any non-empty substring of a text, as a machine of at most two states per byte.

    The group ``(?P<SUBSTRING_OF>text)``. (Suffix automaton; Blumer et al. 1985.)

    Args:
        text: At least one character.

    Raises:
        ConstraintError: It is not a text, or holds half of a surrogate pair.
        RegexError: It is empty.

    Example:
        >>> quote = substring_of("to be, or not to be")
        >>> quote.accepts("not to"), quote.accepts("to not")
        (True, False)
    """
    return regex(f"(?P<SUBSTRING_OF>{escape(text)})")


def delimited_list(item: str | Constraint, delimiter: str = ", ") -> Constraint:
    """One or more items with a delimiter between each two.

    The group ``(?P<DELIMITED_LIST>delimiter|pattern)``.

    Args:
        item: A pattern or a constraint that each item matches.
        delimiter: The text between two items; not empty.

    Raises:
        ConstraintError, RegexError: An argument cannot be used.

    Example:
        >>> numbers = delimited_list("[0-9]+")
        >>> numbers.accepts("1, 22, 3"), numbers.accepts("1, ")
        (True, False)
    """
    if isinstance(item, Constraint):
        if not _text("delimiter", delimiter):
            raise ConstraintError("The delimiter is empty.", remedy="Write item.plus().")
        return item + (literal(delimiter) + item).star()
    return regex(f"(?P<DELIMITED_LIST>{escape(delimiter)}|{_text('item', item)})")


def delimited_subsequence_of(items: Iterable[str], delimiter: str = ", ") -> Constraint:
    """One or more of the given items, in the given order, with a delimiter between each two.

    The group ``(?P<DELIMITED_SUBSEQUENCE_OF>delimiter|item|item|…)``.

    Args:
        items: Non-empty texts. One that is given twice may occur twice.
        delimiter: The text between two items; not empty.

    Raises:
        ConstraintError, RegexError: An argument cannot be used.

    Example:
        >>> some = delimited_subsequence_of(["red", "green", "blue"])
        >>> some.accepts("red, blue"), some.accepts("blue, red")
        (True, False)
    """
    if isinstance(items, str):
        raise ConstraintError(
            "The items are one text, which would mean its characters.",
            remedy="Give a list of texts.",
        )
    given = listed("items", items, "a list of texts", error=ConstraintError)
    if not given:
        raise ConstraintError("There are no items.", remedy="Give one text.")
    texts = [escape(cast("str", item)) for item in given]
    return regex(f"(?P<DELIMITED_SUBSEQUENCE_OF>{'|'.join([escape(delimiter), *texts])})")


def text_token() -> Constraint:
    """Any single text token.

    The group ``(?P<TEXT_TOKEN>)``. The algebra restricts it further: ``text_token() &
    regex("[a-z]+")`` is one token of lower-case letters.

    Constraints over tokens have a meaning only with a vocabulary. For a text they answer whether it
    can be split into pieces that satisfy them; see `Constraint.over_tokens`.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"bc", b"\\n"], eos_ids=[3])
        >>> machine = explorer.compile(text_token() & regex("[a-z]+"), vocab)
        >>> machine.allowed(machine.start).tolist()
        [True, True, False, False]
    """
    return regex("(?P<TEXT_TOKEN>)")


def paragraph_token() -> Constraint:
    """Any single text token without a newline; the group ``(?P<PARAGRAPH_TOKEN>)``.

    Example:
        >>> paragraph_token().accepts("a line"), paragraph_token().accepts("a\\nline")
        (True, False)
    """
    return regex("(?P<PARAGRAPH_TOKEN>)")


def text_until(stop: str) -> Constraint:
    """Text tokens up to a stop phrase, which ends the last of them and occurs nowhere before.

    The group ``(?P<TEXT_UNTIL>stop phrase)``. No token crosses its boundaries; for text that may
    share tokens with its surroundings, write a pattern: ``regex(r"(?s:(?:(?!END).)*END)")``.

    Args:
        stop: At least one character. It may be spread over tokens.

    Raises:
        ConstraintError: It is not a text, or holds half of a surrogate pair.
        RegexError: It is empty.

    Example:
        >>> text_until("END").accepts("to the END"), text_until("END").accepts("END and on")
        (True, False)
    """
    return regex(f"(?P<TEXT_UNTIL>{escape(stop)})")


def image(*ids: int) -> Constraint:
    """One token that is not text, such as an image placeholder of a vision model.

    The group ``(?P<IMAGE>)``, or ``(?P<IMAGE>id|id|…)``. It writes nothing into the text.

    Args:
        *ids: The allowed ids; without any, every id that is neither text nor an end of text.

    Raises:
        ConstraintError: An id is not a whole number from 0 on.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", None, None], eos_ids=[2])
        >>> machine = explorer.compile(image(), vocab)
        >>> machine.allowed(machine.start).tolist()
        [False, True, False]
    """
    written = [str(whole_number("id", token, 0, error=ConstraintError)) for token in ids]
    return regex(f"(?P<IMAGE>{'|'.join(written)})")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        remedy = "Write it as a string."
        raise wrong(name, value, "a text", remedy=remedy, error=ConstraintError)
    check_encodable(value)
    return value
