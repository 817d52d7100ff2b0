"""Parts of a verdict besides the token: loops, reasoning in the content; and its printed form."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import cli
from explorer.errors import DamagedFile, ExplorerError
from explorer.servers import runs_of, verdict_of
from explorer.servers.run import MARKERS, reasoning_in
from tests.servers.logs import FOLDER, PERSON, chat, runs, vocabulary

REQUEST: dict[str, Any] = {"structured_outputs": {"json": PERSON}}
GOOD = '{"name": "Ada", "age": 3}'


@pytest.mark.parametrize(
    ("request_", "text", "what", "needle"),
    [
        (REQUEST, '{"name": "Ada",' + " " * 200, "space", "disable_any_whitespace"),
        (REQUEST, '{"name": "Ada", "age": ' + "3" * 50, "number", '"maximum"'),
        (REQUEST, '{"name": "' + "A" * 200, "string", "maxLength"),
        ({"response_format": {"type": "json_object"}}, '{"a": ' + " " * 200, "space",
         "disable_any_whitespace"),
        ({"response_format": {"type": "json_object"}}, '{"a": "' + "b" * 200, "string", "schema"),
        ({"structured_outputs": {"regex": r"a\s*b"}}, "a" + "\n" * 200, "space", "[ ]{0,2}"),
    ],
)  # fmt: skip
def test_the_loop_of_a_run_is_named_with_its_setting(
    request_: dict[str, Any], text: str, what: str, needle: str
) -> None:
    verdict = verdict_of(runs(chat(text, request_, "length"))[0], vocabulary())
    assert verdict.outcome == "cut"
    (loop,) = verdict.loops
    assert loop.evidence["what"] == what and needle in loop.remedy
    assert f"Loop: From byte {loop.evidence['byte']} on" in str(verdict)
    json.dumps(verdict.to_dict())


def test_the_setting_of_the_request_ends_the_loop() -> None:
    compact = {"structured_outputs": {"json": PERSON}, "disable_any_whitespace": True}
    verdict = verdict_of(runs(chat('{"name":' + " " * 200, compact, "length"))[0], vocabulary())
    assert (verdict.outcome, verdict.byte, verdict.loops) == ("masked", 9, ())


def test_a_run_that_ended_is_in_no_loop() -> None:
    text = '{"name": "' + "A" * 300 + '", "age": 3}'
    assert verdict_of(runs(chat(text, REQUEST))[0], vocabulary()).loops == ()


@pytest.mark.parametrize(("begin", "end"), MARKERS)
def test_reasoning_in_the_content_is_named(begin: str, end: str) -> None:
    for text, marker in ((f"{begin}Ada is 3.{end}\n\n{GOOD}", begin), (f"Well.{end}{GOOD}", end)):
        verdict = verdict_of(runs(chat(text, REQUEST))[0], vocabulary())
        assert verdict.outcome == "masked" and verdict.byte == 0
        assert f"{marker!r}, a marker of reasoning" in verdict.sentence
        assert "The answer after it is allowed." in verdict.sentence
    verdict = verdict_of(runs(chat(f"{begin}{end}[]", REQUEST))[0], vocabulary())
    assert "not allowed either, from its byte 0" in verdict.sentence
    verdict = verdict_of(runs(chat(f"{begin}Ada", REQUEST, "length"))[0], vocabulary())
    assert "does not end" in verdict.sentence


def test_reasoning_that_the_constraint_allows_is_not_remarked() -> None:
    pattern = r"<think>[a-z]*</think>[0-9]+"
    request = {"structured_outputs": {"regex": pattern}}
    assert verdict_of(runs(chat("<think>ab</think>12", request))[0], vocabulary()).allowed
    verdict = verdict_of(runs(chat("<think>ab</think>x", request))[0], vocabulary())
    assert verdict.outcome == "masked" and "reasoning" not in verdict.sentence
    verdict = verdict_of(runs(chat("no", REQUEST))[0], vocabulary())
    assert "reasoning" not in verdict.sentence
    assert reasoning_in('{"a": "<think>"}') is None


BATCH_ERROR = {"custom_id": "b", "response": {"status_code": 400, "body": {"error": {
    "message": "too long"}}}, "error": None}  # fmt: skip


@pytest.mark.parametrize(
    "failed",
    [BATCH_ERROR, {"custom_id": "b", "response": None, "error": {"message": "too long"}},
     {"request": {}, "response": {"error": "too long", "error_type": "validation"}}],
    ids=["batch", "expired", "tgi"],
)  # fmt: skip
def test_an_error_among_the_lines_does_not_end_the_reading(
    failed: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = chat("12", {"guided_regex": "[0-9]+"})
    lines = "\n".join(map(json.dumps, (good, failed, good)))
    first, second, third = runs_of(lines.encode(), "batch.jsonl")
    assert second.place == "batch.jsonl, line 2, run 1"
    with pytest.raises(ExplorerError, match=r"line 2, run 1: .*error of the server: 'too long"):
        verdict_of(second, vocabulary(), explorer.regex(".*"))
    assert verdict_of(first, vocabulary()).allowed and verdict_of(third, vocabulary()).allowed
    file = tmp_path / "batch.jsonl"
    file.write_text(lines)
    assert cli.main(["why", "--run", str(file), "--model", "tiny"]) == 2
    told = capsys.readouterr()
    assert told.out.count("allows the whole text") == 2 and "too long" in told.out
    with pytest.raises(DamagedFile, match="too long"):
        runs_of(json.dumps(failed).encode())


@pytest.mark.parametrize(
    ("line", "needle"),
    [(b"Traceback: boom", "line 2, run 1: It cannot be read: the document is not JSON at line 1"),
     (b"{}", "line 2, run 1: It cannot be read: the document is not of a known format"),
     (b'{"a": ', "is not JSON at line 1, column 7"), (b"\xff", "it is not UTF-8"),
     (b'{"response": {"content": NaN, "stop_type": "eos"}}', "response.content is nan")],
    ids=["text", "empty", "open", "latin", "nan"],
)  # fmt: skip
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_line_that_cannot_be_read_does_not_end_the_reading(
    line: bytes, needle: str, index: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = chat("12", {"guided_regex": "[0-9]+", "model": "tiny"})
    lines = [json.dumps(good).encode()] * 2
    lines.insert(index, line)
    needle = needle.replace("line 2, run 1", f"line {index + 1}, run {index}")
    found = runs_of(b"\n".join(lines), "batch.jsonl")
    assert [bool(run.failed) for run in found] == [k == index for k in range(3)]
    with pytest.raises(ExplorerError) as caught:
        verdict_of(found[index], vocabulary(), explorer.regex(".*"))
    assert needle in caught.value.message and caught.value.remedy
    file = tmp_path / "batch.jsonl"
    file.write_bytes(b"\n".join(lines))
    assert cli.main(["why", "--run", str(file)]) == 2, "the model of the runs that were read"
    told = capsys.readouterr()
    assert told.out.count("allows the whole text") == 2 and needle in told.out
    with pytest.raises(DamagedFile):
        runs_of(line, "batch.jsonl")
    with pytest.raises(DamagedFile):
        runs_of(line + b"\n" + line, "batch.jsonl")


@pytest.mark.parametrize(
    ("written", "read"), [(-math.inf, -math.inf), (math.nan, None), (-9999.0, None), (-0.5, -0.5)]
)
def test_log_probabilities_that_only_python_writes_are_read(
    written: float, read: float | None
) -> None:
    document = chat("1", {"guided_regex": "[0-9]+"})
    top = [{"token": "1", "logprob": written}]
    document["response"]["choices"][0]["logprobs"] = {
        "content": [{"token": "1", "logprob": written, "bytes": [49], "top_logprobs": top}]
    }
    for data in (document, json.dumps(document), json.dumps(document).encode()):
        (run,) = runs_of(data)
        assert run.tokens[0].log_prob == read
        verdict = verdict_of(run, vocabulary())
        assert verdict.allowed and verdict.session.trace.steps[0].log_prob_model == read
    for path in ("request", "response"):
        assert runs_of({**document, path: {**document[path], "seed": written}})
    document["response"]["choices"][0]["logprobs"]["content"][0]["logprob"] = math.inf
    with pytest.raises(DamagedFile, match="logprob is inf"):
        runs_of(document)


def test_a_log_that_was_read_already_is_read() -> None:
    document = chat("yes", {"structured_outputs": {"choice": ["yes", "no"]}})
    assert runs_of(document) == runs_of(json.dumps(document)) == runs(document, "the log")
    assert len(runs_of([document, document])) == 2


def test_what_is_printed_holds_no_control_characters() -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\u202e"
    request = {
        "structured_outputs": {"regex": f"a{re.escape(nasty)}b"},
        "stop": [nasty],
        "model": nasty,
    }
    for text, finish in ((nasty, "stop"), ("a" + nasty, nasty), ("a" + nasty + "b", "stop")):
        document = chat(text, request, finish)
        document["response"]["model"] = nasty
        (run,) = runs_of(json.dumps(document).encode(), f"{nasty}.json")
        said = str(verdict_of(run, vocabulary()))
        assert not set("\x1b\x07\u202e") & set(said), said


@pytest.mark.parametrize("wrong", [3, None, "x", b"x", [], {}, int], ids=repr)
def test_wrong_arguments_are_called_by_their_name(wrong: Any) -> None:
    (run,) = runs_of(chat("12", {"guided_regex": "[0-9]+"}))
    given: Any = wrong
    asked: list[tuple[str, Any]] = [
        ("run", lambda: verdict_of(wrong, vocabulary())),
        ("vocabulary", lambda: verdict_of(run, wrong)),
    ]
    if not isinstance(wrong, str | bytes | list | dict):
        asked.append(("data", lambda: runs_of(wrong)))
    if not isinstance(wrong, str):
        asked.append(("file", lambda: runs_of(b"{}", given)))
    if wrong is not None:
        asked.append(("budget", lambda: verdict_of(run, vocabulary(), budget=given)))
    if wrong is not None and wrong is not int:  # A type is a constraint: its JSON texts.
        asked.append(("constraint", lambda: verdict_of(run, vocabulary(), given)))
    for name, ask in asked:
        with pytest.raises(ExplorerError) as caught:
            ask()
        assert caught.value.message.startswith(name), caught.value.message
        assert caught.value.remedy


WITHOUT_TORCH = """
import sys
from explorer import cli
status = cli.main(["why", "--run", sys.argv[1], "--json"])
print({name.partition(".")[0] for name in sys.modules} & {"torch", "transformers"}, status)
"""


@pytest.mark.parametrize("name", ["openai_chat.json", "vllm_chat.json"])
def test_a_log_is_judged_without_torch(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(FOLDER / name)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["runs"]
    assert done.stdout.splitlines()[-1].startswith("set()")
