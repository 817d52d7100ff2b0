"""Servers, their engines, and their settings: a table, so that no remedy of one is shown for
another.

`docs/servers.md` has the same table with the source of each row, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from explorer.servers.log import LogPlace, ServerLog


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server, and where its settings are.

    Args:
        title: Its name.
        engine: The engine that reads schemas by default; empty for one that is not read here.
        whitespace: How white space between the tokens of JSON is forbidden, as a sentence.
        reasoning: How the reasoning is taken out of the answer, as a sentence.
        thinking: How the reasoning is turned off, as a sentence.
        versions: The version that this was read in.
    """

    title: str
    engine: str
    whitespace: str
    reasoning: str
    thinking: str
    versions: str


_TEMPLATE: Final = '"chat_template_kwargs": {"enable_thinking": false} in the request'
_REGEX: Final = "ask with a regular expression in place of the schema, or allow fewer tokens"

SERVERS: Final[Mapping[str, ServerSettings]] = MappingProxyType({
    "vllm": ServerSettings(
        "vLLM", "xgrammar",
        '--structured-outputs-config \'{"disable_any_whitespace": true}\' (before 0.12: '
        "--guided-decoding-disable-any-whitespace); the same key in a request is ignored.",
        "--reasoning-parser NAME", _TEMPLATE, "0.33.0",
    ),
    "sglang": ServerSettings(
        "SGLang", "xgrammar", "--constrained-json-disable-any-whitespace",
        "--reasoning-parser NAME", _TEMPLATE, "0.5.23",
    ),
    "trtllm": ServerSettings(
        "TensorRT-LLM", "xgrammar", f"TensorRT-LLM has no such setting: {_REGEX}.",
        "--reasoning_parser NAME", _TEMPLATE, "1.2",
    ),
    "tgi": ServerSettings(
        "TGI", "outlines",
        'TGI has no such setting: ask with a grammar of the type "regex", or with a smaller '
        "max_new_tokens.",
        "TGI has no parser of reasoning: take the reasoning off the text yourself.",
        "a model or a prompt without reasoning", "3.3",
    ),
    "llama.cpp": ServerSettings(
        "llama.cpp", "",
        "llama.cpp writes at most 20 spaces between the tokens of a schema; a grammar of your own "
        '("grammar") bounds it further.',
        "--reasoning-format deepseek", f"--reasoning-budget 0, or {_TEMPLATE}", "b7000",
    ),
    "ollama": ServerSettings(
        "Ollama", "",
        'Ollama has no such setting: a smaller "num_predict" in "options" ends the run sooner.',
        '"think": true in the request', '"think": false in the request', "0.13",
    ),
    "lmstudio": ServerSettings(
        "LM Studio", "", "LM Studio has no such setting: allow fewer tokens.",
        "Developer > Settings > separate reasoning_content", "the model's own switch for thinking",
        "0.3",
    ),
    "openai": ServerSettings(
        "OpenAI", "", "OpenAI has no such setting: allow fewer tokens.",
        "its own: reasoning is not in the text", '"reasoning_effort": "none"', "2026",
    ),
})  # fmt: skip
"""The servers by name."""

ASSUMED: Final = "vllm"
"""The server whose engine is taken for a log that could be of any."""

_SIGNS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("sglang", ("response:meta_info", "answer:matched_stop", "request:ebnf",
                "request:sampling_params.json_schema", "request:separate_reasoning")),
    ("tgi", ("response:generated_text", "request:parameters.grammar")),
    ("ollama", ("response:done_reason", "response:eval_count", "request:format")),
    ("llama.cpp", ("response:timings", "response:generation_settings", "request:n_predict",
                   "request:cache_prompt")),
    ("lmstudio", ("response:stats.tokens_per_second", "response:model_info")),
    ("vllm", ("answer:token_ids", "answer:stop_reason", "response:prompt_logprobs",
              "response:kv_transfer_params", "request:structured_outputs", "request:guided_json",
              "request:guided_regex", "request:guided_choice", "request:guided_grammar",
              "request:guided_decoding", "request:return_token_ids")),
    ("openai", ("response:service_tier",)),
)  # fmt: skip
"""The signs of a server: paths that only its logs have."""


def server_of(log: ServerLog) -> str:
    """The server of a log: the one that it names, else the one that its keys give away.

    Returns:
        A name of `SERVERS`; empty where it could be of several.
    """
    named = log.asked("server.name").value
    if isinstance(named, str):
        words = named.lower().replace("tensorrt-llm", "trtllm").replace("llamacpp", "llama.cpp")
        words = words.replace("lm studio", "lmstudio").replace("text-generation-inference", "tgi")
        return next((name for name in SERVERS if words.startswith(name)), "")
    response = log.first()
    choice = response.one("choices[0]") if response.has("choices[0]") else response
    where = {"request": log.request, "response": response, "answer": choice}
    for name, paths in _SIGNS:
        for path in paths:
            side, _, rest = path.partition(":")
            if _stands(where[side], rest) or (side == "request" and log.asked(rest)):
                return name
    if log.request.has("response_format.type"):
        asked = log.request.one("response_format.type").value
        if asked == "json":
            return "trtllm"
    model = response.one("model").value if response.has("model") else None
    return "tgi" if model == "tgi" else ""


def _stands(place: LogPlace, path: str) -> bool:
    """Whether a key stands at a path, even with the value null."""
    owner, _, key = path.rpartition(".")
    held = place.one(owner).value if owner and place.has(owner) else place.value
    return isinstance(held, dict) and key in held and (not owner or place.has(owner))
