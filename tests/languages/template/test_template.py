"""Templates and how they are split."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import choice, gen, literal, many, regex, template
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry
from explorer.languages.template.expression import places_in, read_expression
from tests.languages.sampling import sampled

# Templates and choices with aliases: written, read, refused, explained, saved, stepped.


WIZARD = template(
    "Name: {name}\nHouse: {house}\nPets: {pets}\nData: {data}",
    name=gen(stop="\n"),
    house=gen(choices={"G": "Gryffindor", "S": ["Slytherin", "The snakes"]}),
    pets=many(regex("[a-z]+"), max=3, separator=", "),
    data=gen(json_schema={"type": "object", "properties": {"age": {"type": "integer"}}}),
)
TEXT = 'Name: Harry P.\nHouse: The snakes\nPets: owl, rat\nData: {"age":11}'
VALUES = {"name": "Harry P.", "house": "S", "pets": ["owl", "rat"], "data": {"age": 11}}


def test_the_parts_come_back_by_name() -> None:
    assert WIZARD.parse(TEXT) == VALUES


@pytest.mark.parametrize("lazy", [False, True])
def test_a_token_may_cross_the_border_of_two_parts(lazy: bool) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"<a", b"a>", b"a", b">", b"aa><"], eos_ids=[5])
    machine = explorer.compile(template("<{x}>", x=regex("a{1,3}")), vocabulary, lazy=lazy)
    state = machine.step(machine.start, 0)
    assert state is not None
    assert machine.allowed(state).tolist() == [False, True, True, True, False, False]


def test_the_expression_makes_the_same_template() -> None:
    text = WIZARD.source.text
    assert read_expression(text) == WIZARD.source
    assert registry.read("template", f"\n  {text}\n") == WIZARD.source
    namespace = {name: getattr(explorer, name) for name in explorer.__all__}
    assert eval(text, namespace).source == WIZARD.source  # Python's own reading.


@pytest.mark.parametrize(
    "expression",
    [
        "regex('a+') | literal('b') | choice(['c', 'd'])",
        "(regex('a+') + regex('b')).star() - literal('')",
        "~regex('a') & regex('[ab]').optional()",
        "many(gen(stop=['x', 'y']), 1, 3, separator=', ')",
        "json_schema({'type': ['integer', 'null']}, whitespace='pretty')",
        "template('{{}}{x}', x=template('[{y}]', y=regex('a')))",
        "choice({'a': ['b', 'c'], 'd': 'e'})",
    ],
)
def test_expressions_mean_what_python_makes_of_them(expression: str) -> None:
    namespace = {name: getattr(explorer, name) for name in explorer.__all__}
    made = eval(expression, namespace)
    assert read_expression(expression) == made.source
    assert read_expression(made.source.spelled()) == made.source


@given(st.text(max_size=8), st.sampled_from(["'", '"', "'''", '"""']), st.booleans())
def test_places_of_characters_in_a_literal(value: str, quote: str, raw: bool) -> None:
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        return
    literal_text = repr(value)
    if raw and quote not in value and "\\" not in value and "\r" not in value:
        literal_text = f"r{quote}{value}{quote}"
    try:
        if ast.literal_eval(literal_text) != value:
            return
    except (SyntaxError, ValueError):
        return
    places = places_in(literal_text, 0, value)
    assert len(places) == len(value)
    for char, (start, end) in zip(value, places, strict=True):
        piece = literal_text[start:end]
        assert piece == char or ast.literal_eval(f"'''{piece}'''") == char


def test_aliases_are_mapped_back() -> None:
    colours = choice({"Green": "Forest green", "Red": ["Brick", "Rust"]})
    assert [colours.parse(text) for text in ("Forest green", "Rust", "Brick")] == [
        "Green", "Red", "Red",
    ]  # fmt: skip
    assert not colours.accepts("Green")
    assert registry.read("choices with aliases", colours.source.text) == colours.source
    assert (colours | literal("?")).parse("?") == "?"
    assert (literal("?") | colours).parse("Brick") == "Red"
    why = explorer.explain_text(colours, "Forx")
    assert '"Green": "Forest green"' in str(why)
    for wrong, says in (
        ({"a": "x", "b": "x"}, "stands for 'a' and for 'b'"), ({}, "no word"),
        ({"a": 3}, "not a text"), ({3: "a"}, "not a str"), ({"a": ["\ud800"]}, "surrogate"),
    ):  # fmt: skip
        with pytest.raises(ConstraintError, match=says):
            choice(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="line 2"):
        registry.read("choices with aliases", '{"a": "b",\n "c" "d"}')
    with pytest.raises(ConstraintError, match="'a' is given twice"):
        registry.read("choices with aliases", '{"a": "b", "a": "c"}')


def test_a_session_fills_a_template_in() -> None:
    lm = explorer.load_model("tiny")
    short = template("Answer: {answer}.\n", answer=gen(choices=["yes", "no"]))
    trace = explorer.Session(lm, short, "Is it raining?\n").run(max_tokens=40)
    assert trace.finished and short.parse(trace.text)["answer"] in ("yes", "no")


def repeated_sampling(constraint: Constraint, count: int) -> None:
    for text in sampled(constraint.machine, count):
        constraint.parse(text)


def test_sampled_texts_are_parsed() -> None:
    repeated_sampling(WIZARD, 100)
    repeated_sampling(many(WIZARD, 1, 2, separator="\n---\n"), 50)


def nested(depth: int) -> Constraint:
    """A template in a template, so many times, with repetitions and limits now and then."""
    found = regex("a")
    for level in range(depth):
        if level % 7 == 3:
            found = many(found, 1, 1)
        elif level % 7 == 5:
            found = gen(constraint=found, max_tokens=1000)
        else:
            found = template("({x})", x=found)
    return found


@pytest.mark.parametrize("depth", [101, 200, 1000, 3000])
def test_templates_that_nest_too_deep_are_refused_while_they_are_built(depth: int) -> None:
    with pytest.raises(ConstraintError, match=r"more than 100 deep\. Nest fewer"):
        nested(depth)


# The stretch of the text for each part, against a search through all divisions.


PARTS = ("a*", "[ab]+", "b?", "(ab)*", "a|ab|abc", "[abc]{0,2}")


def divisions(patterns: list[str], text: str) -> Iterator[list[str]]:
    """All divisions, the first stretch longest first, then the second, and so on."""
    if not patterns:
        if not text:
            yield []
        return
    for end in range(len(text), -1, -1):
        if re.fullmatch(patterns[0], text[:end]):
            for rest in divisions(patterns[1:], text[end:]):
                yield [text[:end], *rest]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), st.text("abc", max_size=7))
def test_each_part_takes_the_longest_stretch(patterns: list[str], text: str) -> None:
    first = next(divisions(patterns, text), None)
    names = [f"p{k}" for k in range(len(patterns))]
    whole = explorer.template(
        "".join(f"{{{name}}}" for name in names),
        **{name: explorer.gen(regex=p) for name, p in zip(names, patterns, strict=True)},
    )
    assert whole.accepts(text) == (first is not None)
    if first is not None:
        assert list(whole.parse(text).values()) == first


@given(
    st.sampled_from(PARTS), st.sampled_from(["", "c", "ab"]),
    st.integers(0, 2), st.integers(0, 2) | st.none(), st.text("abc", max_size=7),
)  # fmt: skip
def test_many_against_every_number_of_repetitions(
    pattern: str, separator: str, least: int, more: int | None, text: str
) -> None:
    most = None if more is None else least + more
    several = explorer.many(explorer.regex(pattern), least, most, separator=separator)
    possible: list[list[str]] = []
    # No more repetitions than characters: further ones would be empty.
    for count in range(least, (len(text) + 2 if most is None else most) + 1):
        pieces = [pattern, *([re.escape(separator), pattern] * (count - 1))] if count else []
        possible += [division[::2] for division in divisions(pieces, text)]
    assert several.accepts(text) == bool(possible)
    if possible:
        found = several.parse(text)
        assert found in possible
        # The longest stretches from the left, and no more of them than needed.
        assert [len(p) for p in found] == max(
            ([len(p) for p in division] for division in possible),
            key=lambda lengths: (lengths + [-1] * 20)[:20],
        )[: len(found)]


@pytest.mark.parametrize("separator", ["", "c", "ab"])
@pytest.mark.parametrize("pattern", PARTS)
def test_many_of_a_machine_that_is_discovered_divides_alike(pattern: str, separator: str) -> None:
    several = explorer.many(explorer.regex(pattern), separator=separator)
    texts = [text for text in map("".join, product("abc", repeat=5)) if several.accepts(text)]
    # With a word that is too long for a closed form, and that is in none of the texts.
    large = explorer.many(explorer.regex(f"{pattern}|x{{300000}}"), separator=separator)
    assert [large.parse(text) for text in texts] == [several.parse(text) for text in texts]


def test_many_of_a_grammar_that_recurses_is_read_back() -> None:
    nested = explorer.grammar('root ::= "(" root ")" | "x"')
    several = explorer.many(nested, separator=";")
    assert several.parse("((x));x;(x)") == ["((x))", "x", "(x)"]
    assert several.parse("") == []
    assert explorer.many(explorer.regex("a*")).parse("") == []
    assert explorer.many(explorer.regex("a*"), 3).parse("aa") == ["aa", "", ""]
    assert explorer.many(nested, 1, 3).parse("(x)x") == ["(x)", "x"]


def test_a_character_is_never_divided() -> None:
    any_text = explorer.regex("(?s:.*)")
    whole = explorer.template("{x}é{y}", x=any_text, y=any_text)
    assert whole.parse("aéé") == {"x": "aé", "y": ""}


@given(st.text("ab", min_size=1, max_size=4), st.text("abc", max_size=8))
def test_a_part_ends_at_the_first_stop(stop: str, text: str) -> None:
    accepted = explorer.gen(stop=stop).accepts(text)
    assert accepted == ((text + stop).find(stop) == len(text))


@pytest.mark.parametrize("stops", [("aa", "b"), ("ab", "b"), ("aba", "bb", "ab"), ("abab", "baa")])
def test_a_part_ends_at_the_first_of_several_stops(stops: tuple[str, ...]) -> None:
    def begins(whole: str) -> int:
        return min(at for stop in stops if (at := whole.find(stop)) >= 0)

    part = explorer.gen(stop=list(stops))
    by_pattern = explorer.gen(stop_regex="|".join(stops))
    taken = 0
    for text in ("".join(each) for n in range(7) for each in itertools.product("abc", repeat=n)):
        some = any(begins(text + stop) == len(text) for stop in stops)
        assert part.accepts(text) == some == by_pattern.accepts(text), text
        taken += some
    assert taken > 20


@pytest.mark.parametrize("text", ["", "ä" * 300])
def test_stops_of_no_or_many_bytes(text: str) -> None:
    if text:
        assert explorer.gen(stop=text).accepts("ä" * 299) is False
        assert explorer.gen(stop=text).accepts("ä" * 299 + "b")
    else:
        with pytest.raises(explorer.errors.ConstraintError, match="at least one character"):
            explorer.gen(stop=text)


def test_a_part_may_be_a_grammar_that_recurses() -> None:
    nested = explorer.grammar('root ::= "(" root ")" | "a"')
    whole = explorer.template("{x}{y}!", x=explorer.gen(regex="[(]*"), y=nested)
    assert whole.parse("((a))!") == {"x": "", "y": "((a))"}
    listed = explorer.template("{x}){y}", x=nested, y=explorer.gen(regex="[)]*"))
    assert listed.parse("((a))))") == {"x": "((a))", "y": ")"}
