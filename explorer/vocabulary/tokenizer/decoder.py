"""The bytes of one piece, from the decoder that a ``tokenizer.json`` declares.

A decoder turns the pieces of a whole text into that text. A constraint needs more: bytes of each
piece alone, so that the bytes of a text are the concatenated bytes of its pieces. `piece_reader`
finds them if the declared chain of steps works piece by piece; an effect at the start or the end of
a text only (dropping a leading space) becomes a note; a chain that mixes pieces in any other way
raises `UnsupportedTokenizer`.

Only the declaration is used. Decoding single ids would give wrong bytes: Metaspace and Strip remove
the space of the first piece, and half a character decodes to U+FFFD.

The steps, by the field ``type`` of their JSON:

===============  ==========================================================================
ByteLevel        GPT-2's alphabet; a piece with a foreign character stands for its own UTF-8
Metaspace        ``▁`` → space; drops the first piece's spaces unless the scheme is never
Replace          string → string; a pattern that is a regular expression is refused
ByteFallback     a piece spelled ``<0xNN>`` is one byte
Fuse             joins pieces: what comes later sees the whole text
Strip            after Fuse, takes characters off the ends of the text
WordPiece        ``##x`` → ``x``, and ``x`` → space + ``x``; then its clean-up of that piece
BPEDecoder       the suffix that ends a word → space
===============  ==========================================================================

CTC merges repeated pieces, so a piece has no bytes of its own: it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.tokenizer.byte_alphabet import piece_bytes

Component = Mapping[str, object]
"""The JSON object that declares a normalizer, a pre-tokenizer or a decoder."""

# The library reads two hexadecimal digits of either case; its number parser also takes a sign.
_BYTE_PIECE: Final = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")

# The literal replacements of the WordPiece decoder's clean-up of English, in order.
_CLEANUP: Final = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


@dataclass(frozen=True)
class PieceReader:
    """A function from single pieces to bytes, and further properties of the declared decoder.

    Attributes:
        read: From a piece to its bytes, at any position but the first of a text.
        notes: Further effects of the decoder on a whole text.
        joins: The side on which each word gets a space: none, before or after.
        prefix: The prefix of a piece that continues a word (WordPiece), or "".
        suffix: The suffix of a piece that ends a word (BPEDecoder), or "".
        byte_fallback: Whether ``<0xNN>`` is read as a byte.
        byte_level: Whether pieces are spelled in GPT-2's alphabet.
        cleanup: Whether WordPiece's clean-up is enabled.
    """

    read: Callable[[str], bytes]
    notes: tuple[str, ...] = ()
    joins: Literal["none", "before", "after"] = "none"
    prefix: str = ""
    suffix: str = ""
    byte_fallback: bool = False
    byte_level: bool = False
    cleanup: bool = False


def flatten(component: Component | None, inner: str) -> list[Component]:
    """The steps of a component in order, with nested ``Sequence`` components flattened."""
    if component is None:
        return []
    if component.get("type") != "Sequence":
        return [component]
    steps = cast(Sequence[Component], component.get(inner, ()))
    return [flat for step in steps for flat in flatten(step, inner)]


def clean_up(text: str) -> str:
    """The WordPiece decoder's clean-up of one decoded piece.

    Example:
        >>> clean_up(" ."), clean_up(" the")
        ('.', ' the')
    """
    for untidy, tidy in _CLEANUP:
        text = text.replace(untidy, tidy)
    return text


def byte_of(piece: str) -> int | None:
    """The byte of a piece spelled ``<0xNN>``, else None.

    Example:
        >>> byte_of("<0x0A>"), byte_of("<0x0>")
        (10, None)
    """
    match = _BYTE_PIECE.fullmatch(piece)
    return int(match[1], 16) if match else None


def piece_reader(decoder: Component) -> PieceReader:
    """The reader of single pieces for a declared decoder.

    Raises:
        UnsupportedTokenizer: A step is unknown, or does not work piece by piece.

    Example:
        >>> metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
        >>> piece_reader(metaspace).read("▁hello")
        b' hello'
    """
    steps = flatten(decoder, "decoders")
    kinds = [str(step.get("type")) for step in steps]
    if kinds and kinds[0] in ("WordPiece", "BPEDecoder"):
        if any(kind != "Fuse" for kind in kinds[1:]):
            raise UnsupportedTokenizer(
                f"decoder.{kinds[0]}", f"it is followed by other steps ({', '.join(kinds[1:])})"
            )
        return _word_piece(steps[0]) if kinds[0] == "WordPiece" else _word_end(steps[0])
    return _chain(steps)


@dataclass(frozen=True)
class WordReader:
    """A reader of pieces that are words, with a space before each.

    Attributes:
        prefix: The mark of a piece that continues a word and so has no space before it; or "".
        cleanup: Whether WordPiece's clean-up follows.
    """

    prefix: str = ""
    cleanup: bool = False

    def __call__(self, piece: str) -> bytes:
        """The bytes of a piece."""
        continues = self.prefix and piece.startswith(self.prefix)
        text = piece[len(self.prefix) :] if continues else f" {piece}"
        return (clean_up(text) if self.cleanup else text).encode()


@dataclass(frozen=True)
class WordEndReader:
    """A reader of pieces in which a suffix marks the end of a word and stands for a space."""

    suffix: str

    def __call__(self, piece: str) -> bytes:
        """The bytes of a piece."""
        return piece.replace(self.suffix, " ").encode()


@dataclass(frozen=True)
class ChainReader:
    """A reader of pieces by literal replacements, then as a byte or as UTF-8.

    Attributes:
        replacements: Pairs of a text and its replacement, in order.
        byte_fallback: Whether ``<0xNN>`` is read as a byte.
    """

    replacements: tuple[tuple[str, str], ...]
    byte_fallback: bool

    def __call__(self, piece: str) -> bytes:
        """The bytes of a piece."""
        for pattern, content in self.replacements:
            piece = piece.replace(pattern, content)
        if self.byte_fallback and (byte := byte_of(piece)) is not None:
            return bytes((byte,))
        return piece.encode()


def _word_piece(step: Component) -> PieceReader:
    prefix = str(step["prefix"])
    cleanup = bool(step["cleanup"])
    notes = [
        f"Every piece that starts a word writes a space before it (WordPiece); the decoder leaves "
        f"that space, and the mark {prefix!r}, as they are on the first piece of a text."
    ]
    if cleanup:
        notes.append(
            "The decoder's clean-up is part of the bytes: pieces such as '.' and ',' that start "
            "a word write no space before them."
        )
    reader = WordReader(prefix, cleanup)
    return PieceReader(reader, tuple(notes), joins="before", prefix=prefix, cleanup=cleanup)


def _word_end(step: Component) -> PieceReader:
    suffix = str(step["suffix"])
    if not suffix:
        raise UnsupportedTokenizer("decoder.BPEDecoder", "its suffix is empty")
    note = (
        f"Every piece that ends a word ({suffix!r}) writes a space after it; the decoder leaves "
        f"that space out at the end of a text."
    )
    return PieceReader(WordEndReader(suffix), (note,), joins="after", suffix=suffix)


def _chain(steps: Sequence[Component]) -> PieceReader:
    """The reader for a chain of steps that each work piece by piece."""
    replacements: list[tuple[str, str]] = []
    notes: list[str] = []
    byte_fallback = byte_level = fused = False
    for step in steps:
        kind = str(step.get("type"))
        component = f"decoder.{kind}"
        match kind:
            case "Fuse":
                fused = True
            case "ByteFallback":
                if fused or byte_level:
                    raise UnsupportedTokenizer(component, "it comes after pieces are joined")
                byte_fallback = True
            case "ByteLevel":
                if fused or byte_fallback:
                    raise UnsupportedTokenizer(component, "it comes after pieces are joined")
                byte_level = fused = True
            case "Metaspace":
                if fused or byte_fallback or byte_level:
                    raise UnsupportedTokenizer(component, "it comes after pieces are joined")
                replacements.append((str(step["replacement"]), " "))
                if step.get("prepend_scheme") != "never":
                    notes.append("The decoder leaves out spaces at the start of the first piece.")
            case "Replace":
                replacements.append(_replacement(step, fused))
                if byte_fallback or byte_level:
                    raise UnsupportedTokenizer(
                        component,
                        "it comes after bytes are joined, so it can change several pieces",
                    )
            case "Strip":
                if not fused:
                    raise UnsupportedTokenizer(component, "it strips every piece, not the text")
                notes.append(
                    f"The decoder takes {step.get('content')!r} off a text: up to "
                    f"{step.get('start')} at its start and {step.get('stop')} at its end."
                )
            case _:
                raise UnsupportedTokenizer(
                    component, "a step that is not known to leave each piece its own bytes"
                )

    if byte_level and not replacements:
        return PieceReader(piece_bytes, tuple(notes), byte_level=True)
    if byte_level:
        raise UnsupportedTokenizer("decoder.ByteLevel", "its alphabet is rewritten before it")
    chain = ChainReader(tuple(replacements), byte_fallback)
    return PieceReader(chain, tuple(notes), byte_fallback=byte_fallback)


def _replacement(step: Component, fused: bool) -> tuple[str, str]:
    pattern = cast(Mapping[str, object], step.get("pattern") or {})
    literal = pattern.get("String")
    if not isinstance(literal, str) or not literal:
        raise UnsupportedTokenizer(
            "decoder.Replace", f"its pattern {dict(pattern)!r} is not a plain string"
        )
    if fused and len(literal) != 1:
        raise UnsupportedTokenizer(
            "decoder.Replace", f"after Fuse, {literal!r} can lie across several pieces"
        )
    return literal, str(step.get("content", ""))
