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
    pictures(shown, "machine", "algebra", "numbers", "mass", "profile", "depth")
    # The smallest schema: its texts, and a machine that spells them, state by state.
    assert shown.printed("machine").strip() == """['{"ok":true}', '{"ok":false}']"""
    # As many states as there are different sets of what may still follow (Myhill and Nerode).
    two = ('{"ok":true}', '{"ok":false}')
    prefixes = {t[:k] for t in two for k in range(len(t) + 1)}
    follows = {frozenset(t[len(p) :] for t in two if t.startswith(p)) for p in prefixes}
    assert shown.value("ok.dfa.num_states") == len(follows) == 15
    assert "It is yes." in shown.printed("by-hand") and len(shown.value("pairs")) == 15
    # Keywords, by brute force with the validator.
    schema = {"type": "string", "pattern": "^[ab]*$", "maxLength": 2, "not": {"const": "a"}}
    valid = jsonschema.Draft202012Validator(schema)
    words = ["".join(w) for k in range(4) for w in product("abc", repeat=k)]
    fits = [w for w in words if valid.is_valid(w)]
    assert shown.value("keywords.examples(20)") == [json.dumps(w) for w in fits]
    assert f"It is {len(fits)}." in shown.printed("algebra")
    sets = """explorer.regex('"[ab]*"') & explorer.regex('".{0,2}"') - explorer.literal('"a"')"""
    for pair in (f"({sets}) - keywords", f"keywords - ({sets})"):
        assert shown.value(f"({pair}).is_empty()")
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
    assert "It is more than ten times as large." in shown.printed("profile")
    assert shown.value("open_profile.rows[0].states") == 1462
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
    assert re.fullmatch(str(answer("json-pattern")), '{"a":"x""b":true}') is None
    assert answer("json-keyword") == "additionalProperties"


def test_grammars(show: Show) -> None:
    shown = show("08_grammars")
    pictures(
        shown, "count", "machine", "figure-6", "figure-7", "stack", "regular", "bounded", "draft",
        "expected",
    )  # fmt: skip
    # The states that counting takes, by the sets of what may follow.
    for n, size in shown.value("sizes").items():
        if int(n) > 5:
            continue
        every = ["a" * k + "b" * k for k in range(1, int(n) + 1)]
        begins = {text[:k] for text in every for k in range(len(text) + 1)}
        follows = {frozenset(t[len(p) :] for t in every if t.startswith(p)) for p in begins}
        assert size == len(follows) == 2 * int(n) + 1
    assert "It is 11." in shown.printed("count")
    # Figure 6: the rules S → ab | aSb, and the return address on the stack.
    assert shown.plain("figure-6").splitlines() == [
        "state 0, a: leads to state 1",
        "state 1, a: pushes S→aS·b, leads to state 1",
        "state 1, b: leads to state 2",
        "state 2, b: pops S→aS·b, leads to state 2",
    ]
    # Figure 7, and the stack, counted with fingers.
    assert "It is 2." in shown.printed("figure-7")
    assert shown.value("heights") == [0, 0, 3, 2, 0]
    assert "It is 3." in shown.printed("stack")
    assert [int(h) for h in re.findall(r"(\d) on the stack", shown.plain("stack"))] == [3, 2]
    # The masks, by brute force over the texts of the language.
    language = {"a" * k + "b" * k for k in range(1, 12)}
    for text, said in shown.value("masks").items():
        text = text.replace("(nothing)", "")
        assert said == [
            *(t for t in ("a", "b", "bb", "aaab") if any(w.startswith(text + t) for w in language)),
            *(["end"] if text in language else []),
        ]
    opened = [re.split(r" {2,}", row) for row in shown.plain("rules").splitlines()[3:]]
    assert [row[1].count("term") for row in opened] == [1, 3, 3, 1, 0]
    assert [row[0].count("(") - row[0].count(")") for row in opened] == [1, 3, 3, 1, 0]
    # Regular after all.
    assert "It is 2." in shown.printed("regular")
    assert "the same as a*b: True" in shown.printed("regular")
    assert [*shown.value("verdicts").values()] == ["table", "table", "stack", "refused"]
    assert "A rule that begins with itself" in shown.printed("refused")
    assert shown.value("[c.dfa.num_states for c in bounded.values()]") == [4, 6, 8, 10, 12]
    # The draft changes no text, and what it saves is near the sum that is counted by hand.
    assert "It is no." in shown.printed("draft")
    assert isinstance(json.loads(shown.value("together.text")), dict)
    accepted, of, passes = shown.value("[accepted, len(taken), together.passes]")
    assert 0 < accepted < of and passes < of
    assert shown.plain("draft").count("the draft was wrong)") == of - accepted
    p = accepted / of
    assert abs(shown.value("per_pass") - sum(p**k for k in range(5))) < 0.5
    assert "2 of 5 tokens allowed" in widget(shown)
    # The exercises.
    assert answer("grammars-height") == "aaabb".count("a") - "aaabb".count("b")
    grammar = """explorer.grammar('root ::= "x" root | "y" tail\\ntail ::= "z" tail | ""')"""
    pattern = f"explorer.regex({str(answer('grammars-regular'))!r})"
    for one, other in ((grammar, pattern), (pattern, grammar)):
        assert shown.value(f"({one} - {other}).is_empty()")
    assert answer("grammars-draft") == 1 + 0.5 + 0.5**2
