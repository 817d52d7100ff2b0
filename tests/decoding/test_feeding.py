"""Text that the model did not write is part of the same run: a tool's result, a user's answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer import Session, Trace, any_text, choice, phase, phases, regex, token
from explorer.errors import ExplorerError
from widgets.cursor import Cursor, line_of

LM = explorer.load_model("tiny")
USER, ASSISTANT = 2, 3
ASK = phase("question", "Is it warm?")
ANSWER = phase(
    "answer", any_text(excluding=["?"]), begin=token("<|user|>"), end=token("<|assistant|>"),
    role="user",
)  # fmt: skip
TURNS = ASK + ANSWER + phase("verdict", choice([" Yes", " No"]))


def asked() -> Session:
    session = Session(LM, TURNS, "The weather.", max_tokens=60)
    session.run()
    return session


def test_a_run_stops_where_somebody_else_writes() -> None:
    session = asked()
    assert session.text == "Is it warm?" and session.waits_for == "user" and not session.finished
    assert session.phases == (("answer",),)
    steps = session.feed(["<|user|>", "Very!", "<|assistant|>"])
    assert {step.chosen_by for step in steps} == {"fed"} and {s.role for s in steps} == {"user"}
    assert session.waits_for == "" and session.phases == (("verdict",),)
    trace = session.run()
    assert session.finished and session.text in ("Is it warm?Very! Yes", "Is it warm?Very! No")
    (question, answer, verdict) = TURNS.parse(LM.vocabulary.written(trace.ids[:-1]))
    assert (question.text, answer.text, verdict.name) == ("Is it warm?", "Very!", "verdict")
    named = [name for (name,) in dict.fromkeys(trace.phases[:-1])]
    assert named == ["question", "answer", "verdict"]
    assert trace.phases[-1] == ()  # The end of the text is in none.


def test_time_travel_and_forks_go_across_it() -> None:
    session = asked()
    k = session.index
    session.feed(["<|user|>", "Yes", "<|assistant|>"])
    after = session.index
    fork = session.fork()
    fork.back(after - k)
    fork.feed(["<|user|>", "No", "<|assistant|>"])
    assert fork.text.endswith("No") and session.text.endswith("Yes")
    session.run()
    fork.run()
    session.jump(k)
    assert session.waits_for == "user"
    session.forward(after - k)
    assert session.text.endswith("Yes") and session.trace.steps[-1].role == "user"
    assert fork.trace.steps[k].role == "user"


def test_the_distributions_are_those_of_the_same_tokens() -> None:
    session = asked()
    k = session.index
    session.feed(["<|user|>", "Yes", "<|assistant|>"])
    other = Session(LM, TURNS, "The weather.", max_tokens=60)
    for step in session.trace.steps:
        other.step(token=step.token)
    one, two = session.position.distribution, other.position.distribution
    assert one is not None and two is not None
    assert one.first_choice == two.first_choice and abs(one.log_z - two.log_z) < 1e-4
    assert [s.log_prob_model for s in session.trace.steps[:k]] == [
        s.log_prob_model for s in other.trace.steps[:k]
    ]


def test_a_trace_is_saved_with_its_roles(tmp_path: Path) -> None:
    session = asked()
    session.feed(["<|user|>", "Yes", "<|assistant|>"])
    trace = session.run()
    trace.save(tmp_path / "run.json")
    again = Trace.load(tmp_path / "run.json")
    assert again == trace and again.phases == trace.phases
    assert [step.role for step in again.steps] == [step.role for step in trace.steps]
    assert "fed by user" in trace.summary()
    assert {"question", "answer", "verdict"} <= {row["phase"] for row in trace.to_records()}


def test_what_does_not_fit_is_refused_and_nothing_moves() -> None:
    session = asked()
    before = session.ids
    with pytest.raises(ExplorerError, match="from its token 0 on") as caught:
        session.feed("Very!")
    assert "phase answer" in str(caught.value) and session.ids == before
    with pytest.raises(ExplorerError, match="from its token"):
        session.feed(["<|user|>", "Why?", "<|assistant|>"])
    assert session.ids == before
    for wrong in ("", [], 3, b"a", [10**9], [1.5]):
        with pytest.raises(ExplorerError):
            session.feed(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ExplorerError, match="role"):
        session.feed(["<|user|>"], role="")
    with pytest.raises(ExplorerError, match=r"max_tokens|token budget"):
        session.feed(["<|user|>", *[" yes"] * 60])


def test_a_run_from_elsewhere_can_be_fed() -> None:
    vocab = explorer.Vocabulary((b"a", b"b", None, None), (3,), special={2: "<tool>"})
    run = phases(("say", regex("a+")), ("tool", token("<tool>") + regex("b*")))
    session = Session.from_ids(vocab, run, [0, 0])
    session.feed(["<tool>", "bb"], role="tool")
    assert session.trace.phases == (("say",),) * 2 + (("tool",),) * 3
    assert [step.chosen_by for step in session.trace.steps] == ["given"] * 2 + ["fed"] * 3


def test_the_sampler_does_not_write_what_somebody_else_must() -> None:
    session = asked()
    before = session.ids
    with pytest.raises(ExplorerError, match=r"The user writes next.*feed\(") as caught:
        session.step()
    assert caught.value.evidence == {"role": "user"} and session.ids == before
    assert not Cursor(session).run(3) and session.ids == before  # A page that plays stops there.
    session.step(token=USER)  # By hand it may be written.
    session.feed(["Very!", "<|assistant|>"])
    session.step()
    whole = session.run()
    again = line_of(LM, "The weather.", session.machine, whole.ids, max_tokens=60)
    again.forward(again.length)
    assert again.ids == whole.ids


def test_what_another_role_must_write_is_not_forced() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"q", b"y", b"n"], eos_ids=[3])
    turns = explorer.phases("qq") + explorer.phase("answer", "y", role="user") + "n"
    session = explorer.Session.from_ids(vocab, turns, [])
    assert [step.token for step in session.take_forced()] == [0, 0]
    assert session.waits_for == "user" and session.take_forced() == ()
    session.feed("y")
    assert [step.token for step in session.take_forced()] == [2]
