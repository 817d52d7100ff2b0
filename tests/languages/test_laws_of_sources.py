"""Every kind of source answers the same questions, or refuses by name, and consistently."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from contextlib import suppress

import pytest

import explorer
from explorer import Budget, Constraint, choice, from_type, grammar, json_schema, literal, regex
from explorer.analysis.explaining.answer import explain_text
from explorer.automata.discovered.discover import small_or_discovered
from explorer.errors import BudgetExceeded, ConstraintError, DamagedFile, ExplorerError
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.terminals import delimited_subsequence_of
from tests.evidence import calls_of

NESTED = 'root ::= "(" root ")" | "x"'
TREE = {
    "type": "object", "properties": {"c": {"$ref": "#"}}, "additionalProperties": False,
}  # fmt: skip


ONCE = json_schema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True})


def nested() -> Constraint:
    """A grammar that recurses."""
    return grammar(NESTED)


KINDS: dict[str, Callable[[], Constraint]] = {
    "regex": lambda: regex("a+|b"),
    "regex without words": lambda: regex("(?!)"),
    "literal": lambda: literal("y"),
    "the empty text": lambda: literal(""),
    "choice": lambda: choice(["yes", "no"]),
    "aliases": lambda: choice({"Green": "green", "Red": ["brick", "rust"]}),
    "schema": lambda: json_schema({"enum": [1, "a", None]}),
    "schema without words": lambda: json_schema({"type": "integer", "enum": ["a"]}),
    "schema on a stack": lambda: json_schema(TREE, recursion="stack"),
    "schema unrolled": lambda: json_schema(TREE, max_depth=1),
    "items once": lambda: json_schema({"items": {"type": "integer"}, "uniqueItems": True}),
    "items once, in a union": lambda: ONCE | regex("a+"),
    "items once, in a sequence": lambda: regex("n=") + ONCE + literal("!"),
    "items once, but a few": lambda: ONCE - literal("[1]"),
    "items once, of a few": lambda: ONCE & regex(r".{1,5}"),
    "all but items once": lambda: ~ONCE,
    "any JSON": lambda: explorer.json(1, 1),
    "type": lambda: from_type(bool),
    "grammar": nested,
    "grammar that is regular": lambda: grammar('root ::= "a" | "b" "c"'),
    "ambiguous grammar": lambda: grammar('root ::= root root | "a"', ambiguous=True),
    "Lark": lambda: grammar('start: "a" start | "b"', "lark"),
    "bounded grammar": lambda: nested().bounded(2),
    "template": lambda: explorer.template("n={n}", n=regex("[0-9]")),
    "union": lambda: regex("a*") | literal("b"),
    "union with a grammar": lambda: nested() | literal("y"),
    "grammar behind a union": lambda: literal("y") | nested(),
    "concatenation with a grammar": lambda: nested() + literal("!"),
    "repeated grammar": lambda: nested().star(),
    "optional grammar": lambda: nested().optional(),
    "intersection": lambda: regex("a*") & regex("..?"),
    "intersection with a grammar": lambda: nested() & regex(".{1,3}"),
    "intersection without words": lambda: nested() & regex("z+"),
    "difference with a grammar": lambda: nested() - literal("x"),
    "complement": lambda: ~regex("a*"),
    "complement of a grammar": lambda: ~nested(),
    "normalized": lambda: regex("é").normalized("NFC"),
    "restricted": lambda: regex("..?").restrict(chars="ab"),
    "tokens": lambda: regex("(?P<TEXT_TOKEN>)"),
}

TEXTS = (
    "",
    "[1]",
    "[1,1]",
    "[1,2]",
    "n=[1,2]!",
    "n=[2,2]!",
    "a",
    "b",
    "y",
    "x",
    "(x)",
    "((x)",
    "1",
    "null",
    "{}",
    '{"c":{}}',
    "n=3",
    "yes",
    "é",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_of_a_constraint_fits_together(kind: str) -> None:
    """Examples are words, an empty language has none, and what is a word has a meaning."""
    constraint = KINDS[kind]()
    examples = constraint.examples(4, budget=Budget(seconds=60))
    assert constraint.is_empty() is (not examples)
    assert [len(each.encode()) for each in examples] == sorted(len(e.encode()) for e in examples)
    assert len(set(examples)) == len(examples)
    # A copy that is made after the first question has what that question left behind.
    constraint.accepts("a")
    copied: Constraint = pickle.loads(pickle.dumps(constraint))
    for text in (*examples, *TEXTS):
        is_word = constraint.accepts(text)
        assert copied.accepts(text) is is_word
        assert is_word or text not in examples
        try:
            constraint.parse(text)
        except ConstraintError as error:
            assert not is_word or "own checks" in str(error)
        else:
            assert is_word
        if not constraint.over_tokens and examples:
            assert explain_text(constraint, text).allowed is is_word


SAVED: dict[str, Callable[[], Constraint]] = KINDS | {
    "stop": lambda: explorer.gen(stop=["aa", "b"]),
    "pattern that stops": lambda: explorer.gen(stop_regex="[.!?] ?"),
    "limited": lambda: explorer.gen(regex="a+", max_tokens=3),
    "many": lambda: explorer.many(regex("[0-9]"), separator=","),
    "staged twice": lambda: regex("é").normalized("NFC").restrict(chars="é"),
    "any text": lambda: explorer.any_text(excluding=["x"]),
    "text until": lambda: explorer.text_until("END"),
    "pattern beyond re": lambda: regex(r"\p{Greek}(?<n>[^\pL])\z"),
    "terminals": lambda: delimited_subsequence_of(["a|b", "(c)"]),
    "white space": lambda: json_schema(TREE, whitespace="dumps"),
    "white space by a pattern": lambda: json_schema(TREE, whitespace_pattern="[ ]?"),
    "phase": lambda: explorer.phase("think", regex("a"), begin="<", end=">"),
    "canonical": lambda: regex("a").canonical(),
}
ANY_NUMBER = {"union", "concatenation"}


@pytest.mark.parametrize("kind", SAVED)
def test_a_source_is_its_fields_and_its_parts(kind: str) -> None:
    """With its own children it is itself, saved and read it is equal, and a part too many or too
    few is a damaged file."""
    source = SAVED[kind]().source
    assert source.with_children(source.children) == source
    saved = source_to_dict(source)
    assert source_from_dict(json.loads(json.dumps(saved))) == source
    assert pickle.loads(pickle.dumps(source)) == source
    parts = [source_to_dict(each) for each in source.children]
    wrong = [parts[:-1]] if len(parts) == 1 else []
    if source.kind not in ANY_NUMBER:
        wrong.append([*parts, source_to_dict(literal("one more").source)])
    for other in wrong:
        with pytest.raises(DamagedFile):
            source_from_dict(saved | {"parts": other})


@pytest.mark.parametrize("kind", SAVED)
def test_a_damaged_form_is_an_error_of_ours(kind: str) -> None:
    saved = source_to_dict(SAVED[kind]().source)
    for field in saved:
        for odd in (-7, "sonnet", {}, [[3]], object()):
            with suppress(ExplorerError):
                source_from_dict(saved | {field: odd})
    for odd in (-7, "sonnet", {}, [[3]], object()):
        with pytest.raises(ExplorerError):
            source_from_dict(saved | {"kind": odd})
    with pytest.raises(ExplorerError):
        source_from_dict({key: saved[key] for key in saved if key != "kind"})


@pytest.mark.parametrize("kind", KINDS)
def test_whether_words_are_finite_is_answered_or_refused_by_name(kind: str) -> None:
    """The finite ones have no more words than they list."""
    constraint = KINDS[kind]()
    try:
        finite = constraint.is_finite()
    except BudgetExceeded as error:
        assert any(why in str(error) for why in ("recurse", "remembered", "to any depth"))
        return
    if finite:
        assert len(constraint.examples(10_000)) < 10_000


def test_two_grammars_together_answer_for_each_text() -> None:
    """Whether they have a word is undecidable, so that is refused; whether a text is one is not."""
    both = grammar('root ::= "a" root "b" | "x"') & grammar('root ::= "a" root "b" | "x"')
    assert both.accepts("aaxbb")
    assert both.parse("aaxbb") == "aaxbb"


BRACKETS = grammar('root ::= "(" root ")" | "[" root "]" | [0-9]{1,3}')


def test_a_refused_text_has_its_place_where_two_grammars_are_combined() -> None:
    """A machine of both never comes to an end, so the place is that of a part."""
    both, neither = BRACKETS & BRACKETS, BRACKETS - BRACKETS
    for combined in (both, neither, both & regex("(?s).*"), both.canonical()):
        for text, offset in (("y", 0), ("(1", 2), ("[(1]", 3)):
            with pytest.raises(ConstraintError) as caught:
                combined.parse(text)
            assert caught.value.evidence["offset"] == offset
    with pytest.raises(ConstraintError, match="excludes this text"):
        neither.parse("(1)")
    with pytest.raises(ConstraintError):
        (~BRACKETS).parse("(1)")
    assert both.canonical().accepts("(1)") and both.canonical().parse("(1)") == "(1)"


def test_a_restriction_is_asked_beside_the_texts_that_it_restricts() -> None:
    items = json_schema({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
    latin = items.restrict(scripts=["Latin"])
    for text in ("[]", '["a","b"]'):
        assert latin.accepts(text) and latin.parse(text) is not None
    for text, offset in (("[3]", 1), ('["a","a"]', 7), ('["б"]', 2)):
        assert not latin.accepts(text)
        with pytest.raises(ConstraintError) as caught:
            latin.parse(text)
        assert caught.value.evidence["offset"] == offset


def test_the_parts_of_a_union_are_built_once() -> None:
    """`parse` built a machine for each part on each call."""
    made = literal("0")
    for k in range(1, 8):
        made = made | regex(str(k))

    def parse_often() -> None:
        for _ in range(3):
            for k in range(8):
                assert made.parse(str(k)) == str(k)

    assert calls_of(parse_often, small_or_discovered) <= 9  # Each part, and the whole.
