"""Answers that are tool calls or refusals, texts that a stop string ended, and what is not read."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import explorer
from explorer import cli
from explorer.budget import Budget
from explorer.errors import BudgetExceeded, ConstraintError, DamagedFile, ExplorerError
from explorer.servers import runs_of, verdict_of
from explorer.servers.reading import MOST_CHARACTERS
from tests.servers.fixtures import PERSON
from tests.servers.logs import chat, log, runs, vocabulary

FORMAT = {"response_format": {"type": "json_schema", "json_schema": {"schema": PERSON}}}
NAMED = {"tool_choice": {"type": "function", "function": {"name": "save"}}}


def called(*arguments: str, request: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    """A chat log whose answer is calls of the tool `save`, which takes a person."""
    tool = {"type": "function", "function": {"name": "save", "parameters": PERSON}}
    document = chat("", {"tools": [tool], **request}, finish="tool_calls")
    document["response"]["choices"][0]["message"] = {
        "role": "assistant", "content": content,
        "tool_calls": [{"function": {"name": "save", "arguments": one}} for one in arguments],
    }  # fmt: skip
    return document


@pytest.mark.parametrize(
    "text", ['{"name": "Ada", "age": 36}', '{"name": "Ada", "age": "36"}', '{"age": 36}']
)
@pytest.mark.parametrize("how", ["named", "strict", "required"])
def test_the_arguments_of_a_tool_are_held_against_its_parameters(text: str, how: str) -> None:
    document = called(text, request=NAMED if how == "named" else FORMAT)
    if how == "required":
        document["request"]["tool_choice"] = "required"
    document["request"]["tools"][0]["function"]["strict"] = how == "strict"
    (run,) = runs(document)
    verdict = verdict_of(run, vocabulary())
    assert verdict.allowed is jsonschema.Draft202012Validator(PERSON).is_valid(json.loads(text))
    assert "tools[0].function.parameters" in str(verdict)


def test_calls_that_nothing_constrains_are_refused_by_name() -> None:
    (first, second) = runs(called('{"age": 1}', "{}", request=FORMAT))
    with pytest.raises(ExplorerError, match="call of the tool 'save'") as caught:
        verdict_of(first, vocabulary())
    assert "--json-schema" in caught.value.remedy
    own = explorer.regex(r"\{\}")
    assert [verdict_of(run, vocabulary(), own).outcome for run in (first, second)] == [
        "masked",
        "whole",
    ]


def test_a_text_beside_a_call_is_a_run_of_its_own() -> None:
    document = called("{}", request={"response_format": {"type": "json_object"}}, content="[]")
    text, call = runs(document)
    assert (text.text, verdict_of(text, vocabulary()).outcome) == ("[]", "masked")
    assert call.requested is None


@pytest.mark.parametrize("said", ["refusal", "nothing"])
def test_an_answer_without_a_text_is_not_said_to_be_allowed(said: str) -> None:
    document = chat("", FORMAT)
    document["response"]["choices"][0]["message"]["content"] = None
    if said == "refusal":
        document["response"]["choices"][0]["message"]["refusal"] = "I cannot"
    (run,) = runs(document)
    needle = "is a refusal" if said == "refusal" else "content is null"
    with pytest.raises(ExplorerError, match=needle):
        verdict_of(run, vocabulary())
    verdict = verdict_of(run, vocabulary(), explorer.regex("I cannot"))
    assert verdict.allowed is (said == "refusal"), "the text of a refusal can be asked about"
    assert needle in str(verdict)


@pytest.mark.parametrize(
    ("request_", "choice", "outcome", "needle"),
    [
        ({"stop": ["\n"]}, {}, "cut", r"stop string '\n'"),
        ({"stop": "\n"}, {}, "cut", "may have ended"),
        ({"extra_body": {"stop_token_ids": [7]}}, {}, "cut", "stop id 7"),
        ({"stop": ["x", "\n"]}, {"stop_reason": "\n"}, "cut", r"string '\n' ended it"),
        ({"stop": ["\n"]}, {"stop_reason": None}, "ended early", "cannot end"),
        ({"stop": ["\n"]}, {"matched_stop": "\n"}, "cut", "ended it"),
        ({"stop": None}, {}, "ended early", "cannot end"),
        ({"stop": []}, {}, "ended early", "cannot end"),
    ],
    ids=range(8),
)
def test_a_stop_string_is_not_the_end_of_the_text(
    request_: dict[str, Any], choice: dict[str, Any], outcome: str, needle: str
) -> None:
    document = chat("12", {"guided_regex": r"[0-9]+\n", **request_})
    document["response"]["choices"][0].update(choice)
    verdict = verdict_of(runs(document)[0], vocabulary())
    assert verdict.outcome == outcome
    assert needle in verdict.sentence


def test_sglang_and_tgi_say_it_in_their_own_words() -> None:
    document = log("sglang_generate.json")
    document["response"]["meta_info"]["finish_reason"] = {"type": "stop", "matched": "]"}
    assert "']' ended it" in verdict_of(runs(document)[0], vocabulary()).sentence
    answer = {"generated_text": "12", "details": {"finish_reason": "stop_sequence", "tokens": []}}
    parameters = {"grammar": {"type": "regex", "value": "[0-9]+x"}, "stop": ["2"]}
    document = {"request": {"inputs": "", "parameters": parameters}, "response": answer}
    verdict = verdict_of(runs(document)[0], vocabulary())
    assert (verdict.outcome, "'2'" in verdict.sentence) == ("cut", True)


def test_one_unusable_constraint_does_not_discard_the_others(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mixed.jsonl"
    patterns = ("[0-9]+", r"(a)\1", "[a-z]+")
    file.write_text("\n".join(json.dumps(chat("12", {"guided_regex": one})) for one in patterns))
    assert cli.main(["why", "--run", str(file)]) == 2
    told = capsys.readouterr()
    assert "allows the whole text" in told.out and "byte 0 of the text, in '1'," in told.out
    assert "line 2, run 1" in told.out and "reference back" in told.out
    assert "1 of 3 runs" in told.err
    assert cli.main(["why", "--run", str(file), "--json"]) == 2
    answers = json.loads(capsys.readouterr().out)["runs"]
    assert [answer["outcome"] for answer in answers] == ["whole", None, "masked"]
    assert "line 2" in answers[1]["error"]["message"]
    assert cli.main(["why", "--run", str(file), "--index", "0"]) == 0
    assert cli.main(["why", "--run", str(file), "--index", "1"]) == 2


def test_a_constraint_that_takes_too_long_names_its_place() -> None:
    (run,) = runs(chat("1", {"guided_regex": "[a-y]{9}|4711"}))
    with pytest.raises(ConstraintError, match=r"request\.guided_regex") as caught:
        verdict_of(run, vocabulary(), budget=Budget(seconds=1e-9))
    assert caught.value.evidence["resource"] == "seconds"


def test_large_numbers_that_can_be_read_are_read() -> None:
    document = json.dumps(chat("1e999", {"guided_regex": ".*", "seed": 10**400, "t": 1e300}))
    assert runs_of(document.encode())[0].text == "1e999"


def test_a_long_run_ends_within_its_budget() -> None:
    (run,) = runs(chat("a" * 5000, {"guided_regex": "a*"}))
    assert verdict_of(run, vocabulary()).outcome == "whole"
    with pytest.raises(BudgetExceeded, match="Reading") as caught:
        verdict_of(run, vocabulary(), explorer.compile(explorer.regex("a*"), vocabulary()),
                   budget=Budget(seconds=1e-9))  # fmt: skip
    assert "Read fewer ids" in caught.value.remedy
    with pytest.raises(DamagedFile, match=f"{MOST_CHARACTERS:,} are read"):
        runs(chat("a" * (MOST_CHARACTERS + 1), {}))
