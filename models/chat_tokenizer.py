"""The tokenizer of the model of phases: that of `tiny` with the control tokens of two markups.

The new tokens have the first ids after the 4,000 of `tiny`. They are control tokens: they write no
text, and text that looks the same is not read as one. There are two chat templates: ``default``
(ChatML with Hermes's calls) and ``harmony``; `models.conversations` says what they write.
"""

# tokenizers is typed loosely.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tokenizers import AddedToken, Tokenizer

from explorer.decoding.models.tiny import FOLDER
from models.documents import END_OF_TEXT, START

TURN_BEGIN: Final = "<|im_start|>"
TURN_END: Final = "<|im_end|>"

ADDED: Final = (
    TURN_BEGIN, TURN_END, "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>",
    "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|call|>", "<|return|>",
)  # fmt: skip
"""The new control tokens, in the order of their ids; Harmony's ``<|end|>`` is there already."""

_LISTED: Final = (
    "Tools: {% for tool in tools %}{{ tool.function.name }}"
    "({{ tool.function.parameters.properties | join(', ') }})"
    "{% if not loop.last %}, {% endif %}{% endfor %}"
)
_ROLES: Final = (
    "{{ raise_exception('the roles are system, user, assistant and tool, not ' + message.role) }}"
)

CHATML: Final = (
    "{{ bos_token }}"
    "{% if tools %}<|im_start|>system\n" + _LISTED + "<|im_end|>\n{% endif %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}"
    "{% if loop.first or loop.previtem.role != 'tool' %}<|im_start|>user{% endif %}"
    "{{ '\n<tool_response>\n' + message.content + '\n</tool_response>' }}"
    "{% if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}"
    "{% elif message.role in ['system', 'user', 'assistant'] %}"
    "{{ '<|im_start|>' + message.role + '\n' }}"
    "{% if message.reasoning_content %}"
    "{{ '<think>\n' + message.reasoning_content + '\n</think>\n\n' }}{% endif %}"
    "{% if message.content %}{{ message.content }}{% endif %}"
    "{% for call in message.tool_calls or [] %}"
    "{% if message.content or not loop.first %}{{ '\n' }}{% endif %}"
    "{{ '<tool_call>\n' + call.function | tojson + '\n</tool_call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}"
    "{% else %}" + _ROLES + "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Turns as Qwen writes them."""

HARMONY: Final = (
    "{{ bos_token }}"
    "{% if tools %}<|start|>system<|message|>" + _LISTED + "<|end|>{% endif %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}"
    "{{ '<|start|>functions.' + message.name + ' to=assistant<|channel|>commentary<|message|>' }}"
    "{{ message.content }}<|end|>"
    "{% elif message.role == 'assistant' %}"
    "{% if message.reasoning_content %}<|start|>assistant<|channel|>analysis<|message|>"
    "{{ message.reasoning_content }}<|end|>{% endif %}"
    "{% for call in message.tool_calls or [] %}<|start|>assistant<|channel|>commentary "
    "{{ 'to=functions.' + call.function.name }}<|constrain|>json<|message|>"
    "{{ call.function.arguments | tojson }}<|call|>{% endfor %}"
    "{% if message.content %}<|start|>assistant<|channel|>final<|message|>{{ message.content }}"
    "{% if loop.last %}<|return|>{% else %}<|end|>{% endif %}{% endif %}"
    "{% elif message.role in ['system', 'user'] %}"
    "<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>"
    "{% else %}" + _ROLES + "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
"""Turns and channels as gpt-oss writes them."""


def extended_tokenizer(_: Iterable[str] = ()) -> Tokenizer:
    """The tokenizer of `tiny` with the new control tokens; nothing is learned.

    Example:
        >>> extended_tokenizer().token_to_id("<|im_start|>")
        4000
    """
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in ADDED])
    return tokenizer


def save_extended(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``; see `save_tokenizer`."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = json.loads((FOLDER / "tokenizer_config.json").read_text("utf-8"))
    config |= {
        "bos_token": START,
        "eos_token": END_OF_TEXT,
        "additional_special_tokens": [*config["additional_special_tokens"], *ADDED],
        "model_max_length": max_length,
        "chat_template": [
            {"name": "default", "template": CHATML},
            {"name": "harmony", "template": HARMONY},
        ],
    }
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
