"""Tokens in the text that the model did not generate: a tool's result, a user's answer.

The constraint covers the whole conversation, so it reads them like all others: a phase says which
are allowed (``phase("result", any_text(), role="tool")``). The model reads them in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from explorer.alphabet import in_quotes
from explorer.arguments import instance, listed, plain, shown, whole_number, wrong
from explorer.decoding.models.arguments import token_of_text
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.tree import Setting, StepNode
from explorer.errors import ExplorerError
from explorer.tokens.control import near_control_tokens
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

Fed = str | Sequence[str | int]
"""A text; or a list of texts, names of control tokens, and ids."""

_FED: Final = "a text, or a list of texts, names of control tokens and ids"

MOST_CHARACTERS: Final = 20
"""The most characters of the name of a role."""


def fed_ids(vocabulary: Vocabulary, given: object) -> tuple[int, ...]:
    """The ids that a user feeds.

    Args:
        given: A text, which the tokenizer splits; or a list, in which the name of a control token
            stands for that token.

    Raises:
        ExplorerError: It is neither, is empty, or no tokens write one of the texts.

    Example:
        >>> vocab = Vocabulary((b"a", b"b", None, None), (3,), special={2: "<tool>"})
        >>> fed_ids(vocab, ["<tool>", "ab", 0])
        (2, 0, 1, 0)
    """
    given = plain(given)
    if isinstance(given, str):
        return _of_text(vocabulary, given)
    if isinstance(given, bytes) or not isinstance(given, Sequence):
        remedy = f"Give a list: [{shown(cast('object', given))}]." if type(given) is int else ""
        raise wrong("text_or_ids", given, _FED, remedy=remedy)
    control = {name: token for token, name in vocabulary.special.items()}
    ids: list[int] = []
    for entry in listed("text_or_ids", cast("object", given), _FED):
        entry = plain(entry)
        if isinstance(entry, str):
            ids += [control[entry]] if entry in control else _of_text(vocabulary, entry)
        else:
            ids.append(whole_number("an id", entry, 0, len(vocabulary) - 1))
    if not ids:
        raise ExplorerError("There is nothing to feed.", remedy="Give at least one token.")
    return tuple(ids)


def _of_text(vocabulary: Vocabulary, text: str) -> tuple[int, ...]:
    """The ids of a text: the tokenizer's own if they write exactly this text."""
    if not text:
        raise ExplorerError("An empty text is not a token.", remedy="Give at least one character.")
    data = text.encode(errors="replace")
    ids = vocabulary.encode(text)
    if ids is not None and b"".join(vocabulary.tokens[each] or b"" for each in ids) == data:
        return tuple(ids)
    one_by_one: list[int] = []
    for char in text:  # There is no tokenizer, or it adds something to every text.
        known = vocabulary.ids_of(char.encode(errors="replace"))
        if not known:
            raise ExplorerError(
                f"This vocabulary cannot write {in_quotes(text)} as it is.",
                remedy=near_control_tokens(vocabulary, text)
                or "Give ids, or texts of one token each.",
                evidence={"text": text},
            )
        one_by_one.append(token_of_text(vocabulary, char))
    return tuple(one_by_one)


def misread_name(vocabulary: Vocabulary, given: Fed) -> str:
    """The remedy where a text that was fed holds the name of a control token, or nearly is one.

    A text is text, whatever it looks like: what a stranger wrote must not become a control token.

    Returns:
        Empty where no text looks like one.

    Example:
        >>> vocab = Vocabulary((b"a", None, None), (2,), special={1: "<tool>", 2: "<end>"})
        >>> misread_name(vocab, "<tool>a")
        "'<tool>a' was read as letters. Name the control token by itself in a list: ['<tool>', …]."
    """
    texts = [given] if isinstance(given, str) else [e for e in given if isinstance(e, str)]
    names = set(vocabulary.special.values()) - {""}
    for text in texts:
        if text in names and not isinstance(given, str):
            continue
        said = f"{in_quotes(text)} was read as letters. "
        if inside := next((name for name in names if name in text), None):
            return f"{said}Name the control token by itself in a list: [{inside!r}, …]."
        if near := near_control_tokens(vocabulary, text):
            return f"{said}{near}"
    return ""


def checked_role(role: object, default: str) -> str:
    """The role that writes the fed tokens.

    Args:
        default: The role that must write next; empty if the model may.

    Raises:
        ExplorerError: It is not a short text of one line, or another role must write next.
    """
    if role is None:
        return default or "user"
    name = instance("role", role, str, "a name such as 'tool' or 'user'")
    if not name.strip() or len(name) > MOST_CHARACTERS or len(name.splitlines()) > 1:
        raise ExplorerError(
            f"{shown(name)} cannot be a role: it must be one line of 1 to {MOST_CHARACTERS} "
            "characters.",
            remedy="Give role='tool' or role='user'.",
        )
    if default and name != default:
        raise ExplorerError(
            f"The {default} writes next, and what is fed has the role {name!r}.",
            remedy=f"Give role={default!r}, or leave role out.",
            evidence={"role": name, "waits_for": default},
        )
    return name


def check_fed(setting: Setting, node: StepNode, ids: Sequence[int]) -> int | None:
    """The index of the first of some ids that is not allowed after a node, if any.

    Raises:
        ExplorerError: There are more ids than the remaining token budget.
    """
    state = node.state
    for k, token in enumerate(ids):
        remaining = setting.remaining(node.index + k)
        following = setting.rule.step(state, token) if state != DONE else None
        if following is None:
            return k
        if remaining is not None and not setting.rule.mask(state, remaining).allowed[token]:
            return k
        state = following
    if setting.max_tokens is not None and node.index + len(ids) > setting.max_tokens:
        raise ExplorerError(
            f"What is fed takes {len(ids)} tokens, and max_tokens={setting.max_tokens} leaves "
            f"{setting.max_tokens - node.index}.",
            remedy="Make a Session with a larger max_tokens.",
            evidence={"tokens": len(ids), "max_tokens": setting.max_tokens},
        )
    return None


def before_others(rule: Rule, ids: Sequence[int], run: tuple[int, ...]) -> tuple[int, ...]:
    """The part of a forced run before another role must write."""
    if rule.phases is None:
        return run
    others = (k for k in range(len(run)) if rule.waits_for((*ids, *run[:k])))
    return run[: next(others, len(run))]
