"""The orders of the bitmap and the rows of the history, against sorting and the trace itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import explorer
from explorer.analysis.session import Session
from tests.widgets.figures.cases import hash_session, toy_session
from widgets.figures.packets import trace_packet
from widgets.figures.panels.mask import (
    order_packet,
    rows_packet,
    token_order,
    unpack_bits,
    unpack_order,
)
from widgets.toy import ToyModel

LOGITS = arrays.arrays(
    np.float32,
    st.integers(1, 300),
    # Few values, so that there are ties.
    elements=st.sampled_from([-np.inf, -40.0, -1.5, 0.0, 0.25, 30.0]),
)


@given(LOGITS, st.integers(1, 320))
def test_the_order_is_the_sorted_logits(logits: np.ndarray, size: int) -> None:
    ids, bits = unpack_order(json.loads(json.dumps(order_packet(logits, size), allow_nan=False)))

    def key(token: int) -> tuple[float, int]:
        return (-float(logits[token]) if token < len(logits) else np.inf, token)

    assert ids.tolist() == sorted(range(size), key=key)
    assert (np.diff(bits[np.isfinite(bits)]) >= 0).all()


@given(LOGITS, st.integers(1, 320))
def test_surprisals_are_those_of_the_softmax(logits: np.ndarray, size: int) -> None:
    ids, bits = unpack_order(order_packet(logits, size))
    weights = np.exp(logits.astype(np.float64))
    known = ids < len(logits)
    assert np.isinf(bits[~known]).all()
    if not weights.sum():
        assert np.isinf(bits).all()
        return
    with np.errstate(divide="ignore"):
        true = -np.log2(weights[ids[known]] / weights.sum())
    finite = np.isfinite(true)
    assert np.isinf(bits[known][~finite]).all()
    assert bits[known][finite] == pytest.approx(true[finite], abs=1 / 256)


def test_an_order_of_131_072_ids_is_small_enough_to_be_asked_for() -> None:
    logits = np.random.default_rng(3).normal(0, 4, 131_072).astype(np.float32)
    packet = order_packet(logits, 131_072)
    assert packet["planes"] == 3
    assert len(json.dumps(packet)) <= 400_000
    ids, _ = unpack_order(packet)
    assert (ids == np.argsort(-logits, kind="stable")).all()


def test_class_order_is_eos_then_the_largest_and_the_dead_last() -> None:
    draw = np.random.default_rng(5)
    classes = draw.integers(0, 9, 500)
    found = classes[token_order("class", classes)].tolist()
    seen = list(dict.fromkeys(found))
    sizes = [found.count(c) for c in seen]
    assert (seen[0], seen[-1]) == (1, 0)
    assert sizes[1:-1] == sorted(sizes[1:-1], reverse=True)


def test_rows_of_a_stretch_are_the_masks_of_its_positions() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab", b"ba", b"aab"], eos_ids=[5])
    trace = hash_session(vocabulary, "(a|ba)*b{1,40}", 30).trace
    assert len(trace.positions) > 5
    for start, stop in ((0, len(trace.positions)), (2, 5), (4, 4)):
        packet = rows_packet(trace, start, stop)
        rows, index = packet["rows"], packet["index"]
        assert isinstance(rows, list) and isinstance(index, list)
        assert len(index) == stop - start and len(set(rows)) == len(rows)
        for k, place in zip(range(start, stop), index, strict=True):
            row = unpack_bits(rows[place], trace.num_classes)
            allowed = trace.allowed(k) & (not trace.positions[k].finished)
            assert row[trace.token_class].tolist() == allowed.tolist()


def test_the_page_without_a_kernel_has_the_same_rows() -> None:
    run = toy_session()
    trace = run.trace
    asked, stored = rows_packet(trace, 0, len(trace.positions)), trace_packet(trace, run.machine)
    positions = stored["positions"]
    assert isinstance(positions, list)
    assert stored["rows"] == asked["rows"]
    assert [position["row"] for position in positions] == asked["index"]


def test_without_a_constraint_there_are_no_rows() -> None:
    free = Session(ToyModel(), None)
    free.step()
    assert rows_packet(free.trace, 0, 2) == {"rows": [], "index": [-1, -1]}
