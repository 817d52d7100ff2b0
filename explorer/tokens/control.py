"""Control tokens that a constraint speaks of, looked up in a vocabulary."""

from __future__ import annotations

from difflib import get_close_matches

from explorer.alphabet import in_quotes
from explorer.automata.tree.nodes import Source
from explorer.errors import VocabularyError
from explorer.vocabulary import Vocabulary


def check_control_tokens(source: Source, vocabulary: Vocabulary) -> None:
    """Refuse a source that speaks of control tokens which a vocabulary does not have.

    Raises:
        VocabularyError: A token is not there, is text, or ends the text.
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
    """The error for a token that is not a control token of a vocabulary, and why."""
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
