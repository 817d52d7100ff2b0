"""Each style takes what its model's chat template writes, and gives the call back."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.languages.tools.styles import CALL_STYLES
from tests.languages.tools.rendered import RENDERED

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
OTHER = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
@pytest.mark.parametrize(("style", "text", "source"), RENDERED, ids=[each[2] for each in RENDERED])
def test_a_style_takes_what_its_template_writes(
    style: str, text: str, source: str, choice: str
) -> None:
    if style not in CALL_STYLES and style != "harmony":
        pytest.importorskip("xgrammar")
    constraint = explorer.tools([WEATHER, OTHER], style=style, choice=choice)
    assert constraint.accepts(text), source
    assert constraint.parse(text)["calls"] == [
        {"name": "get_weather", "arguments": {"city": "Rome"}}
    ]
    if choice != "auto":
        assert not constraint.accepts(text.replace("city", "town"))
        assert not constraint.accepts("Rome.")


def test_every_style_of_our_own_is_rendered() -> None:
    assert set(CALL_STYLES) <= {style for style, _, _ in RENDERED}


@pytest.mark.parametrize(
    ("style", "text", "arguments"),
    [
        ("pythonic", '[get_weather(city="Rome", days=3), now()]', {"city": "Rome", "days": 3}),
        ("pythonic", r"[get_weather(city='it\'s \\ \"x\"')]", {"city": 'it\'s \\ "x"'}),
        ("lfm_2", """<|tool_call_start|>[get_weather(city="'x'")]<|tool_call_end|>""",
         {"city": "'x'"}),
        ("gemma_4", '<|tool_call>call:get_weather{city:<|"|>a, b<|"|>,days:3}<tool_call|>',
         {"city": "a, b", "days": 3}),
    ],
)  # fmt: skip
def test_arguments_that_are_not_json_have_their_values(
    style: str, text: str, arguments: dict[str, Any]
) -> None:
    tools = [WEATHER, {**OTHER, "function": {"name": "now", "parameters": {
        "type": "object", "properties": {}}}}]  # fmt: skip
    parsed = explorer.tools(tools, style=style).parse(text)["calls"]
    assert parsed[0] == {"name": "get_weather", "arguments": arguments}


@pytest.mark.parametrize("extra", [{"maxLength": 4}, {"pattern": "^[A-Z][a-z]+$"},
                                   {"format": "hostname"}, {"enum": ["Rome"]}])  # fmt: skip
@pytest.mark.parametrize("style", ["qwen_3_coder", "glm_4_7", "minimax", "seed_oss"])
def test_a_value_on_its_own_line_is_the_value(style: str, extra: dict[str, Any]) -> None:
    if style not in CALL_STYLES:
        pytest.importorskip("xgrammar")
    tool = json.loads(json.dumps(WEATHER))
    tool["function"]["parameters"]["properties"]["city"].update(extra)
    value = "rome" if "format" in extra else "Rome"
    text = next(text for name, text, _ in RENDERED if name == style).replace("\nRome\n", "Rome")
    constraint = explorer.tools([tool], style=style, choice="required")
    for written in (value, f"\n{value}\n"):
        made = text.replace("Rome", written)
        assert constraint.accepts(made), made
        assert constraint.parse(made)["calls"][0]["arguments"] == {"city": value}


def test_parameters_come_in_any_order() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"},
              "c": {"type": "boolean"}}, "required": ["a", "b"],
              "additionalProperties": False}  # fmt: skip
    form = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml", "any_order": True}
    constraint = explorer.structural_tag({"type": "structural_tag", "format": form})
    a, b, c = (
        "<parameter=a>1</parameter>",
        "<parameter=b>x</parameter>",
        "<parameter=c>true</parameter>",
    )
    assert all(constraint.accepts(text) for text in (b + a, a + b, c + b + a, b + c + a))
    assert not any(constraint.accepts(text) for text in (a, a + a, a + b + a))
    assert constraint.parse(b + a) == [{"value": {"b": "x", "a": 1}}]


def test_reasoning_may_begin_with_its_mark() -> None:
    pytest.importorskip("xgrammar")
    call = next(text for name, text, _ in RENDERED if name == "hermes")
    for reasoning in ("enabled", "auto"):
        constraint = explorer.tools([WEATHER], style="hermes", reasoning=reasoning)
        assert constraint.parse(f"<think>\nhm\n</think>\n\n{call}")["reasoning"] == "\nhm\n"
    enabled = explorer.tools([WEATHER], style="hermes", reasoning="enabled")
    assert enabled.accepts(f"hm\n</think>\n\n{call}")
