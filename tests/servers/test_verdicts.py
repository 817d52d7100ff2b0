"""Verdicts on logs: seams, calls and stops."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import explorer
from explorer import Vocabulary, cli
from explorer.budget import Budget
from explorer.errors import BudgetExceeded, ConstraintError, DamagedFile, ExplorerError
from explorer.servers import read_runs, runs_of, verdict_of
from explorer.servers.reading import MOST_CHARACTERS
from tests.servers.logs import FOLDER, NAMES, PATTERN, PERSON, chat, log, runs, vocabulary
from widgets import Explorer
from widgets.cursor import Cursor

# Logs of four servers: their runs as sessions, and the first token that would have been masked.


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
    session = verdict_of(run, vocabulary(), explorer.regex("(?s:.*)")).session
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
        verdict_of(runs(wrong)[0], vocabulary(), explorer.regex("(?s:.*)"))


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


# Issues that trackers report about the seams of phases, each as a log made here with its tokens.
#
# The threads: vLLM 12619 (a grammar that begins with the reasoning), vLLM 46149 and SGLang-JAX
# 1273 (the machine is advanced by the token that closes the reasoning), xgrammar 587 (thinking
# with tokens of the model's own), vLLM 53181, 53777, 44006 and 51660 (lines of a scheduler).


NAMES_OF_SEAMS = (
    "<think>", "</think>", "</s>", "◁think▷", "◁/think▷", "<|channel|>", "<|message|>", "<|end|>",
)  # fmt: skip
BYTES = [bytes([byte]) for byte in range(256)]
IDS = {name: len(BYTES) + number for number, name in enumerate(NAMES_OF_SEAMS)}
VOCABULARY = Vocabulary(
    (*BYTES, *[None] * len(NAMES_OF_SEAMS)),
    (IDS["</s>"],),
    special={token: name for name, token in IDS.items()},
)
CITY = {
    "type": "object", "properties": {"city": {"enum": ["Bonn", "Ulm"]}}, "required": ["city"],
    "additionalProperties": False,
}  # fmt: skip
REQUEST: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": {"schema": CITY}}
}
ANSWER = '{"city":"Bonn"}'


def ids(*parts: str) -> list[int]:
    written: list[int] = []
    for part in parts:
        written += [IDS[part]] if part in IDS else list(part.encode())
    return written


def judged(tokens: list[int], **settings: str) -> Any:
    text = b"".join(VOCABULARY.tokens[token] or b"" for token in tokens).decode()
    choice = {
        "index": 0, "token_ids": tokens, "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }  # fmt: skip
    document = {"request": {**REQUEST, **settings}, "response": {"choices": [choice]}}
    (run,) = runs_of(document)
    return verdict_of(run, VOCABULARY)


@pytest.mark.parametrize(
    ("tokens", "masked", "named"),
    [
        (("<think>", "Hm", "</think>", ANSWER, "</s>"), 0, "<think>"),
        (("{", "</think>"), 1, "</think>"),
        (("◁think▷", "Hm", "◁/think▷", ANSWER, "</s>"), 0, "◁think▷"),
        (("<|channel|>", "analysis", "<|message|>", "Hm", "<|end|>", ANSWER), 0, "<|channel|>"),
    ],
    ids=["grammar-from-the-start", "advanced-by-the-close", "own-tokens", "channels"],
)
def test_the_token_that_broke_it_and_the_setting_are_named(
    tokens: tuple[str, ...], masked: int, named: str
) -> None:
    verdict = judged(ids(*tokens))
    assert (verdict.outcome, verdict.index) == ("masked", masked)
    assert f"{named} (id {IDS[named]}) is masked" in str(verdict)
    assert re.search(rf"'{re.escape(named)}[^']*', a marker of reasoning", str(verdict))
    assert "reasoning parser" in str(verdict)


def test_with_the_setting_the_same_tokens_are_whole() -> None:
    tokens = ids("Hm", "</think>", ANSWER, "</s>")
    assert judged(tokens, reasoning_parser="qwen3").outcome == "whole"
    assert judged(tokens).outcome == "masked"


# Answers that are tool calls or refusals, texts that a stop string ended, and what is not read.


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


def test_a_refusal_is_not_said_to_be_allowed() -> None:
    document = chat("", FORMAT)
    document["response"]["choices"][0]["message"].update(content=None, refusal="I cannot")
    (run,) = runs(document)
    with pytest.raises(ExplorerError, match="is a refusal"):
        verdict_of(run, vocabulary())
    verdict = verdict_of(run, vocabulary(), explorer.regex("I cannot"))
    assert verdict.allowed and "is a refusal" in str(verdict), "its text can be asked about"


@pytest.mark.parametrize("content", [None, ""])
def test_an_answer_that_is_empty_is_said_to_be(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = chat("", FORMAT)
    document["response"]["choices"][0]["message"]["content"] = content
    (run,) = runs(document)
    verdict = verdict_of(run, vocabulary())
    assert (verdict.outcome, verdict.byte) == ("ended early", None)
    assert "the answer is empty" in verdict.sentence and "'stop'" in verdict.sentence
    assert verdict_of(run, vocabulary(), explorer.regex("a*")).outcome == "whole"
    (tmp_path / "run.json").write_text(json.dumps(document))
    assert cli.main(["why", "--run", str(tmp_path / "run.json")]) == 1
    assert "the answer is empty" in capsys.readouterr().out
    document["response"]["choices"][0]["finish_reason"] = "length"
    document["request"]["max_tokens"] = 7
    verdict = verdict_of(runs(document)[0], vocabulary())
    assert verdict.outcome == "cut" and "used up max_tokens (7)" in verdict.sentence


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


# Runs in the explorer, and under a model.


@pytest.fixture(scope="module")
def lm() -> Any:
    return explorer.load_model("tiny")


def test_the_explorer_opens_a_run_without_and_with_its_model(lm: Any) -> None:
    (run,) = read_runs(FOLDER / "openai_chat.json")
    session = verdict_of(run, vocabulary()).session
    cursor = Cursor(session)
    view = Explorer(cursor=cursor)
    assert cursor.session.text == '{"name": "Ada", "age'
    cursor.jump(3)
    assert session.index == 3
    view.close()
    with_model = explorer.Session(lm, session.constraint, run.prompt or "")
    for step in session.trace.steps:
        with_model.step(token=step.token)
    view = Explorer(cursor=Cursor(with_model))
    assert with_model.trace.positions[0].distribution is not None
    view.close()
    # The trace that is saved keeps the rejected token and the server's numbers.
    trace = verdict_of(run, vocabulary()).session.trace
    assert trace.rejection is not None and trace.rejection.index == 6
    assert [step.log_prob_model for step in trace.steps] == [
        token.log_prob for token in run.tokens[:6]
    ]
