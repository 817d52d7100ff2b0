"""Control tokens that a user or a constraint names, looked up in a vocabulary.

The spelling of a token is its text, or its name where it is a control token. `Session.step`,
`Session.explain` and the lists of `Session.feed` accept spellings.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from explorer.alphabet import between_letters, in_quotes, letter
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.nodes import Source
from explorer.errors import VocabularyError
from explorer.tokens.walks.trie import after_token
from explorer.vocabulary import Vocabulary

_CLOSE: Final = 0.75
"""The similarity from which a text may be a misspelled control token."""


def control_token_spelled(vocabulary: Vocabulary, text: str) -> int | None:
    """The control token that a text names; ``None`` where the text is ordinary text.

    A text that some token writes is ordinary text, and EOS tokens are chosen by id alone.

    Example:
        >>> vocab = Vocabulary((b"a", None, None), (2,), special={1: "<think>", 2: "<end>"})
        >>> [control_token_spelled(vocab, text) for text in ("<think>", "a", "<end>")]
        [1, None, None]
    """
    named = [token for token, name in vocabulary.special.items() if name == text]
    if len(named) != 1 or named[0] in vocabulary.eos_ids:
        return None
    return None if vocabulary.ids_of(text.encode(errors="replace")) else named[0]


def near_control_tokens(vocabulary: Vocabulary, text: str) -> str:
    """A sentence that names control tokens with a similar spelling; empty if there are none.

    Example:
        >>> vocab = Vocabulary((b"a", None, None), (2,), special={1: "<think>", 2: "<end>"})
        >>> near_control_tokens(vocab, "<thnk>"), near_control_tokens(vocab, "a")
        ('The control token near it is <think>.', '')
    """
    near = get_close_matches(text, vocabulary.special.values(), 3, _CLOSE)
    return f"The control token near it is {' or '.join(near)}." if near else ""


def in_own_letters(vocabulary: Vocabulary, machine: ByteMachine, state: int, word: bytes) -> bytes:
    """A word that a machine reads from a state, with letters of this vocabulary where they lead on
    alike: a constraint that names a control token leaves its id open.

    Example:
        >>> from explorer import token
        >>> vocab = Vocabulary((b"a", None, None), (2,), special={1: "<t>"})
        >>> machine = token("<t>").machine
        >>> in_own_letters(vocab, machine, machine.start, letter("<t>", 0)) == letter("<t>", 1)
        True
    """
    own = bytearray()
    for part in between_letters(word):
        if isinstance(part, tuple):
            part = letter(*part)
            target = after_token(machine, state, part)
            alike = (
                each
                for each in vocabulary.letters.values()
                if after_token(machine, state, each) == target
            )
            part = next(alike, part)
        own += part
        state = after_token(machine, state, part) if part else state
    return bytes(own)


def check_control_tokens(source: Source, vocabulary: Vocabulary) -> None:
    """Refuse a source that names control tokens which a vocabulary does not have.

    Raises:
        VocabularyError: A token is missing, is a text token, or ends the text.
    """
    for token in source.control_tokens:
        if isinstance(token, str):
            if any(name == token and k in vocabulary.letters
                   for k, name in vocabulary.special.items()):  # fmt: skip
                continue
            ids = [k for k, name in vocabulary.special.items() if name == token]
            ids += vocabulary.ids_of(token.encode())
            named = f"the token {token}"
        else:
            if token in vocabulary.letters:
                continue
            ids = [token] if token < len(vocabulary) else []
            named = f"the token {token}"
        raise _not_a_control_token(named, token, ids, vocabulary)


def _not_a_control_token(
    named: str, token: str | int, ids: list[int], vocabulary: Vocabulary
) -> VocabularyError:
    """The error that says why a token is not a control token of a vocabulary."""
    evidence = {"token": token, "ids": ids}
    if not ids:
        near = get_close_matches(str(token), vocabulary.special.values(), 3)
        like = f"Near it are {', '.join(near)}. " if near else ""
        return VocabularyError(
            f"The constraint speaks of {named}, which this vocabulary does not have.",
            remedy=f"{like}Take a name from vocabulary.special, or an id below "
            f"{len(vocabulary):,}.",
            evidence=evidence,
        )
    if ids[0] in vocabulary.eos_ids:
        return VocabularyError(
            f"The constraint speaks of {named}, which ends the text with this vocabulary.",
            remedy="Leave it out, since the end of text is allowed wherever a text is complete; or "
            "name other ends of text: Vocabulary.from_file(path, eos_ids=[...]).",
            evidence=evidence,
        )
    data = vocabulary.tokens[ids[0]]
    if data is None:
        return VocabularyError(
            f"The constraint speaks of {named}, which the model cannot give.",
            remedy="Take a token from vocabulary.not_text.",
            evidence=evidence,
        )
    text = data.decode(errors="replace")
    return VocabularyError(
        f"The constraint speaks of {named} as a control token; in this vocabulary it is text, "
        f"{in_quotes(text)}.",
        remedy=f"Write literal({text!r}), or terminals.text_token() & literal({text!r}) where it "
        "must be one token.",
        evidence=evidence,
    )
