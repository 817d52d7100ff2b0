"""The exercises of the notebooks on masks: the quickstart (00), probabilities (05).

The answers stand here and not in the notebooks; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise

QUICKSTART: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "quickstart-end",
        {"end"},
        "The text is complete, and nothing could follow a `d`. The end is forced.",
        "Press Step until the text stands there, and read which bars are not struck.",
        (
            (
                lambda answer: isinstance(answer, frozenset) and "foo" in answer,
                "That is allowed after foofoo. What about the text with its `d`?",
            ),
        ),
    ),
    LanguageExercise(
        "quickstart-stop",
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\.?",
        "One character more, and the model may end as it likes to.",
        "In a pattern a dot alone means any character; with a backslash it is a full stop.",
    ),
)

PROBABILITIES: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "masks-divided",
        0.75,
        "0.3 of the 0.4 that is allowed.",
        "Add up what is allowed. Which part of it is the second token?",
        (
            (lambda answer: answer == 0.3, "That is the model's probability, before the mask."),
            (lambda answer: answer == 0.25, "That is the first token."),
        ),
        within=0.001,
    ),
    ValueExercise(
        "masks-factor",
        10,
        "Each step divides by its Z, so the text is divided by 0.5 × 0.2 × 1.",
        "Each step divides by its own Z. What do all three together divide by?",
        ((lambda answer: answer == 0.1, "By so much it is divided. And the factor?"),),
        within=0.001,
    ),
    ValueExercise(
        "masks-aliases",
        ("Germany", "France"),
        "No single spelling of France is best, but both together are.",
        "Look for the largest number first. Then add up the spellings of each name.",
    ),
)

MASKED: Final[tuple[Exercise, ...]] = (*QUICKSTART, *PROBABILITIES)
