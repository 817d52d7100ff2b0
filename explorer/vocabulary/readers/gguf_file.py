"""Reads the vocabulary of a GGUF file, which is all that users of llama.cpp, Ollama and LM Studio
have.

Only the metadata at the beginning of the file is read: no tensor, and nothing executes (a chat
template in it is skipped). Sizes are checked before memory is taken. The kinds ``gpt2`` (byte-level
BPE), ``llama`` and ``t5`` (SentencePiece) are read; there is no encoder, so the bytes are not
proved.

Source: the specification of GGUF in ggml's ``docs/gguf.md``, versions 1 to 3, little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary.reading import TokenizerReading, checked_width
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF

MAGIC: Final = b"GGUF"
MOST_PAIRS: Final = 65_536
"""The most pairs of key and value; models have some dozens."""
LONGEST_TEXT: Final = 2**24
"""The longest text, in bytes."""
MOST_BYTES: Final = 2**28
"""The most bytes of metadata."""

_NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
                   12: "d"}  # fmt: skip
_TEXT, _LIST = 8, 9
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 2, 3, 4, 5, 6
_ENDS: Final = ("eos_token_id", "eot_token_id", "eom_token_id")
_PREFIX: Final = "tokenizer.ggml."
_SPACE: Final = "\u2581"


@dataclass
class _Metadata:
    """The beginning of a file, read number by number.

    Args:
        file: The open file.
        where: Its name, for errors.
        wide: Whether sizes have eight bytes, as from version 2 on.
    """

    file: BinaryIO
    where: str
    wide: bool = True
    read: int = 0

    def damaged(self, reason: str) -> DamagedFile:
        return DamagedFile(
            f"{self.where} is not whole GGUF: at byte {self.read:,}, {reason}.",
            remedy="Fetch the file again.", evidence={"file": self.where, "byte": self.read},
        )  # fmt: skip

    def bytes(self, count: int) -> bytes:
        if self.read + count > MOST_BYTES:
            raise self.damaged(f"its metadata is larger than {MOST_BYTES:,} bytes")
        data = self.file.read(count)
        if len(data) < count:
            raise self.damaged("it breaks off")
        self.read += count
        return data

    def number(self, kind: str) -> int | float | bool:
        return struct.unpack(f"<{kind}", self.bytes(struct.calcsize(kind)))[0]

    def size(self, most: int, what: str) -> int:
        count = int(self.number("Q" if self.wide else "I"))
        if count > most:
            raise self.damaged(f"{what} has the size {count:,}; at most {most:,} is read")
        return count

    def text(self) -> bytes:
        return self.bytes(self.size(LONGEST_TEXT, "a text"))

    def value(self, *, kept: bool) -> object:
        """A value with its type; one that is not kept is skipped."""
        kind = int(self.number("I"))
        if kind != _LIST:
            return self._one(kind)
        inner, count = int(self.number("I")), self.size(MOST_BYTES, "a list")
        if inner in _NUMBERS:
            form = _NUMBERS[inner]
            data = self.bytes(count * struct.calcsize(form))
            return list(struct.unpack(f"<{count}{form}", data)) if kept else None
        if inner != _TEXT:
            raise self.damaged(f"a list holds values of the type {inner}")
        if kept:
            checked_width(count - 1, self.where)
            return [self.text() for _ in range(count)]
        for _ in range(count):
            self.text()
        return None

    def _one(self, kind: int) -> object:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind != _TEXT:
            raise self.damaged(f"a value has the unknown type {kind}")
        return self.text()


def is_gguf(path: Path) -> bool:
    """Whether a file begins as GGUF, whatever its name: Ollama's blobs have none."""
    with open(path, "rb") as file:
        return file.read(4) == MAGIC


def read_gguf(path: Path) -> TokenizerReading:
    """Read the vocabulary of a GGUF file.

    Raises:
        DamagedFile: The file breaks off, or a size or a type in it is not possible.
        UnsupportedTokenizer: Its kind of tokenizer is not read.
        VocabularyError: It has too many tokens.
    """
    with open(path, "rb") as file:
        metadata = _Metadata(file, path.name)
        values = _pairs(metadata)
    kind = cast("bytes", values.get("model", b"")).decode(errors="replace")
    pieces, types = values.get("tokens"), values.get("token_type")
    if not isinstance(pieces, list) or not pieces:
        raise metadata.damaged("it holds no tokens")
    if kind not in ("gpt2", "llama", "t5"):
        raise UnsupportedTokenizer(
            f"{_PREFIX}model", f"tokenizers of the kind {kind!r} are not read from GGUF",
            remedy="Give the tokenizer.json of the model.",
        )  # fmt: skip
    texts = [data.decode(errors="replace") for data in cast("list[bytes]", pieces)]
    kinds = cast("list[int]", types) if isinstance(types, list) else [1] * len(texts)
    if len(kinds) != len(texts):
        raise metadata.damaged(f"it has {len(texts):,} tokens and {len(kinds):,} types")
    tokens: list[bytes | None] = []
    special: dict[int, str] = {}
    for token, (text, each) in enumerate(zip(texts, kinds, strict=True)):
        if each in (_UNKNOWN, _CONTROL, _UNUSED):
            special[token] = text
            tokens.append(None)
        else:
            tokens.append(_bytes_of(text, each, kind, token, path.name) or None)
    ends = {values[name] for name in _ENDS if type(values.get(name)) is int}
    return TokenizerReading(
        tokens=tokens,
        special=special,
        pieces={text: token for token, text in reversed([*enumerate(texts)])},
        eos_ids=frozenset(int(cast("int", each)) for each in ends if each in special),
        notes=(
            "Not proved by encoding: GGUF names the rule that cuts text, and does not hold it.",
        ),
        model="BPE" if kind == "gpt2" else "Unigram",
    )


def _pairs(metadata: _Metadata) -> dict[str, object]:
    """The values of the tokenizer's keys, by the part after their prefix."""
    if metadata.bytes(4) != MAGIC:
        raise metadata.damaged("it does not begin with GGUF")
    version = int(metadata.number("I"))
    if version not in (1, 2, 3):
        raise metadata.damaged(f"its version is {version}; 1 to 3 are read")
    metadata.wide = version > 1
    metadata.size(MOST_BYTES, "the list of tensors")
    wanted = ("model", "tokens", "token_type", *_ENDS)
    values: dict[str, object] = {}
    for _ in range(metadata.size(MOST_PAIRS, "the list of keys")):
        name = metadata.text().decode(errors="replace").removeprefix(_PREFIX)
        value = metadata.value(kept=name in wanted)
        if name in wanted:
            values[name] = value
    return values


def _bytes_of(text: str, kind: int, model: str, token: int, where: str) -> bytes:
    if kind == _BYTE:
        digits = text.removeprefix("<0x").removesuffix(">")
        try:
            return bytes([int(digits, 16)])
        except ValueError as error:
            raise DamagedFile(
                f"{where}: the token {token}, {text!r}, is a byte that is not spelled <0xNN>.",
                remedy="Fetch the file again.", evidence={"id": token, "piece": text},
            ) from error  # fmt: skip
    if model != "gpt2":
        return text.replace(_SPACE, " ").encode()
    if kind == _USER_DEFINED:
        return text.encode()
    try:
        return bytes(map(BYTE_OF.__getitem__, text))
    except KeyError as error:
        raise UnsupportedTokenizer(
            f"{_PREFIX}tokens", f"the token {token}, {text!r}, is not in the alphabet of bytes"
        ) from error
