"""The messages between us and the process of an engine: plain data in msgpack, never code.

Each side decodes only the types below, so that neither can make the other run code.
"""

from __future__ import annotations

from typing import Final

import msgspec


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


class Loaded(msgspec.Struct, tag=True, frozen=True):
    """The reply that the engine, or the vocabulary, is loaded."""

    version: str


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


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The reply that the engine failed.

    Args:
        stage: ``"import"``, ``"vocabulary"``, ``"constraint"`` or ``"mask"``; ``"time"`` if it did
            not answer in time, ``"process"`` if its process ended.
    """

    reason: str
    stage: str


Request = Load | Masks
Reply = Loaded | Answer | Refused

REQUESTS: Final = msgspec.msgpack.Decoder(Request)
REPLIES: Final[msgspec.msgpack.Decoder[Reply]] = msgspec.msgpack.Decoder(Reply)
