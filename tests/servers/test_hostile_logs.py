"""Untrusted logs: whatever they hold, only our own errors come out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.budget import Budget
from explorer.errors import DamagedFile, ExplorerError
from explorer.servers import runs_of, verdict_of
from tests.servers.cases import CASES, Case
from tests.servers.logs import FOLDER, NAMES, chat, log, runs, vocabulary

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, 2**31, 1e400, float("nan"), -float("inf"), "",
    "x", "\ud800", "token_id:99999999999", "token_id:7", [], [[]], [None], {}, {"a": 1},
    {"type": "json"}, {"type": 7, "value": []}, [1, 2], "[" * 50, "(" * 50, "\x00", "é😀",
)  # fmt: skip


def spots(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value of a document."""
    yield path
    entries: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        entries = enumerate(value)
    for key, entry in entries:
        yield from spots(entry, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: object) -> Any:
    """The document with another value at a path."""
    if not path:
        return value
    owner = document
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    return document


def tried(data: bytes) -> None:
    try:
        for run in runs_of(data):
            verdict_of(run, vocabulary(), budget=Budget(seconds=2)).to_dict()
    except ExplorerError as error:
        assert error.message and error.remedy, error


@pytest.mark.parametrize("name", NAMES)
def test_only_our_own_errors_come_out(name: str) -> None:
    places = list(spots(log(name)))
    chosen = random.Random(15)
    for path in chosen.sample(places, min(40, len(places))):
        for value in chosen.sample(ODD, 2):
            document = changed(log(name), path, value)
            tried(json.dumps(document, allow_nan=True).encode())


@pytest.mark.parametrize(
    "case", [each for each in CASES if "stream" in each.name], ids=lambda case: case.name
)
def test_only_our_own_errors_come_out_of_streams(case: Case) -> None:
    lines = case.response.splitlines() if isinstance(case.response, str) else []
    sent = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    text = json.dumps({"request": case.request, "response": sent or case.response})
    places = [place for place in spots(json.loads(text)) if place[:1] == ("response",)]
    chosen = random.Random(17)
    for path in places:
        for value in chosen.sample(ODD, 6):
            tried(json.dumps(changed(json.loads(text), path, value), allow_nan=True).encode())


@pytest.mark.parametrize("name", NAMES)
def test_damaged_bytes_are_refused_or_read(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    chosen = random.Random(16)
    for _ in range(40):
        at = chosen.randrange(len(data))
        tried(data[:at])
        tried(data[:at] + bytes([chosen.randrange(256)]) + data[at + 1 :])


def fault(document: object) -> DamagedFile:
    with pytest.raises(DamagedFile) as caught:
        runs(document)
    assert caught.value.remedy
    return caught.value


def test_a_wrong_value_is_named_with_its_place() -> None:
    wrong = log("openai_chat.json")
    wrong["response"]["choices"][0]["logprobs"]["content"][2]["logprob"] = 0.5
    error = fault(wrong)
    assert error.evidence["place"] == "response.choices[0].logprobs.content[2].logprob"
    assert "0.5" in error.message and "0 or less" in error.message

    wrong = log("sglang_generate.json")
    wrong["response"]["meta_info"]["output_token_logprobs"][1][1] = "7"
    assert "output_token_logprobs[1][1]" in str(fault(wrong).evidence["place"])

    wrong = log("vllm_chat.json")
    wrong["response"]["choices"][0]["token_ids"].pop()
    assert "as many as there are" in fault(wrong).message

    two = chat("a", {"guided_regex": "a", "response_format": {"type": "json_object"}})
    assert "one constraint" in fault(two).message


def test_ids_past_the_vocabulary_are_findings_not_errors() -> None:
    wrong = log("sglang_generate.json")
    wrong["response"]["meta_info"]["output_token_logprobs"][1][1] = 2**31 - 1
    del wrong["response"]["output_ids"]
    verdict = verdict_of(runs(wrong)[0], vocabulary())
    assert verdict.session.rejection is not None and verdict.session.rejection.index == 1


def test_a_parser_whose_name_is_a_list_is_ignored() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    request = {"tools": tools, "tool_choice": "required", "tool_call_parser": ["hermes"]}
    tried(json.dumps(chat("f", request)).encode())


@pytest.mark.parametrize(
    "parameters", [{"properties": {}, "required": True}, {"properties": 7}, {"required": {"a": 1}}]
)
def test_a_schema_of_arguments_that_is_no_schema_is_an_error_of_ours(parameters: object) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    for parser in ("glm45", "qwen3_coder", "hermes"):
        request = {"tools": tools, "tool_choice": "required", "tool_call_parser": parser}
        tried(json.dumps(chat("f", request)).encode())
