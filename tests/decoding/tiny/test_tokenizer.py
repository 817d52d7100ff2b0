"""The tokenizer: nothing is lost, punctuation merges, marks are added once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from explorer.decoding.models.tiny import FOLDER
from models.corpus import stream
from models.documents import SPECIAL_TOKENS, Exchange, chat
from models.train import ROW
from models.train_tokenizer import VOCABULARY_SIZE, save_tokenizer, train_tokenizer

SHIPPED = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
AUTO = AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)

# Characters that the specials are made of are left out: their text is not text for a tokenizer.
TEXTS = st.text(st.characters(exclude_characters="<|>", exclude_categories=["Cs"]))


@given(TEXTS)
def test_every_text_comes_back(text: str) -> None:
    ids = SHIPPED.encode(text).ids
    assert SHIPPED.decode(ids) == text
    assert ids[0] == 0 and 0 not in ids[1:]


def test_sizes_and_specials() -> None:
    assert len(AUTO) == VOCABULARY_SIZE
    assert [SHIPPED.id_to_token(i) for i in range(5)] == list(SPECIAL_TOKENS)
    assert set(SPECIAL_TOKENS) <= set(AUTO.all_special_tokens)
    assert (AUTO.bos_token_id, AUTO.eos_token_id, AUTO.unk_token) == (0, 1, None)


def test_all_bytes_are_tokens() -> None:
    single = [token for token in SHIPPED.get_vocab() if len(token) == 1]
    assert len(single) == 256


@pytest.mark.parametrize(
    "text", ['":', '",', '"}', '."', '": "', '", "', '": ["', '")', '{"', " Paris", "Paris", " New"]
)
def test_merged_tokens(text: str) -> None:
    assert len(SHIPPED.encode(text, add_special_tokens=False).ids) == 1


def test_tokens_cross_syntax() -> None:
    tokens = [AUTO.decode([i]) for i in SHIPPED.encode('foo(x="bar")').ids[1:]]
    assert tokens == ["foo", "(x", '="', "bar", '")']


def test_chat_template_is_the_form_of_the_corpus() -> None:
    messages = [
        {"role": "user", "content": "What colour is snow?"},
        {"role": "assistant", "content": "White."},
    ]
    exchange = Exchange("colour", "k", messages[0]["content"], messages[1]["content"])
    assert AUTO.apply_chat_template(messages, tokenize=False) == SPECIAL_TOKENS[0] + chat(exchange)
    prompt = AUTO.apply_chat_template(
        messages[:1], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    assert prompt.count(0) == 1 and prompt[-1] == SPECIAL_TOKENS.index("<|assistant|>")


def test_training_is_repeatable(tmp_path: Path) -> None:
    texts = [made.text for made in stream(5, 3000)]
    first, second = train_tokenizer(texts, 1000), train_tokenizer(texts, 1000)
    assert first.to_str() == second.to_str()
    save_tokenizer(first, tmp_path, max_length=ROW)
    assert len(AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)) == 1000
