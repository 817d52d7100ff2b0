"""Sessions and traces of a machine that is only a `TokenMachine` equal those of the table."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace
from explorer.vocabulary import Vocabulary
from tests.decoding.models import HashModel, tokenizer
from tests.decoding.patterns import random_pattern
from tests.decoding.untabled import Untabled

LOOSE = Sampler(1.0)


def byte_model() -> HashModel:
    """A model whose vocabulary can write every text."""
    return HashModel(Vocabulary.from_tokenizer(tokenizer()))


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
