"""The ten cases of the notebook on debugging (06): a repair, or the culprit.

The answers stand here and not in the notebook; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise

CASES: Final[tuple[Exercise, ...]] = (
    LanguageExercise(
        "why-space",
        " (Paris|London)",
        "Now the mask leaves nearly everything that the model wanted.",
        "What does the model want to write before the name?",
    ),
    LanguageExercise(
        "why-end",
        r"[0-9]+(\.[0-9]{2})?",
        "The point and its digits come together, or not at all.",
        "Put a group around what may be missing, and a question mark behind it.",
    ),
    LanguageExercise(
        "why-umlaut",
        "[a-zA-Zöü ]+",
        "Write the characters that you mean; `\\w` would let in many more.",
        "Put the letters into the class.",
    ),
    LanguageExercise(
        "why-hyphen",
        """[A-Za-z'"_<> -]+""",
        "At the end of a class, or behind a backslash, a hyphen is only a hyphen.",
        "Where in a class does a hyphen not make a range?",
    ),
    ValueExercise(
        "why-half",
        b"\xa9",
        "C3 and A9 are é; the mask allows the one token that completes it.",
        "Which bytes has the letter in UTF-8? The first of them stands there already.",
        ((lambda answer: answer == b"\xc3\xa9", "The first of these stands there already."),),
    ),
    ValueExercise(
        "why-dead-end",
        "!",
        "With it `yes` can be finished.",
        "What is left of the choice after `yes`?",
        (
            (
                lambda answer: answer == "yes!",
                "That token could be taken in place of `yes`, which stays masked. What is left to "
                "write behind `yes`?",
            ),
        ),
    ),
    ValueExercise(
        "why-too-long",
        "nothing",
        "After two digits the text must end, so no byte at all may follow.",
        "Print it. How many texts are listed there?",
        (
            (
                lambda answer: answer == "a digit",
                "Two digits are read by then. How many does the pattern want?",
            ),
        ),
    ),
    LanguageExercise(
        "why-white-space",
        r'\{ ?"a": ?[0-9]{1,3} ?\}',
        "White space is bounded now, and no trap is left.",
        "Which piece of the pattern stands for white space, and how is one space written that "
        "may be left out?",
    ),
    ValueExercise(
        "why-order",
        "any",
        "Every order is accepted, by a larger machine.",
        "The reason that was printed for the third text says it between quotes.",
        (
            (
                lambda answer: answer == "schema",
                "That is the default, with which the text is refused.",
            ),
        ),
    ),
    ValueExercise(
        "why-suspects",
        ("sampler", "budget", "filter", "constraint"),
        "All four say no, and each for a reason of its own.",
        "Read the four paragraphs again: each names its own culprit in the second line.",
    ),
)
"""In the order of the notebook."""
