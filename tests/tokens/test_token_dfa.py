"""Tables over tokens: what they answer, how they are packed, kept and shared."""

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
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.errors import (
    BudgetExceeded,
    DamagedFile,
    EmptyConstraint,
    ExplorerError,
    IncompatibleVocabulary,
)
from explorer.tokens.closed_form import store
from explorer.tokens.masks.packed import (
    IMPOSSIBLE,
    MINUS_INFINITY,
    NOT_NUMBERS,
    Results,
    mask_rows_,
    masked_on_device,
    masked_rows,
)
from explorer.tokens.words import DEAD, DEAD_CLASS, pack
from tests.evidence import LONG, examples

# Common mistakes of users of constrained decoding, and the machine at its edges.


TOY = [b"f", b"oo", b"foo", b"for", b"food"]


def vocabulary(*tokens: bytes | None) -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def allowed(dfa: explorer.TokenDFA, *path: int) -> list[int]:
    states = dfa.walk(path)
    assert len(states) == len(path) + 1
    return np.flatnonzero(dfa.allowed(states[-1])).tolist()


def test_the_papers_example() -> None:
    dfa = explorer.compile(explorer.regex("(foo)+d"), vocabulary(*TOY))
    assert dfa.num_states == 4 and dfa.char_state.tolist() == [0, 1, 3, 4]
    assert dfa.num_classes == 6  # dead, EOS, f, oo, foo, food; `for` is dead.
    assert allowed(dfa) == [0, 2, 4]
    assert allowed(dfa, 2) == [0, 2, 4]
    assert allowed(dfa, 0) == [1]
    assert allowed(dfa, 4) == [5]
    assert dfa.distance.tolist() == [2, 3, 2, 1]


def test_no_token_into_a_dead_end() -> None:
    """`a*d|b` over {a, b}: nothing writes d, so a must not be allowed."""
    dfa = explorer.compile(explorer.regex("a*d|b"), vocabulary(b"a", b"b"))
    assert allowed(dfa) == [1]
    assert dfa.report.stuck_states == 1
    assert dfa.lost == dfa.report.lost and "1 character states cannot" in str(dfa.report)
    assert len(dfa.lost.states) == 1 and {b for _, b in dfa.lost.arcs} == {ord("a"), ord("d")}


def test_end_of_text() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"a", None, None, None], eos_ids=[1, 3])
    dfa = explorer.compile(explorer.regex("a?"), vocab)
    assert allowed(dfa) == [0, 1, 3]
    assert dfa.step(dfa.start, 3) == explorer.DONE
    assert allowed(dfa, 1) == [1, 3] and dfa.step(explorer.DONE, 1) == explorer.DONE
    assert dfa.is_final(explorer.DONE) and dfa.is_final(dfa.start)
    assert 2 in dfa.tokens_of_class[DEAD_CLASS]


def test_special_token_text_is_not_the_special_token() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"<", b"eot", b">", None], eos_ids=[3])
    dfa = explorer.compile(explorer.regex("<eot>"), vocab)
    assert allowed(dfa) == [0] and allowed(dfa, 0, 1, 2) == [3]


def test_logits_narrower_than_the_vocabulary() -> None:
    """The only token that could finish lies beyond the model's logits."""
    vocab = explorer.Vocabulary.from_bytes([b"a", None, b"b", b"ab"], eos_ids=[1])
    assert allowed(explorer.compile(explorer.regex("ab|a"), vocab)) == [0, 3]
    assert allowed(explorer.compile(explorer.regex("ab|a"), vocab, width=2)) == [0]
    with pytest.raises(IncompatibleVocabulary):
        explorer.compile(explorer.regex("ab"), vocab, width=2)


def test_an_empty_constraint_is_its_own_error() -> None:
    with pytest.raises(EmptyConstraint, match=r"regex\('a\$b'\) has no word"):
        explorer.compile(explorer.regex("a$b"), vocabulary(b"a", b"b"))


def test_a_vocabulary_that_cannot_write_it() -> None:
    with pytest.raises(IncompatibleVocabulary) as caught:
        explorer.compile(explorer.regex("abc|abcd"), vocabulary(b"a", b"ab", b"x"))
    assert caught.value.witness == b"abc" and caught.value.offset == 2
    assert "first 2 of 3 bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("named", "shown"), [("<t>", "'<t>z'; tokens can write its first 3 of 4 bytes"), (2, "[2]z")]
)
def test_a_control_token_counts_as_written(named: str | int, shown: str) -> None:
    names = {2: "<t>"} if named == "<t>" else {}
    vocab = explorer.Vocabulary((b"a", b"b", None, None), (3,), special=names)
    with pytest.raises(IncompatibleVocabulary) as caught:
        explorer.compile(explorer.token(named) + explorer.regex("z"), vocab)
    assert caught.value.witness == vocab.written([2]) + b"z"
    assert caught.value.offset == len(vocab.written([2]))
    assert shown in str(caught.value)


def test_nothing_is_lost_where_every_byte_is_a_token() -> None:
    every = [bytes([b]) for b in range(256)]
    dfa = explorer.compile(explorer.regex(r"\w+|ä{2}"), vocabulary(*every))
    assert not dfa.lost and dfa.report.stuck_states == 0


def test_classes_partition_the_vocabulary(tekken_131k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex(r'"[^"\\\x00-\x1f]*"'), tekken_131k)
    together = np.sort(np.concatenate(dfa.tokens_of_class))
    assert np.array_equal(together, np.arange(len(tekken_131k)))
    columns = {dfa.table[:, c].tobytes() for c in range(1, dfa.num_classes)}
    assert len(columns) == dfa.num_classes - 1  # No two classes are alike, and
    assert (dfa.table[:, 2:] != DEAD).any(axis=0).all()  # none is empty but the dead one.
    assert dfa.nbytes < 500_000


def test_budget_is_for_the_whole_compilation() -> None:
    with pytest.raises(BudgetExceeded, match="Determinization"):
        explorer.compile(
            explorer.regex("(a|b)*a(a|b){25}"), vocabulary(b"a"), explorer.Budget(states=5000),
            lazy=False,
        )  # fmt: skip
    with pytest.raises(ExplorerError, match="allows nothing"):
        explorer.Budget(seconds=0)


# Packed masks on logits: bit by bit what a dense mask does, for every type, width and layout.


ODD = [0.0, -0.0, 1.5, -1.5, 3e38, -3e38, 1e-45, torch.inf, -torch.inf, torch.nan, -torch.nan]


def dense(logits: torch.Tensor, masks: np.ndarray) -> torch.Tensor:
    """The oracle: one Boolean for each logit."""
    keep = torch.zeros(logits.shape, dtype=torch.bool)
    width = min(logits.shape[1], masks.shape[1])
    keep[:, :width] = torch.from_numpy(masks[:, :width])
    return logits.masked_fill(~keep, -torch.inf)


def bits(logits: torch.Tensor) -> list[list[int]]:
    """The very bits, so that NaN equals itself and -0 does not equal 0."""
    return logits.contiguous().view(MINUS_INFINITY[logits.dtype][0]).tolist()


def expected_fault(masked: torch.Tensor) -> int:
    if masked.isnan().any() or (masked == torch.inf).any():
        return NOT_NUMBERS
    return 0 if (masked > -torch.inf).any() else IMPOSSIBLE


@pytest.mark.parametrize("dtype", MINUS_INFINITY)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_a_packed_mask_does_what_a_dense_one_does(dtype: torch.dtype, data: Any) -> None:
    tokens = data.draw(st.sampled_from([1, 31, 32, 33, 64, 95, 131]))
    width = data.draw(st.sampled_from([tokens, tokens + 1, tokens + 70]))
    count = data.draw(st.integers(1, 3))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shares = draw.choice([0.0, 0.02, 0.5, 0.98, 1.0], (count, 1))
    masks = draw.random((count, tokens)) < shares
    masks[:, :32] |= draw.random((count, 1)) < 0.3  # Whole words too.
    logits = torch.from_numpy(draw.normal(size=(count, width))).to(dtype)
    for _ in range(data.draw(st.integers(0, 3))):
        row, column = int(draw.integers(count)), int(draw.integers(width))
        logits[row, column] = float(draw.choice(ODD))
    layout = data.draw(st.sampled_from(["plain", "transposed", "every other", "rows of more"]))
    given_logits = {
        "plain": logits.clone(),
        "transposed": logits.T.contiguous().T,
        "every other": logits.repeat_interleave(2, 1)[:, ::2],
        "rows of more": torch.cat([logits, logits], 1)[:, :width],
    }[layout]
    assert torch.equal(given_logits.isnan(), logits.isnan())
    before, rows = bits(given_logits), [pack(mask) for mask in masks]
    expected = dense(logits, masks)

    ours, faults = masked_rows(given_logits, rows)
    assert bits(ours) == bits(expected) and bits(given_logits) == before
    assert faults == [expected_fault(row) for row in expected]
    elsewhere, others = masked_on_device(given_logits, rows)
    assert bits(elsewhere) == bits(expected) and others == faults
    mask_rows_(given_logits, rows)
    assert bits(given_logits) == bits(expected)


def test_a_wrong_mask_is_seen() -> None:
    """The oracle above can fail: one bit of one mask changed is another result."""
    masks = np.ones((1, 40), np.bool_)
    words = pack(masks[0])
    words[1] ^= np.uint32(1)
    ours, _ = masked_rows(torch.zeros(1, 40), [words])
    assert not torch.equal(ours, dense(torch.zeros(1, 40), masks))


def test_memory_is_used_again_only_once_nobody_holds_it() -> None:
    results, rows = Results(), [pack(np.ones(64, np.bool_))] * 2

    def masked(value: float) -> torch.Tensor:
        return masked_rows(torch.full((2, 64), value), rows, results)[0]

    ways: dict[str, Any] = {
        "itself": lambda one: one,
        "a row": lambda one: one[1],
        "detached": lambda one: one.detach(),
        "as an array": lambda one: one.numpy()[0],
        "as another type": lambda one: one.view(torch.int32),
    }
    for name, way in ways.items():
        held = way(masked(1.0))
        before = torch.as_tensor(held).tolist()
        for value in (2.0, 3.0, 4.0):
            assert (masked(value) == value).all()
        assert torch.as_tensor(held).tolist() == before, name
    held = None
    places = set[int]()
    for value in (1.0, 2.0, 3.0, 4.0):
        last = masked(value)  # Held until the next is there, as a decoder does.
        places.add(last.data_ptr())
    assert len(places) <= 3


# Saved machines: what comes back, and that no file, however damaged or forged, does harm.


TOY_OF_STORE = [b"f", b"oo", b"foo", b"for", b"food", None]


def saved(path: Path, pattern: str = "(foo)+d") -> explorer.TokenDFA:
    dfa = explorer.compile(explorer.regex(pattern), vocabulary(*TOY_OF_STORE))
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
        explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE[::-1]))


def test_what_is_not_a_whole_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "machine"
    saved(path)
    whole = path.read_bytes()
    others = (b"", b"hello", json.dumps({"a": 1}).encode())
    for damaged in (*others, *(whole[:end] for end in range(0, len(whole), 97))):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match="machine"):
            explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE))
    with pytest.raises(FileNotFoundError):
        explorer.TokenDFA.load(tmp_path / "nothing", vocabulary(*TOY_OF_STORE))


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
            loaded = explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE))
        except DamagedFile:
            refused += 1
        else:  # A byte that means nothing, such as a date inside the archive.
            assert np.array_equal(loaded.table, dfa.table)
            assert np.array_equal(loaded.token_class, dfa.token_class)
    assert refused > rounds // 2


def test_any_flipped_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    flip_bits(tmp_path / "machine", seed=LONG, rounds=examples(100))


def entry(name: str, index: Any, value: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A forgery: one value of an array, with the checksum made anew."""

    def forgery(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return forgery


FORGERIES: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], object]]] = [
    ("fingerprint", lambda h, a: h.pop("fingerprint")),
    ("of kind", lambda h, a: h.pop("source")),
    ("kind", lambda h, a: h.update(source={"kind": "nothing"})),
    ("surrogate", lambda h, a: h.update(source={"kind": "choice", "texts": ["\ud800"]})),
    ("its header", lambda h, a: h.pop("report")),
    ("its header", lambda h, a: h["report"].update(token_states="many")),
    ("table", entry("table", (0, 2), 2_000)),
    ("end of text", entry("table", (0, 2), -2)),
    ("no state allows", entry("table", (0, 0), 0)),
    (
        "token classes",
        lambda h, a: a.update(token_class=a["token_class"].astype(np.int32) | -(2**31)),
    ),
    ("end of text", entry("token_class", 0, 1)),
    ("not text", entry("token_class", 5, 2)),
    ("vocabulary's ids", lambda h, a: a.update(token_class=a["token_class"][:-1])),
    ("character states", entry("char_state", 0, 2_000_000_000)),
    ("character states", entry("char_state", 1, 0)),
    ("end of text", entry("accepting", 0, 1)),
    ("byte machine", entry("fsa_accepting", 0, 1)),
    ("machine", entry("fsa_table", (0, 0), 2_000_000_000)),
    ("machine", entry("fsa_symbol_class", 0, -(2**31))),
    ("distances", entry("distance", 0, 3)),
    ("another number of states", lambda h, a: a.update(distance=a["distance"][:1])),
    ("stuck", lambda h, a: a.update(stuck=np.array([99], np.int32))),
    ("table is an array", lambda h, a: a.update(table=a["table"].astype(np.float64))),
    ("table is an array", lambda h, a: a.update(table=np.asfortranarray(a["table"]))),
    ("no states", lambda h, a: a.update(table=a["table"][:0])),
    ("no class", lambda h, a: a.update(table=a["table"][:, :1].copy())),
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
        explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE))
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
            loaded = explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE))
        except DamagedFile:
            continue
        try:
            use(loaded)
        except ExplorerError as error:
            assert error.remedy


def test_forged_values_do_no_harm(tmp_path: Path) -> None:
    forge_values(tmp_path / "machine", seed=1 + LONG, rounds=examples(60))


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
    given = vocabulary(*TOY_OF_STORE)
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
                explorer.TokenDFA.load(path, vocabulary(*TOY_OF_STORE))
            except DamagedFile:
                continue
            assert changed == data or data[:128].find(b" ", place - 1) in (place - 1, place)
