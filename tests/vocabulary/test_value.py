"""Vocabularies as values, their proofs, and what cannot be known."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary, bank, prove
from explorer.vocabulary.proof import HARD_STRINGS
from explorer.vocabulary.reading import Encoder
from tests.vocabulary.tokenizers_by_hand import byte_level, llama_style

# The value itself: what it holds, when it is equal, what it refuses.


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


# The proof can fail: vocabularies made wrong on purpose, each of which it must find.


Tokens = list[bytes | None]


def parts(vocab: Vocabulary) -> tuple[Tokens, Encoder]:
    assert vocab._encoder is not None
    return list(vocab.tokens), vocab._encoder


@pytest.fixture(scope="module", params=["sentencepiece", "tekken", "gpt2", "pegasus", "bert"])
def vocab(
    request: pytest.FixtureRequest, sentencepiece_path: Path, tekken_path: Path
) -> Vocabulary:
    if request.param == "sentencepiece":
        return Vocabulary.from_file(sentencepiece_path)
    if request.param == "tekken":
        return Vocabulary.from_file(tekken_path)
    if request.param == "bert":
        return Vocabulary.from_file(request.getfixturevalue("bert"))
    folder: Path = request.getfixturevalue("further")
    named = {"gpt2": "gpt2", "pegasus": "pegasus-unigram"}
    return Vocabulary.from_file(folder / named[request.param])


def test_the_right_vocabulary_is_proved(vocab: Vocabulary) -> None:
    tokens, encoder = parts(vocab)
    result = prove(tokens, encoder)
    assert len(result.exact) > 500
    assert not result.skipped
    assert set(HARD_STRINGS) <= {*result.exact, *result.unwritable}


def used(vocab: Vocabulary, text: str) -> list[int]:
    ids = vocab.encode(text)
    assert ids is not None
    return [token for token in ids if vocab.tokens[token] is not None]


def swap(vocab: Vocabulary, tokens: Tokens) -> None:
    a, b = used(vocab, "the fox")[-1], used(vocab, "the quick")[-1]
    tokens[a], tokens[b] = tokens[b], tokens[a]


def strip_a_space(vocab: Vocabulary, tokens: Tokens) -> None:
    token = used(vocab, "a the")[-1]
    data = tokens[token]
    assert data is not None and data.startswith(b" ")
    tokens[token] = data.lstrip()


def shift_by_one(vocab: Vocabulary, tokens: Tokens) -> None:
    tokens[:] = [*tokens[1:], tokens[0]]


def lower_by_a_bit(vocab: Vocabulary, tokens: Tokens) -> None:
    token = used(vocab, "a")[-1]
    tokens[token] = bytes(byte ^ 1 for byte in tokens[token] or b"")


def compose(vocab: Vocabulary, tokens: Tokens) -> None:
    """Another rule for every token: what a reader that normalizes would give."""
    for token, data in enumerate(tokens):
        if data is not None:
            tokens[token] = data.replace(b" ", b"_")


MUTANTS = [swap, strip_a_space, shift_by_one, lower_by_a_bit, compose]


@pytest.mark.parametrize("mutate", MUTANTS)
def test_a_wrong_vocabulary_is_refuted(
    vocab: Vocabulary, mutate: Callable[[Vocabulary, Tokens], None]
) -> None:
    tokens, encoder = parts(vocab)
    mutate(vocab, tokens)
    assert tokens != list(vocab.tokens)
    strings = [*bank(vocab.tokens), "the fox", "the quick", "a the"]
    with pytest.raises(UnsupportedTokenizer) as caught:
        prove(tokens, encoder, strings)
    assert caught.value.component == "proof"
    assert "on the string" in caught.value.reason and "instead of" in caught.value.reason


def test_a_string_with_the_unknown_token_must_not_be_writable(further: Path) -> None:
    tokens, encoder = parts(Vocabulary.from_file(further / "pegasus-unigram"))
    assert prove(tokens, encoder, ["🙂"]).unwritable == ("🙂",)
    tokens[7] = "🙂".encode()
    with pytest.raises(UnsupportedTokenizer, match="unknown token, yet tokens spell it"):
        prove(tokens, encoder, ["🙂"])


def test_a_tokenizer_that_contradicts_itself_is_refused(neox: Tokenizer) -> None:
    from tokenizers import decoders

    wrong = Tokenizer.from_str(neox.to_str())
    wrong.decoder = decoders.Metaspace()
    with pytest.raises(UnsupportedTokenizer, match="on the string"):
        Vocabulary.from_tokenizer(wrong, eos_ids=[0])


def test_the_bank_is_hard() -> None:
    whole = "".join(HARD_STRINGS)
    assert "" in HARD_STRINGS and "<0x20>" in HARD_STRINGS
    assert any("\u200d" in text for text in HARD_STRINGS)
    assert any("  " in text for text in HARD_STRINGS) and "\n\n" in whole
    assert any(unicodedata.normalize("NFC", text) != text for text in HARD_STRINGS)
    assert any("</s>" in text for text in HARD_STRINGS)
    assert max(map(ord, whole)) == 0x10FFFF


# --- what cannot be known ---------------------------------------------------------------------


class Python:
    """A component written in Python."""

    def decode_chain(self, tokens: list[str]) -> list[str]:
        return tokens

    def pre_tokenize(self, text: Any) -> None: ...

    def normalize(self, text: Any) -> None: ...


@pytest.mark.parametrize(
    ("decoder", "component"),
    [
        (None, "decoder"),
        (decoders.CTC(), "decoder.CTC"),
        (decoders.Replace(Regex("▁+"), " "), "decoder.Replace"),
        (decoders.Sequence([decoders.Fuse(), decoders.Replace("ab", "c")]), "decoder.Replace"),
        (
            decoders.Sequence([decoders.ByteFallback(), decoders.Replace("▁", " ")]),
            "decoder.Replace",
        ),
        (decoders.Strip(" ", 1, 0), "decoder.Strip"),
        (decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()]), "decoder.ByteFallback"),
        (decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()]), "decoder.ByteLevel"),
        (decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]), "decoder.Metaspace"),
        (decoders.Sequence([decoders.WordPiece(), decoders.ByteLevel()]), "decoder.WordPiece"),
        (decoders.Decoder.custom(Python()), "decoder.custom"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_decoders_without_bytes_of_their_own(decoder: Any, component: str) -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoder
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(tokenizer)
    assert caught.value.component == component
    assert len(caught.value.reason) > 10


def test_components_in_python_declare_nothing() -> None:
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Python())
    with pytest.raises(UnsupportedTokenizer, match=r"pre_tokenizer\.custom"):
        Vocabulary.from_tokenizer(tokenizer)
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Normalizer.custom(Python())
    with pytest.raises(UnsupportedTokenizer, match=r"normalizer\.custom"):
        Vocabulary.from_tokenizer(tokenizer)


def test_bytes_that_the_decoder_does_not_read_back() -> None:
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(llama_style(decoder=decoders.Metaspace()))
    assert caught.value.component == "model.BPE.byte_fallback"


def test_a_decoder_of_another_tokenizer_is_refuted() -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoders.Fuse()
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(tokenizer)
    assert caught.value.component == "proof"


def test_an_end_of_text_that_was_text_is_noted() -> None:
    tokenizer = byte_level()
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_ids=[ord("\n")])
    assert vocab.tokens[ord("\n")] is None and vocab.special[ord("\n")] == "Ċ"
    assert any(r"b'\n'" in note for note in vocab.notes)
