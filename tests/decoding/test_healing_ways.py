"""Token healing in two ways: they agree on canonical prompts, and differ by name on others."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Sampler, choice, literal, regex
from explorer.decoding.stepping.healing_ways import compare_healing
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from tests.decoding.models import HashModel
from tests.evidence import few

MODELS = ["tiny", "tiny-sp"]
CANONICAL = [
    ("The capital of France is", choice([" Paris", " Rome"])),
    ("The capital of France is P", regex(r"(aris|rague)\.")),
    ("The capital of France is ", regex("Paris")),
    ("Q: What colour is snow?\nA:", choice([" White.", " Green."])),
]
"""Prompts of which the answer changes at most the last token."""

OTHERS = [
    ("the wea", literal("ther"), 2, " weather"),
    ("Write a JS", literal("ON record"), 2, " JSON"),
]
"""Prompts of which the answer changes more; how many, and what is written in their place."""


def encoded(lm: Any, text: str) -> tuple[int, ...]:
    return tuple(lm.tokenizer.encode(text))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("prompt", "constraint"), few(CANONICAL, 2))
def test_they_agree_on_canonical_prompts(name: str, prompt: str, constraint: Constraint) -> None:
    lm = explorer.load_model(name)
    ways = compare_healing(lm, constraint, prompt)
    assert ways.agree and ways.reopened <= 1
    assert ways.back.answer == ways.whole.answer and constraint.accepts(ways.whole.answer)
    assert ways.message == "Both ways read and write the same tokens."
    # The ids of the tokenizer itself, for prompt and answer together.
    ids = (*ways.whole.prompt_ids, *ways.whole.ids[:-1])
    assert ids == encoded(lm, prompt + ways.whole.answer)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("prompt", "constraint", "changed", "piece"), OTHERS)
def test_they_differ_by_name_on_others(
    name: str, prompt: str, constraint: Constraint, changed: int, piece: str
) -> None:
    lm = explorer.load_model(name)
    ways = compare_healing(lm, constraint, prompt)
    assert not ways.agree and ways.reopened == changed
    assert f"{changed} tokens of the prompt otherwise, from {piece!r}" in ways.message
    ids = (*ways.whole.prompt_ids, *ways.whole.ids[:-1])
    assert ids == encoded(lm, prompt + ways.whole.answer)
    back = (*ways.back.prompt_ids, *ways.back.ids[:-1])
    assert back != encoded(lm, prompt + ways.back.answer)


@pytest.mark.parametrize("name", MODELS)
def test_the_prompt_is_a_forced_run_up_to_the_boundary(name: str) -> None:
    lm = explorer.load_model(name)
    prompt = "In Roman numerals XVII means seven"
    c = regex(r"(teen|ty)\.").canonical(lm.tokenizer)
    session = explorer.Session(lm, c, prompt, heal="prompt")
    assert len(session.trace.prompt_ids) == 1
    session.take_forced()
    assert session.text.lstrip(" ") == "In Roman numerals XVII means"
    trace = session.run()
    assert [step.forced for step in trace.steps].count(False) <= 3  # The word and the end.
    assert trace.answer in ("teen.", "ty.") and trace.healed.lstrip(" ") == prompt
    assert session.constraint is not None
    assert session.constraint.parse(trace.text) == trace.answer
    assert trace.steps[-3].data in (b" seventeen", b" seventy")


def test_a_chat_is_reopened_after_its_last_mark() -> None:
    lm = explorer.load_model("tiny")
    prompt = [{"role": "user", "content": "What colour is snow?"}]
    c = regex("[A-Z][a-z]+").canonical(lm.tokenizer)
    session = explorer.Session(lm, c, prompt, heal="prompt")
    assert session.healed == "" and session.trace.prompt_ids == lm.encode_prompt(prompt)


def test_a_trace_and_an_edit_know_the_prompt() -> None:
    lm = explorer.load_model("tiny")
    c = regex("[a-z]{4}").canonical(lm.tokenizer)
    session = explorer.Session(lm, c, "the wea", heal="prompt", sampler=Sampler(1.0), seed=1)
    trace = session.run()
    assert trace.healed == "the wea" and len(trace.answer) == 4
    session.edit(prompt="a bo")
    assert session.healed == "a bo"
    session.edit(constraint=regex("[0-9]").canonical(lm.tokenizer))
    assert session.healed == "a bo" and session.run().answer.isdigit()


def test_what_cannot_be_healed_so_is_refused() -> None:
    lm = explorer.load_model("tiny")
    with pytest.raises(ExplorerError, match=r"allows every spelling") as caught:
        explorer.Session(lm, regex("a"), "x", heal="prompt")
    assert "canonical(tokenizer)" in caught.value.remedy
    with pytest.raises(ExplorerError, match="heal is 'all'"):
        explorer.Session(lm, regex("a"), "x", heal="all")  # type: ignore[arg-type]
    filtering = regex("a").canonical(lm.tokenizer), regex("a").without_redundant_bytes()
    for constraint in filtering:
        with pytest.raises(ExplorerError, match="filters the tokens of the whole text") as caught:
            explorer.Session(lm, constraint, "x y", heal=True)
        assert "ombin" not in str(caught.value)  # Nobody combined anything.
        assert 'heal="prompt"' in caught.value.remedy
        assert explorer.Session(lm, constraint, "x y", heal="prompt").run().answer == "a"
    bare = HashModel(lm.vocabulary)
    with pytest.raises(ExplorerError, match="no token of it stays"):
        explorer.Session(bare, regex("a").canonical(lm.tokenizer), "xyz", heal="prompt")
