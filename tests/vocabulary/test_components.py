"""Every component of a tokenizer.json: its bytes, what it makes impossible, what it notes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.tokenizers_by_hand import byte_level, id_of, llama_style, spelled

# --- byte-level -------------------------------------------------------------------------------


@given(text=st.text(max_size=30))
def test_byte_level_spells_any_text(text: str) -> None:
    assert spelled(_PLAIN, text) == text.encode()
    expected = text if text.startswith(" ") or not text else f" {text}"
    assert spelled(_PREFIXED, text) == expected.encode()


def test_a_special_token_s_name_in_text_is_text() -> None:
    end = _PLAIN.eos_ids[0]
    assert _PLAIN.special[end] == "<|end|>" and _PLAIN.tokens[end] is None
    assert spelled(_PLAIN, "a<|end|>b") == b"a<|end|>b"


def test_added_tokens_that_are_text_are_their_content() -> None:
    tokenizer = byte_level()
    # In the byte alphabet "é" is the byte E9 and "Ġ" a space; in added tokens they are text.
    tokenizer.add_tokens(["éé", "Ġ!", "   "])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    ids = [id_of(tokenizer, text) for text in ("éé", "Ġ!", "   ")]
    assert [vocab.tokens[token] for token in ids] == ["éé".encode(), "Ġ!".encode(), b"   "]
    assert any("literal content" in note for note in vocab.notes)
    assert spelled(vocab, "aéé   Ġ! é") == "aéé   Ġ! é".encode()


def test_an_added_token_that_is_another_piece_of_the_model() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens(["é"])
    # From the text "é" the id stands for it, from "鿿" (E9 BF BF) for the byte E9.
    assert set(tokenizer.encode("é").ids) & set(tokenizer.encode("鿿").ids)
    with pytest.raises(UnsupportedTokenizer, match="added_token 'é'"):
        Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("normalized", [True, False])
def test_added_runs_of_the_space_mark_are_spaces(normalized: bool) -> None:
    # As Gemma has them: pieces of the model, and added tokens at the same time.
    tokenizer = llama_style()
    tokenizer.add_tokens([AddedToken("▁▁", normalized=normalized)])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert vocab.tokens[id_of(tokenizer, "▁▁")] == b"  "
    assert spelled(vocab, "a  b") == b" a  b"


def test_an_added_token_that_normalizes_to_nothing() -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Strip()
    tokenizer.add_tokens([AddedToken("  ", normalized=True)])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert vocab.tokens[id_of(tokenizer, "  ")] == b"  "
    assert spelled(vocab, " é  é ") == "é  é".encode()


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
@pytest.mark.parametrize("make", [byte_level, llama_style])
def test_added_tokens_that_swallow_spaces(make: Any, flag: str) -> None:
    tokenizer = make()
    tokenizer.add_tokens([AddedToken("XY", **{flag: True})])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    strips = flag != "single_word"
    assert any("with the spaces" in note for note in vocab.notes) == strips
    # Found in normalized text, where Llama's normalizer has put "▁" before it: then it takes that.
    as_normalized = make is llama_style
    assert any("'XY' is found as" in note for note in vocab.notes) == (strips or as_normalized)
    assert b"XY" in spelled(vocab, "a XY b")


def test_ids_keep_gaps_and_positions() -> None:
    pieces = {piece: 2 * i for i, piece in enumerate(CHAR_OF)}
    tokenizer = Tokenizer(models.BPE(pieces, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_ids=[1])
    assert len(vocab) == 511
    assert [vocab.tokens[2 * byte] for byte in range(256)] == [bytes([b]) for b in range(256)]
    assert set(vocab.tokens[1::2]) == {None}


def test_a_byte_level_model_without_all_bytes_says_so() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "Ġ": 1, "end": 2}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_ids=[2])
    assert any("dropped" in note for note in vocab.notes)
    assert spelled(vocab, "a b") == b"a "


def test_the_callers_tokenizer_is_left_as_it_is() -> None:
    tokenizer = byte_level()
    tokenizer.enable_truncation(2)
    before = tokenizer.to_str()
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, "abc <|end|>") == b"abc <|end|>"
    assert tokenizer.to_str() == before


def test_transformers_special_tokens_are_not_text() -> None:
    fast = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(extra=("<pad>",)), pad_token="<pad>", eos_token="<|end|>"
    )
    vocab = Vocabulary.from_tokenizer(fast)
    assert vocab.eos_ids == (fast.eos_token_id,)
    pad = id_of(fast.backend_tokenizer, "<pad>")
    assert vocab.tokens[pad] is None and vocab.special[pad] == "<pad>"
    assert spelled(vocab, "<pad>") == b"<pad>"


# --- SentencePiece as tokenizer.json ----------------------------------------------------------


@given(text=st.text(max_size=30) | st.text(" ab<0▁", max_size=30))
def test_byte_fallback_spells_any_text(text: str) -> None:
    image = " " + text.replace("▁", " ") if text else ""
    assert spelled(_LLAMA, text) == image.encode()


def test_byte_pieces_stand_beside_equal_pieces() -> None:
    ids = _LLAMA.ids_of(b" ")
    assert len(ids) == 3  # <0x20>, "▁" and " "
    assert len(_LLAMA.ids_of(b"a")) == 2
    assert _LLAMA.ids_of(b"<0x20>") == ()
    assert spelled(_LLAMA, "<0x20>") == b" <0x20>"


def test_without_byte_fallback_such_a_piece_is_literal() -> None:
    pieces = ["</s>", "<unk>", "▁", "a", *"<0x20>", "<0", "<0x", "<0x2", "<0x20", "<0x20>"]
    vocab_ids = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    merges = [("<", "0"), ("<0", "x"), ("<0x", "2"), ("<0x2", "0"), ("<0x20", ">")]
    tokenizer = Tokenizer(models.BPE(vocab_ids, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["</s>", "<unk>"])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert vocab.tokens[vocab_ids["<0x20>"]] == b"<0x20>"
    # Were the decoder to read bytes, that id would be a space, and its own text would not prove it.
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    with pytest.raises(UnsupportedTokenizer, match="<0x20>"):
        Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
def test_metaspace_schemes(scheme: Any, split: bool) -> None:
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("a", -2.0), ("b", -2.0), ("▁ab", -1.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    tokenizer.add_tokens([AddedToken("XY", normalized=False)])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    start = b"" if scheme == "never" else b" "
    assert spelled(vocab, "ab ba") == start + b"ab ba"
    assert spelled(vocab, " ab") == b" ab"
    # "always" puts a space before each part between added tokens, "first" only before the text.
    assert spelled(vocab, "aXYb") == start + b"aXY" + (b" b" if scheme == "always" else b"b")
    assert any("dummy prefix" in note for note in vocab.notes) == (scheme != "never")
    # The model holds "</s>" as a piece and would find it in text.
    ids = vocab.encode("</s>")
    assert ids is not None and 1 not in ids and 0 in ids


def test_unigram_control_piece_whose_characters_have_pieces() -> None:
    pieces = [("</s>", 0.0), ("▁", -2.0), *((c, -3.0) for c in "</s>a")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=None))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["</s>"])
    assert 0 in tokenizer.encode("a</s>", add_special_tokens=False).ids
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, "a</s>a") == b" a</s>a"
    with pytest.raises(VocabularyError, match="cannot encode"):
        vocab.encode("z")


def test_unigram_piece_that_stands_twice_keeps_both_ids() -> None:
    pieces = [("</s>", 0.0), ("▁", -2.0), ("a", -1.0), ("a", -3.0), ("b", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=None))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["</s>"])
    assert Vocabulary.from_tokenizer(tokenizer).ids_of(b"a") == (2, 3)


def test_the_unknown_token_s_name_in_text_is_text() -> None:
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -2.0), *((c, -3.0) for c in "<unk>/s")]
    tokenizer = Tokenizer(models.Unigram(list(dict(pieces).items()), unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, "<unk> </s>") == b" <unk> </s>"
    assert vocab.encode("z") == (2, 0)


def test_no_dummy_prefix_where_the_start_was_dropped() -> None:
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("a", -2.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.normalizer = normalizers.Strip()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, "a a") == b" a a"
    assert spelled(vocab, " a a") == b"a a"


# --- WordPiece, word ends, whole words --------------------------------------------------------


def word_piece(cleanup: bool) -> Tokenizer:
    pieces = ["[UNK]", "[SEP]", "a", "##a", "b", "##b", ".", "##.", "ab", "'", "##", "x", "##yz"]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=cleanup)
    tokenizer.add_special_tokens(["[UNK]", "[SEP]"])
    return tokenizer


def test_word_piece_spaces() -> None:
    vocab = Vocabulary.from_tokenizer(word_piece(cleanup=False))
    assert vocab.tokens[2:8] == (b" a", b"a", b" b", b"b", b" .", b".")
    assert vocab.tokens[10] is None and vocab.special[10] == "##"  # it would write nothing
    assert vocab.empty_ids == {10}
    assert spelled(vocab, "ab  AB. baa") == b" ab ab . baa"
    assert any("writes a space before" in note for note in vocab.notes)
    assert any("BertNormalizer" in note for note in vocab.notes)


def test_word_ends() -> None:
    pieces = ["<unk>", "</s>", "a", "b", "a</w>", "b</w>", "ab</w>"]
    model = models.BPE(
        {piece: i for i, piece in enumerate(pieces)},
        [("a", "b</w>")],
        unk_token="<unk>",
        end_of_word_suffix="</w>",
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert vocab.tokens[2:] == (b"a", b"b", b"a ", b"b ", b"ab ")
    assert spelled(vocab, "ab  ba") == b"ab ba "
    tokenizer.decoder = decoders.BPEDecoder("@@")
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(tokenizer)
    assert caught.value.component == "model.BPE.end_of_word_suffix"


def test_whole_words_without_a_decoder() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "[EOS]": 1, "yes": 2, "no": 3}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[UNK]", "[EOS]"])
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert vocab.tokens == (None, None, b" yes", b" no")
    assert spelled(vocab, "yes no") == b" yes no"
    assert tokenizer.decode([2, 3]) == "yes no"


# --- normalizers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("normalizer", "text", "image", "noted"),
    [
        (normalizers.NFC(), "e\u0301", "é", "NFC"),
        (normalizers.NFKC(), "ﬁ", "fi", "NFKC"),
        (normalizers.NFD(), "é", "e\u0301", "NFD"),
        (normalizers.Lowercase(), "ÀB", "àb", "Lowercase"),
        (normalizers.Strip(), "  a ", "a", "Strip"),
        (normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), "é", "e", "Strip"),
        (normalizers.Replace(Regex(" {2,}"), " "), "a   b", "a b", "Regex"),
        (normalizers.Replace("a", "b"), "aXa", "bXb", "replaces"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_normalizers_are_followed_and_noted(
    normalizer: Any, text: str, image: str, noted: str
) -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizer
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, text) == image.encode()
    assert any(noted in note for note in vocab.notes)


def test_byte_level_as_a_normalizer() -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("Ġ"), "merged_with_next")
    vocab = Vocabulary.from_tokenizer(tokenizer)
    assert spelled(vocab, "e\u0301 ab") == "é ab".encode()


_PLAIN = Vocabulary.from_tokenizer(byte_level())
_PREFIXED = Vocabulary.from_tokenizer(byte_level(prefix=True))
_LLAMA = Vocabulary.from_tokenizer(llama_style())
