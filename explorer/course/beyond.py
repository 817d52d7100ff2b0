"""The exercises of the notebooks on how constraints disturb a model, on terminals, on a proof that
runs, on other systems, on phases (10 to 16), and of the project at the end (30).
"""

from __future__ import annotations

from typing import Final

from explorer.course.exercise import Exercise, LanguageExercise, ValueExercise

BEYOND: Final[tuple[Exercise, ...]] = (
    ValueExercise(
        "invasive-borders",
        3,
        "A string ends, a colon, a space, and a string begins: four terminals, three borders.",
        "Name the terminal of each character. Between two different terminals there is a border.",
        wrong={4: "That is how many terminals it touches."},
    ),
    ValueExercise(
        "invasive-sums",
        {"(", "1", "1)"},
        "After a plus comes a number or a bracket, and `1)` crosses one border.",
        "First ask the parser what may follow a plus. Then count the borders of each token.",
        has={"+1": "A plus may not follow a plus: the parser forbids it."},
        lacks={
            "1)": "A number and a closing bracket are two terminals, so one border: "
            "k = 1 allows it."
        },
    ),
    LanguageExercise(
        "terminals-substring",
        "ab?|b",
        "Three texts: for a text of n characters there are up to n (n + 1) / 2.",
        "Which pieces does the text ab have? The empty one does not count.",
    ),
    ValueExercise(
        "terminals-label",
        "TEXT_UNTIL",
        "It reads any text up to a stop phrase, and the phrase itself.",
        "Which of the nine names speaks of an end?",
        wrong={"PARAGRAPH_TOKEN": "That is one token without a line break."},
    ),
    ValueExercise(
        "lemma-base",
        "",
        "The path goes round no cycle: it stays at the root, and nothing is written.",
        "Start and end are the same state. Which path has no arc?",
    ),
    ValueExercise(
        "lemma-step",
        "foofood",
        "One cycle more, and it writes the bytes of its token.",
        "The text so far stays; then the path goes round the cycle of the new token once.",
        wrong={"food": "That is the new token alone."},
    ),
    ValueExercise(
        "lemma-mutant",
        2,
        "The cycles are closed, so Lemma 1 holds; but two cycles write the bytes of another token "
        "than they read.",
        "Read the three steps again. Which of them speaks of what a single cycle reads and writes?",
        wrong={
            1: "Lemma 1 is about where the arcs lead, and not about their labels.",
            3: "That step adds cycles up, and trusts each of them. Look at a single one.",
        },
    ),
    ValueExercise(
        "neighbours-reject",
        40,
        "The two shares multiply, and the other 60 texts were drawn for nothing.",
        "A text is kept if it passes both tokens.",
        wrong={
            50: "Those pass the first token. The other one follows.",
            30: "That subtracts the shares. 0.8 of those that pass go on.",
        },
    ),
    ValueExercise(
        "neighbours-trim",
        {"b", "c"},
        "After `a` only a `d` could finish the text, and no token writes one.",
        "Which token can still be followed by others up to the end?",
        has={"a": "That is what an index without trimming allows. How would the text end?"},
    ),
    ValueExercise(
        "zoo-faults",
        ("no end", "k = 0", "space", "no trim"),
        "One mask was enough for each of them.",
        "Work out the right mask of each row first, the end included. What is missing, and what is "
        "there in excess?",
    ),
    ValueExercise(
        "own-engine-begin",
        {"t", "th", "the", "thi", "thens", "ther"},
        "Pieces of a first word count, and so does a token that reaches into the second part.",
        "A token may end anywhere in a text, if the rest of the vocabulary can go on from there.",
    ),
    ValueExercise(
        "own-engine-dead",
        {"a"},
        "After `a` the text needs a d, and no token writes one.",
        "Which arc from the start leads to a state that is not among the living?",
    ),
    ValueExercise(
        "zoo-object",
        {"{", '{"'},
        "A token may hold the brace and the quote of the first name.",
        "Write each token down. Can the result still become an object?",
        wrong={
            frozenset(
                "{"
            ): "That is what the engine allows. Which longer token begins in the same way?",
        },
    ),
    ValueExercise(
        "phases-crossing",
        {">", "> add", "> no"},
        "Each of them ends the reasoning, and begins something that may follow it.",
        "Each token ends the reasoning. What is left of it must begin a call or an answer.",
        has={
            "> sub": "There is no tool of that name.",
            "> 4": "A number comes only after the name of the tool.",
        },
    ),
    ValueExercise(
        "phases-open",
        1,
        "Only the call goes on after ` a`: with a d.",
        "The text is read up to ` a`. Which phases may begin with that?",
        wrong={
            2: "That was right before the a. No answer begins with ` a`.",
            0: "The reason names what was expected in place of the m.",
        },
    ),
    LanguageExercise(
        "phases-pattern",
        r"[a-z]+</t>( add [0-9]+| yes| no)",
        "One phase after the other is a sequence, and a choice of phases is an alternative.",
        "Write the two parts one after the other; the second is a choice of three.",
    ),
    LanguageExercise(
        "project-order",
        "[A-Z]{2}-[1-9][0-9]{3}",
        "Try it on a model of yours, and ask for the reasons at its first step.",
        "Two capital letters, a hyphen, then four digits of which the first is not 0.",
    ),
    ValueExercise(
        "project-mass",
        "forgotten",
        "An unknown age is a right answer, and the schema cannot say it: allow null too.",
        "Is there a right answer that nobody can write under this schema?",
        wrong={
            "wrong": "The prompt says that an age may be unknown.",
            "another way": "A number in place of an unknown age would be invented.",
        },
    ),
)
