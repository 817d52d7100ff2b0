"""Enumerates all token sequences of a finite constraint, with their probabilities.

A model's probabilities depend on all previous tokens, so two prefixes that reach the same state
cannot share them, as in a dynamic program over the machine; only the reading of common prefixes is
shared. The sequences form a tree, whose nodes are read in batches, each from the key-values of its
parent. The number of nodes *can* be computed by a dynamic program over the machine, so the size is
known before the model is asked.

Under `canonical` a text has one sequence; without it there are all spellings, many times more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from explorer.decoding.models.model import BranchingBatch, LanguageModel, call_model
from explorer.decoding.models.row_by_row import open_branching
from explorer.decoding.probability.written import (
    WrittenTokens,
    allowed_ids,
    host_log_probs,
    log_sum,
)
from explorer.decoding.stepping.rule import Rule
from explorer.tokens.words import DONE, FREE

ROWS: Final = 64
"""The number of prefixes that are read in one batch."""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The beginning of a text, and the batch row that has read all of it but the last token."""

    row: int
    tokens: tuple[int, ...]
    state: int
    log_prob: float
    log_masked: float


def tree_size(rule: Rule, limit: int, ends: bool = True) -> int | None:
    """The number of prefixes of a constraint's token sequences, including the empty one.

    Args:
        ends: Whether sequences may continue after a complete text.

    Returns:
        The number; ``None`` if it is larger than the limit, or infinite.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> tree_size(Rule.of(explorer.literal("ab"), vocab), 100)  # "", a, ab as a b, ab
        4
        >>> tree_size(Rule.of(explorer.regex("a*"), vocab), 100) is None
        True
    """
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    stack: list[tuple[int, list[int], int]] = []
    steps = 0

    def open_state(state: int) -> bool:
        nonlocal steps
        targets: list[int] = []
        if ends or not rule.machine.is_final(state):
            allowed = rule.machine.allowed(state)
            steps += int(allowed.sum())
            if state == FREE or steps > 64 * limit + 4096:
                return False
            eos = rule.vocabulary.eos_ids
            for token in allowed.nonzero()[0].tolist():
                target = rule.step(state, token) if token not in eos else None
                if target is not None and target != DONE:
                    targets.append(target)
        begun.add(state)
        stack.append((state, targets, 1))
        return True

    if not open_state(rule.start):
        return None
    while stack:
        state, targets, size = stack.pop()
        while targets and targets[-1] in sizes:
            size += sizes[targets.pop()]
            if size > limit:
                return None
        if not targets:
            sizes[state] = size
            continue
        stack.append((state, targets, size))
        # A state that is begun but not counted is on the current path: a cycle, so there are
        # infinitely many texts.
        if targets[-1] in begun or not open_state(targets[-1]):
            return None
    return sizes[rule.start]


def all_texts(
    lm: LanguageModel,
    ids: Sequence[int],
    rule: Rule,
    *,
    ends: bool,
    advance: Callable[[int], None],
) -> Iterator[WrittenTokens]:
    """Every token sequence of a finite constraint.

    Args:
        ends: Whether a sequence includes the end of the text. If not, it counts as soon as its text
            is complete, and its continuations are not enumerated.

    Yields:
        The sequences of positive probability.
    """
    eos = rule.vocabulary.eos_ids
    if not ends and rule.machine.is_final(rule.start):
        yield WrittenTokens((), 0.0, 0.0)
        return
    batch = open_branching(lm, [tuple(ids)])
    waiting: list[tuple[BranchingBatch, list[_Beginning]]] = []
    now = [_Beginning(0, (), rule.start, 0.0, 0.0)]
    while True:
        log_probs = host_log_probs(lm, batch.logits)
        advance(len(now))
        children: list[_Beginning] = []
        for number, prefix in enumerate(now):
            row = log_probs[number]
            allowed = allowed_ids(rule.machine.allowed(prefix.state), len(row))
            masked = prefix.log_masked - log_sum(row[allowed])
            if ends and (over := [token for token in eos if token in allowed]):
                end = log_sum(row[over])
                yield WrittenTokens(prefix.tokens, prefix.log_prob + end, masked + end)
            for token in allowed.tolist():
                target = None if token in eos else rule.step(prefix.state, token)
                if target is None or row[token] == -torch.inf:
                    continue
                own = float(row[token])
                child = _Beginning(
                    number, (*prefix.tokens, token), target, prefix.log_prob + own, masked + own
                )
                if not ends and rule.machine.is_final(target):
                    yield WrittenTokens(child.tokens, child.log_prob, child.log_masked)
                else:
                    children.append(child)
        waiting += [
            (batch, children[begin : begin + ROWS]) for begin in range(0, len(children), ROWS)
        ]
        if not waiting:
            return
        batch, now = waiting.pop()
        batch = branched(lm, batch, [child.row for child in now], [c.tokens[-1] for c in now])


def branched(
    lm: LanguageModel, batch: BranchingBatch, rows: Sequence[int], tokens: Sequence[int]
) -> BranchingBatch:
    """A new batch that continues some rows with one token each; the given one is not changed."""
    further = call_model(lm, "branch", lambda: batch.branch(rows))
    column = torch.tensor(list(tokens), dtype=torch.int64, device=further.logits.device)
    call_model(lm, "step", lambda: further.step(column))
    return further
