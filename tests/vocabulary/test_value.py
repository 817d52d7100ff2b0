"""The value itself: what it holds, when it is equal, what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from explorer.errors import VocabularyError
from explorer.vocabulary import Vocabulary

FOOD = (b"f", b"oo", b"foo", b"for", b"food")


def test_end_of_text_past_the_end_adds_an_id_without_text() -> None:
    vocab = Vocabulary.from_bytes(FOOD, eos_ids=[5])
    assert vocab.tokens == (*FOOD, None)
    assert vocab.eos_ids == (5,)
    assert len(vocab) == 6
    assert dict(vocab.special) == {5: "<eos>"}
    assert vocab.notes == ()


def test_entry_at_an_end_of_text_is_only_its_name() -> None:
    vocab = Vocabulary.from_bytes([b"a", b"</s>", b"b"], eos_ids=[1])
    assert vocab.tokens == (b"a", None, b"b")
    assert vocab.special[1] == "</s>"


def test_ids_of_gives_every_id_with_these_bytes() -> None:
    vocab = Vocabulary.from_bytes([b" ", b"a", b" ", None, b"\xf0\x9f"], eos_ids=[5])
    assert vocab.ids_of(b" ") == (0, 2)
    assert vocab.ids_of(b"\xf0\x9f") == (4,)
    assert vocab.ids_of(b"") == vocab.ids_of(b"b") == ()


def test_equality_is_over_tokens_and_ends() -> None:
    same = Vocabulary.from_bytes(FOOD, eos_ids=[5])
    assert same == Vocabulary.from_bytes([*FOOD, None], eos_ids=[5])
    assert hash(same) == hash(Vocabulary.from_bytes(FOOD, eos_ids=[5]))
    assert dataclasses.replace(same, notes=("a note",), special={}) == same
    different = [
        Vocabulary.from_bytes(FOOD, eos_ids=[6]),
        Vocabulary.from_bytes(FOOD, eos_ids=[5, 6]),
        Vocabulary.from_bytes(FOOD[::-1], eos_ids=[5]),
        Vocabulary.from_bytes([b"ab", b"c"], eos_ids=[2]),
        Vocabulary.from_bytes([b"a", b"bc"], eos_ids=[2]),
        Vocabulary.from_bytes([None, b"abc"], eos_ids=[2]),
        Vocabulary.from_bytes([b"abc", None], eos_ids=[2]),
        Vocabulary.from_bytes([b"abc"], eos_ids=[2]),
        Vocabulary.from_bytes([b"abc"], eos_ids=[1]),
    ]
    for a, b in itertools.combinations([same, *different], 2):
        # ("abc", None, end) is the same list whether the None was given or added.
        assert (a == b) == (a.tokens == b.tokens and a.eos_ids == b.eos_ids)
    assert same != "a vocabulary"


def test_with_width_takes_ids_and_ends_away() -> None:
    vocab = Vocabulary.from_bytes([b"a", None, b"b", None], eos_ids=[1, 3])
    narrow = vocab.with_width(2)
    assert narrow.tokens == (b"a", None, None, None)
    assert narrow.eos_ids == (1,)
    assert len(narrow) == len(vocab)
    assert "2 logits" in narrow.notes[-1]
    assert narrow.fingerprint != vocab.fingerprint
    assert vocab.with_width(4) is vocab and vocab.with_width(10) is vocab
    for width in (1, 0, -1):
        with pytest.raises(VocabularyError, match="end of text"):
            vocab.with_width(width)


def test_empty_tokens_are_kept_apart_from_what_is_not_text() -> None:
    vocab = Vocabulary.from_bytes([b"a", b"", None, b""], eos_ids=[4])
    assert vocab.empty_ids == {1, 3} and vocab.tokens == (b"a", None, None, None, None)
    assert pickle.loads(pickle.dumps(vocab)).empty_ids == {1, 3}
    assert vocab != Vocabulary.from_bytes([b"a", None, b"", b""], eos_ids=[4])
    narrow = Vocabulary.from_bytes([b"a", b"", b"b", b""], eos_ids=[0]).with_width(2)
    assert narrow.empty_ids == {1} and len(narrow) == 4
    # What stands at an end of text is only its name, also where it is nothing.
    assert Vocabulary.from_bytes([b"a", b""], eos_ids=[1]).empty_ids == frozenset()
    for wrong in (0, 1, 7, -1):
        with pytest.raises(VocabularyError, match="cannot be empty"):
            Vocabulary((b"a", None), (1,), empty_ids=frozenset([wrong]))


def test_a_copy_through_pickle_encodes_and_carries_no_caches() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "Ġ": 1, "Ġa": 2, "!": 3}, [("Ġ", "a")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("XY", lstrip=True)])
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_ids=[3])
    before = len(pickle.dumps(vocab))
    assert vocab.ids_of(b"a") and vocab.fingerprint and vocab.encode("a! a  XY!")
    data = pickle.dumps(vocab)
    assert len(data) == before
    copy = pickle.loads(data)
    assert copy == vocab and copy.notes == vocab.notes and copy.special == vocab.special
    assert copy.encode("a! a  XY!") == vocab.encode("a! a  XY!")
