"""The mask after any ids: the state of a row is found from the ids themselves.

A library that decodes may do anything with its rows between two steps. Beam search puts one row's
text in another's place, assisted decoding asks about several positions ahead and then goes back
behind them, a batch writes padding after a text that has ended. So a state is that of the ids, not
of a row: the tokens since the prompt are walked through the machine, and what was walked is kept as
a tree of prefixes, which all rows share.

Where the ids are those of the last call and one more in each row, as in plain decoding, each row
goes on from its own prefix. Otherwise they are walked from the prompt on, one look-up per token.

Masks stay packed until they meet the scores: on the host in one compiled pass over a row, on a
device as 16 kB a row at 131,072 tokens. A step of plain decoding there costs 40 µs a row on the
host, about what writing its scores takes; each distinct prefix takes about 300 bytes.
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
    """A node in the tree of prefixes: the state after its ids, `DEAD` if they are not allowed."""

    state: int
    longer: dict[int, _Prefix] = field(default_factory=lambda: dict[int, _Prefix]())


class PrefixMasks:
    """The masks of rows, by what was written in them.

    Args:
        prompts: int64[R, P], what the rows begin with. R is a multiple of the number of texts:
            beams and returned sequences stand next to each other.
        max_tokens: The token budget of each text, EOS included; ``None`` for none.
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
        """The scores with -inf where a token is not allowed.

        Args:
            input_ids: int64[R, P + T], the prompt and the tokens since.
            scores: float[R, W]; left as they are.

        Returns:
            float[R, W]. In a row that has ended, or that holds a token that is not allowed, which
            only beams without a continuation and other processors put there, only the end of text
            is left, at 0.

        Raises:
            ExplorerError: The ids do not begin with the prompts, or the scores hold NaN or +inf,
                leave nothing that is allowed, or are too narrow.
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
        """The prefix of each row."""
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
        if place.state in (DONE, DEAD):  # Padding, or a lost row: nothing changes any more.
            return place
        longer = place.longer.get(token)
        if longer is None:
            following = rule.step(place.state, token)
            longer = place.longer[token] = _Prefix(DEAD if following is None else following)
        return longer

    def _words(self, rule: Rule, state: int, position: int, width: int) -> UInt32:
        # Free text has no end that would have to fit. Any other ends in time, so that a row that
        # goes on has tokens left.
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
