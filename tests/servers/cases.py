"""Logs of servers as users have reported them, each with what a right answer says: a table.

A row is a log, its tokens or its text, and words of the verdict that must stand in it, or must not.
The vocabulary has all bytes, a few pieces, and the control tokens of the models that the reports
are about. The reports are those of the trackers of vLLM, SGLang, TGI, TensorRT-LLM, llama.cpp, LM
Studio and Ollama; the number stands in each row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from explorer import Vocabulary

NAMES = (
    "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<|im_start|>", "<tool_call>",
    "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>", "<|start|>", "<|call|>",
    "<|pad|>",
)  # fmt: skip
PIECES = (*(bytes([byte]) for byte in range(256)), b"\n\n", b'{"', b'":', b'"}', b"```", b"=list")
IDS = {name: len(PIECES) + k for k, name in enumerate(NAMES)}
VOCABULARY = Vocabulary(
    (*PIECES, *[None] * len(NAMES)), (IDS["<|im_end|>"],),
    special={token: name for name, token in IDS.items()},
)  # fmt: skip

X = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
SHUT = {**X, "additionalProperties": False}
AGED = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}},
        "required": ["age"], "additionalProperties": False}  # fmt: skip
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def asked(schema: Any = SHUT, **more: Any) -> dict[str, Any]:
    """A request for JSON of a schema."""
    form = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": schema}}
    return {"model": "m", "response_format": form, **more}


def tool(name: str = "get_weather", parameters: Any = CITY, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def ids(*parts: str) -> list[int]:
    """Tokens: names of control tokens and whole pieces as such, else bytes."""
    known = {data: token for token, data in enumerate(PIECES)}
    written: list[int] = []
    for part in parts:
        whole = IDS.get(part, known.get(part.encode()))
        written += [whole] if whole is not None else list(part.encode())
    return written


def chat(content: Any, finish: str | None = "stop", *tokens: str, **more: Any) -> dict[str, Any]:
    """A response of chat completions; ``more`` is of the message."""
    choice: dict[str, Any] = {
        "index": 0, "message": {"role": "assistant", "content": content, **more},
        "finish_reason": finish,
    }  # fmt: skip
    if tokens:
        choice["token_ids"] = ids(*tokens)
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice]}


def called(arguments: Any, name: str = "get_weather", finish: str = "tool_calls") -> dict[str, Any]:
    call = {"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}
    return chat(None, finish, tool_calls=[call])


def delta(message: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A piece of a stream of chat completions."""
    choice = {"index": 0, "delta": message, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def sent(*pieces: object) -> str:
    """The body of a stream."""
    return "".join(f"data: {json.dumps(each)}\n\n" for each in (*pieces,)) + "data: [DONE]\n\n"


def stopped(response: dict[str, Any], reason: Any) -> dict[str, Any]:
    response["choices"][0]["stop_reason"] = reason
    return response


@dataclass(frozen=True)
class Case:
    """A log and its right answer.

    Args:
        name: What it is about, with the report.
        outcome: The outcome of the verdict; "refused" where there is none, but an error.
        says, never: Words that the printed verdict has, and words that it has not.
    """

    name: str
    request: dict[str, Any]
    response: Any
    outcome: str
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict[str, Any])


GOOD = '{"x": "a"}'
HARMONY = ("<|channel|>", "analysis", "<|message|>", "Need JSON.", "<|end|>", "<|start|>",
           "assistant",
           "<|channel|>", "final ", "<|constrain|>", "json", "<|message|>", '{"x":"a"}',
           "<|return|>")  # fmt: skip
PARSED = {"reasoning_parser": "qwen3"}
FORCED = {"tools": [tool()], "tool_choice": "required"}
WHITE = " \n" * 100
NO_OPTION = ("--regex",)

CASES = (
    Case("a parser in the log hides no fault (vllm#36138)", asked(**PARSED),
         chat('{"x": 5}', reasoning="hm"), "masked", ("/properties/x/type",), ("</think>",)),
    Case("a fence after the reasoning (vllm#44006)", asked(**PARSED),
         chat("```", "stop", "Hm", "</think>", "```", "json", "<|im_end|>", reasoning="Hm"),
         "masked", ("token 0", "'```'", "code fence", "begins after </think>", "draft")),
    Case("a second end of text (vllm#42403)", asked(),
         stopped(chat(GOOD, "stop", GOOD, "<|endoftext|>"), IDS["<|endoftext|>"]), "whole",
         ("<|endoftext|>", "names it as the stop", "--eos")),
    Case("a second end of text in SGLang", {"text": "", "sampling_params": {
         "json_schema": json.dumps(SHUT)}}, {"text": GOOD, "output_ids": ids(GOOD, "<|endoftext|>"),
         "meta_info": {"finish_reason": {"type": "stop", "matched": IDS["<|endoftext|>"]}}},
         "whole"),
    Case("a second end by its name alone", asked(), chat(GOOD, "stop", GOOD, "<|endoftext|>"),
         "whole", ("its name is that of an end",)),
    Case("padding after the end", asked(),
         chat(GOOD, "stop", GOOD, "<|im_end|>", "<|pad|>", "<|pad|>"),
         "whole"),
    Case("white space forbidden in a request (vllm#48765)",
         {"structured_outputs": {"json": SHUT, "disable_any_whitespace": True}},
         chat('{\n  "x": "a"\n}'), "whole",
         ("vLLM ignores disable_any_whitespace in a request", "--structured-outputs-config")),
    Case("white space without end in SGLang (sglang#8250)", {"text": "", "sampling_params": {
         "json_schema": json.dumps(SHUT)}}, {"text": '{"x": "a"' + "\n" * 290, "meta_info": {
         "finish_reason": {"type": "length", "length": 300}}}, "cut",
         ("--constrained-json-disable-any-whitespace",), ("vLLM", '"disable_any_whitespace"')),
    Case("white space without end in TGI (TGI#2240)", {"inputs": "", "parameters": {"grammar": {
         "type": "json", "value": SHUT}}}, {"generated_text": '{ "x" : "a" ' + WHITE, "details": {
         "finish_reason": "length", "tokens": []}}, "cut",
         ("TGI has no such setting", '"regex"', "max_new_tokens"), ("vLLM", "--constrained")),
    Case("a member that the schema does not list (xgrammar closes objects)", asked(X),
         chat('{"x": "a", "y": 1}'), "masked",
         ("in ','", "strict_mode", "Your schema allows this")),
    Case("Harmony without a parser (lmstudio#1555)", asked(), chat('{"x":"a"}', "stop", *HARMONY),
         "masked", ("token 0", "<|channel|>", "after <|channel|>final<|message|>"),
         ("enable_thinking",)),
    Case("Harmony with its reasoning in a field", asked(),
         chat('{"x":"a"}', "stop", *HARMONY, reasoning="Need JSON."), "whole", ("left out",)),
    Case("Harmony in the content (TensorRT-LLM#9256)", asked(), chat(
         "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final "
         '<|constrain|>json<|message|>{"x":"a"}<|return|>'), "masked",
         ("The answer after it is allowed.",), ("not allowed either",)),
    Case("the answer in the reasoning, content empty (lmstudio#1698)", asked(),
         chat("", reasoning_content='{\n  "x": "fish"}'), "ended early",
         ("in the reasoning field", "allows it there", "reasoning parser")),
    Case("the answer in the reasoning, content null (sglang#14821)",
         asked(chat_template_kwargs={"enable_thinking": False}),
         chat(None, reasoning_content='{"x": "v"}'), "ended early",
         ("allows it there",), NO_OPTION),
    Case("the reasoning used up the tokens", asked(max_tokens=50),
         chat(None, "length", reasoning="Okay, let me think. "), "cut",
         ("used up max_tokens (50)", "Raise the limit"), NO_OPTION),
    Case("a call of one of two tools", {"tools": [tool(), tool("now")], "tool_choice": "required"},
         called('{"city": 5}'), "masked", ("/properties/city/type",)),
    Case("allowed tools", {"tools": [tool()], "tool_choice": {"type": "allowed_tools",
         "allowed_tools": {"mode": "required", "tools": [tool()]}}}, called('{"city": 5}'),
         "masked", ("/properties/city/type",)),
    Case("a choice that is a name (TGI)", {"tools": [tool()], "tool_choice": "get_weather"},
         called('{"city": 5}'), "masked", ("/properties/city/type",)),
    Case("any tool (Anthropic)", {"tools": [{"name": "get_weather", "input_schema": CITY}],
         "tool_choice": {"type": "any"}}, {"role": "assistant", "type": "message",
         "stop_reason": "tool_use", "content": [{"type": "tool_use", "name": "get_weather",
         "input": {"city": 5}}]}, "masked", ("/properties/city/type",)),
    Case("a tool that is not there", FORCED, called('{"city": "a"}', "getWeather"), "masked",
         ("There is no tool 'getWeather'; the tools are get_weather",)),
    Case("calls that the parser lost (vllm#35936)", {**FORCED, "tool_call_parser": "llama3_json"},
         chat(None, "tool_calls", tool_calls=[], reasoning="x"), "ended early",
         ("llama3_json", "lost it", 'tool_choice "auto"'), NO_OPTION),
    Case("two owners of the reasoning (sglang#21722)", {**PARSED, "response_format": {
         "type": "structural_tag", "format": {"type": "sequence", "elements": [
             {"type": "tag", "begin": "<think>", "end": "</think>",
              "content": {"type": "any_text"}},
             {"type": "const_string", "value": "yes"}]}}}, chat("yes"), "masked",
         ("two owners", "without the reasoning")),
    Case("thinking is off (vllm#27447)", {"extra_body": {"guided_choice": ["good", "bad"],
         "chat_template_kwargs": {"enable_thinking": False}}, **PARSED}, chat("It is good."),
         "masked",
         ("enable_thinking: false", "waits for the mark", "never comes")),
    Case("line breaks after the reasoning", asked(**PARSED),
         chat("\n\n" + GOOD, "stop", "Hm", "</think>", "\n\n", GOOD, "<|im_end|>"), "masked",
         ("token 0", "white space after </think>")),
    Case("a control token inside a string (vllm#42403)", asked(),
         chat(GOOD, "stop", '{"x": "a', "<|im_start|>", '"}', "<|im_end|>"), "whole",
         ("xgrammar allows this, your schema does not", "token 8")),
    Case("min_tokens at the end (vllm#53665)", {**asked(), "min_tokens": 40},
         chat("", "stop", GOOD, "\x00", "\x00"), "masked", ("min_tokens (40)", "the first id, 0")),
    Case("Ollama (ollama#14850)", {"model": "q", "think": False, "messages": [], "format": SHUT},
         {"model": "q", "created_at": "", "message": {"role": "assistant", "content": "Sure, I"},
          "done": True, "done_reason": "stop"}, "masked", ("Ollama chat", "byte 0"), ("vLLM",)),
    Case("Ollama's generate", {"prompt": "", "format": "json"}, {"response": '{"a": 1}',
         "done": True, "done_reason": "stop"}, "whole", ("Ollama generate",)),
    Case("llama.cpp's completion", {"prompt": "", "json_schema": SHUT, "n_predict": 9},
         {"content": '{"y": 1', "stop_type": "limit", "tokens_predicted": 9}, "masked",
         ("llama.cpp completion",)),
    Case("the Responses interface (vllm#44012)", {"model": "m", "input": "", "text": {"format": {
         "type": "json_schema", "name": "a", "schema": SHUT}}}, {"object": "response", "output": [
         {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
         {"type": "message", "role": "assistant", "content": [{"type": "output_text",
          "text": '{"x":"a"}]}'}]}]}, "masked", ("OpenAI responses", "byte 9")),
    Case("content as parts (Magistral)", asked(), chat([{"type": "thinking", "thinking": [
         {"type": "text", "text": "hm"}]}, {"type": "text", "text": GOOD}]), "whole"),
    Case("arguments as an object (TGI#1624)", {"tools": [tool()], "tool_choice": "get_weather"},
         called({"city": "Rome"}, finish="eos_token"), "whole", ("as an object",)),
    Case("a legacy function_call", {"tools": [tool()], "tool_choice": "required"}, chat(
         None, "function_call", function_call={"name": "get_weather", "arguments": '{"city": 5}'}),
         "masked", ("/properties/city/type",)),
    Case("TensorRT-LLM's json", {"response_format": {"type": "json", "schema": SHUT}},
         chat('{"y": 5}'), "masked", ("/additionalProperties", "listed in the order in which"),
         ("property_order",)),
    Case("members in another order than the schema's", asked({"type": "object", "properties": {
         "a": {"type": "null"}, "b": {"type": "null"}}, "required": ["a", "b"]}),
         chat('{"b": null, "a": null}'), "masked", ("in the order in which",), ("property_order",)),
    Case("a name that begins none of the members (vllm#15577)", asked({"type": "object",
         "properties": {"brand": {"type": "null"}}, "required": ["brand"]}),
         chat('{"br o" : 1}'), "masked", ("The property brand is missing",),
         ("in another order", "property_order")),
    Case("text after the end", asked(), chat(GOOD + "x"), "masked",
         ("Expected by JSON, which has only the end of text",), ("xgrammar(",)),
    Case("a number below the minimum", asked(AGED), chat('{"age": -3}'), "masked",
         ("The number would be too small", "at byte 9"), ("Your schema allows",)),
    Case("a fraction in an integer", asked(AGED), chat('{"age": 3.5}'), "masked",
         ("a fraction or an exponent in an integer",), ("Your schema allows",)),
    Case("a comma before the end of an object", asked(AGED), chat('{"age": 3,}'), "masked",
         ("Expected by JSON, which has a name in double quotes here",), ("additionalProperties",)),
    Case("names in single quotes", asked(AGED), chat("{'age': 3}"), "masked",
         ("Expected by JSON, which has a name in double quotes here",), ("/type",)),
    Case("an answer that is null", asked(), chat(None), "ended early",
         ("the answer is empty", "'stop'"), NO_OPTION),
    Case("an answer that is null, at the limit", asked(max_tokens=5), chat(None, "length"), "cut",
         ("the answer is empty", "used up max_tokens (5)"), NO_OPTION),
    Case("an answer that is null, and calls were announced", asked(), chat(None, "tool_calls"),
         "ended early", ("there is none", "parser of calls"), NO_OPTION),
    Case("json_object with a schema", {"response_format": {"type": "json_object", "schema": SHUT}},
         chat('{"y": 5}'), "masked", ("/additionalProperties",)),
    Case("a schema beside the type", {"response_format": {"type": "json_schema", "schema": SHUT}},
         chat('{"y": 5}'), "masked", ('stands beside "type"', "llama.cpp takes it as it is")),
    Case("Gemma 4's channel (xgrammar#587)", asked(),
         chat('<|channel>thought\nhm\n<channel|>{"x":"a"}'), "masked",
         ("a marker of reasoning", "The answer after it is allowed.")),
    Case("tokens written twice (vllm#26292)", {"guided_json": {"type": "object", "properties": {
         "_note": {"type": "string"}}, "required": ["_note"]}},
         chat('{\n{\n  "_"notenote":": "Documen'), "masked", ("written twice", "advanced twice")),
    Case("arguments encoded twice", FORCED, called(json.dumps('{"city": "Rome"}')), "masked",
         ("JSON text inside a JSON string", "encoded them twice")),
    Case("a parser that is on is not asked for", asked(), chat(
         '{"x":"a"}', "stop", "<think>", "hm", "</think>", '{"x":"a"}', "<|im_end|>",
         reasoning="hm"), "whole", (), ("reasoning parser",)),
    Case("no setting takes a wrong value", asked(), chat(
         '{"x":5}', "stop", "<think>", "hm", "</think>", '{"x":5}', "<|im_end|>", reasoning="hm"),
         "masked", ("/properties/x/type",), ("would be taken",)),
    Case("a stream of pieces", asked(), [
         {"object": "chat.completion.chunk", "choices": [
          {"index": 0, "delta": {"content": '{"x": '}}]},
         {"object": "chat.completion.chunk", "choices": [
          {"index": 0, "delta": {"content": "5}"}, "finish_reason": "stop"}]}],
         "masked", ("/properties/x/type",)),
    Case("a value on its own line (Qwen3-Coder)", {"tools": [tool("f", {"type": "object",
         "properties": {"code": {"type": "string", "maxLength": 4}}, "required": ["code"]},
         strict=True)], "tool_choice": "required", "tool_call_parser": "qwen3_coder"},
         chat("<tool_call>\n<function=f>\n<parameter=code>\nRome\n</parameter>\n</function>\n"
              "</tool_call>"), "whole"),
    Case("Mistral's parser", {**FORCED, "tool_call_parser": "mistral"},
         chat('[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}'), "whole"),
    Case("Harmony with a space before its constraint", {**FORCED, "tool_call_parser": "openai"},
         chat("<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
              '{"city": "Rome"}<|call|>', tool_calls=[]), "whole"),
    Case("GLM 4.5's parser", {**FORCED, "tool_call_parser": "glm45"}, chat(
         "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
         "</tool_call>"), "whole"),
    Case("a stream as its text (SSE)", asked(), sent(
         delta({"content": '{"x": '}), delta({"content": "5}"}, "stop")),
         "masked", ("/properties/x/type", "byte 6")),
    Case("a stream of completions", {"prompt": "", "structured_outputs": {"regex": "[0-9]+"}}, [
         {"choices": [{"index": 0, "text": "12", "finish_reason": None}]},
         {"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}],
         "masked", ("byte 2",)),
    Case("a stream of SGLang's, which repeats the text", {"text": "", "sampling_params": {
         "regex": "[0-9]+"}}, [{"text": "12", "meta_info": {"finish_reason": None}},
         {"text": "12a", "meta_info": {"finish_reason": {"type": "stop"}}}], "masked", ("byte 2",)),
    Case("a Responses stream that was cut", {"text": {"format": {"type": "json_schema",
         "schema": SHUT}}}, [{"type": "response.created", "response": {"output": []}},
         {"type": "response.output_text.delta", "output_index": 0, "delta": '{"x": '},
         {"type": "response.output_text.delta", "output_index": 0, "delta": "5"}], "masked",
         ("OpenAI responses", "byte 6")),
    Case("a Responses log whose answer repeats the request", {}, {"object": "response",
         "status": "completed", "text": {"format": {"type": "json_schema", "schema": SHUT}},
         "output": [{"type": "message", "content": [{"type": "output_text",
                     "text": '{"x": 5}'}]}]}, "masked", ("/properties/x/type",)),
    Case("a Responses log with its text alone", asked(), {"output_text": '{"x": 5}'}, "masked",
         ("OpenAI responses", "/properties/x/type")),
    Case("a stream of Anthropic's", {"tools": [{"name": "get_weather", "input_schema": CITY}],
         "tool_choice": {"type": "any"}}, sent(
         {"type": "message_start", "message": {"role": "assistant", "type": "message",
          "content": [], "stop_reason": None}},
         {"type": "content_block_start", "index": 0, "content_block": {
          "type": "text", "text": ""}},
         {"type": "ping"},
         {"type": "content_block_delta", "index": 0, "delta": {
          "type": "text_delta", "text": "I look."}},
         {"type": "content_block_stop", "index": 0},
         {"type": "content_block_start", "index": 1, "content_block": {
          "type": "tool_use", "name": "get_weather", "input": {}}},
         {"type": "content_block_delta", "index": 1, "delta": {
          "type": "input_json_delta", "partial_json": '{"city": '}},
         {"type": "content_block_delta", "index": 1, "delta": {
          "type": "input_json_delta", "partial_json": "5}"}},
         {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
         {"type": "message_stop"}), "masked",
         ("Anthropic messages", "/properties/city/type", "beside the call, 'I look.'")),
    Case("a stream of TGI's", {"inputs": "", "parameters": {"grammar": {
         "type": "regex", "value": "[0-9]+"}}}, [
         {"index": 1, "token": {"id": 49, "text": "1", "logprob": -0.5}, "generated_text": None},
         {"index": 2, "token": {"id": 97, "text": "a", "logprob": -0.5}, "generated_text": "1a",
          "details": {"finish_reason": "length"}}], "masked", ("TGI generate", "token 1")),
    Case("a custom tool's own pattern", {"input": "", "tools": [{"type": "custom", "name": "f",
         "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}}]},
         {"object": "response", "status": "completed", "output": [
             {"type": "custom_tool_call", "name": "f", "input": "12a"}]}, "masked", ("byte 2",)),
    Case("a text beside a call", {"tools": [{"name": "get_weather", "input_schema": CITY}],
         "tool_choice": {"type": "tool", "name": "get_weather"}}, {"type": "message",
         "role": "assistant", "stop_reason": "tool_use", "content": [
             {"type": "text", "text": "I look."},
             {"type": "tool_use", "name": "get_weather", "input": {"city": 5}}]}, "masked",
         ("/properties/city/type", "Nothing constrains the text beside the call, 'I look.'")),
    Case("legacy functions, one of them named", {"functions": [
         {"name": "get_weather", "parameters": CITY}], "function_call": {"name": "get_weather"}},
         chat(None, function_call={"name": "get_weather", "arguments": '{"city": 5}'}), "masked",
         ("functions[0].parameters",)),
    Case("probabilities of an older llama.cpp", {"grammar": "root ::= [0-9]+"}, {"content": "12a",
         "tokens_predicted": 3, "completion_probabilities": [
             {"content": each, "probs": []} for each in "12a"]}, "masked", ("token 2",)),
    Case("TensorRT-LLM without a backend", {"response_format": {"type": "json", "schema": SHUT}},
         chat("Sure! Here"), "masked", ("not in force", "guided_decoding_backend")),
    Case("the mark of reasoning a second time", asked(**PARSED),
         chat('{"x":"a"}</think>{"x":"b"}', reasoning="hm"), "masked",
         ("closed its reasoning twice",), ("parser on",)),
    Case("thinking is off and not followed", asked(chat_template_kwargs={"enable_thinking": False}),
         chat('<think>hm</think>{"x":"a"}'), "masked",
         ("turns thinking off (enable_thinking: false), but", "The answer after it is allowed."),
         ("or the reasoning off",)),
    Case("Qwen 3's /no_think leaves the marks", asked(messages=[
         {"role": "system", "content": "/think"}, {"role": "user", "content": "Hi /no_think"}]),
         chat('<think>\n\n</think>\n\n{"x":"a"}'), "masked",
         ("/no_think in the prompt leaves the reasoning empty", "The answer after it is allowed."),
         ("the model reasoned",)),
    Case("Qwen 3's /think after /no_think", asked(messages=[
         {"role": "user", "content": "Hi /no_think"}, {"role": "assistant", "content": "Ho"},
         {"role": "user", "content": "/think a/no_think"}]),
         chat('<think>hm</think>{"x":"a"}'), "masked", ("the model reasoned",), ("/no_think in",)),
    Case("/think beside enable_thinking: false", {"prompt": "Hi /think", "extra_body": {
         "guided_choice": ["good"], "chat_template_kwargs": {"enable_thinking": False}}, **PARSED},
         chat("It is good."), "masked", ("Beside this setting /think in the prompt does nothing",)),
    Case("a call that stayed in the reasoning", {**FORCED, **PARSED}, chat(None, reasoning_content=(
         '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>')),
         "ended early", ("a call was demanded",), NO_OPTION),
    Case("no reasoning and no answer", asked(**PARSED, max_completion_tokens=7),
         chat(None, "length"), "cut", ("used up max_completion_tokens (7)",), NO_OPTION),
    Case("Ollama's limit by its own name", {"format": SHUT, "options": {"num_predict": 5}},
         {"message": {"content": "", "thinking": "hm"}, "done": True, "done_reason": "length"},
         "cut", ("options.num_predict (5)", '"think": false'), ("max_tokens",)),
    Case("MiniMax M3's marks", asked(), chat('<mm:think>hm</mm:think>{"x":"a"}'), "masked",
         ("marker of reasoning", "The answer after it is allowed.")),
    Case("an answer between marks of its own (Hunyuan)", asked(),
         chat('<think>\nhm\n</think>\n<answer>\n{"x":"a"}\n</answer>'), "masked",
         ("The answer after it is allowed.",)),
    Case("Harmony without its control tokens", asked(), chat('analysisHm.assistantfinal{"x":"a"}'),
         "masked", ("marker of reasoning", "The answer after it is allowed.")),
    Case("padding in place of an end", asked(), chat(GOOD, "length", GOOD, "<|pad|>", "<|pad|>"),
         "whole", ("<|pad|>", "or of padding")),
    Case("ignore_eos", asked(ignore_eos=True), chat(GOOD, "length", GOOD, "<|im_end|>", "abc"),
         "masked", ("token 11", "The request has ignore_eos")),
    Case("ignore_eos without an end", {"text": "", "sampling_params": {"ignore_eos": True,
         "json_schema": json.dumps(SHUT)}}, {"text": GOOD + "!", "output_ids": ids(GOOD, "!"),
         "meta_info": {"finish_reason": {"type": "length"}}}, "masked",
         ("The request has ignore_eos", "only the end")),
    Case("a request that the server gave up", {"text": "", "sampling_params": {
         "json_schema": json.dumps(SHUT)}}, {"text": '{"x"', "meta_info": {"finish_reason": {
         "type": "abort", "message": "Tokens not accepted: 271"}}}, "cut",
         ("gave the request up", "The server says: 'Tokens not accepted: 271'", "--line")),
    Case("a schema that vLLM gives to llguidance", asked({"type": "integer", "multipleOf": 5}),
         chat("12 "), "masked", ("/multipleOf", "llguidance"), ("xgrammar does not",),
         {"server": "vllm 0.33"}),
    Case("llama.cpp's remedies by its format alone", {"json_schema": SHUT}, {"stop_type": "eos",
         "content": "<think>hm</think>{}", "tokens_predicted": 9}, "masked",
         ("--reasoning-format",), ("vLLM",)),
    Case("a refusal in the parts of a message", {"text": {"format": {"type": "json_schema",
         "schema": SHUT}}}, {"object": "response", "status": "completed", "output": [
         {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}, "refused",
         ("The answer is a refusal",)),
    Case("a refusal as a reason for the end (Anthropic)", {"output_format": {"type": "json_schema",
         "schema": SHUT}}, {"type": "message", "role": "assistant", "stop_reason": "refusal",
         "content": [{"type": "text", "text": "I cannot"}]}, "refused", ("is a refusal",)),
    Case("a call that no parser read", {"tools": [tool()], "tool_choice": "required"}, chat(
         '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'),
         "masked", ("The text holds <tool_call>", "--tool-call-parser hermes")),
    Case("a call that no parser read, and none was demanded", {"tools": [tool()]}, chat(
         '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}'), "refused",
         ("The text holds [TOOL_CALLS]", "--tool-call-parser mistral")),
    Case("calls as JSON, where no parser is named", {"tools": [tool(), tool("now")],
         "tool_choice": "required"}, chat('[{"name": "now", "parameters": {"city": 5}}]'), "masked",
         ("list of objects with a name and parameters", "byte 40")),
    Case("white space that a setting forbids, in a text", asked(), chat('{"x":\n"a"}'), "masked",
         ("if white space were allowed", "--structured-outputs-config"), (),
         {"server": {"name": "vllm", "disable_any_whitespace": True}}),
    Case("an engine that is not read", asked(), chat('{"x":\n"a"}\n'), "whole", (), ("xgrammar",),
         {"server": {"name": "vllm", "engine": "lm-format-enforcer"}}),
    Case("a setting of the older vLLM", {"guided_json": SHUT,
         "guided_decoding_backend": "xgrammar:disable-any-whitespace"}, chat('{"x":\n"a"}'),
         "masked", ("if white space were allowed",)),
    Case("gpt-oss, whose reasoning has no switch", asked(reasoning_parser="openai_gptoss",
         max_tokens=9), chat(None, "length", reasoning="hm"), "cut",
         ("used up max_tokens (9)", '"reasoning_effort": "low"'), ("enable_thinking",)),
    Case("thinking is off by its effort", asked(**PARSED, reasoning_effort="none"), chat("Sure"),
         "masked", ("Thinking is off (reasoning_effort: none)", "waits for the mark")),
    Case("min_new_tokens by its own name", {"text": "", "sampling_params": {"min_new_tokens": 40,
         "json_schema": json.dumps(SHUT)}}, {"text": GOOD + "!", "output_ids": ids(GOOD, "!"),
         "meta_info": {"finish_reason": {"type": "length"}}}, "masked", ("min_new_tokens (40)",)),
    Case("no arguments", FORCED, called(""), "ended early", ("held against",), ("lost it",)),
    Case("a tool without parameters", {"tools": [{"type": "function", "function": {"name": "now"}}],
         "tool_choice": "required"}, called("[]", "now"), "masked", ("held against",)),
    Case("a server that is named", asked(X), chat('{"x": "a", "y": 1}'), "whole", (), ("vLLM",),
         {"server": {"name": "SGLang 0.5", "engine": "llguidance"}}),
)  # fmt: skip
