"""GGUF files, written here by the specification: their vocabularies, and files that are refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import DamagedFile, ExplorerError, UnsupportedTokenizer

TYPES = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def text(value: str, size: str = "Q") -> bytes:
    data = value.encode()
    return struct.pack(f"<{size}", len(data)) + data


def gguf(pairs: dict[str, Any], version: int = 3) -> bytes:
    size = "Q" if version > 1 else "I"
    whole = b"GGUF" + struct.pack(f"<I{size}{size}", version, 0, len(pairs))
    for name, value in pairs.items():
        whole += text(name, size)
        if isinstance(value, str):
            whole += struct.pack("<I", 8) + text(value, size)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            whole += struct.pack(f"<II{size}", 9, 8, len(value))
            whole += b"".join(text(each, size) for each in value)
        elif isinstance(value, list):
            whole += struct.pack(f"<II{size}{len(value)}i", 9, 5, len(value), *value)
        else:
            kind, form = TYPES[type(value)]
            whole += struct.pack(f"<I{form}", kind, value)
    return whole


BPE = {
    "general.architecture": "qwen3", "general.rope": 0.5, "general.some": True,
    "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": ["Ġ a", "a b"],
    "tokenizer.ggml.tokens": ["a", "Ġa", "Ċ", "é", "<|im_end|>", "<tool_call>", "[PAD6]"],
    "tokenizer.ggml.token_type": [1, 1, 1, 4, 3, 4, 5], "tokenizer.ggml.eos_token_id": 4,
    "tokenizer.chat_template": "{{ raise_exception('never run') }}",
}  # fmt: skip
PIECES = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<unk>", "</s>", "<0x0A>", "▁a", "é"],
    "tokenizer.ggml.token_type": [2, 3, 6, 1, 1], "tokenizer.ggml.eos_token_id": 1,
}  # fmt: skip


def read(path: Path, data: bytes, name: str = "model.gguf") -> explorer.Vocabulary:
    (path / name).write_bytes(data)
    return explorer.Vocabulary.from_file(path / name)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_bytes_of_tokens_are_read(tmp_path: Path, version: int) -> None:
    bpe = read(tmp_path, gguf(BPE, version) + b"tensors" * 100)
    assert bpe.tokens == (b"a", b" a", b"\n", "é".encode(), None, b"<tool_call>", None)
    assert bpe.eos_ids == (4,) and bpe.special[4] == "<|im_end|>"
    pieces = read(tmp_path, gguf(PIECES, version), "sha256-blob")
    assert pieces.tokens == (None, None, b"\n", b" a", "é".encode())
    assert any("Not proved" in note for note in pieces.notes)


def test_a_folder_with_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf(BPE))
    assert len(explorer.Vocabulary.from_file(tmp_path)) == 7


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (gguf(BPE)[:200], "breaks off"),
        (gguf(BPE, 9), "version"),
        (gguf({"tokenizer.ggml.model": "gpt2"}), "no tokens"),
        (gguf({**BPE, "tokenizer.ggml.token_type": [1]}), "types"),
        (gguf({**PIECES, "tokenizer.ggml.token_type": [2, 3, 6, 6, 1]}), "<0xNN>"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "size"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60), "size"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 77), "type 77"),
    ],
    ids=["cut", "version", "empty", "types", "byte", "pairs", "text", "kind"],
)
def test_damaged_files_are_refused(tmp_path: Path, data: bytes, named: str) -> None:
    with pytest.raises(DamagedFile, match=named) as caught:
        read(tmp_path, data)
    assert caught.value.remedy


def test_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTokenizer, match="bert"):
        read(tmp_path, gguf({**BPE, "tokenizer.ggml.model": "bert"}))


def test_every_cut_and_flip_is_ours_or_read(tmp_path: Path) -> None:
    whole = gguf(PIECES)
    for at in range(len(whole)):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]):
            try:
                read(tmp_path, data)
            except ExplorerError as error:
                assert error.message
