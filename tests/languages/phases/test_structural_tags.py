"""Structural tags: their language beside xgrammar's, their errors, the parts of a text."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

import explorer
from explorer import Constraint, Vocabulary
from explorer.errors import DamagedFile, VocabularyError
from explorer.languages.phases.free import marked, text_up_to, text_without
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.languages.phases.tags import (
    ANY,
    FORMATS,
    Format,
    dispatch,
    fixed,
    row,
    tag,
    texts,
    triggered,
)
from tests.optional import Optional

xgrammar: Any = Optional("xgrammar")
testing: Any = Optional("xgrammar.testing")


def whole(given: Format) -> Format:
    return {"type": "structural_tag", "format": given}


@pytest.mark.parametrize("given", FORMATS, ids=lambda given: json.dumps(given)[:60])
def test_a_text_is_accepted_as_xgrammar_accepts_it(given: Format) -> None:
    theirs = xgrammar.Grammar.from_structural_tag(json.dumps(whole(given)))
    ours = explorer.structural_tag(whole(given))
    accepted = 0
    for text in [*texts(given, 300), *ours.examples(20)]:
        has = testing._is_grammar_accept_string(theirs, text)
        assert ours.accepts(text) == has, text
        if has:
            ours.parse(text)
        accepted += has
    assert accepted


def test_the_leftmost_string_ends_free_text() -> None:
    draws = random.Random(1)
    for _ in range(40):
        letters = "abc"[: draws.choice([2, 3])]

        def some(most: int, size: int, letters: str = letters) -> list[str]:
            return [
                "".join(draws.choice(letters) for _ in range(draws.randint(1, size)))
                for _ in range(draws.randint(most > 2, most))
            ]

        strings, excluded = some(3, 4), some(2, 3)
        rivals, without = frozenset(map(tuple, strings)), frozenset(map(tuple, excluded))
        free = text_without(rivals | without)
        ending = {each: text_up_to(tuple(each), rivals, without) for each in strings}
        for n in range(6):
            for text in map("".join, itertools.product(letters, repeat=n)):
                holds = any(each in text for each in strings + excluded)
                assert free.accepts(text.encode()) == (not holds)
                for each, machine in ending.items():
                    place = len(text) - len(each)
                    wanted = (
                        text.endswith(each)
                        and not any(other in text for other in excluded)
                        and not any(0 <= text.find(other) < place for other in strings)
                    )
                    assert machine.accepts(text.encode()) == wanted, (text, each, strings, excluded)


def test_a_trigger_inside_another_is_found() -> None:
    c = explorer.structural_tag(dispatch(("b", fixed("x")), ("abx", fixed("y"))))
    # xgrammar 0.2.8 takes "ab" for free text, although it holds the trigger "b".
    assert [c.accepts(text) for text in ("ab", "bx", "abxy", "abx", "cbxc")] == [
        False, True, True, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text", "wanted"),
    [
        (row(ANY, fixed("x"), ANY, fixed("y"), ANY), "axbxyay", ["a", "bx", "ay"]),
        (row({"type": "regex", "pattern": "[xy]*"}, {"type": "regex", "pattern": "y*z?"}), "xyyz",
         ["xyy", "z"]),
        ({"type": "or", "elements": [{"type": "regex", "pattern": "x*"}, ANY]}, "xx", ["xx"]),
        ({"type": "star", "content": {"type": "regex", "pattern": "(x|y)?"}}, "xy", ["x", "y"]),
        ({"type": "star", "content": {"type": "regex", "pattern": "(x|y)?"}}, "", []),
        (dispatch(("x", ANY), ("xy", fixed("z"))), "axyz", ["a", "<xy>"]),
    ],
    ids=repr,
)  # fmt: skip
def test_free_text_is_short_and_values_are_long(
    given: Format, text: str, wanted: list[str]
) -> None:
    parts = explorer.structural_tag(given).parse(text)
    named = [f"<{each['tag']}>" if "tag" in each else next(iter(each.values())) for each in parts]
    assert named == wanted


def test_a_value_in_markup_may_hold_the_closing_mark_in_its_strings() -> None:
    properties = {"data": {"type": "object"}, "either": {"type": ["string", "integer"]}}
    schema = {"type": "object", "properties": properties, "additionalProperties": {"type": "null"}}
    given = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}
    text = (
        '<parameter=data>{"a": "</parameter>"}</parameter>'
        "<parameter=either>12</parameter> <parameter=more>null</parameter>"
    )
    (part,) = explorer.structural_tag(given).parse(text)
    assert part == {"value": {"data": {"a": "</parameter>"}, "either": 12, "more": None}}
    (part,) = explorer.structural_tag(given).parse("<parameter=either>a 1</parameter>")
    assert part == {"value": {"either": "a 1"}}


def test_the_older_form_is_read() -> None:
    older = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": '{"type": "integer"}', "end": "</f>"}],
        "triggers": ["<f"],
    }
    c = explorer.structural_tag(older)
    assert [c.accepts(text) for text in ("", "a<f>12</f>b", "<f>x</f>", "<f")] == [
        True, True, False, False,
    ]  # fmt: skip


NAMES = {3: "<think>", 4: "</think>", 5: "<call>", 6: "</s>"}
SMALL = Vocabulary((b"a", b"<call>", b"x", None, None, None, None), (6,), special=NAMES)


def sequences(machine: Any, most: int) -> set[tuple[int, ...]]:
    """The sequences of tokens of a machine that may end, of a length at most."""
    known: dict[tuple[int, ...], int] = {(): machine.start}
    ending: set[tuple[int, ...]] = set()
    for n in range(most + 1):
        for ids, state in [each for each in known.items() if len(each[0]) == n]:
            if machine.is_final(state):
                ending.add(ids)
            for token in machine.allowed(state).nonzero()[0].tolist():
                if token not in SMALL.eos_ids:
                    known[*ids, token] = machine.step(state, token)
    return ending


def test_token_formats_are_control_tokens() -> None:
    think = {"type": "token", "token": "<think>"}
    end = {"type": "token", "token": 4}
    given = row(
        {"type": "tag", "begin": think, "content": {"type": "any_tokens"}, "end": end},
        {"type": "exclude_token", "exclude_tokens": ["<call>", "</think>"]},
    )
    machine = explorer.compile(explorer.structural_tag(given), SMALL)
    wanted = {
        (3, *inner, 4, last)
        for n in range(2)
        for inner in itertools.product([0, 1, 2, 3, 5], repeat=n)
        for last in (0, 1, 2, 3)
    }
    assert sequences(machine, 4) == wanted


def test_tokens_dispatch() -> None:
    call = {"type": "tag", "begin": {"type": "token", "token": 5}, "content": fixed("x"),
            "end": {"type": "token", "token": 3}}  # fmt: skip
    given = {"type": "token_triggered_tags", "trigger_tokens": [5], "tags": [call],
             "exclude_tokens": ["</think>"]}  # fmt: skip
    machine = explorer.compile(explorer.structural_tag(given), SMALL)
    free = [0, 1, 2, 3]
    wanted = {ids for n in range(4) for ids in itertools.product(free, repeat=n)} | {(5, 2, 3)}
    assert sequences(machine, 3) == wanted
    rules = {"type": "token_dispatch", "rules": [[5, fixed("x")]], "loop": False}
    machine = explorer.compile(explorer.structural_tag(rules), SMALL)
    assert sequences(machine, 2) == {
        ids for n in range(3) for ids in itertools.product([0, 1, 2, 3, 4], repeat=n)
    } | {(5, 2)}


def test_names_in_strings_become_control_tokens() -> None:
    given = row(tag("", "</think>", ANY), triggered(["<call>"], tag("<call>x", "x")))
    c = explorer.structural_tag(given, control_tokens=SMALL)
    machine = explorer.compile(c, SMALL)
    assert (4,) in sequences(machine, 3)
    assert (0, 4, 5) not in sequences(machine, 3)
    assert (4, 1) in sequences(machine, 3)  # The text "<call>" is not the token.
    assert (4, 5, 2, 2, 2) in sequences(machine, 5)
    as_text = explorer.structural_tag(given)
    assert explorer.compile(as_text, SMALL.writing([b"a", b"<call>", b"x", b"", b"</think>", b"",
                                                    None])) is not None  # fmt: skip


@pytest.mark.parametrize("given", FORMATS[::3], ids=lambda given: json.dumps(given)[:60])
def test_a_structural_tag_is_saved_and_read_again(given: Format) -> None:
    source = explorer.structural_tag(given).source
    saved = json.loads(json.dumps(source_to_dict(source)))
    again = source_from_dict(saved)
    assert again == source and again.children == source.children
    if source.children:
        with pytest.raises(DamagedFile):
            source_from_dict({**saved, "parts": []})


def test_names_are_read_longest_first() -> None:
    assert marked("<a><ab>x", ["<a>", "<ab>", "<a><"]) == (("<a><",), "a", "b", ">", "x")


@pytest.mark.parametrize("refused", [True, False])
def test_a_tag_that_needs_the_end_of_the_text_is_refused(refused: bool) -> None:
    names = {1: "<call>", 2: "<end>"}
    vocabulary = Vocabulary((b"a", None, None), (2,), special=names)
    pattern = {"type": "regex", "pattern": "a+"}
    end: Any = "<end>" if refused else ["<end>", "<call>"]
    tag = {"type": "sequence", "elements": [
        {"type": "any_text", "excludes": ["<end>"]},
        {"type": "tag", "begin": "<call>", "content": pattern, "end": end},
    ]}  # fmt: skip
    constraint = explorer.structural_tag(tag, control_tokens=vocabulary)
    if refused:
        with pytest.raises(VocabularyError, match="<end>, which ends the text"):
            explorer.compile(constraint, vocabulary)
    else:
        assert explorer.compile(constraint, vocabulary).allowed(0).any()


def test_a_schema_that_waits_for_a_text_has_the_same_masks() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    inner = {"type": "json_schema", "json_schema": schema}
    given = triggered(["<"], *(tag(f"<{k}>", "</>", inner) for k in "abc"))
    source: Any = explorer.structural_tag(given).source
    assert all(leaf.late_tree.body.is_late for leaf in source.children)
    vocabulary = Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    lazy = explorer.compile(Constraint(source), vocabulary, lazy=True)
    closed = explorer.compile(Constraint(source), vocabulary)
    here, there = lazy.start, closed.start
    for byte in b'so <b>{"a":1}</>':
        assert lazy.allowed(here).tolist() == closed.allowed(there).tolist()
        after, then = lazy.step(here, byte), closed.step(there, byte)
        assert after is not None and then is not None
        here, there = after, then
