"""Reported logs are answered right: the table of `tests.servers.cases`, and lines of schedulers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import cli
from explorer.decoding.models.embedded import EMBEDDED
from explorer.servers import explain_line, runs_of, verdict_of
from tests.servers.cases import CASES, GOOD, IDS, SHUT, VOCABULARY, Case, X, asked, chat, ids, tool


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reported_log_is_answered_right(case: Case) -> None:
    request = {"request": case.request} if case.request else {}
    run = runs_of({**request, "response": case.response, **case.more})[-1]
    try:
        verdict = verdict_of(run, VOCABULARY)
        outcome, said = verdict.outcome, str(verdict)
    except explorer.errors.ExplorerError as error:
        outcome, said = "refused", str(error)
    assert outcome == case.outcome, said
    for words in case.says:
        assert words in said, said
    for words in case.never:
        assert words not in said, said


NAMED: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
PATTERNS: dict[str, Any] = {"type": "object", "patternProperties": {"^x": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "engine"),
    [
        (NAMED, ""), (PATTERNS, ""), (PATTERNS | NAMED, "outlines"),
        ({**PATTERNS, "patternProperties": {"^x": True, "^y": True}}, "outlines"),
        ({"type": "array", "items": {"allOf": [NAMED, NAMED]}}, "llguidance"),
        ({"allOf": [NAMED]}, ""), ({"type": "string", "format": "regex"}, "llguidance"),
        ({"type": "string", "format": "uuid"}, ""),
        ({"type": ["string", "null"], "format": "uuid", "maxLength": 40}, "llguidance"),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, ""),
        ({"type": "object", "propertyNames": {"pattern": "^a", "minLength": 2}}, "llguidance"),
        ({**NAMED, "propertyNames": {"pattern": "^a"}}, "llguidance"),
        ({"type": "object", "propertyNames": {}, "unevaluatedProperties": False}, "llguidance"),
        ({"type": "array", "uniqueItems": True}, "llguidance"), ({"uniqueItems": True}, ""),
    ],
)  # fmt: skip
def test_vllm_gives_some_schemas_to_another_engine(schema: dict[str, Any], engine: str) -> None:
    request = {"request": asked(schema), "response": chat("7"), "server": "vllm 0.33"}
    said = str(verdict_of(runs_of(request)[0], VOCABULARY))
    assert [each for each in ("llguidance", "outlines") if f"to {each} where" in said] == (
        [engine] if engine else []
    )


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
    streamed = "".join(
        f"Generated response cmpl-1 (streaming delta): output: {text!r}, "
        f"output_token_ids: {ids(text)}, finish_reason: None\n" for text in ('{"x', '": 5}')
    ) + (
        "Generated response cmpl-1 (streaming complete): output: '{\"x\": 5}', "
        "output_token_ids: None, finish_reason: streaming_complete\n"
    )  # fmt: skip
    (run,) = runs_of(printed.splitlines()[0] + "\n" + streamed)
    assert verdict_of(run, VOCABULARY).index == 6
    event = {"event": "request.finished", "obj": {"sampling_params": {"regex": "[0-9]"}}, "out": {
        "text": "a", "meta_info": {"finish_reason": {"type": "stop"}}}}  # fmt: skip
    (run,) = runs_of(json.dumps(event))
    assert (run.server, verdict_of(run, VOCABULARY).outcome) == ("sglang", "masked")
    refused = {"object": "error", "message": "features not supported by xgrammar", "code": 400}
    with pytest.raises(explorer.errors.DamagedFile, match="not supported by xgrammar"):
        runs_of({"request": asked(), "response": refused})
    asked_for = {"json_schema": json.dumps(SHUT), "max_new_tokens": 9}
    answer = {"text": '{"x": 5', "output_ids": ids('{"x": 5'), "meta_info": {
        "id": "r", "finish_reason": {"type": "length", "length": 9}}}  # fmt: skip
    printed = (
        f"[2026-01-01 00:00:00] Finish: obj=GenerateReqInput(rid='r', text='Hi', input_ids=None, "
        f"sampling_params={asked_for!r}), out={answer!r}\n"
    )
    (run,) = runs_of(printed)
    verdict = verdict_of(run, VOCABULARY)
    assert (run.server, run.prompt, run.asked("max_new_tokens")) == ("sglang", "Hi", 9)
    assert (verdict.outcome, verdict.index) == ("masked", 6) and "/properties/x/type" in str(
        verdict
    )


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
        ("xgrammar", _of({"type": "integer"}), '{"v": 1, "w": 1}', "An object is closed"),
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
    ("Request 7 at slot 3 failed to accept last new token: {list}.", SHUT, ("'=list'",)),
    ('{{"error": "Unexpected empty grammar stack after accepting piece: =list ({list})"}}', SHUT,
     ("'=list'",)),
    ('LLMatcher error: Parser Error: token "{{\\"" doesn\'t satisfy the grammar; byte \'{{\' fails',
     SHUT, ("""'{"'""", "at the start")),
    ('Parser Error: token "\ufffd<think>" doesn\'t satisfy the grammar; byte', SHUT, ("<think>",)),
    ("The matcher has terminated after accepting the stop token, but is trying to accept new token "
     "with id {list}.", SHUT, ("The text had already ended", "'=list'")),
    ("FSM advance error: No next state found for the current state: 24 with token ID: {list}", SHUT,
     ("'=list'", "inside the string at /x")),
    ("Tokens not accepted: {list}\nAccepted tokens: []\nKey string: [0-9]+", None, ("a digit",)),
    ("Tokens not accepted: {end}\nAccepted tokens: []\nKey string: $$ANY$$", None, ("/type",)),
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


def test_a_line_with_its_request_is_answered_by_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = [tool(), tool("now", {"type": "object", "properties": {"zone": {"type": "string"}},
                                  "required": ["zone"]})]  # fmt: skip
    request = {"tools": tools, "tool_choice": "required", "tool_call_parser": "hermes"}
    (tmp_path / "request.json").write_text(json.dumps(request), "utf-8")
    names = (
        "why",
        "--tokenizer",
        str(EMBEDDED["tiny"]),
        "--request",
        str(tmp_path / "request.json"),
    )
    token = explorer.Vocabulary.from_file(EMBEDDED["tiny"]).ids_of(b"R")[0]
    line = f"Failed to advance FSM for request r for tokens {token}. Please file an issue."
    assert cli.main([*names, "--line", line]) == 0
    allowed, refused = capsys.readouterr().out.split("It is refused: ")
    assert "in the argument city of get_weather" in allowed
    assert "in the argument zone of now" in allowed and "outside of calls" in allowed
    assert "in the name of a tool" in refused and "in the markup of now" in refused
    request = {
        "request": {"sampling_params": {"json_schema": json.dumps(SHUT)}},
        "server": "sglang",
    }
    (tmp_path / "request.json").write_text(json.dumps(request), "utf-8")
    assert cli.main([*names, "--line", line, "--json"]) == 0
    places = {place["name"] for place in json.loads(capsys.readouterr().out)["allowed"]}
    assert places == {"inside the string at /x"}
    (tmp_path / "request.json").write_text("{", "utf-8")
    assert cli.main([*names, "--line", line]) == 2


def test_options_about_a_log_leave_out_what_a_server_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"type": "object", "properties": {"u": {"type": "string", "format": "odd"}},
           "required": ["u"]}  # fmt: skip
    form = {"type": "json_schema", "json_schema": odd, "style": "qwen_xml"}
    files = {"--structural-tag": {"type": "structural_tag", "format": form}, "--json-schema": SHUT}
    names = ("why", "--tokenizer", str(EMBEDDED["tiny"]))
    token = explorer.Vocabulary.from_file(EMBEDDED["tiny"]).ids_of(b"\n")[0]
    line = f"Failed to advance FSM for request r for tokens {token}. Please file an issue."
    asked_for: tuple[str, ...] = ()
    for option, value in files.items():
        (tmp_path / "asked.json").write_text(json.dumps(value), "utf-8")
        asked_for = (*names, option, str(tmp_path / "asked.json"))
        assert cli.main([*asked_for, "--line", line]) == 0, option
        assert "is allowed" in capsys.readouterr().out
    assert cli.main([*asked_for, "--line", line, "--whitespace", "compact"]) == 1
