"""A text that is forced goes in at once, in the tokenizer's own tokens."""

from __future__ import annotations

import pytest

import explorer
from explorer import Session, choice, generate, json_schema, literal, phase, regex

LM = explorer.load_model("tiny")
SCHEMA = json_schema(
    {"type": "object", "properties": {"temperature": {"enum": [1, 2]}, "city": {"enum": ["a"]}},
     "required": ["temperature", "city"], "additionalProperties": False},
)  # fmt: skip
CASES = {
    "literal and choice": literal("The capital of France is ") + choice("Paris", "London"),
    "schema": SCHEMA,
    "phases": phase("call", SCHEMA, begin="<tool_call>", end="</tool_call>"),
    "no forced text": regex("[a-z ]{3,9}"),
    "beyond ASCII": literal("Ünï ") + choice("ö", "ä"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_forced_tokens_are_the_tokenizers_own(case: str) -> None:
    constraint = CASES[case]
    session = Session(LM, constraint, "A text: ", forced="prefill")
    trace = session.run()
    assert trace.finished and constraint.accepts(LM.vocabulary.written(trace.ids[:-1]))
    prefilled = [step for step in trace.steps if step.chosen_by == "prefilled"]
    assert bool(prefilled) == (case != "no forced text"), trace.summary()
    for first in prefilled[:1]:
        ids = LM.vocabulary.encode(trace.text)
        assert first.index > 0 or (ids is not None and first.token == next(iter(ids)))
    # A step is one that the mask allows, with the model's own probability.
    for step in prefilled:
        assert step.before.num_allowed >= 1 and step.log_prob_model is not None
    assert ("prefilled" in trace.summary()) == bool(prefilled)
    whole = generate(LM, ["A text: "], constraint, forced="prefill", max_tokens=80)[0]
    assert whole.tokens == trace.ids, (whole.text, trace.text)


def test_one_pass_reads_the_whole_run() -> None:
    trace = Session(LM, CASES["literal and choice"], "A text: ", forced="prefill").run()
    notes = {
        step.before.distribution.note
        for step in trace.steps
        if step.before.distribution is not None
    }
    assert any("prefilled tokens" in note for note in notes), notes


def test_a_budget_is_kept() -> None:
    text = generate(LM, ["A text: "], SCHEMA, forced="prefill", max_tokens=40)[0]
    assert SCHEMA.accepts(text.text)
