"""The functions of phases that users call: control tokens and free text."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.alphabet import MOST_ID
from explorer.arguments import listed, shown, whole_number
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.phases.control import AnyTokens, ControlToken, Name, checked_name
from explorer.languages.phases.free import AnyText, checked_strings, text_until_source


def token(token: str | int) -> Constraint:
    """Exactly one control token: a token that is not text, such as ``<|tool_call|>``.

    It writes nothing into the text, and text that looks the same is not it. It combines with every
    other constraint: ``token("<think>") + text_until("</think>") + json_schema(...)``. A class of
    characters, free text and a complement hold no control token. A constraint with control tokens
    is asked with what a vocabulary says its tokens write (`Vocabulary.written`); no text alone is a
    word where a control token must stand.

    Args:
        token: Its name as the tokenizer has it (`Vocabulary.special`), or its id. Which tokens
            there are is known with a vocabulary only: `explorer.compile` refuses a name or an id
            that it does not have, that is text, or that ends the text. A name that several ids have
            stands for each of them.

    Raises:
        ConstraintError: It is neither a name nor an id.

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
    """Any number of tokens, of text or control tokens, none included, but for some control tokens.

    The text between two control tokens is whole characters. Tokens that end the text are never
    part of it.

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
        raise ConstraintError(
            f"excluding={excluding!r} would mean its single characters.",
            remedy=f"Give a list: excluding=[{excluding!r}].",
        )
    given = listed("excluding", excluding, "a list of tokens", error=ConstraintError)
    return Constraint(AnyTokens(tuple(dict.fromkeys(map(_name, given)))))


def any_text(*, excluding: Iterable[str] = ()) -> Constraint:
    """Any text, the empty one included, in which none of some strings occurs.

    Strings are sought in the text, not in the tokens: one that is spread over two tokens, or lies
    inside of one, counts too. Control tokens are not text; see `any_tokens`.

    Args:
        excluding: Strings of at least one character.

    Raises:
        ConstraintError: ``excluding`` is not a list of such strings.

    Example:
        >>> free = any_text(excluding=["</a>"])
        >>> free.accepts("<a> </"), free.accepts("x</a>y")
        (True, False)
    """
    return Constraint(AnyText(checked_strings("excluding", excluding)))


def text_until(end: str, *more: str) -> Constraint:
    """Any text up to where a string occurs for the first time, and that string.

    A token may hold the end of the string and text behind it. (`terminals.text_until` ends with a
    token.) To end with a control token, write ``any_text() + token("</think>")``.

    Args:
        end: At least one character.
        *more: Further strings; the first that is complete ends the text.

    Raises:
        ConstraintError: A string is empty or not valid text.

    Example:
        >>> thought = text_until("</think>")
        >>> [thought.accepts(text) for text in ("so </think>", "so", "a</think>b</think>")]
        [True, False, False]
    """
    return Constraint(text_until_source([end, *more]))


def _name(token: object) -> Name:
    if isinstance(token, str):
        return checked_name(token)
    if isinstance(token, bool) or not isinstance(token, int):
        raise ConstraintError(
            f"{shown(token)} is not a control token.",
            remedy="Give the name of a token, such as '<think>', or its id.",
        )
    return whole_number("token", token, 0, MOST_ID, error=ConstraintError)
