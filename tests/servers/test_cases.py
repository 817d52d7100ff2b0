"""Reported logs are answered right: the table of `tests.servers.cases`, and lines of schedulers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.servers import explain_line, runs_of, verdict_of
from tests.servers.cases import CASES, GOOD, IDS, SHUT, VOCABULARY, Case, X, asked, ids


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reported_log_is_answered_right(case: Case) -> None:
    run = runs_of({"request": case.request, "response": case.response, **case.more})[-1]
    verdict = verdict_of(run, VOCABULARY)
    said = str(verdict)
    assert verdict.outcome == case.outcome, said
    for words in case.says:
        assert words in said, said
    for words in case.never:
        assert words not in said, said


def test_events_and_text_logs_are_read() -> None:
    pieces = ['{"x": ', "5}"]
    events = [{"choices": [{"index": 0, "delta": {"content": each}}]} for each in pieces]
    sent = "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
    (run,) = runs_of(sent)
    assert run.text == '{"x": 5}'
    parts: list[dict[str, Any]] = [
        {"message": {"role": "assistant", "content": each}, "done": False} for each in pieces
    ]
    parts.append(
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    )
    (run,) = runs_of("\n".join(map(json.dumps, parts)))
    assert (run.format, run.text, run.finish) == ("Ollama chat", '{"x": 5}', "stop")
    printed = (
        f"INFO Received request cmpl-1: prompt: 'Hi', params: SamplingParams(n=1, min_tokens=0, "
        f"structured_outputs=StructuredOutputsParams(json={SHUT!r}, regex=None)), lora: None.\n"
        f"INFO Generated response cmpl-1: output: {GOOD!r}, output_token_ids: {ids(GOOD)}, "
        "finish_reason: stop\n"
    )
    (run,) = runs_of(printed)
    assert run.server == "vllm" and verdict_of(run, VOCABULARY).outcome == "whole"


def test_what_an_engine_allows_and_a_schema_does_not() -> None:
    schema = {"type": "string", "maxLength": 2, "pattern": "[a-c]+"}
    (run,) = runs_of({"request": asked(schema), "response": _chat('"aaa"')})
    verdict = verdict_of(run, VOCABULARY)
    assert verdict.outcome == "whole"
    assert "xgrammar allows this, your schema does not" in str(verdict)
    assert "maxLength" in str(verdict)
    assert verdict_of(run, VOCABULARY, engine="none").outcome == "masked"
    open_ = runs_of({"request": asked(X), "response": _chat('{"x": "a", "y": 1}')})[0]
    outcomes = [verdict_of(open_, VOCABULARY, engine=name).outcome
                for name in ("xgrammar", "outlines", "llguidance", "none")]  # fmt: skip
    assert outcomes == ["masked", "masked", "whole", "whole"]
    with pytest.raises(explorer.errors.ConstraintError, match="is not an engine"):
        verdict_of(open_, VOCABULARY, engine="guidance")


def _of(value: Any, **more: Any) -> dict[str, Any]:
    """A request for an object with one member, v."""
    return asked({"type": "object", "properties": {"v": value}, "required": ["v"], **more})


@pytest.mark.parametrize(
    ("engine", "request_", "text", "rule"),
    [
        ("xgrammar", _of({"type": "integer"}), '{"v": 1.0}', "An integer has one spelling"),
        ("xgrammar", _of({"type": "null"}), '{"v": null, "w": 1}', "An object is closed"),
        ("xgrammar", _of({"type": "string", "maxLength": 9}), r'{"v": "a\n"}', "holds no escapes"),
        ("xgrammar", _of({"enum": [1, 2]}), '{"v": 1.0}', "A number of an enum"),
        ("xgrammar", _of({"oneOf": [{"type": "integer"}, {}]}), '{"v": 1}', "oneOf as anyOf"),
        ("xgrammar", _of({"type": "null"}), '{"v": null} ', "no white space before and after"),
        ("xgrammar", {"structured_outputs": {"regex": "a.*"}}, "ab\nc", "Its dot is any character"),
        ("outlines", _of({"type": "integer", "minimum": 3}), '{"v": 2}', "ignores the bounds"),
        ("outlines", _of({"type": "null"}), '{\n"v": null}', "at most one space"),
        ("llguidance", _of({"type": "string"}), r'{"v": "\/"}', "no escape"),
        ("llguidance", _of({"type": "number", "minimum": 0}), '{"v": 1e3}', "has no exponent"),
        ("llguidance", asked({"allOf": [SHUT, X]}), '{"x": ""}', "is not known here"),
    ],
)
def test_the_rule_of_the_engine_comes_first(
    engine: str, request_: dict[str, Any], text: str, rule: str
) -> None:
    """Of all rules, the one of the place; no name of a rule that only we gave is shown."""
    (run,) = runs_of({"request": request_, "response": _chat(text)})
    verdict = verdict_of(run, VOCABULARY, engine=engine)
    (first, *others) = [note for note in verdict.notes if "whichever way" not in note]
    assert rule in first and not any("does not" in note for note in others), str(verdict)
    assert "On the stack" not in str(verdict)


def _chat(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


LINES = (
    ("ValueError: Tokens not accepted: {end}\nAccepted tokens: [{brace}, 120, {colon}]\n"
     'Key string: {{"type": "object"}}', None, ("<|im_end|>", "is masked after '{\"x\":'")),
    ("ValueError: Tokens not accepted: {end}", SHUT, ("<|im_end|>", "where the text is complete")),
    ("Unexpected empty grammar stack after accepting piece: =list ({list})", SHUT, ("'=list'",)),
    ("Unexpected empty grammar stack after accepting piece: =list", SHUT, ("'=list'",)),
    ("Request 7 failed to accept last new token: {list}.", SHUT, ("'=list'",)),
    ("Unexpected: grammar rejected tokens [46, {think}, {call}, 10] for request r. Terminating.",
     SHUT,
     ("The line crosses the end of the reasoning", "</think>", "token 1 of the line")),
    ("Failed to advance FSM for request 1-9a for tokens 0. Please file an issue.", SHUT,
     ("where every token is masked", "min_tokens")),
)  # fmt: skip


@pytest.mark.parametrize(("line", "schema", "says"), LINES, ids=range(len(LINES)))
def test_a_line_is_answered_right(line: str, schema: Any, says: tuple[str, ...]) -> None:
    filled = line.format(
        end=IDS["<|im_end|>"], brace=ids('{"')[0], colon=ids('":')[0], list=ids("=list")[0],
        think=IDS["</think>"], call=IDS["<tool_call>"],
    )  # fmt: skip
    constraint = None if schema is None else explorer.json_schema(schema)
    said = str(explain_line(filled, VOCABULARY, constraint))
    for words in says:
        assert words in said, said
    assert "//0" not in said
