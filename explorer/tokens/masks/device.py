"""The masks of one or many constraints, as tables on the device of the logits.

A language model's logits live on a device, and the next token is chosen there. A round trip to the
host per token would cost more than the mask, so the whole machine goes to the device: tables of
states × token classes, and one row of token classes per constraint. A batch mixes constraints
freely: each row of the batch has a constraint number and a state.

    logits ── mask_(logits, states) ──► draw ── advance(states, tokens) ──► states

Faults are written to an error word on the device (`explorer.tokens.masks.error_word`), which
`check` reads when the host waits anyway.

There are three implementations of the same mask, held equal by the tests:

- on a GPU with Triton, one launch that reads two bytes per id and writes only what is masked;
- on a CPU, the packed masks of visited states are kept and applied by a compiled loop
  (`explorer.tokens.masks.host_masks`);
- anywhere, plain torch, which is the reference and can be captured in a CUDA graph too.

A machine without a table (`explorer.tokens.machine`) has only the sentinels' rows in the tables. A
batch that contains one is read on the host at every step; its masks are sent packed, once for each
state (`explorer.tokens.masks.stored`).

Apart from that no shape here depends on data, and only `check` and the CPU implementation wait for
the device.

Memory (`DeviceMasks.nbytes`): 8 bytes for each state and token class, and 2 bytes for each id and
each distinct division of the ids into classes. A thousand machines that divide 131,072 ids in a
thousand ways take 262 MB for the latter; those that divide them alike share 262 kB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Final

import numpy as np
import torch
from torch import Tensor

from explorer.arguments import instance, listed, whole_number, wrong
from explorer.automata.machine import Bool
from explorer.errors import ExplorerError, VocabularyError
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.masks import error_word
from explorer.tokens.masks.error_word import ErrorWord, ints
from explorer.tokens.masks.host_masks import HostMasks
from explorer.tokens.masks.needed import UNLIMITED, needed_rows, no_table, target_rows
from explorer.tokens.masks.packed import (
    MINUS_INFINITY,
    mask_on_device_,
    mask_rows_,
    masked_reference,
    uploaded,
)
from explorer.tokens.masks.stored import StoredRows
from explorer.tokens.masks.tensors import (
    checked_device,
    checked_rows,
    checked_tensor,
    device_tables,
    misfit,
)
from explorer.tokens.words import DEAD, DEAD_CLASS, EOS_CLASS, FREE, UInt32
from explorer.vocabulary import Vocabulary

_COMPILE: Final = "Make it with explorer.compile(constraint, vocabulary)."


class DeviceMasks:
    """The token machines of a batch, on a device.

    Args:
        constraints: Token machines over one vocabulary. Row b of a batch follows one of them.
        device: The device of the logits.
        width: The width of the logits, to be checked; at least the vocabulary's.
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
        # The numbers of the machines without a table; `Free` has only sentinels.
        self._asked = frozenset(
            k
            for k, (machine, table) in enumerate(zip(self.constraints, tables, strict=True))
            if table is None and machine.constraint is not None
        )
        only_ends = np.full(len(self.vocabulary), DEAD_CLASS, np.uint16)
        only_ends[list(self.vocabulary.eos_ids)] = EOS_CLASS
        classes = [only_ends if t is None else np.asarray(t.token_class) for t in tables]
        rows = [
            (target_rows(table), needed_rows(table)) if table else no_table(_after_free(machine))
            for machine, table in zip(self.constraints, tables, strict=True)
        ]
        if not classes:
            rows, classes = [no_table()], [only_ends]
        self._needed = [needed for _, needed in rows]

        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for each in classes:
            allowed |= each != DEAD_CLASS
        if self._asked:
            allowed |= np.array([data is not None for data in self.vocabulary.tokens], np.bool_)
        used = np.flatnonzero(allowed)
        self.least_width = int(used[-1]) + 1 if len(used) else 1
        if width is not None and width < self.least_width:
            raise _too_narrow(width, self.least_width)
        self.width = width

        self.tables = device_tables(rows, classes, self.device)
        machines = self.constraints or (Free(self.vocabulary),)
        self._host = HostMasks(machines, self._asked, self._needed)
        self.stored = StoredRows(self.device)
        """The masks of machines without a table, as far as they were asked for on a device."""

    @property
    def nbytes(self) -> int:
        """Bytes on the device, for all machines together."""
        return self.tables.nbytes + self.stored.nbytes

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
            constraint: int64[B], the number of each row's constraint. Default: the only one, or
                the b-th for row b if there are as many constraints as rows.
            remaining: int64[B], the number of tokens that each row may still write, EOS included; a
                token is allowed only if the text can still be ended within it. Default: no limit.
            step: The number of this step for the error word, as an int or int64[] on the device.

        Returns:
            ``logits``.

        Raises:
            ExplorerError: A shape, dtype or device does not fit.
        """
        self.check_logits(logits, states)
        if remaining is not None:
            remaining = checked_rows("remaining", remaining, len(states))
        if self.asks_host or logits.device.type == "cpu":
            rows = self.packed_rows(states, constraint, remaining, step=step)
            if logits.device.type != "cpu":
                words = self.stored.words(self.stored.places(rows))
                return mask_on_device_(logits, words)
            mask_rows_(logits, rows)
            return logits
        constraint = self._constraint_of_rows(constraint, len(states))
        if self._has_kernels and logits.stride(1) == 1:
            from explorer.tokens.masks.kernels import launch_mask

            return launch_mask(
                self.tables, self.error.word, logits, states, constraint, remaining, step
            )
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
        """`mask_` in plain torch, on any device: the reference for the other implementations."""
        self.check_logits(logits, states)
        if self.asks_host:
            rows = self.packed_rows(states, constraint, remaining, step=step)
            return logits.copy_(masked_reference(logits, uploaded(rows, logits.device)))
        tables, given = self.tables, states
        constraint = self._constraint_of_rows(constraint, len(states))
        constraint, row, known = tables.locate(states, constraint)
        left = torch.full_like(row, UNLIMITED)
        if remaining is not None:
            left = remaining.to(torch.int64).clamp(0, UNLIMITED)
        stuck = tables.least[tables.row_start[constraint] + row] > left
        fault = torch.where(stuck, error_word.NOTHING_ALLOWED, 0)
        self.error.write(torch.where(known, fault, error_word.NO_SUCH_STATE), given, step)
        covered = min(logits.shape[1], tables.token_class.shape[1])
        classes = tables.token_class[tables.class_row[constraint], :covered]
        cells = tables.cells(constraint, row, classes)
        logits[:, :covered].masked_fill_(tables.needed[cells] > left[:, None], -torch.inf)
        logits[:, covered:].fill_(-torch.inf)
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
            tokens: int64[B], token ids; -1 where none could be drawn.
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
        if self.asks_host:
            following, faults = self._host.advance(ints(states), ints(constraint), ints(tokens))
            if any(faults):
                self.error.write(torch.tensor(faults, device=states.device), states, step)
            return torch.tensor(following, dtype=torch.int64, device=states.device)
        tables, given = self.tables, states
        constraint, row, known = tables.locate(states, constraint)
        in_range = (tokens >= 0) & (tokens < tables.token_class.shape[1])
        ids = torch.where(in_range, tokens, 0)
        class_ = tables.token_class[tables.class_row[constraint], ids]
        cell = tables.cells(constraint, row, class_)
        target = torch.where(in_range, tables.target[cell].to(torch.int64), DEAD)
        stuck = (target == DEAD) & (states != DEAD)
        fault = torch.where(stuck, error_word.TOKEN_NOT_ALLOWED, 0)
        fault = torch.where(stuck & (tokens == -1), error_word.NOTHING_TO_DRAW, fault)
        self.error.write(torch.where(known, fault, error_word.NO_SUCH_STATE), given, step)
        return target

    def check(self) -> None:
        """Raise the first fault that the device noted since the last check. Waits for the device.

        Raises:
            ExplorerError: The first fault, with its row, step and state.
        """
        self.error.check()

    def allowed(self, constraint: int, state: int, remaining: int | None = None) -> Bool:
        """The mask of one state on the host.

        Args:
            constraint: The number of the constraint.
            state: A state of it, or a sentinel.
            remaining: As in `mask_`, for one row.

        Returns:
            bool[len(vocabulary)], read-only.
        """
        return self._host.allowed(constraint, state, remaining)

    def packed_rows(
        self,
        states: Tensor,
        constraint: Tensor | None = None,
        remaining: Tensor | None = None,
        *,
        step: int | Tensor = 0,
    ) -> list[UInt32]:
        """The packed mask of each row, in the host's memory; faults are noted in the error word.

        Args:
            states, constraint, remaining, step: As for `mask_`.

        Raises:
            ExplorerError: An argument has the wrong type or shape.
        """
        batch = checked_tensor("states", states, "a tensor, int64[B]").numel()
        states = checked_rows("states", states, batch)
        whiches = [0] * len(states)
        if constraint is not None or len(self._needed) > 1:
            whiches = ints(self._constraint_of_rows(constraint, len(states)))
        if remaining is not None:
            remaining = checked_rows("remaining", remaining, len(states))
        rows, faults = self._host.rows(ints(states), whiches, remaining)
        if any(faults):
            self.error.write(torch.tensor(faults, device=states.device), states, step)
        return rows

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
        """Raise if a batch has the wrong shape, dtype, device or width. Does not wait.

        Args:
            logits: As in `mask_`.
            states: As in `mask_`.
        """
        checked_tensor("logits", logits, "a tensor, float[B, W]")
        checked_tensor("states", states, "a tensor, int64[B]")
        if logits.dtype not in MINUS_INFINITY:
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

    @cached_property
    def _has_kernels(self) -> bool:
        return self.device.type == "cuda" and find_spec("triton") is not None


def _machine(name: str, value: object) -> TokenMachine:
    """A token machine, checked.

    Raises:
        ExplorerError: The value is not one.
    """
    if not isinstance(value, TokenMachine):
        raise wrong(name, value, "a token machine", remedy=_COMPILE)
    return value


def _after_free(machine: TokenMachine) -> int:
    """The state after the end of the text from `FREE` in a machine."""
    ends = machine.vocabulary.eos_ids
    target = machine.step(FREE, ends[0]) if ends else FREE
    return FREE if target is None else target


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
