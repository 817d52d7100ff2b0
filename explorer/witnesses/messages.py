"""The messages between us and the process of an engine: msgpack of plain data, never code.

A message is its length in four bytes and then its bytes. Each side decodes to the types below and
takes nothing else, so that neither can make the other run anything.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Final

import msgspec

HEADER: Final = struct.Struct("<I")


class Load(msgspec.Struct, tag=True, frozen=True):
    """A vocabulary for the engine; it replaces the one before.

    Args:
        tokens: Bytes by id, ``None`` where an id is not text.
    """

    tokens: tuple[bytes | None, ...]
    eos: int


class Statement(msgspec.Struct, tag=True, frozen=True):
    """A constraint, in the words of the person who wrote it.

    Args:
        kind: ``"regex"``, ``"json_schema"``, ``"gbnf"`` or ``"lark"``.
    """

    kind: str
    text: str
    whitespace: str = "compact"
    any_order: bool = False


class Masks(msgspec.Struct, tag=True, frozen=True):
    """The masks before each of some tokens and after the last."""

    question: Statement
    tokens: tuple[int, ...]
    last: bool
    seconds: float


class RolledBack(msgspec.Struct, tag=True, frozen=True):
    """The mask after some tokens, and again after each of some drafts was taken and taken back.

    Of a draft the tokens are accepted as far as they are allowed, and rolled back at once.
    """

    question: Statement
    tokens: tuple[int, ...]
    drafts: tuple[tuple[int, ...], ...]
    seconds: float


class Finish(msgspec.Struct, tag=True, frozen=True):
    """A way to the end of a text, by what the engine itself allows."""

    question: Statement
    tokens: tuple[int, ...]
    prefer: tuple[int, ...]
    seconds: float


class OwnPattern(msgspec.Struct, tag=True, frozen=True):
    """The pattern with which the engine matches the texts of a constraint."""

    question: Statement
    seconds: float


class Loaded(msgspec.Struct, tag=True, frozen=True):
    """The engine is loaded, or has taken the vocabulary."""

    version: str
    seconds: float


class Answer(msgspec.Struct, tag=True, frozen=True):
    """Masks.

    Args:
        rows: Packed bits, little-endian within a byte; fewer than asked where a token was refused.
        compile_seconds: For reading the constraint; 0 where it was known.
    """

    rows: tuple[bytes, ...]
    followed: int
    compile_seconds: float
    mask_seconds: float


class Way(msgspec.Struct, tag=True, frozen=True):
    """The ids to the end of a text, the end itself left out; ``None`` where none was found."""

    tokens: tuple[int, ...] | None


class PatternText(msgspec.Struct, tag=True, frozen=True):
    """The text of a pattern; ``None`` where the engine has none."""

    text: str | None


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The engine did not answer.

    Args:
        stage: ``"import"``, ``"vocabulary"``, ``"constraint"`` or ``"mask"``; ``"time"`` where it
            did not answer in time, ``"process"`` where its process ended.
    """

    reason: str
    stage: str


Request = Load | Masks | RolledBack | Finish | OwnPattern
Reply = Loaded | Answer | Way | PatternText | Refused

REQUESTS: Final = msgspec.msgpack.Decoder(Request)
REPLIES: Final[msgspec.msgpack.Decoder[Reply]] = msgspec.msgpack.Decoder(Reply)


def packed_message(message: Request | Reply) -> bytes:
    """A message with its length before it."""
    data = msgspec.msgpack.encode(message)
    return HEADER.pack(len(data)) + data


def next_message(stream: BinaryIO) -> bytes | None:
    """The bytes of the next message; ``None`` at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None
