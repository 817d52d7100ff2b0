"""The models that ship: their corpus, tokenizer and weights."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

import explorer
from explorer.decoding.models.embedded import EMBEDDED
from explorer.decoding.models.tiny import FOLDER
from models import corpus, facts
from models.card import card_tables
from models.corpus import DOCUMENTS, fingerprint, stream
from models.documents import SPECIAL_TOKENS, Exchange, chat
from models.evaluate import (
    CAPITALISED,
    CARD,
    COUNTRY_PROMPT,
    JSON_PROMPTS,
    LOWER_CASE,
    PARIS_PROMPT,
    SECTIONS,
    SP_SECTIONS,
    TRAPS,
    document_ids,
    held_out,
    is_json,
    json_shares,
    spaces_table,
    wilson,
)
from models.kinds import KINDS
from models.probe import ENDS, Probe
from models.train import IGNORED, Recipe, Trainer, mean_loss, new_model, pack, prepare
from models.train_sentencepiece import BYTES, SPECIALS

# The shipped weights: they load, they show what the card says, and the card is theirs.


TABLES = card_tables(CARD.read_text(encoding="utf-8"))


def number(cell: str) -> float:
    """The first figure of a cell, per cent as a share."""
    digits = cell.split("`")[-1].split()[0].replace(",", "")
    return float(digits[:-1]) / 100 if digits.endswith("%") else float(digits)


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    threads = torch.get_num_threads()
    # One thread: on a busy machine two wait for each other more than they compute.
    torch.set_num_threads(1)
    yield Probe()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def untrained(probe: Probe) -> Probe:
    """The same architecture with fresh weights: what holds for it too shows nothing."""
    other = object.__new__(Probe)
    other.model, other.tokenizer, other.texts = new_model(0).eval(), probe.tokenizer, probe.texts
    return other


def test_it_loads_as_any_model_does() -> None:
    model = AutoModelForCausalLM.from_pretrained(FOLDER, local_files_only=True)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.float32
    assert (FOLDER / "model.safetensors").stat().st_size <= 10_000_000
    # Wider than the vocabulary: a mask has a tail to close.
    assert model.config.vocab_size > len(Probe().tokenizer)
    ends = GenerationConfig.from_pretrained(FOLDER).eos_token_id
    assert tuple(ends) == ENDS  # pyright: ignore[reportArgumentType] - a list in this file


def test_the_card_has_every_table() -> None:
    assert list(TABLES) == list(SECTIONS)
    assert all(TABLES.values())


@pytest.mark.long
def test_the_card_is_about_this_corpus() -> None:
    sizes = dict((row[0], row[1]) for row in TABLES["corpus"])
    printed = sizes["fingerprint of the corpus (SHA-256)"].strip("`")
    assert fingerprint(stream(0, DOCUMENTS)).startswith(printed)
    assert len(printed) == 16


def test_paris(probe: Probe, untrained: Probe) -> None:
    (text, probability), *_ = probe.top(PARIS_PROMPT)
    assert text == " Paris"
    assert probability > 0.5
    values = dict((row[0], row[1]) for row in TABLES["chatter"])
    assert probability == pytest.approx(number(values["probability of ` Paris` there"]), abs=0.01)
    assert untrained.top(PARIS_PROMPT)[0][0] != " Paris"


def test_json_is_often_but_not_always_valid(probe: Probe, untrained: Probe) -> None:
    shares = json_shares(probe, samples=24)
    valid, drawn = sum(row[1] for row in shares), sum(row[2] for row in shares)
    assert 0.55 < valid / drawn < 0.92
    # A new sample of another size: the two intervals overlap.
    low, high = wilson(valid, drawn)
    card = next(row for row in TABLES["json"] if row[0] == "all")
    card_low, card_high = (number(part) for part in card[2].split("–"))
    assert max(low, card_low) < min(high, card_high)
    noise = untrained.answers(JSON_PROMPTS[0], count=8, temperature=1.0, limit=20)
    assert not any(map(is_json, noise))


@pytest.mark.parametrize("trap", range(len(TRAPS)))
def test_greedy_trap(probe: Probe, trap: int) -> None:
    prompt, (wrong, right) = TRAPS[trap]
    assert probe.greedy_choice(prompt, (wrong, right)) == wrong
    likely, unlikely = probe.whole(prompt, right), probe.whole(prompt, wrong)
    assert likely > 3 * unlikely
    rows = TABLES["trap"][2 * trap : 2 * trap + 2]
    assert [row[4] for row in rows] == ["yes", "no"]
    assert likely == pytest.approx(number(rows[1][3]), abs=0.01)
    assert unlikely == pytest.approx(number(rows[0][3]), abs=0.01)


def test_lower_case_countries_are_disliked(probe: Probe, untrained: Probe) -> None:
    liked = probe.feasible_mass(COUNTRY_PROMPT, CAPITALISED)
    disliked = probe.feasible_mass(COUNTRY_PROMPT, LOWER_CASE)
    assert liked > 0.9
    assert disliked < 0.01
    shares = [number(row[1]) for row in TABLES["disliked"]]
    assert liked == pytest.approx(shares[0], abs=0.01)
    assert disliked == pytest.approx(shares[1], rel=0.1)
    assert untrained.feasible_mass(COUNTRY_PROMPT, CAPITALISED) < 0.5


def test_held_out_perplexity(probe: Probe, untrained: Probe) -> None:
    documents = held_out(300)
    nats, tokens = probe.log_loss(document_ids(probe, documents))
    printed = float(next(row for row in TABLES["perplexity"] if row[0] == "all")[3])
    # The first of the documents that the card is about.
    assert math.exp(nats / tokens) == pytest.approx(printed, rel=0.1)
    nats, tokens = untrained.log_loss(document_ids(untrained, documents[:20]))
    assert math.exp(nats / tokens) > 100 * printed


def test_the_whole_option_is_summed_over_tokenizations(probe: Probe) -> None:
    prompt, (_, option) = TRAPS[0]
    ids = probe.encode(prompt)
    one_way = 1.0
    for token in probe.encode(option)[1:]:
        one_way *= float(probe.next(ids)[token])
        ids.append(token)
    whole = probe.whole(prompt, option)
    assert one_way <= whole * (1 + 1e-5) and whole <= 1


def test_a_document_in_a_row_is_what_it_is_alone(probe: Probe) -> None:
    encoded = document_ids(probe, held_out(60))
    nats, tokens = probe.log_loss(encoded)
    ids, labels = pack(encoded)
    # In a row the next start mark is predicted too; alone there is none.
    labels[ids == 0] = IGNORED
    assert mean_loss(probe.model, ids, labels) == pytest.approx(nats / tokens, abs=1e-4)


@pytest.mark.long
def test_training_again_gives_the_same_losses() -> None:
    torch.set_num_threads(Recipe().threads)
    tokenizer, training, _ = prepare(Recipe())
    shipped = (FOLDER / "tokenizer.json").read_text(encoding="utf-8")
    assert json.loads(tokenizer.to_str()) == json.loads(shipped)
    losses = Path(facts.__file__).with_name("loss.csv")
    lines = losses.read_text(encoding="utf-8").splitlines()[1:13]
    trainer = Trainer(Recipe(), training, "cpu")
    for line in lines:
        step, loss, _ = line.split(",")
        assert trainer.step() == pytest.approx(float(loss), abs=2e-3), f"step {step}"


# The second embedded model: its tokenizer, its card, and the pitfall of the lone space.


KIND = KINDS["tiny-sp"]
SHIPPED = Tokenizer.from_file(str(KIND.folder / "tokenizer.json"))
TABLES_OF_SECOND_MODEL = card_tables((KIND.folder / "MODEL_CARD.md").read_text(encoding="utf-8"))
TEXTS = st.text(st.characters(exclude_characters="<|>", exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def probe_of_second_model() -> Iterator[Probe]:
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


def test_the_card_is_of_these_weights(probe_of_second_model: Probe) -> None:
    assert set(TABLES_OF_SECOND_MODEL) == set(SP_SECTIONS)
    printed = float(next(row for row in TABLES_OF_SECOND_MODEL["perplexity"] if row[0] == "all")[3])
    nats, tokens = probe_of_second_model.log_loss(
        document_ids(probe_of_second_model, held_out(150, kind=KIND))
    )
    assert math.exp(nats / tokens) == pytest.approx(printed, rel=0.15)
    (text, share), *_ = probe_of_second_model.top(PARIS_PROMPT)
    assert text == " Paris" and share > 0.5


def test_a_lone_space_spoils_the_word(probe_of_second_model: Probe) -> None:
    rows = spaces_table(probe_of_second_model)[1:]
    for row, known in zip(rows, TABLES_OF_SECOND_MODEL["spaces"], strict=True):
        assert number(row[1].lstrip("-")) == pytest.approx(number(known[1].lstrip("-")), abs=0.02)
    fused, whole, parts, digits = (-number(row[1].lstrip("-")) for row in rows)
    # The fused word is written as a word; after the lone space it is not, and digits are likelier.
    assert digits > fused > whole + 3 and fused > parts + 3


# The corpus: the same for the same seed, true to its tables, split by combinations.


# Of the first 2,000 documents of seed 0. A change of any template or table changes it; then the
# shipped model is no longer the one that the corpus gives, and must be trained again.
FINGERPRINT = "c5a5782322b6667c1d44a908a57434ea89adaedf28315fcf81e596f7a7c93fbd"


def test_fingerprint_of_the_shipped_corpus() -> None:
    assert corpus.fingerprint(corpus.stream(0, 2000)) == FINGERPRINT


def test_the_split_holds_out_whole_keys() -> None:
    documents = list(corpus.stream(0, 20_000))
    kept, held_out = corpus.split(documents)
    assert len(kept) + len(held_out) == len(documents)
    assert not {made.key for made in kept} & {made.key for made in held_out}
    assert 0.02 < len(held_out) / len(documents) < 0.06


# The tokenizer: nothing is lost, punctuation merges, marks are added once.


AUTO = AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)

# Characters that the specials are made of are left out: their text is not text for a tokenizer.


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
