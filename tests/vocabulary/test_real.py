"""Real tokenizers against oracles that share no code with ours: the formats' own libraries."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer, pre_tokenizers

from explorer.errors import VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF, CHAR_OF
from tests.evidence import LONG

TEXTS = st.text(max_size=40) | st.text(
    st.sampled_from(" \n\tab.,<>|/s0xé▁Ġ#ẞﬁ\u0301\u200d👩🏽汉한"), max_size=40
)


def spelled(vocab: Vocabulary, text: str) -> bytes:
    """The bytes of the tokens of ``text``; all of them must be text."""
    ids = vocab.encode(text)
    assert ids is not None
    parts = [vocab.tokens[token] for token in ids]
    assert None not in parts, (text, ids)
    return b"".join(part for part in parts if part is not None)


# --- SentencePiece ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def processor(sentencepiece_path: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_path))


@pytest.fixture(scope="module")
def llama(sentencepiece_path: Path) -> Vocabulary:
    return Vocabulary.from_file(sentencepiece_path)


def test_sentencepiece_pieces_one_by_one(
    llama: Vocabulary, processor: sentencepiece.SentencePieceProcessor
) -> None:
    assert len(llama) == processor.vocab_size() == 32768
    assert llama.eos_ids == (processor.eos_id(),)
    for token, data in enumerate(llama.tokens):
        if processor.is_control(token) or processor.is_unknown(token):
            assert data is None and llama.special[token] == processor.id_to_piece(token)
        elif processor.is_byte(token):
            assert data == bytes([int(processor.id_to_piece(token)[3:5], 16)])
        else:
            # Behind another piece no leading space is taken off, so decoding a pair is honest.
            both = processor.decode([processor.piece_to_id("a"), token])
            assert data == both.removeprefix("a").encode(), token


def test_sentencepiece_space_has_two_ids(llama: Vocabulary) -> None:
    assert len(llama.ids_of(b" ")) == 2


@given(text=TEXTS)
def test_sentencepiece_text_is_its_tokens(
    llama: Vocabulary, processor: sentencepiece.SentencePieceProcessor, text: str
) -> None:
    expected = " " + text.replace("▁", " ") if text else ""
    # A NUL ends the library's own idea of some texts; what it decodes to is its word on them.
    if "\0" not in text:
        assert spelled(llama, text) == expected.encode()
    assert spelled(llama, text)[1:].decode() == processor.decode(processor.encode(text))


def test_older_sentencepiece_files(mistral_data: Path) -> None:
    for path in sorted(mistral_data.glob("*model*"))[:: None if LONG else 3]:
        vocab = Vocabulary.from_file(path)
        assert vocab.eos_ids == (2,)
        assert {bytes([byte]) for byte in range(256)} <= set(vocab.tokens)


# --- Tekken -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tekken(tekken_path: Path) -> Vocabulary:
    return Vocabulary.from_file(tekken_path)


def test_tekken_ids_one_by_one(tekken: Vocabulary, tekken_path: Path) -> None:
    oracle = Tekkenizer.from_file(tekken_path)
    assert len(tekken) == oracle.n_words == 131072
    assert tekken.eos_ids == (oracle.eos_id,)
    special = oracle.num_special_tokens
    assert all(data is None for data in tekken.tokens[:special])
    assert list(tekken.tokens[special:]) == [
        oracle.id_to_byte_piece(token) for token in range(special, len(tekken))
    ]
    for token, name in tekken.special.items():
        assert oracle.id_to_piece(token) == name


@given(text=TEXTS)
def test_tekken_text_is_its_tokens(tekken: Vocabulary, text: str) -> None:
    assert spelled(tekken, text) == text.encode()


def test_tekken_never_reads_a_special_token_in_text(tekken: Vocabulary) -> None:
    assert spelled(tekken, "</s>[INST]") == b"</s>[INST]"


def test_rank_file_of_tekken_against_tiktoken(tekken_path: Path, tmp_path: Path) -> None:
    declared = json.loads(tekken_path.read_bytes())
    ranks = {base64.b64decode(e["token_bytes"]): e["rank"] for e in declared["vocab"][:20000]}
    path = tmp_path / "some.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items()))
    oracle = tiktoken.Encoding(
        "some",
        pat_str=declared["config"]["pattern"],
        mergeable_ranks=ranks,
        special_tokens={"<end>": 20005},
    )
    vocab = Vocabulary.from_file(path, eos_ids=[20005])
    assert len(vocab) == oracle.n_vocab == 20006
    assert list(vocab.tokens[:20000]) == [
        oracle.decode_single_token_bytes(token) for token in range(20000)
    ]
    assert vocab.tokens[20000:] == (None,) * 6
    assert vocab.encode("a") is None
    with pytest.raises(VocabularyError, match="No end of text") as caught:
        Vocabulary.from_file(path)
    assert "eos_ids=" in caught.value.remedy


# --- the further ones -------------------------------------------------------------------------


def test_gpt2_against_its_alphabet_and_tiktoken(further: Path, tmp_path: Path) -> None:
    vocab = Vocabulary.from_file(further / "gpt2")
    assert vocab.eos_ids == (50256,) and vocab.special[50256] == "<|endoftext|>"
    # tiktoken numbers GPT-2's tokens by rank: 256 bytes in the alphabet's order, then the merges.
    lines = (further / "gpt2" / "vocab.bpe").read_text("utf-8").split("\n")[1:]
    ranks = {bytes([BYTE_OF[c]]): rank for rank, c in enumerate(BYTE_OF)}
    for line in filter(None, lines):
        merged = bytes(BYTE_OF[c] for part in line.split() for c in part)
        ranks[merged] = len(ranks)
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    oracle = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert list(vocab.tokens[:50256]) == [oracle.decode_single_token_bytes(t) for t in range(50256)]
    for text in ("Hello, world!  two", "🙂 é e\u0301", "<|endoftext|>", "a\n\n b"):
        assert vocab.encode(text) == tuple(oracle.encode_ordinary(text))
    for name in ("encoder.json", "vocab.bpe"):
        assert Vocabulary.from_file(further / "gpt2" / name) == vocab


def test_alphabet_is_the_library_s() -> None:
    assert sorted(pre_tokenizers.ByteLevel.alphabet()) == sorted(BYTE_OF)
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    # Every byte that occurs in UTF-8, by way of characters that hold it.
    for character in [*map(chr, range(0x800)), "\u0fff", "\uffff", "𐀀", "\U000c0000", "\U0010ffff"]:
        ((written, _),) = splitter.pre_tokenize_str(character)
        assert bytes(BYTE_OF[c] for c in written) == character.encode()
        assert "".join(CHAR_OF[byte] for byte in character.encode()) == written


def test_two_files_of_one_tokenizer_agree(further: Path) -> None:
    pieces = Vocabulary.from_file(further / "mistral-v3" / "tokenizer.model")
    declared = Vocabulary.from_file(further / "mistral-v3" / "tokenizer.json")
    assert pieces.eos_ids == declared.eos_ids == (2,)
    differ = [i for i in range(len(pieces)) if pieces.tokens[i] != declared.tokens[i]]
    # The second marks more of the bracketed names as special than the first does.
    assert all(declared.tokens[token] is None for token in differ) and len(differ) < 30
    for text in ("Hello", "two  ", "<0x20>", "🙂\n", "a▁"):
        assert spelled(pieces, text) == spelled(declared, text)


@pytest.mark.long
def test_pegasus_text_without_a_piece(further: Path) -> None:
    path = further / "pegasus-unigram" / "tokenizer.json"
    vocab = Vocabulary.from_file(path)
    assert vocab.eos_ids == (1,)
    assert vocab.tokens[105] is None and "unknown token" in " ".join(vocab.notes)
    # Its model holds "</s>" as a piece, and by itself would read text as the control token. As
    # text it has no piece for "<".
    ids = vocab.encode("a </s> b")
    assert ids is not None and 1 not in ids and 105 in ids
    assert Tokenizer.from_file(str(path)).encode("</s>").ids[0] == 1
    assert spelled(vocab, "two  spaces") == b" two spaces"
    assert vocab.encode("🙂") is not None
    assert not any(data and "🙂".encode() in data for data in vocab.tokens)


def sampled_texts(vocab: Vocabulary) -> list[str]:
    texts: list[str] = []
    for data in vocab.tokens[::97]:
        try:
            texts.append((data or b"").decode())
        except UnicodeDecodeError:
            continue
    return texts


@pytest.mark.parametrize("name", ["mistral-v3/tokenizer.json", "gpt-neox/tokenizer.json"])
def test_decoding_whole_texts_agrees(further: Path, name: str) -> None:
    """The library's decoder over whole encodings: what single ids cannot tell."""
    library = Tokenizer.from_file(str(further / name))
    vocab = Vocabulary.from_file(further / name)
    # All but a note's worth: one leading space is the dummy prefix that this decoder takes off.
    strip: Callable[[bytes], bytes] = (
        (lambda data: data.removeprefix(b" ")) if "mistral" in name else (lambda data: data)
    )
    for text in sampled_texts(vocab):
        ids = vocab.encode(text)
        assert ids is not None
        whole = library.decode(list(ids), skip_special_tokens=False)
        assert strip(spelled(vocab, text)).decode() == whole
