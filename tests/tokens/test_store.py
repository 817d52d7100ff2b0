"""Saved machines: what comes back, and that no file, however damaged or forged, does harm."""

from __future__ import annotations

import io
import json
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.errors import DamagedFile, ExplorerError
from explorer.tokens.closed_form import store

TOY = [b"f", b"oo", b"foo", b"for", b"food", None]


def vocabulary(*tokens: bytes | None) -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def saved(path: Path, pattern: str = "(foo)+d") -> explorer.TokenDFA:
    dfa = explorer.compile(explorer.regex(pattern), vocabulary(*TOY))
    dfa.save(path)
    return dfa


def parts_of(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def forge(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a file with these parts and the checksum that they have."""
    header = {**header, "sha256": store._checksum(header, arrays)}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with open(path, "wb") as out:
        np.savez(out, allow_pickle=False, **{**arrays, "header": text})


def use(dfa: explorer.TokenDFA) -> None:
    """Everything that indexes the tables of a machine."""
    state = dfa.start
    for _ in range(12):
        allowed = np.flatnonzero(dfa.allowed(state))
        dfa.mask(state)
        if not len(allowed):
            break
        state = dfa.step(state, int(allowed[-1])) or 0
    for state in range(dfa.num_states):
        dfa.allowed(state)
        for token in range(len(dfa.vocabulary)):
            dfa.step(state, token)
            explorer.explain(dfa, state, token)
    assert dfa.lost.states is not None
    dfa.to("cpu").allowed(0, 0, 3)


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "machine"
    saved(path)
    with pytest.raises(DamagedFile, match="fingerprint"):
        explorer.TokenDFA.load(path, vocabulary(*TOY[::-1]))


def test_what_is_not_a_whole_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "machine"
    saved(path)
    whole = path.read_bytes()
    others = (b"", b"hello", json.dumps({"a": 1}).encode())
    for damaged in (*others, *(whole[:end] for end in range(0, len(whole), 97))):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match="machine"):
            explorer.TokenDFA.load(path, vocabulary(*TOY))
    with pytest.raises(FileNotFoundError):
        explorer.TokenDFA.load(tmp_path / "nothing", vocabulary(*TOY))


def flip_bits(path: Path, seed: int, rounds: int) -> None:
    dfa = saved(path)
    whole = path.read_bytes()
    draw = random.Random(seed)
    refused = 0
    for _ in range(rounds):
        damaged = bytearray(whole)
        for _ in range(draw.choice((1, 1, 1, 2, 8))):
            damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            loaded = explorer.TokenDFA.load(path, vocabulary(*TOY))
        except DamagedFile:
            refused += 1
        else:  # A byte that means nothing, such as a date inside the archive.
            assert np.array_equal(loaded.table, dfa.table)
            assert np.array_equal(loaded.token_class, dfa.token_class)
    assert refused > rounds // 2


def test_any_flipped_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    flip_bits(tmp_path / "machine", seed=0, rounds=200)


@pytest.mark.long
def test_flipped_bytes_for_long(tmp_path: Path) -> None:
    flip_bits(tmp_path / "machine", seed=random.randrange(2**32), rounds=20_000)


def entry(name: str, index: Any, value: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A forgery: one value of an array, with the checksum made anew."""

    def forgery(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return forgery


FORGERIES: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], object]]] = [
    ("fingerprint", lambda h, a: h.pop("fingerprint")),
    ("fingerprint", lambda h, a: h.update(fingerprint=5)),
    ("source", lambda h, a: h.pop("source")),
    ("source", lambda h, a: h.update(source=[1])),
    ("kind", lambda h, a: h.update(source={"kind": "nothing"})),
    ("surrogate", lambda h, a: h.update(source={"kind": "choice", "texts": ["\ud800"]})),
    ("report", lambda h, a: h.pop("report")),
    ("report", lambda h, a: h["report"].update(milliseconds=3)),
    ("report", lambda h, a: h["report"].update(token_states="many")),
    ("table", entry("table", (0, 2), 2_000)),
    ("table", entry("table", (0, 2), -100)),
    ("end of text", entry("table", (0, 2), -2)),
    ("end of text", entry("table", (0, 1), -2)),
    ("no state allows", entry("table", (0, 0), 0)),
    (
        "token classes",
        lambda h, a: a.update(token_class=a["token_class"].astype(np.int32) | -(2**31)),
    ),
    ("token classes", entry("token_class", 0, 50)),
    ("end of text", entry("token_class", 0, 1)),
    ("not text", entry("token_class", 5, 2)),
    ("vocabulary's ids", lambda h, a: a.update(token_class=a["token_class"][:-1])),
    ("character states", entry("char_state", 0, 2_000_000_000)),
    ("character states", entry("char_state", 1, 0)),
    ("end of text", entry("accepting", 0, 1)),
    ("byte machine", entry("fsa_accepting", 0, 1)),
    ("machine", entry("fsa_table", (0, 0), 2_000_000_000)),
    ("machine", entry("fsa_symbol_class", 0, -(2**31))),
    ("distances", entry("distance", 0, 50)),
    ("distances", entry("distance", 0, 3)),
    ("distances", entry("distance", 0, -1)),
    ("another number of states", lambda h, a: a.update(distance=a["distance"][:1])),
    ("stuck", lambda h, a: a.update(stuck=np.array([99], np.int32))),
    ("table is an array", lambda h, a: a.update(table=a["table"].astype(np.float64))),
    ("table is an array", lambda h, a: a.update(table=np.array([["x"]]))),
    ("table is an array", lambda h, a: a.update(table=a["table"].astype(">i2"))),
    ("table is an array", lambda h, a: a.update(table=np.asfortranarray(a["table"]))),
    ("no states", lambda h, a: a.update(table=a["table"][:0])),
    ("no class", lambda h, a: a.update(table=a["table"][:, :1].copy())),
    ("distance is an array", lambda h, a: a.update(distance=a["distance"].astype(np.int64))),
    ("accepting is an array", lambda h, a: a.update(accepting=a["accepting"].astype(np.uint8))),
    ("its parts are not", lambda h, a: a.update(more=np.zeros(1))),
]


@pytest.mark.parametrize(
    ("words", "forgery"), FORGERIES, ids=[f"{k}-{words}" for k, (words, _) in enumerate(FORGERIES)]
)
def test_a_forged_file_is_refused_whatever_its_checksum(
    words: str, forgery: Callable[[dict[str, Any], dict[str, Any]], object], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    saved(path)
    header, arrays = parts_of(path)
    forgery(header, arrays)
    forge(path, header, arrays)
    with pytest.raises(DamagedFile) as caught:
        explorer.TokenDFA.load(path, vocabulary(*TOY))
    assert words in str(caught.value)


def forge_values(path: Path, seed: int, rounds: int) -> None:
    """Forged values with a right checksum: refused, or a machine that can be used."""
    draw = random.Random(seed)
    wrong = (-(2**31), -100, -3, -2, -1, 0, 1, 2, 3, 5, 99, 2_000_000_000)
    for _ in range(rounds):
        saved(path, draw.choice(["(foo)+d", "f*", "[fo]{1,3}(food)?"]))
        header, arrays = parts_of(path)
        for _ in range(draw.choice((1, 1, 2))):
            name = draw.choice(sorted(arrays))
            array = arrays[name].copy()
            if draw.random() < 0.15:
                arrays[name] = array[: draw.randrange(len(array) + 1)]
            elif array.size:
                value = draw.choice(wrong)
                if array.dtype.kind != "b":
                    limits = np.iinfo(array.dtype)
                    value = min(max(value, int(limits.min)), int(limits.max))
                array.flat[draw.randrange(array.size)] = value
                arrays[name] = array
        if draw.random() < 0.1:
            header["source"] = {"kind": "regex", "pattern": draw.choice(["x", "(", "fo", "\ud800"])}
        forge(path, header, arrays)
        try:
            loaded = explorer.TokenDFA.load(path, vocabulary(*TOY))
        except DamagedFile:
            continue
        try:
            use(loaded)
        except ExplorerError as error:
            assert error.remedy


def test_forged_values_do_no_harm(tmp_path: Path) -> None:
    forge_values(tmp_path / "machine", seed=1, rounds=150)


@pytest.mark.long
def test_forged_values_for_long(tmp_path: Path) -> None:
    forge_values(tmp_path / "machine", seed=random.randrange(2**32), rounds=20_000)


def zip_of(path: Path, name: str, content: bytes) -> None:
    """A copy of a file with one of its parts replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    parts[f"{name}.npy"] = content
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry_name, data in parts.items():
            archive.writestr(entry_name, data)


def npy_head(shape: tuple[int, ...], kind: str) -> bytes:
    head = io.BytesIO()
    form = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, form)
    return head.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy_head((2**40,), "<i4"), "bytes of memory"),
        (npy_head((2**20, -(2**20)), "<i4"), "shape"),
        (npy_head((9,), "<i4") + bytes(10**8), "size that it claims"),
        (npy_head((10**8 // 4,), "<i4"), "size that it claims"),
    ],
    ids=["claims too much", "claims less than nothing", "holds more", "holds less"],
)
def test_memory_is_not_taken_before_the_sizes_are_known(
    content: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "machine"
    saved(path)
    zip_of(path, "fsa_table" if "shape" in words else "distance", content)
    given = vocabulary(*TOY)
    tracemalloc.start()
    try:
        with pytest.raises(DamagedFile, match=words):
            explorer.TokenDFA.load(path, given)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_header_of_an_array_is_a_damaged_file(tmp_path: Path) -> None:
    """Every byte of the header of every array is changed to some that mean something to Python."""
    path = tmp_path / "dfa.npz"
    saved(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    draw = random.Random(0)
    for name, data in parts.items():
        for place in range(8, 128, 3):
            changed = bytearray(data)
            changed[place] = draw.choice(b"'([{\\0\n\x00\xff")
            with zipfile.ZipFile(path, "w") as archive:
                for other, whole in {**parts, name: bytes(changed)}.items():
                    archive.writestr(other, whole)
            try:
                explorer.TokenDFA.load(path, vocabulary(*TOY))
            except DamagedFile:
                continue
            assert changed == data or data[:128].find(b" ", place - 1) in (place - 1, place)
