"""The two functions that a notebook of the course calls."""

from __future__ import annotations

from explorer.course.beyond import BEYOND
from explorer.course.exercise import Exercise, Graded, plain_value, same_value
from explorer.course.foundations import FOUNDATIONS, MASKED, OWN, STRUCTURED
from explorer.course.pitfalls import CASES, PITFALLS
from explorer.errors import ExplorerError

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for exercise in (*FOUNDATIONS, *MASKED, *CASES, *STRUCTURED, *PITFALLS, *BEYOND, *OWN)
}
"""Every exercise of the course, by its name."""


def check(name: str, answer: object = None) -> Graded:
    """Check an answer, and give a hint that does not reveal the right one if it is wrong.

    Args:
        name: The name of the exercise in the notebook.
        answer: The reader's answer; ``None`` stands for "not answered yet".

    Returns:
        The verdict; at the end of a cell it prints itself.

    Raises:
        ExplorerError: There is no such exercise.

    Example:
        >>> check("spaces-where")
        No answer yet: put yours in place of None.
        >>> check("spaces-where", "B").right
        False
    """
    exercise = EXERCISES.get(name)
    if exercise is None:
        raise ExplorerError(
            f"There is no exercise {name!r}.",
            remedy=f"The names are {', '.join(sorted(EXERCISES))}.",
            evidence={"name": str(name)},
        )
    if answer is None:
        return Graded(None, "No answer yet: put yours in place of None.")
    return exercise.grade(answer)


def reveal(prediction: object, outcome: object) -> str:
    """Compare a reader's prediction with the outcome.

    Args:
        prediction: The guess, possibly as a text; ``None`` if there was none.
        outcome: The actual value.

    Returns:
        One sentence.

    Example:
        >>> print(reveal(None, 4))
        The answer is 4. (You made no prediction.)
        >>> print(reveal(3, 4))
        You predicted 3; it is 4.
        >>> print(reveal(4, 4))
        You predicted 4, and so it is.
    """
    if prediction is None:
        return f"The answer is {outcome}. (You made no prediction.)"
    guess, real = plain_value(prediction), plain_value(outcome)
    written = isinstance(guess, str) and guess.strip() == str(real)  # "48" for 48.
    if written or same_value(guess, real):
        return f"You predicted {prediction}, and so it is."
    return f"You predicted {prediction}; it is {outcome}."
