"""Measure the model of phases and write the figures into its card.

    python -m models.evaluate_chat

Conversations whose facts and wording were held out are asked through the chat templates, and the
greedy answers, without any constraint, are compared with what the conversation says. It takes one
minute. Nothing of the engine is used, as in `models.evaluate`.
"""

# transformers types its auto classes loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from models.card import Table, filled
from models.conversations import TOOLS, called, checked, reasoned
from models.corpus import is_held_out
from models.kinds import KINDS

KIND: Final = KINDS["tiny-chat"]
Made = tuple[str, list[Mapping[str, Any]]]

KINDS_OF_TURNS: Final[Mapping[str, tuple[Callable[[random.Random], Made], str, str]]] = {
    "an answer after reasoning": (reasoned, "reasoning", "default"),
    "one or two calls": (lambda rng: called(rng, 2), "calls", "default"),
    "a call in a channel of Harmony": (lambda rng: called(rng, 1), "channels", "harmony"),
    "Y or N after a note": (checked, "", "harmony"),
}
"""A row of the table: the function that makes the conversations, the kind of their keys, the
template."""


class Asked:
    """The model and its tokenizer.

    Args:
        folder: The folder that `train` wrote to; default the shipped model.
    """

    def __init__(self, folder: Path = KIND.folder) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        loaded: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
        self.model: Any = loaded.eval()
        names = ("<|endoftext|>", "<|im_end|>", "<|call|>", "<|return|>")
        self.ends = self.tokenizer.convert_tokens_to_ids([*names])

    @torch.inference_mode()
    def said(self, messages: list[Mapping[str, Any]], template: str, *, tools: bool) -> str:
        """The greedy turn after some messages, control tokens by their names."""
        ids = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages], tools=[*TOOLS] if tools else None,
            chat_template=template, add_generation_prompt=True, return_dict=False,
        )  # fmt: skip
        written = self.model.generate(
            torch.tensor([ids]), max_new_tokens=100, do_sample=False, eos_token_id=self.ends,
            pad_token_id=KIND.end,
        )  # fmt: skip
        return str(self.tokenizer.decode(written[0, len(ids) :]))


def held_out(name: str, count: int) -> Iterator[list[Mapping[str, Any]]]:
    """Conversations that the training did not see."""
    make, kind, _ = KINDS_OF_TURNS[name]
    number = made = 0
    while made < count:
        number += 1
        key, messages = make(random.Random(f"held out/{name}/{number}"))
        if is_held_out(f"{kind}/{key}" if kind else key):
            made += 1
            yield messages


def is_right(said: str, expected: Mapping[str, Any], template: str) -> bool:
    """Whether a turn calls what it should, or says the same but for its reasoning."""
    calls = [call["function"] for call in expected.get("tool_calls", ())]
    if not calls:
        content = str(expected["content"])
        short = content.partition('"answer": "')[2].partition('"')[0] or content
        if template == "harmony":
            said = said.partition("final<|message|>")[2].partition("<|")[0]
        return short.rstrip(".") in said.rpartition("</think>")[2]
    if template == "harmony":
        begin = f"to=functions.{calls[0]['name']}<|constrain|>json<|message|>"
        return f"{begin}{json.dumps(calls[0]['arguments'], ensure_ascii=False)}<|call|>" in said
    texts = (json.dumps(call, ensure_ascii=False) for call in calls)
    wanted = "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in texts)
    return said.rpartition("</think>\n\n")[2] == f"{wanted}<|im_end|>"


def right_of(asked: Asked, name: str, count: int) -> int:
    """The number of held-out conversations whose first turn of the model is right."""
    template = KINDS_OF_TURNS[name][2]
    right = 0
    for messages in held_out(name, count):
        expected = messages[1]
        said = asked.said(messages[:1], template, tools="tool_calls" in expected)
        right += is_right(said, expected, template)
    return right


def loss_table() -> Table:
    """The loss curve, thinned out."""
    path = Path(__file__).with_name(KIND.losses)
    with path.open(encoding="utf-8", newline="") as table:
        rows = [tuple(row) for row in csv.reader(table)]
    kept = [row for row in rows[1:] if row[2] or row[0] == "1"]
    return [("step", "training loss", "held-out loss"), *kept]


def main() -> int:
    """The command line; see the module docstring."""
    asked = Asked()
    rows = [(name, f"{right_of(asked, name, 25)} of 25") for name in KINDS_OF_TURNS]
    tables: dict[str, Table] = {
        "loss": loss_table(), "turns": [("first turn of the model, greedy", "right"), *rows],
    }  # fmt: skip
    path = KIND.folder / "MODEL_CARD.md"
    path.write_text(filled(path.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, table in tables.items():
        print(name, *table, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
