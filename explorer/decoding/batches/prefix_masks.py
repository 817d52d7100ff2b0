"""The mask after any ids: the state of a row is found from the ids themselves.

A library that decodes may do anything with its rows between two steps. Beam search puts one row's
text in another's place, assisted decoding asks about several positions ahead and then goes back
behind them, a batch writes padding after a text that has ended. So nothing is remembered of *rows*:
the tokens since the prompt are walked through the machine, and what was walked is kept as a tree of
prefixes, which all rows share.

Cost: one look-up per token since the prompt, about 30 µs for a text of 1,000, and memory for each
distinct prefix, about 300 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch
from torch import Tensor

from explorer.automata.machine import Bool
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.tokens.states import DEAD, DONE, FREE


@dataclass(eq=False, slots=True)
class _Prefix:
    """A node in the tree of prefixes: the state after its ids, `DEAD` if they are not allowed."""

    state: int
    longer: dict[int, _Prefix] = field(default_factory=lambda: dict[int, _Prefix]())


class PrefixMasks:
    """The masks of rows, by what was written in them.

    Args:
        rules: The machine of each text of the batch.
        max_tokens: The token budget of each text, EOS included; ``None`` for none.
    """

    def __init__(self, rules: Sequence[Rule], max_tokens: int | None) -> None:
        self._rules = list(rules)
        self._max_tokens = max_tokens
        self._starts = {id(rule): _Prefix(rule.start) for rule in rules}

    def mask(self, written: Tensor, scores: Tensor) -> Tensor:
        """The scores with -inf where a token is not allowed.

        Args:
            written: int64[R, T], the tokens of each row since the prompt. R is a multiple of the
                number of texts: beams and returned sequences stand next to each other.
            scores: float[R, W]; left as they are.

        Returns:
            float[R, W]. In a row that has ended, or that holds a token that is not allowed, which
            only beams without a continuation and other processors put there, only the end of text
            is left, at 0.

        Raises:
            ExplorerError: The scores hold NaN or +inf, leave nothing that is allowed, or are too
                narrow.
        """
        allowed = np.zeros(scores.shape, np.bool_)
        over: list[bool] = []
        ids = cast("list[list[int]]", written.tolist())  # pyright: ignore[reportUnknownMemberType]
        for row, tokens in enumerate(ids):
            rule = self._rules[row * len(self._rules) // len(ids)]
            state = self._state(rule, tokens)
            over.append(state in (DONE, DEAD))
            if over[row]:
                ends = [token for token in rule.vocabulary.eos_ids if token < scores.shape[1]]
                allowed[row, ends] = True
            else:
                self._fill(allowed[row], rule, state, len(tokens))
        keep = torch.from_numpy(allowed).to(scores.device)  # pyright: ignore[reportUnknownMemberType]
        masked = scores.masked_fill(~keep, -torch.inf)
        ended = torch.tensor(over, device=scores.device)[:, None]
        masked = torch.where(ended & keep, torch.zeros_like(masked), masked)
        self._check(masked, len(ids[0]) if ids else 0)
        return masked

    def _state(self, rule: Rule, tokens: Sequence[int]) -> int:
        prefix = self._starts[id(rule)]
        for token in tokens:
            if prefix.state in (DONE, DEAD):  # Padding, or a lost row: nothing changes any more.
                break
            longer = prefix.longer.get(token)
            if longer is None:
                following = rule.step(prefix.state, token)
                longer = _Prefix(DEAD if following is None else following)
                prefix.longer[token] = longer
            prefix = longer
        return prefix.state

    def _fill(self, row: Bool, rule: Rule, state: int, position: int) -> None:
        # Free text has no end that would have to fit. Any other ends in time, so that a row that
        # goes on has tokens left.
        limited = self._max_tokens is not None and state != FREE
        remaining = (self._max_tokens or 0) - position if limited else None
        mask = rule.mask(state, remaining).allowed
        if mask[len(row) :].any():
            last = int(np.flatnonzero(mask)[-1])
            raise ExplorerError(
                f"The scores have {len(row):,} columns, and the constraint allows token {last}.",
                remedy="Check that the tokenizer is the model's; compile with "
                "vocabulary.with_width(W).",
                evidence={"width": len(row), "token": last},
            )
        row[: len(mask)] = mask[: len(row)]

    def _check(self, masked: Tensor, position: int) -> None:
        highest = masked.amax(-1)
        broken = (highest == -torch.inf) | (highest == torch.inf) | highest.isnan()
        if not broken.any():
            return
        row = int(broken.to(torch.int8).argmax())
        what = (
            "the scores hold NaN or infinity"
            if highest[row] != -torch.inf
            else "every token that is allowed has a score of -inf"
        )
        raise ExplorerError(
            f"Row {row} at step {position}: {what}.",
            remedy="Check the model's weights and dtype, and other processors that forbid tokens.",
            evidence={"row": row, "step": position},
        )
