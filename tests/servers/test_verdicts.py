"""Logs of four servers: their runs as sessions, and the first token that would have been masked."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

import explorer
from explorer import cli
from explorer.servers import read_runs, runs_of, session_of, verdict_of
from tests.servers.fixtures import PATTERN, PERSON
from tests.servers.logs import FOLDER, NAMES, chat, log, runs, vocabulary


def ids_of(name: str) -> list[int]:
    """The ids of a log, read here by the shape of that one server."""
    whole = log(name)
    response = whole[0]["response"] if isinstance(whole, list) else whole["response"]
    if name.startswith("tgi"):
        return [token["id"] for token in response[0]["details"]["tokens"]]
    if name.startswith("sglang"):
        return [entry[1] for entry in response["meta_info"]["output_token_logprobs"]]
    if name == "vllm_chat.json":
        return response["choices"][0]["token_ids"]
    return list(vocabulary().encode(response["choices"][0].get("message", {}).get("content")) or ())


@pytest.mark.parametrize("name", ["openai_chat.json", "sglang_generate.json", "tgi_generate.json",
                                  "vllm_chat.json"])  # fmt: skip
def test_a_log_becomes_a_session_with_the_servers_ids_and_numbers(name: str) -> None:
    (run,) = read_runs(FOLDER / name)
    session = session_of(run, vocabulary(), explorer.regex("(?s:.*)"))
    assert [token.log_prob for token in run.tokens] == [
        step.log_prob_model for step in session.trace.steps
    ]
    assert list(session.ids) == ids_of(name)
    assert session.text == run.text


def test_what_a_constraint_allows_is_what_the_oracles_say() -> None:
    """`jsonschema` and `re` judge the texts; the verdict must agree with them."""
    judged = {}
    for name in NAMES:
        for run in read_runs(FOLDER / name):
            judged[name] = verdict_of(run, vocabulary())
    for name in ("openai_chat.json", "vllm_chat.json"):
        text = judged[name].run.text or ""
        valid = jsonschema.Draft202012Validator(PERSON).is_valid(json.loads(text))
        assert judged[name].allowed is valid is (judged[name].outcome == "whole"), name
    for name in ("tgi_generate.json", "vllm_completion.json"):
        text = judged[name].run.text or ""
        assert judged[name].allowed is bool(re.fullmatch(PATTERN, text)), name
    assert {verdict.outcome for verdict in judged.values()} >= {"masked", "cut", "whole"}


def test_the_first_masked_token_is_named_with_its_reason() -> None:
    (run,) = read_runs(FOLDER / "openai_chat.json")
    verdict = verdict_of(run, vocabulary())
    assert verdict.session.rejection is not None and verdict.explanation is not None
    assert (verdict.outcome, verdict.session.rejection.index) == ("masked", 6)
    # By hand: before it `{"name": "Ada", "age`, and the token closes the name and opens a text.
    assert verdict.session.text == '{"name": "Ada", "age'
    assert vocabulary().tokens[verdict.session.rejection.token] == b'": "'
    assert verdict.explanation.byte_offset == 3
    assert "/properties/age/type" in str(verdict)


def test_a_text_that_ends_early_is_said_to() -> None:
    request = {"response_format": {"type": "json_schema", "json_schema": {"schema": PERSON}}}
    (run,) = runs(chat('{"name": "Ada"', request))
    verdict = verdict_of(run, vocabulary())
    assert (verdict.outcome, verdict.allowed) == ("ended early", False)
    assert "cannot end" in verdict.sentence and "the text was judged" in verdict.notes[0]
    (run,) = runs(chat('{"name": "Ada"', request, finish="length"))
    assert verdict_of(run, vocabulary()).outcome == "cut"


REQUESTS: list[tuple[dict[str, Any], str, str]] = [
    ({"guided_json": PERSON}, '{"name": "A", "age": 3}', '{"name": "A", "age": 3.5}'),
    ({"guided_json": json.dumps(PERSON)}, '{"name": "A", "age": 3}', "[]"),
    ({"guided_regex": "a+b"}, "aab", "abb"),
    ({"guided_choice": ["yes", "no"]}, "no", "maybe"),
    ({"guided_grammar": 'root ::= "a" root "b" | ""'}, "aabb", "abb"),
    ({"guided_grammar": 'start: "a" start "b" | "c"'}, "acb", "acc"),
    ({"structured_outputs": {"json": PERSON}}, '{"name":"A","age":3}', '{"age":3}'),
    ({"structured_outputs": {"regex": "[0-9]{3}"}}, "123", "12a"),
    ({"structured_outputs": {"choice": ["yes", "no"]}}, "yes", "yesno"),
    ({"structured_outputs": {"grammar": 'root ::= "x"+'}}, "xxx", "xxy"),
    ({"structured_outputs": {"json_object": True}}, '{"a": [[[[[[[[[[1]]]]]]]]]]}', "[1]"),
    ({"guided_decoding": {"regex": "[ab]+"}}, "abba", "abc"),
    ({"extra_body": {"guided_regex": "a+"}}, "aaa", "aab"),
    ({"response_format": {"type": "json_object"}}, '{"a": null}', '"a"'),
    ({"response_format": {"type": "regex", "value": "a+"}}, "aa", "ab"),
    ({"sampling_params": {"regex": "a+"}}, "aa", "ab"),
    ({"sampling_params": {"ebnf": 'root ::= "a"+'}}, "aa", "ab"),
    ({"sampling_params": {"json_schema": json.dumps(PERSON)}}, '{"name": "", "age": 0}', "0"),
    ({"parameters": {"grammar": {"type": "json", "value": PERSON}}}, '{"name":"","age":1}', "1"),
    ({"parameters": {"grammar": {"type": "regex", "value": "[a-c]+"}}}, "abc", "abd"),
    ({"structured_outputs": {"json": PERSON}, "disable_any_whitespace": True},
     '{"name": "A", "age": 3}', '{"name":"A","age":3}'),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "good", "bad"), REQUESTS, ids=range(len(REQUESTS)))
def test_every_way_to_ask_for_a_constraint_is_read(
    request_: dict[str, Any], good: str, bad: str
) -> None:
    verdicts = [verdict_of(runs(chat(text, request_))[0], vocabulary()) for text in (good, bad)]
    assert [verdict.outcome for verdict in verdicts] == ["whole", "masked"]


def test_a_request_without_a_constraint_needs_one() -> None:
    (run,) = runs(chat("a", {"response_format": {"type": "text"}}))
    assert run.requested is None
    with pytest.raises(explorer.errors.ExplorerError, match="asks for no constraint"):
        verdict_of(run, vocabulary())
    assert verdict_of(run, vocabulary(), explorer.regex("a")).outcome == "whole"


def test_json_lines_lists_and_batches_are_read() -> None:
    first, second = log("openai_chat.json"), log("sglang_generate.json")
    lines = f"{json.dumps(first)}\n\n{json.dumps(second)}\n"
    found = runs_of(lines.encode(), "served.jsonl")
    assert [run.place for run in found] == [
        "served.jsonl, line 1, run 0",
        "served.jsonl, line 3, run 1",
    ]
    assert len(runs([first, second])) == 2
    batch = {"custom_id": "a", "body": first["request"],
             "response": {"status_code": 200, "body": first["response"]}}  # fmt: skip
    (run,) = runs(batch)
    assert run.requested is not None and len(run.tokens) == 9
    (alone,) = runs(first["response"])
    assert alone.requested is None and alone.tokens == run.tokens


def test_ids_of_another_tokenizer_are_refused() -> None:
    wrong = log("sglang_generate.json")
    for entry in wrong["response"]["meta_info"]["output_token_logprobs"]:
        entry[1] += 7
    del wrong["response"]["output_ids"]
    with pytest.raises(explorer.errors.ExplorerError, match="another tokenizer"):
        session_of(runs(wrong)[0], vocabulary())


def test_the_command_line_names_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / "openai_chat.json")
    assert cli.main(["why", "--run", path]) == 1
    assert "token 6 (id 281) would have been masked" in capsys.readouterr().out
    assert cli.main(["why", "--run", path, "--model", "tiny", "--regex", "(?s:.*)"]) == 0
    assert "allows the whole text" in capsys.readouterr().out
    assert cli.main(["why", "--run", path, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["index"] == 6
    assert cli.main(["why", "--run", path, "--index", "1"]) == 2
    assert "no run 1" in capsys.readouterr().err
    assert cli.main(["why", "--run", str(FOLDER / "tgi_generate.json")]) == 2
    assert "tokenizer" in capsys.readouterr().err
