"""Every style takes what chat templates write, and gives name and arguments back."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import jinja2
import pytest

import explorer
from explorer import Constraint, Vocabulary
from explorer.languages.tools.markups import MARKUPS
from explorer.languages.tools.styles import CALL_STYLES
from tests.evidence import examples
from tests.languages.tools.conversations import closed, tool
from tests.languages.tools.fetched import templates
from tests.languages.tools.templates import FORMS, Form
from tests.optional import Optional

chat: Any = Optional("transformers.utils.chat_template_utils")

Calls = list[dict[str, Any]]

PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "text": {"type": "string"}, "count": {"type": "integer"}, "ratio": {"type": "number"},
    "flag": {"type": "boolean"}, "words": {"type": "array", "items": {"type": "string"}},
    "place": closed(["name", "size"], name={"type": "string"}, size={"type": "integer"}),
}  # fmt: skip
ZONE: Final = tool("now", closed(["zone"], zone={"type": "string"}))
PIECES: Final = ("Rome", "é", " ", "<b>", "</", "{x}", "[", "]", ", ", "=", ": ", "1", "true")
SIGNS: Final = {"line break": "\n", "quote": "\"'", "backslash": "\\"}
"""Signs that not every template writes so that they can be read back."""

UNREAD: Final[dict[str, dict[str, Any]]] = {
    "boolean": {"flag": True}, "number": {"count": 3, "ratio": 0.5},
    "array": {"words": ["a b", "c"]}, "object": {"place": {"name": "Rome", "size": 3}},
    "quote": {"text": "it's \"so\""}, "backslash": {"text": "a\\qb"},
    "line break": {"text": "a\nb"},
}  # fmt: skip
"""Arguments for each kind that a form may leave unread."""


def weather(names: Collection[str]) -> dict[str, Any]:
    """A tool with some of the properties, all required."""
    left = {name: each for name, each in PROPERTIES.items() if name in names}
    return tool("get_weather", closed([*left], **left))


def text_of(draws: random.Random, unread: tuple[str, ...]) -> str:
    """A random text, without white space at its edges."""
    signs = "".join(sign for kind, sign in SIGNS.items() if kind not in unread)
    return "".join(draws.choices([*PIECES, *signs], k=draws.randint(1, 6))).strip() or "x"


def arguments_of(draws: random.Random, unread: tuple[str, ...]) -> dict[str, Any]:
    """Random arguments of the kinds that a form writes so that they can be read back."""
    left_out = {name for kind in unread if kind not in SIGNS for name in UNREAD[kind]}
    made = {
        "text": text_of(draws, unread),
        "count": draws.randint(-3, 99),
        "ratio": draws.choice([1.5, -0.25, 1e-7, 1e22, 3]),
        "flag": draws.random() < 0.5,
        "words": [text_of(draws, unread) for _ in range(draws.randint(0, 2))],
        "place": {"name": text_of(draws, unread), "size": 3},
    }
    return {name: value for name, value in made.items() if name not in left_out}


def constraint_of(form: Form, names: Collection[str], choice: str) -> Constraint:
    if form.style not in CALL_STYLES and form.style != "harmony":
        pytest.importorskip("xgrammar")
    return explorer.tools([weather(names), ZONE], style=form.style, choice=choice)


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_style_takes_what_its_template_writes(form: Form, choice: str) -> None:
    draws = random.Random(37)
    names = arguments_of(draws, form.unread)
    constraint = constraint_of(form, names, choice)
    now = {"name": "now", "arguments": {"zone": "UTC"}}
    for k in range(examples(4)):
        calls = [{"name": "get_weather", "arguments": arguments_of(draws, form.unread)}]
        calls += [now] if k % 2 and not form.single else []
        written = form.render(calls)
        assert constraint.accepts(written), written
        assert constraint.parse(written)["calls"] == calls, written
        if choice == "required":
            assert not constraint.accepts(written.replace("text", "town"))
            assert not constraint.accepts("Rome.")


MARK: Final = re.compile(r"\[[A-Z_]{2,}\]|｜DSML｜|<[^<>=\s]+>")
"""What may be a control token of a model, in a call without such texts."""


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_marks_of_a_call_may_be_control_tokens(form: Form) -> None:
    calls = [{"name": "now", "arguments": {"zone": "UTC"}}]
    written = form.render(calls)
    marks = dict(zip(dict.fromkeys(MARK.findall(written)), range(256, 400), strict=False))
    end = 256 + len(marks)
    vocabulary = Vocabulary(
        (*(bytes([byte]) for byte in range(256)), *[None] * (len(marks) + 1)), (end,),
        special={**{token: name for name, token in marks.items()}, end: "</s>"},
    )  # fmt: skip
    pieces = re.split(f"({'|'.join(map(re.escape, marks))})", written) if marks else [written]
    ids = [token for piece in pieces
           for token in ([marks[piece]] if piece in marks else piece.encode())]  # fmt: skip
    if form.style not in CALL_STYLES and form.style != "harmony":
        pytest.importorskip("xgrammar")
    constraint = explorer.tools([ZONE], style=form.style, choice="required",
                                control_tokens=vocabulary)  # fmt: skip
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    state: int | None = machine.start
    for token in ids:
        assert state is not None
        state = machine.step(state, token)
    assert state is not None and machine.is_final(state), written
    assert constraint.parse(vocabulary.written(ids))["calls"] == calls


def test_every_style_has_a_form() -> None:
    without = {"qwen": "qwen_3", "qwen_3": "hermes"}
    assert set(MARKUPS) - set(without) == {form.style for form in FORMS}


# The models' own templates.


@pytest.fixture(scope="module")
def fetched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    cache = request.config.cache
    assert cache is not None
    return templates(cache.mkdir("templates"), tmp_path_factory.mktemp("templates"))


def turn(template: str, calls: Calls, tools: list[dict[str, Any]]) -> str:
    """The turn of the assistant that a model's template writes for some calls.

    Some templates want the arguments as text, no content, or a system message.
    """
    described = [{**each, "function": {**each["function"], "description": "A tool."}}
                 for each in tools]  # fmt: skip
    asked = [{"role": "system", "content": "Help."}, {"role": "user", "content": "Hello"}]
    failed: Exception | None = None
    for before in (asked, asked[1:]):
        for content in ("", None):
            for as_text in (False, True):
                answer = {"role": "assistant", "content": content, "tool_calls": [
                    {"id": "abcDEF123", "type": "function", "function": {
                        **call, "arguments": json.dumps(call["arguments"]) if as_text
                        else call["arguments"]}} for call in calls]}  # fmt: skip
                try:
                    whole, start = (
                        chat.render_jinja_template(
                            [turns], tools=described, chat_template=template, bos_token="",
                            eos_token="</s>",
                        )[0][0] for turns in ([*before, answer], before)
                    )  # fmt: skip
                except (jinja2.TemplateError, TypeError) as error:
                    failed = error
                    continue
                same = next((k for k, (a, b) in enumerate(zip(whole, start, strict=False))
                             if a != b), min(len(whole), len(start)))  # fmt: skip
                return whole[same:]
    assert failed is not None
    raise failed


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "file"), [(form, file) for form in FORMS for file in form.files],
    ids=[f"{form.style}-{file}" for form in FORMS for file in form.files],
)  # fmt: skip
def test_a_form_is_that_of_the_models_own_template(
    form: Form, file: str, fetched: Mapping[str, str]
) -> None:
    draws = random.Random(11)
    names = arguments_of(draws, form.unread)
    tools = [weather(names), ZONE]
    constraint = constraint_of(form, names, "required")
    for k in range(4):
        calls = [{"name": "get_weather", "arguments": arguments_of(draws, form.unread)}]
        calls += (
            [{"name": "now", "arguments": {"zone": "UTC"}}] if k % 2 and not form.single else []
        )
        written, theirs = form.render(calls), turn(fetched[file], calls, tools)
        before, found, after = theirs.partition(written)
        assert found, theirs
        assert not any(word in before + after for word in ("get_weather", "now", "count", "zone"))
        assert constraint.accepts(written) and constraint.parse(written)["calls"] == calls
    # What the form leaves unread cannot be read back from the model's own template.
    plain = [{"name": "now", "arguments": {"zone": "UTC"}}]
    before, _, after = turn(fetched[file], plain, tools).partition(form.render(plain))
    for kind in form.unread:
        asked = constraint_of(form, UNREAD[kind], "required")
        calls = [{"name": "get_weather", "arguments": UNREAD[kind]}]
        theirs = turn(fetched[file], calls, [weather(UNREAD[kind]), ZONE])
        written = theirs.removeprefix(before).removesuffix(after)
        assert not asked.accepts(written) or asked.parse(written)["calls"] != calls, written


@pytest.mark.long
def test_a_changed_form_is_not_that_of_the_template(fetched: Mapping[str, str]) -> None:
    form = next(form for form in FORMS if form.style == "hunyuan")
    calls = [{"name": "now", "arguments": {"zone": "UTC"}}] * 2
    assert form.render(calls).replace("}, {", "},{") not in turn(
        fetched["vllm/hunyuan_a13b"], calls, [ZONE]
    )


# What the styles take beside it.

CITY: Final = tool("get_weather", {**closed(["city"], city={"type": "string"}, days={
    "type": "integer"}), "title": "where"})  # fmt: skip


@pytest.mark.parametrize(
    ("style", "text", "arguments"),
    [
        ("pythonic", '[get_weather(city="Rome", days=3), now(zone="x")]',
         {"city": "Rome", "days": 3}),
        ("pythonic", r"[get_weather(city='it\'s \\ \"x\"')]", {"city": 'it\'s \\ "x"'}),
        ("pythonic", '[get_weather(city="True")]', {"city": "True"}),
        ("pythonic", "[get_weather(city='None')]", {"city": "None"}),
        ("lfm_2", """<|tool_call_start|>[get_weather(city="'x'")]<|tool_call_end|>""",
         {"city": "'x'"}),
        ("gemma_4", '<|tool_call>call:get_weather{city:<|"|>a, b<|"|>,days:3}<tool_call|>',
         {"city": "a, b", "days": 3}),
    ],
)  # fmt: skip
def test_arguments_that_are_not_json_have_their_values(
    style: str, text: str, arguments: dict[str, Any]
) -> None:
    parsed = explorer.tools([CITY, ZONE], style=style).parse(text)["calls"]
    assert parsed[0] == {"name": "get_weather", "arguments": arguments}


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("pythonic", r"""[f(a3='it\'s', a17="x\\")]"""),
        ("gemma_4", '<|tool_call>call:f{a17:<|"|>x\\<|"|>,a3:<|"|>it\'s<|"|>}<tool_call|>'),
    ],
)
def test_listed_texts_are_read_back_and_optional_arguments_may_be_many(
    style: str, text: str
) -> None:
    listed: dict[str, Any] = {"enum": ["it's", "x\\", 7]}
    asked = tool("f", closed([], **{f"a{k}": listed for k in range(20)}))
    parsed = explorer.tools([asked], style=style).parse(text)["calls"]
    assert parsed == [{"name": "f", "arguments": {"a3": "it's", "a17": "x\\"}}]


@pytest.mark.parametrize("extra", [{"maxLength": 4}, {"pattern": "^[A-Z][a-z]+$"},
                                   {"format": "hostname"}, {"enum": ["Rome"]}])  # fmt: skip
@pytest.mark.parametrize("style", ["qwen_3_coder", "glm_4_7", "minimax", "seed_oss"])
def test_a_value_on_its_own_line_is_the_value(style: str, extra: dict[str, Any]) -> None:
    form = next(form for form in FORMS if form.style == style)
    asked = tool("get_weather", closed(["city"], city={"type": "string", **extra}))
    value = "rome" if "format" in extra else "Rome"
    text = form.render([{"name": "get_weather", "arguments": {"city": "Rome"}}])
    if style not in CALL_STYLES:
        pytest.importorskip("xgrammar")
    constraint = explorer.tools([asked], style=style, choice="required")
    for written in (value, f"\n{value}\n"):
        made = text.replace("\nRome\n", "Rome").replace("Rome", written)
        assert constraint.accepts(made), made
        assert constraint.parse(made)["calls"][0]["arguments"] == {"city": value}


def test_parameters_come_in_any_order() -> None:
    schema = closed(["a", "b"], a={"type": "integer"}, b={"type": "string"}, c={"type": "boolean"})
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
    call = FORMS[0].render([{"name": "now", "arguments": {"zone": "UTC"}}])
    for reasoning in ("enabled", "auto"):
        constraint = explorer.tools([ZONE], style="hermes", reasoning=reasoning)
        assert constraint.parse(f"<think>\nhm\n</think>\n\n{call}")["reasoning"] == "\nhm\n"
    enabled = explorer.tools([ZONE], style="hermes", reasoning="enabled")
    assert enabled.accepts(f"hm\n</think>\n\n{call}")
