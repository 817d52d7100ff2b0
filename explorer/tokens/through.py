"""A constraint composed with any transducer from token ids to bytes.

Where each token always writes the same bytes, a transducer is a vocabulary: the ids are the
model's, the bytes are the transducer's. Where it remembers something between tokens (a space that
is dropped at the start of a text), the constraint becomes one over sequences of tokens
(`explorer.languages.sources.detokenized`), and in the machine, its figures and its explanations a
token stands for its name, that is for its bytes in the usual vocabulary.
"""

from __future__ import annotations

from typing import cast

from explorer.automata.interchange.detokenizers import transducer_of
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.detokenized import Detokenized
from explorer.vocabulary import Vocabulary


def through(
    constraint: Constraint, given: object, vocabulary: Vocabulary | None
) -> tuple[Constraint, Vocabulary]:
    """The constraint and the vocabulary whose composition equals that with a transducer.

    Args:
        given: The argument ``transducer`` of `explorer.compile`.

    Raises:
        VocabularyError: The value is not a transducer from ids of the vocabulary to bytes.
        ConstraintError: The constraint speaks about tokens itself, and the transducer remembers
            something between tokens.
    """
    transducer = transducer_of(given, vocabulary)
    words = transducer.words
    if words is not None:
        return constraint, cast(Vocabulary, words)
    source = constraint.source
    if source.over_tokens or source.control_tokens or source.token_stages:
        raise ConstraintError(
            "This constraint says something about tokens, and the transducer remembers something "
            "between tokens; the two are not followed together.",
            remedy="Leave out one of them.",
        )
    known = cast(Vocabulary, transducer.vocabulary)
    names: dict[bytes, int] = {}
    for _, token, _, _ in transducer.arcs:
        data = None if token is None else known.tokens[token]
        if token is not None and data is not None and _is_text(data):
            names.setdefault(data, token)
    # A token that is half a character, or whose name is taken, stands for its id.
    tokens = [
        data if data is not None and names.get(data) == token else None
        for token, data in enumerate(known.tokens)
    ]
    vocabulary = known.writing(tokens)
    named = {token: data for data, token in names.items()}
    for _, token, _, _ in transducer.arcs:
        if token is not None and token in vocabulary.letters:
            named.setdefault(token, vocabulary.letters[token])
    source = Detokenized(
        constraint.source, transducer.arcs, transducer.accepting, tuple(named.items())
    )
    return Constraint(source), vocabulary


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
