"""The exercises of the notebooks on the pitfalls of tokens (09a to 09g).

The answers stand here and not in the notebooks; the tests work each of them out again with the
engine.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise


def above_zero(answer: object) -> bool:
    """Whether a number is positive, which no log-probability is."""
    return isinstance(answer, int | float) and answer > 0


SPACES: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "spaces-where",
        1,
        "Of the lone space itself the model is fond; the next token pays for it.",
        "Read the log-probabilities below the boxes from left to right: at which of them, counted "
        "from 0, does the number fall off?",
        ((lambda answer: answer == 0, "The first token is the lone space. Is it unlikely?"),),
    ),
    ValueExercise(
        "spaces-digits",
        (" ", "1", "7"),
        "The tokenizer itself writes a lone space here, because no token fuses a space with a "
        "digit; so the stage leaves it alone.",
        "Ask the tokenizer: lm.tokenizer.encode('means 17'), and read the tokens after 'means'. "
        "Give the texts of the tokens, from left to right.",
    ),
    LanguageExercise(
        "spaces-pattern",
        " (five|ten|seventeen)",
        "The space is a part of the text, so it belongs into the pattern.",
        "Write one pattern for the three words, each after one space.",
    ),
)

PITFALLS: Final[tuple[Exercise, ...]] = (*SPACES,)
"""All of them."""
