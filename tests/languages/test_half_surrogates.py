"""Half of a surrogate pair is refused wherever a constraint is given, with one message.

No file in UTF-8 could hold the constraint, and no text in UTF-8 could match that half.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import pytest

import explorer
from explorer import choice, from_type, gen, json_schema, literal, regex, template
from explorer.cli.commands import parser
from explorer.cli.options import constraint_of
from explorer.errors import ConstraintError
from explorer.languages.sources.registry import read
from explorer.languages.template.functions import many

HALF = "\ud800"


def command_line(*words: str) -> object:
    return constraint_of(parser().parse_args(["compile", "--tokenizer", "none", *words]))


GIVEN: dict[str, Callable[[], object]] = {
    "literal": lambda: literal(HALF),
    "choice": lambda: choice(["a", HALF]),
    "pattern": lambda: regex(f"a|{HALF}"),
    "class of a pattern": lambda: regex(f"[^{HALF}]a"),
    "comment of a pattern": lambda: regex(f"(?#{HALF})a"),
    "const": lambda: json_schema({"const": HALF}),
    "enum": lambda: json_schema({"enum": ["a", HALF]}),
    "property": lambda: json_schema({"properties": {HALF: True}}),
    "title": lambda: json_schema({"items": {"title": HALF}}),
    "pattern of a schema": lambda: json_schema({"pattern": HALF}),
    "JSON": lambda: json_schema(f'{{"const": "{HALF}"}}'),
    "escape in JSON": lambda: json_schema(r'{"items": {"const": "a\ud800"}}'),
    "capital escape in JSON": lambda: json_schema(r'{"enum": [{"\uDFFF": 1}]}'),
    "template": lambda: template(HALF + "{x}", x=regex("a")),
    "generated pattern": lambda: gen(regex=HALF),
    "generated choice": lambda: gen(choices=[HALF]),
    "generated text": lambda: gen(stop=HALF),
    "generated schema": lambda: gen(json_schema={"const": HALF}),
    "separator": lambda: many(regex("a"), separator=HALF),
    "type": lambda: from_type(_literal()),
    "type as Python": lambda: from_type(_literal(), style="python"),
    "written template": lambda: read("template", r'template("\ud800{x}", x=regex("a"))'),
    "expression": lambda: read("template", f'template("{HALF}")'),
    "--regex": lambda: command_line("--regex", f"a|{HALF}"),
    "--choice": lambda: command_line("--choice", HALF),
    "--constraint": lambda: command_line("--constraint", "JSON Schema", r'{"const": "\ud800"}'),
}


def _literal() -> Any:
    # Written as text, Python's own tools could not save this file.
    return Literal["\ud800"]


@pytest.mark.parametrize("given", GIVEN)
def test_half_of_a_pair_is_refused_where_it_is_given(given: str) -> None:
    with pytest.raises(ConstraintError, match=r"half of a surrogate pair.*UTF-8 cannot hold"):
        GIVEN[given]()


def test_an_escape_in_a_pattern_is_no_half() -> None:
    for pattern in (r"[^\ud800]a", r"[^\ud800-\udfff]a", r"\ud800|aa"):
        for text in ("aa", "a", "éa"):
            assert regex(pattern).accepts(text) == bool(re.fullmatch(pattern, text))
    found = json_schema({"type": "string", "pattern": r"^[^\ud800-\udfff]$"})
    assert found.accepts('"a"') and not found.accepts('"aa"')


def test_whole_pairs_of_escapes_are_text() -> None:
    assert json_schema(r'{"const": "\ud83d\uDE00"}').accepts('"\U0001f600"')
    assert explorer.regex("\U0001f600").accepts("\U0001f600")


def test_a_class_that_is_not_a_type_of_values_is_refused_in_own_words() -> None:
    for other in (re, _Other, list[_Other]):
        with pytest.raises(ConstraintError) as refused:
            from_type(other)
        assert "not a type whose values JSON can hold" in refused.value.message
        assert "arbitrary_types_allowed" not in str(refused.value)


class _Other:
    """A class that says nothing about its values."""
