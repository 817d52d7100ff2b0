"""Asks our machine and other engines for their masks at one state, and explains the differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from explorer.arguments import listed, plain, wrong
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
from explorer.witnesses.engines import ENGINES
from explorer.witnesses.messages import Refused, Statement
from explorer.witnesses.process import SECONDS, EngineProcess, shared_process
from explorer.witnesses.readings import ComparedState
from explorer.witnesses.reasons import reasons_of

DISTRIBUTION = "constraint-explorer"


def witness(
    constraint: GivenConstraint,
    tokenizer: object,
    prefix: str | bytes | Sequence[int] = "",
    *,
    engines: Iterable[str] | None = None,
    seconds: float = SECONDS,
    budget: Budget | None = None,
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
    return witness_of(machine, constraint, ids, checked_engines(engines), seconds)


def checked_engines(engines: Iterable[str] | None) -> tuple[str, ...]:
    """The given names of engines, in the order of every table.

    Args:
        engines: Some names; ``None`` for all.

    Raises:
        ExplorerError: There is no such engine.
    """
    if engines is None:
        return tuple(ENGINES)
    given = [plain(name) for name in listed("engines", engines, "a list of names of engines")]
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
) -> Witness:
    """The witness of a compiled machine after a prefix."""
    statement = statement_of(constraint)
    vocabulary = machine.vocabulary
    place, followed = place_after(machine, constraint, prefix)
    mask = place.ours if followed == len(prefix) else None
    testimonies = [Testimony(OURS, _own_version(), mask, followed)]
    disagreements: list[Disagreement] = []
    for name in engines:
        process = shared_process(name)
        said = testimony_of(process, statement, vocabulary, prefix, seconds)
        testimonies.append(said)
        if said.mask is not None and mask is not None:
            disagreements += differences(place, process, said.mask, seconds)
        elif not said.refused and said.followed != followed:  # One of the two leaves earlier.
            earlier = prefix[: min(said.followed, followed)]
            there, _ = place_after(machine, constraint, earlier)
            theirs = testimony_of(process, statement, vocabulary, earlier, seconds).mask
            groups = () if theirs is None else differences(there, process, theirs, seconds)
            disagreements += [each for each in groups if prefix[len(earlier)] in each.tokens]
    return Witness(
        constraint, statement, vocabulary, prefix, tuple(testimonies), tuple(disagreements)
    )


def place_after(
    machine: TokenMachine, constraint: Constraint, prefix: tuple[int, ...]
) -> tuple[ComparedState, int]:
    """Our state after as much of a prefix as we allow, and the number of those tokens."""
    state = machine.start
    followed = 0
    for token in prefix:
        following = machine.step(state, token)
        if following is None:
            break
        state, followed = following, followed + 1
    mask = read_only(unpack(machine.mask(state), len(machine.vocabulary)).copy())
    statement = statement_of(constraint)
    return ComparedState(constraint, statement, machine, state, prefix[:followed], mask), followed


def differences(
    place: ComparedState, process: EngineProcess, theirs: Bool, seconds: float
) -> tuple[Disagreement, ...]:
    """The reasons for which an engine's mask differs from ours at a place."""

    def ask(other: Statement) -> Bool | None:
        return testimony_of(process, other, place.machine.vocabulary, place.prefix, seconds).mask

    return reasons_of(place, process.name, theirs, ask)


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


def _own_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # A checkout that is not installed.
        return ""


__all__ = ["checked_engines", "testimony_of", "witness", "witness_of"]
