"""One machine for equal constraints, shared by all sessions of a process.

Two sessions with equal constraints, an equal vocabulary and equal limits share one token machine as
long as somebody holds it. References are weak: a machine that nobody holds is freed, so the memory
of a kernel is that of the distinct machines in use. A machine is a value, or numbers its states
under a lock of its own, so sharing it changes nothing but the memory; the history of a session
belongs to the session.

`explorer.compile` always builds anew, so that its report gives the cost of building.
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
    """The machine in use for an equal constraint, or a new one.

    Args:
        constraint, vocabulary, budget: As in `explorer.compile`.

    Raises:
        ExplorerError: As in `explorer.compile`.

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
    """The machine in use for an equal constraint, else the given one, which is then shared.

    Args:
        made: A machine of the constraint.
        constraint, vocabulary, budget: As in `explorer.compile`.
    """
    key = _key(constraint, vocabulary, budget)
    if key is None:
        return made
    with _LOCK:
        known = _MACHINES.get(key)
        # A table replaces the lazy machine that was made when the table was not ready in time.
        if known is None or (table_of(made) is not None and table_of(known) is None):
            known = _MACHINES[key] = made
        return known


def machines_in_use() -> int:
    """The number of distinct machines that somebody holds."""
    with _LOCK:
        return len(_MACHINES)


def _key(constraint: Constraint, vocabulary: Vocabulary, budget: Budget | None) -> Hashable:
    """The key that equal machines share; ``None`` where a user's own source has no hash."""
    if type(constraint) is not Constraint:
        return None  # A user's subclass may mean more than its source.
    # Another tokenizer splits the same bytes differently, so an encoder is compared by identity.
    encoder = vocabulary.encoder
    key = (
        constraint.source,
        _left_out(constraint.source),
        vocabulary.fingerprint,
        tuple(vocabulary.letters.items()),  # The fingerprint ignores the names of control tokens.
        None if encoder is None else id(encoder),
        Budget() if budget is None else budget,
    )
    try:
        hash(key)
    except Exception:  # A user's own source may raise anything.
        return None
    return key


def _left_out(source: Source) -> tuple[int, ...]:
    """The identities of objects that a comparison of sources ignores although they matter.

    The rules given to `canonical` and the class of a type are not saved with a source, and so are
    not compared. Each is identified by its id; the shared machine keeps it alive.
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
