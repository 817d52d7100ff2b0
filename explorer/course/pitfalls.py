"""The exercises of the notebooks on the pitfalls of tokens (09a to 09f), and the five cases of the
notebook on debugging (06): a repair, or the culprit.

The answers stand here and not in the notebooks; the tests work each of them out again.
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
        "why-umlaut",
        "[a-zA-Zöü ]+",
        "Write the characters that you mean; `\\w` would let in many more.",
        "Put the letters into the class.",
    ),
    ValueExercise(
        "why-dead-end",
        "!",
        "With it `yes` can be finished.",
        "What is left of the choice after `yes`?",
        wrong={
            "yes!": "That token could be taken in place of `yes`, which stays masked. What is left "
            "to write after `yes`?",
        },
    ),
    LanguageExercise(
        "why-white-space",
        r'\{ ?"a": ?[0-9]{1,3} ?\}',
        "White space is bounded now, and no trap is left.",
        "Which piece of the pattern stands for white space, and how does a pattern write one "
        "space that may be left out?",
    ),
    ValueExercise(
        "why-suspects",
        ("sampler", "budget", "filter", "constraint"),
        "All four say no, and each for a reason of its own.",
        "Read the four paragraphs again: each names its own culprit in the second line.",
    ),
)
"""In the order of the notebook."""


PREPROCESSING: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "preprocessing-spelled",
        b" a b",
        "The symbol in front of the text is a space once the tokens are bytes again.",
        "Follow the arcs of the transducer with a pencil, one character after the other; each "
        "symbol that it writes is a space in the end. Give bytes, such as b'...'.",
        wrong={b"a b": "Something stands in front of the text."},
    ),
    LanguageExercise(
        "preprocessing-pattern",
        " (yes|no)!?",
        "Only the beginning changes, because there is no space inside.",
        "What do the tokens of every text begin with?",
    ),
    ValueExercise(
        "preprocessing-lowered",
        1,
        "All four texts become one.",
        "List the texts of the pattern, and lower each of them. How many different ones are left?",
        wrong={4: "That is how many there are before they are lowered."},
    ),
)

CANONICAL: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "canonical-merges",
        ("a", "bc"),
        "The first merge in the list goes first, wherever it stands in the text.",
        "Begin with single letters, and apply the merge that stands first in the list. Can the "
        "second one still be applied?",
        wrong={
            ("a", "b", "c"): "A merge that can be applied is applied.",
            ("abc",): "There is no merge that makes this token.",
        },
    ),
    ValueExercise(
        "canonical-count",
        3,
        "One for each text.",
        "How many texts are there, and how many ways does the filter leave for each?",
    ),
    ValueExercise(
        "canonical-forced",
        False,
        "It is skipped only where the mask leaves nothing else, so nothing is chosen for the "
        "model.",
        "When is a token skipped? Read the meaning of *forced* at the top.",
    ),
)

UNICODE: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "unicode-nfc",
        1,
        "Only the composed one: the other one would be recomposed into it.",
        "NFC composes wherever a composed character exists. Is there one for both texts?",
    ),
    LanguageExercise(
        "unicode-ascii",
        "[a-z]{2}",
        "The letters with accents are gone, and the rest of the pattern is as it was.",
        "Which of the letters have a code below 128?",
    ),
    ValueExercise(
        "unicode-ring",
        "U+00C5",
        "The angstrom sign U+212B looks the same, and it too becomes this one.",
        "Ask unicodedata, and print f'U+{ord(...):04X}'.",
        wrong={
            "U+212B": "That is a sign, not the letter; NFC changes it.",
            "Å": "That is the letter. Write it as Unicode does: U+ and four digits in capitals.",
            "C5": "That is the letter. Write it as Unicode does: U+ and four digits in capitals.",
            "00C5": "That is the letter. Write it as Unicode does: U+ and four digits in capitals.",
            "U+C5": "That is the letter. Write it as Unicode does: U+ and four digits in capitals.",
        },
    ),
)

BYTES: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "bytes-spellings",
        16,
        "Two ways for each of the four letters; a byte token may stand for any of them.",
        "For each letter there is a token, and there is a token for its byte. How many ways are "
        "there for one letter, for two, for three?",
        wrong={
            8: "Count the ways of each letter, and multiply.",
            5: "A text may mix both kinds of tokens.",
        },
    ),
    ValueExercise(
        "bytes-after",
        b"\xbc",
        "Together they are the two bytes of ü in UTF-8.",
        "Which bytes has 'ü'.encode()? One of them stands there already. Give bytes, such as "
        "b'\\x80'.",
    ),
)

SPACES: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "spaces-where",
        1,
        "The model likes the lone space itself; the next token pays for it.",
        "Read the log-probabilities below the boxes from left to right: at which of them, counted "
        "from 0, does the number fall off?",
        wrong={0: "The first token is the lone space. Is it unlikely?"},
    ),
    ValueExercise(
        "spaces-digits",
        (" ", "1", "7"),
        "The tokenizer itself writes a lone space here, because no token fuses a space with a "
        "digit; so the stage leaves it alone.",
        "Ask the tokenizer: lm.tokenizer.encode('means 17'), and read the tokens after 'means'. "
        "Give the texts of the tokens, from left to right.",
    ),
)

HEALING: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "healing-tokens",
        2,
        "Both of them: one token, ` JSON`, takes their place. One token back is not enough there.",
        "Compare the tokens of the prompt with those of the prompt and the answer together. How "
        "many at the end of the prompt are different?",
        wrong={1: "One is what the first way takes back. Look at its row."},
    ),
    ValueExercise(
        "healing-bad",
        "The date is ",
        "It ends in a space, and the tokenizer would have put that space into the next token.",
        "Which of the three ends where no token of a longer text would end?",
    ),
    ValueExercise(
        "healing-forced",
        True,
        "Up to the boundary the text is known, so there is only one canonical way to write it.",
        "How many texts can the prompt's part be, and how many canonical ways are there to write "
        "one text?",
    ),
)

MARGINALS: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "marginal-variation",
        0.25,
        "Half of the sum of the differences: (0.25 + 0.25) / 2.",
        "Add up |p - q| over both texts. Then remember the half in front.",
        wrong={0.5: "The half in front is missing."},
        within=0.001,
    ),
    ValueExercise(
        "marginal-conditional",
        0.6,
        "0.3 of the 0.5 that satisfies the constraint.",
        "Divide the probability of the text by that of all allowed texts together.",
        wrong={0.3: "That is its probability before the constraint."},
        within=0.001,
    ),
    ValueExercise(
        "marginal-rejection",
        5,
        "The share that is kept is the probability of the constraint; one over it is the number.",
        "If one draw in N is kept, how many draws does one text need?",
        within=0.001,
    ),
)

PITFALLS: Final[tuple[Exercise, ...]] = (
    *PREPROCESSING,
    *CANONICAL,
    *UNICODE,
    *BYTES,
    *SPACES,
    *HEALING,
    *MARGINALS,
)
"""All of them, in the order of the notebooks."""
