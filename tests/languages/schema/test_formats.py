"""Formats against the test suite's own cases, `jsonschema`'s checkers and arithmetic on clocks."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from fqdn import FQDN
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.construction.operations import minimal_dfa
from explorer.budget import Meter
from explorer.languages.schema.text.strings import EscapesOf, literals
from tests.evidence import examples
from tests.languages.schema.corpora import needs_data, suite

HOST = explorer.json_schema({"type": "string", "format": "hostname"})
TIME = explorer.json_schema({"type": "string", "format": "time"})
MOMENT = explorer.json_schema({"type": "string", "format": "date-time"})


def standing(name: str) -> tuple[list[str], list[str]]:
    """The cases of a format that are wrong and accepted, and those that are right and refused."""
    wrong: list[str] = []
    refused: list[str] = []
    for group in suite("draft2020-12/optional/format"):
        if group.name.partition(":")[0] == name:
            constraint = explorer.json_schema(group.schema)
            for data, valid in group.tests:
                if constraint.accepts(json.dumps(data, ensure_ascii=False)) != valid:
                    (refused if valid else wrong).append(data)
    return wrong, refused


@needs_data
@pytest.mark.parametrize("name", ["time", "date-time", "date", "hostname"])
def test_the_cases_of_a_format_stand(name: str) -> None:
    """A host name whose labels encode others is refused where the schema does not list it."""
    wrong, refused = standing(name)
    assert wrong == []
    assert [text for text in refused if not text.startswith("xn--")] == []


def hosts() -> list[tuple[str, bool]]:
    """The host names of the test suite, with what it says about them."""
    return [
        (data, valid)
        for group in suite("draft2020-12/optional/format")
        for data, valid in group.tests
        if group.name.partition(":")[0] == "hostname" and isinstance(data, str)
    ]


@needs_data
def test_a_listed_host_name_is_decoded() -> None:
    listed = [data for data, _ in hosts()]
    assert sum(data.startswith("xn--") for data in listed) > 30
    constraint = explorer.json_schema({"format": "hostname", "enum": listed})
    others = explorer.json_schema({"not": {"format": "hostname"}, "enum": listed})
    for data, valid in hosts():
        text = json.dumps(data, ensure_ascii=False)
        assert constraint.accepts(text) == valid, data
        assert others.accepts(text) != valid, data


WHOLE = {
    "xn--bcher-kva.de": True, "XN--BCHER-KVA.de": True, "a.xn--bcher-kva": True,
    "xn--bcher-kva.ab--c": False, "xn--7a": False, "xn--example-": False,
    "xn--0ca24w": False, "xn---9uc": False, "XN--aa---o47jg78q": False,
    "xn--4db": True, "0a.xn--4db": False, "b.xn--4db": True,
}  # fmt: skip


def test_whole_labels_are_judged() -> None:
    """Also by the rule for names with labels that are written from right to left (RFC 5893)."""
    listed = explorer.json_schema({"allOf": [{"format": "hostname"}, {"enum": [*WHOLE, "a"]}]})
    either = {"anyOf": [{"format": "hostname"}, {"maxLength": 1}], "enum": [*WHOLE, "ü", "a"]}
    members = {name: {} for name in WHOLE}
    member = {"type": "object", "properties": members, "propertyNames": {"format": "hostname"}}
    constraints = [listed, explorer.json_schema(either), explorer.json_schema(member)]
    for name, valid in WHOLE.items():
        texts = [json.dumps(name), json.dumps(name), json.dumps({name: 1}).replace(" ", "")]
        for constraint, text in zip(constraints, texts, strict=True):
            assert constraint.accepts(text) == valid, (name, constraint)


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "hostname"},
        {"not": {"format": "hostname"}},
        {"not": {"not": {"format": "hostname"}}},
        {"not": {"format": "hostname", "pattern": "^xn--|^b"}},
        {"not": {"allOf": [{"format": "hostname"}, {"not": {"minLength": 30}}]}},
        {"if": {"format": "hostname"}, "then": {"maxLength": 20}},
    ],
)
def test_a_label_that_is_not_listed_counts_as_neither_right_nor_wrong(schema: Any) -> None:
    """It is refused also where only its opposite is asked for: nothing is accepted wrongly."""
    constraint = explorer.json_schema({"type": "string", **schema})
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    assert not constraint.accepts('"xn--bcher-kva"') and not constraint.accepts('"xn--X"')
    for name in ("a.b", "b.a", "a b", "a" * 22, "b" * 40, "xn-", "b.a--b"):
        assert constraint.accepts(json.dumps(name)) == validator.is_valid(name), name


def leap(hour: int, minute: int, sign: str, ahead: int) -> bool:
    """Whether it is 23:59 in UTC."""
    offset = ahead if sign == "+" else -ahead
    return (60 * hour + minute - offset) % 1440 == 1439


@given(st.integers(0, 23), st.integers(0, 59), st.sampled_from("+-"), st.integers(0, 95))
@settings(max_examples=examples(200))
def test_a_leap_second_is_the_last_of_a_day_in_utc(
    hour: int, minute: int, sign: str, quarters: int
) -> None:
    ahead = 15 * quarters
    right = (1439 + (ahead if sign == "+" else -ahead)) % 1440
    for at in (60 * hour + minute, right):
        zone = f"{sign}{ahead // 60:02}:{ahead % 60:02}"
        for fraction in ("", ".123"):
            text = f"{at // 60:02}:{at % 60:02}:60{fraction}{zone}"
            expected = leap(at // 60, at % 60, sign, ahead)
            assert TIME.accepts(f'"{text}"') == expected, text
            assert MOMENT.accepts(f'"1998-12-31T{text}"') == expected, text


LABELS = st.one_of(
    st.integers(1, 64).map(lambda count: "a" * count),
    st.sampled_from(["a", "a-b", "a--b", "0", "ab--c", "-a", "a-", "", "A9", "a" * 63]),
)


def is_host(name: str) -> bool:
    """As `jsonschema` checks it; without the root's dot, and without labels kept for encodings."""
    plain = not name.endswith(".") and all(label[2:4] != "--" for label in name.split("."))
    return plain and bool(name) and FQDN(name, min_labels=1).is_valid


@given(st.lists(LABELS, min_size=1, max_size=8))
@settings(max_examples=examples(200))
def test_a_host_name_has_labels_of_63_characters_and_253_in_all(labels: list[str]) -> None:
    name = ".".join(labels)
    assert HOST.accepts(f'"{name}"') == is_host(name)


@given(st.text("ab\n\u00e9\U0001f600", max_size=12), st.integers(0, 6), st.integers(0, 6))
@settings(max_examples=examples(100))
def test_layers_count_characters(text: str, low: int, more: int) -> None:
    """Against the counting of Python, in every spelling."""
    texts = explorer.regex("[ab\n]*(?:\u00e9|\U0001f600)?a*").dfa
    options: tuple[EscapesOf, ...] = ("free", "any")
    for escapes in options:
        machine = minimal_dfa(literals(texts, escapes, low, low + more), Meter())
        expected = texts.accepts(text.encode()) and low <= len(text) <= low + more
        assert machine.accepts(json.dumps(text, ensure_ascii=False).encode()) == expected
        if escapes == "any":
            assert machine.accepts(json.dumps(text).encode()) == expected
