"""Token healing in two ways: they agree on canonical prompts, and differ on others."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Sampler, choice, literal, regex
from explorer.decoding.trace.trace import Trace
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


def healed(lm: Any, constraint: Constraint, prompt: str) -> tuple[Trace, Trace]:
    """One run with a token of the prompt taken back, and one with the prompt in the constraint."""
    back = explorer.Session(lm, constraint, prompt, heal=True).run()
    whole = explorer.Session(
        lm, constraint.canonical(lm.vocabulary), prompt, heal="prompt", forced="run"
    )
    return back, whole.run()


def ids_of(trace: Trace) -> tuple[int, ...]:
    return (*trace.prompt_ids, *trace.ids)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("prompt", "constraint"), few(CANONICAL, 2))
def test_they_agree_on_canonical_prompts(name: str, prompt: str, constraint: Constraint) -> None:
    lm = explorer.load_model(name)
    back, whole = healed(lm, constraint, prompt)
    assert ids_of(back) == ids_of(whole)
    assert back.answer == whole.answer and constraint.accepts(whole.answer)
    # The ids of the tokenizer itself, for prompt and answer together.
    assert ids_of(whole)[:-1] == encoded(lm, prompt + whole.answer)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("prompt", "constraint", "changed", "piece"), OTHERS)
def test_they_differ_on_others(
    name: str, prompt: str, constraint: Constraint, changed: int, piece: str
) -> None:
    lm = explorer.load_model(name)
    back, whole = healed(lm, constraint, prompt)
    given, ids = lm.encode_prompt(prompt), ids_of(whole)
    assert ids_of(back) != ids and given[: len(given) - changed] == ids[: len(given) - changed]
    assert lm.vocabulary.tokens[ids[len(given) - changed]] == piece.encode()
    assert ids[:-1] == encoded(lm, prompt + whole.answer)
    assert ids_of(back)[:-1] != encoded(lm, prompt + back.answer)


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
