"""The cases of the benchmark of invasiveness: workloads with their schemes, and questions.

Each workload is one language in three forms: a constraint over characters (ours), a grammar over
terminals (for the lookaheads), and, where there is one, a template. The forms of a workload have
the same or nearly the same texts; what a scheme may write is that of its own form.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import explorer
from explorer import Constraint, gen, json_schema, template
from explorer.languages.grammar.shipped import shipped_grammar
from explorer.tokens.schemes.terminals import TerminalGrammar
from models import facts


@dataclass(frozen=True)
class Workload:
    """One kind of text.

    Args:
        prompt: What it is asked with.
        constraint: The language, over characters.
        grammar: It over terminals.
        template: It as a template, where it is one.
    """

    prompt: str
    constraint: Callable[[], Constraint]
    grammar: TerminalGrammar
    template: Callable[[], Constraint] | None = None


_NAME: Final = "[A-Z][a-z]{1,9}"

JSON_TERMINALS: Final = {
    "open": r"\{", "close": r"\}", "begin": r"\[", "end": r"\]", "colon": ":", "comma": ",",
    "space": r"[ \n]+", "string": r'"[^"\\\n]*"', "number": r"-?[0-9]+(\.[0-9]+)?",
    "word": "true|false|null",
}  # fmt: skip

JSON: Final = TerminalGrammar(
    JSON_TERMINALS,
    {
        "text": (("ws", "value", "ws"),),
        "value": (("object",), ("array",), ("string",), ("number",), ("word",)),
        "object": (("open", "ws", "close"), ("open", "ws", "members", "ws", "close")),
        "members": (("member",), ("members", "ws", "comma", "ws", "member")),
        "member": (("string", "ws", "colon", "ws", "value"),),
        "array": (("begin", "ws", "end"), ("begin", "ws", "items", "ws", "end")),
        "items": (("value",), ("items", "ws", "comma", "ws", "value")),
        "ws": ((), ("space",)),
    },
)

PERSON: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": f"^{_NAME}$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "city": {"type": "string", "pattern": f"^{_NAME}$"},
    },
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}

_FIELDS: Final = ("name", "age", "city")

PERSON_TERMINALS: Final = TerminalGrammar(
    {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "line": r"\n  ", "last": r"\n",
        "space": " ", "string": f'"{_NAME}"', "number": "0|[1-9][0-9]?",
        **{f"key_{name}": f'"{name}"' for name in _FIELDS},
    },
    {
        "text": (
            (
                "open", "line", "key_name", "colon", "space", "string", "comma",
                "line", "key_age", "colon", "space", "number", "comma",
                "line", "key_city", "colon", "space", "string", "last", "close",
            ),
        )
    },
)  # fmt: skip

C: Final = TerminalGrammar(
    {
        "type": "int|char|float|double|void", "name": "[a-z_][a-z_0-9]*", "number": "[0-9]+",
        "space": r"[ \n]+", "open": r"\(", "close": r"\)", "begin": r"\{", "end": r"\}",
        "comma": ",", "semicolon": ";", "assign": "=", "operator": "[-+*/<>]",
        "string": r'"[^"\\\n]*"',
        "return": "return", "if": "if", "while": "while",
    },
    {
        "text": (("ws", "function"),),
        "function": (
            ("type", "space", "name", "ws", "open", "parameters", "close", "ws", "begin", "body",
             "ws", "end"),
        ),
        "parameters": ((), ("parameter",), ("parameters", "comma", "ws", "parameter")),
        "parameter": (("type", "space", "name"),),
        "body": ((), ("body", "ws", "statement")),
        "statement": (
            ("type", "space", "name", "ws", "assign", "ws", "value", "semicolon"),
            ("name", "ws", "assign", "ws", "value", "semicolon"),
            ("return", "space", "value", "semicolon"),
            ("if", "ws", "open", "value", "close", "ws", "begin", "body", "ws", "end"),
            ("while", "ws", "open", "value", "close", "ws", "begin", "body", "ws", "end"),
            ("call", "semicolon"),
        ),
        "value": (("operand",), ("value", "ws", "operator", "ws", "operand")),
        "operand": (("name",), ("number",), ("string",), ("call",), ("open", "value", "close")),
        "call": (("name", "open", "close"), ("name", "open", "values", "close")),
        "values": (("value",), ("values", "comma", "ws", "value")),
        "ws": ((), ("space",)),
    },
)  # fmt: skip
"""Functions in a part of C: a reserved word is also read as a name."""

XML_PATTERN: Final = f"<person><name>{_NAME}</name><age>[0-9]{{1,2}}</age></person>"

XML: Final = TerminalGrammar(
    {
        "less": "<", "slash": "</", "greater": ">", "person": "person", "label": "name",
        "age": "age", "word": _NAME, "number": "[0-9]{1,2}",
    },
    {
        "text": (
            ("less", "person", "greater", "less", "label", "greater", "word", "slash", "label",
             "greater", "less", "age", "greater", "number", "slash", "age", "greater", "slash",
             "person", "greater"),
        )
    },
)  # fmt: skip

LINE: Final = TerminalGrammar(
    {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "space": " ",
        "key_name": '"name"', "key_age": '"age"', "string": f'"{_NAME}"', "number": "[0-9]{1,2}",
    },
    {
        "text": (
            ("open", "key_name", "colon", "space", "string", "comma", "space", "key_age", "colon",
             "space", "number", "close"),
        )
    },
)  # fmt: skip

ONE_LINE: Final = "Write a JSON record of a person on one line.\n"

WORKLOADS: Final = {
    "JSON": Workload(ONE_LINE, lambda: shipped_grammar("json"), JSON),
    "JSON with schema": Workload(
        "Write a JSON record of a person on several lines.\n",
        lambda: json_schema(PERSON, whitespace="pretty"),
        PERSON_TERMINALS,
        lambda: template(
            '{{\n  "name": "{name}",\n  "age": {age},\n  "city": "{city}"\n}}',
            name=gen(regex=_NAME), age=gen(regex="0|[1-9][0-9]?"), city=gen(regex=_NAME),
        ),
    ),
    "C": Workload("Write a function in C.\n", lambda: shipped_grammar("c"), C),
    "XML with schema": Workload(
        "Write a person as XML.\n",
        lambda: explorer.regex(XML_PATTERN),
        XML,
        lambda: template(
            "<person><name>{name}</name><age>{age}</age></person>",
            name=gen(regex=_NAME), age=gen(regex="[0-9]{1,2}"),
        ),
    ),
    "template": Workload(
        ONE_LINE,
        lambda: template(
            '{{"name": "{name}", "age": {age}}}',
            name=gen(regex=_NAME), age=gen(regex="[0-9]{1,2}"),
        ),
        LINE,
        lambda: template(
            '{{"name": "{name}", "age": {age}}}',
            name=gen(regex=_NAME), age=gen(regex="[0-9]{1,2}"),
        ),
    ),
}  # fmt: skip


# --- questions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question with a number as its answer.

    Args:
        text: The question, for the chat template.
        kind: What the template of its answer is called.
        operands: The numbers that it names.
        result: The answer.
    """

    text: str
    kind: str
    operands: tuple[int, int]
    result: int


SIGNS: Final = {"+": ("sum", 21, 21), "-": ("difference", 31, 16), "*": ("product", 11, 11)}


def arithmetic_cases(count: int) -> list[Question]:
    """Sums, differences and products, asked as in the training corpus."""
    every = [
        Question(
            f"Write the {name} of {a} and {b} as JSON.", name, (a, b),
            a + b if sign == "+" else a - b if sign == "-" else a * b,
        )
        for sign, (name, most, other) in SIGNS.items()
        for a in range(most)
        for b in range(other)
        if sign != "-" or 0 <= a - b < 16
    ]  # fmt: skip
    return random.Random(0).sample(every, count)


_STORIES: Final = (
    ("{who} has {a} {things} and gets {b} more. How many {things} does {who} have?", "+"),
    ("{who} has {a} {things} and gives {b} away. How many {things} are left?", "-"),
    ("{who} buys {a} boxes of {b} {things}. How many {things} is that?", "*"),
)
_THINGS: Final = ("apples", "books", "eggs", "lemons", "pens", "stamps")


def word_problems(count: int) -> list[Question]:
    """Stories with one step, in plain words of the corpus; none of them is in it."""
    rng, found = random.Random(1), dict[str, Question]()
    while len(found) < count:
        story, sign = rng.choice(_STORIES)
        a, b = rng.randrange(2, 21), rng.randrange(2, 11)
        if sign == "-":
            a = b + rng.randrange(16)
        told = story.format(who=rng.choice(facts.FIRST_NAMES), a=a, b=b, things=rng.choice(_THINGS))
        result = a + b if sign == "+" else a - b if sign == "-" else a * b
        text = f"{told} Write the steps and the answer as JSON."
        found[text] = Question(text, "story", (a, b), result)
    return list(found.values())


def answer_template(kind: str) -> Constraint:
    """The template of an answer.

    Args:
        kind: As a question has it.
    """
    number = gen(regex="[0-9]{1,3}")
    if kind == "story":
        steps = gen(regex="[0-9]{1,3} [-+*] [0-9]{1,3} = [0-9]{1,3}")
        return template('{{"steps": "{steps}", "answer": {answer}}}', steps=steps, answer=number)
    return template(
        f'{{{{"a": {{a}}, "b": {{b}}, "{kind}": {{c}}}}}}', a=number, b=number, c=number
    )
