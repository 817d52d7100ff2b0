"""Token healing: the output may begin inside the prompt's last token.

The last token of the prompt is removed, and the constraint begins with its text
(`explorer.languages.sources.algebra`). The text of the run then begins with that end of the prompt;
`Trace.answer` omits it. A token without text, such as the last one of a chat template, is not
removed, nor is one that holds part of a character, nor the only one.

With ``heal="prompt"`` no token is removed: the whole text of the prompt becomes the beginning of a
canonical constraint, and the tokenizer's rules decide where tokens end. Up to the boundary its
tokens are the only ones allowed, so they are read in one pass (`forced`); at the boundary as many
tokens may change as the tokenizer would change.
"""

from __future__ import annotations

from typing import Literal

from explorer.arguments import flag, plain, wrong
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.regex.source import Regex
from explorer.languages.sources.algebra import Healed
from explorer.languages.stages.stage import TokenStage
from explorer.languages.stages.staged import Placed, Staged
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine, is_free, table_of
from explorer.vocabulary import Vocabulary


def taken_back(vocabulary: Vocabulary, ids: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """The prompt ids without the last token, and the text of that token.

    Returns:
        All ids and an empty text if the token is kept.

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


Heal = bool | Literal["prompt"]
"""Whether the text may begin within the prompt: ``False``, within its last token (``True``), or
wherever the tokenizer's rules permit (``"prompt"``)."""


def checked_heal(heal: object) -> Heal:
    """The argument ``heal``, checked.

    Raises:
        ExplorerError: It is not a way to heal.
    """
    heal = plain(heal)
    if isinstance(heal, str):
        if heal == "prompt":
            return "prompt"
        raise wrong(
            "heal",
            heal,
            'True, False or "prompt"',
            remedy='Give heal=True to take the prompt\'s last token back, or heal="prompt" to make '
            "the prompt a part of a canonical constraint.",
        )
    return flag("heal", heal)


def reopened(
    heal: Heal, vocabulary: Vocabulary, ids: tuple[int, ...]
) -> tuple[tuple[int, ...], str]:
    """The prompt ids that the model reads unchanged, and the text that the output repeats.

    Example:
        >>> words = Vocabulary.from_bytes([b"http", b":", b"://"], eos_ids=[3])
        >>> [reopened(way, words, (3, 0, 1)) for way in (False, True, "prompt")]
        [((3, 0, 1), ''), ((3, 0), ':'), ((3,), 'http:')]
    """
    if heal != "prompt":
        return taken_back(vocabulary, ids) if heal else (ids, "")
    pieces = [vocabulary.tokens[token] if token < len(vocabulary) else None for token in ids]
    # Everything up to the last token without text, such as the mark of a turn, is kept.
    first = max((k + 1 for k, piece in enumerate(pieces) if not piece), default=0)
    data = b"".join(piece or b"" for piece in pieces[first:])
    if first == 0:
        raise ConstraintError(
            'heal="prompt" writes the whole prompt again, and no token of it stays for the model '
            "to read first.",
            remedy="Use heal=True with a constraint that filters no tokens, heal=False, or a "
            "tokenizer that marks the beginning of a text.",
        )
    try:
        return ids[:first], data.decode()
    except UnicodeDecodeError:
        return ids, ""  # The tokens are not complete text that could be repeated.


def healed(
    constraint: Constraint | TokenMachine | None,
    prefix: str,
    vocabulary: Vocabulary,
    budget: Budget | None,
    whole: bool = False,
) -> Rule:
    """The rule of a constraint that begins with the end of a prompt.

    Args:
        prefix: The end of the prompt; empty for none.
        whole: Whether the prefix is the whole prompt, which requires a canonical constraint.

    Raises:
        ConstraintError: A token machine does not know its constraint, so a prefix cannot be put
            before it; or the constraint is not canonical although ``whole`` requires it.
        ExplorerError: As in `explorer.decoding.stepping.rule.Rule.of`.
    """
    known = isinstance(constraint, TokenMachine)
    source = None
    given = constraint.constraint if known else constraint
    stages: tuple[Placed, ...] = ()
    if isinstance(given, Constraint):
        stages, source = _parted(given.source)
        if prefix and not whole and (filters := given.source.token_stages):
            raise ConstraintError(
                f"{filters[0]} filters the tokens of the whole text, so the text cannot begin "
                "inside the prompt's last token, as heal=True has it.",
                remedy='Give heal="prompt", which writes the tokens of the prompt by the same '
                "filter, or heal=False.",
            )
    if whole and prefix and not stages:
        raise ConstraintError(
            'heal="prompt" lets the tokenizer\'s rules say where tokens end, and this constraint '
            "allows every spelling.",
            remedy="Write constraint.canonical(tokenizer), or heal=True.",
        )
    was_healed = isinstance(source, Healed)
    if isinstance(source, Healed):
        source = source.part
    if not prefix:
        again = constraint
        if was_healed and source is not None:
            again = Constraint(_joined(source, stages))
        return Rule.of(again, vocabulary, budget)
    if source is None:
        if constraint is not None and not (known and is_free(constraint)):
            raise ConstraintError(
                "This token machine does not know its constraint, so it cannot be healed.",
                remedy="Give the constraint itself, or heal=False.",
            )
        source = Regex.read("(?s:.*)")
    made = Constraint(_joined(Healed(prefix, source), stages))
    if known and not is_free(constraint) and table_of(constraint) is None:
        return Rule.of(compile(made, vocabulary, budget, lazy=True), vocabulary, budget)
    return Rule.of(made, vocabulary, budget)


def healed_of(rule: Rule) -> str:
    """The end of the prompt that a rule begins with; empty for none."""
    constraint = rule.machine.constraint
    source = None if constraint is None else _parted(constraint.source)[1]
    return source.prefix if isinstance(source, Healed) else ""


def without_healing(constraint: Constraint) -> Constraint:
    """The constraint without the prefix that healing added."""
    stages, source = _parted(constraint.source)
    return Constraint(_joined(source.part, stages)) if isinstance(source, Healed) else constraint


def _parted(source: Source) -> tuple[tuple[Placed, ...], Source]:
    """The token stages around a source, in the order of application, and the source inside."""
    stages: list[Placed] = []
    while isinstance(source, Staged) and isinstance(source.stage, TokenStage):
        stages.append((source.stage, source.on))
        source = source.part
    return tuple(reversed(stages)), source


def _joined(source: Source, stages: tuple[Placed, ...]) -> Source:
    for stage, on in stages:
        source = Staged(source, stage, on)
    return source
