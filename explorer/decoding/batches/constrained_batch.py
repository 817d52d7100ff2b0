"""The rows of a batch with their constraints and states, shared by `generate` and the processor.

A row has a token machine, a state, a stream of random numbers and a token budget. A step masks the
logits of all rows, draws one token in each and advances their states, all on the logits' device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

import torch
from torch import Tensor

from explorer.arguments import listed, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_STREAM
from explorer.decoding.sampling.on_host import host_step
from explorer.decoding.sampling.reference import Rows, chosen, move_on
from explorer.decoding.sampling.sampler import Drawing, row_parts
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.packed import mask_on_device_, sent
from explorer.tokens.words import FREE
from explorer.vocabulary import Vocabulary

T = TypeVar("T")

AnyConstraint: TypeAlias = GivenConstraint | TokenMachine | None
"""The constraint on the text of a row; ``None`` leaves it free."""


class ConstrainedBatch:
    """The constraints and the current states of the rows of a batch.

    Args:
        streams: The stream of random numbers of each row; by default 0, 1, ...

    Raises:
        ExplorerError: The token budget is too small for a constraint, or a constraint is invalid.
    """

    def __init__(
        self,
        constraints: Sequence[AnyConstraint | Rule],
        vocabulary: Vocabulary,
        drawing: Drawing,
        *,
        streams: Sequence[int] | None,
        device: str | torch.device,
        budget: Budget | None = None,
    ) -> None:
        # Rows that share a constraint share its compiled machine and its table on the device.
        of_constraint: dict[int, Rule] = {}
        rules: dict[int, Rule] = {}
        for constraint in constraints:
            if id(constraint) not in of_constraint:
                rule = (
                    constraint
                    if isinstance(constraint, Rule)
                    else Rule.of(constraint, vocabulary, budget)
                )
                free = rule.machine.constraint is None
                same = rules.setdefault(0 if free else id(rule.machine), rule)
                of_constraint[id(constraint)] = same
        self.rules = [of_constraint[id(constraint)] for constraint in constraints]
        max_tokens = drawing.max_tokens
        plans = {
            id(rule): rule.plans(max_tokens, drawing.masking_budget) for rule in rules.values()
        }
        self.plans = [plans[id(rule)] for rule in self.rules]
        """Whether the token budget is part of the mask, for each row."""
        machines = [
            (rule.planned or rule.machine) if plans[id(rule)] and max_tokens else rule.machine
            for rule in rules.values()
        ]
        numbers = {id(rule): k for k, rule in enumerate(rules.values())}
        self.masks = DeviceMasks(machines, device=device, vocabulary=vocabulary)
        self.sampler = drawing.sampler
        self.seed = drawing.seed
        # Where the machines are asked ahead of a draw, these are advanced first.
        self._on_host = Rows.start(
            [rule.start for rule in self.rules],
            [numbers[id(rule)] for rule in self.rules],
            list(range(len(self.rules)) if streams is None else streams),
            max_tokens=[max_tokens if plan else None for plan in self.plans],
        )
        self.rows = self._on_host.on(device)
        self._places: Tensor | None = None  # The places of their stored masks, then.

    def draw(self, logits: Tensor) -> Tensor:
        """Draw one token for each row and advance its state, without waiting for the device.

        Args:
            logits: float[B, W]; not changed.

        Returns:
            int64[B]; -1 in a row where nothing could be drawn, EOS in rows that have ended.
        """
        if self.masks.device.type == "cpu" and self._places is None:
            return host_step(self.masks, self.sampler, logits, self.rows, self.seed)
        masked = self._masked(logits)
        tokens, _ = chosen(self.masks, self.sampler, masked, self.rows, self.seed)
        self._advance(tokens)
        return tokens

    def draw_scored(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Draw as `draw` does, and return the log-probabilities of the drawn tokens too.

        Args:
            logits: float[B, W]; not changed.

        Returns:
            The tokens, and float64[B] twice: their natural log-probabilities under the model, and
            under mask and sampler (a greedy sampler counts as the mask alone, as in a trace).
        """
        masked = self._masked(logits)
        if self.masks.device.type == "cpu" and self._places is None:
            scores = masked if self.sampler.greedy else self.sampler.filtered(masked)
            tokens = self.draw(logits)
        else:
            tokens, scores = chosen(self.masks, self.sampler, masked, self.rows, self.seed)
            self._advance(tokens)
        at = tokens.clamp(min=0)[:, None]
        return tokens, _scores(logits, at), _scores(scores, at)

    def _masked(self, logits: Tensor) -> Tensor:
        """New logits, masked."""
        rows, logits = self.rows, logits.clone()
        if self._places is not None:
            return mask_on_device_(logits, self.masks.stored.words(self._places))
        return self.masks.mask_(
            logits, rows.states, rows.constraint, rows.remaining, step=rows.positions
        )

    def _advance(self, tokens: Tensor) -> None:
        """Advance the states by drawn tokens, unless `follow` does."""
        rows = self.rows
        if self._places is None:
            after = self.masks.advance(rows.states, tokens, rows.constraint, step=rows.positions)
            move_on(rows, after)

    def look_up(self) -> None:
        """Ask the machines on the host for the masks of the next draw, and send those that are new.

        From the first call on, which comes before the first draw, a draw needs nothing of the host,
        and `follow` advances the states.
        """
        rows = self._on_host
        packed = self.masks.packed_rows(
            rows.states, rows.constraint, rows.remaining, step=rows.positions
        )
        places = self.masks.stored.places(packed)
        if self._places is None:
            self._places = torch.zeros_like(places)
        self._places.copy_(places)

    def follow(self, tokens: Tensor) -> bool:
        """Advance the states by drawn tokens, on the host; return whether all texts have ended.

        Args:
            tokens: int64[B] in the host's memory.
        """
        rows, there = self._on_host, self.rows
        move_on(rows, self.masks.advance(rows.states, tokens, rows.constraint, step=rows.positions))
        numbers = torch.stack([rows.states, rows.positions, rows.remaining])
        for one, values in zip(
            (there.states, there.positions, there.remaining),
            sent(numbers, self.masks.device),
            strict=True,
        ):
            one.copy_(values)
        return all(state < 0 and state != FREE for state in ints(rows.states))


def _scores(logits: Tensor, at: Tensor) -> Tensor:
    """The log-probability of one token of each row, float64[B]."""
    if logits.device.type != "cpu":
        # Nothing as wide as the logits is made in double precision; the sum is.
        highest = logits.amax(-1, keepdim=True)
        total = (logits - highest).exp().sum(-1, dtype=torch.float64).log()
        return (logits.gather(-1, at) - highest)[:, 0].double() - total
    scores = [
        logits[part].double().log_softmax(-1).gather(-1, at[part])[:, 0]
        for part in row_parts(logits)
    ]
    return torch.cat(scores)


def checked_streams(streams: object) -> list[int] | None:
    """The streams of random numbers that a user gave; ``None`` for the default.

    Raises:
        ExplorerError: They are not a list of stream numbers.
    """
    if streams is None:
        return None
    return [
        whole_number("a stream", stream, 0, LAST_STREAM)
        for stream in listed("streams", streams, "a list of whole numbers, one for each row")
    ]


def for_each(constraints: T | Sequence[T], count: int) -> list[T]:
    """The constraint of each row, from a list or from one for all.

    Raises:
        ExplorerError: The list has another length.
    """
    # A string is a sequence too; as a constraint it is refused with a reason, by `Rule`.
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        return [cast("T", constraints)] * count
    each = cast(
        "list[T]",
        listed("constraints", cast("object", constraints), "a constraint, or a list of them"),
    )
    if len(each) != count:
        raise ExplorerError(
            f"{len(each)} constraints for {count} rows.",
            remedy="Give one for each row, or one for all.",
            evidence={"constraints": len(each), "rows": count},
        )
    return each
