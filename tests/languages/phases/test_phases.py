"""Phases: marks, slips, and control tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import (
    Constraint,
    Session,
    Vocabulary,
    any_text,
    choice,
    many,
    phase,
    phases,
    regex,
    token,
)
from explorer.alphabet import between_letters
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import literal
from explorer.languages.phases.followed import PhasePart, phase_net

# Phases: the texts stay those of the constraints, and every part of a text has its name.
#
# The oracle for the borders is Python's `re`: each phase becomes a greedy group of a pattern,
# control tokens characters of a private area.


NAMES = {3: "<think>", 4: "</think>", 5: "<tool>", 6: "</s>"}
TOKENS = (b"a", b"b", b"ab", None, None, None, None)
SMALL = Vocabulary(TOKENS, (6,), special=NAMES)
PRIVATE = {3: "\ue003", 4: "\ue004", 5: "\ue005"}


THINK = phase("think", any_text(), begin=token("<think>"), end=token("</think>"))

# A constraint, and the pattern whose group of each name is the phase with its borders.
CASES: dict[str, tuple[Constraint, str]] = {
    "in a row": (
        phases(("one", regex("a*")), ("two", regex("[ab]*"))), "(?P<one>a*)(?P<two>[ab]*)",
    ),
    "a token crosses": (
        phases(("one", regex("a+")), ("two", regex("b+a?"))), "(?P<one>a+)(?P<two>b+a?)",
    ),
    "chosen": (
        phases({"one": regex("ab*"), "two": regex("[ab]{2}")}), "(?P<one>ab*)|(?P<two>[ab]{2})",
    ),
    "control tokens": (
        THINK + (phase("tool", token("<tool>") + regex("a+")) | phase("say", regex("b+"))),
        "(?P<think>\ue003[ab]*\ue004)(?:(?P<tool>\ue005a+)|(?P<say>b+))",
    ),
    "optional": (
        THINK.optional() + phase("say", regex("[ab]+")),
        "(?P<think>\ue003[ab]*\ue004)?(?P<say>[ab]+)",
    ),
    "text between": (
        phase("one", regex("a")) + "b" + phase("two", regex("[ab]*")),
        "(?P<one>a)b(?P<two>[ab]*)",
    ),
    "one of them may be empty": (
        phases(("one", regex("a?")), ("two", regex("b?")), ("last", regex("a?b?"))),
        "(?P<one>a?)(?P<two>b?)(?P<last>a?b?)",
    ),
    "inside": (
        phase("outer", regex("a") + phase("inner", regex("[ab]*")), end="b"),
        "(?P<outer>a(?P<inner>[ab]*)b)",
    ),
    "both": (
        (phase("one", regex("a*")) + phase("two", regex("b*"))) & regex("(..)*"),
        "(?=(?:..)*$)(?P<one>a*)(?P<two>b*)",
    ),
    "without": (
        (phase("one", regex("a*")) + phase("two", regex("b*"))) - choice(["ab", ""]),
        "(?!(?:ab)?$)(?P<one>a*)(?P<two>b*)",
    ),
}  # fmt: skip

SEQUENCES = [ids for n in range(5) for ids in product(range(6), repeat=n)]


def text_of(ids: tuple[int, ...]) -> str:
    return "".join(PRIVATE.get(k) or (TOKENS[k] or b"").decode() for k in ids)


def in_private(data: bytes) -> str:
    """The bytes that tokens wrote, as the oracle has them."""
    return "".join(
        PRIVATE[each[1]] if isinstance(each, tuple) else each.decode()
        for each in between_letters(data)
    )


def stretches(parts: tuple[PhasePart, ...], data: bytes) -> dict[str, str]:
    """The text of each phase with its borders, those inside others too."""
    named = {part.name: in_private(data[part.begin : part.end]) for part in parts}
    return {name: text for part in parts for name, text in stretches(part.parts, data).items()} | (
        named
    )


@pytest.mark.parametrize("case", CASES)
def test_words_and_borders_are_those_of_the_oracle(case: str) -> None:
    constraint, pattern = CASES[case]
    machine = explorer.compile(constraint, SMALL)
    words = 0
    for ids in SEQUENCES:
        state: int | None = machine.start
        for k in ids:
            state = None if state is None else machine.step(state, k)
        matched = re.fullmatch(pattern, text_of(ids))
        assert (state is not None and machine.is_final(state)) == (matched is not None), ids
        if matched is None:
            with pytest.raises(ConstraintError):
                constraint.parse(SMALL.written(ids))
            continue
        words += 1
        data = SMALL.written(ids)
        wanted = {name: text for name, text in matched.groupdict().items() if text is not None}
        assert stretches(constraint.parse(data), data) == wanted, ids
    assert words > 3


@pytest.mark.parametrize("case", CASES)
def test_each_byte_is_in_the_phases_that_read_it(case: str) -> None:
    constraint, _ = CASES[case]
    net = phase_net(constraint.source)
    for ids in SEQUENCES:
        data = SMALL.written(ids)
        if not constraint.accepts(data):
            continue
        along = net.names_along(data)
        assert len(along) == len(data)
        # Every beginning of a word is in some phase's text or between two.
        for k in range(len(data) + 1):
            assert len(net.names_along(data[:k])) == k
        flat = [(part, ()) for part in constraint.parse(data)]
        for part, outer in flat:
            flat += [(inner, (*outer, part.name)) for inner in part.parts]
        if ids and case != "one of them may be empty":
            for part, outer in flat:
                inside = {at for each in part.parts for at in range(each.begin, each.end)}
                for at in range(part.begin, part.end):
                    assert at in inside or along[at][: len(outer) + 1] == (*outer, part.name)


def test_without_phases_the_machine_is_the_same() -> None:
    named = phases(("a", regex("a+")), {"b": regex("b+"), "c": regex("c")})
    assert named.equivalent(regex("a+(b+|c)"))


def test_several_with_separators() -> None:
    one = phases({"tool f": regex("f[0-9]"), "tool g": explorer.json_schema({"type": "integer"})})
    calls = many(one, 1, 3, separator="\n")
    parts = calls.parse("f1\n12\nf2")
    assert [(part.name, part.value) for part in parts] == [
        ("tool f", "f1"), ("tool g", 12), ("tool f", "f2"),
    ]  # fmt: skip
    assert not calls.accepts("") and not calls.accepts("f1\nf1\nf1\nf1")
    twice = (phase("x", regex("a+b")).times(2, None)).parse("abaabab")
    assert [part.text for part in twice] == ["ab", "aab", "ab"]


def test_an_empty_phase_has_no_text() -> None:
    parts = phases(("none", literal("")), ("a", literal("a"))).parse("a")
    assert [(part.name, part.text) for part in parts] == [("none", ""), ("a", "a")]
    with pytest.raises(ConstraintError):
        phases(("a", regex("a")), ("b", literal("x") & literal("y"))).parse("a")


@pytest.mark.parametrize("role", [np.array([1, 2]), np.array([]), np.array(""), 0, None, False, []])
def test_a_role_that_is_no_text_is_refused_by_name(role: object) -> None:
    with pytest.raises(ConstraintError, match=r"^role is "):
        phase("a", regex("a"), role=role)  # pyright: ignore[reportArgumentType]


# The bytes that mark control tokens are the machine's own: no text that a user reads has them.


VOCABULARY = Vocabulary(
    (b"a", b"b", b"<", None, None, None), (5,),
    special={3: "<think>", 4: "</think>", 5: "<end>"},
)  # fmt: skip
CONSTRAINTS: dict[str, Constraint] = {
    "by name": token("<think>") + any_text() + token("</think>") + regex("b+"),
    "by id": token(3).star() + "b",
    "any but one": explorer.any_tokens(excluding=["<think>"]),
    "phases": phase("think", any_text(), begin=token("<think>"), end=token("</think>")) + "b",
    "grammar": explorer.grammar('start: <think> "a" </think> start | "b"', "lark"),
    "structural tag": explorer.structural_tag(
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
        control_tokens=["<think>", "</think>"],
    ),
}
MARKS = ("\\xf8", "\\xf9", "F8>", "F9>", "\xf8", "\xf9", "\ufffd")


def texts(constraint: Constraint, *, lazy: bool) -> Iterator[str]:
    """The texts that a user reads of a constraint, of its machine and of some runs."""
    yield from (str(constraint), repr(constraint), *constraint.examples(4))
    yield from (*constraint.source.warnings(), *constraint.source.decisions())
    for ids in ([3, 0, 4, 1], [0], [3, 3], [4, 1, 3], [3, 0, 4, 1, 1, 3], []):
        try:
            yield repr(constraint.parse(VOCABULARY.written(ids)))
        except ExplorerError as error:
            yield str(error)
        yield str(explorer.explain_text(constraint, VOCABULARY.written(ids)))
    machine = explorer.compile(constraint, VOCABULARY, lazy=lazy)
    states, seen = [machine.start], {machine.start}
    for state in states:  # The list grows while it is read.
        for each in range(len(VOCABULARY)):
            why = explorer.explain(machine, state, each)
            yield from (str(why), why.message, str(why.to_dict()["text"]))
            after = machine.step(state, each)
            if after is not None and after not in seen and len(seen) < 6 and each != 5:
                seen.add(after)
                states.append(after)
    yield from (repr(machine), str(machine))


@pytest.mark.parametrize(
    ("name", "lazy"),
    [(name, lazy) for name in CONSTRAINTS for lazy in (True, False) if lazy or name != "grammar"],
)
def test_no_text_has_the_marks_of_control_tokens(name: str, lazy: bool) -> None:
    for text in texts(CONSTRAINTS[name], lazy=lazy):
        assert not any(mark in text for mark in MARKS), text


# Slips of the pen around phases: each error names its spot, the reason, and what to write.


NAMES_OF_SLIPS = {2: "<tool>", 3: "<think>", 4: "</think>", 5: "<end>"}
PIECES = (b"a", b"<", None, None, None, None, *(bytes([each]) for each in b"thinkol>/"))
VOCABULARY_OF_SLIPS = Vocabulary(PIECES, (5,), special=NAMES_OF_SLIPS)
THOUGHT = explorer.token("<think>") + explorer.any_text() + explorer.token("</think>") + "a"
CALL: dict[str, Any] = {
    "type": "tag", "begin": "<tool>", "content": {"type": "regex", "pattern": "a+"},
    "end": "</think>",
}  # fmt: skip


def begun(*ids: int) -> Session:
    return Session.from_ids(VOCABULARY_OF_SLIPS, THOUGHT, ids)


# Control tokens by name.


def test_a_vocabulary_stands_for_the_control_tokens_that_a_tag_has() -> None:
    by_vocabulary = explorer.structural_tag(CALL, control_tokens=VOCABULARY_OF_SLIPS)
    assert not explorer.compile(by_vocabulary, VOCABULARY_OF_SLIPS).report.warnings
    by_name = explorer.structural_tag(CALL, control_tokens=["<tool>", "</think>"])
    assert by_vocabulary.source.control_tokens == by_name.source.control_tokens
    for text in (VOCABULARY_OF_SLIPS.written([2, 0, 4]), b"<tool>a</think>"):
        assert by_vocabulary.accepts(text) == by_name.accepts(text)


@pytest.mark.parametrize(("before", "name", "token"), [((), "<think>", 3), ((3,), "</think>", 4)])
def test_step_and_explain_mean_the_same_token_by_a_spelling(
    before: tuple[int, ...], name: str, token: int
) -> None:
    assert begun(*before).step(name).token == token
    why = begun(*before).explain(name)
    assert why.token == token and why.allowed
