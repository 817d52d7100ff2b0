"""One machine for equal constraints: a kernel with a thousand explorers holds each machine once.

Two sessions with equal constraints, an equal vocabulary and equal limits have one token machine, as
long as anybody holds it. Nothing is kept for later: a machine that nobody holds is gone, so the
memory of a kernel is that of the different machines in use. A machine is a value, or numbers its
states under a lock of its own, so that sharing it changes nothing but the memory; what a session
has been through is the session's.

`explorer.compile` always builds anew, so that its report says what building takes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Final, cast
from weakref import WeakValueDictionary

from explorer.automata.tree.nodes import Source
from explorer.budget import Budget
from explorer.languages.constraint import Constraint
from explorer.languages.stages.stage import PipelineStage
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary

_MACHINES: Final[WeakValueDictionary[Hashable, TokenMachine]] = WeakValueDictionary()
_LOCK: Final = Lock()


def shared_machine(
    constraint: Constraint, vocabulary: Vocabulary, budget: Budget | None = None
) -> TokenMachine:
    """The machine of a constraint: the one that is in use for an equal one, or compiled now.

    Args:
        constraint, vocabulary, budget: As `explorer.compile` has them.

    Raises:
        ExplorerError: As `explorer.compile` has it.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> first = shared_machine(explorer.regex("a*"), vocab)
        >>> shared_machine(explorer.regex("a*"), vocab) is first
        True
    """
    key = _key(constraint, vocabulary, budget)
    with _LOCK:
        known = None if key is None else _MACHINES.get(key)
    if known is not None:
        return known
    return kept_machine(compile(constraint, vocabulary, budget), constraint, vocabulary, budget)


def kept_machine(
    made: TokenMachine, constraint: Constraint, vocabulary: Vocabulary, budget: Budget | None
) -> TokenMachine:
    """The machine that is in use for an equal constraint; else the one given, from now on.

    Args:
        made: A machine of the constraint.
        constraint, vocabulary, budget: As `explorer.compile` has them.
    """
    key = _key(constraint, vocabulary, budget)
    if key is None:
        return made
    with _LOCK:
        known = _MACHINES.get(key)
        # A table that was not ready in time is better than the lazy machine in its place.
        if known is None or (table_of(made) is not None and table_of(known) is None):
            known = _MACHINES[key] = made
        return known


def machines_in_use() -> int:
    """The number of different machines that somebody holds."""
    with _LOCK:
        return len(_MACHINES)


def _key(constraint: Constraint, vocabulary: Vocabulary, budget: Budget | None) -> Hashable:
    """The key that equal machines share; ``None`` where a source of somebody's own has no hash."""
    if type(constraint) is not Constraint:
        return None  # A kind of somebody's own may mean more than its source.
    # With another tokenizer the same bytes split otherwise, so an encoder stands for itself.
    encoder = vocabulary.encoder
    key = (
        constraint.source,
        _left_out(constraint.source),
        vocabulary.fingerprint,
        None if encoder is None else id(encoder),
        Budget() if budget is None else budget,
    )
    try:
        hash(key)
    except Exception:  # A source of somebody's own may raise anything.
        return None
    return key


def _left_out(source: Source) -> tuple[int, ...]:
    """The objects that a comparison of sources leaves out, so that equal ones may differ in them.

    The rules given to `canonical` and the class of a type are not saved with a source, and so are
    not compared. Each stands for itself; the machine that is shared holds it.
    """
    left_out: list[int] = []
    waiting: list[object] = [source]
    while waiting:
        here = waiting.pop()
        for each in fields(here) if is_dataclass(here) else ():
            value = getattr(here, each.name)
            if not each.compare and value is not None and not isinstance(value, str | tuple):
                left_out.append(id(value))
            elif isinstance(value, Source | PipelineStage):
                waiting.append(value)
            elif isinstance(value, tuple):
                waiting += [
                    part for part in cast("tuple[object, ...]", value) if isinstance(part, Source)
                ]
    return tuple(left_out)
