"""Masks on a device against the automata they came from, for every state, sentinel and dtype."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import explorer
from explorer.errors import ExplorerError
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.token_dfa import TokenDFA
from explorer.tokens.words import DEAD, DONE, FREE

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
PATTERNS = [r"(foo)+d", r"a*d|b", r"[a-f]{2,5}", r"(ab|ba)*c?", r"fo+d?a"]
SENTINELS = (DEAD, DONE, FREE)
# Single letters, longer tokens, two tokens of the same bytes, two ids that are not text, two EOS.
TOKENS = [*(bytes([c]) for c in b"abcdefo"), b"foo", b"oo", b"food", b"ab", b"ba", b"ab", None]
VOCABULARY = explorer.Vocabulary.from_bytes([*TOKENS, None, None, None], eos_ids=[14, 16])
Row = tuple[int, int]


@pytest.fixture(scope="module")
def machines() -> list[TokenDFA]:
    return [explorer.compile(explorer.regex(pattern), VOCABULARY) for pattern in PATTERNS]


def on(device: str) -> str:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return device


def every_row(machines: list[TokenDFA]) -> list[Row]:
    """(constraint, state) of every state and sentinel of every machine."""
    return [
        (k, state)
        for k, dfa in enumerate(machines)
        for state in [*range(dfa.num_states), *SENTINELS]
    ]


def tensors(rows: list[Row], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    which, states = zip(*rows, strict=True)
    return torch.tensor(states, device=device), torch.tensor(which, device=device)


def allowed(logits: torch.Tensor) -> np.ndarray:
    return (logits > -torch.inf).cpu().numpy()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("extra", [0, 1, 40])
def test_a_mask_is_what_the_machine_allows(
    machines: list[TokenDFA], device: str, way: str, dtype: torch.dtype, extra: int
) -> None:
    masks = DeviceMasks(machines, device=on(device))
    rows = every_row(machines)
    states, which = tensors(rows, device)
    before = torch.randn(len(rows), len(VOCABULARY) + extra, device=device).to(dtype)
    after = getattr(masks, way)(before.clone(), states, which)
    for (k, state), row, old in zip(rows, after, before, strict=True):
        expected = np.concatenate([machines[k].allowed(state), np.zeros(extra, bool)])
        assert (allowed(row) == expected).all()
        assert torch.equal(row[expected], old[expected])


@pytest.mark.parametrize("device", DEVICES)
def test_an_advance_is_a_step_of_the_machine(machines: list[TokenDFA], device: str) -> None:
    masks = DeviceMasks(machines, device=on(device))
    rows = every_row(machines)
    states, which = tensors(rows, device)
    for token in [*range(-3, len(VOCABULARY) + 3), 2**40, -(2**40)]:
        after = masks.advance(states, torch.full_like(states, token), which).tolist()
        expected = [machines[k].step(state, token) for k, state in rows]
        assert after == [DEAD if state is None else state for state in expected]


def test_the_comparison_notices_a_wrong_mask(machines: list[TokenDFA]) -> None:
    """One cell of the tables changed: some state's mask must differ."""
    masks = DeviceMasks(machines)
    rows = every_row(machines)
    states, which = tensors(rows, "cpu")
    tables = masks.tables
    tables.needed[tables.cell_start[2] + 3 * tables.num_classes[2] + 1] = 1
    after = masks.mask_reference_(torch.zeros(len(rows), len(VOCABULARY)), states, which)
    expected = np.stack([machines[k].allowed(state) for k, state in rows])
    assert (allowed(after) != expected).sum() == len(VOCABULARY.eos_ids)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
@pytest.mark.parametrize(
    ("which", "state"), [(0, 10**6), (0, -4), (0, -(2**40)), (1, 5), (5, 0), (-1, 0), (2**40, 0)]
)
def test_a_number_out_of_range_reaches_no_other_row(
    machines: list[TokenDFA], device: str, way: str, which: int, state: int
) -> None:
    """State 5 exists in other machines, but not in the second."""
    assert machines[1].num_states <= 5 < max(dfa.num_states for dfa in machines)
    masks = DeviceMasks(machines, device=on(device))
    states, whiches = tensors([(0, 0), (which, state)], device)
    logits = getattr(masks, way)(torch.zeros(2, 20, device=device), states, whiches, step=7)
    assert (allowed(logits)[0, : len(VOCABULARY)] == machines[0].allowed(0)).all()
    assert not allowed(logits)[1].any()
    with pytest.raises(ExplorerError, match=r"Row 1 at step 7.*no such state") as raised:
        masks.check()
    assert raised.value.evidence["state"] == state
    masks.check()  # It is forgotten.
    token = torch.zeros(2, dtype=torch.int64, device=device)
    assert masks.advance(states, token, whiches).tolist()[1] == DEAD
    with pytest.raises(ExplorerError, match=r"Row 0 at step 0.*not allowed"):
        masks.check()


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_fault_is_kept(machines: list[TokenDFA], device: str) -> None:
    masks = DeviceMasks(machines[:1], device=on(device))
    states = torch.zeros(3, dtype=torch.int64, device=device)
    after = masks.advance(states, torch.tensor([5, 0, -1], device=device), step=4)
    assert after.tolist()[1:] == [DEAD, DEAD]
    frozen = masks.advance(after, torch.tensor([5, 5, 5], device=device), step=5)
    masks.mask_(torch.zeros(3, 20, device=device), frozen, step=6)
    with pytest.raises(ExplorerError) as raised:
        masks.check()
    assert dict(raised.value.evidence) == {"fault": 2, "row": 1, "step": 4, "state": 0}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
def test_a_dead_row_is_masked_and_named(machines: list[TokenDFA], device: str, way: str) -> None:
    masks = DeviceMasks(machines[:1], device=on(device))
    states = torch.tensor([0, DONE, FREE, DEAD], device=device)
    getattr(masks, way)(torch.zeros(4, 20, device=device), states, step=torch.tensor(9).to(device))
    with pytest.raises(ExplorerError, match="Row 3 at step 9, in state DEAD: no token is allowed"):
        masks.check()


# --- The token budget --------------------------------------------------------------------------


def endings(dfa: TokenDFA, longest: int) -> dict[int, set[int]]:
    """For each state, the exact numbers of tokens (EOS included) with which it can end, to a limit.

    By trying every token sequence's states, without `distance`.
    """
    ends: dict[int, set[int]] = {state: set() for state in range(dfa.num_states)}
    for length in range(1, longest + 1):
        for state in range(dfa.num_states):
            for token in range(len(VOCABULARY)):
                target = dfa.step(state, token)
                if target is None:
                    continue
                if (target == DONE and length == 1) or (target >= 0 and length - 1 in ends[target]):
                    ends[state].add(length)
    return ends


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
def test_a_budget_allows_exactly_what_can_still_end(
    machines: list[TokenDFA], device: str, way: str
) -> None:
    """A token is allowed with r left if and only if some way through it ends within r tokens."""
    masks = DeviceMasks(machines, device=on(device))
    for k, dfa in enumerate(machines):
        ends = endings(dfa, 9)
        for left, state in itertools.product(range(9), range(dfa.num_states)):
            states, which = tensors([(k, state)], device)
            logits = getattr(masks, way)(
                torch.zeros(1, 20, device=device), states, which, states * 0 + left
            )
            for token in range(len(VOCABULARY)):
                target = dfa.step(state, token)
                fits = target is not None and (
                    left >= 1 if target == DONE else min(ends[target], default=99) + 1 <= left
                )
                assert allowed(logits)[0, token] == fits
            assert masks.error.word[0].item() == (0 if allowed(logits).any() else 1)
            masks.error.clear()


# --- What does not fit -------------------------------------------------------------------------


def test_a_batch_without_constraints(machines: list[TokenDFA]) -> None:
    masks = DeviceMasks([], vocabulary=VOCABULARY)
    states = torch.tensor([FREE, DONE, DEAD])
    logits = masks.mask_(torch.zeros(3, 20), states)
    for row, state in zip(logits, states.tolist(), strict=True):
        assert (allowed(row)[: len(VOCABULARY)] == machines[0].allowed(state)).all()
    assert masks.advance(states[:2], torch.tensor([3, 14])).tolist() == [FREE, DONE]


def test_logits_narrower_than_unused_ids(machines: list[TokenDFA]) -> None:
    """`with_width` keeps ids that a model cannot give; they need no column."""
    narrow = explorer.compile(explorer.regex("a+"), VOCABULARY.with_width(15))
    masks = DeviceMasks([narrow])
    logits = masks.mask_(torch.zeros(1, 15), torch.tensor([0]))
    assert (allowed(logits)[0] == narrow.allowed(0)[:15]).all()
    with pytest.raises(ExplorerError, match="14 columns"):
        masks.mask_(torch.zeros(1, 14), torch.tensor([0]))
    with pytest.raises(ExplorerError, match="14 columns"):
        DeviceMasks([narrow], width=14)


@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
def test_logits_that_are_a_slice_or_want_gradients(machines: list[TokenDFA], way: str) -> None:
    """A model's last logits are a slice of all of them, and only the slice is masked."""
    masks = DeviceMasks(machines[:1])
    states = torch.zeros(2, dtype=torch.int64)
    expected = np.stack([machines[0].allowed(0)] * 2)
    every = torch.zeros(2, 3, len(VOCABULARY))
    getattr(masks, way)(every[:, -1], states)
    assert (allowed(every[:, -1]) == expected).all() and allowed(every[:, :-1]).all()
    columns = torch.zeros(len(VOCABULARY), 2).T
    assert (allowed(getattr(masks, way)(columns, states)) == expected).all()


def test_a_constraint_of_many_classes_keeps_them_apart() -> None:
    """More classes than sixteen bits hold: the classes are stored wider."""
    count = 2**15 + 50
    vocabulary = explorer.Vocabulary.from_bytes(
        [k.to_bytes(2, "big") for k in range(count)], eos_ids=[count]
    )
    dfa = explorer.compile(explorer.regex("a"), explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1]))
    classes = np.arange(count + 1, dtype=np.uint16)
    table = np.full((1, count + 1), DEAD, np.int32)
    table[0, 32_800] = 0
    table[0, 1] = DONE
    many = TokenDFA(
        constraint=dfa.constraint,
        vocabulary=vocabulary,
        table=table,
        token_class=classes,
        char_state=np.zeros(1, np.int32),
        accepting=np.ones(1, np.bool_),
        distance=np.ones(1, np.int32),
        stuck=np.zeros(0, np.int32),
        report=dfa.report,
    )
    masks = DeviceMasks([many])
    assert masks.tables.token_class.dtype == torch.int32
    for way in (masks.mask_, masks.mask_reference_):
        logits = way(torch.zeros(1, count + 1), torch.tensor([0]))
        assert np.flatnonzero(allowed(logits)[0]).tolist() == [1, 32_800]


@pytest.mark.gpu
def test_a_step_can_be_captured_in_a_graph(machines: list[TokenDFA]) -> None:
    device = on("cuda")
    masks = DeviceMasks(machines, device=device)
    rows = every_row(machines)
    states, which = tensors(rows, device)
    logits = torch.zeros(len(rows), 20, device=device)
    for way in (masks.mask_, masks.mask_reference_):
        way(logits, states, which)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits.zero_()
            way(logits, states, which)
            after = masks.advance(states, logits.argmax(-1), which)
        graph.replay()
        expected = np.stack([machines[k].allowed(state) for k, state in rows])
        assert (allowed(logits)[:, : len(VOCABULARY)] == expected).all()
        assert after.shape == states.shape


def test_machines_that_divide_the_ids_alike_share_the_division() -> None:
    """A thousand words of equal letters, and a thousand lazy machines, over one vocabulary."""
    words = [explorer.compile(explorer.regex(f"a{{{k}}}"), VOCABULARY) for k in range(2, 12)]
    masks = DeviceMasks(words * 100)
    rows = len({dfa.token_class.tobytes() for dfa in words})
    assert rows < 4 and masks.tables.token_class.shape == (rows, len(VOCABULARY))
    cells = 100 * sum((dfa.num_states + 3) * dfa.num_classes for dfa in words)
    states = 100 * sum(dfa.num_states + 3 for dfa in words)
    assert masks.nbytes == 2 * rows * len(VOCABULARY) + 8 * cells + 4 * states
    lazy = [explorer.compile(dfa.constraint, VOCABULARY, lazy=True) for dfa in words]
    assert DeviceMasks(lazy * 100).tables.token_class.shape[0] == 1


# --- Machines without a table ---------------------------------------------------------------


def mixed(machines: list[TokenDFA]) -> list[TokenMachine]:
    """Every second machine lazy, its states numbered in an order of its own; a stack, and none."""
    lazy = [explorer.compile(dfa.constraint, VOCABULARY, lazy=True) for dfa in machines[::2]]
    batch: list[TokenMachine] = [*machines]
    batch[::2] = lazy
    nested = explorer.grammar('root ::= "a" root "b" | "foo"')
    batch.append(explorer.compile(nested, VOCABULARY))
    for machine in (*lazy, batch[-1]):
        visit(machine)
    return [*batch, Free(VOCABULARY)]


MOST = 200
"""Of a stack there are more states than can be visited."""


def visit(machine: TokenMachine) -> None:
    """Take every token from every state that is met, the last token first."""
    state = 0
    while state < min(machine.num_states, MOST):
        for token in reversed(range(len(VOCABULARY))):
            machine.step(state, token)
        state += 1


def every_place(batch: list[TokenMachine]) -> list[Row]:
    states = [[*range(min(m.num_states, MOST)), *SENTINELS] for m in batch]
    return [(k, state) for k, some in enumerate(states) for state in some]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
@pytest.mark.parametrize("extra", [0, 40])
def test_masks_of_a_mixed_batch(
    machines: list[TokenDFA], device: str, way: str, extra: int
) -> None:
    batch = mixed(machines)
    masks = DeviceMasks(batch, device=on(device))
    rows = every_place(batch)
    states, which = tensors(rows, device)
    for _ in range(2):  # The second time every state has been visited.
        before = torch.randn(len(rows), len(VOCABULARY) + extra, device=device)
        after = getattr(masks, way)(before.clone(), states, which)
        for (k, state), row in zip(rows, after, strict=True):
            wanted = batch[k].allowed(state)
            assert (allowed(row) == np.concatenate([wanted, np.zeros(extra, bool)])).all()
            assert np.array_equal(masks.allowed(k, state), wanted)
    masks.error.clear()
    masks.mask_(torch.zeros(1, len(VOCABULARY), device=device), states[:1] * 0, which[:1] * 0)
    masks.check()


@pytest.mark.parametrize("device", DEVICES)
def test_advances_of_a_mixed_batch(machines: list[TokenDFA], device: str) -> None:
    batch = mixed(machines)
    masks = DeviceMasks(batch, device=on(device))
    rows = every_place(batch)
    states, which = tensors(rows, device)
    for token in range(-1, len(VOCABULARY) + 2):
        tokens = torch.full_like(states, token)
        for (k, state), target in zip(
            rows, masks.advance(states, tokens, which).tolist(), strict=True
        ):
            step = batch[k].step(state, token) if token >= 0 else None
            assert target == (DEAD if step is None else step), (k, state, token)
        masks.error.clear()


def test_faults_of_a_mixed_batch(machines: list[TokenDFA]) -> None:
    lazy = explorer.compile(machines[0].constraint, VOCABULARY, lazy=True)
    masks = DeviceMasks([lazy, machines[1]])
    logits = torch.zeros(2, len(VOCABULARY))
    for way in (masks.mask_, masks.mask_reference_):
        way(logits.clone(), torch.tensor([7, 0]))  # The lazy machine has met one state so far.
        with pytest.raises(ExplorerError, match="no such state"):
            masks.check()
    masks.advance(torch.tensor([0, 0]), torch.tensor([0, 0]))  # `a` begins no word of (foo)+d.
    with pytest.raises(ExplorerError, match=r"Row 0 .* not allowed"):
        masks.check()
    for way in (masks.mask_, masks.mask_reference_):
        with pytest.raises(ExplorerError, match="remaining=3"):
            way(logits.clone(), torch.tensor([0, 0]), None, torch.tensor([3, 3]))
        way(logits.clone(), torch.tensor([0, 0]), None, torch.tensor([UNLIMITED - 9, 3]))
    with pytest.raises(ExplorerError, match="There is no state"):
        masks.allowed(0, 7)
    with pytest.raises(ExplorerError, match="a token machine"):
        DeviceMasks(["(foo)+d"])  # type: ignore[list-item]
