"""The form of calls as chat templates write them: templates of our own, one or more for each style.

Each renders ``calls``, a list of names and arguments, and nothing around them. The sources are the
files of the models' own templates that were read; `test_templates` renders those that packages hold
and compares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment


@dataclass(frozen=True)
class Form:
    """One form of calls.

    Args:
        style: The style of `explorer.tools`.
        template: What jinja2 renders for ``calls``.
        files: Models' templates that a package holds, which render the same calls.
        source: Where else the form was read: repository, file and commit.
        unread: The arguments that the models' templates write in a way that cannot be read back,
            or that the style does not take, as `docs/servers.md` says.
        single: Whether the models' templates write one call only.
    """

    style: str
    template: str
    files: tuple[str, ...] = ()
    source: str = ""
    unread: tuple[str, ...] = ()
    single: bool = False

    def __str__(self) -> str:
        return f"{self.style}: {(*self.files, self.source)[0].rpartition('/')[2]}"

    def render(self, calls: list[dict[str, Any]]) -> str:
        return compiled(self.template).render(calls=calls)


@cache
def compiled(template: str) -> Template:
    """A template with the filter ``tojson`` of transformers, which escapes no HTML."""
    environment = ImmutableSandboxedEnvironment()
    environment.filters["tojson"] = _json
    return environment.from_string(template)


def _json(value: object, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _each(call: str, between: str = "") -> str:
    """A template that renders each call, and a text between two."""
    comma = f"{{% if not loop.last %}}{between}{{% endif %}}" if between else ""
    return f"{{% for call in calls %}}{call}{comma}{{% endfor %}}"


def _arguments(one: str, between: str = "", *, ordered: str = "call.arguments.items()") -> str:
    """A template that renders each argument, ``k`` and ``v``, and a text between two."""
    comma = f"{{% if not loop.last %}}{between}{{% endif %}}" if between else ""
    return f"{{% for k, v in {ordered} %}}{one}{comma}{{% endfor %}}"


_OBJECT: Final = '{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}'
_WITH_ID: Final = _OBJECT[:-1] + ', "id": "abcDEF123"}'
_PARAMETERS: Final = _OBJECT.replace('"arguments"', '"parameters"')
_NAME: Final = "{{ call.name }}"
_JSON: Final = "{{ call.arguments | tojson }}"
_VALUE: Final = "{{ v if v is string else v | tojson }}"
_QWEN_CODER: Final = _each(
    f"<tool_call>\n<function={_NAME}>\n"
    + _arguments(f"<parameter={{{{ k }}}}>\n{_VALUE}\n</parameter>\n")
    + "</function>\n</tool_call>",
    "\n",
)
_GEMMA_VALUE: Final = (
    "{% macro value(v) %}{% if v is string %}QvQ{% elif v is mapping %}{{ '{' }}"
    "{% for k, each in v | dictsort %}{{ k }}:{{ value(each) }}"
    "{% if not loop.last %},{% endif %}{% endfor %}{{ '}' }}"
    "{% elif v is iterable %}[{% for each in v %}{{ value(each) }}"
    "{% if not loop.last %},{% endif %}{% endfor %}]"
    "{% else %}{{ v | tojson }}{% endif %}{% endmacro %}"
)
_PYTHON_VALUE: Final = (
    "{% if v is string %}'{{ v }}'{% elif v is mapping %}{{ v | tojson }}"
    "{% else %}{{ v }}{% endif %}"
)
_PYTHON_CALL: Final = f"{_NAME}({_arguments('{{ k }}=' + _PYTHON_VALUE, ', ')})"
_OLMO_VALUE: Final = "{% if v is string %}'{{ v }}'{% else %}{{ v | tojson }}{% endif %}"
_OPEN: Final = "{{ '{' }}"
_CLOSE: Final = "{{ '}' }}"
_QUOTES: Final = ("quote", "backslash")
_NOT_TEXT: Final = ("boolean", "number", "array", "object")


def _gemma(begin: str, end: str, quote: str) -> str:
    value = _GEMMA_VALUE.replace("QvQ", f"{quote}{{{{ v }}}}{quote}")
    inside = _arguments("{{ k }}:{{ value(v) }}", ",", ordered="call.arguments | dictsort")
    return value + _each(f"{begin}call:{_NAME}{_OPEN}{inside}{_CLOSE}{end}")


def _dsml(section: str, dsml: str = "｜DSML｜") -> str:
    one = (
        f'<{dsml}parameter name="{{{{ k }}}}" '
        f"string=\"{{{{ 'true' if v is string else 'false' }}}}\">{_VALUE}</{dsml}parameter>\n"
    )
    call = f'<{dsml}invoke name="{_NAME}">\n{_arguments(one)}</{dsml}invoke>\n'
    return f"\n\n<{dsml}{section}>\n{_each(call)}</{dsml}{section}>"


FORMS: Final = (
    Form("hermes", _each(f"<tool_call>\n{_OBJECT}\n</tool_call>", "\n"), (
        "llama.cpp/Qwen-Qwen3-0.6B", "llama.cpp/Qwen-Qwen2.5-7B-Instruct",
        "llama.cpp/Qwen-QwQ-32B", "llama.cpp/MiMo-VL", "llama.cpp/ibm-granite-granite-4.0",
        "llama.cpp/ibm-granite-granite-4.1",
        "llama.cpp/NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
        "llama.cpp/NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "vllm/hermes",
    )),
    Form("qwen_3_coder", _QWEN_CODER, (
        "llama.cpp/Qwen3-Coder", "llama.cpp/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        "vllm/qwen3coder"), unread=("boolean",)),
    Form("qwen_3_coder", _QWEN_CODER.replace("{% if not loop.last %}\n{% endif %}", ""),
         ("llama.cpp/StepFun3.5-Flash",), unread=("boolean",)),
    Form("qwen_3_5", _QWEN_CODER, ("llama.cpp/Qwen3.5-4B",), unread=("boolean",)),
    Form("mimo", _each(f"<tool_call><function={_NAME}>"
         + _arguments(f"<parameter={{{{ k }}}}>{_VALUE}</parameter>")
         + "</function></tool_call>"),
         source="vllm-project/vllm, rust/src/parser/src/tool/mimo.rs, 0.33.0"),
    Form("exaone", _each(f"<tool_call>{_OBJECT}</tool_call>", "\n"),
         source="DHdroid/ollama, model/renderers/exaone4.go, fb44e01"),
    Form("llama", _each(_PARAMETERS), ("vllm/llama4_json",)),
    Form("llama", _each(_PARAMETERS), (
        "llama.cpp/meta-llama-Llama-3.1-8B-Instruct", "llama.cpp/meta-llama-Llama-3.2-3B-Instruct",
        "llama.cpp/meta-llama-Llama-3.3-70B-Instruct", "vllm/llama3.1_json", "vllm/llama3.2_json"),
        single=True),
    Form("deepseek_r1", "<｜tool▁calls▁begin｜>" + _each(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{_NAME}\n```json\n{_JSON}\n```"
        "<｜tool▁call▁end｜>", "\n") + "<｜tool▁calls▁end｜>", (
        "llama.cpp/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "vllm/deepseekr1")),
    Form("deepseek_v3_1", "<｜tool▁calls▁begin｜>" + _each(
        f"<｜tool▁call▁begin｜>{_NAME}<｜tool▁sep｜>{_JSON}<｜tool▁call▁end｜>")
        + "<｜tool▁calls▁end｜>", ("llama.cpp/deepseek-ai-DeepSeek-V3.1",)),
    Form("deepseek_v3_2", _dsml("function_calls"), ("llama.cpp/deepseek-ai-DeepSeek-V3.2",)),
    Form("deepseek_v4", _dsml("tool_calls"), (
        "llama.cpp/deepseek-ai-DeepSeek-V4", "llama.cpp/deepseek-ai-DeepSeek-V4-Flash-0731")),
    Form("deepseek_v4_1", _dsml("calls", "｜DSML｜ "),
         source="vllm-project/vllm, rust/src/chat/src/renderer/deepseek_v41, 0.33.0"),
    Form("glm_4_7", _each(f"<tool_call>{_NAME}\n"
         + _arguments(f"<arg_key>{{{{ k }}}}</arg_key>\n<arg_value>{_VALUE}</arg_value>\n")
         + "</tool_call>", "\n"), ("llama.cpp/GLM-4.6",)),
    Form("glm_4_7", _each(f"<tool_call>{_NAME}"
         + _arguments(f"<arg_key>{{{{ k }}}}</arg_key><arg_value>{_VALUE}</arg_value>")
         + "</tool_call>"), ("llama.cpp/GLM-4.7-Flash",)),
    Form("kimi", "<|tool_calls_section_begin|>" + _each(
        f"<|tool_call_begin|>functions.{_NAME}:{{{{ loop.index0 }}}}<|tool_call_argument_begin|>"
        f"{_JSON}<|tool_call_end|>") + "<|tool_calls_section_end|>",
        ("llama.cpp/moonshotai-Kimi-K2",)),
    Form("kimi_k3", "<|close|>response<|sep|><|open|>tools<|sep|>" + _each(
        f'<|open|>call tool="{_NAME}" index="{{{{ loop.index }}}}"<|sep|>' + _arguments(
            '<|open|>argument key="{{ k }}" type="{% if v is string %}string'
            "{% elif v is boolean %}boolean{% elif v is number %}number"
            '{% elif v is mapping %}object{% else %}array{% endif %}"<|sep|>'
            f"{_VALUE}<|close|>argument<|sep|>")
        + "<|close|>call<|sep|>") + "<|close|>tools<|sep|><|close|>message<|sep|>",
        ("llama.cpp/Kimi-K3",)),
    Form("minimax", "<minimax:tool_call>\n" + _each(
        f'<invoke name="{_NAME}">\n'
        + _arguments(f'<parameter name="{{{{ k }}}}">{_VALUE}</parameter>\n')
        + "</invoke>\n") + "</minimax:tool_call>", ("llama.cpp/MiniMax-M2",)),
    Form("mistral", _each(f"[TOOL_CALLS]{_NAME}[ARGS]{_JSON}"), (
        "llama.cpp/mistralai-Ministral-3-14B-Reasoning-2512",
        "llama.cpp/unsloth-mistral-Devstral-Small-2507")),
    Form("mistral", _each(f"[TOOL_CALLS]{_NAME}[CALL_ID]abcDEF123[ARGS]{_JSON}"),
         ("llama.cpp/Mistral-Small-3.2-24B-Instruct-2506",)),
    Form("mistral_v3", f"[TOOL_CALLS] [{_each(_WITH_ID, ', ')}]",
         ("vllm/mistral", "vllm/mistral_parallel", "vllm/mistral3")),
    Form("mistral_v3", f"[TOOL_CALLS][{_each(_WITH_ID, ', ')}]",
         ("llama.cpp/mistralai-Mistral-Nemo-Instruct-2407",)),
    Form("gemma_4", _gemma("<|tool_call>", "<tool_call|>", '<|"|>'), (
        "llama.cpp/google-gemma-4-31B-it", "llama.cpp/google-gemma-4-31B-it-interleaved",
        "vllm/gemma4")),
    Form("functiongemma", _each(f"<start_function_call>call:{_NAME}{_OPEN}"
         + _arguments("{{ k }}:<escape>{{ v }}<escape>", ",") + f"{_CLOSE}<end_function_call>"),
         ("vllm/functiongemma",), unread=("boolean", "array", "object")),
    Form("functiongemma",
         _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
         source="ollama/ollama, model/renderers/functiongemma.go, 16b05db"),
    Form("seed_oss", _each(f"<seed:tool_call>\n<function={_NAME}>\n"
         + _arguments("<parameter={{ k }}>{{ v }}</parameter>\n")
         + "</function>\n</seed:tool_call>", "\n"), ("llama.cpp/ByteDance-Seed-OSS",)),
    Form("hunyuan", f"<tool_calls>[{_each(_OBJECT, ', ')}]</tool_calls>", ("vllm/hunyuan_a13b",)),
    Form("granite", "<|tool_call|>{{ calls | tojson(indent=4) }}", ("vllm/granite",)),
    Form("granite_20b", _each(f"<function_call> {_OBJECT}", "\n"), ("vllm/granite_20b_fc",)),
    Form("pythonic", "[" + _each(
        f"{_NAME}(" + _arguments('{{ k }}="{{ v }}"', ", ") + ")", ", ") + "]",
        ("vllm/llama4_pythonic",), unread=(*_QUOTES, "line break", *_NOT_TEXT)),
    Form("pythonic", "[" + _each(_PYTHON_CALL, ", ") + "]",
         source="meta-llama/llama-models, models/llama3_2/text_prompt_format.md, 1156e86"),
    Form("olmo_3", "<function_calls>\n" + _each(
        f"{_NAME}({_arguments('{{ k }}=' + _OLMO_VALUE, ', ')})", "\n") + "\n</function_calls>",
        source="vllm-project/vllm, examples/tool_chat_template_olmo3.jinja, 2e30b47",
        unread=_QUOTES),
    Form("lfm_2", f"<|tool_call_start|>[{_each(_PYTHON_CALL, ', ')}]<|tool_call_end|>",
         ("llama.cpp/LFM2.5-8B-A1B",), unread=_QUOTES),
    Form("lfm_2", f"<|tool_call_start|>[{_each(_WITH_ID, ', ')}]<|tool_call_end|>",
         source="ggml-org/llama.cpp, models/templates/llama-cpp-lfm2.jinja, 3700b6f"),
    Form("phi_4_mini", f"functools[{_each(_OBJECT, ', ')}]",
         source="vllm-project/vllm, vllm/tool_parsers/phi4mini_tool_parser.py, 0.33.0"),
    Form("xlam", f"[{_each(_OBJECT, ', ')}]", ("vllm/xlam_llama", "vllm/xlam_qwen")),
    Form("ernie_4_5", _each(f"<tool_call>\n{_OBJECT}\n</tool_call>\n"),
         source="vllm-project/vllm, tests/tool_parsers/test_ernie45_moe_tool_parser.py, 0.33.0"),
    Form("internlm", _each(f"<|action_start|><|plugin|>\n{_OBJECT}<|action_end|>"),
         ("vllm/internlm2_tool",)),
    Form("internlm", _each(f"<|action_start|><|plugin|>\n{_PARAMETERS}<|action_end|>\n"),
         source="InternLM/InternLM, chat/chat_format.md, 1182cbb"),
    Form("jamba", "<tool_calls>[\n    " + _each(_OBJECT, ",\n    ") + "\n]</tool_calls>",
         source="vllm-project/vllm, tests/tool_parsers/test_jamba_tool_parser.py, 0.33.0"),
    Form("harmony", _each(
        f" to=functions.{_NAME}<|channel|>commentary json<|message|>{_JSON}<|call|>",
        "<|start|>assistant"), ("llama.cpp/openai-gpt-oss-120b",), single=True),
)  # fmt: skip
"""The forms, by style; sources that no package holds are named with their commit."""
