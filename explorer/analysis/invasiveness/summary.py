"""A table over prompts: each scheme with its mean and a confidence interval of 95 %.

Runs from one prompt are not independent, so the unit of an interval is the prompt: each prompt
gives one mean over its seeds. Shares and means have the interval of Student's t over prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.analysis.invasiveness.comparing import RunPair, invasiveness
from explorer.arguments import counted
from explorer.budget import Budget
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import OwnFirstText
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine

# The two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom; the normal one beyond.
_T: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class MeanInterval:
    """A mean with half the width of its 95 % interval; NaN where there is one value only.

    Args:
        mean: The mean.
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
        agreement: The share of runs in which definition 2.1 holds, of those in which the model's
            own text begins as the language allows.
        interventions: The share of steps at which the model's own choice was not allowed.
        log_perplexity: Nats per token of the constrained text under the model.
        bits_per_byte: The same per byte, in bits.
        bridges: Tokens that cross terminals, for each text; NaN where terminals are not known.
        violations: A pair of runs for each prompt that breaks the law, the first one.
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
        prompts: How many prompts.
        seeds: How many pairs of runs for each.
        outcomes: How often the model wrote each kind of text without the constraint.
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
        lm: The model.
        prompts: What stands before; the unit of the intervals.
        constraint: The language, which says what is valid.
        schemes: A token machine for each name; ``None`` is the language itself.
        sampler, seeds, max_tokens, bridges, budget: As `invasiveness` has them.

    Returns:
        A row for each scheme.

    Raises:
        ExplorerError: There is no prompt, or as `invasiveness` has it.

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
    found = {
        name: [
            invasiveness(
                lm, prompt, language, machine=machine, sampler=sampler, seeds=seeds,
                max_tokens=max_tokens, bridges=bridges, budget=budget,
            )
            for prompt in prompts
        ]
        for name, machine in schemes.items()
    }  # fmt: skip
    return table_of_pairs(found)


def table_of_pairs(found: Mapping[str, Sequence[Sequence[RunPair]]]) -> InvasivenessTable:
    """The table of pairs that were written already.

    Args:
        found: For each scheme the pairs of each prompt, from `invasiveness`; at least one scheme
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
