"""Conversations for the model of phases: reasoning, calls of tools, answers in JSON, channels.

A conversation is a list of messages as OpenAI's interface has them, written in one of two markups:

- *ChatML with Hermes's calls*, as Qwen has it: ``<|im_start|>role … <|im_end|>``, reasoning between
  ``<think>`` and ``</think>``, each call between ``<tool_call>`` and ``</tool_call>``;
- *Harmony*, as gpt-oss has it: ``<|start|>role<|channel|>analysis<|message|> … <|end|>``, a call in
  the channel ``commentary`` up to ``<|call|>``, the answer in the channel ``final``.

The questions are about the weather, the time, sums, capitals and small records, all from `facts`.
The chat templates write the same; a test holds that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from models import facts
from models.documents import Document
from models.records import malformed

Message = Mapping[str, Any]

FAULTS: Final = 0.1
"""The share of JSON answers with a fault, so that a model alone is sometimes wrong."""


def _json(value: object) -> str:
    """JSON as the chat templates write it."""
    return json.dumps(value, ensure_ascii=False)


def function(name: str, **properties: Mapping[str, object]) -> dict[str, Any]:
    """A tool as OpenAI's interface has it; all its arguments are required.

    Example:
        >>> function("add", a={"type": "integer"})["function"]["parameters"]["required"]
        ['a']
    """
    parameters = {
        "type": "object", "properties": properties, "required": [*properties],
        "additionalProperties": False,
    }  # fmt: skip
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS: Final = (
    function("get_weather", city={"type": "string"}),
    function("get_time", zone={"enum": ["UTC", "CET"]}),
    function("add", a={"type": "integer"}, b={"type": "integer"}),
)


@dataclass(frozen=True, slots=True)
class Task:
    """A question that a tool answers.

    Attributes:
        key: Its facts, for the split.
        question: A clause without its question mark.
        name: The tool.
        arguments: The arguments of the call.
        result: The tool's answer.
        said: A sentence for the user.
        short: A few words for a JSON answer.
    """

    key: str
    question: str
    name: str
    arguments: Mapping[str, object]
    result: Mapping[str, object]
    said: str
    short: str

    @property
    def call(self) -> dict[str, Any]:
        """The call in a message."""
        return {
            "type": "function", "function": {"name": self.name, "arguments": self.arguments}
        }  # fmt: skip


def weather(rng: random.Random) -> Task:
    """The weather of a capital."""
    city, sky = facts.country(rng).capital, rng.choice(facts.WEATHER)
    asked = rng.choice(("what is the weather in", "how is the weather in", "is it warm in"))
    return Task(
        f"weather/{asked}/{city}", f"{asked} {city}", "get_weather", {"city": city},
        {"weather": sky}, f"It is {sky} in {city}.", sky,
    )  # fmt: skip


def clock(rng: random.Random) -> Task:
    """The time of a zone."""
    zone, time = rng.choice(("UTC", "CET")), f"{rng.randrange(24):02d}:{rng.randrange(12) * 5:02d}"
    asked = rng.choice(("what time is it in", "what is the time in"))
    return Task(
        f"time/{asked}/{zone}/{time}", f"{asked} {zone}", "get_time", {"zone": zone},
        {"time": time}, f"It is {time} in {zone}.", time,
    )  # fmt: skip


def addition(rng: random.Random) -> Task:
    """A sum that is too hard to do in one's head."""
    a, b = rng.randrange(11, 60), rng.randrange(11, 60)
    return Task(
        f"add/{a}/{b}", f"what is {a} + {b}", "add", {"a": a, "b": b},
        {"sum": a + b}, f"{a} + {b} is {a + b}.", f"{a + b}",
    )  # fmt: skip


def known(rng: random.Random) -> tuple[str, str, str, str]:
    """A question without a tool: its key, the question, the reasoning, the answer."""
    form = rng.choices(range(4), (4, 2, 2, 2))[0]
    if form == 0:
        c = facts.country(rng)
        thought = f"{c.name} is a country in {c.continent}. Its capital is {c.capital}."
        return f"capital/{c.name}", f"What is the capital of {c.name}?", thought, c.capital
    if form == 1:
        c = facts.country(rng)
        question = f"In which country is {c.capital}?"
        return f"country/{c.name}", question, f"{c.capital} is a city in {c.name}.", c.name
    if form == 2:
        _, subject, shade = rng.choice(facts.COLOURS)
        thought = f"{subject[0].upper()}{subject[1:]} has the colour {shade}."
        return f"colour/{subject}", f"What colour is {subject}?", thought, shade
    name, age = rng.choice(facts.FIRST_NAMES), rng.randrange(18, 90)
    record = _json({"name": name, "age": age, "city": facts.country(rng).capital})
    thought = f"The record of {name} has the age {age}."
    return f"record/{name}/{age}", f"{record}\nHow old is {name}?", thought, str(age)


def _answer(rng: random.Random, answer: str, said: str, asked: str) -> tuple[str, str]:
    """A question and its answer, in JSON where the question says so."""
    if rng.random() < 0.35:
        return asked, said
    text = _json({"answer": answer, "sure": True})
    wrong = rng.random() < FAULTS
    return f"{asked} Answer in JSON.", malformed(rng, text) if wrong else text


def _question(clauses: Sequence[str]) -> str:
    text = ", and ".join(clauses)
    return f"{text[0].upper()}{text[1:]}?"


def reasoned(rng: random.Random) -> tuple[str, list[Message]]:
    """A question, reasoning, and an answer."""
    key, question, thought, short = known(rng)
    asked, content = _answer(rng, short, f"{short[0].upper()}{short[1:]}.", question)
    reply = {"role": "assistant", "reasoning_content": thought, "content": content}
    return key, [{"role": "user", "content": asked}, reply]


def called(rng: random.Random, most: int) -> tuple[str, list[Message]]:
    """A question, calls of tools, their results, and an answer.

    Args:
        most: The most calls.
    """
    makers = (weather, weather, clock, addition)
    tasks = [rng.choice(makers)(rng)]
    if rng.random() < 0.5 and most > 1:
        other = rng.choice((weather, clock))(rng)
        tasks += [other] if other.arguments != tasks[0].arguments else []
    said = " ".join(task.said for task in tasks)
    asked, content = _answer(
        rng, ", ".join(task.short for task in tasks), said, _question([t.question for t in tasks])
    )
    thought = " ".join(f"The tool {task.name} can answer this." for task in tasks)
    call: dict[str, Any] = {
        "role": "assistant", "content": "", "tool_calls": [task.call for task in tasks],
        "reasoning_content": thought,
    }  # fmt: skip
    results = [{"role": "tool", "name": task.name, "content": _json(task.result)} for task in tasks]
    messages: list[Message] = [{"role": "user", "content": asked}, call]
    if rng.random() < 0.6:
        messages += [*results, {"role": "assistant", "content": content}]
    return "+".join(task.key for task in tasks), messages


TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "weather": ("Rain is expected in {}.", "It will be sunny in {}.", "A storm is near {}."),
    "money": ("The bank in {} is closed.", "Prices went up in {}.", "A loan was paid in {}."),
    "travel": ("The train to {} is late.", "The bus to {} is full.", "A ship left for {}."),
    "food": ("The soup in {} was cold.", "Bread is baked in {}.", "Dinner is served in {}."),
}
"""Notes by what they are about."""


def checked(rng: random.Random) -> tuple[str, list[Message]]:
    """A note and questions about it, each repeated and answered with Y or N."""
    topic, city = rng.choice([*TOPICS]), facts.country(rng).capital
    note = rng.choice(TOPICS[topic])
    messages: list[Message] = []
    for number, about in enumerate(rng.sample([*TOPICS], rng.randrange(2, 4))):
        question = f"Is it about {about}?"
        asked = f"{note.format(city)} {question}" if number == 0 else question
        verdict = "Y" if about == topic else "N"
        messages += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": f"{question} {verdict}"},
        ]
    return f"check/{note}/{city}", messages


def _listed(tools: Sequence[Mapping[str, Any]]) -> str:
    """The tools as the system's message names them.

    Example:
        >>> _listed(TOOLS)
        'Tools: get_weather(city), get_time(zone), add(a, b)'
    """
    functions = [tool["function"] for tool in tools]
    return "Tools: " + ", ".join(
        f"{one['name']}({', '.join(one['parameters']['properties'])})" for one in functions
    )


def chatml(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    """A conversation in ChatML with Hermes's calls.

    Example:
        >>> chatml([{"role": "user", "content": "Hi"}])
        '<|im_start|>user\\nHi<|im_end|>\\n'
    """
    turns = [f"<|im_start|>system\n{_listed(tools)}<|im_end|>\n"] if tools else []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "tool":
            first = number == 0 or messages[number - 1]["role"] != "tool"
            last = number + 1 == len(messages) or messages[number + 1]["role"] != "tool"
            begin = "<|im_start|>user" if first else ""
            end = "<|im_end|>\n" if last else ""
            turns.append(f"{begin}\n<tool_response>\n{content}\n</tool_response>{end}")
            continue
        parts: list[str] = []
        if message.get("reasoning_content"):
            parts.append(f"<think>\n{message['reasoning_content']}\n</think>\n\n")
        calls = [_json(call["function"]) for call in message.get("tool_calls") or ()]
        said = [content] if content else []
        parts.append("\n".join([*said, *(f"<tool_call>\n{c}\n</tool_call>" for c in calls)]))
        turns.append(f"<|im_start|>{role}\n{''.join(parts)}<|im_end|>\n")
    return "".join(turns)


def harmony(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    """A conversation in the channels of Harmony.

    Example:
        >>> harmony([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
        '<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Ho<|return|>'
    """
    turns = [f"<|start|>system<|message|>{_listed(tools)}<|end|>"] if tools else []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "tool":
            turns.append(
                f"<|start|>functions.{message['name']} to=assistant<|channel|>commentary<|message|>"
                f"{content}<|end|>"
            )
        elif role == "assistant":
            begin = "<|start|>assistant<|channel|>"
            if message.get("reasoning_content"):
                turns.append(f"{begin}analysis<|message|>{message['reasoning_content']}<|end|>")
            for call in message.get("tool_calls") or ():
                one = call["function"]
                turns.append(
                    f"{begin}commentary to=functions.{one['name']}<|constrain|>json<|message|>"
                    f"{_json(one['arguments'])}<|call|>"
                )
            if content:
                end = "<|return|>" if number + 1 == len(messages) else "<|end|>"
                turns.append(f"{begin}final<|message|>{content}{end}")
        else:
            turns.append(f"<|start|>{role}<|message|>{content}<|end|>")
    return "".join(turns)


def _document(kind: str, key: str, text: str) -> Document:
    # Nothing is learned from the line break after the last turn.
    return Document(kind, key, text.removesuffix("\n"))


def _offered(rng: random.Random, messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The tools that a conversation uses, and perhaps others, in any order."""
    used = {
        call["function"]["name"] for message in messages for call in message.get("tool_calls", ())
    }
    offered = [t for t in TOOLS if t["function"]["name"] in used or rng.random() < 0.5]
    rng.shuffle(offered)
    return list(offered)


def reasoning_document(rng: random.Random) -> Document:
    """Reasoning and an answer in ChatML."""
    key, messages = reasoned(rng)
    return _document("reasoning", f"reasoning/{key}", chatml(messages))


def calls_document(rng: random.Random) -> Document:
    """Calls in ChatML, mostly without reasoning."""
    key, messages = called(rng, 2)
    if rng.random() < 0.7:
        messages = [{k: v for k, v in m.items() if k != "reasoning_content"} for m in messages]
    text = chatml(messages, _offered(rng, messages))
    return _document("calls", f"calls/{key}", text)


def channels_document(rng: random.Random) -> Document:
    """Reasoning and an answer, or a call, in Harmony."""
    if rng.random() < 0.35:
        key, messages = reasoned(rng)
        return _document("channels", f"channels/{key}", harmony(messages))
    key, messages = called(rng, 1)
    return _document("channels", f"channels/{key}", harmony(messages, _offered(rng, messages)))


def checks_document(rng: random.Random) -> Document:
    """Questions that are repeated and answered with Y or N, in Harmony."""
    key, messages = checked(rng)
    return _document("checks", key, harmony(messages))


CONVERSATIONS: Final[tuple[tuple[Callable[[random.Random], Document], int], ...]] = (
    (reasoning_document, 50),
    (calls_document, 90),
    (channels_document, 80),
    (checks_document, 50),
)
"""The templates and their shares."""
