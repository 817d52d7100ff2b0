"""The kernels against the reference, on any device; see `test_fused`.

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
from explorer.decoding.sampling import fused, reference
from explorer.decoding.sampling.reference import Rows
from explorer.decoding.sampling.sampler import Sampler, uniforms
from explorer.errors import ExplorerError
from explorer.tokens.masks import kernels
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.masks.packed import masked_reference
from explorer.tokens.words import DEAD, DONE, FREE, pack

TOKENS = [bytes([c]) for c in range(97, 123)] + [b"foo", b"oo", b"food", b"ab", b"ba", None]
SAMPLERS = [
    Sampler(),
    Sampler(0.0),
    Sampler(0.7),
    Sampler(top_k=1),
    Sampler(1.3, top_k=3),
    Sampler(top_k=40),
    Sampler(top_p=0.5),
    Sampler(0.5, top_p=0.93),
    Sampler(min_p=0.2),
    Sampler(min_p=1.0),
    Sampler(1.7, top_k=5, top_p=0.8, min_p=0.1),
    Sampler(1e-46),
    Sampler(1e308),
    Sampler(top_p=1e-320),
]


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


def copy(rows: Rows) -> Rows:
    return Rows(**{name: value.clone() for name, value in vars(rows).items()})


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


def close_call(
    masks: DeviceMasks, sampler: Sampler, logits: torch.Tensor, rows: Rows, b: int, token: int
) -> bool:
    """Whether the number drawn is so near to a boundary that rounding may choose another token."""
    one = slice(b, b + 1)
    masked = masks.mask_reference_(
        logits[one].clone(), rows.states[one], rows.constraint[one], rows.remaining[one]
    )
    masks.error.clear()
    cdf = sampler.filtered(masked)[0].double().exp().cumsum(0)
    u = uniforms(3, rows.streams[one], rows.positions[one])[0] * cdf[-1]
    return bool((cdf - u).abs().min() < 1e-5) and bool(masked[0, token] > -torch.inf)


def check_steps(device: str, dtype: torch.dtype, *, ties: bool, few: int | None = None) -> int:
    """Compare steps over all samplers; returns how many were too close to call.

    Args:
        device: Where.
        dtype: Of the logits.
        ties: Whether many logits are equal.
        few: How many rows to take for each sampler that searches; four times as many for others.
    """
    dfas = machines()
    close = drawn = 0
    for sampler in SAMPLERS:
        masks, twin = DeviceMasks(dfas, device=device), DeviceMasks(dfas, device=device)
        searches = bool(sampler.top_k or sampler.top_p)
        rows = some_rows(dfas, device, few and few * (1 if searches else 4))
        torch.manual_seed(11)
        logits = 3 * torch.randn(len(rows.states), 70, device=device)
        logits = (logits.round() if ties else logits).to(dtype)
        logits[5::40] = torch.nan
        logits[9::40, 7] = torch.inf
        logits[13::40] = -torch.inf
        logits[::4, 3] = -torch.inf
        before = copy(rows)
        other = copy(rows)
        tokens = fused.launch_step(masks, sampler, logits, rows, 3)
        expected = reference.reference_step(twin, sampler, logits.clone(), other, 3)
        for b, (ours, theirs) in enumerate(zip(tokens.tolist(), expected.tolist(), strict=True)):
            if ours != theirs:
                assert close_call(twin, sampler, logits, before, b, ours), (
                    sampler,
                    b,
                    ours,
                    theirs,
                )
                close += 1
                continue
            for name in ("states", "positions", "remaining"):
                assert getattr(rows, name)[b] == getattr(other, name)[b], (sampler, b, name)
        drawn += int((tokens >= 0).sum())
        for checked in (masks, twin):
            try:
                checked.check()
                assert (tokens >= 0).all() or (before.states[tokens < 0] == DEAD).all()
            except ExplorerError as error:
                assert error.evidence["fault"] in (1, 3, 4)
                assert tokens.tolist()[error.evidence["row"]] == -1  # pyright: ignore
    assert drawn
    return close


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
    fused.BLOCK = kernels.BLOCK = 32
    check_masks("cpu", 12 * few)
    check_that_the_checks_can_fail("cpu")
    check_words("cpu")
    close = check_steps("cpu", torch.float32, ties=False, few=few)
    close += check_steps("cpu", torch.bfloat16, ties=True, few=few)
    print(f"kernels equal the reference; {close} draws too close to call")
    assert close <= 2


if __name__ == "__main__":
    main(int(sys.argv[1]))
