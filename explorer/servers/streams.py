"""Streams and text logs: what a server wrote piece by piece, put together as a response.

A stream comes as server-sent events, as a line of JSON for each piece, or as a list of pieces. vLLM
and SGLang also print requests and responses as text, in the notation of Python; such text is parsed
and never evaluated.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Any, Final, cast

from explorer.files import parse_json
from explorer.servers.log import LogPlace, ServerLog, parsed

_Object = dict[str, Any]

_TEXTS: Final = frozenset({
    "content", "text", "arguments", "reasoning", "reasoning_content", "thinking", "refusal",
    "response", "partial_json",
})  # fmt: skip
"""The keys whose texts come in pieces."""

LONGEST_LINE: Final = 2**20
"""The longest line of a text log that is read."""


def joined(log: ServerLog) -> ServerLog:
    """The same log with the pieces of a stream put together; any other log as it is."""
    place = log.response
    if isinstance(place.value, str):  # The body of the response as it was sent.
        documents = documents_of_events(place.value.encode())
        whole: object = documents[0] if documents else parsed(place.value)
        if isinstance(whole, dict):
            whole = cast("_Object", whole)
            whole = whole["response"] if list(whole) == ["response"] else whole
        log = ServerLog(log.request, LogPlace(place.file, place.path, whole or place.value))
    pieces = [each.mapping() for each in log.answers() if isinstance(each.value, dict)]
    if not pieces or not _is_piece(pieces[0]):
        return log
    made = _joined(pieces)
    return ServerLog(log.request, LogPlace(log.response.file, log.response.path, made))


def _is_piece(value: _Object) -> bool:
    """Whether an object is a piece of a stream."""
    kind, choices, meta = value.get("type"), value.get("choices"), _member(value, "meta_info")
    listed = cast("list[object]", choices) if isinstance(choices, list) else []
    first = cast("_Object", listed[0]) if listed and isinstance(listed[0], dict) else {}
    return (
        str(value.get("object", "")).endswith(".chunk")
        or "delta" in first
        or ("text" in first and first.get("finish_reason", "") is None)
        or ("finish_reason" in meta and meta["finish_reason"] is None)
        or value.get("done") is False
        or (isinstance(value.get("token"), dict) and "generated_text" in value)
        or (isinstance(kind, str) and kind.startswith(("response.", "message_", "content_block")))
        or (value.get("stop") is False and "content" in value)
    )


def _joined(pieces: list[_Object]) -> _Object:
    """A response from its pieces."""
    for piece in pieces:
        if str(piece.get("type", "")) in ("response.completed", "response.incomplete"):
            return _member(piece, "response")
    if any(str(piece.get("type", "")).startswith("message_") for piece in pieces):
        return _of_blocks(pieces)
    if any(str(piece.get("type", "")).startswith("response.") for piece in pieces):
        return _of_deltas(pieces)
    if all("meta_info" in piece for piece in pieces) and all(
        str(later.get("text", "")).startswith(str(before.get("text", "")))
        for before, later in pairwise(pieces)
    ):
        return pieces[-1]  # SGLang sends the whole text so far.
    whole: _Object = {}
    for piece in pieces:
        whole = _added(whole, piece, "")
    if isinstance(whole.get("token"), dict):
        tokens = [piece["token"] for piece in pieces if isinstance(piece.get("token"), dict)]
        return {**whole, "details": {**_member(whole, "details"), "tokens": tokens}}
    listed = whole.get("choices")
    for choice in cast("list[Any]", listed) if isinstance(listed, list) else ():
        if isinstance(choice, dict) and "delta" in choice:
            held = cast("_Object", choice)
            held["message"] = held.pop("delta")
    return whole


def _added(before: Any, more: Any, key: str) -> Any:
    """A value with what a later piece adds to it."""
    if more is None or before is None:
        return before if more is None else more
    if isinstance(before, dict) and isinstance(more, dict):
        held = cast("_Object", before)
        return held | {
            name: _added(held.get(name), value, name)
            for name, value in cast("_Object", more).items()
        }
    if isinstance(before, list) and isinstance(more, list):
        listed: list[Any] = [*before]
        for entry in cast("list[Any]", more):
            at = _index(entry)
            same = [k for k, each in enumerate(listed) if at is not None and _index(each) == at]
            if same:
                listed[same[0]] = _added(listed[same[0]], entry, key)
            else:
                listed.append(entry)
        return listed
    if isinstance(before, str) and isinstance(more, str) and key in _TEXTS:
        return before + more
    return more


def _index(value: Any) -> object:
    return cast("_Object", value).get("index") if isinstance(value, dict) else None


def _member(owner: _Object, key: str) -> _Object:
    """A member that is an object; else an empty one."""
    value = owner.get(key)
    return cast("_Object", value) if isinstance(value, dict) else {}


def _of_blocks(pieces: list[_Object]) -> _Object:
    """A message from Anthropic's events, which begin, extend and end blocks."""
    whole: _Object = {}
    blocks: dict[str, _Object] = {}
    for piece in pieces:
        at = str(piece.get("index"))
        match piece.get("type"):
            case "message_start":
                whole = {**_member(piece, "message")}
            case "content_block_start":
                blocks[at] = {**_member(piece, "content_block")}
            case "content_block_delta":
                delta = {
                    key: each for key, each in _member(piece, "delta").items() if key != "type"
                }
                blocks[at] = _added(blocks.get(at, {}), delta, "")
            case "message_delta":
                whole |= _member(piece, "delta")
            case _:
                pass
    for block in blocks.values():
        if isinstance(text := block.pop("partial_json", None), str):
            block["input"] = text
    return {**whole, "content": list(blocks.values())}


def _of_deltas(pieces: list[_Object]) -> _Object:
    """A response from the events of the Responses interface, cut before its end."""
    kinds = {"output_text": "message", "function_call_arguments": "function_call",
             "reasoning_text": "reasoning", "reasoning_summary_text": "reasoning"}  # fmt: skip
    items: dict[str, _Object] = {}
    for piece in pieces:
        at, event = str(piece.get("output_index", 0)), str(piece.get("type")).split(".")
        if event[1:2] == ["output_item"]:
            items[at] = items.get(at, {}) | _member(piece, "item") | items.get(at, {})
        kind = kinds.get(event[1]) if event[-1] == "delta" else None
        if kind is None:
            continue
        item = items.setdefault(at, {"type": kind})
        if kind == "function_call":
            item["arguments"] = str(item.get("arguments") or "") + str(piece.get("delta", ""))
        else:
            held = item.setdefault("content", [])
            part = {"type": "output_text", "text": piece.get("delta", "")}
            held.append(part)
    return {"object": "response", "status": "incomplete", "output": list(items.values())}


def documents_of_events(data: bytes) -> list[object]:
    """The documents of a file that is a stream; empty for any other file."""
    lines = data.split(b"\n")
    if data.lstrip().startswith((b"data:", b"event:", b":")):
        parts = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    else:
        first = _object(next((line for line in lines if line.strip()), b""))
        if first is None or not _is_piece(first):
            return []
        parts = [line.strip() for line in lines if line.strip()]
    documents, pieces = list[object](), list[_Object]()
    for part in [*parts, b"[DONE]"]:
        piece = _object(part)
        if piece is not None:
            pieces.append(piece)
        if pieces and (piece is None or piece.get("done") is True):
            documents.append(pieces if len(pieces) > 1 else pieces[0])
            pieces = []
    return [{"response": each} if isinstance(each, list) else each for each in documents]


def _object(data: bytes) -> _Object | None:
    if not data.strip().startswith(b"{"):
        return None
    try:
        value = parse_json(data, constant=float)
    except ValueError:
        return None
    return cast("_Object", value) if isinstance(value, dict) else None


# --- text logs --------------------------------------------------------------------------------

_TEXT: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_RECEIVED: Final = re.compile(rf"Received request (\S+): (?:prompt: ({_TEXT}|None), )?params: (.*)")
_GENERATED: Final = re.compile(
    rf"Generated response (\S+?)(?: \(([^)]*)\))?: output: ({_TEXT}), "
    r"output_token_ids: (\[[\d, ]*\]|None), finish_reason: (\w+)"
)
_FINISHED: Final = re.compile(r"Finish: obj=(\w+\(.*\)), out=(\{.*\})")


def documents_of_log(data: bytes) -> list[object]:
    """The requests and responses in a text log of vLLM or SGLang; empty for any other file."""
    if b"Generated response " not in data and b"Finish: obj=" not in data:
        return []
    asked: dict[str, _Object] = {}
    pieces: dict[str, list[object]] = {}
    documents = list[object]()
    for line in data.decode(errors="replace").splitlines():
        if len(line) > LONGEST_LINE:
            continue
        if match := _RECEIVED.search(line):
            values = _python(_call(match[3]))
            settings = cast("_Object", values) if isinstance(values, dict) else {}
            prompt = _python(match[2]) if match[2] else None
            asked[match[1]] = {**settings, "prompt": prompt}
        elif match := _GENERATED.search(line):
            ids, finish = _python(match[4]), match[5]
            if match[2] == "streaming delta":
                pieces.setdefault(match[1], []).extend(cast("list[object]", ids or []))
                continue
            if finish == "streaming_complete":  # It has the text; its pieces have the tokens.
                ids, finish = pieces.pop(match[1], None), None
            choice = {"text": _python(match[3]), "token_ids": ids, "finish_reason": finish}
            documents.append({"server": "vllm", "request": asked.get(match[1]) or {},
                              "response": {"choices": [choice]}})  # fmt: skip
        elif match := _FINISHED.search(line):
            documents.append({"server": "sglang", "request": _python(match[1]),
                              "response": _python(match[2])})  # fmt: skip
    return documents


def _call(text: str) -> str:
    """The call that a text begins with, up to its closing bracket."""
    depth = 0
    for part in re.finditer(rf"{_TEXT}|[()]", text):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if part[0] == ")" and depth == 0:
            return text[: part.end()]
    return text


def _python(text: str) -> object:
    """The value of a literal, or the arguments of a call by name; ``None`` for anything else."""
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Call):
        given = {each.arg: _value(each.value) for each in node.keywords if each.arg is not None}
        return {key: value for key, value in given.items() if value is not None}
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
