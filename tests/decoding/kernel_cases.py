"""The kernels against the reference, on any device; see `test_kernels`.

Run as a program it uses the CPU, where Triton interprets kernels if ``TRITON_INTERPRET=1`` was set
before it was first imported; that is why this is a process of its own.
"""

from __future__ import annotations

import itertools
import random
import sys

import numpy as np
import torch

import explorer
from explorer.decoding.sampling.reference import Rows
from explorer.tokens.masks import kernels
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.masks.packed import masked_reference
from explorer.tokens.words import DEAD, DONE, FREE, pack

TOKENS = [bytes([c]) for c in range(97, 123)] + [b"foo", b"oo", b"food", b"ab", b"ba", None]


def machines() -> list[explorer.TokenDFA]:
    vocabulary = explorer.Vocabulary.from_bytes([*TOKENS, None, None], eos_ids=[31, 33])
    patterns = (r"(foo)+d", r"[a-z]{2,5}", r"(ab|ba)*c?")
    return [explorer.compile(explorer.regex(pattern), vocabulary) for pattern in patterns]


def some_rows(dfas: list[explorer.TokenDFA], device: str, count: int | None = None) -> Rows:
    """Every state and sentinel, some numbers that are neither, with and without a budget.

    Or a sample of them: a kernel that is interpreted takes up to a second per row.
    """
    chosen = [
        (k, state, budget)
        for k, dfa in enumerate(dfas)
        for state in [*range(dfa.num_states), DONE, FREE, DEAD, 99, -7]
        for budget in (UNLIMITED, 2, 1, 0)
    ]
    if count is not None:
        chosen = random.Random(count).sample(chosen, min(count, len(chosen)))
    which, states, budgets = (list(column) for column in zip(*chosen, strict=True))
    rows = Rows.start(states, which, list(range(len(states))), device=device)
    rows.remaining.copy_(torch.tensor(budgets))
    rows.positions.copy_(torch.arange(len(states)) * 977 + 2**33)
    return rows


def check_masks(device: str, count: int | None = None) -> None:
    dfas = machines()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        masks = DeviceMasks(dfas, device=device)
        rows = some_rows(dfas, device, count)
        logits = torch.randn(len(rows.states), 70, device=device).to(dtype)
        for remaining, step in itertools.product(
            (None, rows.remaining), (5, torch.tensor(6, device=device))
        ):
            ours = kernels.launch_mask(
                masks.tables, masks.error.word, logits.clone(), rows.states, rows.constraint,
                remaining, step,
            )  # fmt: skip
            theirs = DeviceMasks(dfas, device=device)
            expected = theirs.mask_reference_(
                logits.clone(), rows.states, rows.constraint, remaining, step=int(step)
            )
            assert torch.equal(ours, expected)
            # The first fault of a launch may be any row's, so it need only be a right one.
            fault, row, at, state = masks.error.word.tolist()
            assert fault in (1, 3) and at == int(step) and state == rows.states[row]
            assert (ours[row] == -torch.inf).all()
            masks.error.clear()


def check_words(device: str, few: int = 6) -> None:
    """The kernel of packed words, against plain torch."""
    draw = np.random.default_rng(5)
    for width, tokens in ((70, 40), (70, 70), (40, 70), (33, 33)):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            masks = draw.random((few, tokens)) < draw.choice([0.0, 0.1, 0.9, 1.0], (few, 1))
            packed = np.array([pack(mask) for mask in masks]).view(np.int32)
            words = torch.from_numpy(packed).to(device)
            logits = torch.randn(few, width, device=device).to(dtype)
            ours = kernels.launch_words(logits.clone(), words)
            assert torch.equal(ours, masked_reference(logits, words))
            words[0, 0] ^= 1
            assert not torch.equal(ours, masked_reference(logits, words))


def check_that_the_checks_can_fail(device: str) -> None:
    """One cell of one table changed: the masks must be told apart."""
    untouched = DeviceMasks.__init__

    def tampered(self: DeviceMasks, *given: object, **named: object) -> None:
        untouched(self, *given, **named)  # pyright: ignore
        made.append(self)
        if len(made) == 1:
            tables = self.tables
            tables.needed[tables.cell_start[1] + 3 * tables.num_classes[1] + 1] = 1

    made: list[DeviceMasks] = []
    DeviceMasks.__init__ = tampered  # pyright: ignore
    try:
        check_masks(device)
    except AssertionError:
        return
    finally:
        DeviceMasks.__init__ = untouched
    raise SystemExit("the comparison does not notice a wrong table")


def main(few: int) -> None:
    # Several blocks a row, the last one not full.
    kernels.BLOCK = 32
    check_masks("cpu", 12 * few)
    check_that_the_checks_can_fail("cpu")
    check_words("cpu")
    print("kernels equal the reference")


if __name__ == "__main__":
    main(int(sys.argv[1]))
