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

GRAMMARS: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "grammars-height",
        1,
        "Two are pushed by the first token, and one is popped.",
        "Look for the two arcs in the drawing, and add what they push and pop.",
        (
            (lambda answer: answer == 2, "So high it is after the first token."),
            (lambda answer: answer == 3, "Inside of a token a push and a pop cancel out."),
        ),
    ),
    LanguageExercise(
        "grammars-regular",
        "x*yz*",
        "Both rules call themselves last, so both are loops.",
        "Each rule is a loop that ends with its other alternative.",
    ),
    ValueExercise(
        "grammars-draft",
        1.75,
        "One from the pass, half of the time a second, and a quarter of the time a third.",
        "Add up how often there is a first token, a second one and a third one.",
        ((lambda answer: answer == 2, "The second proposal counts only if the first was right."),),
        within=0.001,
    ),
)

STRUCTURED: Final[tuple[Exercise, ...]] = (*JSON, *GRAMMARS)
