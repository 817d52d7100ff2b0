"""A tokenizer's steps before its model cuts pieces: normalizer and pre-tokenizer.

A normalizer rewrites the text (NFC, lower case, ``▁`` for spaces), a pre-tokenizer cuts it and may
put a space before it or drop spaces. The result is called the *image* of the text: the token bytes
of any correct reading must spell it. It is derived here from the *encoding* side of a tokenizer
alone; token bytes come from the *decoding* side (`explorer.vocabulary.tokenizer.decoder`). A
vocabulary is proved by showing that the two agree; they share no rule that could make both wrong in
the same way.

Splitters run in the library itself, segment by segment. Only the two steps that rewrite their
input, ByteLevel and Metaspace, are implemented here by their declared rules.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from tokenizers import Tokenizer
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF
from explorer.vocabulary.tokenizer.decoder import Component, flatten

Segment = tuple[str, bool]
"""A piece of normalized text, and whether it starts the whole text."""

# The library's splitters that only cut and drop: their pieces are substrings of their input.
_SPLITTERS: Final = frozenset(
    {
        "BertPreTokenizer",
        "CharDelimiterSplit",
        "Digits",
        "FixedLength",
        "Punctuation",
        "Split",
        "UnicodeScripts",
        "Whitespace",
        "WhitespaceSplit",
    }
)
_DROPPING: Final = frozenset(
    {"BertPreTokenizer", "CharDelimiterSplit", "Whitespace", "WhitespaceSplit"}
)

_REWRITING: Final = {
    "BertNormalizer": "cleans control characters, spaces out CJK, may lower-case and drop accents",
    "Lowercase": "lower-cases",
    "NFC": "composes characters",
    "NFD": "decomposes characters",
    "NFKC": "replaces compatibility characters",
    "NFKD": "replaces compatibility characters and decomposes",
    "Nmt": "drops control characters and replaces spaces",
    "Precompiled": "maps characters by a table of its own (SentencePiece's rules)",
    "Strip": "strips spaces",
    "StripAccents": "drops accents",
}


def parse_component(part: object, name: str) -> Component | None:
    """The JSON declaration of a component object of the `tokenizers` library.

    Raises:
        UnsupportedTokenizer: The component is written in Python, so it has no declaration.
    """
    if part is None:
        return None
    try:
        declared: Component = json.loads(cast(bytes, part.__getstate__()))  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType,reportUnknownArgumentType]  # each component pickles as its JSON; the stubs type it as object's
    except Exception as error:
        raise UnsupportedTokenizer(
            f"{name}.custom", "it is Python code, so it has no declaration that could be read"
        ) from error
    return declared


def text_before_model(
    segments: Sequence[Segment], steps: Sequence[tuple[Component, PreTokenizer]]
) -> list[str]:
    """The words into which the pre-tokenizer's steps cut normalized text.

    Args:
        steps: The declared steps in order, each with the library's object for it.

    Returns:
        The words in order; Metaspace's mark still stands for a space in them.
    """
    current = [segment for segment in segments if segment[0]]
    for step, splitter in steps:
        kind = step.get("type")
        if kind == "ByteLevel":
            if step.get("add_prefix_space"):
                current = [(t if t.startswith(" ") else f" {t}", first) for t, first in current]
        elif kind == "Metaspace":
            mark = str(step["replacement"])
            current = [_meta(segment, mark, str(step["prepend_scheme"])) for segment in current]
        if kind not in ("ByteLevel", "Metaspace"):
            current = [
                (part, first and start == 0)
                for text, first in current
                for part, (start, _) in splitter.pre_tokenize_str(text)
            ]
        elif kind == "Metaspace" and step.get("split", True):
            mark = str(step["replacement"])
            current = [
                (part, first and place == 0)
                for text, first in current
                for place, part in enumerate(_before_each(text, mark))
            ]
    return [text for text, _ in current]


def _meta(segment: Segment, mark: str, scheme: str) -> Segment:
    text, first = segment
    text = text.replace(" ", mark)
    prepends = scheme == "always" or (scheme == "first" and first)
    return (mark + text if prepends and not text.startswith(mark) else text), first


def _before_each(text: str, mark: str) -> list[str]:
    head, *rest = text.split(mark)
    return ([head] if head else []) + [mark + part for part in rest]


@dataclass(frozen=True)
class Declaration:
    """The encoding side of a ``tokenizer.json``: its normalizer and its pre-tokenizer.

    Attributes:
        notes: Effects of theirs that are not lossless.
        normalizer: The library's normalizer, or None.
        steps: The steps of the pre-tokenizer up to ByteLevel, each with the library's object.
        space_marks: Characters that the normalizer or Metaspace writes for a space.
        byte_alphabet: Whether the normalizer writes GPT-2's alphabet.
        kinds: The kinds of all steps of the normalizer and the pre-tokenizer.
    """

    notes: tuple[str, ...]
    normalizer: Normalizer | None
    steps: tuple[tuple[Component, PreTokenizer], ...]
    space_marks: frozenset[str]
    byte_alphabet: bool
    kinds: tuple[str, ...]

    def normalize(self, text: str) -> str:
        """Normalize a whole text as the tokenizer does."""
        return text if self.normalizer is None else self.normalizer.normalize_str(text)

    def segments(self, text: str, first: bool = True) -> list[str]:
        """The segments that the model sees, with plain spaces, in order.

        Args:
            text: A normalized text, or the part of one between two added tokens.
        """
        return [self._spaced(part) for part in text_before_model([(text, first)], self.steps)]

    def literal(self, content: str) -> bytes:
        """The bytes of an added token that is text: its content, with marks read as spaces."""
        return self._spaced(content).encode()

    def _spaced(self, text: str) -> str:
        for mark in self.space_marks:
            text = text.replace(mark, " ")
        return text

    def to_bytes(self, segment: str) -> bytes:
        """The bytes of a segment."""
        if self.byte_alphabet:
            return bytes(BYTE_OF[character] for character in segment)
        return segment.encode()


def declaration(tokenizer: Tokenizer) -> Declaration:
    """The encoding side of a tokenizer.

    Raises:
        UnsupportedTokenizer: A component is Python code, or an unsupported kind of pre-tokenizer.
    """
    normalizer = tokenizer.normalizer
    normal_steps = flatten(parse_component(normalizer, "normalizer"), "normalizers")
    steps = flatten(parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers")
    kinds = [str(step.get("type")) for step in steps]
    for place, (step, kind) in enumerate(zip(steps, kinds, strict=True)):
        if kind not in _SPLITTERS and kind not in ("ByteLevel", "Metaspace"):
            raise UnsupportedTokenizer(f"pre_tokenizer.{kind}", "a step of an unknown kind")
        if "ByteLevel" in kinds[:place] and (_drops(step) or kind == "Metaspace"):
            raise UnsupportedTokenizer(
                f"pre_tokenizer.{kind}", "it would drop or rewrite characters of bytes"
            )
    # After ByteLevel, splitters cut GPT-2's alphabet and drop nothing, so the text is unchanged.
    seen = kinds.index("ByteLevel") + 1 if "ByteLevel" in kinds else len(kinds)
    return Declaration(
        notes=(*_normalizer_notes(normal_steps), *_pre_tokenizer_notes(steps)),
        normalizer=normalizer,
        steps=tuple((step, _pre_tokenizer_of(step)) for step in steps[:seen]),
        space_marks=frozenset(filter(None, map(_space_mark, (*normal_steps, *steps)))),
        byte_alphabet=any(step.get("type") == "ByteLevel" for step in normal_steps),
        kinds=(*(str(step.get("type")) for step in normal_steps), *kinds),
    )


def _space_mark(step: Component) -> str | None:
    if step.get("type") == "Metaspace":
        return str(step["replacement"])
    content = step.get("content")
    is_mark = step.get("type") == "Replace" and step.get("pattern") == {"String": " "}
    return content if is_mark and isinstance(content, str) and len(content) == 1 else None


def only_component(part: str, step: Component) -> Tokenizer:
    """A minimal tokenizer with one declared component."""
    shell: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""},
    }
    return Tokenizer.from_str(json.dumps({**shell, part: dict(step)}))


def combines(char: str) -> bool:
    """Whether a normalizer may combine a character with the ones before it."""
    return (
        unicodedata.category(char)[0] == "M"
        or "\u1161" <= char <= "\u11c2"
        or char in "\u200d\r"
        or 0x1F1E6 <= ord(char) <= 0x1F1FF
        or 0x1F3FB <= ord(char) <= 0x1F3FF
    )


def _pre_tokenizer_of(step: Component) -> PreTokenizer:
    """The library's object for one declared step, built as part of a minimal tokenizer."""
    made = only_component("pre_tokenizer", step).pre_tokenizer
    if made is None:
        raise UnsupportedTokenizer(f"pre_tokenizer.{step.get('type')}", "it cannot be rebuilt")
    return made


def _drops(step: Component) -> bool:
    removes = step.get("type") in ("Split", "Punctuation") and step.get("behavior") == "Removed"
    return removes or step.get("type") in _DROPPING


def _normalizer_notes(steps: Sequence[Component]) -> list[str]:
    notes: list[str] = []
    for step in steps:
        kind = str(step.get("type"))
        if kind in _REWRITING:
            notes.append(
                f"The normalizer {kind} {_REWRITING[kind]} before text is split: token bytes "
                f"spell the text so rewritten."
            )
        elif kind == "Prepend":
            notes.append(_prefix_note(step.get("prepend")))
        elif (mark := _space_mark(step)) is not None:
            notes.append(_mark_note(mark))
        elif kind == "Replace":
            notes.append(
                f"The normalizer replaces {step.get('pattern')} by {step.get('content')!r}: token "
                f"bytes spell the text so rewritten."
            )
        elif kind != "ByteLevel":
            notes.append(f"The normalizer {kind} may rewrite text before it is split.")
    return notes


def _pre_tokenizer_notes(steps: Sequence[Component]) -> list[str]:
    notes: list[str] = []
    for step in steps:
        kind = str(step.get("type"))
        if kind == "Metaspace":
            notes.append(_mark_note(str(step["replacement"])))
            if step.get("prepend_scheme") != "never":
                notes.append(_prefix_note(step["replacement"]))
        elif kind == "ByteLevel" and step.get("add_prefix_space"):
            notes.append(_prefix_note(" "))
        elif _drops(step):
            notes.append(f"The pre-tokenizer {kind} drops the separators that it cuts at.")
    return notes


def _prefix_note(prefix: object) -> str:
    return (
        f"Encoding puts {prefix!r} before a text (a dummy prefix, read as a space), so the tokens "
        f"of a text spell it with a leading space."
    )


def _mark_note(mark: str) -> str:
    return f"{mark!r} (U+{ord(mark):04X}) stands for a space: as a character it is read as one."
