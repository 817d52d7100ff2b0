"""Makes the logs in tests/data/servers: runs of the embedded model, as each server writes them.

The texts, ids and log-probabilities are those of the embedded model ``tiny``. The shape around
them follows the interfaces of vLLM 0.33.0, SGLang 0.5.23, OpenAI's Python library 3.54.0 and TGI 3,
whose sources were read for it. Run ``python -m tools.served_logs`` to write the files again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

import explorer
from explorer.decoding.models.model import LanguageModel, Prompt

FOLDER: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "servers"

PERSON: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPT: Final = "A person as JSON: "
MESSAGES: Final = ({"role": "user", "content": PROMPT},)
PATTERN: Final = "[A-Z][a-z]{2,8} [A-Z][a-z]{2,8}"


@dataclass(frozen=True)
class Written:
    """The model's text: each token with its log-probability and the likeliest three."""

    lm: LanguageModel
    prompt: Prompt
    ids: tuple[int, ...]
    rows: tuple[torch.Tensor, ...]

    @property
    def text(self) -> str:
        """The text of the tokens."""
        return b"".join(self.lm.vocabulary.tokens[token] or b"" for token in self.ids).decode()

    def shown(self, token: int) -> str:
        """A token decoded alone, as servers show it."""
        data = self.lm.vocabulary.tokens[token]
        if data is None:
            return self.lm.vocabulary.special.get(token, "")
        return data.decode(errors="replace")

    @property
    def ended(self) -> bool:
        """Whether the model ended its text."""
        return bool(self.ids) and self.ids[-1] in self.lm.vocabulary.eos_ids

    def log_prob(self, index: int, token: int, least: float | None = None) -> float | None:
        """The number that a server writes; ``least`` for a token that the mask removed."""
        value = round(float(self.rows[index][token]), 6)
        return value if value > -math.inf else least

    def top(self, index: int, count: int = 3) -> list[int]:
        """The likeliest ids at a place."""
        return [int(token) for token in self.rows[index].topk(count).indices]

    @property
    def prompt_ids(self) -> list[int]:
        """The ids of the prompt."""
        return list(self.lm.encode_prompt(self.prompt))


def written(
    prompt: Prompt, constraint: explorer.Constraint | None, ids: Sequence[int] = (), limit: int = 40
) -> Written:
    """The model's text under a constraint; or given ids, with the model's numbers."""
    lm = explorer.load_model("tiny")
    session = explorer.Session(lm, constraint, prompt=prompt)
    for token in ids:
        session.step(token=token)
    if not ids:
        session.run(max_tokens=limit)
    rows = list[torch.Tensor]()
    for k in range(session.length):
        logits = session.logits(k).float().clone()
        # vLLM takes the logarithm after the mask; the others are assumed to.
        allowed = session.machine.allowed(session.trace.positions[k].state)
        logits[: len(allowed)][~torch.tensor(allowed.tolist())] = -torch.inf
        logits[len(allowed) :] = -torch.inf
        rows.append(logits.log_softmax(-1))
    return Written(lm, prompt, session.ids, tuple(rows))


def chat_content(run: Written, count: int, *, named: bool = False) -> list[dict[str, Any]]:
    """The log-probabilities of a chat, as vLLM and OpenAI write them."""

    def one(index: int, token: int) -> dict[str, Any]:
        text = f"token_id:{token}" if named else run.shown(token)
        data = run.lm.vocabulary.tokens[token] or text.encode()
        return {"token": text, "logprob": run.log_prob(index, token, -9999.0), "bytes": list(data)}

    return [
        {**one(k, token), "top_logprobs": [one(k, other) for other in run.top(k)]}
        for k, token in enumerate(run.ids[:count])
    ]


def openai_chat() -> dict[str, Any]:
    """OpenAI: no ids, no end of text; what was written breaks the schema at the age."""
    lm = explorer.load_model("tiny")
    text = '{"name": "Ada", "age": "36"}'
    run = written(MESSAGES, None, lm.vocabulary.encode(text) or ())
    return {
        "request": {
            "model": "tiny",
            "messages": list(MESSAGES),
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 3,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "person", "strict": True, "schema": PERSON},
            },
        },
        "response": {
            "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
            "object": "chat.completion",
            "created": 1763800000,
            "model": "tiny",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": run.text,
                        "refusal": None,
                        "annotations": [],
                    },
                    "logprobs": {"content": chat_content(run, len(run.ids)), "refusal": None},
                    "finish_reason": "stop",
                }
            ],
            "usage": usage(run),
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
        },
    }


def usage(run: Written) -> dict[str, int]:
    """The counted tokens."""
    asked, answered = len(run.prompt_ids), len(run.ids)
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    }


def vllm_chat() -> dict[str, Any]:
    """vLLM: structured_outputs, ids in ``token_ids`` and as ``token_id:N``, EOS among them."""
    run = written(MESSAGES, explorer.json_schema(PERSON, whitespace="flexible"))
    return {
        "request": {
            "model": "tiny",
            "messages": list(MESSAGES),
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": 3,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "structured_outputs": {"json": PERSON},
        },
        "response": {
            "id": "chatcmpl-2f0c4a6f9c5d4f0aa3c1c5b9c1f0e7d2",
            "object": "chat.completion",
            "created": 1763800001,
            "model": "tiny",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": run.text},
                    "logprobs": {"content": chat_content(run, len(run.ids), named=True)},
                    "finish_reason": "stop",
                    "stop_reason": None,
                    "token_ids": list(run.ids),
                }
            ],
            "usage": usage(run),
            "prompt_logprobs": None,
            "prompt_token_ids": run.prompt_ids,
        },
    }


def vllm_completion() -> dict[str, Any]:
    """vLLM's completions with a former key, which releases of today ignore: the text is free."""
    run = written("Ada Lovelace was", None)
    return {
        "request": {
            "model": "tiny",
            "prompt": run.prompt,
            "max_tokens": 40,
            "logprobs": 2,
            "temperature": 0.0,
            "guided_regex": PATTERN,
        },
        "response": {
            "id": "cmpl-6b1a8d0b5d2f4d4e8a3c9f6e2b7a1c05",
            "object": "text_completion",
            "created": 1763800002,
            "model": "tiny",
            "choices": [
                {
                    "index": 0,
                    "text": run.text,
                    "logprobs": {
                        "text_offset": [
                            len(b"".join(run.lm.vocabulary.tokens[t] or b"" for t in run.ids[:k]))
                            for k in range(len(run.ids))
                        ],
                        "token_logprobs": [run.log_prob(k, t) for k, t in enumerate(run.ids)],
                        "tokens": [run.shown(token) for token in run.ids],
                        "top_logprobs": [
                            {run.shown(other): run.log_prob(k, other) for other in run.top(k, 2)}
                            for k in range(len(run.ids))
                        ],
                    },
                    "finish_reason": "stop" if run.ended else "length",
                    "stop_reason": None,
                    "token_ids": None,
                    "prompt_logprobs": None,
                    "prompt_token_ids": None,
                }
            ],
            "usage": usage(run),
        },
    }


def sglang_generate() -> dict[str, Any]:
    """SGLang: triples, a grammar in sampling_params, and a text that is cut by its limit."""
    grammar = 'root ::= "[" [0-9]+ ("," [0-9]+)* "]"'
    run = written("Numbers: ", explorer.grammar(grammar), limit=2)
    return {
        "request": {
            "text": run.prompt,
            "sampling_params": {"temperature": 0, "max_new_tokens": 2, "ebnf": grammar},
            "return_logprob": True,
            "top_logprobs_num": 2,
            "return_text_in_logprobs": True,
        },
        "response": {
            "text": run.text,
            "output_ids": list(run.ids),
            "meta_info": {
                "id": "8b6c3f0e2d9a4c51b7e0f1a2c3d4e5f6",
                "finish_reason": {"type": "length", "length": 2},
                "prompt_tokens": len(run.prompt_ids),
                "completion_tokens": len(run.ids),
                "cached_tokens": 0,
                "input_token_logprobs": [],
                "output_token_logprobs": [
                    [run.log_prob(k, token), token, run.shown(token)]
                    for k, token in enumerate(run.ids)
                ],
                "input_top_logprobs": [],
                "output_top_logprobs": [
                    [[run.log_prob(k, t), t, run.shown(t)] for t in run.top(k, 2)]
                    for k in range(len(run.ids))
                ],
                "e2e_latency": 0.412,
            },
        },
    }


def tgi_generate() -> list[dict[str, Any]]:
    """TGI: a list of one, special tokens marked, a regex in parameters.grammar."""
    run = written("A name: ", explorer.regex(PATTERN))
    special = run.lm.vocabulary.eos_ids

    def one(index: int, token: int) -> dict[str, Any]:
        return {
            "id": token,
            "text": run.shown(token),
            "logprob": run.log_prob(index, token),
            "special": token in special,
        }

    return [
        {
            "request": {
                "inputs": run.prompt,
                "parameters": {
                    "details": True,
                    "decoder_input_details": True,
                    "top_n_tokens": 2,
                    "max_new_tokens": 40,
                    "grammar": {"type": "regex", "value": PATTERN},
                },
            },
            "response": [
                {
                    "generated_text": run.text,
                    "details": {
                        "finish_reason": "eos_token" if run.ended else "length",
                        "generated_tokens": len(run.ids),
                        "seed": None,
                        "prefill": [
                            {"id": token, "text": run.shown(token), "logprob": None}
                            for token in run.prompt_ids
                        ],
                        "tokens": [one(k, token) for k, token in enumerate(run.ids)],
                        "top_tokens": [
                            [one(k, token) for token in run.top(k, 2)] for k in range(len(run.ids))
                        ],
                    },
                }
            ],
        }
    ]


MAKERS: Final[dict[str, Callable[[], Any]]] = {
    "openai_chat.json": openai_chat,
    "vllm_chat.json": vllm_chat,
    "vllm_completion.json": vllm_completion,
    "sglang_generate.json": sglang_generate,
    "tgi_generate.json": tgi_generate,
}


def main() -> None:
    """Write every log."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        text = json.dumps(make(), ensure_ascii=False, separators=(",", ":"))
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
