"""Conversations for tests: sets of tools, random texts of a structural tag, and random cuts."""

from __future__ import annotations

import json
import random
from typing import Any

from explorer import Vocabulary

Schema = dict[str, Any]


def tool(name: str, parameters: Schema | None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def closed(required: list[str], **properties: Schema) -> Schema:
    return {
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


TEXT: Schema = {"type": "string"}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "one": [tool("get_weather", closed(["city"], city=TEXT, unit={"enum": ["C", "F"]}))],
    "names that begin alike": [
        tool("get", closed([], key=TEXT)),
        tool("get_weather", closed(["city", "days"], city=TEXT, days={"enum": [1, 2, 3]})),
        tool("get_time", closed(["zone"], zone={"enum": ["UTC", "CET", None]}, exact={
            "type": "boolean"})),
    ],
    "nested": [
        tool("search", closed(["query"], query=TEXT, where={"type": "array", "items": TEXT})),
        tool("send", closed(["to", "body"], to=closed(["name"], name=TEXT, cc={
            "type": "array", "items": {"enum": ["me", "you"]}}), body=TEXT)),
    ],
}  # fmt: skip
WORDS = (
    "Paris",
    "so",
    " ",
    "<",
    "a b",
    "é",
    "{",
    "\n",
    "</",
    "12",
    "tool",
    ">",
    "\\n",
    "∂",
    "call",
)


class Talk:
    """Random texts of formats."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)

    def free(self, excluded: list[str]) -> str:
        """Some words without some strings."""
        text = "".join(self.draws.choices(WORDS, k=self.draws.randint(0, 4)))
        return "" if any(each in text for each in excluded) else text

    def white(self) -> str:
        return self.draws.choice(["", "", "", " ", "\n ", "\t"])

    def json(self, schema: Any) -> str:
        """A text of a JSON Schema of this file."""
        draws, white = self.draws, self.white
        if "enum" in schema:
            return json.dumps(draws.choice(schema["enum"]))
        if schema["type"] == "string":
            return json.dumps(self.free(['"']), ensure_ascii=draws.random() < 0.3)
        if schema["type"] == "boolean":
            return draws.choice(["true", "false"])
        if schema["type"] == "array":
            items = [self.json(schema["items"]) for _ in range(draws.randint(0, 2))]
            inner = f"{white()},{white()}".join(items)
            return f"[{white()}{inner}{white()}]" if items else f"[{white()}]"
        members = [
            f'"{name}"{white()}:{white()}{self.json(inner)}'
            for name, inner in schema["properties"].items()
            if name in schema["required"] or draws.random() < 0.5
        ]
        inner = f"{white()},{white()}".join(members)
        return f"{{{white()}{inner}{white()}}}" if members else f"{{{white()}}}"

    def text(self, given: Any, ends: tuple[str, ...] = ()) -> str:
        """A text of a format, most likely."""
        draws = self.draws
        match given["type"]:
            case "const_string":
                return given["value"]
            case "regex":
                return str(draws.randint(0, 120))
            case "any_text":
                return self.free([*given["excludes"], *ends])
            case "json_schema" if given["style"] == "json":
                return self.json(given["json_schema"])
            case "json_schema":
                return self.markup(given)
            case "sequence":
                return "".join(self.text(each, ends) for each in given["elements"])
            case "or":
                return self.text(draws.choice(given["elements"]), ends)
            case "optional":
                return self.text(given["content"], ends) if draws.random() < 0.6 else ""
            case "star":
                return "".join(
                    self.text(given["content"], ends) for _ in range(draws.randint(0, 1))
                )
            case "tag":
                stops = given["end"] if isinstance(given["end"], list) else [given["end"]]
                inner = self.text(given["content"], tuple(stops))
                return given["begin"] + inner + draws.choice(stops)
            case "tags_with_separator":
                count = 1 if given["stop_after_first"] else draws.randint(1, 2)
                tags = [self.text(draws.choice(given["tags"])) for _ in range(count)]
                return given["separator"].join(tags)
            case "triggered_tags":
                excluded = [*given["triggers"], *given["excludes"], *ends]
                text = "" if given["at_least_one"] else self.free(excluded)
                for _ in range(1 if given["stop_after_first"] else draws.randint(1, 2)):
                    text += self.text(draws.choice(given["tags"]))
                    text += "" if given["stop_after_first"] else self.free(excluded)
                return text
            case other:
                raise AssertionError(other)

    def markup(self, given: Any) -> str:
        """The arguments of a call in a model's markup."""
        from explorer.languages.phases.markup import STYLES

        style, text = STYLES[given["style"]], ""
        schema = given["json_schema"]
        for name, inner in schema["properties"].items():
            if name not in schema["required"] and self.draws.random() < 0.5:
                continue
            before = style.before.replace("\x00", name).replace("\n", self.white())
            value = self.json(inner)
            is_text = value.startswith('"')
            kind = "string" if is_text else inner.get("type", "number")
            before = before.replace("\x01", style.kinds.get(kind, ""))
            value = json.loads(value) if is_text else f"{self.white()}{value}{self.white()}"
            text += self.white() + before + value + style.after
        return text + self.white()


def small() -> Vocabulary:
    """Every byte, and pieces of markup that cross the borders of tags."""
    markup = """
        get _weather city ": " "} "," <| |> </tool_call> <tool_call> <think> </think> >< = weather
        <param eter </param call> _call <tool [ ] }} } "}} x function <function= </function>
        <|channel|> final <|message|> <|end|> <|call|> /
    """
    pieces = {*WORDS, *markup.split(), ": ", '", "', "\n\n", "}\n</tool", ">\n"}
    several = sorted(piece.encode() for piece in pieces if len(piece.encode()) > 1)
    tokens = [*(bytes([byte]) for byte in range(256)), *several]
    return Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def cut(text: str, vocabulary: Vocabulary, draws: random.Random) -> list[int]:
    """Ids that write a text, most of them long."""
    known: dict[bytes, int] = {}
    for token, data in enumerate(vocabulary.tokens):
        if data:
            known.setdefault(data, token)
    data, at, ids = text.encode(), 0, list[int]()
    while at < len(data):
        here = [n for n in range(1, 17) if data[at : at + n] in known and at + n <= len(data)]
        size = here[-1] if draws.random() < 0.6 else draws.choice(here)
        ids.append(known[data[at : at + size]])
        at += size
    return ids
