"""Tools in the markup of models: masks beside xgrammar, texts beside jsonschema, errors."""

from __future__ import annotations

import json
import random
import re
import sys
from typing import Any
from unittest.mock import patch

import pytest

import explorer
from explorer.errors import ConstraintError, MissingDependency
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.tools.markups import MARKUPS
from tests.evidence import examples
from tests.languages.tools.beside import OPTIONS, Beside, compared, followed, xgrammar
from tests.languages.tools.conversations import TEXT, TOOLS, WORDS, Talk, closed, small, tool
from tests.optional import Optional

jsonschema: Any = Optional("jsonschema")
MOST = ("llama", "qwen_3", "qwen_3_coder", "deepseek_v3_1", "glm_4_7", "kimi", "harmony")
WEATHER = tool("get_weather", closed(["city"], city=TEXT))


@pytest.fixture(autouse=True)
def _needs_xgrammar() -> None:
    pytest.importorskip("xgrammar")


@pytest.mark.parametrize("style", MOST)
def test_the_masks_are_those_of_xgrammar(style: str) -> None:
    beside = Beside()
    vocabulary = small()
    for k, tools in enumerate(TOOLS):
        beside.add(compared(style, tools, OPTIONS[k], vocabulary, texts=1, seed=k))
    assert beside.masks > 50
    assert beside.open == []


@pytest.mark.long
def test_the_masks_are_those_of_xgrammar_for_every_markup_that_is_followed() -> None:
    beside = Beside()
    vocabulary = small()
    for style in followed():
        for tools in TOOLS:
            for k, options in enumerate(OPTIONS):
                beside.add(compared(style, tools, options, vocabulary, texts=2, seed=k))
    assert beside.masks > 20_000
    assert beside.open == []


def test_excluded_texts_are_those_of_values_and_not_of_the_markup() -> None:
    constraint = explorer.tools(TOOLS["one"], style="kimi_k3", choice="required")
    assert not constraint.is_empty()


def test_a_difference_is_found() -> None:
    constraint: Any = explorer.tools(TOOLS["one"], style="qwen_3", choice="required")
    other = json.loads(constraint.source.tag.replace('"F"', '"K"'))
    options = {"choice": "required"}
    beside = compared("qwen_3", "one", options, small(), texts=6, theirs=other)
    assert any("b'F'" in each for each in beside.open)
    assert any("b'K'" in each for each in beside.open)


# Whole texts, beside a reader in Python and jsonschema.

MARKS = {
    "qwen_3": ("<tool_call>", '<tool_call>\n{{"name": "{}", "arguments": ', "}\n</tool_call>"),
    "llama": ('{"name": ', '{{"name": "{}", "parameters": ', "}"),
    "exaone": ("<tool_call>", '<tool_call>{{"name": "{}", "arguments": ', "}</tool_call>"),
}
_DECODER = json.JSONDecoder(parse_constant=lambda name: [][0])


def read(style: str, tools: list[dict[str, Any]], text: str) -> list[Any] | None:
    """The calls of a text; ``None`` if it is not a text of the markup."""
    trigger, begin, end = MARKS[style]
    calls: list[Any] = []
    at = 0
    while True:
        place = text.find(trigger, at)
        free = text[at:] if place < 0 else text[at:place]
        if re.search("</?think>", free):
            return None
        if place < 0:
            return calls
        for each in tools:
            function = each["function"]
            begins = begin.format(function["name"])
            if text.startswith(begins, place):
                break
        else:
            return None
        try:
            value, after = _DECODER.raw_decode(text, place + len(begins))
        except (ValueError, IndexError):
            return None
        schema = function["parameters"]
        named = list(value) if isinstance(value, dict) else None
        in_order = named == [name for name in schema["properties"] if name in (named or ())]
        if not in_order or not jsonschema.Draft202012Validator(schema).is_valid(value):
            return None
        if not text.startswith(end, after):
            return None
        calls.append({"name": function["name"], "arguments": value})
        at = after + len(end)


def mutated(text: str, draws: random.Random) -> str:
    """The text with a stretch taken out, doubled, moved or replaced."""
    a, b = sorted(draws.choices(range(len(text) + 1), k=2))
    b = min(b, a + draws.randint(0, 12))
    piece = draws.choice([*WORDS, "", '"', "}", text[a:b] * 2, "<tool_call>", "</think>", "get"])
    return text[:a] + piece + text[b:]


@pytest.mark.parametrize("style", MARKS)
def test_mutated_conversations_beside_a_reader(style: str) -> None:
    accepted = refused = 0
    for tools in TOOLS.values():
        constraint = explorer.tools(tools, style=style)
        source: Any = constraint.source
        whole = xgrammar.StructuralTag.from_json(source.tag).model_dump(mode="json")
        talk = Talk(7)
        for _ in range(examples(25)):
            text = talk.text(whole["format"])
            for _ in range(4):
                calls = read(style, tools, text)
                assert constraint.accepts(text) == (calls is not None), text
                if calls is None:
                    refused += 1
                else:
                    accepted += 1
                    assert constraint.parse(text)["calls"] == calls, text
                text = mutated(text, talk.draws)
    assert accepted > 40 < refused


# What users call.


def test_parse_gives_reasoning_calls_and_the_answer() -> None:
    c = explorer.tools([WEATHER], style="hermes", reasoning="enabled")
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
    assert c.parse(f"The weather?</think>\n\nLet me see. {call}") == {
        "reasoning": "The weather?",
        "calls": [{"name": "get_weather", "arguments": {"city": "Bonn"}}],
        "answer": "Let me see. ",
    }


@pytest.mark.parametrize("style", MOST)
def test_an_answer_may_be_under_a_schema(style: str) -> None:
    schema = {"name": "n", "schema": closed(["sum"], sum={"type": "integer"}), "strict": True}
    asked = {"type": "json_schema", "json_schema": schema}
    c = explorer.tools([WEATHER], style=style, response_format=asked)
    answer = '{"sum": 3}'
    if style == "harmony":
        answer = f"<|channel|>final<|message|>{answer}<|end|>"
    assert c.parse(answer)["answer"] == {"sum": 3}
    assert not c.accepts(answer.replace("3", "true"))
    forced = explorer.tools([WEATHER], style=style, choice="get_weather")
    text = forced.examples(2)[-1]
    assert c.parse(text)["calls"] == forced.parse(text)["calls"] != []


def test_a_choice_is_followed() -> None:
    tools = TOOLS["names that begin alike"]
    texts = {
        choice: explorer.tools(tools, style="llama", choice=choice, parallel=False)
        for choice in ("auto", "required", "none", "get")
    }
    get = '{"name": "get", "parameters": {}}'
    weather = '{"name": "get_weather", "parameters": {"city": "", "days": 1}}'
    took = {
        choice: [c.accepts(text) for text in ("so", get, weather, get + get)]
        for choice, c in texts.items()
    }
    assert took == {
        "auto": [True, True, True, False],
        "required": [False, True, True, False],
        "none": [True, True, True, True],  # Free text, in which a call is text too.
        "get": [False, True, False, False],
    }


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_a_call_that_is_demanded_is_not_left_out_in_harmony(choice: str, parallel: bool) -> None:
    options: dict[str, Any] = {"style": "harmony", "choice": choice, "parallel": parallel}
    bare = explorer.tools([WEATHER], **options)
    talk = explorer.tools([WEATHER], reasoning="enabled", **options)
    said = "<|channel|>analysis<|message|>hm<|end|>"
    call = ("<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>"
            '{"city": "Bonn"}<|call|>')  # fmt: skip
    behind = "<|start|>assistant"
    texts = {
        "": False, said: False, call: True, said + behind + call: True,
        behind.join([said, said, call]): True, said + behind: False, said + call: False,
        behind.join([call, call]): parallel, behind.join([said, call, said, call]): parallel,
    }  # fmt: skip
    assert {text: talk.accepts(text) for text in texts} == texts
    assert bare.accepts(call) and not bare.accepts("") and not bare.accepts(said)
    assert len(talk.parse(said + behind + call)["calls"]) == 1


def test_tools_are_saved_and_read_without_xgrammar() -> None:
    constraint = explorer.tools([WEATHER], style="qwen_3_coder")
    saved = json.loads(json.dumps(source_to_dict(constraint.source)))
    with patch.dict(sys.modules, {"xgrammar": None}):
        assert source_from_dict(saved) == constraint.source
        with pytest.raises(MissingDependency, match="xgrammar"):
            explorer.tools([WEATHER], style="qwen_3")


def test_no_tools_leave_free_text() -> None:
    c = explorer.tools([], style="qwen_3")
    assert c.accepts("so") and not c.accepts("</think>")


def test_white_space_around_calls_and_listed_values_is_no_value() -> None:
    unit = {"enum": ["C", " F", 2]}
    asked = [tool("f", closed(["unit"], unit=unit))]
    call = '<tool_call>\n{"name": "f", "arguments": {"unit": "C"}}\n</tool_call>'
    parsed = explorer.tools(asked, style="qwen_3").parse(f"{call}\n \n{call}")
    assert parsed["answer"] == "" and len(parsed["calls"]) == 2
    assert explorer.tools(asked, style="qwen_3").parse(f"so {call}")["answer"] == "so "
    xml = explorer.tools(asked, style="qwen_3_coder")
    for written, value in (("\nC\n", "C"), (" F", " F"), ("C", "C"), ("\n2\n", 2)):
        text = f"<tool_call>\n<function=f>\n<parameter=unit>{written}</parameter>\n</function>\n"
        (one,) = xml.parse(f"{text}</tool_call>")["calls"]
        assert one["arguments"] == {"unit": value}


@pytest.mark.parametrize("style", MARKUPS)
@pytest.mark.parametrize(
    ("keyword", "schema"),
    [
        ("properties", {"type": "object", "properties": [1]}),
        ("required", {"type": "object", "properties": {"a": TEXT}, "required": "a"}),
        ("anyOf", closed([], a={"anyOf": 5})),
        ("type", closed([], a={"type": 7})),
        ("items", closed([], a={"type": "array", "items": 4})),
    ],
)
def test_a_keyword_of_a_wrong_type_is_named(style: str, keyword: str, schema: Any) -> None:
    with pytest.raises(ConstraintError, match=rf"tools\[0\], 'f': .*{keyword} is "):
        explorer.tools([tool("f", schema)], choice="required", style=style)
