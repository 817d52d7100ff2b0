"""The cuts of a declared pre-tokenizer: its chain of steps as one rule over the bytes of a text.

Every step cuts the words left by the previous steps, so a chain is the composition of its rules
(`Marked.then`). Each step is a pattern with a treatment of its matches: the library declares a
``Split`` so, and ``Digits``, ``Punctuation``, ``Metaspace`` and ``ByteLevel`` are equivalent to
one.

Two things change the input of a step. Once a mark replaces spaces (by the normalizer or by
``Metaspace``), later patterns see that mark where the tokens spell a space. And after
``ByteLevel``, patterns see the characters of GPT-2's alphabet for bytes: such a step may cut within
a character, as Falcon's does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

import numpy as np

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.determinized import Bool
from explorer.vocabulary.canonical.marked import LOST, Marked
from explorer.vocabulary.canonical.matching import BEHAVIORS
from explorer.vocabulary.canonical.patterns import (
    NUM_CHARACTERS,
    Instruction,
    ReadOne,
    WordEnd,
)
from explorer.vocabulary.canonical.spaced import kept_pieces
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from explorer.vocabulary.tokenizer.decoder import Component

GPT2_WORDS: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern by which ByteLevel cuts a text (Radford et al. 2019, the released encoder)."""

MARK: Final = "\u2581"
"""The character that stands for a space."""

REMEDY: Final = "Leave out canonical(...) for this tokenizer."


def cut_rule(steps: Sequence[Component], *, marks: bool, covered: Bool | None = None) -> Marked:
    """The rule of a pre-tokenizer, over bytes.

    Args:
        marks: Whether the normalizer writes a mark for a space.
        covered: As in `Marked.over_bytes`.

    Raises:
        UnsupportedTokenizer: A step is not supported; it is named with its index.

    Example:
        >>> steps = [{"type": "Digits", "individual_digits": True}, {"type": "ByteLevel"}]
        >>> cut_rule(steps, marks=False).accepts(["a", " is", " ", "1", "2", "."])
        True
    """
    rule, inner = Marked.uncut(), list[Marked]()
    in_bytes = False
    for place, step in enumerate(steps):
        kind = str(step.get("type"))
        name = f"pre_tokenizer.{kind}" if len(steps) == 1 else f"pre_tokenizer[{place}].{kind}"
        if (kind == "ByteLevel" and (in_bytes or marks)) or (kind == "Metaspace" and in_bytes):
            raise UnsupportedTokenizer(
                name, "it rewrites what a step before it has already rewritten", remedy=REMEDY
            )
        if rule.cuts and prefixes(step):
            raise UnsupportedTokenizer(
                name, "it puts a space before each part that a step before it cut off",
                remedy=REMEDY,
            )  # fmt: skip
        marks = marks or kind == "Metaspace"
        step_rule = _rule_of(step, name)
        in_bytes = in_bytes or kind == "ByteLevel"
        if step_rule is None:
            continue
        if in_bytes and kind != "ByteLevel":
            codes = [ord(character) for character in CHAR_OF]
            inner.append(replace(step_rule, class_of=step_rule.class_of[codes]))
            continue
        if marks:
            step_rule = _of_marks(step_rule)
        rule = rule.then(step_rule, name) if rule.cuts else step_rule
    rule = rule.over_bytes(covered)
    for inner_rule in inner:
        rule = rule.then(inner_rule, "pre_tokenizer")
    return rule


def prefixes(step: Component) -> bool:
    """Whether a step puts a space before each part of a text."""
    if step.get("type") == "Metaspace":
        return step.get("prepend_scheme", "always") == "always"
    return step.get("type") == "ByteLevel" and bool(step.get("add_prefix_space"))


def _of_marks(rule: Marked) -> Marked:
    """A rule over texts with marks, restated for texts with spaces, in which no mark occurs."""
    class_of = rule.class_of.copy()
    class_of[ord(" ")] = class_of[ord(MARK)]
    class_of[ord(MARK)] = rule.table.shape[1]
    nowhere = np.full((len(rule.table), 1), LOST, np.int32)
    return Marked(class_of, np.concatenate([rule.table, nowhere], axis=1), rule.ends)


def _rule_of(step: Component, name: str) -> Marked | None:
    """The rule of one step; ``None`` if it does not cut."""
    match step.get("type"):
        case "ByteLevel":
            return Marked.of_pattern(GPT2_WORDS, name) if step.get("use_regex", True) else None
        case "Metaspace":
            if step.get("replacement") != MARK:
                raise UnsupportedTokenizer(
                    name, f"it writes {step.get('replacement')!r} for a space", remedy=REMEDY
                )
            split = step.get("split", True)
            return Marked.of_pattern(MARK, name, "MergedWithNext") if split else None
        case "Digits":
            each = bool(step.get("individual_digits"))
            asked = {"type": "Digits", "individual_digits": True}
            return _of_characters(asked, "Isolated" if each else "Contiguous", name)
        case "Punctuation":
            asked = {"type": "Punctuation", "behavior": "Isolated"}
            return _of_characters(asked, str(step.get("behavior", "Isolated")), name)
        case "CharDelimiterSplit":
            return Marked.of_pattern(_literal(str(step.get("delimiter"))), name, "Removed")
        case "Split":
            pattern = cast("Mapping[str, str]", step.get("pattern") or {})
            text = pattern.get("Regex") or _literal(pattern.get("String", ""))
            behavior, invert = str(step.get("behavior")), bool(step.get("invert"))
            if behavior not in BEHAVIORS:
                raise UnsupportedTokenizer(
                    name, f"what {behavior!r} does with matches is not known", remedy=REMEDY
                )
            return Marked.of_pattern(text, name, behavior, invert=invert)
        case _:
            raise UnsupportedTokenizer(
                name, "where it cuts a text is not followed here", remedy=REMEDY
            )


def _of_characters(asked: Component, behavior: str, name: str) -> Marked:
    """The rule of a step that matches single characters, which are determined by the library."""
    chosen = np.zeros(NUM_CHARACTERS, np.bool_)
    chosen[[code for code, _ in kept_pieces(asked)]] = True
    code: tuple[Instruction, ...] = (ReadOne(chosen), WordEnd())
    return Marked.of_program(code, str(asked.get("type")), name, behavior)


def _literal(text: str) -> str:
    """The pattern that matches a text literally.

    Example:
        >>> from explorer.vocabulary.canonical.patterns import program
        >>> bool(program(_literal("a."), "a splitter")[0].characters[ord("a")])
        True
    """
    return "".join(char if char.isalnum() else f"\\{char}" for char in text)
