"""The messages between us and the process of an engine: plain data in msgpack, never code.

A message is its length in four bytes followed by its bytes. Each side decodes only the types below,
so that neither can make the other run code.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Final

import msgspec

HEADER: Final = struct.Struct("<I")


class Load(msgspec.Struct, tag=True, frozen=True):
    """A request to load a vocabulary in place of the present one.

    Args:
        tokens: The bytes of each id, ``None`` if it is not text.
    """

    tokens: tuple[bytes | None, ...]
    eos: int


class Statement(msgspec.Struct, tag=True, frozen=True):
    """A constraint as text, in the notation in which it was written.

    Args:
        kind: ``"regex"``, ``"json_schema"``, ``"gbnf"`` or ``"lark"``.
    """

    kind: str
    text: str
    whitespace: str = "compact"
    any_order: bool = False


class Masks(msgspec.Struct, tag=True, frozen=True):
    """A request for the masks before each of some tokens and after the last."""

    question: Statement
    tokens: tuple[int, ...]
    last: bool
    seconds: float


class RolledBack(msgspec.Struct, tag=True, frozen=True):
    """A request for the mask after some tokens, and again after each draft is rolled back.

    The tokens of a draft are accepted as far as they are allowed and rolled back at once.
    """

    question: Statement
    tokens: tuple[int, ...]
    drafts: tuple[tuple[int, ...], ...]
    seconds: float


class Finish(msgspec.Struct, tag=True, frozen=True):
    """A request for ids that end the text, all of them allowed by the engine itself."""

    question: Statement
    tokens: tuple[int, ...]
    prefer: tuple[int, ...]
    seconds: float


class OwnPattern(msgspec.Struct, tag=True, frozen=True):
    """A request for the pattern with which the engine matches the texts of a constraint."""

    question: Statement
    seconds: float


class Loaded(msgspec.Struct, tag=True, frozen=True):
    """The reply that the engine, or the vocabulary, is loaded."""

    version: str
    seconds: float


class Answer(msgspec.Struct, tag=True, frozen=True):
    """The reply with masks.

    Args:
        rows: Packed bits, little-endian within a byte; fewer than asked if a token was refused.
        compile_seconds: The time to compile the constraint; nearly 0 if it was cached.
    """

    rows: tuple[bytes, ...]
    followed: int
    compile_seconds: float
    mask_seconds: float


class Way(msgspec.Struct, tag=True, frozen=True):
    """The reply with ids that end a text, without the end of text; ``None`` if none was found."""

    tokens: tuple[int, ...] | None


class PatternText(msgspec.Struct, tag=True, frozen=True):
    """The reply with the engine's own pattern; ``None`` if it has none."""

    text: str | None


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The reply that the engine failed.

    Args:
        stage: ``"import"``, ``"vocabulary"``, ``"constraint"`` or ``"mask"``; ``"time"`` if it did
            not answer in time, ``"process"`` if its process ended.
    """

    reason: str
    stage: str


Question = Masks | RolledBack | Finish | OwnPattern
Request = Load | Question
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
