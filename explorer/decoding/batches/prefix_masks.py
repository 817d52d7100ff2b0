"""Masks computed from the ids of a row, whatever another library does with its rows.

A decoding library may rearrange its rows between two steps. Beam search replaces one row's text by
another's, assisted decoding asks about several positions ahead and then goes back, a batch pads
texts that have ended. So the state is computed from the ids and not stored per row: the tokens
since the prompt are walked through the machine, and visited prefixes are kept in a tree that all
rows share.

If the ids are those of the last call plus one token in each row, as in plain decoding, each row
continues from its last prefix. Otherwise they are walked from the prompt, one look-up per token.

Masks stay packed until they are applied to the scores: on the host in one compiled pass over a row,
on a device as 16 kB per row at 131,072 tokens. A step of plain decoding then costs 40 µs per row on
the host, about as much as writing its scores; each distinct prefix takes about 300 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor

from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.tokens.masks.packed import IMPOSSIBLE, Results, masked_on_device, masked_rows
from explorer.tokens.words import DEAD, DONE, FREE, UInt32, ids


@dataclass(eq=False, slots=True)
class _Prefix:
    """A node in the tree of prefixes, with the state after its ids; `DEAD` if not allowed."""

    state: int
    longer: dict[int, _Prefix] = field(default_factory=lambda: dict[int, _Prefix]())


class PrefixMasks:
    """The masks of rows, computed from their ids.

    Args:
        prompts: int64[R, P], the prompt of each row. R is a multiple of the number of texts: the
            beams or returned sequences of a text are adjacent.
        max_tokens: The token budget of each text, EOS included; ``None`` for no limit.
    """

    def __init__(self, rules: Sequence[Rule], prompts: Tensor, max_tokens: int | None) -> None:
        self._rules = list(rules)
        self._rule_of_row: list[Rule] = []
        self._prompts = prompts.clone()
        self._max_tokens = max_tokens
        self._starts = {id(rule): _Prefix(rule.start) for rule in rules}
        self._before: Tensor | None = None
        self._places: list[_Prefix] = []
        self._results = Results()

    def mask(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores with -inf for tokens that are not allowed.

        Args:
            input_ids: int64[R, P + T], the prompt and the tokens since.
            scores: float[R, W]; not changed.

        Returns:
            float[R, W]. In a row that has ended, or that holds a token that is not allowed (left
            there by a beam without continuation or by another processor), only the end of text
            remains, with score 0.

        Raises:
            ExplorerError: The ids do not begin with the prompts, or the scores hold NaN or +inf,
                exclude every allowed token, or are too narrow.
        """
        position = input_ids.shape[1] - self._prompts.shape[1]
        rules = self._rules_of(input_ids.shape[0])
        rows: list[UInt32] = []
        over: list[int] = []
        for row, (rule, place) in enumerate(
            zip(rules, self._walked(input_ids, rules), strict=True)
        ):
            if place.state in (DONE, DEAD):
                over.append(row)
                rows.append(rule.words(DEAD, None))
            else:
                rows.append(self._words(rule, place.state, position, scores.shape[1]))
        if scores.device.type == "cpu" and not scores.requires_grad:
            masked, faults = masked_rows(scores, rows, self._results)
        else:
            masked, faults = masked_on_device(scores, rows)
        for row in over:
            eos_ids = rules[row].vocabulary.eos_ids
            ends = [token for token in eos_ids if token < scores.shape[1]]
            masked[row, ends] = 0.0
            faults[row] = 0 if ends else IMPOSSIBLE
        if any(faults):
            raise _fault(faults, position)
        return masked

    def _rules_of(self, count: int) -> list[Rule]:
        """The rule of each row."""
        if len(self._rule_of_row) != count:
            texts = len(self._rules)
            self._rule_of_row = [self._rules[row * texts // count] for row in range(count)]
        return self._rule_of_row

    def _walked(self, input_ids: Tensor, rules: Sequence[Rule]) -> list[_Prefix]:
        """The tree node of each row's ids."""
        before = self._before
        if (
            before is not None
            and input_ids.shape == (before.shape[0], before.shape[1] + 1)
            and torch.equal(input_ids[:, :-1], before)
        ):
            added = cast("list[int]", input_ids[:, -1].tolist())  # pyright: ignore[reportUnknownMemberType]
            places = [
                self._after(rule, place, token)
                for rule, place, token in zip(rules, self._places, added, strict=True)
            ]
        else:
            places = self._from_the_prompt(input_ids, rules)
        self._before, self._places = input_ids.clone(), places
        return places

    def _from_the_prompt(self, input_ids: Tensor, rules: Sequence[Rule]) -> list[_Prefix]:
        prompts = self._prompts
        length = prompts.shape[1]
        if not torch.equal(input_ids[:, :length], prompts):
            raise ExplorerError(
                f"The ids, of the shape {list(input_ids.shape)}, do not begin with the prompts of "
                f"the first call, {list(prompts.shape)}: this is another run.",
                remedy="Make a new processor for each call of model.generate.",
                evidence={"shape": list(input_ids.shape)},
            )
        written = cast("list[list[int]]", input_ids[:, length:].tolist())  # pyright: ignore[reportUnknownMemberType]
        places: list[_Prefix] = []
        for rule, tokens in zip(rules, written, strict=True):
            place = self._starts[id(rule)]
            for token in tokens:
                if place.state in (DONE, DEAD):
                    break
                place = self._after(rule, place, token)
            places.append(place)
        return places

    @staticmethod
    def _after(rule: Rule, place: _Prefix, token: int) -> _Prefix:
        if place.state in (DONE, DEAD):  # Padding, or a lost row: the state is final.
            return place
        longer = place.longer.get(token)
        if longer is None:
            following = rule.step(place.state, token)
            longer = place.longer[token] = _Prefix(DEAD if following is None else following)
        return longer

    def _words(self, rule: Rule, state: int, position: int, width: int) -> UInt32:
        # Free text needs no budget for an end. Any other text ends in time, so a row that continues
        # has tokens left.
        limited = self._max_tokens is not None and state != FREE
        words = rule.words(state, (self._max_tokens or 0) - position if limited else None)
        if width < len(rule.vocabulary):
            last = int(ids(words)[-1]) if words.any() else 0
            if last >= width:
                raise ExplorerError(
                    f"The scores have {width:,} columns, and the constraint allows token {last}.",
                    remedy="Check that the tokenizer is the model's; compile with "
                    "vocabulary.with_width(W).",
                    evidence={"width": width, "token": last},
                )
        return words


def _fault(faults: Sequence[int], position: int) -> ExplorerError:
    row = next(row for row, fault in enumerate(faults) if fault)
    what = (
        "every token that is allowed has a score of -inf"
        if faults[row] == IMPOSSIBLE
        else "the scores hold NaN or infinity"
    )
    return ExplorerError(
        f"Row {row} at step {position}: {what}.",
        remedy="Check the model's weights and dtype, and other processors that forbid tokens.",
        evidence={"row": row, "step": position},
    )
