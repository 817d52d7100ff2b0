"""Step by step to a short constraint and a short prefix that show the same difference.

A step keeps the engine, the class of the difference and who allows the token. First the vocabulary:
all single bytes and the tokens of the case are enough for most differences, and make every further
step fast. Then the constraint, then the prefix, until no step works or the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import Disagreement, Witness
from explorer.witnesses.asking import statement_of
from explorer.witnesses.comparison import OutOfTime
from explorer.witnesses.process import shared_process
from explorer.witnesses.readings.variants import SHORT_BUDGET, machine_of
from explorer.witnesses.rules.past_a_match import SENTENCES
from explorer.witnesses.shrinking.smaller import size_of, smaller
from explorer.witnesses.witness import testimony_of, witness_of

SECONDS_A_STEP = 2.0
"""The most that an engine may take in one step."""

SECONDS_FOR_BYTES = 0.5
"""What the step to single bytes may take, also when the time is up: without it a script holds the
whole vocabulary."""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A difference, as small as it was made.

    Args:
        witness: The state, of us and the one engine.
        disagreement: The difference there.
        token: One token of it, the shortest.
        steps: How many smaller cases were tried.
    """

    witness: Witness
    disagreement: Disagreement
    token: int
    steps: int


def small_vocabulary(texts: list[bytes], single: Iterable[int] = range(256)) -> Vocabulary:
    """Single bytes, some further tokens, and an end of text.

    Args:
        texts: The bytes of the further tokens.
        single: The single bytes.
    """
    more = dict.fromkeys(text for text in texts if len(text) > 1)
    tokens = [bytes([byte]) for byte in single] + [*more]
    return Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def shrink(witness: Witness, wanted: Disagreement, seconds: float) -> Shrunk:
    """The same difference, of a constraint and a prefix that are as short as was found.

    Args:
        witness: A state.
        wanted: One of its disagreements.
        seconds: The most that it may take.
    """
    deadline = time.monotonic() + seconds
    tokens = witness.vocabulary.tokens
    shortest = min(map(int, wanted.tokens), key=lambda token: len(tokens[token] or b""))
    prefix = witness.prefix[: wanted.position]
    first = max(deadline, time.monotonic() + SECONDS_FOR_BYTES)
    best = _small(witness, wanted, prefix, shortest, first) or Shrunk(witness, wanted, shortest, 0)
    steps = 0
    single = _in_bytes(best)
    if single is not None:
        best = shows(witness.constraint, best.witness.vocabulary, single, wanted, first) or best
    going = True
    while going and time.monotonic() < deadline:
        going = False
        for constraint, ids in _candidates(best):
            if time.monotonic() > deadline:
                break
            steps += 1
            found = shows(constraint, best.witness.vocabulary, ids, wanted, deadline)
            if found is not None:
                best, going = found, True
                break
    return replace(best, steps=steps)


def _small(
    witness: Witness,
    wanted: Disagreement,
    prefix: tuple[int, ...],
    token: int,
    deadline: float,
) -> Shrunk | None:
    """The same state over single bytes and the tokens that it needs, if it still differs."""
    tokens = witness.vocabulary.tokens
    if len(tokens) <= 300:
        return None
    needed = [tokens[each] or b"" for each in (*prefix, token)]
    needed += [tokens[each] or b"" for each in wanted.tokens[:4]]
    theirs = witness.testimony(wanted.engine).mask
    if theirs is not None and wanted.position == len(witness.prefix):
        needed += [tokens[each] or b"" for each in theirs.nonzero()[0][:4]]
    # What can be finished depends on which bytes there are.
    known = [byte for byte in range(256) if witness.vocabulary.ids_of(bytes([byte]))]
    vocabulary = small_vocabulary(needed, known if wanted.kind == "trim" else range(256))
    if not all(vocabulary.ids_of(text) for text in needed if text):
        return None
    ids = tuple(vocabulary.ids_of(tokens[each] or b"")[0] for each in prefix)
    return shows(witness.constraint, vocabulary, ids, wanted, deadline)


def _in_bytes(best: Shrunk) -> tuple[int, ...] | None:
    """The prefix as single bytes, which more of the smaller constraints can be asked after."""
    vocabulary = best.witness.vocabulary
    ids = [vocabulary.ids_of(bytes([byte]))[:1] for byte in best.witness.text]
    return tuple(each[0] for each in ids) if all(ids) else None


def _candidates(best: Shrunk) -> Iterator[tuple[Constraint, tuple[int, ...]]]:
    constraint, prefix = best.witness.constraint, best.witness.prefix
    shorter = list(_prefixes(prefix))
    for ids in shorter:
        yield constraint, ids
    for each in smaller(constraint):
        for ids in (prefix, *shorter[:8]):
            yield each, ids


def _prefixes(prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shorter prefixes, the shortest first: the beginning, the end, both, half, all but one."""
    known = {prefix}
    size = len(prefix)
    made = [(), *(prefix[-k:] for k in range(1, 5)), *(prefix[:k] for k in range(1, 4))]
    made += [prefix[:k] + prefix[-m:] for k in (1, 2) for m in (1, 2)]
    made += [prefix[: size // 2], prefix[size // 2 :], prefix[:-1], prefix[1:]]
    made += [prefix[:k] + prefix[k + 1 :] for k in range(size)]
    for ids in sorted(made, key=len):
        if ids not in known and len(ids) < size:
            known.add(ids)
            yield ids


def shows(
    constraint: Constraint,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    wanted: Disagreement,
    deadline: float,
) -> Shrunk | None:
    """The difference of a class at a state, if there is one.

    Args:
        constraint, vocabulary, prefix: The state.
        wanted: The engine, the class and who allows the token.
        deadline: By `time.monotonic`.
    """
    seconds = min(SECONDS_A_STEP, max(0.1, deadline - time.monotonic()))
    try:
        machine = machine_of(constraint, vocabulary, SHORT_BUDGET)
        if not _differs(machine, constraint, prefix, wanted, seconds):
            return None  # Most candidates end here; to class a difference takes longer.
        found = witness_of(machine, constraint, prefix, (wanted.engine,), seconds, deadline)
    except (ExplorerError, OutOfTime):
        return None
    for each in found.disagreements:
        same = (each.kind, each.allows) == (wanted.kind, wanted.allows)
        same &= wanted.sentence not in SENTENCES or each.sentence == wanted.sentence
        if same and each.position == len(prefix):
            tokens = vocabulary.tokens
            token = min(map(int, each.tokens), key=lambda t: len(tokens[t] or b""))
            return Shrunk(found, each, token, 0)
    return None


def _differs(
    machine: TokenMachine,
    constraint: Constraint,
    prefix: tuple[int, ...],
    wanted: Disagreement,
    seconds: float,
) -> bool:
    """Whether the engine and we differ at a state in the direction that is wanted."""
    state: int | None = machine.start
    for token in prefix:
        state = machine.step(state, token)
        if state is None:
            return False
    said = testimony_of(
        shared_process(wanted.engine), statement_of(constraint), machine.vocabulary, prefix, seconds
    )
    if said.mask is None:
        return False
    ours = unpack(machine.mask(state), len(machine.vocabulary))
    return bool((said.mask & ~ours if wanted.allows else ours & ~said.mask).any())


__all__ = ["Shrunk", "shows", "shrink", "size_of", "small_vocabulary"]
