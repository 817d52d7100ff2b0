"""A constraint in a notation that other engines read, and a prefix as token ids.

A pattern, a choice of texts, a JSON Schema or a type that stands for one, and a grammar in GBNF or
Lark can be given to the other engines. A constraint combined by our own operators cannot: that is
an error with a remedy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from explorer.analysis.verdict.asked import ids_of_text
from explorer.arguments import plain, whole_number, wrong
from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.source import GbnfGrammar, GrammarText, LarkGrammar
from explorer.languages.regex.source import Regex
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.choice import Choice
from explorer.languages.types.source import JsonType
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from explorer.witnesses.engines import Greedy, Tokens
from explorer.witnesses.messages import Statement


def _schema(source: JsonSchema) -> Statement:
    options = source.options
    return Statement(
        "json_schema", source.schema, options.whitespace, options.property_order == "any"
    )


_STATED: Final[dict[type[Source], Callable[[Any], Statement]]] = {
    Regex: lambda source: Statement("regex", source.pattern),
    Choice: lambda source: Statement("regex", "|".join(map(re.escape, source.texts))),
    JsonSchema: _schema,
    JsonType: lambda source: _schema(source.part),  # A type stands for its schema.
    GbnfGrammar: lambda source: Statement("gbnf", source.grammar),
    LarkGrammar: lambda source: Statement("lark", source.grammar),
}
"""The kinds of sources that other engines read too, and the function that restates each."""


def statement_of(constraint: Constraint) -> Statement:
    """The constraint as it is given to the other engines.

    Raises:
        ConstraintError: No other engine reads a constraint of this kind.

    Example:
        >>> from explorer import choice
        >>> statement_of(choice(["a.b", "c"])).text
        'a\\\\.b|c'
    """
    source = constraint.source
    if isinstance(source, GrammarText) and source.start is not None:
        raise ConstraintError(
            f"Other engines begin with the rule of their notation, not with {source.start!r}.",
            remedy=f"Name that rule {source.reader.start!r}, and leave start=... out.",
        )
    made = _STATED.get(type(constraint.source))
    if made is None:
        kind = constraint.source.kind
        raise ConstraintError(
            f"Other engines cannot be asked for a constraint of the kind {kind!r}: it is not "
            "written in a notation that they read.",
            remedy="Give a regex, a choice, a JSON Schema, a type, or a grammar in GBNF or Lark.",
            evidence={"kind": kind},
        )
    return made(constraint.source)


def vocabulary_of(tokenizer: object) -> Vocabulary:
    """The vocabulary of a user's tokenizer argument.

    Args:
        tokenizer: A Vocabulary, a language model, a path, or a tokenizer object.
    """
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    own: object = getattr(tokenizer, "vocabulary", None)
    if isinstance(own, Vocabulary):
        return own
    if isinstance(tokenizer, str) or hasattr(tokenizer, "__fspath__"):
        return Vocabulary.from_file(cast("str", tokenizer))
    return Vocabulary.from_tokenizer(tokenizer)


def ids_of_prefix(machine: TokenMachine, prefix: object) -> tuple[int, ...]:
    """The token ids of a prefix.

    Args:
        prefix: A text, encoded by the tokenizer; bytes, which may end within a character and are
            spelled with tokens of one byte; or token ids.

    Raises:
        ExplorerError: The prefix has another type, an id is out of range or writes no text, or
            no tokens write the text.
    """
    if isinstance(prefix, bytes):
        vocabulary = machine.vocabulary
        ids_written = Greedy(Tokens(vocabulary.tokens, vocabulary.eos_ids[0]), 1)(prefix)
        if len(ids_written) < len(prefix):
            raise wrong(
                "prefix", prefix, "bytes that tokens of one byte write",
                remedy="Give a text, or token ids.",
            )  # fmt: skip
        return tuple(ids_written)
    if isinstance(prefix, str):
        return ids_of_text(machine, plain(prefix))[0] if prefix else ()
    what = "a text or token ids"
    if not isinstance(prefix, Iterable):
        raise wrong("prefix", prefix, what)
    tokens = machine.vocabulary.tokens
    ids_given = tuple(
        whole_number("a token of the prefix", token, 0, len(tokens) - 1)
        for token in cast("Iterable[object]", prefix)
    )
    for token in ids_given:
        if tokens[token] is None:
            raise wrong(
                "a token of the prefix", token, "a token that writes text",
                remedy="Leave out special tokens, the end of text among them.",
            )  # fmt: skip
    return ids_given
