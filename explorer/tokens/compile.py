"""Constraint and vocabulary in, token machine out.

The composition *detokenizing FST ∘ character FSA*: in closed form, as a table of all states, or
lazily, row by row (`lazy`). Two walks compute the closed form: by functions
(`closed_form.assemble`), which is fast because few distinct functions occur, and state by state
(`walks.rows`), for constraints where that does not hold. Both are held equal to pynini's
composition of the same machines by the tests.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, overload

import numpy as np

from explorer.alphabet import in_quotes, shown_letters
from explorer.arguments import flag, plain, shown, wrong
from explorer.automata.discovered.discover import on_stack
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.automata.words import shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import (
    BudgetExceeded,
    EmptyConstraint,
    ExplorerError,
    IncompatibleVocabulary,
    NotRegular,
    VocabularyError,
)
from explorer.languages.constraint import Constraint, GivenConstraint
from explorer.tokens.closed_form.assemble import (
    Assembled,
    MonoidTooLarge,
    assemble,
    compose_functions,
)
from explorer.tokens.lost import find_lost, find_lost_lazily
from explorer.tokens.machine import TokenMachine
from explorer.tokens.report import Report
from explorer.tokens.token_dfa import TokenDFA, class_words, packed_bytes
from explorer.tokens.walks.finishing import finishing_of
from explorer.tokens.walks.rows import compose_rows
from explorer.tokens.walks.spelling import longest_spelled
from explorer.tokens.walks.trie import trie_of
from explorer.vocabulary import TokenTransducer, Vocabulary
from explorer.vocabulary.transducer import Arc

if TYPE_CHECKING:
    from explorer.tokens.lazy import LazyMachine

# The share of the byte budget for the walk by functions, before the walk by states takes over.
_FUNCTION_SHARE = 0.25

# The share of the remaining time for a table, before a lazy machine is made instead.
_TABLE_SHARE = 0.8

TABLE_STATES: Final = 30_000
"""The most states for which a table is made without ``lazy=False``.

A table of 14,000 states takes about 20 ms, and one of 350,000 two seconds; a lazy machine is ready
in one or two milliseconds, and takes up to a fifth of one for each new state.
"""

WRITTEN_OUT: Final = (
    "The machine over bytes and the ends of tokens is written out as a whole, though lazy=True: a "
    "part asks for certain tokens (such as TEXT_TOKEN), or limits on tokens are combined."
)
"""The remark in the report of a lazy machine whose byte machine could not be discovered."""

NOT_BY_PYNINI: Final = (
    " So pynini composed nothing: it takes two finite machines, whole. Of such a grammar it can "
    "compose the push-down automaton (Algorithm 3: "
    "explorer.automata.textbook.pushdown_composition)."
)
"""The remark in the report where ``method="pynini"`` was asked for a grammar that recurses."""

Method = Literal["functions", "pynini"]
"""The method by which a table is made."""

AnyTransducer: TypeAlias = TokenTransducer | Sequence[Arc] | Any
"""The accepted forms of a transducer from token ids to bytes; the last is a pynini.Fst."""


# Without ``lazy`` the result is typed as the table that it is wherever the budget suffices, so that
# its arrays need no cast; callers that may compile something larger use `table_of`.
@overload
def compile(
    constraint: GivenConstraint,
    vocabulary: Vocabulary | None = None,
    budget: Budget | None = None,
    *,
    transducer: AnyTransducer | None = None,
    width: int | None = None,
    lazy: Literal[False] | None = None,
    method: Method = "functions",
) -> TokenDFA: ...


@overload
def compile(
    constraint: GivenConstraint,
    vocabulary: Vocabulary | None = None,
    budget: Budget | None = None,
    *,
    transducer: AnyTransducer | None = None,
    width: int | None = None,
    lazy: Literal[True],
) -> LazyMachine: ...


@overload
def compile(
    constraint: GivenConstraint,
    vocabulary: Vocabulary | None = None,
    budget: Budget | None = None,
    *,
    transducer: AnyTransducer | None = None,
    width: int | None = None,
    lazy: bool | None,
    method: Method = "functions",
) -> TokenMachine: ...


def compile(
    constraint: GivenConstraint,
    vocabulary: Vocabulary | None = None,
    budget: Budget | None = None,
    *,
    transducer: AnyTransducer | None = None,
    width: int | None = None,
    lazy: bool | None = None,
    method: Method = "functions",
) -> TokenMachine:
    """Compile a constraint to an exact token machine over a vocabulary.

    Args:
        constraint: The language of the text; or a pydantic model, a dataclass, another type or a
            ``response_format``, each of which stands for `explorer.json_schema` of it.
        vocabulary: The tokens that write it; with a transducer they may be left out.
        budget: Limits on states, arcs, bytes and seconds for the whole compilation.
        transducer: Any transducer from token ids to bytes in place of the usual one,
            ``vocabulary.transducer``: that one with changes
            (`explorer.vocabulary.TokenTransducer`), a pynini machine (token id and byte as labels
            one higher, or by its symbol tables), or a list of arcs ``(source, token, bytes,
            target)``. Without a vocabulary the end of text is the id after the largest one that it
            reads.
        width: The width of the model's logits, where it is smaller than the vocabulary: ids
            beyond it can never be chosen and count as not there.
        lazy: By default the result is a table of every state, `explorer.TokenDFA`, where that fits
            the budget (and four fifths of its seconds) and has at most 30,000 states, and else
            a machine that computes its rows as they are visited, whose ``report.reason`` says why;
            where the machine over bytes is too large as well, its states are discovered as they are
            visited. ``False`` insists on the table. ``True`` makes the lazy machine, which is ready
            at once: only the NFA is built beforehand.
        method: The way the table is made: ``"functions"``, our own composition, or ``"pynini"``,
            the textbook's (Koo et al. 2024, Algorithm 2) by pynini, over words of byte classes: the
            same machine, slower, and without a way to interrupt it. Where pynini cannot compose it,
            such as for a grammar that recurses, a warning and ``report.reason`` say so.

    Returns:
        The trimmed machine: a token is allowed in a state exactly if some continuation of it,
        written with this vocabulary, completes a word of the constraint. With a filter
        over tokens (`Constraint.canonical`) it is a machine whose rows are computed as needed.

    Raises:
        ConstraintError, VocabularyError: An argument has the wrong type.
        EmptyConstraint: The constraint has no word.
        IncompatibleVocabulary: It has words, but this vocabulary can write none.
        BudgetExceeded: A limit was reached: by the machine over bytes, or by the table where
            ``lazy=False`` insists on it.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> dfa = explorer.compile(explorer.regex("a*d|b"), vocab)  # nothing here writes d
        >>> dfa.allowed(dfa.start).tolist()
        [False, True, False]
        >>> changed = vocab.transducer.writing(0, b"d")  # Now token 0 writes d.
        >>> dfa = explorer.compile(explorer.regex("a*d|b"), transducer=changed)
        >>> dfa.allowed(dfa.start).tolist()
        [True, True, False]
    """
    if not isinstance(constraint, Constraint):
        from explorer.languages.types.source import as_constraint

        constraint = as_constraint(constraint)
    if (vocabulary is None and transducer is None) or not isinstance(vocabulary, Vocabulary | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "Make one with Vocabulary.from_tokenizer(...) or Vocabulary.from_file(...)."
        raise wrong("vocabulary", vocabulary, "a Vocabulary", remedy=remedy, error=VocabularyError)
    method = plain(method)
    if not isinstance(method, str) or method not in ("functions", "pynini"):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = 'Write method="functions" or method="pynini".'
        raise ExplorerError(f"method={shown(method)} is not known.", remedy=remedy)
    if lazy is not None:
        lazy = flag("lazy", lazy)
    if lazy and method != "functions":
        raise ExplorerError(
            f"A lazy machine is not composed as a whole, so method={method!r} does not apply.",
            remedy="Leave out one of lazy and method.",
        )
    meter = Meter(budget)
    if transducer is not None:
        from explorer.tokens.through import through

        constraint, vocabulary = through(constraint, transducer, vocabulary)
    vocabulary = cast(Vocabulary, vocabulary)
    if width is not None:
        vocabulary = vocabulary.with_width(width)
    try:
        machine = compile_texts(constraint, vocabulary, meter, lazy, method)
    except NotRegular:
        raise
    except BudgetExceeded as error:
        raise constraint.source.why_large(error, meter.budget.seconds) from error
    if method == "pynini" and machine.report.method != "pynini":
        warnings.warn(
            f'method="pynini" was asked for, and the machine is a lazy one: '
            f"{machine.report.reason}",
            UserWarning,
            stacklevel=2,
        )
    if not constraint.source.token_stages:
        return machine
    from explorer.tokens.filtered.apply import filtered

    return filtered(machine, constraint, meter.budget)


@overload
def compile_texts(
    constraint: Constraint, vocabulary: Vocabulary, meter: Meter, lazy: Literal[True]
) -> LazyMachine: ...


@overload
def compile_texts(
    constraint: Constraint,
    vocabulary: Vocabulary,
    meter: Meter,
    lazy: bool | None = None,
    method: Method = "functions",
) -> TokenDFA | LazyMachine: ...


def compile_texts(
    constraint: Constraint,
    vocabulary: Vocabulary,
    meter: Meter,
    lazy: bool | None = None,
    method: Method = "functions",
) -> TokenDFA | LazyMachine:
    """The machine of a constraint's texts, without its stages that filter tokens.

    Args:
        constraint: The language of the text.
        vocabulary: The tokens that write it.
        meter: Watches the limits.
        lazy, method: As in `compile`.

    Raises:
        ExplorerError: As in `compile`.
    """
    if constraint.source.control_tokens:
        from explorer.tokens.control import check_control_tokens

        check_control_tokens(constraint.source, vocabulary)
    clock = time.perf_counter()
    stages: dict[str, float] = {}

    def lap(stage: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        stages[stage] = 1e3 * (now - clock)
        clock = now

    closed, reason = None, ""
    if not lazy:
        share = meter if lazy is False else _for_a_table(meter, method)
        try:
            closed = constraint.for_tokens(share)
            _check_has_words(constraint, closed)
            lap("character_fsa")
            trie_of(vocabulary, closed)
            lap("vocabulary_trie")
            return _table(constraint, vocabulary, method, share, stages, lap)
        except BudgetExceeded as error:
            if lazy is False:
                if isinstance(error, NotRegular):
                    _advise_to_discover(error, constraint, meter)
                raise
            what = "The character FSA" if closed is None else "A table"
            part, limit = "", f"{error.limit:,.6g}"
            if error.resource == "seconds":  # Named as it was given, not as what the share left.
                part, limit = f"{_TABLE_SHARE:.0%} of ", f"{meter.budget.seconds:,.15g}"
            budgeted = f"{part}the budget of {limit} {error.resource}"
            reason = f"{what} was over {budgeted} ({error.stage})."
            if error.resource == "states" and error.limit < meter.budget.states:
                stage = f"({error.stage})"
                reason = f"{what} over {limit} states {stage} is made only with lazy=False."
            if isinstance(error, NotRegular):
                reason = error.message
                reason += NOT_BY_PYNINI * (method == "pynini")
            elif method == "pynini":
                reason += " So pynini composed nothing."
            lap("given_up")
    machine: ByteMachine = constraint.discover(meter) if closed is None else closed
    _check_has_words(constraint, machine)
    if closed is None:
        machine = _on_stack(constraint, vocabulary, machine, meter)
    if closed is None:
        lap("character_fsa")
        trie_of(vocabulary, machine)
        lap("vocabulary_trie")
    return _lazily(constraint, vocabulary, machine, meter, stages, reason)


def _on_stack(
    constraint: Constraint, vocabulary: Vocabulary, machine: ByteMachine, meter: Meter
) -> ByteMachine:
    """The machine with a stack, in place of one whose values nest without end, if it has to be
    searched what the vocabulary can finish: a stack needs no search.
    """
    if machine.over_tokens or machine.stacks is not None:
        return machine
    if not finishing_of(machine, trie_of(vocabulary, machine)).all_finish:
        with suppress(BudgetExceeded):
            return on_stack(constraint.source.tree, meter.budget, meter) or machine
    return machine


def _for_a_table(meter: Meter, method: Method) -> Meter:
    """The limits within which a table is made though nobody insists on one."""
    share = meter.with_share(_TABLE_SHARE)
    if method == "pynini":
        return share
    return share.with_sizes(replace(share.budget, states=min(share.budget.states, TABLE_STATES)))


def _advise_to_discover(error: NotRegular, constraint: Constraint, meter: Meter) -> None:
    """Add to an error's remedy that no table need be asked for, if there is a machine without."""
    with suppress(BudgetExceeded):
        constraint.discover(meter)
        error.advising(
            f"{error.remedy} For compile(...) it is enough to leave out lazy=False, which insists "
            "on a table."
        )


def _check_has_words(constraint: Constraint, machine: ByteMachine) -> None:
    """Refuse an empty language.

    Raises:
        EmptyConstraint: It is empty.
    """
    if machine.start == NO_ARC:
        raise constraint.source.why_empty() or EmptyConstraint(
            f"{constraint!r} has no word: nothing could ever be generated.",
            remedy="Look for parts that exclude each other, such as `a$b` or `c1 & c2`.",
        )


def _table(
    constraint: Constraint,
    vocabulary: Vocabulary,
    method: Method,
    meter: Meter,
    stages: dict[str, float],
    lap: Callable[[str], None],
) -> TokenDFA:
    """The machine in closed form, as a table."""
    char_dfa = constraint.for_tokens(meter)
    machine, composed_by = _compose(char_dfa, vocabulary, method, meter, lap)
    if len(machine.char_state) == 0 or machine.char_state[0] != char_dfa.start:
        raise _cannot_write(char_dfa, vocabulary)
    lap("trimming")
    live = int(np.count_nonzero(machine.token_class))
    meter.check("Packing the classes", bytes=packed_bytes(len(vocabulary), live))
    sets = class_words(machine.token_class, machine.table.shape[1], live)
    lap("packing")
    arrays = (
        machine.table,
        machine.token_class,
        machine.char_state,
        machine.accepting,
        machine.distance,
    )
    report = Report(
        milliseconds=stages,
        character_states=char_dfa.num_states,
        byte_classes=char_dfa.num_classes,
        reached_states=machine.num_reached,
        token_states=len(machine.char_state),
        token_classes=machine.table.shape[1],
        live_tokens=live,
        stuck_states=len(machine.stuck),
        bytes_held=sum(array.nbytes for array in arrays) + sets.nbytes,
        method=composed_by,
        find_lost=partial(find_lost, char_dfa, vocabulary, machine.char_state),
        find_warnings=constraint.source.warnings,
        find_decisions=constraint.source.decisions,
    )
    return TokenDFA(
        constraint=constraint,
        vocabulary=vocabulary,
        table=machine.table,
        token_class=machine.token_class,
        char_state=machine.char_state,
        accepting=machine.accepting,
        distance=machine.distance,
        stuck=machine.stuck,
        report=report,
        sets=sets,
    )


def _lazily(
    constraint: Constraint,
    vocabulary: Vocabulary,
    byte_machine: ByteMachine,
    meter: Meter,
    stages: dict[str, float],
    reason: str,
) -> LazyMachine:
    """The lazy machine, after a check that the vocabulary can write some word."""
    from explorer.tokens.lazy import LazyMachine

    closed = byte_machine.closed is not None
    written_out = [WRITTEN_OUT] if closed and byte_machine.over_tokens and not reason else []
    report = Report(
        milliseconds=stages,
        character_states=byte_machine.num_states,
        byte_classes=byte_machine.table.shape[1],
        reached_states=0,
        token_states=0,
        token_classes=0,
        live_tokens=0,
        stuck_states=0,
        bytes_held=0,
        method="lazy",
        find_lost=partial(find_lost_lazily, constraint, vocabulary),
        kind="lazy",
        reason=reason,
        byte_machine="closed" if closed else "discovered",
        find_warnings=partial(_warnings_and, written_out, constraint)
        if written_out
        else constraint.source.warnings,
        find_decisions=constraint.source.decisions,
    )
    machine = LazyMachine(constraint, vocabulary, byte_machine, report, meter.budget)
    if not machine.can_write():
        raise _cannot_write(byte_machine, vocabulary)
    return machine


def _warnings_and(more: list[str], constraint: Constraint) -> tuple[str, ...]:
    return (*constraint.source.warnings(), *more)


def _compose(
    char_dfa: Dfa,
    vocabulary: Vocabulary,
    method: Method,
    meter: Meter,
    lap: Callable[[str], None],
) -> tuple[Assembled, str]:
    """The composed and trimmed machine, and the name of the method that made it."""
    if method == "pynini":
        from explorer.tokens.closed_form.textbook import compose_textbook

        machine = compose_textbook(vocabulary, char_dfa, meter)
        lap("composition")
        return machine, "pynini"
    trie = trie_of(vocabulary, char_dfa)
    try:
        functions = compose_functions(
            trie, char_dfa, meter, max_bytes=int(_FUNCTION_SHARE * meter.budget.bytes)
        )
    except MonoidTooLarge:
        machine = compose_rows(vocabulary, char_dfa, meter)
        lap("composition")
        return machine, "rows"
    lap("composition")
    eos = vocabulary.eos_ids
    return (
        assemble(functions, trie, eos, char_dfa.accepting, char_dfa.start, meter),
        "functions",
    )


def _cannot_write(byte_machine: ByteMachine, vocabulary: Vocabulary) -> IncompatibleVocabulary:
    """The error, with a shortest word and the longest part of it that tokens can write."""
    if byte_machine.stacks is not None:
        from explorer.languages.grammar.diagnosis import Shortest

        network = byte_machine.stacks.network
        word = Shortest(network, Meter()).word[0]
    else:
        word = shortest_word(byte_machine)
    if byte_machine.reads_letters:
        from explorer.tokens.control import in_own_letters

        word = in_own_letters(vocabulary, byte_machine, byte_machine.start, word)
    offset = longest_spelled(trie_of(vocabulary, byte_machine), word)
    shown = shown_letters(word, "surrogateescape")
    size, able = (_num_shown(part) for part in (word, word[:offset]))
    return IncompatibleVocabulary(
        f"This vocabulary can write no word of the constraint. A shortest word is "
        f"{in_quotes(shown)}; "
        f"tokens can write its first {able} of {size} bytes, and no token goes on from there.",
        witness=word,
        offset=offset,
        remedy="Allow text that the tokens can write, or use a tokenizer with byte fallback.",
    )


def _num_shown(data: bytes) -> int:
    """The number of bytes as a person is shown them: a control token counts as its name."""
    return len(shown_letters(data, "surrogateescape").encode(errors="surrogateescape"))
