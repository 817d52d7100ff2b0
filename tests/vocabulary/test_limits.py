"""Tokenizers that would abort or hang the process in a library: refused before it is called.

Each hostile file is read in a process of its own with a limit on its memory, so that a limit that
fails is a failed test and not the end of all tests.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers import Tokenizer, normalizers

from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.configs import MAX_FILE_BYTES
from explorer.vocabulary.guards.charsmap import check_charsmap
from explorer.vocabulary.guards.limits import MAX_NESTING, check_component, check_declaration
from tests.evidence import few
from tests.vocabulary.models import table_of, trained

READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary
try:
    Vocabulary.from_file(sys.argv[1], eos_ids=[0])
except ExplorerError as error:
    print(error)
else:
    print("it was read")
"""


def declared(**parts: Any) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {**model, **parts.pop("model", {})},
        **parts,
    }


def nested(inner: str, depth: int, last: dict[str, Any]) -> dict[str, Any]:
    component = last
    for _ in range(depth):
        component = {"type": "Sequence", inner: [component]}
    return component


def table(trie: bytes, texts: bytes) -> str:
    return base64.b64encode(len(trie).to_bytes(4, "little") + trie + texts).decode()


DOUBLING = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}

HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a table of slashes": (
        declared(normalizer={"type": "Precompiled", "precompiled_charsmap": "/" * 400}),
        "its table of characters is damaged: its trie should have 4,294,967,295 bytes",
    ),
    "forty doublings": (
        declared(normalizer={"type": "Sequence", "normalizers": [DOUBLING] * 40}),
        "normalizer.Replace: with the steps before it, it can make a text more than 4,096 times",
    ),
    "a prefix longer than the pieces": (
        declared(model={"continuing_subword_prefix": "##########"}),
        "'a' and 'b' joins a piece that does not start with '##########'",
    ),
    "padding": (
        declared(
            padding={
                "strategy": {"Fixed": 10**12},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "a",
            }
        ),
        "padding: it fills every text up to 1,000,000,000,000 tokens",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_before_the_library_is_called(tmp_path: Path, name: str) -> None:
    content, said = HOSTILE[name]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(UnsupportedTokenizer) as caught:
        check_declaration(content)
    assert said in str(caught.value) and caught.value.remedy


def test_hostile_files_end_no_process(tmp_path: Path) -> None:
    # One process reads the worst of them, one after the other; all would end it or never return.
    worst = ("a table of slashes", "forty doublings", "a prefix longer than the pieces", "padding")
    for name in worst:
        path = tmp_path / f"{worst.index(name)}.json"
        path.write_text(json.dumps(HOSTILE[name][0]), "utf-8")
        done = subprocess.run(
            [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-500:]
        assert HOSTILE[name][1] in done.stdout


def test_tokenizers_made_in_the_process_have_the_same_limits() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(declared()))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("a", "aa")] * 40)
    with pytest.raises(UnsupportedTokenizer, match="times as long"):
        Vocabulary.from_tokenizer(tokenizer, eos_ids=[0])


def test_what_tokenizers_in_use_have_is_within_the_limits() -> None:
    deep = nested("pretokenizers", MAX_NESTING, {"type": "Whitespace"})
    check_component(deep, "pre_tokenizer")
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    check_component({"type": "Sequence", "normalizers": [spaces] * 8}, "normalizer")
    check_component({"type": "Sequence", "normalizers": [{"type": "NFC"}] * 64}, "normalizer")


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"])
def test_sentencepiece_s_own_tables_are_whole(rule: str, tmp_path: Path) -> None:
    model = trained(normalization_rule_name=rule)
    data = table_of(model)
    # ﷺ, U+FDFA, is the longest: 18 characters of Arabic.
    assert check_charsmap(data, "x") == 33
    path = tmp_path / "a.model"
    path.write_bytes(model.replace(data, data[:4] + b"\xff" * 64 + data[68:]))
    with pytest.raises(UnsupportedTokenizer, match="table of characters is damaged"):
        Vocabulary.from_file(path)


@pytest.mark.parametrize("place", few(range(0, 4000, 37), 36))
def test_a_changed_table_is_refused_or_safe(place: int) -> None:
    """Flip bits of the trie: what passes the check, the library can use on every character."""
    data = bytearray(table_of(trained(normalization_rule_name="nfkc")))
    data[4 + place % (len(data) - 8)] ^= 0x5A
    try:
        check_charsmap(bytes(data), "x")
    except UnsupportedTokenizer:
        return
    table = base64.b64encode(bytes(data)).decode()
    content = declared(normalizer={"type": "Precompiled", "precompiled_charsmap": table})
    normalizer = Tokenizer.from_str(json.dumps(content)).normalizer
    assert normalizer is not None
    normalizer.normalize_str("ﬁ ½ ａ é 汉 \u1112\u1161 " + "".join(map(chr, range(0x20, 0x2FF))))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(declared()), "utf-8")
    os.truncate(path, MAX_FILE_BYTES + 1)  # Zeros that take no place on the disk.
    with pytest.raises(DamagedFile, match=f"more than {MAX_FILE_BYTES:,} are not read"):
        Vocabulary.from_file(path, eos_ids=[0])


def test_sentencepiece_models_are_still_the_library_s() -> None:
    # The oracle for `trained`: the library itself reads what the tests change.
    assert sentencepiece.SentencePieceProcessor(model_proto=trained()).vocab_size() > 30
