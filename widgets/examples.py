"""The field's well-known examples, as one may start from in the constraint editor.

They are larger than the presets of `widgets.kinds` and stand after them in the list. The same
character is written in five ways: as a pattern, as a pydantic model (JSON, and a call of it), as a
template, and as a template whose parts are interleaved with text.
"""

from __future__ import annotations

from typing import Final

from widgets.kinds import PRESETS, Preset

_CHARACTER: Final = "Characters of Harry Potter, one by one.\n\n"

_CLASS: Final = """from pydantic import BaseModel, Field

class Character(BaseModel):
    name: Annotated[str, Field(pattern="^[A-Z][a-z]+( [A-Z][a-z]+)?$")]
    house: Literal["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]
    year: Annotated[int, Field(ge=1, le=7)]
    pets: Annotated[list[Literal["owl", "cat", "toad", "rat"]], Field(max_length=2)] = []
"""

_TEMPLATE: Final = r"""template("Name: {name}\nHouse: {house}\nYear: {year}\nPets: {pets}\n",
    name=gen(regex="[A-Z][a-z]+( [A-Z][a-z]+)?"),
    house=gen(choices=["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]),
    year=gen(regex="[1-7]"),
    pets=many(choice(["owl", "cat", "toad", "rat"]), max=2, separator=", "))"""

_INTERLEAVED: Final = r"""template("{name} said: \"{line}\" The hat shouted: \"{house}!\" {tail}\n",
    name=gen(choices={"Harry": "Harry Potter", "Ron": ["Ron Weasley", "Ronald"]}),
    line=gen(stop=["\"", "\n"]),
    house=gen(choices={"G": "GRYFFINDOR", "S": "SLYTHERIN"}),
    tail=gen(json_schema={"type": "object", "properties": {"points": {"type": "integer",
        "minimum": 0, "maximum": 150}}, "required": ["points"], "additionalProperties": False}))"""

_COUNTRIES: Final = ("France", "Germany", "India", "Japan", "Kenya", "Norway", "Peru")

EXAMPLES: Final = (
    Preset(
        "Harry Potter (regex)", "regex",
        r"Name: [A-Z][a-z]+( [A-Z][a-z]+)?\nHouse: (Gryffindor|Hufflepuff|Ravenclaw|Slytherin)\n"
        r"Year: [1-7]\nPets: (none|(owl|cat|toad|rat)(, (owl|cat|toad|rat))?)\n",
        _CHARACTER,
    ),
    Preset("Harry Potter (pydantic)", "Python type", _CLASS, _CHARACTER),
    Preset("Harry Potter (Python call)", "Python calls", _CLASS, _CHARACTER),
    Preset("Harry Potter (template)", "template", _TEMPLATE, _CHARACTER),
    Preset("Harry Potter (interleaved)", "template", _INTERLEAVED, _CHARACTER),
    Preset(
        "Pink Floyd single (regex)", "regex",
        r'\{"title":"[A-Z][A-Za-z \',]{0,40}","year":(19[67][0-9]|198[0-9]|199[0-4]),'
        r'"chart":([1-9][0-9]?|100|null)\}',
        "Singles of Pink Floyd as JSON: ",
    ),
    Preset(
        "URL", "regex",
        r"https?://([a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?\.){1,3}[a-z]{2,6}(:[1-9][0-9]{0,4})?"
        r"(/[A-Za-z0-9._~-]*){0,4}(\?[a-z]+=[A-Za-z0-9]+(&[a-z]+=[A-Za-z0-9]+){0,2})?",
        "The page is at ",
    ),
    Preset(
        "Moby Dick", "regex", r"[A-Z][a-z]+( [a-z]+){4,20}\.",
        "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money "
        "in my purse, and nothing particular to interest me on shore, I thought I would sail about "
        "a little and see the watery part of the world. ",
    ),
    Preset("countries", "choices", "\n".join(_COUNTRIES), "The capital of Norway is in "),
    Preset(
        "countries in any case", "regex",
        "|".join(f"{name}|{name.upper()}|{name.lower()}" for name in _COUNTRIES),
        "THE COUNTRY IS ",
    ),
)  # fmt: skip
"""Each has a prompt; a larger model than the embedded one goes on as it says."""

OFFERED: Final = (*PRESETS, *EXAMPLES)
"""All that the editor's list holds."""


def prompt_of(name: str) -> str:
    """The prompt of a preset; empty if there is no such preset.

    Args:
        name: As in the list.

    Example:
        >>> prompt_of("IPv4"), prompt_of("sonnet")
        ('The host is ', '')
    """
    return next((preset.prompt for preset in OFFERED if preset.name == name), "")
