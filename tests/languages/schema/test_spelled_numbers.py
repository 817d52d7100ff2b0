"""Numbers as they are spelled, and amounts."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any, cast

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.machine import is_possible
from explorer.languages.schema.text import numbers
from explorer.languages.schema.values.amounts import ALL, WHOLE, NumberPart, Numbers, point
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.languages.schema.test_waiting import beside

# Spellings of numbers that a schema accepts, against exact decimal arithmetic and jsonschema.


DRAFT_4 = "http://json-schema.org/draft-04/schema#"
SPELLINGS = tuple(
    sign + digits + exponent
    for sign, digits, exponent in product(
        ("", "-"),
        ("0", "1", "2", "10", "12", "0.5", "1.0", "1.5", "1.50", "2.25", "0.001", "1200"),
        ("", "e0", "E+0", "e-0", "e00", "e1", "E+2", "e16", "e-1", "E-02", "e-3"),
    )
)
SCHEMAS: dict[str, Any] = {
    "any": {},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "both": {"type": ["integer", "string"]},
    "not integer": {"type": "number", "not": {"type": "integer"}},
    "not 1": {"not": {"const": 1}},
    "not a string": {"type": "integer", "not": {"type": "string"}},
    "any or 1": {"anyOf": [{"type": "number"}, {"const": 1}]},
    "one of two": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    "integer and even": {"allOf": [{"type": "integer"}, {"multipleOf": 2}]},
    "at least 1": {"minimum": 1},
    "above 1.2": {"exclusiveMinimum": 1.2, "type": "number"},
    "below 0": {"type": "integer", "maximum": -1},
    "halves": {"multipleOf": 0.5},
    "named": {"enum": [1, 1.5, 0, -2, "a"]},
    "if whole then 1": {"if": {"type": "integer"}, "then": {"const": 1}},
    "draft 4 integer": {"$schema": DRAFT_4, "type": "integer"},
    "draft 4 integer at least 1": {"$schema": DRAFT_4, "type": "integer", "minimum": 1},
    "draft 4 number at least 1": {"$schema": DRAFT_4, "type": "number", "minimum": 1},
    "draft 4 named": {"$schema": DRAFT_4, "enum": [1, 2]},
}


def is_valid(schema: Any, text: str) -> bool:
    """By jsonschema, whose arithmetic is exact for decimals; draft 4 tells floats apart."""
    draft_4 = "$schema" in schema
    kind = jsonschema.Draft4Validator if draft_4 else jsonschema.Draft202012Validator
    parse = float if draft_4 else Decimal
    value = json.loads(text, parse_float=parse)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    return kind(json.loads(json.dumps(schema), parse_float=parse)).is_valid(cast("Any", value))


@pytest.mark.parametrize("whitespace", ["compact", "flexible"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_no_spelling_of_a_wrong_number_is_taken(name: str, whitespace: Any) -> None:
    schema = SCHEMAS[name]
    constraint = explorer.json_schema(schema, whitespace=whitespace, free_depth=0)
    taken = [text for text in SPELLINGS if constraint.accepts(text)]
    assert [text for text in taken if not is_valid(schema, text)] == []
    plain = [text for text in SPELLINGS if "e" not in text.lower() and is_valid(schema, text)]
    assert [text for text in plain if text not in taken] == []
    zero = [text + "e0" for text in plain if "$schema" not in schema or "." in text]
    assert [text for text in zero if not constraint.accepts(text)] == []


MANTISSAS = ("1", "1.5", "1.05", "9.99", "1.2345678901234567", "2.0", "7", "1.7976931348623157")
EXPONENTS = (
    "", "e+16", "e16", "E+17", "e+18", "e+020", "e22", "e+300", "e+307", "e+308", "e+309",
    "e-0001", "e-1", "e-007", "E-0000", "e+0", "e-16",
)  # fmt: skip
LARGE: dict[str, Any] = {
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "at least": {"type": "number", "minimum": -3.5},
    "at most": {"type": "number", "maximum": 1e17},
    "above": {"type": "number", "exclusiveMinimum": 1.5e22},
    "between": {"type": "number", "minimum": -1e22, "maximum": 1.5e16},
    "integer at least": {"type": "integer", "minimum": 5},
    "integer below": {"type": "integer", "maximum": -(10**18) - 1},
    "named": {"enum": [1e16, 1.5e22, -3, 0.05, -1e-7]},
    "one": {"const": 1e300},
    "largest": {"type": "number", "minimum": 1.7976931348623157e308},
    "sevens": {"type": "number", "multipleOf": 7},
    "quarters": {"type": "number", "multipleOf": 0.25},
    "thousands": {"type": "number", "exclusiveMaximum": 12345678901234567890, "multipleOf": 1000},
    "ten thousand millions": {"type": "number", "multipleOf": 1e10},
    "seven trillions": {"type": "integer", "multipleOf": 7 * 10**15, "exclusiveMinimum": 0},
    "hundreds of trillions": {"type": "number", "not": {"multipleOf": 2.5e17}},
    "one followed by 300 zeros": {"type": "number", "multipleOf": 1e300},
    "not integer": {"type": "number", "not": {"type": "integer"}},
    "not large": {"type": "number", "not": {"minimum": 1e20}},
    "one of": {"type": "number", "oneOf": [{"minimum": 1e17}, {"multipleOf": 3}]},
    "draft 4": {"$schema": DRAFT_4, "type": "integer", "minimum": 5},
    "draft 4 number": {"$schema": DRAFT_4, "type": "number", "minimum": 5},
}


def is_exactly_valid(schema: Any, text: str) -> bool:
    """As `is_valid`, with room for the digits of 1e308; what a float cannot hold is not taken."""
    with localcontext() as context:
        context.prec = 700
        return math.isfinite(float(text)) and is_valid(schema, text)


@pytest.mark.parametrize("name", LARGE)
def test_a_number_within_bounds_is_taken_as_python_writes_it(name: str) -> None:
    """Plain, small and large, exponents with zeros before them: exactly the right values."""
    constraint = explorer.json_schema(LARGE[name])
    for parts in product(("", "-"), MANTISSAS, EXPONENTS):
        text = "".join(parts)
        assert constraint.accepts(text) == is_exactly_valid(LARGE[name], text), text


@pytest.mark.parametrize("divisor", [10**10, 5 * 10**9, 123 * 10**6, 10**17, 1e300, 20_000_000])
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_multiples_of_a_number_with_zeros_at_its_end(divisor: float, kind: str) -> None:
    """With the zeros a machine of remainders would be far too large."""
    schema = {"type": kind, "multipleOf": divisor}
    constraint = explorer.json_schema(schema)
    judged = {True: 0, False: 0}
    exact = int(Decimal(repr(divisor)))
    for times, tail in product((0, 1, 2, 10, 25, 1001), ("", ".00", "e0", ".0e-0", ".5", "0")):
        for more in (0, 1, exact // 10, exact // 2, exact // 5):
            text = f"{exact * times + more}{tail}"
            valid = Decimal(text) % exact == 0 if len(text) < 28 else not more and tail != ".5"
            if text.startswith("00") or (len(text) >= 28 and tail == "0"):
                continue
            assert constraint.accepts(text) is valid, text
            judged[valid] += 1
    assert min(judged.values()) > 20


@pytest.mark.parametrize(
    ("divisor", "reason", "remedy"),
    [
        ("12345678901", "12,345,678,901 remainders", "0.05 or 5e9"),
        ("0.00001234567", "1,234,567 remainders", "0.05 or 5e9"),
        ("1e-31", "31 decimals", "at most 30 decimals"),
        ("1e400", "larger than every", '"const": 0'),
    ],
)  # fmt: skip
def test_a_divisor_that_is_too_fine_is_refused(divisor: str, reason: str, remedy: str) -> None:
    schema = f'{{"multipleOf": {divisor}}}'
    with pytest.raises(UnsupportedSchema, match=reason) as caught:
        explorer.json_schema(schema).accepts("0")
    assert remedy in str(caught.value) and "strict=False" in str(caught.value)
    assert explorer.json_schema(schema, strict=False).accepts("1.5")


@given(
    st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const"]),
    st.one_of(st.floats(1e15, 1e24), st.floats(1e-12, 1e12), st.floats(1e290, 1.7e308)),
    st.booleans(),
)
@settings(max_examples=examples(60))
def test_a_bound_and_its_neighbours_as_python_writes_them(
    keyword: str, size: float, negative: bool
) -> None:
    bound = -size if negative else size
    schema = {"type": "number", keyword: bound}
    constraint = explorer.json_schema(schema)
    near = [bound, math.nextafter(bound, 0), math.nextafter(bound, math.inf), 10 * bound, -bound]
    for value in near:
        text = json.dumps(value)
        if math.isfinite(value):
            assert constraint.accepts(text) == is_exactly_valid(schema, text), (schema, text)


def test_the_largest_float_is_the_largest_number() -> None:
    """`json.loads` reads what is larger as infinity."""
    for decimals in ("7976931348623157", "7976931348623158", "79", "7976931348623156999"):
        assert all(each.accepts(f"1.{decimals}e+308") for each in (NUMBER, ANYTHING, FREE))
        assert math.isfinite(json.loads(f"1.{decimals}e+308"))
    for decimals in ("7976931348623159", "8", "79769313486231581", "98"):
        assert not any(each.accepts(f"1.{decimals}e+308") for each in (NUMBER, ANYTHING, FREE))
    assert math.isinf(json.loads("1.7976931348623159e+308"))


@given(st.floats(-1.6e308, 1.6e308))
@settings(max_examples=examples(80))
def test_what_python_writes_is_a_number(value: float) -> None:
    for constraint in (NUMBER, ANYTHING, FREE):
        assert constraint.accepts(json.dumps(value))


NUMBER = explorer.json_schema({"type": "number"})
ANYTHING = explorer.json_schema({}, free_depth=0)
FREE = explorer.json(0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "--1",
        "1ee2",
        "1e2.5",
        "1e309",
        "2e308",
        "12e307",
        "1e-3e0",
        "1.5e-03E+0",
        "1e0e0",
    ],
)
def test_what_is_no_number_is_not_taken(text: str) -> None:
    assert not any(constraint.accepts(text) for constraint in (NUMBER, ANYTHING, FREE, BOUNDED))


BOUNDED = explorer.json_schema({"type": "number", "minimum": -9})


def test_the_oracle_tells_wrong_spellings() -> None:
    assert not is_valid(SCHEMAS["integer"], "1.5e0") and is_valid(SCHEMAS["integer"], "1.5e1")
    assert not is_valid(SCHEMAS["draft 4 integer"], "1.0")


# Bounds and multiples against exact decimal arithmetic.


BOUNDS = (
    "0", "1", "-1", "2.5", "-2.5", "10", "100", "0.001", "-0.001", "99.99", "12", "0.25", "-30",
    "1e-7", "2.5e-3", "1234567.125",
)  # fmt: skip
ORDERS = ("<", "=", ">", "<=", "=>")
MULTIPLES = ((1, 0), (2, 0), (7, 0), (60, 0), (5, 1), (1, 2), (25, 2), (75, 1), (3, 3), (1, 8))


def plain(draw_sign: str, whole: int, fraction: str) -> str:
    return f"{draw_sign}{whole}{'.' + fraction if fraction else ''}"


SPELLINGS_OF_NUMBERS = st.one_of(
    st.builds(
        plain,
        st.sampled_from(["", "-"]),
        st.one_of(st.integers(0, 40), st.integers(90, 130), st.integers(0, 10**8)),
        st.text("0123456789", max_size=4),
    ),
    st.builds(
        lambda sign, lead, fraction, exponent, width, letter: (
            f"{plain(sign, lead, fraction)}{letter}-{str(exponent).zfill(width)}"
        ),
        st.sampled_from(["", "-"]),
        st.integers(1, 9),
        st.text("0123456789", max_size=3),
        st.integers(1, 12),
        st.integers(1, 3),
        st.sampled_from("eE"),
    ),
    st.sampled_from([b.replace("e", "e") for b in BOUNDS if "e" not in b]),
)


def agrees(machine: Dfa, spelling: str, expected: bool) -> bool:
    return machine.accepts(spelling.encode()) == expected


MACHINES = {
    (bound, wanted): numbers.compared(Decimal(bound), wanted, Meter())
    for bound in BOUNDS
    for wanted in ORDERS
}


def order(value: Decimal, bound: Decimal) -> str:
    return "<" if value < bound else ">" if value > bound else "="


@given(SPELLINGS_OF_NUMBERS)
def test_a_bound_is_exact(spelling: str) -> None:
    for (bound, wanted), machine in MACHINES.items():
        expected = order(Decimal(spelling), Decimal(bound)) in wanted
        assert agrees(machine, spelling, expected), (bound, wanted)


@given(SPELLINGS_OF_NUMBERS, st.sampled_from(MULTIPLES))
def test_a_multiple_is_exact(spelling: str, divisor: tuple[int, int]) -> None:
    numerator, decimals = divisor
    machine = numbers.multiples(numerator, decimals, Meter())
    expected = Decimal(spelling) % Decimal(numerator).scaleb(-decimals) == 0
    assert agrees(machine, spelling, expected)


def test_a_wrong_machine_is_found() -> None:
    """The oracle can fail: at the bound itself, one order off."""
    assert not agrees(MACHINES["2.5", "<"], "2.5", expected=True)


# Sets of numbers beside plain sets of many candidates, and beside the machines of their texts.


DIVISORS = [Decimal(k) / 20 for k in (20, 40, 60, 100, 120, 140, 10, 30, 5, 240, 6, 50)]
BOUNDS_OF_AMOUNTS = [
    Decimal(k) / 20 for k in (-140, -50, -20, 0, 6, 20, 40, 50, 60, 120, 145, 240, 2000)
]
CANDIDATES = [
    *(Decimal(k) / 20 for k in range(-200, 300)),
    *(Decimal(k) / 1000 for k in (-420_000, -37_000, 33_000, 420_000, 1, -333, 100_500)),
]
METER = Meter(Budget(seconds=1e6))  # It runs from the import on, in whichever test comes last.


def holds(part: NumberPart, number: Decimal) -> bool:
    def divides(divisor: Decimal) -> bool:
        return (Fraction(number) / Fraction(divisor)).denominator == 1

    inside = part.low <= (number, 0) and (number, 1) <= part.high
    return inside and all(map(divides, part.steps)) and not any(map(divides, part.but))


def members(numbers: Numbers) -> set[Decimal]:
    return {each for each in CANDIDATES if any(holds(part, each) for part in numbers)}


def atom(rng: random.Random) -> Numbers:
    cut: Any = rng.choice(BOUNDS_OF_AMOUNTS), rng.randrange(2)
    return Numbers((rng.choice([
        NumberPart(low=cut), NumberPart(high=cut), point(cut[0]), ALL, WHOLE,
        NumberPart(steps=frozenset((rng.choice(DIVISORS),))),
    ]),))  # fmt: skip


def combined(rng: random.Random, depth: int) -> tuple[Numbers, set[Decimal]]:
    """A random set, by its parts and by its candidates."""
    if depth == 0:
        made = atom(rng)
        return made, members(made)
    (one, first), (two, second) = combined(rng, depth - 1), combined(rng, depth - 1)
    match rng.randrange(3):
        case 0:
            return one.met(two, METER), first & second
        case 1:
            return one.joined(two, METER), first | second
        case _:
            return one.without(two, METER), first - second


@pytest.mark.parametrize("seed", range(120))
def test_sets_are_combined_as_sets_and_spelled_as_they_are(seed: int) -> None:
    rng = random.Random(seed)
    numbers, expected = combined(rng, rng.randrange(1, 4))
    assert members(numbers) == expected
    assert numbers or not expected
    if numbers:
        machines = numbers.machines(METER)
        assert all(machine.num_states for machine in machines)
        for each in rng.sample(CANDIDATES, 40):
            accepted = any(machine.accepts(f"{each:f}".encode()) for machine in machines)
            assert accepted == (each in expected), (each, numbers)
        listed = numbers.values(1000)
        assert listed is None or len(listed) == 1000 or expected <= set(listed)


def test_an_interval_without_a_multiple_is_empty() -> None:
    schema = {"type": "integer", "exclusiveMinimum": 12, "exclusiveMaximum": 14, "multipleOf": 7}
    assert not is_possible(schema, METER)
    assert is_possible({**schema, "exclusiveMaximum": 15}, METER)
    assert explorer.json_schema({**schema, "exclusiveMaximum": 15}).accepts("14")


def test_multiples_that_all_are_taken_away_are_empty_at_once() -> None:
    whole = Numbers((WHOLE._replace(low=(Decimal(0), 0), high=(Decimal(10**30), 0)),))
    assert not whole.without(Numbers((NumberPart(steps=frozenset((Decimal("0.5"),))),)), METER)


def test_many_divisors_are_one_where_all_are_asked_for() -> None:
    """Product by product this is a machine of more than a million states."""
    divisors = [{"multipleOf": each} for each in (6.75, 19, 9.5, 2.125)]
    constraint = explorer.json_schema({"type": "number", "allOf": divisors})
    assert constraint.accepts("8721") and constraint.accepts("-17442.0")
    assert not constraint.accepts("8720") and not constraint.accepts("513")


# Schemas whose long strings are counted, beside the machine in which they are written out.


EITHER: dict[str, object] = {
    "type": "object",
    "anyOf": [
        {"properties": {"a": {"maxLength": 4}}, "additionalProperties": False},
        {"properties": {"a": {"type": "string", "minLength": 2}}, "additionalProperties": False},
    ],
}  # fmt: skip
"""Together all strings are allowed, so that they may be spelled in every way."""

_STRING = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", ["string", "null"], "integer"])},
    optional={
        "maxLength": st.integers(0, 5), "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", "[^a]"]),
        "enum": st.lists(st.sampled_from(["a", "ab", "\n", "abba", 1]), min_size=1, unique=True),
    },
)  # fmt: skip


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    object_of = st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": st.just(False),
        },
        optional={"required": st.just(["a"])},
    )
    array_of = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner, "maxItems": st.just(2)}
    )
    several = st.lists(inner, min_size=2, max_size=2)
    joined = st.builds(lambda word, parts: {word: parts}, st.sampled_from(_JOIN), several)
    apart = st.builds(lambda a, b: {"allOf": [a, {"not": b}]}, inner, inner)
    return st.one_of(object_of, array_of, joined, apart)


_JOIN = ["anyOf", "oneOf", "allOf"]
SCHEMAS_OF_COUNTING = st.recursive(_STRING, _around, max_leaves=4)


@given(SCHEMAS_OF_COUNTING, st.sampled_from(["compact", "flexible", "pretty"]))
@settings(max_examples=examples(60))
def test_counted_strings_are_those_written_out(schema: dict[str, object], whitespace: str) -> None:
    assert beside(schema, whitespace=whitespace) == []


SHORT: dict[str, object] = {"allOf": [{"type": "string", "maxLength": 3}, {"not": {"enum": ["a"]}}]}


@pytest.mark.parametrize("schema", [EITHER, SHORT], ids=["either", "short"])
def test_strings_that_are_combined_are_counted_rightly(schema: dict[str, object]) -> None:
    assert beside(schema) == []


def test_a_least_length_alone_is_counted_too() -> None:
    """As the machine in which it is written out, and at any size."""
    for minimum in (3, 16, 40):
        schema = {"type": "array", "items": {"type": "string", "minLength": minimum}}
        tree = explorer.json_schema(schema).source.tree
        assert differences(build(tree, Meter()), discover(tree, Budget())) == []
    long = discover(explorer.json_schema({"minLength": 10_000}).source.tree, Budget(states=100_000))
    assert not accepts(long, b'"' + b"a" * 9_999 + b'"')
    assert accepts(long, b'"' + b"a" * 10_000 + b'"') and accepts(long, b'"' + b"b" * 10_030 + b'"')


@pytest.mark.parametrize("sign", ["", "-"])
def test_no_number_beyond_a_bound_of_0_is_read_as_0(sign: str) -> None:
    """`float` decides; Python writes the smallest number that it holds as 5e-324."""
    bound = {"exclusiveMaximum": 0} if sign else {"exclusiveMinimum": 0}
    constraint = explorer.json_schema({"type": "number", **bound})
    for digits in ("5e-324", "4.94e-322", "1e-323", "1.5e-07", "0.001", "9e-332", "1e-999", "0.0"):
        assert constraint.accepts(sign + digits) == (float(digits) > 0), digits
    for zeros in (3, 300, 400):
        text = f"0.{'0' * zeros}1"
        assert constraint.accepts(sign + text) == (float(text) > 0)
    assert not constraint.accepts("1" if sign else "-1")
