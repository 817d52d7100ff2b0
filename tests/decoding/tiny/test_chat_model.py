"""The model of phases: its tokens, its templates, its card, and conversations that it writes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer

import explorer
from explorer import Session
from explorer.decoding.models.tiny import FOLDER as TINY
from models.card import card_tables
from models.chat_tokenizer import ADDED, extended_tokenizer
from models.conversations import TOOLS, called, chatml, checked, harmony, reasoned
from models.documents import START
from models.evaluate_chat import KIND, KINDS_OF_TURNS, Asked, loss_table, right_of
from tests.presets import presets_of
from widgets import kinds

LM = explorer.load_model("tiny-chat")
CARD = card_tables((KIND.folder / "MODEL_CARD.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Asked()
    torch.set_num_threads(threads)


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def written(ids: tuple[int, ...]) -> str:
    """Ids as a text, control tokens by their names."""
    return LM.tokenizer.decode(list(ids))


def test_its_tokens_are_those_of_tiny_and_control_tokens() -> None:
    tiny, own = (
        Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (TINY, KIND.folder)
    )
    assert own.to_str() == extended_tokenizer().to_str()
    assert [own.id_to_token(i) for i in range(4000)] == [tiny.id_to_token(i) for i in range(4000)]
    assert [own.id_to_token(4000 + k) for k in range(len(ADDED))] == [*ADDED]
    text = 'It is warm: {"city": "Rome"}'
    assert own.encode(text).ids == tiny.encode(text).ids
    vocabulary = LM.vocabulary
    assert vocabulary.eos_ids == (KIND.end, KIND.turn)
    names = {vocabulary.special[i] for i in vocabulary.not_text}
    assert {*ADDED, "<|end|>"} - names == {"<|im_end|>"}
    assert (KIND.folder / "model.safetensors").stat().st_size < 5_500_000


@pytest.mark.parametrize("template", ["default", "harmony"])
def test_the_templates_write_what_was_trained_on(template: str) -> None:
    write = {"default": chatml, "harmony": harmony}[template]
    for seed in range(60):
        rng = random.Random(seed)
        _, messages = rng.choice([reasoned, lambda r: called(r, 2), checked])(rng)
        tools = [*TOOLS[: seed % 4]]
        ids = LM.prompt(messages, tools=tools, template=template, add_generation_prompt=False)
        assert written(ids) == START + write(messages, tools)


def test_the_card_is_of_these_weights(asked: Asked) -> None:
    assert CARD["loss"] == loss_table()[1:]
    assert [row[0] for row in CARD["turns"]] == [*KINDS_OF_TURNS]
    for name, said in CARD["turns"]:
        # The same conversations in the same order: the first ones of those on the card.
        missed = 25 - int(said.split()[0])
        assert right_of(asked, name, 6) >= 6 - missed


ANSWERS = {
    "think, then answer": [{"answer": "Oslo", "sure": True}],
    "a call of a tool": [{"city": "Rome"}],
    "calls of several tools": [{"city": "Madrid"}, {"zone": "UTC"}],
    "channels of Harmony": [{"city": "Oslo"}],
}


def values(parts: list[dict[str, Any]]) -> list[Any]:
    """The values of the schemas, in their order."""
    inside = [value for part in parts for value in values(part.get("parts", []))]
    return [*(part["value"] for part in parts if "value" in part), *inside]


@pytest.mark.parametrize("preset", presets_of("tag"), ids=lambda one: one.name)
def test_a_preset_is_run_to_the_end(preset: kinds.Preset) -> None:
    constraint = kinds.constraint_of_kind(preset.kind, preset.text)
    session = Session(kinds.preset_model(preset), constraint, preset.prompt)
    trace = session.run(120)
    assert session.finished and trace.model == "tiny-chat"
    parts = constraint.parse(LM.vocabulary.written(trace.ids[:-1]))
    named = [v for part in parts for v in values([part])]
    assert named == ANSWERS[preset.name]
    if preset.name == "think, then answer":
        assert parts[0]["parts"][0]["text"].strip().endswith("Its capital is Oslo.")
    assert len({step[:1] for step in trace.phases}) > 1


@pytest.mark.parametrize("preset", presets_of("tag"), ids=lambda one: one.name)
def test_a_preset_is_the_chat_template(preset: kinds.Preset) -> None:
    ids = LM.encode_prompt(preset.prompt)
    question = preset.prompt.partition("What")[2].partition("<")[0]
    named = preset.prompt.partition("Tools: ")[2].partition("<")[0]
    tools = [tool for tool in TOOLS if tool["function"]["name"] in named]
    template = "harmony" if "Harmony" in preset.name else None
    assert LM.prompt([user(f"What{question}")], tools=tools, template=template) == ids


@pytest.mark.parametrize(("style", "template"), [("hermes", None), ("harmony", "harmony")])
def test_calls_of_the_markup_of_a_model(style: str, template: str | None) -> None:
    pytest.importorskip("xgrammar")
    constraint = explorer.tools(
        TOOLS, style=style, choice="required", parallel=False, control_tokens=LM.vocabulary
    )
    prompt = LM.prompt([user("What is the weather in Rome?")], tools=TOOLS, template=template)
    session = Session(LM, constraint, prompt, max_tokens=80)
    trace = session.run()
    said = constraint.parse(LM.vocabulary.written(trace.ids[:-1]))
    assert said["calls"] == [{"name": "get_weather", "arguments": {"city": "Rome"}}]
    assert any(names == ("tool get_weather",) for names in trace.phases)
