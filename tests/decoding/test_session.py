"""A session goes everywhere and always comes to the same place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler, uniform
from explorer.decoding.stepping.walk import LONGEST_RUN
from explorer.errors import ExplorerError
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from tests.decoding.models import hash_model, language_model
from tests.decoding.sessions import LOOSE, PATTERN, Endless, session
from tests.evidence import few

SAMPLERS = [Sampler(0.0), Sampler(1.0), Sampler(0.7, top_k=5), Sampler(1.3, top_p=0.9, min_p=0.01)]


def greedy_or_drawn(model: Any, dfa: TokenMachine, prompt: str, sampler: Sampler, seed: int,
                    limit: int) -> list[int]:  # fmt: skip
    """The plainest loop that decodes: no session, no cache, no budget."""
    path, out, state = list(model.encode_prompt(prompt)), list[int](), dfa.start
    while state != DONE and len(out) < limit:
        logits = model.read(path).logits.clone()
        mask = torch.zeros(len(logits), dtype=torch.bool)
        mask[: len(dfa.allowed(state))] = torch.tensor(dfa.allowed(state))
        logits[~mask] = -torch.inf
        number = torch.tensor(uniform(seed, 0, len(out)), dtype=torch.float64)
        token = int(sampler.draw(sampler.filtered(logits), number))
        following = dfa.step(state, token)
        assert following is not None
        out.append(token)
        path.append(token)
        state = following
    return out


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("kind", few(["hash", "llama", "gpt2", "gemma3"], 2))
def test_stepping_equals_the_plain_loop(kind: str, sampler: Sampler) -> None:
    model: Any = hash_model() if kind == "hash" else language_model(kind)
    pattern = PATTERN if kind == "hash" else explorer.regex("(yes|no), the [a-z ]{1,20}")
    for seed in range(3):
        made = Session(model, pattern, "is it", sampler=sampler, seed=seed)
        trace = made.run(20)
        assert list(trace.ids) == greedy_or_drawn(model, made.machine, "is it", sampler, seed, 20)
        if trace.finished:
            assert pattern.accepts(trace.text)


def test_the_draw_is_inverse_cdf_of_the_constrained_distribution() -> None:
    made = session()
    for step in made.run(30).steps:
        constrained = made._tree.measured(made._line[step.index])
        assert constrained is not None and step.uniform is not None
        below = torch.tensor(constrained.constrained).exp().cumsum(0)
        assert float(below[step.token]) >= step.uniform - 1e-6
        assert step.token == 0 or float(below[step.token - 1]) <= step.uniform + 1e-6
        assert step.uniform == uniform(5, 0, step.index)


moves = st.lists(
    st.tuples(
        st.sampled_from(["step", "back", "forward", "jump", "fork", "user"]), st.integers(0, 9)
    ),
    max_size=25,
)


@given(moves, st.integers(0, 3))
def test_every_path_through_back_and_fork_gives_the_same_tokens(
    made: list[tuple[str, int]], seed: int
) -> None:
    straight = Session(hash_model(), PATTERN, "hi", sampler=LOOSE, seed=seed, max_tokens=12)
    whole = straight.run()
    wandering = Session(hash_model(), PATTERN, "hi", sampler=LOOSE, seed=seed, max_tokens=12)
    for kind, n in made:
        if kind == "step" and wandering._open():
            wandering.step()
        elif kind == "back":
            wandering.back(min(n, wandering.index))
        elif kind == "forward":
            wandering.forward(min(n, wandering.length - wandering.index))
        elif kind == "jump":
            wandering.jump(min(n, wandering.length))
        elif kind == "fork":
            wandering = wandering.fork()
        elif kind == "user" and wandering._open():
            allowed = wandering.allowed().nonzero()[0]
            wandering.step(token=int(allowed[n % len(allowed)]))
            wandering.back()  # Seen, and not taken: it must leave nothing behind.
    # A line with user's choices ahead is left at the first of them.
    wandering.jump(0)
    assert wandering.run() == whole
    assert wandering.run().positions == straight.trace.positions


@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen3_next"])
def test_a_real_model_rolled_back_equals_never_gone_there(kind: str) -> None:
    free = Session(language_model(kind), None, "yes", sampler=LOOSE, seed=2)
    straight = free.run(14).ids
    other = Session(language_model(kind), None, "yes", sampler=LOOSE, seed=2)
    other.run(9)
    other.jump(4)
    other.step(token=int(other.position.distribution.candidates[3].token))  # type: ignore[union-attr]
    other.run(4)
    other.jump(4)
    assert other.run(10).ids == straight


def test_a_visited_position_is_not_read_again() -> None:
    made = session()
    made.run(6)
    _ = made.position
    model: Any = made.lm
    reads = model.reads
    made.back(6)
    made.run(6)
    made.fork().back(3)
    _ = made.trace, made.logits(2)
    assert model.reads == reads


def test_back_keeps_the_future_and_forward_takes_it_again() -> None:
    made = session()
    made.step()
    allowed = made.allowed().nonzero()[0]
    chosen = int(allowed[-1])
    made.step(token=chosen)
    made.back()
    assert (made.index, made.length) == (1, 2)
    made.forward()
    assert made.trace.steps[1].token == chosen
    assert made.trace.steps[1].chosen_by == "user"
    made.back()
    assert made.step().chosen_by == "sampler"  # `step` draws; only `forward` repeats the choice.


def test_a_users_choice_uses_up_no_random_number() -> None:
    left, right = session(), session()
    first = left.step()
    chosen = right.step(token=first.token)
    assert chosen.uniform is None and first.uniform is not None
    assert left.run(8).ids == right.run(8).ids


def test_a_fork_goes_on_alike_and_with_another_seed_differently() -> None:
    made = session()
    made.run(2)
    twin, other = made.fork(), made.fork(seed=6)
    assert twin.run(9).ids == made.run(9).ids
    assert {other.fork(seed=s).run(9).ids for s in range(9)} != {made.ids}
    assert other.ids[:2] == made.ids[:2]
    assert made.forks == (twin, other)


def test_the_end_is_the_end() -> None:
    made = Session(hash_model(), explorer.literal("no"))
    trace = made.run()
    assert (trace.text, trace.finished, trace.positions[-1].distribution) == ("no", True, None)
    with pytest.raises(ExplorerError, match="has ended"):
        made.step()
    assert made.run() == trace
    with pytest.raises(ExplorerError, match=r"back\(9\) goes too far: there .* to go back over"):
        made.back(9)
    with pytest.raises(ExplorerError, match=r"forward\(1\) goes too far: there are 0 tokens"):
        made.forward(1)
    with pytest.raises(ExplorerError, match="There is no position -1"):
        made.jump(-1)
    with pytest.raises(ExplorerError, match=r"There is no position 1\.0"):
        made.jump(1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ExplorerError, match="a whole number from 0"):
        made.back(-1)
    # numpy's numbers are numbers, as for back.
    made.jump(np.int64(1))  # pyright: ignore[reportArgumentType]
    assert made.length == len(trace.ids) and len(made.ids) == 1
    assert made.logits(np.int32(0)).tolist() == made.logits(0).tolist()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("limit", [2, 3, 5, 9])
def test_with_a_budget_every_text_matches(limit: int) -> None:
    texts: set[str] = set()
    for seed in range(40):
        made = Session(hash_model(), PATTERN, sampler=LOOSE, seed=seed, max_tokens=limit)
        trace = made.run()
        assert trace.finished and len(trace) <= limit and PATTERN.accepts(trace.text)
        for position in trace.positions:
            row = trace.row(position.index, with_budget=False)
            removed = row & ~trace.row(position.index)
            assert bool(removed.any()) == (position.over_budget > 0)
        texts.add(trace.text)
    assert len(texts) > 1


def test_without_a_masking_budget_it_is_cut_off() -> None:
    cut = [
        Session(
            hash_model(), PATTERN, sampler=LOOSE, seed=seed, max_tokens=2, masking_budget=False
        ).run()
        for seed in range(20)
    ]
    assert not all(trace.finished for trace in cut)
    assert all(len(trace) <= 2 for trace in cut)
    made = Session(hash_model(), PATTERN, max_tokens=1, masking_budget=False)
    made.run()
    with pytest.raises(ExplorerError, match="used up"):
        made.step()


def test_free_text_goes_on_until_eos() -> None:
    made = Session(hash_model(), None, sampler=LOOSE, seed=1)
    trace = made.run()
    assert trace.finished and trace.ids[-1] == 23 and isinstance(made.machine, Free)
    assert all(0.5 < p.distribution.z <= 1 for p in trace.positions if p.distribution)
    assert trace.allowed(0).sum() == len(made.vocabulary)


def test_a_run_is_bounded_and_until_stops_it() -> None:
    model = Endless(hash_model().vocabulary)
    assert len(Session(model, None).run(7)) == 7
    stopped = Session(model, None, sampler=LOOSE).run(until=lambda step: step.index == 3)
    assert len(stopped) == 4
    assert len(Session(model, None).run()) == LONGEST_RUN
    # A session's own budget says how long a run is, also where it is longer.
    longer = LONGEST_RUN + 9
    assert len(Session(model, None, max_tokens=longer, masking_budget=False).run()) == longer


def test_logits_beyond_the_memory_budget_are_read_again() -> None:
    small = Session(hash_model(), PATTERN, "hi", sampler=LOOSE, seed=5, logits_bytes=1)
    large = session()
    assert small.run(8) == large.run(8)
    for k in range(small.length):
        assert torch.equal(small.logits(k), large.logits(k))
    model: Any = small.lm
    assert model.reads > large.lm.reads  # type: ignore[union-attr]


def test_forks_with_other_seeds_keep_their_own_numbers() -> None:
    """Two forks may draw the same token with different numbers; each trace has its own."""
    made = session()
    for seed in range(1, 20):
        fork = made.fork(seed)
        for step in fork.run(2).steps:
            assert step.uniform == uniform(seed, 0, step.index)
