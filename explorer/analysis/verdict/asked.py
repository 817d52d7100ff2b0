"""Checks of a question's arguments: a machine, a token or a text; and a text as ids.

A text becomes the tokenizer's own ids, else the fewest that write it. A tokenizer that adds a space
in front of a text would change the question, so its ids count only if they write exactly this
text.
"""

from __future__ import annotations

from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import show_text
from explorer.arguments import plain, whole_number, wrong
from explorer.errors import ExplorerError
from explorer.tokens.control import control_token_spelled, near_control_tokens
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.spelling import fewest_tokens
from explorer.tokens.walks.trie import trie_of


def checked_machine(machine: object) -> TokenMachine:
    """A token machine, checked.

    Raises:
        ExplorerError: The value is not one.
    """
    if not isinstance(machine, TokenMachine):
        remedy = "Make it with explorer.compile(constraint, vocabulary)."
        raise wrong("machine", machine, "a token machine", remedy=remedy)
    return machine


def token_or_text(token: object) -> int | str:
    """An id or a text, checked.

    Raises:
        ExplorerError: The value is neither.
    """
    if isinstance(token, str):
        return plain(token)
    try:
        return whole_number("token", token, None)
    except ExplorerError:
        remedy = "Give a token id, or text as a str."
        if isinstance(token, bytes):
            remedy = "Give the id: Vocabulary.ids_of has those that write some bytes."
        raise wrong("token", token, "a token", remedy=remedy) from None


def as_bytes(text: object) -> bytes:
    """A text as UTF-8; half of a surrogate pair becomes bytes that no constraint accepts.

    Raises:
        ExplorerError: The value is neither str nor bytes.
    """
    if isinstance(text, str):
        return plain(text).encode(errors="surrogatepass")
    if isinstance(text, bytes):
        return text
    raise wrong("text", text, "a text", remedy="Give a str, or bytes.")


def spelled_ids(machine: TokenMachine, text: str) -> tuple[tuple[int, ...], str]:
    """The ids that a user means by a text, and a note on their choice.

    A control token by its name, as in `Session.step`, else the ids of the text (`ids_of_text`).

    Raises:
        ExplorerError: The text is empty, or no tokens write it.
    """
    vocabulary = machine.vocabulary
    control = control_token_spelled(vocabulary, text)
    if control is not None:
        return (control,), ""
    near = "" if text in vocabulary.special.values() else near_control_tokens(vocabulary, text)
    try:
        ids, note = ids_of_text(machine, text)
    except ExplorerError as error:
        raise ExplorerError(
            error.message, remedy=near or error.remedy, evidence=error.evidence
        ) from None
    if near and len(ids) > 1:
        note = f"{show_text(as_bytes(text))} was read as letters. {near} {note}".rstrip()
    return ids, note


def ids_of_text(machine: TokenMachine, text: str) -> tuple[tuple[int, ...], str]:
    """The ids that stand for a text in a question, and a note on their choice.

    The tokenizer's own ids if they write exactly this text. If they add to it (a leading space,
    say), or without a tokenizer, the id with exactly these bytes, else the fewest tokens.

    Raises:
        ExplorerError: The text is empty, or no tokens write it.
    """
    ids, note = _ids_and_note(machine, text)
    named = [token for token, name in machine.vocabulary.special.items() if name == text]
    if named and named[0] not in ids:
        # In a text, the name of a special token is plain text to a constraint.
        hint = f"Id {named[0]} is a special token of this name: ask with --token-id {named[0]}."
        note = f"{hint} {note}".rstrip()
    return ids, note


def _ids_and_note(machine: TokenMachine, text: str) -> tuple[tuple[int, ...], str]:
    vocabulary = machine.vocabulary
    if not text:
        raise ExplorerError("An empty text is not a token.", remedy="Give at least one character.")
    data = as_bytes(text)
    ids = vocabulary.encode(text)
    written = None
    if ids is not None:
        written = b"".join(vocabulary.tokens[token] or b"" for token in ids)
        if ids and written == data:
            return ids, ""
    why = (
        "No tokenizer is at hand to split the text"
        if ids is None
        else f"For {show_text(data)} the tokenizer itself would write {show_text(written or b'')}"
    )
    if same := vocabulary.ids_of(data):
        return same[:1], "" if ids is None else f"{why}, so the id with just these bytes is meant."
    fewest = fewest_tokens(trie_of(vocabulary, machine.byte_machine), data)
    if fewest is None:
        raise ExplorerError(
            f"No tokens of this vocabulary write {in_quotes(text)}.",
            remedy="Ask about a text that the tokenizer can write, or about an id.",
            evidence={"text": text},
        )
    return fewest, f"{why}, so the fewest tokens that write just this text are meant."
