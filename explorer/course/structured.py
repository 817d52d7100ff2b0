"""The exercises of the notebooks on structured languages: JSON and types (07), grammars (08).

The answers stand here and not in the notebooks; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise

JSON: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "json-count",
        4,
        "Two with one element, and two with both in either order.",
        "Write down the arrays of one element, then those of two. Which of them repeat an element?",
        (
            (
                lambda answer: answer == 6,
                "Some of these repeat an element. Which keyword speaks of that?",
            ),
            (lambda answer: answer == 3, "The order of the elements is free."),
        ),
    ),
    LanguageExercise(
        "json-pattern",
        r'\{("a":"x",)?"b":(true|false)\}',
        "The comma belongs to the member that may be missing.",
        "What is missing together with `a`? Put it into the same group.",
    ),
    ValueExercise(
        "json-keyword",
        "additionalProperties",
        "Set to false, it forbids every other member.",
        "Compare the two calls of profile. What does the second one add to the schema?",
    ),
)

STRUCTURED: Final[tuple[Exercise, ...]] = (*JSON,)
