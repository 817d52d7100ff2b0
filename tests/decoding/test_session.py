"""Sessions: steps, edits, threads, prompts, prefilled answers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import explorer
from explorer import choice, generate, json_schema, literal, phase, regex
from explorer.analysis.session import Session
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.sampling.sampler import Sampler, uniform
from explorer.decoding.stepping.walk import LONGEST_RUN
from explorer.decoding.trace.recording import Rejection
from explorer.decoding.trace.records import Step
from explorer.errors import ConstraintError, ExplorerError
from explorer.tokens.lazy import Free
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from tests.decoding.models import hash_model, language_model, tokenizer
from tests.decoding.sessions import LOOSE, PATTERN, Endless, session
from tests.evidence import few

# A session goes everywhere and always comes to the same place.


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


# --- editing ----------------------------------------------------------------------------------


def test_editing_the_constraint_keeps_the_longest_prefix() -> None:
    made = Session(hash_model(), explorer.regex("foofood, yes"), sampler=LOOSE, seed=3)
    for text in ("foo", "f", "oo", "d", ", ", "yes"):
        made.step(token=text)
    before = made.trace
    fork = made.edit(constraint=explorer.regex("(foo)+, (yes|no)"))
    assert made.text == "foofoo" and made.ids == (2, 0, 1)
    assert [step.chosen_by for step in made.trace.steps] == ["kept"] * 3
    assert fork.trace == before and made.forks == (fork,)
    assert explorer.regex("(foo)+, (yes|no)").accepts(made.run().text)
    # Only the constraint has changed, so the model was not asked again about what was kept.
    assert made.trace.positions[2].distribution is not None


def test_editing_the_prompt_keeps_all_and_asks_the_model_again() -> None:
    made = session()
    made.run(3)
    old = made.trace
    made.edit(prompt="ho")
    assert made.ids == old.ids
    assert made.trace.prompt == "ho"
    assert made.trace.positions[0].distribution != old.positions[0].distribution
    fresh = Session(hash_model(), PATTERN, "ho", sampler=LOOSE, seed=5)
    for token in old.ids:
        fresh.step(token=token)
    assert fresh.trace.positions == made.trace.positions
    assert made.run(5).ids == fresh.run(5).ids


def test_a_copy_looks_around_and_nothing_moves() -> None:
    made = session(max_tokens=6)
    made.run(3)
    made.jump(1)
    before = (made.trace, made.generation, made.length, made.forks)
    ahead = made.copy()
    assert (ahead.index, ahead.length, ahead.trace) == (1, 3, made.trace)
    ahead.jump(3)
    assert ahead.ids[:1] == made.ids and len(ahead.ids) == 3
    assert (made.trace, made.generation, made.length, made.forks) == before
    ahead.jump(0)
    ahead.run(1)
    made.forward(2)
    assert made.ids == session(max_tokens=6).run(3).ids


def test_an_edit_that_fails_changes_nothing() -> None:
    made = session(max_tokens=6)
    made.run(2)
    before, generation = made.trace, made.generation
    with pytest.raises(ExplorerError):
        made.edit(constraint=explorer.literal("foofoofoofoofoofoofoofood"))
    with pytest.raises(ConstraintError):
        made.edit(constraint="x")  # type: ignore[arg-type]
    assert (made.trace, made.generation, made.forks) == (before, generation, ())


# --- a run from elsewhere ---------------------------------------------------------------------


def test_a_run_from_elsewhere_is_held_against_the_constraint() -> None:
    model = hash_model()
    live = Session(model, PATTERN, "hi", sampler=LOOSE, seed=1).run(30)
    known = [step.log_prob_model for step in live.steps]
    made = Session.from_ids(model.vocabulary, PATTERN, live.ids, known, "hi")
    assert made.text == live.text and made.finished and made.rejection is None
    trace = made.trace
    assert trace.model is None and trace.prompt == "hi"
    assert trace.positions[-1].log_prob_model == live.positions[-1].log_prob_model
    assert trace.positions[-1].log_prob_constrained is None
    assert [p.state for p in trace.positions] == [p.state for p in live.positions]
    assert [p.num_allowed for p in trace.positions] == [p.num_allowed for p in live.positions]
    assert all(p.distribution is None for p in trace.positions)


def test_the_first_rejected_id_is_a_finding() -> None:
    vocabulary = hash_model().vocabulary
    made = Session.from_ids(vocabulary, PATTERN, [2, 0, 7, 1, 23])
    assert made.rejection == Rejection(2, 7, made.state)
    assert made.trace.rejection == made.rejection and made.trace.unread == (1, 23)
    assert "rejected: token 2 is 7 'yes'" in made.trace.summary()
    for wrong in (-1, 2**63 - 1, len(vocabulary)):
        assert Session.from_ids(vocabulary, PATTERN, [2, wrong]).rejection is not None
    # One may go on by hand from there, and then nothing is rejected any more.
    made.step(token="oo")
    assert made.rejection is None and made.text == "foofoo"
    with pytest.raises(ExplorerError, match="no model"):
        made.step()
    with pytest.raises(ExplorerError, match="no model"):
        made.logits()


def test_another_constraint_reads_the_rejected_ids_again() -> None:
    made = Session.from_ids(hash_model().vocabulary, PATTERN, [2, 0, 7, 23], [-1, -2, -3, -4])
    made.edit(constraint=explorer.regex("foofyes"))
    assert made.finished and made.rejection is None
    assert made.trace.positions[-1].log_prob_model == -10


def test_padding_after_the_end_is_left_out() -> None:
    vocabulary = hash_model().vocabulary
    assert Session.from_ids(vocabulary, PATTERN, [8, 23, 23, 23]).rejection is None
    assert Session.from_ids(vocabulary, PATTERN, [8, 23, 8]).rejection is not None


# Threads share a session, and leave it whole.


def in_threads(work: Any, count: int = 8) -> None:
    """Run it in threads at once and raise what any of them raised."""
    faults: list[BaseException] = []
    start = threading.Barrier(count)

    def body(k: int) -> None:
        try:
            start.wait()
            work(k)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_of_many_requests_for_one_sight_one_is_served() -> None:
    made = session()
    seen = made.generation
    served: list[Step] = []

    def work(_: int) -> None:
        with made.request(seen) as fresh:
            if fresh:
                served.append(made.step())

    in_threads(work)
    assert len(served) == made.index == 1


def test_a_run_stops_when_another_thread_moves_the_cursor() -> None:
    made = Session(Endless(hash_model().vocabulary), None, sampler=LOOSE)
    moved = threading.Event()
    waiting = threading.Event()

    def until(step: Step) -> bool:
        if step.index == 4:
            waiting.set()
            moved.wait(10)
        return False

    runner = threading.Thread(target=lambda: made.run(100, until=until))
    runner.start()
    assert waiting.wait(10)
    made.jump(1)
    moved.set()
    runner.join(10)
    assert not runner.is_alive()
    assert (made.index, made.length) == (1, 5)


# Messages as ids: chat templates, tools, and templates that raise or try to get out.


HELLO = [{"role": "user", "content": "yes"}]
TOOL = {"type": "function", "function": {"name": "now", "parameters": {"properties": {}}}}


def with_template(template: Any) -> HuggingFaceModel:
    own = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer().backend_tokenizer.to_str()),
        bos_token="<s>",
        eos_token="</s>",
    )
    own.chat_template = template
    return HuggingFaceModel(language_model("llama").model, own, "other")


def test_a_prompt_is_what_a_session_reads_of_messages() -> None:
    lm = language_model("llama")
    ids = lm.prompt(HELLO)
    assert ids == lm.encode_prompt(HELLO)
    without = lm.prompt(HELLO, add_generation_prompt=False)
    assert lm.tokenizer.decode(without) == "<s>[user]yes\n"
    of_ids, of_messages = (
        Session(lm, explorer.regex("no"), prompt).run() for prompt in (ids, HELLO)
    )
    assert of_ids.prompt_ids == of_messages.prompt_ids == ids and of_ids.ids == of_messages.ids
    assert of_ids.prompt == "<s>[user]yes\n[assistant]"
    assert Session(lm, None, of_ids.prompt).trace.prompt_ids == ids
    session = Session(lm, explorer.regex("no"), "other")
    session.edit(prompt=ids)
    assert session.trace.prompt_ids == ids


def test_ids_are_a_prompt_of_a_batch_too() -> None:
    lm = language_model("llama")
    ids = lm.prompt(HELLO)
    (alone,) = explorer.generate(lm, ids, explorer.regex("[a-z]{3}"))
    both = explorer.generate(lm, [ids, HELLO], explorer.regex("[a-z]{3}"))
    assert [one.text for one in both] == [alone.text] * 2
    assert explorer.probability(lm, ids, [5]) == explorer.probability(lm, HELLO, [5])


def test_tools_and_names_of_templates() -> None:
    lm = with_template(
        {"default": "<s>{{ tools | length if tools else 0 }}", "other": "<s>{{ messages[0].role }}"}
    )
    text = lm.tokenizer.decode
    assert text(lm.prompt(HELLO, tools=[TOOL, TOOL])) == "<s>2"
    assert text(lm.prompt(HELLO)) == text(lm.prompt(HELLO, tools=[])) == "<s>0"
    assert text(lm.prompt(HELLO, template="other")) == "<s>user"
    with pytest.raises(ExplorerError, match="This tokenizer has 'default', 'other'"):
        lm.prompt(HELLO, template="third")
    with pytest.raises(ExplorerError, match="has only one, without a name"):
        language_model("llama").prompt(HELLO, template="{{ messages }}")


# A text that is forced goes in at once, in the tokenizer's own tokens.


LM = explorer.load_model("tiny")
SCHEMA = json_schema(
    {"type": "object", "properties": {"temperature": {"enum": [1, 2]}, "city": {"enum": ["a"]}},
     "required": ["temperature", "city"], "additionalProperties": False},
)  # fmt: skip
CASES = {
    "literal and choice": literal("The capital of France is ") + choice("Paris", "London"),
    "schema": SCHEMA,
    "phases": phase("call", SCHEMA, begin="<tool_call>", end="</tool_call>"),
    "no forced text": regex("[a-z ]{3,9}"),
    "beyond ASCII": literal("Ünï ") + choice("ö", "ä"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_forced_tokens_are_the_tokenizers_own(case: str) -> None:
    constraint = CASES[case]
    session = Session(LM, constraint, "A text: ", forced="prefill")
    trace = session.run()
    assert trace.finished and constraint.accepts(LM.vocabulary.written(trace.ids[:-1]))
    prefilled = [step for step in trace.steps if step.chosen_by == "prefilled"]
    assert bool(prefilled) == (case != "no forced text"), trace.summary()
    for first in prefilled[:1]:
        ids = LM.vocabulary.encode(trace.text)
        assert first.index > 0 or (ids is not None and first.token == next(iter(ids)))
    # A step is one that the mask allows, with the model's own probability.
    for step in prefilled:
        assert step.before.num_allowed >= 1 and step.log_prob_model is not None
    assert ("prefilled" in trace.summary()) == bool(prefilled)
    whole = generate(LM, ["A text: "], constraint, forced="prefill", max_tokens=80)[0]
    assert whole.tokens == trace.ids, (whole.text, trace.text)


def test_one_pass_reads_the_whole_run() -> None:
    trace = Session(LM, CASES["literal and choice"], "A text: ", forced="prefill").run()
    notes = {
        step.before.distribution.note
        for step in trace.steps
        if step.before.distribution is not None
    }
    assert any("prefilled tokens" in note for note in notes), notes
