"""Structural tags, tools and reasoning in logs; lines of a scheduler. The logs are made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import Vocabulary, cli
from explorer.errors import ExplorerError
from explorer.servers import explain_line, runs_of, verdict_of
from explorer.servers.scheduler import read_line

PIECES = [
    *(bytes([byte]) for byte in range(256)), b"\n\n", b'{"', b'":', b'"}', b"<tool_call>", b"Hm",
]  # fmt: skip
THINK, CLOSE, END = len(PIECES), len(PIECES) + 1, len(PIECES) + 2
VOCABULARY = Vocabulary(
    (*PIECES, None, None, None), (END,), special={THINK: "<think>", CLOSE: "</think>", END: "</s>"}
)
CITY = {
    "type": "object", "properties": {"city": {"enum": ["Bonn", "Ulm"]}}, "required": ["city"],
    "additionalProperties": False,
}  # fmt: skip
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
TAG = {
    "type": "structural_tag",
    "format": {"type": "sequence", "elements": [
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
        {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [
            {"type": "tag", "begin": "<tool_call>get_weather",
             "content": {"type": "json_schema", "json_schema": CITY}, "end": "</tool_call>"},
        ]},
    ]},
}  # fmt: skip
ANSWER = '{"city":"Bonn"}'


def ids(*parts: str | int) -> list[int]:
    known = {data: token for token, data in enumerate(PIECES)}
    written: list[int] = []
    for part in parts:
        if isinstance(part, int):
            written.append(part)
        elif part.encode() in known:
            written.append(known[part.encode()])
        else:
            written += part.encode()
    return written


def judged(request: dict[str, Any], tokens: list[int]) -> Any:
    choice = {"index": 0, "token_ids": tokens, "finish_reason": "stop",
              "message": {"role": "assistant", "content": None}}  # fmt: skip
    text = b"".join(VOCABULARY.tokens[token] or b"" for token in tokens).decode()
    choice["message"] = {"role": "assistant", "content": text}
    document = {"request": request, "response": {"choices": [choice]}}
    (run,) = runs_of(document)
    return verdict_of(run, VOCABULARY)


@pytest.mark.parametrize(
    "request_of",
    [
        {"response_format": TAG},
        {"structured_outputs": {"structural_tag": json.dumps(TAG)}},
        {"sampling_params": {"structural_tag": json.dumps(TAG)}},
    ],
    ids=["response_format", "structured_outputs", "sampling_params"],
)
def test_a_structural_tag_is_followed(request_of: dict[str, Any]) -> None:
    written = ids(
        THINK, "Hm", CLOSE, "So ", "<tool_call>", "get_weather", ANSWER, "</tool_call>", END
    )
    assert judged(request_of, written).outcome == "whole"
    text = ids(THINK, "Hm", "</think>", "So")
    assert judged(request_of, text).outcome == "ended early"  # The text is not the token.
    wrong = judged(request_of, ids(THINK, CLOSE, "<tool_call>", "get_weather", '{"city":"Paris'))
    assert wrong.outcome == "masked"
    assert "in the phase <tool_call>get_weather" in str(wrong)
    assert "/properties/city/enum" in str(wrong)


def test_names_in_a_text_alone_are_read_as_control_tokens() -> None:
    def of_text(text: str) -> Any:
        choice = {"index": 0, "message": {"role": "assistant", "content": text},
                  "finish_reason": "stop"}  # fmt: skip
        (run,) = runs_of({"request": {"response_format": TAG}, "response": {"choices": [choice]}})
        return verdict_of(run, VOCABULARY)

    call = f"<tool_call>get_weather{ANSWER}</tool_call>"
    whole = of_text(f"<think>Hm</think>So {call}")
    assert whole.outcome == "whole"
    assert any("read as those tokens" in note for note in whole.notes)
    wrong = of_text(f"<think>Hm</think>So {call.replace('Bonn', 'Paris')}")
    assert wrong.outcome == "masked"
    assert "in the phase <tool_call>get_weather" in str(wrong)
    assert of_text("<think>Hm").outcome == "ended early"
    assert of_text(f"Hm{call}").outcome == "masked"  # No name that could be read otherwise.


def test_the_setting_that_would_have_taken_a_token_is_named() -> None:
    request = {"response_format": {"type": "json_schema", "json_schema": {"schema": CITY}}}
    written = ids("Hm", CLOSE, ANSWER, END)
    verdict = judged(request, written)
    assert verdict.outcome == "masked" and verdict.index == 0
    assert "'</think>', a marker of reasoning" in str(verdict)
    assert "reasoning parser on" in str(verdict)
    assert judged({**request, "reasoning_parser": "qwen3"}, written).outcome == "whole"
    assert judged({**request, "reasoning_parser": "qwen3"}, ids(ANSWER, END)).outcome == "whole"
    odd = judged({**request, "reasoning_parser": "mine"}, ids(ANSWER, END))
    assert any("'mine'" in note for note in odd.notes)


def test_line_breaks_behind_the_reasoning_are_named() -> None:
    request = {"structured_outputs": {"json": CITY}, "reasoning_parser": "deepseek_r1"}
    verdict = judged(request, ids("Hm", CLOSE, "\n\n", ANSWER, END))
    assert verdict.outcome == "masked" and verdict.index == 0
    assert "The model writes white space after </think>" in str(verdict)
    assert any("xgrammar does not. It takes no white space" in note for note in verdict.notes)


def test_calls_are_held_against_the_markup_of_the_parser() -> None:
    pytest.importorskip("xgrammar")
    request = {"tools": [WEATHER], "tool_choice": "required", "tool_call_parser": "hermes"}
    call = '\n{"name": "get_weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
    assert judged(request, ids("<tool_call>", call, END)).outcome == "whole"
    verdict = judged(request, ids("<tool_call>", call.replace("Bonn", "Paris"), END))
    assert "in the phase tool get_weather" in str(verdict)
    assert judged(request, ids("So", END)).outcome == "masked"


def test_a_parser_of_calls_that_nobody_knows_is_named() -> None:
    request = {"tools": [WEATHER], "tool_choice": "required", "tool_call_parser": "hermess"}
    with pytest.raises(ExplorerError, match=r"'hermess' is not known here.*Is it hermes"):
        judged(request, ids("So", END))


LINES = {
    "Failed to advance FSM for request chatcmpl-7 for tokens 271. Please file an issue.": (271,),
    "ERROR [backend_xgrammar.py:148] Failed to advance FSM for request r for tokens [1, 2]": (1, 2),
    "grammar rejected tokens [530, 729, 13, 154842]": (530, 729, 13, 154842),
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read(line: str) -> None:
    read = read_line(line)
    assert read.ids == LINES[line]


def test_a_line_says_where_its_token_is_allowed() -> None:
    breaks = ids("\n\n")[0]
    line = f"Failed to advance FSM for request r for tokens {breaks}"
    strings = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
               "additionalProperties": False}  # fmt: skip
    compact = explain_line(line, VOCABULARY, explorer.json_schema(strings))
    assert compact.texts == ("2 line breaks",) and not compact.allowed
    assert any("inside the string at /a" in place.name for place in compact.refused)
    assert any("if white space were allowed" in setting for setting in compact.settings)
    flexible = explain_line(line, VOCABULARY, explorer.json_schema(strings, whitespace="flexible"))
    named = {place.name for place in flexible.allowed}
    assert "between the tokens of JSON" in named
    assert not any("string" in name for name in named)


def test_a_line_with_the_end_of_the_text_says_where_that_is_allowed() -> None:
    answer = explain_line(f"for tokens {END}", VOCABULARY, explorer.regex("[0-9]+"))
    assert [(place.name, place.example) for place in answer.allowed] == [
        ("where the text is complete", "0")
    ]
    assert [place.example for place in answer.refused] == [""]
    assert "takes them there" not in str(answer)
    nothing = explain_line(f"for tokens {END}", VOCABULARY, explorer.regex(r"[^\s\S]"))
    assert "allowed in no state" in str(nothing)
    behind = explain_line(f"for tokens {END}", VOCABULARY, explorer.regex("[0-9]+"), ids("1"))
    assert behind.taken and "takes them there" in str(behind)


def test_a_line_behind_a_text_says_which_token_is_refused() -> None:
    thought = ids("Hm")[0]
    line = f"grammar rejected tokens [{thought}, {CLOSE}]"
    answer = explain_line(line, VOCABULARY, explorer.json_schema(CITY), [])
    assert answer.rejected == 0 and "control token </think>" in str(answer)
    assert any("</think>" in setting for setting in answer.settings)
    assert (
        explain_line("for tokens 123", VOCABULARY, explorer.json_schema(CITY), []).rejected is None
    )
    pair = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
            "required": ["a", "b"]}  # fmt: skip
    second = f"for tokens {ids('b')[0]}"
    said = str(explain_line(second, VOCABULARY, explorer.json_schema(pair), ids('{"')))
    assert "in the order in which" in said and "property_order" not in said
    with pytest.raises(ExplorerError, match="token 0 of those before"):
        explain_line(line, VOCABULARY, explorer.json_schema(CITY), ids("Hm"))


@pytest.mark.parametrize(
    ("line", "named"),
    [("all is well", "names no tokens"), ("for tokens 99999", "99999 is not an id")],
)
def test_a_line_that_says_nothing_is_refused(line: str, named: str) -> None:
    with pytest.raises(ExplorerError, match=named):
        explain_line(line, VOCABULARY, explorer.json_schema(CITY))


def test_the_command_line_takes_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "city.json"
    schema.write_text(json.dumps(CITY), "utf-8")
    tiny = explorer.load_model("tiny").vocabulary
    brace = next(token for token, data in enumerate(tiny.tokens) if data == b"{")
    asked = ["why", "--model", "tiny", "--json-schema", str(schema), "--line"]
    assert cli.main([*asked, f"Failed to advance FSM for request r for tokens {brace}"]) == 0
    assert "is allowed" in capsys.readouterr().out
    assert cli.main([*asked, f"for tokens {brace}", "--prefix-ids", str(brace), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rejected"] == 0
    tag = tmp_path / "tag.json"
    tag.write_text(json.dumps(TAG), "utf-8")
    asked = ["why", "--model", "tiny", "--structural-tag", str(tag), "--prefix", "x"]
    assert cli.main([*asked, "--token", "y"]) == 2


def test_a_tag_on_the_command_line_is_written_with_control_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vocabulary = explorer.load_model("tiny").vocabulary
    name = next(name for token, name in vocabulary.special.items() if token in vocabulary.letters)
    token = next(token for token, each in vocabulary.special.items() if each == name)
    tag = tmp_path / "tag.json"
    number = {"type": "regex", "pattern": "[0-9]+"}
    tag.write_text(json.dumps({"type": "tag", "begin": name, "content": number, "end": "."}))
    asked = ["why", "--model", "tiny", "--structural-tag", str(tag)]
    assert cli.main([*asked, "--token-id", str(token)]) == 0
    assert cli.main([*asked, "--line", f"for tokens {token}"]) == 0
    assert "is allowed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "named"),
    [("a,b", "'a', which is not an id"), ("99999", "99999 is not an id of this")],
)
def test_ids_before_a_line_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, named: str
) -> None:
    schema = tmp_path / "city.json"
    schema.write_text(json.dumps(CITY), "utf-8")
    asked = ["why", "--model", "tiny", "--json-schema", str(schema), "--line", "for tokens 71"]
    assert cli.main([*asked, "--prefix-ids", given]) == 2
    assert named in capsys.readouterr().err
