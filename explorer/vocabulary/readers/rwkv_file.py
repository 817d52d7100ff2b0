"""Reads RWKV's world vocabulary, a text file of Python literals.

It has one token per line, ``id literal length``, where the literal is a text (``'abc'``) or bytes
(``b'\\xe4'``) as Python prints it, and the length is in bytes. Some copies have the literal alone;
then the line number, from 0 on, is the id. The id 0 ends a text.

The tokenizer repeatedly takes the longest token that the rest of the text starts with. It has no
merges and no rule for words, so it is implemented here in full and can encode.

Source: BlinkDL/ChatRWKV, ``tokenizer/rwkv_tokenizer.py``.
Cost: 5 µs a token; the literals are parsed, never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from explorer.vocabulary.readers.piece_table import lines_of
from explorer.vocabulary.readers.rank_files import damaged_line
from explorer.vocabulary.reading import Encoder, TokenizerReading, checked_width

_LITERAL: Final = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
RWKV_LINE: Final = re.compile(rf"(?:([0-9]+) (b?{_LITERAL}) ([0-9]+)|(b{_LITERAL}))")
"""A line of such a file."""

_RWKV_SHAPE: Final = re.compile(r"[0-9]+ .+ [0-9]+")
"""A line that has the shape of such a file even if its literal is malformed."""

_END: Final = "<|endoftext|>"


def is_rwkv(data: bytes) -> bool:
    """Whether a file starts with a line of such a list."""
    first = data[:4096].partition(b"\n")[0].rstrip(b"\r")
    try:
        line = first.decode()
    except UnicodeDecodeError:
        return False
    return any(form.fullmatch(line) is not None for form in (RWKV_LINE, _RWKV_SHAPE))


def read_rwkv(data: bytes, where: str) -> TokenizerReading:
    """Read RWKV's list of literals.

    Raises:
        DamagedFile: A line is not an id, a literal and its length, or an id occurs twice; the line
            is named.
        VocabularyError: An id is out of range.
    """
    tokens: dict[int, bytes] = {}
    special: dict[int, str] = {}
    for line, entry in enumerate(lines_of(data, where), start=1):
        if not entry.strip():
            continue
        match = RWKV_LINE.fullmatch(entry.rstrip())
        if match is None:
            raise damaged_line(
                where, line, f"{entry[:60]!r} is not an id, a literal and its length"
            )
        number, literal, length, alone = match.groups()
        token = line - 1 if number is None else int(number) if len(number) < 12 else 10**12
        checked_width(token, f"{where}, line {line},")
        content = _bytes_of(literal or alone, where, line)
        if length is not None and len(content) != int(length[:12]):
            raise damaged_line(
                where, line, f"the literal has {len(content)} bytes, but its length is {length}"
            )
        if token in tokens:
            raise damaged_line(where, line, f"the id {token} stands there a second time")
        tokens[token] = content
        if token == 0:
            special[0] = content.decode(errors="replace")
    special.setdefault(0, _END)
    entries: list[bytes | None] = [tokens.get(token) for token in range(max(tokens, default=0) + 1)]
    entries[0] = None
    return TokenizerReading(
        tokens=entries,
        special=special,
        pieces={special[0]: 0},
        eos_ids=frozenset({0}),
        notes=("The end of text is the id 0, as in all models of this format.",),
        encoder=_encoder(entries),
    )


def _bytes_of(literal: str, where: str, line: int) -> bytes:
    try:
        content: object = ast.literal_eval(literal)
        return content.encode() if isinstance(content, str) else bytes(content)  # pyright: ignore[reportArgumentType]  # the pattern allows a str or bytes
    except (ValueError, SyntaxError, MemoryError) as error:
        raise damaged_line(where, line, f"{literal[:60]!r} is not a literal of Python") from error


class LongestMatch:
    """An encoder that repeatedly takes the longest token that the rest of the text starts with.

    Attributes:
        ids: The id of each token, by its bytes.
    """

    greedy = False
    apart: frozenset[int] = frozenset()

    def __init__(self, tokens: Sequence[bytes | None]) -> None:
        self._tokens = tokens
        # Of several ids with the same bytes the last one counts.
        self.ids = {data: token for token, data in enumerate(tokens) if data}
        self._longest = max(map(len, self.ids), default=0)

    def __reduce__(self) -> tuple[object, ...]:
        return LongestMatch, (self._tokens,)

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``."""
        data, at = text.encode(), 0
        ids: list[int] = []
        while at < len(data):
            end = min(len(data), at + self._longest)
            while data[at:end] not in self.ids:
                end -= 1
            ids.append(self.ids[data[at:end]])
            at = end
        return tuple(ids)

    def image(self, text: str) -> bytes:
        """The text's own bytes: nothing is rewritten."""
        return text.encode()

    def loses(self, text: str) -> bool:
        """False for every text: each byte has a token (checked when the encoder is made)."""
        return False


def _encoder(tokens: Sequence[bytes | None]) -> Encoder | None:
    held = set(tokens)
    complete = all(bytes((byte,)) in held for byte in range(256))
    return LongestMatch(tokens) if complete else None
