"""A comparison of one prompt with and without a constraint: where the runs differ, and the cost.

Definition 2.1 of Beurer-Kellner et al. (2024): a way of constraining is minimally invasive if every
valid output that the model can write by itself is written under the constraint too, token by token,
from the same prompt. Here that is a *law of each prefix*: as long as the language allows the tokens
that the model writes by itself, the constrained run writes the same ones. A run that breaks it has
a `violation`: the first token that differs. Where the language ends and the model would go on, the
constrained run writes the end; the law says nothing about what follows.

Both runs draw with the same random numbers (`explorer.decoding.speculation.own_first`).

The tokens that a *scheme* forbids beyond the language (those that cross terminals, say) are judged
by the language: give the language as ``constraint`` and the scheme as ``machine``.

Over several prompts each scheme has its means, with confidence intervals of 95 %. Runs from one
prompt are not independent, so the unit of an interval is the prompt: each prompt gives one mean
over its seeds. Shares and means have the interval of Student's t over prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from explorer.arguments import counted, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    LAST_SEED,
    MOST_TOKENS,
    checked_model,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, LogitsStore, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import OwnFirstText, followed, without_filters
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE

Outcome = Literal["valid", "goes on", "cut", "invalid"]
"""The kind of text that the model writes without the constraint.

``"valid"`` is a text of the language, ``"goes on"`` one that continues where the language must end,
``"cut"`` a prefix of one, and ``"invalid"`` any other text.
"""

_LOGITS_BYTES: Final = 64_000_000


@dataclass(frozen=True)
class RunPair:
    """A pair of runs from one prompt, with the same random numbers.

    Args:
        free: The run without the constraint.
        constrained: The run under the constraint.
        outcome: The kind of text that the free run wrote.
        valid: The number of its tokens, from the first on, that the language allows.
        bridges: The number of tokens of the constrained run that cross a border of terminals;
            ``None`` where terminals are not known.
    """

    free: OwnFirstText
    constrained: OwnFirstText
    outcome: Outcome
    valid: int
    bridges: int | None = None

    @property
    def parted(self) -> int | None:
        """The index of the first token that differs; ``None`` if one run begins the other."""
        pairs = zip(self.free.tokens, self.constrained.tokens, strict=False)
        return next((k for k, (own, made) in enumerate(pairs) if own != made), None)

    @property
    def violation(self) -> int | None:
        """The index of the first token that differs although the language allows the model's own;
        ``None`` if definition 2.1 holds."""
        made = self.constrained.tokens
        return next(
            (
                k
                for k, own in enumerate(self.free.tokens[: self.valid])
                if k >= len(made) or made[k] != own
            ),
            None,
        )

    @property
    def interventions(self) -> float:
        """The share of steps at which the model's own choice was not allowed."""
        return 1 - self.constrained.hit_rate

    @property
    def perplexity_free(self) -> float:
        """The perplexity per token of the free text under the model."""
        return _perplexity(self.free)

    @property
    def perplexity(self) -> float:
        """The perplexity per token of the constrained text under the unconstrained model."""
        return _perplexity(self.constrained)

    @property
    def bits_per_byte(self) -> float:
        """The bits per byte of the constrained text under the model, for any spelling."""
        size = max(1, len(self.constrained.data))
        return -math.fsum(self.constrained.log_probs) / math.log(2) / size

    def __str__(self) -> str:
        own = f"{self.outcome}, perplexity {self.perplexity_free:.2f}"
        lines = [
            f"free         {self.free.text!r}: {own}",
            f"constrained  {self.constrained.text!r}: perplexity {self.perplexity:.2f}, "
            f"interventions {self.interventions:.1%}",
        ]
        k = self.violation
        if k is not None:
            other = self.constrained.pieces[k : k + 1]
            made = repr(other[0]) if other else "missing"
            lines.append(
                f"violation    token {k} is {made}, the model's own is {self.free.pieces[k]!r}, "
                "which is valid"
            )
        elif self.parted is not None:
            lines.append(f"parted       at token {self.parted}, which is not valid")
        return "\n".join(lines)


def invasiveness(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: Constraint | TokenMachine,
    *,
    machine: TokenMachine | None = None,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seed: int = 0,
    seeds: int = 1,
    max_tokens: int = 64,
    bridges: Callable[[OwnFirstText], int] | None = None,
    budget: Budget | None = None,
    store: LogitsStore | None = None,
) -> tuple[RunPair, ...]:
    """Compare what a model writes with and without a constraint.

    Args:
        prompt: The prompt of all runs.
        constraint: The language of the valid texts.
        machine: The scheme that constrains, if it is not the language itself.
        sampler: The sampler, without filters; greedy by default.
        seed: The seed of the first pair.
        seeds: The number of pairs of runs, each with the next seed.
        max_tokens: The most tokens of a run; longer ones are cut off.
        bridges: Counts the tokens of a text that cross terminals.
        store: The model's logits known from other runs; new ones are added.

    Returns:
        A pair of runs for each seed; each prints as a few lines.

    Raises:
        ExplorerError: The sampler has a filter, or an argument has the wrong type.

    Example:
        >>> from explorer import choice, load_model
        >>> lm = load_model("tiny")
        >>> (found,) = invasiveness(lm, "The capital of France is", choice([" Paris", " Rome"]))
        >>> found.outcome, found.constrained.text, found.violation is None
        ('goes on', ' Paris', True)
    """
    lm = checked_model(lm)
    sampler = without_filters(sampler)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    seeds = whole_number("seeds", seeds, 1, LAST_SEED - seed)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    language = Rule.of(constraint, lm.vocabulary, budget)
    scheme = language if machine is None else Rule.of(machine, lm.vocabulary, budget)
    free = Rule.of(None, lm.vocabulary)
    ids = prompt_ids(lm, prompt)
    pairs: list[RunPair] = []
    store = logits_store(lm) if store is None else store
    for number in range(seed, seed + seeds):
        own = followed(store, free, ids, sampler, max_tokens, number, 0)
        made = followed(store, scheme, ids, sampler, max_tokens, number, 0)
        outcome, valid = judged(language, own)
        crossed = None if bridges is None else bridges(made)
        pairs.append(RunPair(own, made, outcome, valid, crossed))
    return tuple(pairs)


def logits_store(lm: LanguageModel) -> LogitsStore:
    """An empty store of logits, which the runs of several schemes may share."""
    return LogitsStore(lm, _LOGITS_BYTES)


def judged(language: Rule, own: OwnFirstText) -> tuple[Outcome, int]:
    """The kind of text of a free run, and the number of its tokens before the first invalid one."""
    state: int = language.start
    for k, token in enumerate(own.tokens):
        after = language.step(state, token) if token < len(language.vocabulary) else None
        if after is None:
            ends = language.machine.is_final(state)
            only_end = ends and not any(
                language.vocabulary.tokens[int(other)] is not None
                for other in language.mask(state, None).allowed.nonzero()[0]
            )
            return ("goes on" if only_end else "invalid"), k
        state = after
    return ("valid" if state == DONE else "cut"), len(own.tokens)


def _perplexity(text: OwnFirstText) -> float:
    return math.exp(-math.fsum(text.log_probs) / max(1, len(text.log_probs)))


# The two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom; the normal one beyond.
_T: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class MeanInterval:
    """A mean with half the width of its 95 % interval; NaN for a single value.

    Args:
        half: Half the width.
    """

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> MeanInterval:
        """The interval of some independent values.

        Example:
            >>> found = MeanInterval.of([1.0, 2.0, 3.0])
            >>> found.mean, round(found.half, 3)
            (2.0, 2.484)
        """
        n = len(values)
        mean = math.fsum(values) / n if n else math.nan
        if n < 2:
            return cls(mean, math.nan)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
        factor = _T[n - 2] if n - 2 < len(_T) else 1.96
        return cls(mean, factor * spread / math.sqrt(n))

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "–"
        return f"{self.mean:.3f}" if math.isnan(self.half) else f"{self.mean:.3f} ± {self.half:.3f}"


@dataclass(frozen=True)
class SchemeRow:
    """One scheme over all prompts.

    Args:
        name: The scheme.
        agreement: The share of runs that obey definition 2.1, among those in which the model's own
            text begins as the language allows.
        interventions: The share of steps at which the model's own choice was not allowed.
        log_perplexity: Nats per token of the constrained text under the model.
        bits_per_byte: The same per byte, in bits.
        bridges: Tokens that cross terminals, per text; NaN where terminals are not known.
        violations: The first pair of runs of each prompt that breaks the law.
    """

    name: str
    agreement: MeanInterval
    interventions: MeanInterval
    log_perplexity: MeanInterval
    bits_per_byte: MeanInterval
    bridges: MeanInterval
    violations: tuple[RunPair, ...]


@dataclass(frozen=True)
class InvasivenessTable:
    """Schemes over the same prompts; it prints as a table.

    Args:
        rows: One for each scheme.
        prompts: The number of prompts.
        seeds: The number of pairs of runs for each prompt.
        outcomes: The number of free runs of each kind of text.
    """

    rows: tuple[SchemeRow, ...]
    prompts: int
    seeds: int
    outcomes: Mapping[str, int]

    def __str__(self) -> str:
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        wide = max(16, *(len(row.name) + 2 for row in self.rows))
        lines = [
            f"{counted(self.prompts, 'prompt')} × {self.seeds}; by itself the model writes: {told}",
            f"{'scheme':<{wide}}{'agreement':>16}{'interventions':>17}{'nats a token':>16}"
            f"{'bits a byte':>16}{'bridges':>16}",
        ]
        for row in self.rows:
            cells = (
                (row.agreement, 16), (row.interventions, 17), (row.log_perplexity, 16),
                (row.bits_per_byte, 16), (row.bridges, 16),
            )  # fmt: skip
            lines.append(
                f"{row.name:<{wide}}" + "".join(f"{cell!s:>{width}}" for cell, width in cells)
            )
        return "\n".join(lines)


def invasiveness_table(
    lm: LanguageModel,
    prompts: Sequence[Prompt],
    constraint: Constraint | TokenMachine,
    schemes: Mapping[str, TokenMachine | None],
    *,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seeds: int = 1,
    max_tokens: int = 64,
    bridges: Callable[[OwnFirstText], int] | None = None,
    budget: Budget | None = None,
) -> InvasivenessTable:
    """Compare schemes over prompts.

    Args:
        prompts: The prompts, which are the unit of the intervals.
        constraint: The language of the valid texts.
        schemes: A token machine by name; ``None`` stands for the language itself.
        sampler, seeds, max_tokens, bridges, budget: As in `invasiveness`.

    Returns:
        A row for each scheme.

    Raises:
        ExplorerError: There is no prompt, or as in `invasiveness`.

    Example:
        >>> from explorer import choice, load_model
        >>> table = invasiveness_table(
        ...     load_model("tiny"), ["The capital of France is", "The capital of Italy is"],
        ...     choice([" Paris", " Rome"]), {"ours": None})
        >>> table.rows[0].agreement.mean, table.rows[0].violations
        (1.0, ())
    """
    lm = checked_model(lm)
    if not prompts:
        raise ExplorerError("There are no prompts.", remedy="Give at least one.")
    language = Rule.of(constraint, lm.vocabulary, budget).machine
    by_scheme = {
        name: [
            invasiveness(
                lm, prompt, language, machine=machine, sampler=sampler, seeds=seeds,
                max_tokens=max_tokens, bridges=bridges, budget=budget,
            )
            for prompt in prompts
        ]
        for name, machine in schemes.items()
    }  # fmt: skip
    return table_of_pairs(by_scheme)


def table_of_pairs(found: Mapping[str, Sequence[Sequence[RunPair]]]) -> InvasivenessTable:
    """The table of pairs of runs that were made already.

    Args:
        found: The pairs of each prompt for each scheme, from `invasiveness`; at least one scheme
            and one prompt.

    Example:
        >>> from explorer import choice, load_model
        >>> lm, cities = load_model("tiny"), choice([" Rome", " Paris"])
        >>> pairs = invasiveness(lm, "The capital of France is", cities)
        >>> table_of_pairs({"ours": [pairs]}).rows[0].agreement.mean
        1.0
    """
    pairs = [pair for group in next(iter(found.values())) for pair in group]
    outcomes: dict[str, int] = {}
    for pair in pairs:
        outcomes[pair.outcome] = outcomes.get(pair.outcome, 0) + 1
    prompts = len(next(iter(found.values())))
    rows = tuple(_row(name, groups) for name, groups in found.items())
    return InvasivenessTable(rows, prompts, len(pairs) // prompts, outcomes)


def _row(name: str, found: Sequence[Sequence[RunPair]]) -> SchemeRow:
    def interval(
        measure: Callable[[RunPair], float],
        kept: Callable[[RunPair], bool] = lambda _: True,
    ) -> MeanInterval:
        groups = [[measure(pair) for pair in pairs if kept(pair)] for pairs in found]
        return MeanInterval.of([math.fsum(group) / len(group) for group in groups if group])

    broken = (next((p for p in pairs if p.violation is not None), None) for pairs in found)
    known = all(pair.bridges is not None for pairs in found for pair in pairs)
    return SchemeRow(
        name,
        interval(lambda pair: float(pair.violation is None), lambda pair: pair.valid > 0),
        interval(lambda pair: pair.interventions),
        interval(lambda pair: math.log(pair.perplexity)),
        interval(lambda pair: pair.bits_per_byte),
        interval(lambda pair: float(pair.bridges or 0)) if known else MeanInterval.of([]),
        tuple(pair for pair in broken if pair is not None),
    )
