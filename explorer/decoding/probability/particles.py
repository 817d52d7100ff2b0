"""Texts drawn under the mask, with the weights that correct for the mask.

A text drawn token by token, renormalised among the allowed tokens, has the probability q. The
model's own probability is p, and p/q is the product of the feasible masses along the text, at most
1. This weight is all that is needed to estimate properties of p from draws of q (importance
sampling), or to move draws towards p during generation (sequential Monte Carlo: `Swarm.resample`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from explorer.decoding.models.model import BranchingBatch, LanguageModel
from explorer.decoding.models.row_by_row import open_branching
from explorer.decoding.probability.enumeration import branched
from explorer.decoding.probability.written import (
    Float64,
    WrittenTokens,
    allowed_ids,
    host_log_probs,
    log_sum,
)
from explorer.decoding.sampling.sampler import uniform
from explorer.decoding.stepping.rule import Rule
from explorer.errors import REPORT_IT, ContextFull, ExplorerError


@dataclass(frozen=True, slots=True)
class Particle:
    """A partly drawn text.

    Args:
        log_weight: The log of p/q since the last resampling, plus the log of the mean weight then.
    """

    tokens: tuple[int, ...]
    state: int
    log_prob: float
    log_masked: float
    log_weight: float
    stream: int
    ended: bool = False

    @property
    def written(self) -> WrittenTokens:
        """The tokens with their probabilities."""
        return WrittenTokens(self.tokens, self.log_prob, self.log_masked)


class Swarm:
    """A set of particles that grow together by one token at a time."""

    def __init__(
        self,
        lm: LanguageModel,
        ids: Sequence[int],
        rule: Rule,
        count: int,
        *,
        seed: int,
        stream: int = 0,
        ends: bool = True,
    ) -> None:
        self._lm = lm
        self._rule = rule
        self._seed = seed
        self._ends = ends
        done = not ends and rule.machine.is_final(rule.start)
        self.particles: list[Particle] = [
            Particle((), rule.start, 0.0, 0.0, 0.0, stream + k, done) for k in range(count)
        ]
        self.passes = 0
        self._index = 0
        self._batch: BranchingBatch | None = None
        if not done:
            self._batch = open_branching(lm, [tuple(ids)])
            self.passes = 1
        # The row of the batch that has read each particle's tokens.
        self._rows: list[int] = [0] * count

    def step(self) -> bool:
        """Draw one token for each unfinished particle; return whether any remains unfinished."""
        alive = [k for k, one in enumerate(self.particles) if not one.ended and self._alive(k)]
        if self._batch is None or not alive:
            return False
        rows = sorted({self._rows[k] for k in alive})
        log_probs = host_log_probs(self._lm, self._batch.logits)
        sums = {row: self._sums(log_probs[row], self._states(row)) for row in rows}
        going: list[int] = []
        for k in alive:
            one, row = self.particles[k], self._rows[k]
            token, gain, mass = self._draw(one, log_probs[row], sums[row][one.state])
            self.particles[k] = one = self._after(one, token, gain, mass)
            if not one.ended:
                going.append(k)
        self._index += 1
        if going:
            try:
                self._batch = branched(
                    self._lm,
                    self._batch,
                    [self._rows[k] for k in going],
                    [self.particles[k].tokens[-1] for k in going],
                )
            except ContextFull:
                self._batch = None  # The context is full: these texts stay unfinished.
                return False
            self.passes += 1
            for place, k in enumerate(going):
                self._rows[k] = place
        return bool(going)

    def drop_unfinished(self) -> None:
        """Give up the particles whose text has not ended, by setting their weight to 0."""
        for k, one in enumerate(self.particles):
            if not one.ended:
                self.particles[k] = replace(one, log_weight=-math.inf)

    def resample(self, place: float) -> None:
        """Replace the particles by copies in proportion to their weights; all get the mean weight.

        Systematic resampling: n equally spaced points with one random shift.

        Args:
            place: The shift, in [0, 1).
        """
        weights = self.weights()
        n = len(weights)
        mean = self.log_mean()
        bounds = np.cumsum(weights)
        places: Float64 = (np.arange(n) + place) / n * bounds[-1]
        picked = [bisect_right(bounds, each) for each in places.tolist()]
        chosen = [min(k, n - 1) for k in picked]
        streams = [one.stream for one in self.particles]
        self.particles = [
            replace(self.particles[k], log_weight=mean, stream=stream)
            for k, stream in zip(chosen, streams, strict=True)
        ]
        self._rows = [self._rows[k] for k in chosen]

    def weights(self) -> Float64:
        """The weights, float64[n], summing to 1; all 0 if every particle was given up."""
        logs = np.array([one.log_weight for one in self.particles])
        highest = logs.max()
        if highest == -math.inf:
            return np.zeros(len(logs))
        weights = np.exp(logs - highest)
        return weights / weights.sum()

    def log_mean(self) -> float:
        """The log of the mean weight."""
        return log_sum([one.log_weight for one in self.particles]) - math.log(len(self.particles))

    def _alive(self, k: int) -> bool:
        return self.particles[k].log_weight > -math.inf

    def _states(self, row: int) -> set[int]:
        return {
            one.state
            for k, one in enumerate(self.particles)
            if self._rows[k] == row and not one.ended and self._alive(k)
        }

    def _sums(
        self, row: Float64, states: set[int]
    ) -> dict[int, tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Float64, float]]:
        """For each state: the allowed ids, their cumulative probabilities, and the log mass."""
        sums: dict[int, tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Float64, float]] = {}
        for state in states:
            ids = allowed_ids(self._rule.machine.allowed(state), len(row))
            mass = log_sum(row[ids])
            if mass == -math.inf:
                raise ExplorerError(
                    "The model gives probability 0 to every token that is allowed here.",
                    remedy="Check that the vocabulary is the model's.",
                    evidence={"state": state},
                )
            sums[state] = ids, np.cumsum(np.exp(row[ids] - mass)), mass
        return sums

    def _draw(
        self,
        one: Particle,
        row: Float64,
        known: tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Float64, float],
    ) -> tuple[int, float, float]:
        """Draw a token by inverse CDF; return it, its log-probability, and the log mass."""
        ids, shares, mass = known
        number = uniform(self._seed, one.stream, self._index) * shares[-1]
        place = bisect_right(shares, number)
        # Rounding may leave no share above the number; a token of probability 0 is never taken.
        place = min(place, int(np.flatnonzero(np.diff(shares, prepend=0.0) > 0)[-1]))
        token = int(ids[place])
        if token in self._rule.vocabulary.eos_ids:
            over = [end for end in self._rule.vocabulary.eos_ids if end in ids]
            return token, log_sum(row[over]), mass  # All ends of text give the same text.
        return token, float(row[token]), mass

    def _after(self, one: Particle, token: int, gain: float, mass: float) -> Particle:
        log_prob, log_masked = one.log_prob + gain, one.log_masked + gain - mass
        weight = one.log_weight + mass
        if token in self._rule.vocabulary.eos_ids:
            return Particle(
                one.tokens, one.state, log_prob, log_masked, weight, one.stream, ended=True
            )
        state = self._rule.step(one.state, token)
        if state is None:
            raise ExplorerError(
                f"Token {token} is not allowed in state {one.state}.",
                remedy=REPORT_IT,
            )
        over = not self._ends and self._rule.machine.is_final(state)
        return Particle((*one.tokens, token), state, log_prob, log_masked, weight, one.stream, over)


def effective_size(weights: Float64) -> float:
    """The effective sample size of some weights: the square of the sum over the sum of squares.

    Example:
        >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]))
        2.0
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0
