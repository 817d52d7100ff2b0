"""Issues that trackers report about the seams of phases, each as a log made here with its tokens.

The threads: vLLM 12619 (a grammar that begins with the reasoning), vLLM 46149 and SGLang-JAX 1273
(the machine is advanced by the token that closes the reasoning), xgrammar 587 (thinking with
tokens of the model's own), vLLM 53181, 53777, 44006 and 51660 (lines of a scheduler).
"""

from __future__ import annotations

from typing import Any

import pytest

from explorer import Vocabulary
from explorer.servers import runs_of, verdict_of

NAMES = (
    "<think>", "</think>", "</s>", "◁think▷", "◁/think▷", "<|channel|>", "<|message|>", "<|end|>",
)  # fmt: skip
BYTES = [bytes([byte]) for byte in range(256)]
IDS = {name: len(BYTES) + number for number, name in enumerate(NAMES)}
VOCABULARY = Vocabulary(
    (*BYTES, *[None] * len(NAMES)),
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
    assert f"'{named}' is a marker of reasoning" in str(verdict)
    assert "reasoning parser" in str(verdict)


def test_with_the_setting_the_same_tokens_are_whole() -> None:
    tokens = ids("Hm", "</think>", ANSWER, "</s>")
    assert judged(tokens, reasoning_parser="qwen3").outcome == "whole"
    assert judged(tokens).outcome == "masked"
