"""Reads SentencePiece models (``tokenizer.model``, ``spiece.model``) from the file itself.

The file is a protocol buffer. Each piece has a type, which decides what it writes:

============  ===========================================================================
NORMAL        text, with ``▁`` (U+2581) for a space, also when it is spelled ``<0x20>``
USER_DEFINED  text, found in a text before the model cuts the rest
BYTE          the byte that it spells, ``<0xNN>``
CONTROL       not text: begin and end of text, padding
UNKNOWN       not text: stands for characters without a piece
UNUSED        not text: the tokenizer never gives it
============  ===========================================================================

A reader of the wire format takes 60 lines, so no library is needed, an error names the offset of
the damage, and SentencePiece's own library remains an independent oracle. If that library is
installed it encodes, and the vocabulary is proved.

Source: google/sentencepiece, ``sentencepiece_model.proto``; Protocol Buffers encoding guide.
Cost: 2 µs a piece.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary.guards.charsmap import check_charsmap
from explorer.vocabulary.guards.library import load_if_installed, not_proved
from explorer.vocabulary.reading import Encoder, TokenizerReading, checked_width
from explorer.vocabulary.tokenizer.decoder import byte_of

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

SPACE: Final = "▁"

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_TYPE_NAMES: Final = {_CONTROL: "control", _UNKNOWN: "unknown", _UNUSED: "unused"}

# Field numbers of the messages.
_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_TRAINER_KIND, _TRAINER_SUFFIX, _TRAINER_EOS_PIECE = 3, 24, 47
_BPE = 2  # The trainer's kind.
_RULES_NAME, _RULES_MAP, _RULES_DUMMY_PREFIX, _RULES_EXTRA_SPACES = 1, 2, 3, 4

Value = int | bytes


def read_sentencepiece(data: bytes, where: str) -> TokenizerReading:
    """Read a SentencePiece model.

    Raises:
        DamagedFile: The file is truncated, or is not such a model; the message holds the offset.
        UnsupportedTokenizer: The model rewrites text when it decodes (a denormalizer), or its table
            of characters points outside itself.
    """
    listed, trainer, rules = _parts(data, where)
    tokens: list[bytes | None] = []
    special: dict[int, str] = {}
    pieces: dict[str, int] = {}
    for token, (piece, _, kind) in enumerate(listed):
        checked_width(token, where)
        pieces.setdefault(piece, token)
        tokens.append(_bytes_of(piece, kind, token, where))
        if kind in _TYPE_NAMES:
            special[token] = piece
    if not tokens:
        raise DamagedFile(f"{where} holds no SentencePiece pieces.", remedy="Fetch it again.")

    table = rules.get(_RULES_MAP)
    if isinstance(table, bytes) and table:
        check_charsmap(table, f"{where}, normalizer_spec.precompiled_charsmap")
    end = trainer.get(_TRAINER_EOS_PIECE, b"</s>")
    end_piece = end.decode(errors="replace") if isinstance(end, bytes) else ""
    end_id = pieces.get(end_piece)
    types = [kind for _, _, kind in listed]
    is_end = end_id is not None and types[end_id] == _CONTROL
    encoder = _encoder(data, where)
    notes = _notes(trainer, rules, types)
    if encoder is None:
        notes.append(not_proved("sentencepiece"))
    return TokenizerReading(
        tokens=tokens,
        special=special,
        pieces=pieces,
        eos_ids=frozenset({end_id}) if end_id is not None and is_end else frozenset(),
        notes=tuple(notes),
        encoder=encoder,
        literal=_literal,
        probes=tuple(special.values()),
        model="BPE" if trainer.get(_TRAINER_KIND) == _BPE else "Unigram",
    )


def _bytes_of(piece: str, kind: int, token: int, where: str) -> bytes | None:
    if kind in _TYPE_NAMES:
        return None
    if kind == _BYTE:
        byte = byte_of(piece)
        if byte is None:
            raise DamagedFile(
                f"{where}: the piece {token}, {piece!r}, is a byte that is not spelled <0xNN>.",
                evidence={"id": token, "piece": piece},
            )
        return bytes((byte,))
    if kind not in (_NORMAL, _USER_DEFINED):
        raise UnsupportedTokenizer(f"piece.type {kind}", f"the piece {token} has an unknown type")
    return piece.replace(SPACE, " ").encode()


def _literal(content: str) -> bytes:
    return content.replace(SPACE, " ").encode()


def _notes(trainer: dict[int, Value], rules: dict[int, Value], types: list[int]) -> list[str]:
    name = rules.get(_RULES_NAME, b"")
    notes = [f"{SPACE!r} (U+2581) stands for a space: as a character it is read as one."]
    if rules.get(_RULES_MAP):
        shown = name.decode(errors="replace") if isinstance(name, bytes) else ""
        notes.append(
            f"The normalizer {shown or 'of this model'} maps characters by a table before text is "
            f"split: token bytes spell the text so rewritten."
        )
    if rules.get(_RULES_DUMMY_PREFIX, 1):
        place = "after" if trainer.get(_TRAINER_SUFFIX, 0) else "before"
        notes.append(
            f"Encoding puts a space {place} a text (a dummy prefix); decoding takes it off again."
        )
    if rules.get(_RULES_EXTRA_SPACES, 1):
        notes.append("Encoding drops spaces at both ends of a text and all but one in a run.")
    if _UNUSED in types:
        notes.append(f"{types.count(_UNUSED)} pieces are marked as unused, and write nothing.")
    if _UNKNOWN in types and _BYTE not in types:
        notes.append("Text without a piece becomes the unknown token, which writes nothing.")
    return notes


# --- the encoder ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelPieces:
    """The pieces of a model, by the types that decide how it cuts a text.

    Attributes:
        kind: ``unigram``, ``bpe``, ``word`` or ``char``.
        normal: The id and the score of each normal piece.
        literal: The pieces that are found before the model cuts the rest, by id.
        byte_ids: The ids of the byte pieces, by byte.
        unused: The ids of the pieces that are never produced.
    """

    kind: str
    normal: Mapping[str, tuple[int, float]]
    literal: Mapping[int, str]
    byte_ids: Mapping[int, int]
    unused: frozenset[int]


def model_pieces(data: bytes, where: str = "the model") -> ModelPieces:
    """The pieces of a model, by type.

    Raises:
        DamagedFile: The file is truncated, or is not such a model.
    """
    listed, trainer, _ = _parts(data, where)
    kind = trainer.get(_TRAINER_KIND, 1)
    normal: dict[str, tuple[int, float]] = {}
    literal: dict[int, str] = {}
    byte_ids: dict[int, int] = {}
    unused: set[int] = set()
    for token, (piece, score, sort) in enumerate(listed):
        if sort == _NORMAL:
            normal[piece] = (token, score)
        elif sort == _USER_DEFINED:
            literal[token] = piece
        elif sort == _UNUSED:
            unused.add(token)
        elif sort == _BYTE and (byte := byte_of(piece)) is not None:
            byte_ids[byte] = token
    name = {1: "unigram", _BPE: "bpe", 3: "word", 4: "char"}.get(cast("int", kind), str(kind))
    return ModelPieces(name, normal, literal, byte_ids, frozenset(unused))


class SentencePieceEncoder:
    """An encoder that runs SentencePiece's own library on the same file."""

    greedy = False
    apart: frozenset[int] = frozenset()

    def __init__(self, processor: SentencePieceProcessor) -> None:
        self._processor = processor

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``; control pieces are never found in text."""
        return tuple(self._processor.encode(text, out_type=int))  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]  # the library has no types

    def image(self, text: str) -> bytes:
        """The bytes of the normalized text, including the dummy prefix."""
        normalized: str = self._processor.normalize(text)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        return normalized.replace(SPACE, " ").encode()

    def pieces(self) -> ModelPieces:
        """The model's pieces, by type."""
        data: bytes = self._processor.serialized_model_proto()  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        return model_pieces(data)

    @property
    def prefix(self) -> str:
        """The dummy prefix, as text."""
        return self.image("a").removesuffix(b"a").decode()

    def rewritten(self, texts: Iterable[str]) -> str | None:
        """The first of some texts that the normalizer changes between two letters."""
        prefix = self.prefix
        for text in texts:
            if self.image(f"a{text}a").decode() != f"{prefix}a{text}a":
                return text
        return None

    def loses(self, text: str) -> bool:
        """Whether some of ``text`` becomes the unknown piece."""
        return self._processor.unk_id() in self.encode(text)


def _encoder(data: bytes, where: str) -> Encoder | None:
    library = load_if_installed("sentencepiece")
    if library is None:
        return None
    processor: SentencePieceProcessor = library.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:
        raise DamagedFile(
            f"{where}: SentencePiece does not accept this model: {error}.",
            remedy="Fetch the file again.",
        ) from error
    return SentencePieceEncoder(processor)


# --- the wire format --------------------------------------------------------------------------


def _parts(
    data: bytes, where: str
) -> tuple[list[tuple[str, float, int]], dict[int, Value], dict[int, Value]]:
    """The pieces of a model, and the fields of its trainer and of its normalizer."""
    pieces: list[tuple[str, float, int]] = []
    specs: dict[int, dict[int, Value]] = {_TRAINER: {}, _NORMALIZER: {}, _DENORMALIZER: {}}
    for number, value, offset in _fields(data, 0, len(data), where):
        if number == _PIECES:
            pieces.append(_piece(_message(value, offset, where), offset, where))
        elif number in specs:
            inner = _message(value, offset, where)
            specs[number].update((n, v) for n, v, _ in _fields(inner, 0, len(inner), where))
    if specs[_DENORMALIZER].get(_RULES_MAP):
        raise UnsupportedTokenizer(
            "denormalizer", "decoding rewrites text by a table, across pieces"
        )
    return pieces, specs[_TRAINER], specs[_NORMALIZER]


def _piece(message: bytes, offset: int, where: str) -> tuple[str, float, int]:
    """The surface, the score and the type of one piece."""
    surface, score, kind = b"", 0.0, _NORMAL
    for number, value, _ in _fields(message, 0, len(message), where):
        if number == 1 and isinstance(value, bytes):
            surface = value
        elif number == 2 and isinstance(value, bytes) and len(value) == 4:
            score = float(struct.unpack("<f", value)[0])
        elif number == 3 and isinstance(value, int):
            kind = value
    try:
        return surface.decode(), score, kind
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{where}: the piece at byte {offset} is not UTF-8.",
            remedy="Fetch the file again.",
            evidence={"offset": offset, "piece": surface},
        ) from error


def _message(value: Value, offset: int, where: str) -> bytes:
    if isinstance(value, bytes):
        return value
    raise _damaged(where, offset, "a number stands where a message belongs")


def _fields(data: bytes, at: int, end: int, where: str) -> Iterator[tuple[int, Value, int]]:
    """The (number, value, offset) of each field of a message; fixed-width numbers are raw bytes."""
    while at < end:
        start = at
        key, at = _varint(data, at, end, where)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at, end, where)
            yield key >> 3, value, start
            continue
        if wire == 2:
            size, at = _varint(data, at, end, where)
        elif wire in (1, 5):
            size = struct.calcsize("<d" if wire == 1 else "<f")
        else:
            raise _damaged(where, start, f"wire type {wire} is not in use")
        if at + size > end:
            raise _damaged(where, start, f"a field of {size:,} bytes runs past the end")
        yield key >> 3, data[at : at + size], start
        at += size


def _varint(data: bytes, at: int, end: int, where: str) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(end, at + 10)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise _damaged(where, at, "a number breaks off")


def _damaged(where: str, offset: int, what: str) -> DamagedFile:
    return DamagedFile(
        f"{where} is not a SentencePiece model, or is damaged: at byte {offset}, {what}.",
        remedy="Fetch the file again, or check that it is the one you mean.",
        evidence={"offset": offset},
    )
