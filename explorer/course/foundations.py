"""The exercises of the notebooks on tokens, automata and masks (00 to 05), on structured languages
(07, 08), and on models of one's own (20).

The answers stand here and not in the notebooks; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise
from explorer.course.transducers import TransducerExercise

QUICKSTART: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "lecture-mask",
        {"f", "foo", "end"},
        "`foo` is a text of (foo)+: it may end, or be repeated. The other half needs a `for`.",
        "Write each token after `foo`. Can the result still become a text, or is it one already?",
        has={"food": "That was allowed by (foo)+d. Here a `d` may only stand before `for`."},
        lacks={"end": "Is `foo` a text of the pattern already?"},
    ),
    ValueExercise(
        "quickstart-end",
        {"end"},
        "The text is complete, and nothing could follow a `d`. The end is forced.",
        "Take `foo`, then `food`: click them, or write the run in code. Which bars are not struck?",
        has={"foo": "That is allowed after foofoo. What about the text with its `d`?"},
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
        wrong={
            0.3: "That is the model's probability, before the mask.",
            0.25: "That is the first token.",
            75: "A probability is a number from 0 to 1.",
        },
        within=0.001,
    ),
    ValueExercise(
        "masks-factor",
        10,
        "Each step divides by its Z, so the text is divided by 0.5 × 0.2 × 1.",
        "Each step divides by its own Z. What do all three together divide by?",
        wrong={0.1: "That is the divisor. What is the factor?"},
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


TOKENS: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "tokens-text",
        "für",
        "The bytes C3 and BC are one character; each alone is not a character.",
        "Join the bytes first, and then decode them: b'f' + b'\\xc3' + ...",
        wrong={
            "fr": "Every token writes its bytes, also 2 and 3.",
            "fÃ¼r": "Do not decode the tokens one by one: join their bytes first.",
            "f\ufffd\ufffdr": "Do not decode the tokens one by one: join their bytes first.",
        },
    ),
    ValueExercise(
        "tokens-bytes",
        4,
        "Three for the first character and one for the second.",
        "One token for each byte: how many bytes has the whole text?",
        wrong={2: "The text has that many characters; the vocabulary has bytes."},
    ),
    ValueExercise(
        "tokens-twins",
        83,
        "That many ids are duplicates: each writes what another id writes too.",
        "How many ids write bytes, and how many different byte strings are there? What is the "
        "difference?",
        wrong={166: "That is how many ids are concerned. How many byte strings do they write?"},
    ),
)

AUTOMATA: Final[tuple[Exercise, ...]] = (
    LanguageExercise(
        "automata-even",
        "b*(ab*ab*)*",
        "Each `a` goes to the other state, and each `b` stays where it is.",
        "From an even state, how many `a` lead back to it? Where between them may a `b` stand?",
    ),
    ValueExercise(
        "automata-together",
        {".", "12."},
        "After the point has been read it does not matter which digits stood before it.",
        "Read each text with a finger on the machine. Where does it end?",
        has={
            ".5": "One of your texts is complete, and 7. is not.",
            "5": "One of your texts still waits for its point.",
        },
    ),
    ValueExercise(
        "automata-sets",
        64,
        "It must remember for each of the last six characters whether it was an `a`.",
        "How does the number grow from one pattern to the next?",
        wrong={
            10: "It grows faster than that.",
            12: "It grows faster than that.",
        },
    ),
)

TRANSDUCTION: Final[tuple[Exercise, ...]] = (
    TransducerExercise(
        "transduction-own",
        ("f", "oo", "foo"),
        (
            ("r", "f", "f", "r"),
            ("r", "", "o", "o"),
            ("o", "oo", "o", "r"),
            ("r", "", "f", "f"),
            ("f", "", "o", "fo"),
            ("fo", "foo", "o", "r"),
        ),
        "Every sequence of these tokens is written as its bytes, and as nothing else.",
        "One arc for each character: it may read nothing, and one of them reads the token.",
    ),
    ValueExercise(
        "transduction-original",
        4,
        "The root, one state inside the cycle of `ab`, and two inside the cycle of `abc`.",
        "Run Algorithm 1 by hand: which line makes a state, and how often is it executed?",
        wrong={
            3: "The inner loop makes that many. Which state is there before the loop begins?",
            7: "The last byte of a token makes no state: its arc goes back to the root.",
        },
    ),
    ValueExercise(
        "transduction-compact",
        3,
        "The root, and the beginnings `a` and `ab`; the token `abc` ends on its way to the root.",
        "A state is a beginning of a token that is not yet the whole token. Which ones are there?",
        wrong={4: "The last byte of a token leads back to the root."},
    ),
    ValueExercise(
        "transduction-state",
        "fo",
        "After `f` and `oo` it was at its root; from there it has written `f` and `o`.",
        "Where does the machine stand when it has read a whole token? Follow two arcs from there.",
        wrong={
            "foofo": "That is the whole text. A state remembers only what was written since the "
            "last whole token.",
            "o": "That is the way to `oo`. The two characters were written after the token `oo`.",
            "r": "It stood there when `oo` had been read. It has written since then.",
        },
    ),
)

COMPOSITION: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "composition-ways",
        4,
        "Two ways for each of the first two `foo`; the last token must be `food`.",
        "No token is only a `d`. So what must the last token be, and what is left before it?",
        wrong={
            8: "Is there a second way to write the last `food`? Look for a token that is a `d`."
        },
    ),
    ValueExercise(
        "composition-trimmed",
        {"b"},
        "After `a` only a `d` could finish the text, and no token writes it.",
        "Take a token, and try to finish the text with the tokens of the vocabulary.",
    ),
    ValueExercise(
        "composition-allowed",
        {"oo", "end"},
        "The loop may go round once more, or the text may end.",
        "Draw the machine of the pattern, and read each token through it from where `foo` leads.",
        wrong={frozenset({"oo"}): "Is `foo` already a text of the pattern?"},
        has={
            "f": "The pattern has one `f`, at the start, and the loop does not go back to it.",
            "foo": "The pattern has one `f`, at the start, and the loop does not go back to it.",
        },
    ),
)

FOUNDATIONS: Final[tuple[Exercise, ...]] = (*TOKENS, *AUTOMATA, *TRANSDUCTION, *COMPOSITION)


JSON: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "json-count",
        4,
        "Two with one element, and two with both in either order.",
        "Write down the arrays of one element, then those of two. Which of them repeat an element?",
        wrong={
            6: "Some of these repeat an element. Which keyword speaks of that?",
            3: "The order of the elements is free.",
        },
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
        "The first schema of the lesson has it too. Which of its lines is about other members?",
    ),
)

GRAMMARS: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "grammars-height",
        1,
        "Two are pushed by the first token, and one is popped.",
        "Look for the two arcs in the drawing, and add what they push and pop.",
        wrong={
            2: "That is the height after the first token.",
            3: "What is pushed and popped inside one token cancels out, and nothing waits for the "
            "outermost rule.",
        },
    ),
    LanguageExercise(
        "grammars-regular",
        "x*yz*",
        "Both rules call themselves last, so both are loops.",
        "Each rule is a loop that ends with its other alternative.",
    ),
)

STRUCTURED: Final[tuple[Exercise, ...]] = (*JSON, *GRAMMARS)


OWN: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "own-counted",
        0.6,
        "3 points of 5: the points that the mask takes away do not count.",
        "How many points has each of the two words? The mask leaves only these.",
        wrong={
            3 / 11: "That is the model's own share. Which points does the mask leave?",
            2 / 3: "Each of the two words has one point more.",
        },
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
        wrong={
            "ended early": "That is when the model itself ends its text too soon.",
            "whole": "Is 20 a text of four digits?",
        },
    ),
)
"""In the order of the notebook."""
