"""The machine that is drawn, and how it was composed.

The machine that decodes is composed by functions. The machine that is drawn is composed by pynini
wherever that is installed and can do it, in the process that compiles: the arrays that are drawn
are pynini's, after both machines were compared state by state and token by token. Only its token
classes are renumbered to those of the machine that decodes, because the page's masks use these
numbers.

The page never waits long for it: over byte classes a date takes milliseconds also with 131,072 ids,
and no composition gets more than `SECONDS`. An edit ends it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Final

import numpy as np

from explorer.automata.textbook.pushdown_composition import token_sequences_by_pynini
from explorer.budget import Budget
from explorer.errors import REPORT_IT, ExplorerError
from explorer.tokens.machine import TokenMachine, TokenTable, table_of
from explorer.tokens.token_dfa import TokenDFA, same_machine
from explorer.tokens.words import DEAD
from widgets.compiling.worker import CompileWorker

MOST_FOR_ALGORITHM_3: Final = 32
"""The most ids of a vocabulary over which pynini composes a grammar that recurses."""

TOKENS_WRITTEN_OUT: Final = 4
"""The most tokens of a text that is written out for it: 32 ids have a million such sequences."""

SECONDS: Final = 5.0
"""The most time that pynini may take."""


@dataclass(frozen=True, slots=True)
class Composed:
    """The machine that is drawn.

    Args:
        machine: The machine; its states and classes have the numbers of the machine that decodes.
        line: A line that says how it was composed; ``None`` while the compiling process is busy.
    """

    machine: TokenMachine
    line: str | None


def drawn_machine(machine: TokenMachine, worker: CompileWorker | None, budget: Budget) -> Composed:
    """The machine to draw for one that decodes: pynini's, if pynini can compose it.

    Args:
        worker: The process that compiles; ``None`` if no page has needed one yet.
    """
    constraint, report = machine.constraint, machine.report
    if constraint is None or worker is None:
        return Composed(machine, "")
    table = table_of(machine)
    filters = report.method.partition(", then ")[2]
    behind = f"; then the filter {filters}, which is not composed" if filters else ""
    if table is None and not filters:
        why = (report.reason or "rows are worked out when visited").rstrip(".")
        return Composed(machine, f"not composed as a whole: {why}{_by_algorithm_three(machine)}")
    spent = sum(report.milliseconds.get(name, 0.0) for name in ("composition", "trimming"))
    ours = f"composed by functions, {spent:.1f} ms" if spent else "not composed as a whole"
    if report.method.startswith("lazy"):
        return Composed(machine, f"{ours}{behind}")
    try:
        limited = replace(budget, seconds=min(budget.seconds, SECONDS))
        answer = worker.composed(constraint, machine.vocabulary, limited)
    except ExplorerError as error:
        return Composed(machine, f"{ours} (pynini: {error.message}){behind}")
    if answer is not None and answer.outcome == "busy":
        return Composed(machine, None)
    if answer is None or answer.times is None:
        reason = "" if answer is None or not answer.reason else f" ({answer.reason})"
        return Composed(machine, f"{ours}{reason}{behind}")
    by_pynini, by_functions = answer.times
    line = (
        f"composed by pynini, {by_pynini:.1f} ms; by functions, {by_functions:.1f} ms; the same "
        f"machine{behind}"
    )
    if filters or table is None or answer.table is None:
        return Composed(machine, line)
    return Composed(numbered_like(answer.table, table), line)


def _by_algorithm_three(machine: TokenMachine) -> str:
    """A clause on a recursive grammar: its texts by OpenFST's push-down composition, and by ours.

    Empty unless the vocabulary is small, because every sequence of some tokens is written out.
    """
    stacks = None if machine.byte_machine is None else machine.byte_machine.stacks
    words = machine.vocabulary.tokens
    if stacks is None or len(words) > MOST_FOR_ALGORITHM_3 or find_spec("pynini") is None:
        return ""
    try:
        theirs = token_sequences_by_pynini(stacks.network, words, TOKENS_WRITTEN_OUT)
    except ExplorerError as error:
        return f"; {error.message}"
    ours = list[tuple[int, ...]]()
    waiting: list[tuple[int, tuple[int, ...]]] = [(machine.start, ())]
    while waiting:
        state, ids = waiting.pop()
        if machine.is_final(state):
            ours.append(ids)
        if len(ids) < TOKENS_WRITTEN_OUT:
            for token, data in enumerate(words):
                after = None if data is None else machine.step(state, token)
                if after is not None:
                    waiting.append((after, (*ids, token)))
    if sorted(ours) != theirs:
        raise ExplorerError("pynini's push-down composition has other texts.", remedy=REPORT_IT)
    return (
        f"; pynini's push-down composition (Algorithm 3) has the same {len(theirs)} texts of up to "
        f"{TOKENS_WRITTEN_OUT} tokens"
    )


def numbered_like(one: TokenDFA, other: TokenTable) -> TokenDFA:
    """A machine whose token classes are renumbered as in another table of the same machine.

    Raises:
        ExplorerError: They are not the same machine.

    Example:
        >>> from explorer import Vocabulary, compile, regex
        >>> vocab = Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> ours = compile(regex("(ab)+|b"), vocab)
        >>> turned = np.array([0, 1, 4, 3, 2])
        >>> other = replace(ours, table=ours.table[:, turned], token_class=turned[ours.token_class])
        >>> bool((numbered_like(other, ours).table == ours.table).all())
        True
    """
    if not same_machine(one, other):
        raise ExplorerError("Two machines that should be one differ.", remedy=REPORT_IT)
    number = np.zeros(one.num_classes, np.intp)
    number[one.token_class] = other.token_class
    table = np.full_like(one.table, DEAD)
    table[:, number] = one.table
    return replace(
        one,
        constraint=other.constraint,
        vocabulary=other.vocabulary,
        table=table,
        token_class=number[one.token_class].astype(one.token_class.dtype),
        sets=None,
    )


__all__ = ["Composed", "drawn_machine", "numbered_like"]
