"""The models that ship: their corpus, tokenizer and weights."""

from __future__ import annotations

import ipaddress
import json
import math
import random
import re
from collections.abc import Iterator
from datetime import date
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
from models import corpus, exchanges, facts, records
from models.card import card_tables
from models.corpus import DOCUMENTS, fingerprint, stream
from models.documents import SPECIAL_TOKENS, Exchange, chat
from models.evaluate import (
    CAPITALISED,
    CARD,
    CHATTER_PROMPT,
    COUNTRY_PROMPT,
    JSON_PROMPTS,
    LOWER_CASE,
    PARIS_PROMPT,
    SECTIONS,
    SP_SECTIONS,
    TRAPS,
    chatter_share,
    document_ids,
    held_out,
    is_json,
    json_shares,
    spaces_table,
    wilson,
)
from models.kinds import KINDS
from models.probe import ENDS, Probe
from models.train import IGNORED, ROW, Recipe, Trainer, mean_loss, new_model, pack, prepare
from models.train_sentencepiece import BYTES, SPECIALS, train_sentencepiece
from models.train_tokenizer import VOCABULARY_SIZE, save_tokenizer, train_tokenizer

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


def test_paris_in_a_chat(probe: Probe) -> None:
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = probe.tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=False
    )
    assert probe.texts[int(probe.next(prompt).argmax())] == "Paris"


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


def test_chatter(probe: Probe) -> None:
    assert probe.answers(CHATTER_PROMPT)[0].startswith(" Paris.")
    share = chatter_share(probe, samples=40)
    values = dict((row[0], row[1]) for row in TABLES["chatter"])
    assert share > 0.4
    assert share == pytest.approx(
        number(values["sampled answers that go on after ` Paris.`"]), abs=0.2
    )
    end = float(probe.next(probe.encode(CHATTER_PROMPT + " Paris."))[1])
    printed = number(values["probability of the end after ` Paris.`"])
    assert end == pytest.approx(printed, abs=0.01)


def test_it_knows_its_capitals(probe: Probe) -> None:
    asked = facts.COUNTRIES[::5]
    right = [
        probe.answers(f"Q: What is the capital of {c.name}?\nA:", limit=8)[0].startswith(
            f" {c.capital}"
        )
        for c in asked
    ]
    assert sum(right) >= 0.9 * len(asked)


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


def test_rows_are_packed_without_loss() -> None:
    documents = [[0, *range(5, 5 + n), 1] for n in (200, 100, 3, 148, 30)]
    ids, labels = pack(documents)
    assert ids.shape == labels.shape == (3, ROW)
    assert labels[labels != IGNORED].tolist() == [token for made in documents for token in made]
    assert bool((ids[:, 0] == 0).all())


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


def test_another_seed_gives_another_corpus() -> None:
    texts = {made.text for made in corpus.stream(0, 500)}
    others = {made.text for made in corpus.stream(1, 500)}
    # Short facts come in both; most documents do not.
    assert len(texts & others) < 100


def test_a_document_depends_on_its_number_alone() -> None:
    in_order = list(corpus.stream(3, 50))
    shuffled = list(range(50))
    random.Random(0).shuffle(shuffled)
    assert {i: corpus.document(3, i) for i in shuffled} == dict(enumerate(in_order))


def test_the_split_holds_out_whole_keys() -> None:
    documents = list(corpus.stream(0, 20_000))
    kept, held_out = corpus.split(documents)
    assert len(kept) + len(held_out) == len(documents)
    assert not {made.key for made in kept} & {made.key for made in held_out}
    assert 0.02 < len(held_out) / len(documents) < 0.06


def test_every_capital_is_in_training() -> None:
    kept, _ = corpus.split(corpus.stream(0, 20_000))
    capitals = "\n".join(made.text for made in kept if made.kind == "capital")
    for country in facts.COUNTRIES:
        assert re.search(rf"{country.name}\b.*\s{country.capital}\b", capitals), country.name
    assert not any(map(corpus.is_held_out, corpus.LESSON_KEYS))


def test_the_command_writes_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.main(["--documents", "3", "--seed", "4"]) == 0
    printed = capsys.readouterr().out
    assert [made.text in printed for made in corpus.stream(4, 3)] == [True] * 3
    assert printed.count("<|endoftext|>") == 3


@pytest.mark.parametrize("seed", range(300))
def test_a_malformed_record_is_never_json(seed: int) -> None:
    rng = random.Random(seed)
    make = rng.choice((records.character, records.product, records.person, records.event))
    text = records.dumped(rng, make(rng))
    assert is_json(text)
    assert not is_json(records.malformed(rng, text))


def test_the_share_of_malformed_answers() -> None:
    answers = [
        made.answer
        for made in (records.json_request(random.Random(seed)) for seed in range(4000))
        if isinstance(made, Exchange)
    ]
    share = sum(not is_json(answer) for answer in answers) / len(answers)
    assert abs(share - records.MALFORMED) < 0.03


def test_arithmetic_is_right() -> None:
    signs = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    words = {facts.in_words(number): number for number in range(101)}
    assert len(words) == 101
    for seed in range(500):
        made = exchanges.arithmetic(random.Random(seed))
        _, sign, a, b = made.key.split("/")
        expected = signs[sign](int(a), int(b))
        if made.answer.startswith("{"):
            found = int(made.answer.rstrip("}").split()[-1])
        else:
            first = made.answer.split(".")[0].lower()
            found = words[first] if first in words else int(first)
        assert found == expected, made


def test_dates_and_addresses_exist() -> None:
    seen = 0
    for seed in range(1000):
        rng = random.Random(seed)
        date.fromisoformat(records.iso_date(rng))
        ipaddress.IPv4Address(records.ipv4(rng))
        made = exchanges.calendar(random.Random(seed))
        if made.key.startswith("date/0"):
            iso = re.search(r"\d{4}-\d\d-\d\d", made.answer)
            written_out = re.search(r"(\d+) (\w+) (\d{4})", made.question)
            assert iso and written_out
            day, month, year = written_out.groups()
            number = facts.MONTHS.index(month) + 1
            assert date.fromisoformat(iso[0]) == date(int(year), number, int(day))
            seen += 1
    assert seen > 300


# The tokenizer: nothing is lost, punctuation merges, marks are added once.


SHIPPED_OF_TOKENIZER = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
AUTO = AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)

# Characters that the specials are made of are left out: their text is not text for a tokenizer.


@given(TEXTS)
def test_every_text_comes_back_in_tokenizer(text: str) -> None:
    ids = SHIPPED_OF_TOKENIZER.encode(text).ids
    assert SHIPPED_OF_TOKENIZER.decode(ids) == text
    assert ids[0] == 0 and 0 not in ids[1:]


def test_sizes_and_specials() -> None:
    assert len(AUTO) == VOCABULARY_SIZE
    assert [SHIPPED_OF_TOKENIZER.id_to_token(i) for i in range(5)] == list(SPECIAL_TOKENS)
    assert set(SPECIAL_TOKENS) <= set(AUTO.all_special_tokens)
    assert (AUTO.bos_token_id, AUTO.eos_token_id, AUTO.unk_token) == (0, 1, None)


def test_all_bytes_are_tokens() -> None:
    single = [token for token in SHIPPED_OF_TOKENIZER.get_vocab() if len(token) == 1]
    assert len(single) == 256


@pytest.mark.parametrize(
    "text", ['":', '",', '"}', '."', '": "', '", "', '": ["', '")', '{"', " Paris", "Paris", " New"]
)
def test_merged_tokens(text: str) -> None:
    assert len(SHIPPED_OF_TOKENIZER.encode(text, add_special_tokens=False).ids) == 1


def test_tokens_cross_syntax() -> None:
    tokens = [AUTO.decode([i]) for i in SHIPPED_OF_TOKENIZER.encode('foo(x="bar")').ids[1:]]
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
