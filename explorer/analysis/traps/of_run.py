"""The traps of a run: a loop, a feasible mass that stays tiny, a token that was likely for the sake
of a masked continuation, a prompt that ends where a token should have gone on, complete texts at
which the model never ends.

Cost: a pass over the trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters.display import show_share, show_text
from explorer.analysis.traps.loops import run_loops
from explorer.analysis.traps.trap import Trap
from explorer.arguments import counted
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, whole_table
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.analysis.ahead import Ahead
    from explorer.decoding.trace.trace import Trace

TINY_MASS: Final = 0.01
"""Below this feasible mass the constraint forces text that the model finds very unlikely."""

TINY_STEPS: Final = 3
"""The fewest steps in a row with a tiny mass."""

LIKED: Final = 0.25
"""A token of at least this probability counts as the model's own choice."""

UNLIKELY_END: Final = 0.01
"""A probability of EOS below this, under the constraint, in every complete text."""

ENDS_SEEN: Final = 4
"""The fewest complete texts for that."""

LOOK: Final = Budget(states=100_000, seconds=1.0)
"""Limits of the search for a way around a state."""


def session_traps(machine: TokenMachine, trace: Trace) -> tuple[Trap, ...]:
    """Find the traps that a run fell into, or may fall into.

    Args:
        trace: The run. Without a model's probabilities, only its loops and its prompt are examined.
    """
    prompt = trace.prompt if isinstance(trace.prompt, str) else None
    ends = machine.vocabulary.eos_ids
    moments: list[RunMoment] = []
    for k, position in enumerate(trace.positions):
        step = trace.steps[k] if k < len(trace.steps) else None
        distribution = position.distribution
        end = None
        if distribution is not None:
            known = [distribution.candidate(token) for token in ends]
            # Every token outside the candidates is less likely than each of them.
            end = max((math.exp(c.constrained) for c in known if c is not None), default=0.0)
        moments.append(
            RunMoment(
                position.index, position.state, None if step is None else step.token,
                None if step is None else step.log_prob_model,
                None if distribution is None else distribution.z,
                None if distribution is None else distribution.first_choice,
                end, lambda position=position: (position.num_allowed, position.over_budget),
            )
        )  # fmt: skip
    return run_traps(machine, prompt, moments)


@dataclass(frozen=True, slots=True)
class RunMoment:
    """The facts about one position of a run that the searches for traps use.

    Args:
        index: The number of tokens before it.
        state: The state of the token machine.
        token: The token that was taken here; ``None`` at the end.
        log_prob: Its natural log-probability under the model, if it is known.
        z: The feasible mass; ``None`` without a distribution.
        first_choice: The model's own likeliest token; ``None`` without a distribution.
        end: The probability of the end of text under the constraint; ``None`` likewise.
        limits: Returns the number of ids that the mask allows, and of those the budget removed.
    """

    index: int
    state: int
    token: int | None
    log_prob: float | None
    z: float | None
    first_choice: int | None
    end: float | None
    limits: Callable[[], tuple[int, int]]


def run_traps(
    machine: TokenMachine, prompt: str | None, moments: Sequence[RunMoment]
) -> tuple[Trap, ...]:
    """Find the traps of a run given by its positions; `session_traps` does so for a trace.

    Args:
        prompt: The prompt, if it is a text.
        moments: The positions of the run, the last one after its last token.
    """
    tokens = [moment.token for moment in moments if moment.token is not None]
    states = [moment.state for moment in moments[: len(tokens) + 1]]
    return (
        *run_loops(machine, tokens, states),
        *prompt_traps(machine.vocabulary, prompt, machine.allowed(machine.start)),
        *_tiny_mass(moments),
        *_greedy_traps(machine, moments),
        *_unlikely_ends(machine, moments),
    )


@lru_cache(maxsize=4)
def _joined(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens that join a space and the beginning of a word, and pairs of them with the rest.

    Computed once per vocabulary, because every step asks for it.
    """
    joined: list[int] = []
    pairs: list[tuple[int, int]] = []
    for token, data in enumerate(vocabulary.tokens):
        if data is not None and data[:1] == b" " and data[1:2].isalnum():
            joined.append(token)
            pairs += [(token, rest) for rest in vocabulary.ids_of(data[1:])]
    return np.array(joined, np.int64), np.array(pairs, np.int64).reshape(-1, 2)


def prompt_traps(
    vocabulary: Vocabulary, prompt: str | None, allowed: Bool | None = None
) -> tuple[Trap, ...]:
    """Find a prompt that ends where a token should have gone on, such as before a word.

    Args:
        prompt: The prompt; ``None`` for none.
        allowed: bool[ids], the first mask; only tokens that it prevents from joining count.

    Example:
        >>> vocab = Vocabulary.from_bytes([b"The", b" ", b" cat", b"cat"], eos_ids=[4])
        >>> [trap.kind for trap in prompt_traps(vocab, "The ")]
        ['prompt_boundary']
    """
    if not prompt:
        return ()
    stripped = prompt.rstrip(" ")
    tail = prompt[len(stripped) :]
    if not tail:
        return ()
    # One token would have joined the space and the text after it.
    joined, pairs = _joined(vocabulary)
    lost_ids = joined if allowed is None else np.unique(pairs[allowed[pairs[:, 1]], 0])
    lost: list[int] = lost_ids.tolist()
    if not lost:
        return ()
    shown = ", ".join(show_text(vocabulary.tokens[token] or b"") for token in lost[:3])
    return (
        Trap(
            "prompt_boundary",
            f"The prompt ends in white space, but this tokenizer writes a space together "
            f"with the word after it ({shown}, {counted(len(lost), 'such token')}). The model has "
            f"hardly ever seen a word begin after a lone space.",
            "End the prompt before the space, and let the constraint begin with it.",
            position=0,
            evidence={"tail": tail, "tokens": tuple(lost[:8]), "count": len(lost)},
        ),
    )


def _tiny_mass(moments: Sequence[RunMoment]) -> Iterator[Trap]:
    run: list[int] = []
    # A last position without a distribution closes a run that reaches the end.
    masses = [moment.z for moment in moments]
    for k, z in enumerate([*masses, None]):
        if z is not None and z < TINY_MASS:
            run.append(k)
            continue
        if len(run) >= TINY_STEPS:
            values = [masses[i] or 0.0 for i in run]
            yield Trap(
                "tiny_mass",
                f"For {len(run)} steps the model gives the allowed tokens less than "
                f"{100 * TINY_MASS:.0f}% of its probability (least {min(values):.1e}): it is made "
                f"to write what it does not mean.",
                "Ask for this form in the prompt, or allow the form that the model prefers.",
                position=run[0],
                evidence={"positions": tuple(run), "z": tuple(values)},
            )
        run = []


def _greedy_traps(machine: TokenMachine, moments: Sequence[RunMoment]) -> Iterator[Trap]:
    """Find tokens that were likely because of a continuation that the mask then removes."""
    for before, after in pairwise(moments):
        if before.log_prob is None or after.z is None or after.first_choice is None:
            continue
        if before.token is None or after.limits()[1]:
            continue  # The token budget is not part of the constraint.
        taken = before.token, before.log_prob
        trap = _greedy_trap(
            machine, before.index, before.state, after.state, taken, after.z, after.first_choice
        )
        if trap is not None:
            yield trap


def greedy_traps_ahead(
    machine: TokenMachine, position: int, state: int, entries: Sequence[Ahead]
) -> Iterator[Trap]:
    """Find likely next tokens whose likely continuation will be masked, before one is taken.

    Args:
        position: The number of tokens before.
        state: The state of the token machine.
        entries: Allowed tokens with a look ahead after each, without a token budget.
    """
    for entry in entries:
        after = machine.step(state, entry.token)
        if entry.mass is None or entry.wished is None or after is None or not entry.probability:
            continue
        taken = entry.token, math.log(entry.probability)
        trap = _greedy_trap(
            machine, position, state, after, taken, entry.mass, entry.wished, was="is"
        )
        if trap is not None:
            yield trap


def _greedy_trap(
    machine: TokenMachine,
    position: int,
    state: int,
    after: int,
    taken: tuple[int, float],
    z: float,
    wished: int,
    *,
    was: str = "was",
) -> Trap | None:
    """The greedy trap of a token, if it is one: the model's own next choice after it is masked.

    That suffices, however much probability the other tokens keep: there is no threshold on the
    feasible mass. A token counts only if another token would have avoided the state: within a fixed
    piece of JSON every text passes through the same state. It also counts only if the model
    wants more text afterwards; a wish to end does not explain the token before it.

    Args:
        after: The state after the token.
        taken: The token and its log-probability.
        z: The feasible mass after it.
        wished: The model's likeliest token after it.
    """
    tokens = machine.vocabulary.tokens
    token, log_prob = taken
    # A complete text is not a trap.
    if math.exp(log_prob) < LIKED or after < 0 or machine.is_final(after):
        return None
    if machine.step(after, wished) is not None:
        return None
    text = tokens[wished] if wished < len(tokens) else None
    here, there = machine.byte_state(state), machine.byte_state(after)
    byte_machine = machine.byte_machine
    if text is None or byte_machine is None or not _avoidable(byte_machine, here, there):
        return None
    data = tokens[token] if token < len(tokens) else None
    return Trap(
        "greedy_trap",
        f"{show_text(data or b'')} {was} likely for the sake of a continuation that is "
        f"masked: after it the model wants {show_text(text)}, and the allowed tokens "
        f"have {show_share(z)} of its probability.",
        "Compare whole alternatives by their total probability, or choose words for them that "
        "the model does not begin for another reason.",
        state=state,
        position=position,
        evidence={"token": token, "log_prob": log_prob, "z_after": z, "wished": wished},
    )


def _avoidable(machine: ByteMachine, begin: int, state: int) -> bool:
    """Whether a text can be finished from one byte state without passing another."""
    if begin == state:
        return False
    seen = {begin, state}
    waiting = [begin]
    meter = Meter(LOOK)
    while waiting:
        here = waiting.pop()
        if machine.is_accepting(here):
            return True
        try:
            meter.check("The search for a way around", states=len(seen))
        except BudgetExceeded:
            return False  # A search that stopped proves nothing.
        targets = _targets(machine, here) - seen
        seen |= targets
        waiting += sorted(targets)
    return False


def _targets(machine: ByteMachine, state: int) -> set[int]:
    """The states after one more byte."""
    whole = whole_table(machine)
    if whole is not None:
        return set(np.unique(whole.table[state]).tolist()) - {NO_ARC}
    return {machine.step(state, byte) for byte in machine.expected(state)}


def _unlikely_ends(machine: TokenMachine, moments: Sequence[RunMoment]) -> Iterator[Trap]:
    """Find runs that pass several complete texts in which EOS is never likely."""
    seen: list[tuple[int, float]] = []
    for moment in moments:
        if moment.end is None or moment.state < 0 or not machine.is_final(moment.state):
            continue
        allowed, over_budget = moment.limits()
        if over_budget:
            continue  # The tokens run out, so the end is near.
        if allowed <= len(machine.vocabulary.eos_ids):
            return  # Here the end is forced.
        if moment.end >= UNLIKELY_END:
            return
        seen.append((moment.index, moment.end))
    if len(seen) >= ENDS_SEEN:
        yield Trap(
            "unlikely_end",
            f"The text was complete at {len(seen)} positions, and the end of text never had "
            f"{100 * UNLIKELY_END:.0f}% of the probability: the model does not know that it should "
            f"stop here.",
            "Bound the repeat, give max_tokens, or show in the prompt how an answer ends.",
            position=seen[0][0],
            evidence={
                "positions": tuple(k for k, _ in seen), "probability": tuple(p for _, p in seen),
            },
        )  # fmt: skip
