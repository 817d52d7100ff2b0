"""The notebooks on JSON and on grammars run, and show what their text speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise, product

import jsonschema

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_json_and_types(show: Show) -> None:
    shown = show("07_json_and_types")
    pictures(shown, "machine", "algebra", "numbers", "mass", "closed", "depth")
    # The smallest schema: its texts, and a machine that spells them, state by state.
    assert shown.printed("machine").strip() == """['{"ok":true}', '{"ok":false}']"""
    # As many states as there are different sets of what may still follow (Myhill and Nerode).
    two = ('{"ok":true}', '{"ok":false}')
    prefixes = {t[:k] for t in two for k in range(len(t) + 1)}
    follows = {frozenset(t[len(p) :] for t in two if t.startswith(p)) for p in prefixes}
    assert shown.value("ok.dfa.num_states") == len(follows) == 15
    assert "It is True." in shown.printed("by-hand") and len(shown.value("pairs")) == 15
    # Keywords, by brute force with the validator.
    schema = {"type": "string", "pattern": "^[ab]*$", "maxLength": 2, "not": {"const": "a"}}
    valid = jsonschema.Draft202012Validator(schema)
    words = ["".join(w) for k in range(4) for w in product("abc", repeat=k)]
    fits = [w for w in words if valid.is_valid(w)]
    assert shown.value("keywords.examples(20)") == [json.dumps(w) for w in fits]
    assert f"It is {len(fits)}." in shown.printed("algebra")
    assert "the same set: True" in shown.printed("algebra")
    assert [whole for whole in range(20) if shown.value(f"whole.accepts('{whole}')")] == [
        8, 9, 10, 11, 12,
    ]  # fmt: skip
    # The three ways: `re`, and pydantic's own reading of what was written.
    texts = shown.value("texts")
    assert "It is pydantic." in shown.printed("three-written")
    record = (
        r"Name: [A-Z][a-z]{2,8}\nHouse: (Gryffindor|Hufflepuff|Ravenclaw|Slytherin)\n"
        r"Year: [1-7]\nPets: (none|(owl|cat|toad|rat)(, (owl|cat|toad|rat))?)\n"
    )
    assert re.fullmatch(record, texts["pattern"]) and re.fullmatch(record, texts["template"])
    assert shown.value("Character.model_validate_json(texts['pydantic']) == objects['pydantic']")
    assert shown.value("objects['template']['name']") in texts["template"]
    assert shown.value("[c.dfa.num_states for c in ways.values()]") == [96, 112, 93]
    assert "Expected by /properties/year/maximum." in shown.printed("keyword")
    assert "It is house." in shown.printed("mass")
    assert shown.plain("mass").count("(marked)") == 4
    # The open object, and the closed one.
    assert "It is 1063." in shown.printed("profile")
    assert shown.value("closed_profile.rows[0].states") == 112
    assert shown.value("max(row.states for row in open_profile.rows[1:])") == 38
    # Depth: each level twice, and eleven states around it.
    sizes = [*shown.value("sizes").values()]
    assert sizes[0] == 45 and all(b == 2 * a + 11 for a, b in pairwise(sizes))
    assert "It is 437." in shown.printed("depth")
    assert "Expected by max_depth=1" in shown.printed("deep")
    rows = [row.split() for row in shown.plain("deep").splitlines()[2:]]
    for levels, *said in rows:
        by_limit = ["yes" if int(levels) <= d + 2 else "no" for d in (1, 2, 3)]
        assert said == [*by_limit, "yes"]
    assert "2 of 4,000 tokens allowed" in widget(shown)
    # The exercises, by the validator.
    few = {
        "type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2,
        "uniqueItems": True,
    }  # fmt: skip
    arrays = [[*a] for k in range(4) for a in product("abc", repeat=k)]
    assert answer("json-count") == sum(map(jsonschema.Draft202012Validator(few).is_valid, arrays))
    closed = jsonschema.Draft202012Validator(
        {
            "type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "boolean"}},
            "required": ["b"], "additionalProperties": False,
        }
    )  # fmt: skip
    for text in ('{"b":true}', '{"a":"x","b":false}', '{"a":"x"}', '{"a":"y","b":true}', "{}"):
        fits_pattern = re.fullmatch(str(answer("json-pattern")), text) is not None
        assert fits_pattern == closed.is_valid(json.loads(text)), text
    assert answer("json-keyword") == "additionalProperties"
