"""The presets of the constraint editor, and its names for kinds of constraints.

The kinds themselves are registered in the engine (`explorer.languages.sources.registry`): a source
that registers itself is offered here without further code.

The well-known examples of the field follow, to start from in the constraint editor. They are larger
than the first presets and come after them in the list. One character is written in five ways: as a
pattern, as a pydantic model (JSON, and a call of it), as a template, and as a template whose parts
are interleaved with text. Every kind of constraint that the editor offers has at least one example;
after its prompt the embedded model is likely to write a text of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from explorer.arguments import instance, wrong
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry
from explorer.languages.stages.declared import steps_of
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.languages.stages.restricted import Restricted
from explorer.languages.stages.stage import PipelineStage
from explorer.languages.stages.staged import Placed
from explorer.languages.stages.tokens import Canonical, WithoutIsolatedSpaces, WithoutRedundantBytes
from explorer.vocabulary import Vocabulary
from widgets.tag_texts import TAG_TEXTS

if TYPE_CHECKING:
    from explorer.decoding.models.model import LanguageModel

_BUILT_IN: Final = {name: registry.reader_of(name) for name in registry.offered()}


def register_kind(name: str, constraint_of_kind: Callable[[str], Constraint]) -> None:
    """Offer another notation for constraints in the editor, in this kernel.

    The constraint is explained and saved as what the function returns. For a kind that keeps its
    own text there, register a `explorer.automata.tree.nodes.Source` instead.

    Args:
        name: The name in the editor.
        constraint_of_kind: Makes a constraint from the text that the user writes; the editor shows
            the errors that it raises.

    Raises:
        ConstraintError: The name is not a str, or the other argument is not a function.

    Example:
        >>> from explorer import literal
        >>> from explorer.languages.sources.registry import forget
        >>> register_kind("shouting", lambda text: literal(text.upper()))
        >>> constraint_of_kind("shouting", "stop").accepts("STOP")
        True
        >>> forget("shouting")
    """
    instance("name", name, str, "the name of a kind", error=ConstraintError)
    if not callable(constraint_of_kind):
        raise wrong(
            "constraint_of_kind", constraint_of_kind, "a function", error=ConstraintError,
            remedy="Give a function from the text to a constraint.",
        )  # fmt: skip
    registry.register_reader(name, lambda text: constraint_of_kind(text).source)


def kinds(current: str | None = None) -> tuple[str, ...]:
    """The names of all kinds that can be written.

    Args:
        current: The kind of the present constraint, which is named even if it cannot be written.
    """
    names = registry.offered()
    return names if current is None or current in names else (*names, current)


def constraint_of_kind(kind: str, text: str) -> Constraint:
    """The constraint that is written as a text of some kind.

    Args:
        kind: A name from `kinds`.

    Raises:
        ConstraintError: There is no such kind, or it has no text form.
        ExplorerError: The kind refuses the text.

    Example:
        >>> constraint_of_kind("choices", "yes\\nno").accepts("no")
        True
    """
    return Constraint(registry.read(kind, text))


def is_built_in(kind: str) -> bool:
    """Whether a kind is built in, so that other processes know it too.

    Example:
        >>> is_built_in("regex"), is_built_in("sonnet")
        (True, False)
    """
    return kind in _BUILT_IN and registry.reader_of(kind) == _BUILT_IN[kind]


@dataclass(frozen=True, slots=True)
class Preset:
    """A constraint to start from.

    Args:
        kind: A name from `kinds`.
        model: The model that it is for; empty for the present one.
        stages: The names of stages around it; see `widgets.kinds.STAGES`.
        heal: Whether the prompt is a part of the constraint; see `explorer.Session`.
    """

    name: str
    kind: str
    text: str
    prompt: str = ""
    model: str = ""
    stages: tuple[str, ...] = ()
    heal: bool = False


TOY: Final = "toy (paper's vocabulary)"

_TEXT: Final = r' ?"([^"\\\x00-\x1f]|\\["\\/bfnrt])*"'

# Digits are written [0-9]: \d is every digit of Unicode, 660 characters.
PRESETS: Final = (
    Preset(TOY, "regex", "(foo)+d"),
    Preset("choices", "choices", "Yes\nNo\nMaybe", "Is it raining?\n"),
    Preset(
        "ISO date-time",
        "regex",
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "The meeting starts at ",
    ),
    Preset(
        "IPv4",
        "regex",
        r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}"
        r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
        "The host is ",
    ),
    Preset("quoted text", "regex", _TEXT, '{"title":'),
    Preset(
        "API call",
        "regex",
        r"(get_weather|get_time)\(city=\"[A-Z][a-z]+\"(, days=[1-9])?\)",
        "What is the weather in Paris on Monday?\n",
    ),
    Preset(
        "JSON record",
        "regex",
        r'\{"name": "[A-Za-z ]{1,20}", "age": [1-9]?[0-9], "member": (true|false)\}',
        "Write a JSON record of a person on one line.\n",
    ),
)


COMPRESSION: Final = "zlib"
"""The preset model that is not a transformer: `explorer.decoding.models.compression`."""

_PERSON: Final = "Write a JSON record of a person on one line.\n"
_LINES: Final = "Write a record of a person.\n"

_PUPIL: Final = """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "pattern": "^[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8})?$"},
    "house": {"enum": ["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]},
    "year": {"type": "integer", "minimum": 1, "maximum": 7},
    "pets": {"type": "array", "items": {"enum": ["owl", "cat", "toad", "rat"]}, "maxItems": 2}
  },
  "required": ["name", "house", "year"],
  "additionalProperties": false
}"""

_TEMPLATE: Final = r"""template("Name: {name}\nHouse: {house}\nYear: {year}\nPets: {pets}\n",
    name=gen(regex="[A-Z][a-z]{2,8}"),
    house=gen(choices=["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]),
    year=gen(regex="[1-7]"),
    pets=many(choice(["owl", "cat", "toad", "rat"]), max=2, separator=", "))"""

_INTERLEAVED: Final = r"""template("{name} said: \"{line}\" The hat shouted: \"{house}!\" {tail}\n",
    name=gen(choices={"Harry": "Harry Potter", "Ron": ["Ron Weasley", "Ronald"]}),
    line=gen(stop=["\"", "\n"], max_tokens=16),
    house=gen(choices={"G": "GRYFFINDOR", "S": "SLYTHERIN"}),
    tail=gen(json_schema={"type": "object", "properties": {"points": {"type": "integer",
        "minimum": 0, "maximum": 150}}, "required": ["points"], "additionalProperties": False}))"""

_SINGLE_PATTERN: Final = (
    r'\{"title":"[A-Z][A-Za-z \',]{0,40}","year":(19[67][0-9]|198[0-9]|199[0-4]),'
    r'"chart":([1-9][0-9]?|100|null)\}'
)
"""JSON written by hand as a pattern; it allows no escapes."""

_SINGLE: Final = """{
  "type": "object",
  "properties": {
    "title": {"type": "string", "pattern": "^[A-Z][A-Za-z ',]{0,40}$"},
    "year": {"type": "integer", "minimum": 1960, "maximum": 1994},
    "chart": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 100}, {"type": "null"}]}
  },
  "required": ["title", "year", "chart"],
  "additionalProperties": false
}"""

_SINGLES: Final = (
    'Singles of Pink Floyd: {"title":"Arnold Layne","year":1967,"chart":20} '
    '{"title":"See Emily Play","year":1967,"chart":6} '
)

_GAME: Final = """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 12},
    "class": {"enum": ["warrior", "wizard", "ranger", "healer", "thief", "knight", "bard"]},
    "level": {"type": "integer", "minimum": 1, "maximum": 30},
    "hp": {"type": "integer", "minimum": 1, "maximum": 100},
    "items": {"type": "array", "items": {"enum": ["rope", "torch", "map", "key", "potion"]},
      "maxItems": 3}
  },
  "required": ["name", "class", "level"],
  "additionalProperties": false
}"""

_EVENT: Final = """{
  "type": "object",
  "properties": {
    "event": {"enum": ["concert", "meeting", "exam", "wedding", "race", "lecture", "festival"]},
    "date": {"type": "string", "format": "date"},
    "place": {"type": "string", "pattern": "^[A-Z][a-z]+$", "maxLength": 12}
  },
  "required": ["event", "date"],
  "additionalProperties": false
}"""

_CALL: Final = """{
  "oneOf": [
    {
      "properties": {
        "call": {"const": "get_weather"},
        "city": {"enum": ["Paris", "Rome", "Oslo", "Madrid"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 9}
      },
      "required": ["call", "city", "days"]
    },
    {
      "properties": {
        "call": {"const": "get_time"},
        "city": {"enum": ["Paris", "Rome", "Oslo", "Madrid"]}
      },
      "required": ["call", "city"]
    }
  ],
  "type": "object",
  "unevaluatedProperties": false
}"""

_SUMS: Final = r"""root ::= sum "=" number
sum ::= term ("+" term)+
term ::= number | "(" sum ")"
number ::= [1-9] [0-9]?
"""

_NESTED: Final = r"""root ::= "a" root "b" | "ab"
"""

_LISTS: Final = r"""start: list
list: "[" item ("," item)* "]"
item: list | NUMBER
NUMBER: /[1-9][0-9]?/
"""

_PHRASES: Final = r"""root ::= phrase
phrase ::= "(" item (", " item)? ")"
item ::= phrase | word
word ::= [a-z]+
"""

_MOBY_DICK: Final = (
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money "
    "in my purse, and nothing particular to interest me on shore, I thought I would sail about "
    "a little and see the watery part of the world. "
)

_COUNTRIES: Final = ("France", "Germany", "India", "Japan", "Kenya", "Norway", "Peru")

_ALIASES: Final = "{\n{}\n}".replace("{}", ",\n".join(
    f'  "{name}": ["{name}", "{name.upper()}", "{name.lower()}"]' for name in _COUNTRIES
))  # fmt: skip

_QUOTED: Final = "The sky is blue, the grass is green and the sun is yellow."

EXAMPLES: Final = (
    Preset(
        "Harry Potter (regex)", "regex",
        r"Name: [A-Z][a-z]{2,8}\nHouse: (Gryffindor|Hufflepuff|Ravenclaw|Slytherin)\n"
        r"Year: [1-7]\nPets: (none|(owl|cat|toad|rat)(, (owl|cat|toad|rat))?)\n",
        _LINES,
    ),
    Preset("Harry Potter (JSON Schema)", "JSON Schema", _PUPIL, _PERSON),
    Preset("Harry Potter (template)", "template", _TEMPLATE, _LINES),
    Preset("Harry Potter (interleaved)", "template", _INTERLEAVED, "At school. "),
    Preset("Pink Floyd single (regex)", "regex", _SINGLE_PATTERN, _SINGLES),
    Preset("Pink Floyd single (JSON Schema)", "JSON Schema", _SINGLE, _SINGLES),
    Preset(
        "game character (JSON Schema)", "JSON Schema", _GAME,
        "Write a JSON record of a game character on one line.\n",
    ),
    Preset(
        "event with a date (JSON Schema)", "JSON Schema", _EVENT,
        "Write a JSON record of an event on one line.\n",
    ),
    Preset(
        "function call (JSON Schema)", "JSON Schema", _CALL, "What time is it in Rome?\n",
    ),
    Preset("sums in parentheses (grammar)", "grammar", _SUMS, "What is 3 + 4?\n"),
    Preset("aⁿbⁿ (grammar)", "grammar", _NESTED, "As many a as b: "),
    Preset("nested lists (Lark)", "grammar (Lark)", _LISTS, "As a list: "),
    Preset("nested phrases", "grammar", _PHRASES, "A phrase in brackets:"),
    Preset(
        "URL", "regex",
        r"https?://([a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?\.){1,3}[a-z]{2,6}(:[1-9][0-9]{0,4})?"
        r"(/[A-Za-z0-9._~-]*){0,4}(\?[a-z]+=[A-Za-z0-9]+(&[a-z]+=[A-Za-z0-9]+){0,2})?",
        "Read more on ",
    ),
    Preset("Moby Dick", "regex", r"[A-Z][a-z]+( [a-z]+){4,20}\.", _MOBY_DICK),
    Preset(
        "Moby Dick (zlib for a model)", "regex",
        r" (Ishmael|Ahab|Queequeg|Starbuck|Stubb|Flask)\. [A-Z][a-z]{3} years ago",
        f"{_MOBY_DICK}Call me", COMPRESSION,
    ),
    Preset("countries", "choices", "\n".join(_COUNTRIES), "Q: Where is Oslo?\nA: In "),
    Preset(
        "countries in any case", "regex",
        "|".join(f"{name}|{name.upper()}|{name.lower()}" for name in _COUNTRIES),
        "THE COUNTRY IS ",
    ),
    Preset("countries by name", "choices with aliases", _ALIASES, "Read more on https://example.org/"),
    Preset(
        "summary in bullet points (PARAGRAPH_TOKEN)", "regex",
        r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>){3,8}){3,5}",
        "Q: What do you know about France?\nA: ",
    ),
    Preset(
        "words of a text (SUBSTRING_OF)", "regex",
        f"The grass is (?P<SUBSTRING_OF>{_QUOTED})", "Q: What colour is the grass?\nA: ",
    ),
    Preset(
        "colours in their order (DELIMITED_SUBSEQUENCE_OF)", "regex",
        "(?P<DELIMITED_SUBSEQUENCE_OF>, |red|orange|yellow|green|blue|violet)",
        "Name three colours.\n",
    ),
    Preset(
        "sums (DELIMITED_LIST)", "regex",
        r"(?P<DELIMITED_LIST>; |[1-9] \+ [1-9] = [1-9][0-9]?)", "What is 3 + 4?\n",
    ),
    Preset(
        "YAML record (UNQUOTED_TEXT)", "regex",
        r"name: (?P<UNQUOTED_TEXT>)\nage: [1-9][0-9]\n",
        "name: Maria\nage: 31\n\nname: Jonas\nage: 54\n\n",
    ),
    Preset(
        "text up to a phrase (TEXT_UNTIL)", "regex", "(?P<TEXT_UNTIL>.)",
        "Tell me about France.\n",
    ),
)  # fmt: skip
"""The examples, each with a prompt; a larger model than the embedded one follows it."""

PITFALLS: Final = (
    Preset(
        "pitfall: preprocessing", "choices", "Paris\nRome", "", "tiny-sp", ("preprocessed",),
    ),
    Preset(
        "pitfall: canonical tokens", "choices", " Berlin\n London\n Paris", "The city is", "tiny",
        ("canonical",),
    ),
    Preset(
        "pitfall: scripts of Unicode", "regex", r" [A-ZÄÖÜА-Я]\w{2,6}",
        "The capital of Germany is", "tiny-sp", ("latin",),
    ),
    Preset(
        "pitfall: bytes or characters", "choices", " Grüße\n Grüne\n Größe", "In German:",
        "tiny-sp", ("characters",),
    ),
    Preset(
        "pitfall: isolated spaces", "regex", " (five|ten|seventeen)",
        "In Roman numerals XVII means", "tiny-sp", ("spaces",),
    ),
    Preset(
        "pitfall: token healing", "regex", "[a-zA-Z ,.0-9-]{0,30}", "What is the col", "tiny-sp",
        ("canonical",), heal=True,
    ),
    Preset(
        "pitfall: masks and probability", "choices", " New York.\n Boston.\n Lima.",
        "The night train stops at", "tiny",
    ),
)  # fmt: skip
"""One for each notebook on the pitfalls of tokens, in their order, with its model and stages."""

STAGES: Final[Mapping[str, Callable[[Vocabulary], PipelineStage]]] = MappingProxyType(
    {
        "preprocessed": lambda vocabulary: Preprocessed(steps_of(vocabulary)),
        "canonical": lambda _: Canonical(),
        "latin": lambda _: Restricted(scripts=("Latin",)),
        "characters": lambda _: WithoutRedundantBytes(),
        "spaces": lambda _: WithoutIsolatedSpaces(),
    }
)
"""The stages that a preset may name, for the vocabulary that it is compiled for."""


def preset_stages(preset: Preset, vocabulary: Vocabulary) -> tuple[Placed, ...]:
    """The stages that a preset brings."""
    return tuple((STAGES[name](vocabulary), True) for name in preset.stages)


def preset_model(preset: Preset) -> LanguageModel:
    """The model that a preset brings; the first embedded one if it brings none."""
    # Imported here, because a process that only compiles must not load torch.
    from explorer.decoding.models.compression import CompressionModel
    from explorer.decoding.models.load import load_model

    if preset.model == COMPRESSION:
        return CompressionModel(load_model("tiny").vocabulary)
    return load_model(preset.model or "tiny")


PIECES: Final = (
    Preset("the assistant's turn", "control token", "<|assistant|>", "What time is it? "),
    Preset("any tokens but a turn", "any tokens", "<|user|>\n<|assistant|>", "In short: "),
    Preset("text without a code fence", "any text", "```", "In short: "),
    Preset("text until a tag", "text until", "</think>", "Let me think: "),
)
"""Control tokens and free text, of which constraints over several phases are made."""


def _asked(question: str, tools: str = "", *, harmony: bool = False) -> str:
    """A question as the chat templates of the model of phases write it."""
    offered = [("system", f"Tools: {tools}")] if tools else []
    turns = [*offered, ("user", question)]
    if harmony:
        written = "".join(f"<|start|>{role}<|message|>{said}<|end|>" for role, said in turns)
        return written + "<|start|>assistant"
    written = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns)
    return written + "<|im_start|>assistant\n"


_TAG_PROMPTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "think, then answer": _asked("What is the capital of Norway? Answer in JSON."),
        "a call of a tool": _asked("What is the weather in Rome?", "get_weather(city)"),
        "calls of several tools": _asked(
            "What is the weather in Madrid, and what time is it in UTC?",
            "get_weather(city), get_time(zone)",
        ),
        "channels of Harmony": _asked(
            "What is the weather in Oslo?", "get_weather(city)", harmony=True
        ),
    }
)

TAGS: Final = tuple(
    Preset(name, "structural tag", text, _TAG_PROMPTS[name], "tiny-chat")
    for name, text in TAG_TEXTS.items()
)
"""Runs of several phases: reasoning, calls of tools, answers."""

OFFERED: Final = (*PRESETS, *EXAMPLES, *PITFALLS, *PIECES, *TAGS)
"""All presets in the editor's list."""


def preset_of(name: str) -> Preset | None:
    """The preset of a name.

    Example:
        >>> preset_of("IPv4").prompt, preset_of("sonnet")
        ('The host is ', None)
    """
    return next((preset for preset in OFFERED if preset.name == name), None)
