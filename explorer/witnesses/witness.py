"""Asks our machine and other engines for their masks at one state, and explains the differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from explorer.arguments import flag, listed, wrong
from explorer.automata.machine import Bool
from explorer.budget import Budget
from explorer.languages.constraint import Constraint, GivenConstraint
from explorer.languages.types.source import as_constraint
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import OURS, Disagreement, Testimony, Witness
from explorer.witnesses.asking import ids_of_prefix, statement_of, vocabulary_of
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.engines import ENGINES
from explorer.witnesses.judging import Judge, judge_of
from explorer.witnesses.messages import Refused, Statement
from explorer.witnesses.process import SECONDS, EngineProcess, shared_process
from explorer.witnesses.rollbacks import Rollback, drafts_from, rollback_of
from explorer.witnesses.rules.classes import classified

DISTRIBUTION = "constraint-explorer"


def witness(
    constraint: GivenConstraint,
    tokenizer: object,
    prefix: str | bytes | Sequence[int] = "",
    *,
    engines: Iterable[str] | None = None,
    seconds: float = SECONDS,
    budget: Budget | None = None,
    rollback: bool = False,
) -> Witness:
    """Compare the masks of other engines with ours at one state, and explain every difference.

    Each engine runs in a process of its own, with limits of time and memory; a crash, a hang, a
    refusal and a missing library are answers with a reason.

    Args:
        constraint: A regex, a choice, a JSON Schema, or a grammar in GBNF or Lark.
        tokenizer: A Vocabulary, a model, the path of a tokenizer, or a tokenizer object.
        prefix: The text so far, written as the tokenizer writes it; or token ids.
        engines: Some of outlines-core, xgrammar and llguidance; by default all of them.
        seconds: The longest that an engine may take for an answer.
        budget: Limits of our own compilation.
        rollback: Whether each engine also accepts drafts and rolls them back, as in speculative
            decoding, after which its mask must be the same as before (`Witness.rollbacks`).

    Returns:
        An immutable value that prints as a table.

    Raises:
        ConstraintError: The constraint is of a kind that no other engine reads.
        ExplorerError: An argument is invalid.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"1", b"a"], eos_ids=[2])
        >>> found = witness(explorer.regex("[0-9]"), vocab, engines=["llguidance"])
        >>> found.agree
        True
    """
    vocabulary = vocabulary_of(tokenizer)
    constraint = as_constraint(constraint)
    machine = compile(constraint, vocabulary, budget, lazy=True)
    ids = ids_of_prefix(machine, prefix)
    positive_seconds(seconds)
    rollback = flag("rollback", rollback)
    seen = witness_of(machine, constraint, ids, checked_engines(engines), seconds)
    return replace(seen, rollbacks=_rolled_back(machine, seen, seconds)) if rollback else seen


def _rolled_back(machine: TokenMachine, seen: Witness, seconds: float) -> tuple[Rollback, ...]:
    """The effect of rolling drafts back on each engine that answered."""
    state, followed = _walk(machine, seen.prefix)
    if followed < len(seen.prefix) or state < 0:
        return ()
    drafts = drafts_from(machine, state, np.random.default_rng(0))
    made = (
        rollback_of(
            shared_process(each.engine), seen.statement, seen.vocabulary, seen.prefix, drafts,
            seconds,
        )
        for each in seen.testimonies[1:]
        if each.mask is not None
    )  # fmt: skip
    return tuple(each for each in made if each is not None)


def checked_engines(engines: Iterable[str] | None) -> tuple[str, ...]:
    """The given names of engines, in the order of every table.

    Args:
        engines: Some names; ``None`` for all.

    Raises:
        ExplorerError: There is no such engine.
    """
    if engines is None:
        return tuple(ENGINES)
    given = listed("engines", engines, "a list of names of engines")
    for name in given:
        if not isinstance(name, str) or name not in ENGINES:
            raise wrong("engines", name, "an engine", remedy=f"Name some of {', '.join(ENGINES)}.")
    return tuple(name for name in ENGINES if name in given)


def positive_seconds(seconds: object) -> float:
    """The time limit, if it is one.

    Raises:
        ExplorerError: It is not a positive number.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e6:
        raise wrong("seconds", seconds, "a positive number")
    return seconds


def witness_of(
    machine: TokenMachine,
    constraint: Constraint,
    prefix: tuple[int, ...],
    engines: tuple[str, ...],
    seconds: float,
    deadline: float = math.inf,
) -> Witness:
    """The witness of a compiled machine after a prefix.

    Args:
        deadline: By `time.monotonic`; after it no difference is classified.

    Raises:
        OutOfTime: The deadline has passed.
    """
    statement = statement_of(constraint)
    vocabulary = machine.vocabulary
    state, followed = _walk(machine, prefix)
    left = followed < len(prefix)
    mask = None if left else read_only(unpack(machine.mask(state), len(vocabulary)))
    testimonies = [Testimony(OURS, _own_version(), mask, followed)]
    disagreements: list[Disagreement] = []
    judge = judge_of(statement)
    for name in engines:
        process = shared_process(name)
        said = testimony_of(process, statement, vocabulary, prefix, seconds)
        testimonies.append(said)
        if said.refused:
            continue
        if said.mask is not None and mask is not None:
            compared = comparison_of(machine, constraint, prefix, said, judge, seconds, deadline)
            disagreements += classified(compared, len(prefix)) if compared else ()
        elif said.followed != followed:  # One of the two leaves the prefix before the other.
            earlier = prefix[: min(said.followed, followed)]
            there = testimony_of(process, statement, vocabulary, earlier, seconds)
            compared = comparison_of(machine, constraint, earlier, there, judge, seconds, deadline)
            groups = classified(compared, len(earlier)) if compared else ()
            disagreements += [each for each in groups if prefix[len(earlier)] in each.tokens]
    return Witness(
        constraint, statement, vocabulary, prefix, tuple(testimonies), tuple(disagreements)
    )


def comparison_of(
    machine: TokenMachine,
    constraint: Constraint,
    prefix: tuple[int, ...],
    said: Testimony,
    judge: Judge | None = None,
    seconds: float = SECONDS,
    deadline: float = math.inf,
) -> Comparison | None:
    """The comparison of our mask with an engine's after a prefix; ``None`` if either is missing.

    Args:
        judge: By default the judge of the constraint's kind.
        deadline: By `time.monotonic`; after it no difference is classified.
    """
    state, followed = _walk(machine, prefix)
    if said.mask is None or followed < len(prefix):
        return None
    statement = statement_of(constraint)
    process = shared_process(said.engine)

    def finish(tokens: tuple[int, ...]) -> tuple[int, ...] | None:
        return process.finish(
            statement, machine.vocabulary, tokens, _plain_ids(machine.vocabulary), seconds
        )

    vocabulary = machine.vocabulary

    def own_pattern() -> str | None:
        return process.own_pattern(statement, vocabulary, seconds)

    def ask(other: Statement, ids: tuple[int, ...]) -> Testimony:
        return testimony_of(process, other, vocabulary, ids, seconds)

    return Comparison(
        f"{said.engine} {said.version}", statement, constraint, machine, state, prefix, said.mask,
        judge or judge_of(statement), finish, ask, own_pattern, deadline,
    )  # fmt: skip


def testimony_of(
    process: EngineProcess,
    statement: Statement,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    seconds: float,
) -> Testimony:
    """The answer of one engine after a prefix."""
    said = process.masks(statement, vocabulary, prefix, seconds=seconds)
    if isinstance(said, Refused):
        return Testimony(process.name, process.version, None, refused=said.reason, stage=said.stage)
    mask = None
    if said.rows and said.followed == len(prefix):
        mask = unpacked_row(said.rows[-1], len(vocabulary))
    return Testimony(
        process.name, process.version, mask, said.followed,
        compile_seconds=said.compile_seconds, mask_seconds=said.mask_seconds,
    )  # fmt: skip


def unpacked_row(row: bytes, size: int) -> Bool:
    """The mask in a message, as bool[size], read-only."""
    bits = np.unpackbits(np.frombuffer(row, np.uint8), count=size, bitorder="little")
    return read_only(bits.view(np.bool_))


def read_only(mask: Bool) -> Bool:
    """Make a mask read-only, and return it."""
    mask.setflags(write=False)
    return mask


def _walk(machine: TokenMachine, prefix: tuple[int, ...]) -> tuple[int, int]:
    state = machine.start
    for k, token in enumerate(prefix):
        following = machine.step(state, token)
        if following is None:
            return state, k
        state = following
    return state, len(prefix)


def _plain_ids(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Single-byte ids that are likely to end a text soon: closing brackets, digits and letters."""
    ids: list[int] = []
    for byte in b'"}])0a1bcx :.,':
        ids += vocabulary.ids_of(bytes([byte]))[:1]
    return tuple(ids)


def _own_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # A checkout that is not installed.
        return ""


__all__ = ["checked_engines", "testimony_of", "witness", "witness_of"]
