"""Answers of the course's readers: right ones, wrong ones, and odd ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import explorer
from explorer.course import check
from explorer.course.checking import EXERCISES
from explorer.course.exercise import LanguageExercise, ValueExercise


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_no_answer_is_no_fault(name: str) -> None:
    assert check(name).right is None and "None" in repr(check(name))


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_the_answer_is_right_and_others_are_not(name: str) -> None:
    answer: Any = EXERCISES[name].answer  # type: ignore[attr-defined]
    assert check(name, answer).right and repr(check(name, answer)).startswith("Right. ")
    for other in (
        "no such answer",
        123456.5,
        ["x"],
        {"x"},
        object(),
        b"x",
        True,
        explorer.choice(["x"]),
    ):
        if other == answer:
            continue
        said = check(name, other)
        assert said.right is False and repr(said).startswith("Not yet. "), other
        assert said.message.endswith((".", "?", ":", "^", "\n"))


@pytest.mark.parametrize("name", sorted(EXERCISES))
def test_a_hint_does_not_give_a_value_away(name: str) -> None:
    exercise = EXERCISES[name]
    if not isinstance(exercise, ValueExercise):
        return
    answer = exercise.answer
    words = [exercise.hint]
    for hints in (exercise.wrong, exercise.has, exercise.lacks):
        words += hints.values()
    if isinstance(answer, int | float) and abs(answer) > 1:
        assert not any(str(answer) in hint for hint in words)
    elif isinstance(answer, str) and len(answer) > 1:
        assert not any(answer in hint for hint in words)


def test_values_of_other_libraries_count() -> None:
    assert check("spaces-where", np.int64(1)).right
    assert check("spaces-digits", (" ", "1", "7")).right


def test_numbers_texts_and_sets() -> None:
    near = ValueExercise("n", 0.25, "yes", "no", within=0.01)
    assert near.grade(0.255).right and not near.grade(0.3).right
    assert not near.grade(float("nan")).right and not near.grade(True).right
    some = ValueExercise("s", {"a", "b"}, "yes", "no")
    assert some.grade({"b", "a"}).right and not some.grade({"a"}).right
    assert some.grade(["b", "a"]).right and "a set" in some.grade("ab").message
    assert ValueExercise("n", 64, "yes", "no").grade("64").right
    assert check("unicode-ring", "u+00c5").right
    word = ValueExercise("w", "a", "yes", "no", {"b": "b is not it."})
    assert word.grade("a").right and word.grade("b").message == "b is not it."
    sets = ValueExercise("s", {"a"}, "yes", "no", has={"b": "not b"}, lacks={"a": "where is a?"})
    assert sets.grade({"a", "b"}).message == "not b" and sets.grade({"c"}).message == "where is a?"


def test_languages_are_compared_as_languages() -> None:
    asked = LanguageExercise("l", "a+b", "yes", "Think of runs.")
    for right in ("a+b", "aa*b", explorer.regex("a{1,}b")):
        assert asked.grade(right).right
    assert asked.grade("a*b").message == (
        "It also accepts 'b', which it should not. Think of runs."
    )
    assert asked.grade("aa+b").message == (
        "It does not accept 'ab', which it should. Think of runs."
    )
    digits = LanguageExercise("d", "[0-9]+", "yes", "Think of runs.")
    assert r"`\d` is every digit" in digits.grade(r"\d+").message
    assert asked.grade("(").message.startswith("This pattern cannot be read")
    assert asked.grade(7).message == "The answer is a constraint or a pattern. Think of runs."
    # A pattern that grows beyond every limit is refused, not run.
    assert "cannot be" in asked.grade("(a|b)*a(a|b){40}").message


LANGUAGES = [name for name, one in EXERCISES.items() if isinstance(one, LanguageExercise)]


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_that_is_nearly_right_is_wrong(name: str) -> None:
    """Too wide or too narrow by one text, the empty one included, is another language."""
    exercise = EXERCISES[name]
    assert isinstance(exercise, LanguageExercise)
    wanted = explorer.regex(exercise.answer)
    shortest = explorer.literal(wanted.examples(1)[0])
    empty = explorer.literal("")
    wrong: list[Any] = ["", ".*", r"(?s:.*)", r"[^\s\S]", wanted - shortest]
    wrong += [
        wanted | explorer.literal("~{"),
        wanted - empty if wanted.accepts("") else wanted | empty,
    ]
    for answer in wrong:
        said = check(name, answer)
        assert said.right is False and repr(said).startswith("Not yet. "), answer
    assert check(name, wanted | shortest).right


def test_an_answer_is_not_run() -> None:
    said = check("spaces-where", "__import__('os').getcwd()")
    assert said.right is False and "a text" in said.message


def test_a_hint_says_what_is_so() -> None:
    # With a token yes! the token yes stays masked: that is no way to the answer.
    few = [b"yes", b"no", b"ye", b"s", b"n", b"o"]
    machine = explorer.compile(
        explorer.regex("yes!|no"), explorer.Vocabulary.from_bytes([*few, b"yes!"], eos_ids=[7])
    )
    assert list(machine.allowed(machine.start)[[0, 6]]) == [False, True]
    assert "stays masked" in check("why-dead-end", "yes!").message


def test_a_transducer_is_composed_with_what_it_reads() -> None:
    f, oo = [("r", "f", "f", "r")], [("r", "", "o", "o"), ("o", "oo", "o", "r")]
    foo = [("r", "", "f", "a"), ("a", "", "o", "b"), ("b", "foo", "o", "r")]
    assert check("transduction-own", f + oo + foo).right
    # Where the token is read does not matter, and two ways that write the same are one function.
    early = [("r", "foo", "f", "c"), ("c", "", "o", "d"), ("d", "", "o", "r")]
    assert check("transduction-own", f + oo + early).right
    assert check("transduction-own", f + oo + foo + early).right
    missing = check("transduction-own", f + oo)
    assert missing.message.startswith("Composed with foo, no way leads")
    wrong = check("transduction-own", [*f, *oo, ("r", "foo", "f", "r")])
    assert wrong.message.startswith("Composed with foo it writes 'f'.")
    # A fault that only four tokens in a row show.
    four = [("r", "f", "f", "1"), ("1", "f", "f", "2"), ("2", "f", "f", "3"), ("3", "f", "x", "r")]
    late = check("transduction-own", f + oo + foo + four)
    assert late.message.startswith("Composed with f f f f it writes 'fffx'.")
    # A state that two tokens share by mistake mixes them: one is read, and the other is written.
    mixed = [("r", "", "o", "c"), ("c", "oo", "o", "r"), *early]
    assert check("transduction-own", f + mixed).right is False
    # One character for each arc, and one token: a loop that writes a whole token avoids the task.
    whole = check("transduction-own", [*f, ("r", "oo", "oo", "r"), *foo])
    assert whole.message.startswith("An arc writes one character at most, and one of yours")
    letter = check("transduction-own", [*f, *oo, ("r", "o", "o", "r"), *foo])
    assert letter.message.startswith("An arc reads one token or nothing, and 'o' is not a token.")
    assert "0 to 1" in check("masks-divided", 75).message
    endless = check("transduction-own", [*f, *oo, *foo, ("r", "", "x", "r")])
    assert "without end" in endless.message
    assert "four texts each" in check("transduction-own", [("r", "f", "r")]).message
