"""Sessions and traces of a machine that is only a `TokenMachine` equal those of the table."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.recording import SeenClasses, first_of_classes, unpack_row
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary
from tests.decoding.models import HashModel, hash_model, tokenizer
from tests.decoding.patterns import random_pattern
from tests.decoding.untabled import Untabled

LOOSE = Sampler(1.0)


def byte_model() -> HashModel:
    """A model whose vocabulary can write every text."""
    return HashModel(Vocabulary.from_tokenizer(tokenizer()))


def test_it_has_no_table_and_is_a_machine() -> None:
    dfa = explorer.compile(explorer.regex("(yes|no)+"), hash_model().vocabulary)
    assert table_of(dfa) is dfa
    assert isinstance(Untabled(dfa), TokenMachine) and table_of(Untabled(dfa)) is None


@pytest.mark.parametrize("seed", range(12))
def test_traces_say_the_same_as_those_of_the_table(seed: int, tmp_path: Path) -> None:
    model = byte_model()
    draw = random.Random(seed)
    constraint = explorer.regex(random_pattern(draw))
    dfa = explorer.compile(constraint, model.vocabulary)
    ours = Session(model, Untabled(dfa), "hi", sampler=LOOSE, seed=seed).run(30)
    theirs = Session(model, dfa, "hi", sampler=LOOSE, seed=seed).run(30)
    assert ours.ids == theirs.ids and ours.positions == theirs.positions
    ours.save(tmp_path / "trace.json")
    for trace in (ours, Trace.load(tmp_path / "trace.json")):
        assert trace == ours
        for k in range(len(ours.positions)):
            assert (trace.allowed(k) == theirs.allowed(k)).all()
            assert (trace.row(k)[trace.token_class] == theirs.allowed(k)).all()


@pytest.mark.parametrize("seed", range(6))
def test_two_ids_share_a_class_exactly_if_no_mask_tells_them_apart(seed: int) -> None:
    draw = np.random.default_rng(seed)
    size, eos = 70, (3, 69)
    masks = [draw.random(size) < chance for chance in (0.0, 0.2, 0.5, 0.5, 0.9)]
    for mask in masks:
        mask[list(eos)] = mask[3]
    packed: list[bytes] = []
    for mask in masks:
        words = np.zeros((size + 31) // 32, "<u4")
        bits = np.packbits(mask, bitorder="little")
        words.view(np.uint8)[: len(bits)] = bits
        packed.append(words.tobytes())
    seen = SeenClasses(size, eos)
    seen.of(packed[::-1])  # Another path before: it leaves nothing behind.
    begun = seen.of(packed[:2])
    count, data, rows = seen.of(packed)
    assert (count, data, rows) == SeenClasses(size, eos).of(packed)
    assert begun == SeenClasses(size, eos).of(packed[:2])
    classes = np.frombuffer(data, "<u2")
    columns = np.stack(masks).T
    for a in range(size):
        for b in range(size):
            alike = (columns[a] == columns[b]).all() and (a in eos) == (b in eos)
            assert (classes[a] == classes[b]) == alike
        assert (classes[a] == 0) == (not columns[a].any() and a not in eos)
        assert (classes[a] == 1) == (a in eos)
    for mask, row in zip(masks, rows, strict=True):
        assert (unpack_row(row, count)[classes] == mask).all()
    first = first_of_classes(classes.astype(np.int32), count, 3)
    for k in range(count):
        assert first[k][first[k] >= 0].tolist() == np.flatnonzero(classes == k)[:3].tolist()


def test_going_back_leaves_no_trace_in_the_classes() -> None:
    model = byte_model()
    dfa = explorer.compile(explorer.regex("[a-z]+(, ([0-9]+|yes|é))*"), model.vocabulary)
    straight = Session(model, Untabled(dfa), sampler=LOOSE, seed=3)
    around = Session(model, Untabled(dfa), sampler=LOOSE, seed=3)
    fork = around.fork(seed=9)
    fork.run(12)
    for k in (2, 5, 1, 7, 8):
        for made in (straight, around):
            made.jump(0)
            made.run(k)
        assert fork.trace.masks is not None
        around.trace  # noqa: B018 - Whatever was asked before must not matter.
        assert around.trace == straight.trace


def test_classes_grow_along_a_path() -> None:
    """A mutant of `_split` that never splits would keep two classes for ever."""
    model = byte_model()
    dfa = explorer.compile(explorer.regex("[a-z]{3}[0-9]{3}"), model.vocabulary)
    made = Session(model, Untabled(dfa), sampler=LOOSE, seed=1)
    counts = [made.trace.num_classes]
    while not made.finished:
        made.step()
        counts.append(made.trace.num_classes)
    assert all(a <= b for a, b in pairwise(counts)) and counts[0] < counts[-1]


def test_a_token_budget_needs_a_table() -> None:
    model = byte_model()
    machine = Untabled(explorer.compile(explorer.regex("[a-z]+"), model.vocabulary))
    with pytest.raises(ExplorerError, match="does not know them") as raised:
        Session(model, machine, max_tokens=5, masking_budget=True)
    assert "masking_budget=False" in (raised.value.remedy or "")
    cut = Session(model, machine, max_tokens=2, masking_budget=False, seed=1, sampler=LOOSE).run()
    assert len(cut) == 2
    default = Session(model, machine, max_tokens=2, seed=1, sampler=LOOSE).run()
    assert default.ids == cut.ids and not default.masking_budget


def test_without_a_constraint_the_machine_is_free() -> None:
    model = hash_model()
    made = Session(model, None, max_tokens=3)
    assert isinstance(made.machine, Free) and made.constraint is None
    trace = made.run()
    assert trace.masks is None and trace.allowed(0).all() and trace.source is None
    given = Session(model, Free(model.vocabulary), max_tokens=3)
    assert given.run() == trace
