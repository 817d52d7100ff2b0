"""Turns messages into token ids with a tokenizer's chat template.

A template is untrusted code. transformers runs it in Jinja's sandbox, without files and modules,
and its exceptions become errors of ours. Text in a message that looks like a control token becomes
one, because the template produces text that the tokenizer then reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from explorer.arguments import flag, listed, plain, whole_text, wrong
from explorer.errors import ExplorerError

_MESSAGES = 'Give messages such as [{"role": "user", "content": "..."}].'
_TOOLS = 'Give tools such as {"type": "function", "function": {"name": "...", "parameters": {}}}.'


def chat_ids(
    tokenizer: Any,
    name: str,
    messages: Iterable[Mapping[str, Any]],
    tools: Iterable[Mapping[str, Any]] | None = None,
    template: str | None = None,
    add_generation_prompt: bool = True,
) -> tuple[int, ...]:
    """The ids of a conversation; see `HuggingFaceModel.prompt`.

    Args:
        tokenizer: A tokenizer of transformers.
        name: The name of the model, for errors.

    Raises:
        ExplorerError: The tokenizer has no such template, the template refuses the messages, or an
            argument is of the wrong type.
    """
    turns = [_message(k, each) for k, each in enumerate(_listed("messages", messages))]
    offered = (
        None if tools is None else [_tool(k, t) for k, t in enumerate(_listed("tools", tools))]
    )
    adds = flag("add_generation_prompt", add_generation_prompt)
    if not tokenizer.chat_template:
        raise ExplorerError(
            f"The tokenizer of {name} has no chat template.",
            remedy="Give the prompt as one text, in the form that the model was trained on.",
        )
    chosen = None if template is None else _template(tokenizer, template)
    last = turns[-1] if turns else {}
    goes_on = last.get("role") == "assistant" and bool(last.get("content"))
    goes_on = goes_on and not last.get("tool_calls")
    try:
        ids = tokenizer.apply_chat_template(
            turns, tools=offered or None, chat_template=chosen, tokenize=True, return_dict=False,
            add_generation_prompt=adds and not goes_on, continue_final_message=adds and goes_on,
        )  # fmt: skip
        return tuple(int(token) for token in ids)
    except Exception as error:  # A template may raise anything.
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise ExplorerError(
            f"The chat template of {name} refuses these messages: {reason}.",
            remedy=_MESSAGES,
            evidence={"roles": [turn["role"] for turn in turns], "error": type(error).__name__},
        ) from error


def _listed(name: str, given: object) -> list[object]:
    if isinstance(given, Mapping):
        raise wrong(name, cast("object", given), f"a list of {name}", remedy="Put it into a list.")
    return listed(name, given, f"a list of {name}")


def _message(number: int, given: object) -> dict[str, Any]:
    place = f"messages[{number}]"
    message = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    if not isinstance(message.get("role"), str):
        whole = cast("object", given)
        raise wrong(place, whole, 'a message with a "role"', remedy=_MESSAGES)
    _check_content(place, message)
    for key, value in message.items():
        if isinstance(value, str):
            whole_text(f"{place}[{key!r}]", value)
    return dict(message)


def _check_content(place: str, message: Mapping[str, Any]) -> None:
    """Refuse a message without content, unless it has something else that a template may write.

    Raises:
        ExplorerError: There is no content, or it is a number.
    """
    content = message.get("content")
    if isinstance(content, bool | int | float):
        raise wrong(f"{place}['content']", content, "a text or a list of parts")
    others = [key for key in message if key not in ("role", "name", "content")]
    misspelled = get_close_matches("content", others, 1, 0.8)
    if content is None and (misspelled or not others):
        said = f"{place}, of the role {message['role']!r}, has no content"
        near = f"; it has {misspelled[0]!r}" if misspelled else ""
        raise ExplorerError(f"{said}{near}.", remedy=_MESSAGES, evidence={"message": place})


def _tool(number: int, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise wrong(f"tools[{number}]", given, "a tool", remedy=_TOOLS)
    return dict(cast("Mapping[str, Any]", given))


def _template(tokenizer: Any, template: object) -> str:
    """The name of a template that the tokenizer has; the text of a template is refused."""
    carried: object = tokenizer.chat_template
    names = list(cast("Mapping[str, str]", carried)) if isinstance(carried, Mapping) else []
    name = plain(template) if isinstance(template, str) else None
    if name is None or name not in names:
        known = ", ".join(map(repr, names)) or "only one, without a name"
        raise wrong(
            "template", template, "the name of a chat template",
            remedy=f"This tokenizer has {known}.",
        )  # fmt: skip
    return name


def text_of_ids(
    tokens: Sequence[bytes | None], special: Mapping[int, str], ids: Iterable[int]
) -> str:
    """The ids of a prompt as text for a record, with control tokens shown by name."""
    return b"".join(
        (tokens[i] if i < len(tokens) else None) or special.get(i, "").encode() for i in ids
    ).decode(errors="replace")
