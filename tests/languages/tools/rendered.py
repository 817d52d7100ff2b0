"""Calls as the chat templates of models write them: facts of formats, each with its source.

Each is the call of ``get_weather`` with ``{"city": "Rome"}`` in the turn of the assistant, from the
marks of the call to the end of the turn, as ``apply_chat_template`` renders it. The source is the
file of the model's repository that was read.
"""

from __future__ import annotations

from typing import Final

_CALL: Final = '{"name": "get_weather", "arguments": {"city": "Rome"}}'

RENDERED: Final[tuple[tuple[str, str, str], ...]] = (
    ("hermes", f"<tool_call>\n{_CALL}\n</tool_call>", "Qwen/Qwen3-0.6B, tokenizer_config.json"),
    ("hermes", f"<tool_call>\n{_CALL}\n</tool_call>", "ibm-granite/granite-4.0-micro"),
    ("qwen_3_coder",
     "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n"
     "</tool_call>", "Qwen/Qwen3-Coder-30B-A3B-Instruct, chat_template.jinja"),
    ("glm_4_7",
     "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>",
     "zai-org/GLM-4.6, chat_template.jinja"),
    ("minimax",
     '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Rome</parameter>\n'
     "</invoke>\n</minimax:tool_call>", "MiniMaxAI/MiniMax-M2, chat_template.jinja"),
    ("mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}',
     "mistralai/Mistral-Small-3.2-24B-Instruct-2506, tekken.json version 11"),
    ("mistral_v3",
     '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Rome"}, "id": "9Ae3bDc2F"}]',
     "mistralai/Mistral-7B-Instruct-v0.3, tokenizer_config.json"),
    ("gemma_4", '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|>',
     "google/gemma-4, chat_template.jinja"),
    ("functiongemma",
     "<start_function_call>call:get_weather{city:<escape>Rome<escape>}<end_function_call>",
     "google/functiongemma-270m-it, chat_template.jinja"),
    ("seed_oss",
     "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Rome</parameter>\n</function>\n"
     "</seed:tool_call>", "ByteDance-Seed/Seed-OSS-36B-Instruct, chat_template.jinja"),
    ("hunyuan", f"<tool_calls>[{_CALL}]</tool_calls>",
     "tencent/Hunyuan-A13B-Instruct, vLLM's examples/tool_chat_template_hunyuan_a13b.jinja"),
    ("granite", f"<|tool_call|>[{_CALL}]",
     "ibm-granite/granite-3.1-8b-instruct, tokenizer_config.json"),
    ("pythonic", '[get_weather(city="Rome")]',
     "meta-llama/Llama-4-Scout-17B-16E-Instruct, vLLM's tool_chat_template_llama4_pythonic.jinja"),
    ("olmo_3", '<function_calls>\nget_weather(city="Rome")\n</function_calls>',
     "allenai/Olmo-3-7B-Instruct, chat_template.jinja"),
    ("lfm_2", '<|tool_call_start|>[get_weather(city="Rome")]<|tool_call_end|>',
     "LiquidAI/LFM2-1.2B, chat_template.jinja"),
    ("phi_4_mini", f"functools[{_CALL}]", "vLLM's examples/tool_chat_template_phi4_mini.jinja"),
    ("xlam", f"[{_CALL}]", "Salesforce/xLAM-2-8b-fc-r, vLLM's tool_chat_template_xlam_llama.jinja"),
    ("ernie_4_5", f"<tool_call>\n{_CALL}\n</tool_call>\n",
     "baidu/ERNIE-4.5-21B-A3B-Thinking, chat_template.jinja"),
    ("internlm",
     '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Rome"}}'
     "<|action_end|>\n", "internlm/internlm2_5-7b-chat, tool_chat_template_internlm2_tool.jinja"),
    ("llama", '{"name": "get_weather", "parameters": {"city": "Rome"}}',
     "meta-llama/Llama-3.1-8B-Instruct, vLLM's examples/tool_chat_template_llama3.1_json.jinja"),
    ("granite_20b", f"<function_call> {_CALL}",
     "ibm-granite/granite-20b-functioncalling, vLLM's tool_chat_template_granite_20b_fc.jinja"),
    ("deepseek_r1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
     '{"city": "Rome"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
     "deepseek-ai/DeepSeek-V3, tokenizer_config.json"),
    ("deepseek_v3_1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
     '{"city": "Rome"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
     "deepseek-ai/DeepSeek-V3.1, llama.cpp's models/templates/deepseek-ai-DeepSeek-V3.1.jinja"),
    ("deepseek_v3_2",
     '\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
     '<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n'
     "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
     "deepseek-ai/DeepSeek-V3.2, llama.cpp's models/templates/DeepSeek-V3.2.jinja"),
    ("kimi",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
     '<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>',
     "moonshotai/Kimi-K2, llama.cpp's models/templates/moonshotai-Kimi-K2-Thinking.jinja"),
    ("olmo_3", "<function_calls>\nget_weather(city='Rome')\n</function_calls>",
     "allenai/Olmo-3, vLLM's examples/tool_chat_template_olmo3.jinja"),
    ("jamba", f"<tool_calls>[\n    {_CALL}\n]</tool_calls>",
     "ai21labs/AI21-Jamba-Mini-1.6, tokenizer_config.json"),
    ("harmony",
     " to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>"
     '{"city": "Rome"}<|call|>', "openai/gpt-oss-20b, chat_template.jinja"),
    ("harmony",
     "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
     '{"city": "Rome"}<|call|>', "openai/harmony, docs/format.md: receiving tool calls"),
    ("harmony",
     "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.get_weather"
     '<|channel|>commentary <|constrain|>json<|message|>{"city": "Rome"}<|call|>',
     "openai/harmony, docs/format.md: preambles"),
)  # fmt: skip
"""The style, the text, and its source."""
