"""The shipped weights: they load, they show what the card says, and the card is theirs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from explorer.decoding.models.tiny import FOLDER
from models import facts
from models.card import card_tables
from models.corpus import DOCUMENTS, fingerprint, stream
from models.evaluate import (
    CAPITALISED,
    CARD,
    CHATTER_PROMPT,
    COUNTRY_PROMPT,
    JSON_PROMPTS,
    LOWER_CASE,
    PARIS_PROMPT,
    SECTIONS,
    TRAPS,
    chatter_share,
    document_ids,
    held_out,
    is_json,
    json_shares,
    wilson,
)
from models.probe import ENDS, Probe
from models.train import (
    IGNORED,
    ROW,
    Recipe,
    Trainer,
    mean_loss,
    new_model,
    pack,
    prepare,
)

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
