"""Templates and choices with aliases: written, read, refused, explained, saved, stepped."""

from __future__ import annotations

import ast
import pickle

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
    for text in sampled(constraint.dfa, count):
        constraint.parse(text)


def test_sampled_texts_are_parsed() -> None:
    repeated_sampling(WIZARD, 100)
    repeated_sampling(many(WIZARD, 1, 2, separator="\n---\n"), 50)


@pytest.mark.long
def test_two_thousand_sampled_texts_are_parsed() -> None:
    repeated_sampling(WIZARD, 2000)
    repeated_sampling(many(choice({"a": "b", "c": ["dd", "d"]}), 1, separator=", "), 2000)


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


@pytest.mark.long
def test_as_deep_as_is_allowed_everything_works_with_a_notebook_above_it() -> None:
    deep = nested(99)
    marks = [level for level in range(99) if level % 7 not in (3, 5)]
    text = "(" * len(marks) + "a" + ")" * len(marks)
    vocabulary = explorer.Vocabulary.from_bytes([b"(", b")", b"a", b"(("], eos_ids=[4])

    def below(frames: int) -> None:
        if frames:
            return below(frames - 1)
        machine = explorer.compile(deep, vocabulary, lazy=True)
        state = machine.start
        for letter in text:
            following = machine.step(state, "()a".index(letter))
            assert following is not None
            state = following
        assert machine.is_final(state)
        assert str(deep) and repr(deep) and deep.parse(text)
        assert pickle.loads(pickle.dumps(deep)).source == deep.source
        return None

    below(120)  # A notebook's own frames are about sixty.
