"""The exercises of the notebook on models of one's own (20).

The answers stand here and not in the notebook; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, ValueExercise

OWN: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "own-counted",
        0.6,
        "3 points of 5: the points that the mask takes away do not count.",
        "How many points has each of the two words? The mask leaves only these.",
        (
            (
                lambda answer: isinstance(answer, float) and abs(answer - 3 / 11) < 0.01,
                "That is the model's own. Which points does the mask leave?",
            ),
            (
                lambda answer: isinstance(answer, float) and abs(answer - 2 / 3) < 0.01,
                "Each of them has a point besides.",
            ),
        ),
        within=0.001,
    ),
    ValueExercise(
        "own-width",
        267,
        "They are padding: no token has these numbers.",
        "Which logits have no token? The ids begin at 0.",
    ),
    ValueExercise(
        "own-outcome",
        "cut",
        "All that was written is allowed, and a limit stopped it before its end.",
        "Was a token masked? Did the model end the text, or did something else?",
        (
            (
                lambda answer: answer == "ended early",
                "That is when the model itself ends its text too soon.",
            ),
            (lambda answer: answer == "whole", "Is 20 a text of four digits?"),
        ),
    ),
)
"""In the order of the notebook."""
