"""The proof can fail: vocabularies made wrong on purpose, each of which it must find."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary import Vocabulary, bank, prove
from explorer.vocabulary.proof import HARD_STRINGS, Speller
from explorer.vocabulary.reading import Encoder

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


@pytest.mark.parametrize(
    ("words", "data", "expected"),
    [
        ([b"ab", b"a", b"c"], b"abc", True),
        ([b"aa", b"aaa"], b"aaaaa", True),
        ([b"aa", b"aaaa"], b"aaaaa", False),
        ([b"a", None], b"", True),
        ([], b"a", False),
        ([b"\xf0\x9f", b"\x99\x82"], "🙂".encode(), True),
    ],
)
def test_speller(words: list[bytes | None], data: bytes, expected: bool) -> None:
    assert Speller(words).spells(data) is expected
