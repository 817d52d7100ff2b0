"""The part of the source that decides: every kind of node, by hand."""

from __future__ import annotations

import re

import pytest

from explorer.analysis.explaining.explanation import explain_text
from explorer.analysis.places.spans import parts
from explorer.budget import Budget
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint, choice, literal, regex
from explorer.languages.regex.source import Regex
from explorer.languages.written.configuration import Configurations


def decided(constraint: Constraint, text: str, byte: str | None) -> list[tuple[object, ...]]:
    """Role, path, and what the positions say, for one character after a text."""
    found = parts(
        constraint.source, constraint.dfa, text.encode(), None if byte is None else ord(byte)
    )
    return [(part.role, part.path, [p.text for p in part.positions]) for part in found]


def test_all_live_spans_of_a_pattern() -> None:
    pattern = "a[bc]*d|ax"
    found = parts(regex(pattern).source, regex(pattern).dfa, b"a", ord("z"))
    assert [pattern[start:end] for start, end in found[0].spans] == ["[bc]", "d", "x"]


def test_a_choice_names_what_is_still_open() -> None:
    assert decided(choice(["yes", "no", "yet"]), "ye", "c") == [("expects", (), ["'yes', 'yet'"])]


def test_a_sequence_names_its_part() -> None:
    constraint = choice(["yes", "no"]) + regex("[!?]")
    assert decided(constraint, "yes", "x") == [("expects", (), ["[!?]"])]
    assert decided(constraint.star(), "yes!", "x") == [("expects", (), ["'no', 'yes'"])]
    assert decided(literal("a").optional() + literal("b"), "", "x") == [
        ("expects", (), ["'a'", "'b'"])
    ]


def test_a_union_names_the_parts_that_are_alive() -> None:
    constraint = regex("ab") | regex("cd") | choice(["ax"])
    assert decided(constraint, "a", "z") == [
        ("expects", (0,), ["b"]),
        ("expects", (2,), ["'ax'"]),
    ]


def test_an_intersection_names_the_operand_that_dies() -> None:
    constraint = regex("[a-z]{3}") & regex("a.*")
    assert decided(constraint, "", "b") == [("expects", (1,), ["a"])]
    assert decided(constraint, "a", "1") == [("expects", (0,), ["[a-z]"])]
    assert decided(constraint, "", "1") == [("expects", (0,), ["[a-z]"]), ("expects", (1,), ["a"])]
    assert decided(constraint, "ab", None) == [("expects", (0,), ["[a-z]"])]


def test_a_combination_has_a_word_of_each() -> None:
    left, middle, right = regex("a(bx|c)"), regex("a(by|c)"), regex("a.+")
    constraint = left & middle & right
    (found,) = parts(constraint.source, constraint.dfa, b"a", ord("b"))
    assert found.role == "combination" and found.words == (b"abx", b"aby", b"ab")
    for word, operand in zip(found.words, (left, middle, right), strict=True):
        assert operand.accepts(word) and not constraint.accepts(word)


def test_a_difference_names_the_excluder() -> None:
    constraint = regex("[a-z]{3}") - choice(["cat", "dog"])
    (found,) = parts(constraint.source, constraint.dfa, b"ca", ord("t"))
    assert (found.role, found.path, found.words) == ("excludes", (1,), (b"cat",))
    assert decided(constraint, "ca", "1") == [("expects", (0,), ["[a-z]"])]
    ended = regex("a+") - literal("aa")
    (found,) = parts(ended.source, ended.dfa, b"aa", None)
    assert (found.role, found.path, found.words) == ("excludes", (1,), (b"aa",))


def test_a_complement_names_what_it_excludes() -> None:
    constraint = ~regex("ab*")
    (found,) = parts(constraint.source, constraint.dfa, b"ab", None)
    assert (found.role, found.path, found.words) == ("excludes", (0,), (b"ab",))
    why = explain_text(constraint, b"\xff")
    assert why.stage == "constraint" and why.parts[0].role == "state"


@pytest.mark.parametrize(
    ("pattern", "text", "byte", "assertion"),
    [
        ("(?!foo)[a-z]{3}", "fo", "o", "(?!foo)"),
        ("(?=.*1)[a-z1]{2}", "a", "b", "(?=.*1)"),
        ("a(?<=a(?=b))[bc]", "a", "c", "(?<=a(?=b))"),
        (r"[a-z ]+\bx", "a", "x", r"\b"),
        ("[ab]+(?<!b)", "ab", None, "(?<!b)"),
        (r"a$.?(?s:.)*", "a", "b", "$"),
    ],
)
def test_an_assertion_that_excludes_is_named(
    pattern: str, text: str, byte: str | None, assertion: str
) -> None:
    constraint = regex(pattern)
    found = parts(
        constraint.source, constraint.dfa, text.encode(), None if byte is None else ord(byte)
    )
    excluders = [part for part in found if part.role == "excludes"]
    if pattern.startswith("[a-z ]"):
        return  # Here the class goes on instead; the boundary is not what forbids.
    (part,) = excluders
    assert part.positions[0].text == assertion
    start, end = part.spans[0]
    word = part.words[0].decode()
    assert re.fullmatch(pattern[:start] + pattern[end:], word)
    assert not re.fullmatch(pattern, word)


def test_two_assertions_can_exclude_together() -> None:
    constraint = regex("(?!ab)(?!ab?)[abc]+")
    found = parts(constraint.source, constraint.dfa, b"", ord("a"))
    assert [(part.role, [p.text for p in part.positions]) for part in found][-1] == (
        "excludes", ["(?!ab?)"],
    )  # fmt: skip
    constraint = regex("(?!a)(?!a|d)[abc]+")
    found = parts(constraint.source, constraint.dfa, b"", ord("a"))
    assert [(part.role, [p.text for p in part.positions]) for part in found][-1] == (
        "combination", ["(?!a)", "(?!a|d)"],
    )  # fmt: skip


def test_parts_inside_a_sequence_are_named_themselves() -> None:
    word = regex("[a-z]{3}") - choice(["cat", "cow"])
    tagged = literal("<") + word + literal(">")
    (found,) = parts(tagged.source, tagged.dfa, b"<ca", ord("t"))
    assert (found.role, found.path, found.words) == ("excludes", (1, 1), (b"cat",))
    assert decided(tagged, "<ca", "1") == [("expects", (1, 0), ["[a-z]"])]
    # Where the part may end, what must come before the end is in the parts after it.
    assert decided(tagged, "<dog", None) == [("expects", (2,), ["'>'"])]
    assert decided(tagged, "<d", None) == [("expects", (1, 0), ["[a-z]"])]
    both = literal("a") + (regex("bx|c") & regex("by|c"))
    (found,) = parts(both.source, both.dfa, b"a", ord("b"))
    assert (found.role, found.path, found.words) == ("combination", (1,), (b"bx", b"by"))


def test_parts_inside_a_repetition_are_asked_from_where_it_began_again() -> None:
    word = regex("[a-z]{3}") - choice(["cat", "cow"])
    listed = (word + literal(";")).plus()
    for before in ("", "dog;", "dog;ape;"):
        (found,) = parts(listed.source, listed.dfa, f"{before}ca".encode(), ord("t"))
        assert (found.role, found.path, found.words) == ("excludes", (0, 0, 1), (b"cat",))
    # A part that can begin at several offsets is asked at each, and says each thing once.
    runs = (regex("a+") - literal("aa")).star() + literal("b")
    found = parts(runs.source, runs.dfa, b"aaa", ord("x"))
    assert [(part.role, part.path) for part in found] == [("expects", (0, 0, 0)), ("expects", (1,))]


def test_an_imported_machine_has_states_only() -> None:
    constraint = Constraint.from_fsm(regex("ab").to_interegular())
    (found,) = parts(constraint.source, constraint.dfa, b"a", ord("x"))
    assert found.role == "state" and found.state >= 0 and found.spans == ()


def test_what_is_too_large_says_so() -> None:
    with pytest.raises(BudgetExceeded):
        Configurations(Regex("(abc){5}" * 50).tree, Budget(states=100))
    constraint = choice([f"{k:07d}" for k in range(100_000)])
    (found,) = parts(constraint.source, constraint.dfa, b"0", ord("x"))
    assert found.role == "too_large"


def test_paths_lead_to_the_parts() -> None:
    constraint = (regex("a") | (regex("b") - literal("b") - regex("c"))) & ~literal("d")
    why = explain_text(constraint, "d")
    for part in why.parts:
        node = constraint.source
        for step in part.path:
            node = node.children[step]
        assert node == part.source


def test_half_a_character_counts_all_that_could_stand_there() -> None:
    why = explain_text(regex("a?[ä]|a[de]"), "aö")
    assert [p.text for p in why.parts[0].positions] == ["[ä]", "[de]"]
