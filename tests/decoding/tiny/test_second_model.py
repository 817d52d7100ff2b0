"""The second embedded model: its tokenizer, its card, and the pitfall of the lone space."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import explorer
from explorer.decoding.models.embedded import EMBEDDED
from models.card import card_tables
from models.evaluate import (
    PARIS_PROMPT,
    SP_SECTIONS,
    document_ids,
    held_out,
    spaces_table,
)
from models.kinds import KINDS
from models.probe import Probe
from models.train_sentencepiece import BYTES, SPECIALS, train_sentencepiece
from tests.decoding.tiny.test_model import number

KIND = KINDS["tiny-sp"]
SHIPPED = Tokenizer.from_file(str(KIND.folder / "tokenizer.json"))
TABLES = card_tables((KIND.folder / "MODEL_CARD.md").read_text(encoding="utf-8"))
TEXTS = st.text(st.characters(exclude_characters="<|>", exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Probe(KIND)
    torch.set_num_threads(threads)


@given(TEXTS)
def test_every_text_comes_back(text: str) -> None:
    # A "▁" of the text's own is read as a space, as by every tokenizer of this form.
    ids = SHIPPED.encode(text).ids
    assert SHIPPED.decode(ids) == text.replace("▁", " ")
    assert ids[0] == KIND.start and 0 not in ids


def test_pieces_and_bytes() -> None:
    def pieces(text: str) -> list[str]:
        return SHIPPED.encode(text, add_special_tokens=False).tokens

    names = [SHIPPED.id_to_token(i) for i in range(len(SPECIALS) + len(BYTES))]
    assert names == [*SPECIALS, *BYTES]
    assert pieces("In 17") == ["▁In", "▁", "1", "7"]
    assert pieces("ü") == ["▁", "ü"]
    assert pieces("水") == ["▁", "<0xE6>", "<0xB0>", "<0xB4>"]
    assert pieces("seventeen") == ["▁seventeen"]


def test_training_of_the_tokenizer_is_repeatable() -> None:
    from models.corpus import stream

    texts = [made.text for made in stream(5, 3000, KIND.mix)]
    first, second = (train_sentencepiece(texts, 1000) for _ in range(2))
    assert first.to_str() == second.to_str() and first.get_vocab_size() == 1000
    with pytest.raises(ValueError, match="give more texts"):
        train_sentencepiece(["one", "two"], 1000)


def test_it_is_loaded_by_its_name() -> None:
    assert set(EMBEDDED) == set(KINDS)
    lm = explorer.load_model("tiny-sp")
    assert lm is explorer.load_model("tiny-sp") and lm.name == "tiny-sp"
    assert (KIND.folder / "model.safetensors").stat().st_size < 8_000_000
    assert lm.vocabulary.eos_ids == (KIND.end, KIND.turn)
    assert lm.width > len(lm.tokenizer)
    assert lm.vocabulary.tokens[lm.encode_prompt("In")[-1]] == b" In"
    session = explorer.Session(lm, explorer.choice([" Paris", " Rome"]), PARIS_PROMPT)
    assert session.run().text == " Paris"


def test_the_card_is_of_these_weights(probe: Probe) -> None:
    assert set(TABLES) == set(SP_SECTIONS)
    printed = float(next(row for row in TABLES["perplexity"] if row[0] == "all")[3])
    nats, tokens = probe.log_loss(document_ids(probe, held_out(150, kind=KIND)))
    assert math.exp(nats / tokens) == pytest.approx(printed, rel=0.15)
    (text, share), *_ = probe.top(PARIS_PROMPT)
    assert text == " Paris" and share > 0.5


def test_a_lone_space_spoils_the_word(probe: Probe) -> None:
    rows = spaces_table(probe)[1:]
    for row, known in zip(rows, TABLES["spaces"], strict=True):
        assert number(row[1].lstrip("-")) == pytest.approx(number(known[1].lstrip("-")), abs=0.02)
    fused, whole, parts, digits = (-number(row[1].lstrip("-")) for row in rows)
    # The fused word is written as a word; after the lone space it is not, and digits are likelier.
    assert digits > fused > whole + 3 and fused > parts + 3
