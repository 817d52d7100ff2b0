"""Runs of forced tokens in one pass; texts that begin inside the prompt's last token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import explorer
from explorer import gen, regex, template
from explorer.decoding.models.model import LanguageModel, Reading, RunLanguageModel
from explorer.languages.sources.algebra import Healed
from widgets.editing import written_constraint
from widgets.figures.panels.tokens import strip_packet


class Counted:
    """The tiny model, with a count of its forward passes."""

    def __init__(self) -> None:
        self._lm: Any = explorer.load_model("tiny")
        self.passes = 0

    @property
    def name(self) -> str:
        return "counted"

    @property
    def vocabulary(self) -> explorer.Vocabulary:
        return self._lm.vocabulary

    def encode_prompt(self, prompt: Any) -> tuple[int, ...]:
        return self._lm.encode_prompt(prompt)

    def read(self, tokens: Sequence[int]) -> Reading:
        self.passes += 1
        return self._lm.read(tokens)

    def read_run(self, tokens: Sequence[int], count: int) -> Sequence[Reading]:
        self.passes += 1
        return self._lm.read_run(tokens, count)


FORCED = "~~~~~~^^^^^^######"
"""Text that the vocabulary spells in one way only."""

FORM = template(f"{FORCED}{{x}}{FORCED}{{y}}", x=gen(regex="[0-9]{2}"), y=gen(choices=["a", "b"]))


def test_text_and_probabilities_are_equal_and_the_passes_are_fewer() -> None:
    assert isinstance(Counted(), RunLanguageModel)
    lm, once = Counted(), Counted()
    one = explorer.Session(lm, FORM, "Fill in: ").run()
    run = explorer.Session(once, FORM, "Fill in: ", forced="run").run()
    assert one.text == run.text and one.ids == run.ids
    for a, b in zip(one.steps, run.steps, strict=True):
        assert a.log_prob_model == pytest.approx(b.log_prob_model, abs=1e-4)
        assert a.log_prob_constrained == pytest.approx(b.log_prob_constrained, abs=1e-4)
        assert (a.rank, a.forced, a.chosen_by) == (b.rank, b.forced, b.chosen_by)
    forced = sum(step.forced for step in one.steps)
    assert forced > 20
    assert once.passes <= lm.passes - forced + 4
    notes = [position.distribution.note for position in run.positions if position.distribution]
    assert sum("one pass with a run of" in note for note in notes) >= forced
    computed = [p.distribution.computed for p in run.positions if p.distribution]
    assert computed.count(0) >= forced - 4


def test_a_forced_run_is_taken_in_one_go() -> None:
    lm = Counted()
    session = explorer.Session(lm, FORM, "Fill in: ")
    steps = session.take_forced()
    assert lm.passes == 1
    assert b"".join(step.data or b"" for step in steps) == FORCED.encode()
    assert all(step.forced for step in steps)
    assert session.take_forced() == ()  # Now the model has a choice.
    session.back(len(steps))
    other = explorer.Session(Counted(), FORM, "Fill in: ")
    for step in steps:
        assert other.step().token == step.token
    assert session.position.index == 0


def test_a_model_that_reads_no_runs_reads_one_by_one() -> None:
    from tests.decoding.models import hash_model

    lm = hash_model()
    assert isinstance(lm, LanguageModel) and not isinstance(lm, RunLanguageModel)
    constraint = regex("(foo){2}d")
    one, run = explorer.Session(lm, constraint), explorer.Session(lm, constraint, forced="run")
    assert one.run() == run.run()
    assert explorer.Session.from_ids(lm.vocabulary, constraint, []).take_forced() == ()


def test_a_token_budget_counts_in_a_forced_run() -> None:
    lm = Counted()
    fewest = explorer.compile(FORM, lm.vocabulary).distance_to_end(0)
    one = explorer.Session(lm, FORM, "Fill in: ", max_tokens=fewest).run()
    run = explorer.Session(lm, FORM, "Fill in: ", max_tokens=fewest, forced="run").run()
    assert one.text == run.text and one.finished


def test_the_text_begins_inside_the_last_token_of_the_prompt() -> None:
    lm = explorer.load_model("tiny")
    prompt = "What is the weather in Par"
    ids = lm.encode_prompt(prompt)
    end = lm.vocabulary.tokens[ids[-1]]
    assert end
    constraint = regex("[a-z]+\\?")
    plain = explorer.Session(lm, constraint, prompt, max_tokens=20)
    session = explorer.Session(lm, constraint, prompt, max_tokens=20, heal=True)
    assert session.healed == end.decode() and session.trace.prompt_ids == ids[:-1]
    assert plain.healed == "" and plain.trace.prompt_ids == ids
    allowed = {lm.vocabulary.tokens[token] for token in session.allowed().nonzero()[0]}
    # Every first token continues the removed one, or is the beginning of it.
    assert all(each and (each.startswith(end) or end.startswith(each)) for each in allowed)
    assert any(each and len(each) > len(end) for each in allowed)
    trace = session.run()
    assert trace.text == session.healed + trace.answer and constraint.accepts(trace.answer)
    assert session.constraint is not None and session.constraint.parse(trace.text) == trace.answer
    assert strip_packet(trace).get("healed") == session.healed
    assert "healed" not in strip_packet(plain.trace)
    assert written_constraint(session.constraint) == ("regex", "[a-z]+\\?")


def test_healing_gives_the_token_that_the_model_prefers() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(
        [b"http", b":", b"://", b"/", b"a", b"x"], eos_ids=[6]
    )
    from widgets.toy import ToyModel

    lm = ToyModel(
        {"http": 0.1, ":": 0.1, "://": 0.5, "/": 0.1, "a": 0.2}, after={"://": {"a": 1.0}}
    )
    lm_ids = {data: k for k, data in enumerate(lm.vocabulary.tokens)}
    read: list[tuple[int, ...]] = []

    class Prompted:
        name, vocabulary = "prompted", lm.vocabulary

        def encode_prompt(self, prompt: Any) -> tuple[int, ...]:
            return (lm_ids[b"http"], lm_ids[b":"])

        def read(self, tokens: Sequence[int]) -> Reading:
            read.append(tuple(tokens))
            return lm.read(tokens)

    session = explorer.Session(Prompted(), regex("//a"), "http:", heal=True)
    assert session.run().text == "://a"
    assert session.trace.steps[0].data == b"://"
    assert read[0] == (lm_ids[b"http"],)
    stuck = explorer.Session(Prompted(), regex("//a"), "http:")
    assert stuck.run().text == "//a" and len(stuck.trace.steps) > len(session.trace.steps)
    assert len(vocabulary) == 7


@pytest.mark.parametrize("lazy", [False, True])
def test_compiled_machines_and_edits_are_healed_too(lazy: bool) -> None:
    lm = explorer.load_model("tiny")
    machine = explorer.compile(regex("[a-z]+"), lm.vocabulary, lazy=lazy)
    session = explorer.Session(lm, machine, "What is the wea", heal=True)
    end = session.healed
    assert end and type(session.machine) is type(machine)
    session.edit(prompt="What is the weather in Par")
    assert session.healed and session.constraint is not None
    assert session.constraint.source == Healed(session.healed, machine.constraint.source)  # type: ignore[union-attr]
    session.edit(constraint=regex("[0-9]"))
    assert written_constraint(session.constraint) == ("regex", "[0-9]")
    session.edit(constraint=None)
    assert session.constraint is not None and session.constraint.accepts(session.healed + "é")
    session.edit(prompt=[{"role": "user", "content": "Hi"}])
    assert session.healed == ""


def test_what_cannot_be_taken_back_stays() -> None:
    lm = explorer.load_model("tiny")
    single = explorer.Session(lm, regex("a"), "", heal=True)
    assert single.healed == "" and single.run().text == "a"
