"""The exercises of the notebooks on tokens and automata (01 to 04).

The answers stand here and not in the notebooks; the tests work each of them out again.
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise

TOKENS: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "tokens-text",
        "für",
        "The bytes C3 and BC are one character; each alone is not a character.",
        "Join the bytes first, and then decode them: b'f' + b'\\xc3' + ...",
        (
            (lambda answer: answer == "fr", "Every token writes its bytes, also 2 and 3."),
            (
                lambda answer: isinstance(answer, str) and ("Ã" in answer or "\ufffd" in answer),
                "Do not decode the tokens one by one: join their bytes first.",
            ),
        ),
    ),
    ValueExercise(
        "tokens-bytes",
        4,
        "Three for the first character and one for the second.",
        "One token for each byte: how many bytes has the whole text?",
        (
            (
                lambda answer: answer == 2,
                "So many characters the text has; the vocabulary has bytes.",
            ),
        ),
    ),
    ValueExercise(
        "tokens-twins",
        83,
        "So many ids are over: each of them writes what another id writes too.",
        "How many ids write bytes, and how many different byte strings are there? What is the "
        "difference?",
        (
            (
                lambda answer: answer == 166,
                "That is how many ids are concerned. How many byte strings do they write?",
            ),
        ),
    ),
)

AUTOMATA: Final[tuple[Exercise, ...]] = (
    LanguageExercise(
        "automata-even",
        "(aa)*",
        "Two at a time; the machine is the one of Figure 1 with the ring at the other state.",
        "How many `a` may be added to an even number, so that it stays even?",
    ),
    ValueExercise(
        "automata-together",
        {".", "12."},
        "After the point has been read it does not matter which digits stood before it.",
        "Read each text with a finger on the machine. Where does it end?",
        (
            (
                lambda answer: isinstance(answer, frozenset) and ".5" in answer,
                "One of your texts is complete, and 7. is not.",
            ),
            (
                lambda answer: isinstance(answer, frozenset) and "5" in answer,
                "One of your texts still waits for its point.",
            ),
        ),
    ),
    ValueExercise(
        "automata-sets",
        64,
        "It must remember for each of the last six characters whether it was an `a`.",
        "How does the number grow from one pattern to the next?",
        ((lambda answer: answer in (10, 12), "It grows faster than that."),),
    ),
)

TRANSDUCTION: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "transduction-original",
        4,
        "The root, one state inside the cycle of `ab`, and two inside the cycle of `abc`.",
        "Run Algorithm 1 by hand: which line makes a state, and how often is it executed?",
        (
            (
                lambda answer: answer == 3,
                "So many states are made in the inner loop. Is there one that was there before?",
            ),
            (
                lambda answer: answer == 7,
                "The last byte of a token makes no state: its arc goes back to the root.",
            ),
        ),
    ),
    ValueExercise(
        "transduction-compact",
        3,
        "The root, and the beginnings `a` and `ab`; the token `abc` ends on its way to the root.",
        "A state is a beginning of a token that is not yet the whole token. Which ones are there?",
        ((lambda answer: answer == 4, "The last byte of a token leads back to the root."),),
    ),
    ValueExercise(
        "transduction-written",
        "foroof",
        "To detokenize is to write one token after the other.",
        "Write the bytes of each token in turn. No constraint takes part here.",
    ),
)

COMPOSITION: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "composition-ways",
        4,
        "Two ways for each of the first two `foo`; the last token must be `food`.",
        "No token is only a `d`. So what must the last token be, and what is left before it?",
        (
            (
                lambda answer: answer == 8,
                "Is there a second way to write the last `food`? Look for a token that is a `d`.",
            ),
        ),
    ),
    ValueExercise(
        "composition-trimmed",
        {"b"},
        "After `a` only a `d` could finish the text, and no token writes it.",
        "Take a token, and try to finish the text with the tokens that there are.",
    ),
    ValueExercise(
        "composition-allowed",
        {"f", "foo", "food"},
        "These are the arcs of the middle state of Figure 5.",
        "Find the state in Figure 5 that `foo` leads to, and read its arcs.",
        (
            (
                lambda answer: isinstance(answer, frozenset) and "for" in answer,
                "After `fo` the pattern wants an `o`.",
            ),
            (
                lambda answer: isinstance(answer, frozenset) and "oo" in answer,
                "After a whole `foo` the next character is not an `o`.",
            ),
        ),
    ),
)

FOUNDATIONS: Final[tuple[Exercise, ...]] = (*TOKENS, *AUTOMATA, *TRANSDUCTION, *COMPOSITION)
