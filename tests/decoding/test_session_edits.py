"""A session is edited, and runs from elsewhere are held against a constraint."""

from __future__ import annotations

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.trace.recording import Rejection
from explorer.errors import ConstraintError, ExplorerError
from tests.decoding.models import hash_model
from tests.decoding.sessions import LOOSE, PATTERN, session

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
