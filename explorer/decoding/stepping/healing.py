"""Token healing: the output may begin inside the prompt's last token.

The last token of the prompt is taken back, and the constraint begins with its text
(`explorer.automata.healed`). The text of the run then begins with that end of the prompt;
`Trace.answer` leaves it out. A token without text, as chat templates end with, is not taken back,
nor is one that holds part of a character, nor the only one.
"""

from __future__ import annotations

from explorer.automata.constraint import Constraint
from explorer.automata.healed import Healed
from explorer.automata.pipeline.staged import check_operand
from explorer.automata.regex.source import Regex
from explorer.budget import Budget
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ConstraintError
from explorer.tokens.compile import compile
from explorer.tokens.free import Free
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary


def taken_back(vocabulary: Vocabulary, ids: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """The ids that the model reads, and the text of the token that is taken back.

    Args:
        vocabulary: What the ids mean.
        ids: Of the prompt.

    Returns:
        The ids without the last one and its text; all ids and an empty text where it stays.

    Example:
        >>> words = Vocabulary.from_bytes([b"http", b":", b"://"], eos_ids=[3])
        >>> taken_back(words, (0, 1)), taken_back(words, (0,))
        (((0,), ':'), ((0,), ''))
    """
    data = vocabulary.tokens[ids[-1]] if len(ids) > 1 and ids[-1] < len(vocabulary) else None
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        text = ""
    return (ids[:-1], text) if text else (ids, "")


def healed(
    constraint: Constraint | TokenMachine | None,
    prefix: str,
    vocabulary: Vocabulary,
    budget: Budget | None,
) -> Rule:
    """The rule of a constraint after the end of a prompt.

    Args:
        constraint: What the user gave; healed before, it is healed anew.
        prefix: The end of the prompt; empty for none.
        vocabulary: The model's tokens.
        budget: Limits for compiling it.

    Raises:
        ConstraintError: A token machine does not know its constraint, so that nothing can be put
            before it.
        ExplorerError: As `explorer.decoding.stepping.rule.Rule.of` has it.
    """
    known = isinstance(constraint, TokenMachine)
    source = None
    given = constraint.constraint if known else constraint
    if isinstance(given, Constraint):
        source = check_operand(given.source) if prefix else given.source
    was_healed = isinstance(source, Healed)
    if isinstance(source, Healed):
        source = source.part
    if not prefix:
        again = Constraint(source) if was_healed and source is not None else constraint
        return Rule.of(again, vocabulary, budget)
    if source is None:
        if constraint is not None and not isinstance(constraint, Free):
            if not known:
                return Rule.of(constraint, vocabulary, budget)  # It says what is wrong with it.
            raise ConstraintError(
                "This token machine does not know its constraint, so it cannot be healed.",
                remedy="Give the constraint itself, or heal=False.",
            )
        source = Regex.read("(?s:.*)")
    made = Constraint(Healed(prefix, source))
    if known and not isinstance(constraint, Free) and table_of(constraint) is None:
        return Rule.of(compile(made, vocabulary, budget, lazy=True), vocabulary, budget)
    return Rule.of(made, vocabulary, budget)


def healed_of(rule: Rule) -> str:
    """The end of the prompt that a rule begins with; empty for none.

    Args:
        rule: A rule.
    """
    constraint = rule.machine.constraint
    source = None if constraint is None else constraint.source
    return source.prefix if isinstance(source, Healed) else ""


def without_healing(constraint: Constraint) -> Constraint:
    """A constraint as it was before it was healed.

    Args:
        constraint: Any constraint.
    """
    source = constraint.source
    return Constraint(source.part) if isinstance(source, Healed) else constraint
