"""From a template to the machine of a scheme: fixed text becomes ids, parts become holes.

`explorer.template` is one language over characters: tokens may cross the border of a part. Systems
that fill in templates see less. They tokenize the fixed text beforehand (`fixed`), or they leave
the white space in it to the model, a *whitespace-flexible* template: each run of white space in the
fixed text becomes a hole that the model fills with any white space, or none (Beurer-Kellner et al.
2024, section 2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from explorer.arguments import instance
from explorer.budget import Budget
from explorer.errors import ConstraintError, VocabularyError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.template.source import Template
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.schemes.fixed import Spots, fixed_tokens
from explorer.vocabulary import Vocabulary

Tokenize = Callable[[str], Sequence[int]]
"""A function from a fixed text to the ids that write it."""

WHITE_SPACE: Final = r"[ \t\n]*"
"""The pattern that stands for each run of white space in a whitespace-flexible template."""

_RUN: Final = re.compile(r"[ \t\n]+")

_REMEDY: Final = 'Give explorer.template("Name: {name}", name=explorer.gen(regex="[a-z]+")).'

_ANCHORS: Final = ("\n", ".", "0", "x")
"""Texts put before a text whose tokenizer would add a space at its start."""


def template_parts(template: Constraint, *, flexible: bool = False) -> tuple[str | Constraint, ...]:
    """The fixed texts and the holes of a template, in order; no text is empty.

    Args:
        template: From `explorer.template`.
        flexible: Whether each run of white space in the fixed text is a hole.

    Raises:
        ConstraintError: The constraint is not a template.

    Example:
        >>> from explorer import gen, template
        >>> made = template("a: {x} b", x=gen(regex="[0-9]"))
        >>> [type(part).__name__ for part in template_parts(made, flexible=True)]
        ['str', 'Constraint', 'Constraint', 'Constraint', 'str']
    """
    instance("template", template, Constraint, "a template", remedy=_REMEDY, error=ConstraintError)
    source = template.source
    if not isinstance(source, Template):
        raise ConstraintError(
            f"{template} is not a template.",
            remedy=_REMEDY,
        )
    parts: list[str | Constraint] = []
    for k, fixed in enumerate(source.fixed):
        texts = _RUN.split(fixed) if flexible else [fixed]
        for number, text in enumerate(texts):
            if number:
                parts.append(regex(WHITE_SPACE))
            if text:
                parts.append(text)
        if k < len(source.parts):
            parts.append(Constraint(source.parts[k]))
    return tuple(parts)


def template_machine(
    template: Constraint,
    vocabulary: Vocabulary,
    *,
    flexible: bool = False,
    tokenize: Tokenize | None = None,
    budget: Budget | None = None,
) -> FilteredMachine[Spots]:
    """The machine of a template in systems that tokenize its fixed text beforehand.

    Args:
        template: From `explorer.template`.
        flexible: Whether the white space in the fixed text is left to the model.
        tokenize: The function that tokenizes fixed text; default the vocabulary's tokenizer.

    Raises:
        ConstraintError: The constraint is not a template.
        VocabularyError: There is no tokenizer, or it does not write a fixed text exactly.

    Example:
        >>> from explorer import gen, load_model, template
        >>> lm = load_model("tiny")
        >>> made = template('{{"a": {x}}}', x=gen(regex="[0-9]"))
        >>> machine = template_machine(made, lm.vocabulary)
        >>> [lm.vocabulary.tokens[i] for i in machine.allowed(machine.start).nonzero()[0]]
        [b'{"']
    """
    ids_of = partial(fixed_ids, vocabulary=vocabulary) if tokenize is None else tokenize
    parts = template_parts(template, flexible=flexible)
    return fixed_tokens(
        [ids_of(part) if isinstance(part, str) else part for part in parts], vocabulary, budget
    )


def fixed_ids(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The ids that the tokenizer gives for a text in the middle of another one.

    Args:
        text: The text to write, to the byte, without the space that the tokenizer puts before every
            text.
        vocabulary: The tokens, with their tokenizer.

    Raises:
        VocabularyError: There is no tokenizer, or it writes another text.

    Example:
        >>> from explorer import load_model
        >>> vocabulary = load_model("tiny-sp").vocabulary  # Its tokenizer puts a space before.
        >>> [vocabulary.tokens[token] for token in fixed_ids('{"a": ', vocabulary)]
        [b'{"', b'a', b'":', b' ']
    """
    for before in ("", *_ANCHORS):
        ids = vocabulary.encode(before + text)
        if ids is None:
            raise VocabularyError(
                "The vocabulary has no tokenizer to split the template's text with.",
                remedy="Give tokenize=, a function from a text to its ids.",
            )
        pieces = [vocabulary.tokens[token] or b"" for token in ids]
        for k in range(len(ids) + 1):
            anchored = b"".join(pieces[:k]).endswith(before.encode())
            if anchored and b"".join(pieces[k:]) == text.encode():
                return tuple(ids[k:])
    raise VocabularyError(
        f"The tokenizer does not write {text!r} to the byte.",
        remedy="Give tokenize=, a function from a text to its ids.",
    )
