"""Folders of tokenizers for the tests, small but in every respect like the real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF

TEXTS = [
    "Hello, world! The quick brown fox",
    "\ttab  two   spaces\n\n  indented\r\n",
    "it's I'll 1234 3.14 e\u0301 é ẞ STRASSE",
    "汉字 \U0001f642 <|endoftext|> </w> @@ ▁",
]


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return folder


def table(*pieces: str) -> dict[str, int]:
    return {piece: token for token, piece in enumerate(dict.fromkeys(pieces))}


def spelled(vocab: Vocabulary, ids: Any) -> bytes:
    return b"".join(vocab.tokens[token] or b"" for token in ids)


def merged(*words: str, end: str = "") -> tuple[list[str], bytes]:
    """The pieces of words in GPT-2's alphabet, joined from the left, and their merges."""
    pieces: list[str] = []
    merges: list[str] = []
    for word in words:
        parts = [CHAR_OF[byte] for byte in word.encode()]
        parts[-1] += end
        for place in range(1, len(parts)):
            left, right = "".join(parts[:place]), parts[place]
            if left + right not in pieces:
                merges.append(f"{left} {right}")
                pieces.append(left + right)
    return pieces, ("#version: 0.2\n" + "\n".join(merges) + "\n").encode()
