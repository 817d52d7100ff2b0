"""The masks of one or many constraints, as tables beside the logits.

A language model's logits live on a device, and so does the choice among them. Going through the
host once per token would cost more than the mask, so the whole machine goes to the device: tables
of states × token classes, and one row of token classes per constraint. A batch mixes constraints
freely: each row of the batch has a constraint number and a state.

    logits ── mask_(logits, states) ──► draw ── advance(states, tokens) ──► states

Every (state, class) has one number, the tokens that this choice *needs* up to the end of the text
(`explorer.tokens.needed`), so the mask and the token budget are one comparison. The sentinels
`FREE`, `DONE` and `DEAD` have rows of their own in every table, in front of the states; a state is
shifted before it indexes anything, and one that is out of range becomes `DEAD`. No number can
reach another constraint's rows. What goes wrong is written to an error word on the device
(`explorer.tokens.error_word`), which `check` reads when the host waits anyway.

There are three ways to the same mask, held equal by the tests:

- on a GPU with Triton, one launch that reads two bytes per id and writes only what is masked;
- on a CPU, the rows of visited states are kept as bits of a Boolean row and blended into the logits
  by a compiled loop: 9 µs for 131,072 float32 logits, 20 µs on the first visit of a state;
- anywhere, plain torch, which is the reference and can be captured in a CUDA graph too.

A machine without a table (`explorer.tokens.machine`) has only the sentinels' rows in the tables;
the masks of its states are worked out by the host when they are first met and kept packed on the
device (`explorer.tokens.visited`). A batch in which one takes part reads its states and tokens on
the host at every step.

Apart from that nothing here has shapes that depend on data, and nothing but `check` and the CPU
path waits for the device. A table takes 8 bytes per state and class; the classes 2 bytes per id and
constraint.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.arguments import instance, listed, whole_number, wrong
from explorer.automata.machine import Bool, Int32
from explorer.errors import ExplorerError, VocabularyError
from explorer.jit import jit
from explorer.tokens import error_word
from explorer.tokens.error_word import ErrorWord, ints
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.needed import (
    FIRST_STATE,
    UNLIMITED,
    least_needed,
    needed_rows,
    no_table,
    target_rows,
)
from explorer.tokens.states import DEAD, DEAD_CLASS, EOS_CLASS, FREE
from explorer.tokens.tensors import checked_device, checked_rows, checked_tensor, misfit
from explorer.tokens.visited import Place, VisitedMasks
from explorer.vocabulary import Vocabulary

DEAD_ROW: Final = DEAD + FIRST_STATE
"""The row of `DEAD` in every constraint's tables."""

_COMPILE: Final = "Make it with explorer.compile(constraint, vocabulary)."

_ROW_BYTES_KEPT: Final = 64_000_000

# -inf as bits, and the integers through which a CPU row is read; the sign bit, then all of the
# exponent. Blending bits needs no arithmetic on 16-bit floats and works on every type alike.
_MINUS_INFINITY: Final = {
    torch.float64: (torch.int64, np.int64(-(2**52))),
    torch.float32: (torch.int32, np.int32(-(2**23))),
    torch.bfloat16: (torch.int16, np.int16(-(2**7))),
    torch.float16: (torch.int16, np.int16(-(2**10))),
}


_NO_BUDGET: Final = UNLIMITED // 2
"""A row without a budget counts down from `UNLIMITED`; no generation gets this far."""

AnyInt = np.signedinteger[Any]


@jit
def _blend(bits: NDArray[AnyInt], keep: Bool, masked: AnyInt) -> None:
    """Write -inf where a token is not kept, and past the mask."""
    width = min(bits.shape[0], keep.shape[0])
    for k in range(width):
        bits[k] = bits[k] if keep[k] else masked
    for k in range(width, bits.shape[0]):
        bits[k] = masked


@jit
def _gather(row: Bool, classes: NDArray[np.integer[Any]]) -> Bool:
    """A row over classes as a row over ids; numpy would widen the ids' classes first."""
    result = np.empty(classes.shape[0], np.bool_)
    for k in range(classes.shape[0]):
        result[k] = row[classes[k]]
    return result


class DeviceMasks:
    """The token machines of a batch, on a device.

    Args:
        constraints: Token machines over one vocabulary. Row b of a batch follows one of them.
        device: Where the logits are.
        width: The width of the logits, if it is to be checked; at least the vocabulary's.
        vocabulary: Needed only for a batch without any constraint (every row `FREE`).

    Raises:
        VocabularyError: The machines were compiled for different vocabularies, or none is known.
        ExplorerError: The width does not cover the vocabulary's text.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> masks = DeviceMasks([explorer.compile(explorer.regex(p), vocab) for p in ("ab", "b+")])
        >>> states = torch.zeros(2, dtype=torch.int64)
        >>> masks.mask_(torch.zeros(2, 5), states)
        tensor([[0., -inf, 0., -inf, -inf],
                [-inf, 0., -inf, -inf, -inf]])
        >>> masks.advance(states, torch.tensor([2, 1])).tolist()
        [2, 1]
    """

    def __init__(
        self,
        constraints: Sequence[TokenMachine],
        *,
        device: str | torch.device = "cpu",
        width: int | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        given = listed("constraints", constraints, "a list of token machines")
        self.constraints = tuple(_machine(f"constraints[{k}]", one) for k, one in enumerate(given))
        if vocabulary is not None:
            vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        if width is not None:
            width = whole_number("width", width, 1)
        self.vocabulary = _one_vocabulary(self.constraints, vocabulary)
        self.device = checked_device(device)
        self.error = ErrorWord(self.device)

        tables = [table_of(machine) for machine in self.constraints]
        # The numbers of the machines that are asked state by state; `Free` has only sentinels.
        self._asked = frozenset(
            k
            for k, (machine, table) in enumerate(zip(self.constraints, tables, strict=True))
            if table is None and machine.constraint is not None
        )
        self._visited = VisitedMasks(self.constraints, len(self.vocabulary), self.device)
        only_ends = np.full(len(self.vocabulary), DEAD_CLASS, np.uint16)
        only_ends[list(self.vocabulary.eos_ids)] = EOS_CLASS
        classes = [only_ends if t is None else np.asarray(t.token_class) for t in tables]
        rows = [
            (target_rows(table), needed_rows(table)) if table else no_table(_after_free(machine))
            for machine, table in zip(self.constraints, tables, strict=True)
        ]
        if not classes:
            rows, classes = [no_table()], [only_ends]
        self._targets = [targets for targets, _ in rows]
        self._needed = [needed for _, needed in rows]
        self._classes = classes

        stacked = np.stack(classes)
        # Two bytes per id where they suffice. Not torch's uint16, which lacks most operations.
        narrow = max(needed.shape[1] for needed in self._needed) <= 2**15
        allowed = (stacked != DEAD_CLASS).any(axis=0)
        if self._asked:
            allowed |= np.array([data is not None for data in self.vocabulary.tokens], np.bool_)
        used = np.flatnonzero(allowed)
        self.least_width = int(used[-1]) + 1 if len(used) else 1
        if width is not None and width < self.least_width:
            raise _too_narrow(width, self.least_width)
        self.width = width

        num_rows = [len(needed) for needed in self._needed]
        self.token_class = self._put(stacked.astype(np.int16 if narrow else np.int32))
        self.target = self._put(np.concatenate([t.ravel() for t in self._targets]))
        self.needed = self._put(np.concatenate([n.ravel() for n in self._needed]))
        self.least = self._put(np.concatenate([least_needed(n) for n in self._needed]))
        self.cell_start = self._put(_starts([needed.size for needed in self._needed]))
        self.row_start = self._put(_starts(num_rows))
        self.num_rows = self._put(np.array(num_rows, np.int64))
        self.num_classes = self._put(np.array([n.shape[1] for n in self._needed], np.int64))
        self._kept_rows: OrderedDict[tuple[int, int, int], Bool] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        tables = (self.token_class, self.target, self.needed, self.least)
        return sum(table.numel() * table.element_size() for table in tables) + self._visited.nbytes

    @property
    def asks_host(self) -> bool:
        """Whether a machine without a table takes part, so that each step waits for the device."""
        return bool(self._asked)

    def mask_(
        self,
        logits: Tensor,
        states: Tensor,
        constraint: Tensor | None = None,
        remaining: Tensor | None = None,
        *,
        step: int | Tensor = 0,
    ) -> Tensor:
        """Write -inf, in place, where a token is not allowed.

        Args:
            logits: float16, bfloat16, float32 or float64[B, W] on the device; W may exceed the
                vocabulary, and everything past it is masked.
            states: int64[B], states of each row's constraint, or sentinels.
            constraint: int64[B], which constraint each row follows. Default: the only one, or
                row b the b-th where there are as many as rows.
            remaining: int64[B], how many tokens each row may still write, EOS included; a token
                is allowed only if the text can still be ended within it. Default: no limit.
            step: What the error word calls this step: a number, or int64[] on the device.

        Returns:
            ``logits``.

        Raises:
            ExplorerError: A shape, dtype or device does not fit.
        """
        self.check_logits(logits, states)
        if remaining is not None:
            remaining = checked_rows("remaining", remaining, len(states))
        if logits.device.type == "cpu":
            return self._mask_rows_(logits, states, constraint, remaining, step)
        constraint = self._constraint_of_rows(constraint, len(states))
        if self._has_kernels and logits.stride(1) == 1 and not self._asked:
            from explorer.tokens.mask_kernel import launch

            return launch(self, logits, states, constraint, remaining, step)
        return self.mask_reference_(logits, states, constraint, remaining, step=step)

    def mask_reference_(
        self,
        logits: Tensor,
        states: Tensor,
        constraint: Tensor | None = None,
        remaining: Tensor | None = None,
        *,
        step: int | Tensor = 0,
    ) -> Tensor:
        """`mask_` in plain torch, on any device: what the other ways are held equal to."""
        self.check_logits(logits, states)
        constraint = self._constraint_of_rows(constraint, len(states))
        given = states
        states, asked, places = self._ask(states, constraint, remaining)
        constraint, row, known = self._locate(states, constraint)
        left = torch.full_like(row, UNLIMITED)
        if remaining is not None:
            left = remaining.to(torch.int64).clamp(0, UNLIMITED)
        fault = torch.where(
            self.least[self.row_start[constraint] + row] > left, error_word.NOTHING_ALLOWED, 0
        )
        fault = torch.where(known, fault, error_word.NO_SUCH_STATE)
        self.error.write(fault, given, step)
        covered = min(logits.shape[1], self.token_class.shape[1])
        first = self.cell_start[constraint] + row * self.num_classes[constraint]
        cells = first[:, None] + self.token_class[constraint, :covered].to(torch.int64)
        logits[:, :covered].masked_fill_(self.needed[cells] > left[:, None], -torch.inf)
        logits[:, covered:].fill_(-torch.inf)
        if asked:
            rows = torch.tensor(asked, device=self.device)
            keep = self._visited.allowed(places, covered)
            logits[rows, :covered] = logits[rows, :covered].masked_fill(~keep, -torch.inf)
        return logits

    def advance(
        self,
        states: Tensor,
        tokens: Tensor,
        constraint: Tensor | None = None,
        *,
        step: int | Tensor = 0,
    ) -> Tensor:
        """The states after one more token in each row.

        Args:
            states: int64[B].
            tokens: int64[B], token ids; -1 stands for "none could be drawn".
            constraint: As in `mask_`.
            step: As in `mask_`.

        Returns:
            int64[B]; `DEAD` where the token is not allowed, noted in the error word unless the
            row was dead already.

        Raises:
            ExplorerError: A shape does not fit.
        """
        batch = checked_tensor("states", states, "a tensor, int64[B]").numel()
        states = checked_rows("states", states, batch)
        tokens = checked_rows("tokens", tokens, batch)
        constraint = self._constraint_of_rows(constraint, batch)
        given = states
        states, asked, places = self._ask(states, constraint, None)
        constraint, row, known = self._locate(states, constraint)
        in_range = (tokens >= 0) & (tokens < self.token_class.shape[1])
        class_ = self.token_class[constraint, torch.where(in_range, tokens, 0)].to(torch.int64)
        first = self.cell_start[constraint] + row * self.num_classes[constraint]
        target = torch.where(in_range, self.target[first + class_].to(torch.int64), DEAD)
        if asked:
            taken = ints(tokens[torch.tensor(asked, device=self.device)])
            following = [
                self.constraints[which].step(state, token)
                for (which, state), token in zip(places, taken, strict=True)
            ]
            known_targets = [DEAD if state is None else state for state in following]
            target[torch.tensor(asked, device=self.device)] = torch.tensor(
                known_targets, dtype=torch.int64, device=self.device
            )
        stuck = (target == DEAD) & (states != DEAD)
        fault = torch.where(stuck, error_word.TOKEN_NOT_ALLOWED, 0)
        fault = torch.where(stuck & (tokens == -1), error_word.NOTHING_TO_DRAW, fault)
        self.error.write(torch.where(known, fault, error_word.NO_SUCH_STATE), given, step)
        return target

    def check(self) -> None:
        """Raise what the device noted since the last time. Waits for the device.

        Raises:
            ExplorerError: The first fault, with its row, step and state.
        """
        self.error.check()

    def allowed(self, constraint: int, state: int, remaining: int | None = None) -> Bool:
        """The mask of one state on the host, kept for visited states.

        Args:
            constraint: Which constraint.
            state: A state of it, or a sentinel.
            remaining: As in `mask_`, for one row.

        Returns:
            bool[len(vocabulary)], read-only.
        """
        constraint = whole_number("constraint", constraint, 0, len(self._needed) - 1)
        row = whole_number("state", state, -FIRST_STATE) + FIRST_STATE
        if row >= self._num_rows(constraint):
            raise ExplorerError(
                f"There is no state {state} in constraint {constraint}, which has "
                f"{self._num_rows(constraint) - FIRST_STATE}.",
                remedy="Take states from `advance`, or from the machine's `step`.",
                evidence={"state": state, "constraint": constraint},
            )
        if remaining is not None:
            remaining = whole_number("remaining", remaining, None)
        return self._row(constraint, row, remaining)

    def _row(self, constraint: int, row: int, remaining: int | None) -> Bool:
        """`allowed`, unchecked: this stands in the inner loop of the CPU's way."""
        budget = UNLIMITED if remaining is None else min(max(remaining, 0), UNLIMITED)
        if constraint in self._asked and row >= FIRST_STATE:
            _refuse_budget(budget)
            return self.constraints[constraint].allowed(row - FIRST_STATE)
        needed = self._needed[constraint][row]
        if budget >= self._most_needed[constraint][row]:
            # The budget removes nothing here, so the row is the same with any larger one.
            budget = UNLIMITED
        key = (constraint, row, budget)
        kept = self._kept_rows.get(key)
        if kept is None:
            if budget == UNLIMITED and self.constraints:
                kept = self.constraints[constraint].allowed(row - FIRST_STATE)
            else:
                kept = _gather(needed <= budget, self._classes[constraint])
                kept.setflags(write=False)
            while self._kept_rows and (len(self._kept_rows) + 1) * kept.nbytes > _ROW_BYTES_KEPT:
                self._kept_rows.popitem(last=False)
            self._kept_rows[key] = kept
        else:
            self._kept_rows.move_to_end(key)
        return kept

    def _mask_rows_(
        self,
        logits: Tensor,
        states: Tensor,
        constraint: Tensor | None,
        remaining: Tensor | None,
        step: int | Tensor,
    ) -> Tensor:
        """`mask_` on the CPU, row by row."""
        whiches = [0] * len(states)
        if constraint is not None or len(self._needed) > 1:
            whiches = ints(self._constraint_of_rows(constraint, len(states)))
        bits_type, masked = _MINUS_INFINITY[logits.dtype]
        bits = logits.detach().view(bits_type).numpy()
        budgets: list[int | None] = [None] * len(states)
        if remaining is not None:
            budgets = [*ints(remaining)]
        faults: list[int] = []
        for k, (state, which, budget) in enumerate(
            zip(ints(states), whiches, budgets, strict=True)
        ):
            known = 0 <= which < len(self._needed) and (
                0 <= state + FIRST_STATE < self._num_rows(which)
            )
            if known:
                keep = self._row(which, state + FIRST_STATE, budget)
            else:
                keep = self._row(0, DEAD_ROW, None)
            _blend(bits[k], keep, masked)
            in_table = known and not (which in self._asked and state >= 0)
            least = self._least[which][state + FIRST_STATE] if in_table else 0
            empty = least > (UNLIMITED if budget is None else max(budget, 0))
            faults.append(
                error_word.NO_SUCH_STATE if not known else error_word.NOTHING_ALLOWED * empty
            )
        if any(faults):
            self.error.write(torch.tensor(faults, dtype=torch.int64), states, step)
        return logits

    def _num_rows(self, constraint: int) -> int:
        """How many states and sentinels a constraint has by now."""
        if constraint in self._asked:
            return self.constraints[constraint].num_states + FIRST_STATE
        return len(self._needed[constraint])

    def _ask(
        self, states: Tensor, constraint: Tensor, remaining: Tensor | None
    ) -> tuple[Tensor, list[int], list[Place]]:
        """The rows that stand in a state of a machine without a table, and the other rows' states.

        Returns:
            The states, `FREE` in those rows; the numbers of those rows; each one's machine and
            state.
        """
        if not self._asked:
            return states, [], []
        rows: list[int] = []
        places: list[Place] = []
        for k, (which, state) in enumerate(zip(ints(constraint), ints(states), strict=True)):
            if which in self._asked and 0 <= state < self.constraints[which].num_states:
                rows.append(k)
                places.append((which, state))
        if remaining is not None:
            budgets = ints(remaining)
            for k in rows:
                _refuse_budget(budgets[k])
        states = states.clone()
        states[torch.tensor(rows, dtype=torch.int64, device=states.device)] = FREE
        return states, rows, places

    def _locate(self, states: Tensor, constraint: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Each row's constraint and table row, made safe, and whether they were."""
        known = (constraint >= 0) & (constraint < len(self._needed))
        constraint = torch.where(known, constraint, 0)
        row = states.to(torch.int64) + FIRST_STATE
        known = known & (row >= 0) & (row < self.num_rows[constraint])
        return constraint, torch.where(known, row, DEAD_ROW), known

    def _constraint_of_rows(self, constraint: Tensor | None, batch: int) -> Tensor:
        if constraint is not None:
            return checked_rows("constraint", constraint, batch)
        if len(self._needed) == 1:
            return torch.zeros(batch, dtype=torch.int64, device=self.device)
        if len(self._needed) == batch:
            return torch.arange(batch, device=self.device)
        raise ExplorerError(
            f"{len(self._needed)} constraints for {batch} rows: which row follows which?",
            remedy="Give `constraint`, int64[B].",
            evidence={"constraints": len(self._needed), "rows": batch},
        )

    def check_logits(self, logits: Tensor, states: Tensor) -> None:
        """Raise if a batch does not fit: shape, dtype, device or width. Does not wait.

        Args:
            logits: As for `mask_`.
            states: As for `mask_`.
        """
        checked_tensor("logits", logits, "a tensor, float[B, W]")
        checked_tensor("states", states, "a tensor, int64[B]")
        if logits.dtype not in _MINUS_INFINITY:
            raise ExplorerError(
                f"Logits of {logits.dtype} cannot be masked.",
                remedy="Give float16, bfloat16, float32 or float64.",
                evidence={"dtype": str(logits.dtype)},
            )
        if logits.dim() != 2:
            rows, columns = len(states), self.width or len(self.vocabulary)
            raise misfit("logits", list(logits.shape), [rows, columns])
        checked_rows("states", states, len(logits))
        if logits.device.type != self.device.type:
            raise ExplorerError(
                f"The logits are on {logits.device}, the masks on {self.device}.",
                remedy=f'Make the masks for that device: dfa.to("{logits.device}").',
                evidence={"logits": str(logits.device), "masks": str(self.device)},
            )
        if self.width is not None and logits.shape[1] != self.width:
            raise misfit("logits", list(logits.shape), [logits.shape[0], self.width])
        if logits.shape[1] < self.least_width:
            raise _too_narrow(logits.shape[1], self.least_width)

    def _put(self, array: NDArray[np.generic]) -> Tensor:
        host = torch.from_numpy(np.ascontiguousarray(array))  # pyright: ignore[reportUnknownMemberType]
        return host.to(self.device)

    @cached_property
    def _least(self) -> list[list[int]]:
        """`least` on the host."""
        return [least_needed(needed).tolist() for needed in self._needed]

    @cached_property
    def _most_needed(self) -> list[list[int]]:
        """For each constraint and row the budget from which on it removes nothing."""
        return [_most_needed(needed).tolist() for needed in self._needed]

    @cached_property
    def _has_kernels(self) -> bool:
        return self.device.type == "cuda" and find_spec("triton") is not None


def _most_needed(needed: Int32) -> Int32:
    """The largest finite entry of each row, 0 where there is none."""
    return np.where(needed <= UNLIMITED, needed, 0).max(axis=1)


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where each of several arrays begins once they are put together."""
    return np.cumsum([0, *sizes[:-1]], dtype=np.int64)


def _machine(name: str, value: object) -> TokenMachine:
    """A token machine.

    Raises:
        ExplorerError: It is something else.
    """
    if not isinstance(value, TokenMachine):
        raise wrong(name, value, "a token machine", remedy=_COMPILE)
    return value


def _after_free(machine: TokenMachine) -> int:
    """Where the end of the text leads from `FREE` in a machine."""
    ends = machine.vocabulary.eos_ids
    target = machine.step(FREE, ends[0]) if ends else FREE
    return FREE if target is None else target


def _refuse_budget(remaining: int) -> None:
    """Raise if a row of a machine without a table has a token budget.

    Raises:
        ExplorerError: The budget is one that could be reached.
    """
    if remaining < _NO_BUDGET:
        raise ExplorerError(
            f"remaining={remaining} takes part in the mask, which needs the fewest tokens to the "
            "end from every state. A machine without a table does not know them.",
            remedy="Compile the constraint with lazy=False, or give no budget.",
            evidence={"remaining": remaining},
        )


def _one_vocabulary(
    constraints: Sequence[TokenMachine], vocabulary: Vocabulary | None
) -> Vocabulary:
    known = [dfa.vocabulary for dfa in constraints] + ([] if vocabulary is None else [vocabulary])
    if not known:
        raise VocabularyError(
            "There are no constraints, so the vocabulary is not known.",
            remedy="Give `vocabulary`.",
        )
    for k, other in enumerate(known):
        if other is not known[0] and other != known[0]:
            raise VocabularyError(
                f"Constraint {k} was compiled for another vocabulary ({other!r}) than the first "
                f"({known[0]!r}).",
                remedy="One batch is drawn from one model: compile all for its vocabulary.",
                evidence={"constraint": k, "fingerprint": other.fingerprint},
            )
    return known[0]


def _too_narrow(width: int, needed: int) -> ExplorerError:
    return ExplorerError(
        f"The logits have {width:,} columns, but a constraint allows ids up to {needed - 1:,}.",
        remedy="Check that the tokenizer is the model's; compile with vocabulary.with_width(W).",
        evidence={"width": width, "least_width": needed},
    )
