"""Templates and choices with aliases: written, read, refused, explained, saved, stepped."""

from __future__ import annotations

import ast
import pickle
import random
from typing import Any

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

BYTES = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])

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


def test_what_is_expected_is_named_by_its_part() -> None:
    for prefix, label in (
        ("Name: H\nHouse: Gryffx", "choice `G`"),
        ("Name: H\nHouse: Slytherin\nPets: O", "part `pets`"),
        ('Name: H\nHouse: Slytherin\nPets: \nData: {"age":n', "/properties/age"),
    ):
        assert f"Expected by {label}" in explorer.explain_text(WIZARD, prefix).message
    (part,) = explorer.explain_text(WIZARD, "Nane").parts
    written = part.pattern
    assert written is not None
    assert [written[start:end] for start, end in part.spans] == ["m"]
    machine = explorer.compile(WIZARD, BYTES, lazy=True)
    state: int | None = machine.start
    for byte in b"Name: H\nHouse: Slytherin\nPets: ":
        assert state is not None
        state = machine.step(state, byte)
    assert state is not None
    why = explorer.explain(machine, state, ord("3"), text=b"Name: H\nHouse: Slytherin\nPets: ")
    assert "part `pets`" in why.message


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


@pytest.mark.parametrize(
    ("text", "under", "says"),
    [
        ('template("a {x", x=regex("a"))', "{", "not closed"),
        ('template("a } b")', "}", "closes nothing"),
        ('template("{x}", x=regex("a["))', "[", "set is not closed"),
        ('template("{x}", x=regex(r"(?P<n>a)(?P=n)"))', "(", "reference back"),
        ('template("{x}", x=foo("a"))', "f", "not a function"),
        ('template("{x}", x=os.system("a"))', "o", "no"),
        ('template("{x}", x=gen(regex="a", stop="b"))', "g", "exactly one"),
        ('template("{x}", x=gen(regex="a", max_tokens=0))', "0", "from 1 to 10,000"),
        ('template("{x}", x=gen(choices=[]))', "[", "without texts"),
        ('template("{x}", x=many(regex("a"), min=-1))', "-", "from 0 to 10,000"),
        ('template("{x}", y=regex("a"))', "t", "no part 'x'"),
        ('template("{x}{x}", x=regex("a"))', "t", "twice"),
        ('template("é {x} " + "b", x=regex("a"))', '"', "no"),
        ('template("{x}", x=regex("a"), **{})', "t", "without stars"),
        ("regex(pattern=3)", "3", "not a pattern"),
        ("regex('a') ** regex('b')", "r", "no such operator"),
        ("regex('a').foo()", "r", "no method"),
        ("regex()", "r", "missing"),
        ("many(3)", "3", "not a constraint"),
        ("", "", "no expression"),
        ("regex('a'", "", "not an expression"),
        ("lambda: 0", "l", "not a constraint"),
    ],
)
def test_the_caret_stands_under_what_is_wrong(text: str, under: str, says: str) -> None:
    with pytest.raises(explorer.errors.ExplorerError) as refused:
        registry.read("template", text)
    assert says in str(refused.value)
    offset = refused.value.evidence.get("offset")
    if under:
        assert isinstance(offset, int) and text[offset] == under


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


def test_the_order_of_a_choice_never_matters() -> None:
    texts = ["yes", "no", "nope", "y", "yesterday", "nobody"]
    random.Random(3).shuffle(texts)
    vocabulary = explorer.Vocabulary.from_bytes(
        [b"y", b"yes", b"no", b"n", b"o", b"pe", b"terday", b"body", b"es"], eos_ids=[9]
    )
    one = explorer.compile(choice(texts), vocabulary)
    for other in (sorted(texts), sorted(texts, reverse=True)):
        another = explorer.compile(choice(other), vocabulary)
        assert (one.table == another.table).all() and one.start == another.start
        named = explorer.compile(choice({text.upper(): text for text in other}), vocabulary)
        assert (one.table == named.table).all()


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


@pytest.mark.parametrize("wrong", [None, 3, "a", [], regex])
def test_parts_are_constraints(wrong: Any) -> None:
    with pytest.raises(ConstraintError, match="not a constraint"):
        template("{x}", x=wrong)
    if not isinstance(wrong, str):  # A text is itself.
        with pytest.raises(ConstraintError, match="not a constraint"):
            many(wrong)


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
