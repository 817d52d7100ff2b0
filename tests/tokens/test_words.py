"""Packed masks: the layout, and the classes that they are put together from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.memo import Kept
from explorer.tokens.token_dfa import class_words, packed_bytes
from explorer.tokens.words import ids, num_words, pack, unpack
from tests.evidence import examples


def bit_by_bit(mask: np.ndarray) -> list[int]:
    """The layout, written out: bit ``i % 32`` of word ``i // 32``."""
    words = [0] * num_words(len(mask))
    for token in range(len(mask)):
        words[token // 32] |= int(mask[token]) << token % 32
    return words


@given(st.lists(st.booleans(), min_size=1, max_size=100))
@settings(max_examples=examples(80))
def test_the_layout(bits: list[bool]) -> None:
    mask = np.array(bits, np.bool_)
    assert pack(mask).tolist() == bit_by_bit(mask) and pack(mask).dtype == np.uint32
    assert np.array_equal(unpack(pack(mask), len(mask)), mask)
    assert ids(pack(mask)).tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize("size", [1, 31, 33, 1000, 5003])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_classes_are_joined_to_masks(kind: type, size: int, share: float) -> None:
    draw = np.random.default_rng(size)
    # Half of the live ids are of class 2, which is then a large one.
    classes = np.where(draw.random(size) < 0.5, 2, draw.integers(1, 40, size))
    token_class = np.where(draw.random(size) < share, classes, 0).astype(kind)
    live = int(np.count_nonzero(token_class))
    sets = class_words(token_class, 40, live)
    assert sets.nbytes <= packed_bytes(size, live) + 40 * 16
    for row in (np.full(40, -1), np.arange(40) - 1, draw.integers(-1, 1, 40)):
        row[0] = -1
        for cells in (row.astype(np.int16), row.astype(np.int32)):
            assert sets.mask(cells).tolist() == bit_by_bit((row != -1)[token_class])


def test_a_wrong_class_is_seen() -> None:
    token_class = np.array([0, 1, 2, 2, 3], np.uint16)
    sets = class_words(token_class, 4, 4)
    row = np.array([-1, -1, 5, -1], np.int16)
    assert unpack(sets.mask(row), 5).tolist() == (row != -1)[token_class].tolist()
    sets.ids[0], sets.ids[1] = sets.ids[1], sets.ids[0]
    assert unpack(sets.mask(row), 5).tolist() != (row != -1)[token_class].tolist()


def test_masks_of_a_real_machine(sentencepiece_32k: explorer.Vocabulary) -> None:
    """Every state against the row gathered through the classes, which is the definition."""
    dfa = explorer.compile(explorer.regex(r'"[^"\\\n]*"|\w+( \w+){0,3}'), sentencepiece_32k)
    assert dfa.sets is not None and len(dfa.sets.words)  # A large class is among them.
    for state in range(dfa.num_states):
        wanted = dfa.class_row(state)[dfa.token_class]
        assert np.array_equal(dfa.allowed(state), wanted)
        assert dfa.mask(state).tolist() == pack(wanted).tolist()


def test_the_mask_of_a_visited_state_is_kept() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
    dfa = explorer.compile(explorer.regex("ab"), vocab)
    assert dfa.mask(0) is dfa.mask(0)
    with pytest.raises(ValueError, match="read-only"):
        dfa.mask(0)[0] = 0


def test_what_is_kept_has_a_bound() -> None:
    kept = Kept[int, int](most_bytes=10)
    for key in range(5):
        kept.put(key, key, 4)
        kept.get(0)
    assert [kept.get(key) for key in range(5)] == [0, None, None, None, 4]
    kept.put(9, 9, 100)
    assert kept.get(9) == 9 and kept.get(0) is None


def test_the_composition_announces_its_memory(sentencepiece_32k: explorer.Vocabulary) -> None:
    """Before the first array is made: the functions do not begin, the rows refuse."""
    constraint = explorer.regex(r"\w{1,40}").within(explorer.Budget())
    with pytest.raises(explorer.errors.BudgetExceeded, match="state by state") as raised:
        explorer.compile(constraint, sentencepiece_32k, explorer.Budget(bytes=400_000), lazy=False)
    assert raised.value.resource == "bytes"
