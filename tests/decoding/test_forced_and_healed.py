"""Prompts that are healed, tokens that are forced, and how texts are fed and opened."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import explorer
from explorer import Session, Trace, any_text, choice, gen, phase, phases, regex, template, token
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.load import Opening, load_model
from explorer.decoding.models.model import LanguageModel, Reading, RunLanguageModel
from explorer.errors import ExplorerError
from explorer.languages.sources.algebra import Healed
from tests.decoding.models import config, tokenizer
from widgets.cursor import Cursor, line_of
from widgets.editing import written_constraint
from widgets.figures.panels.tokens import strip_packet

# Runs of forced tokens in one pass; texts that begin inside the prompt's last token.


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


# Text that the model did not write is part of the same run: a tool's result, a user's answer.


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


def test_a_trace_is_saved_with_its_roles(tmp_path: Path) -> None:
    session = asked()
    session.feed(["<|user|>", "Yes", "<|assistant|>"])
    trace = session.run()
    trace.save(tmp_path / "run.json")
    again = Trace.load(tmp_path / "run.json")
    assert again == trace and again.phases == trace.phases
    assert [step.role for step in again.steps] == [step.role for step in trace.steps]
    assert "fed by user" in trace.summary()
    assert {"question", "answer", "verdict"} <= {" › ".join(names) for names in trace.phases}


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


# Models are opened one at a time and once; a caller that gives up leaves nothing half open.


WAIT = 60.0


def save(folder: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    made = transformers.AutoModelForCausalLM.from_config(config("llama"))
    made.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run tasks in threads that start at the same moment; what each gives or raises."""
    barrier = threading.Barrier(len(tasks))
    results: list[Any] = [None] * len(tasks)

    def work(k: int) -> None:
        barrier.wait(WAIT)
        try:
            results[k] = tasks[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    return results


def test_threads_that_load_at_once(tmp_path: Path) -> None:
    """Several models, each asked for by two threads: each is opened once, and right."""
    folders = [save(tmp_path / str(k), k) for k in range(3)]
    opened = together(*[lambda f=folder: load_model(f) for folder in folders * 2])
    for k, folder in enumerate(folders):
        first, second = opened[k], opened[k + 3]
        assert isinstance(first, HuggingFaceModel), first
        assert first is second
        known = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        with torch.no_grad():
            expected = known(torch.tensor([[5, 6]])).logits[0, -1]
        assert torch.allclose(first.read([5, 6]).logits, expected, rtol=0, atol=1e-5)


def test_an_open_model_is_given_again_until_its_files_or_the_arguments_change(
    tmp_path: Path,
) -> None:
    folder = save(tmp_path / "a", 0)
    first = load_model(folder)
    assert load_model(str(folder)) is first
    assert load_model(folder, dtype="bfloat16") is not first
    assert load_model(folder, strict=False) is not first
    (tmp_path / "link").symlink_to(folder)
    assert load_model(tmp_path / "link") is first
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": 2}))
    again = load_model(folder)
    assert again is not first and again.vocabulary.eos_ids == (1, 2)
    assert load_model("tiny") is load_model("tiny")


def test_a_model_that_nobody_uses_is_let_go() -> None:
    class Value:
        pass

    made: list[int] = []

    def make() -> Value:
        made.append(1)
        return Value()

    opening = Opening[Value]()
    opening.open("a", make)
    gc.collect()
    value = opening.open("a", make)
    assert opening.open("a", make) is value
    assert len(made) == 2
    opening.open("b", make, keep=True)
    gc.collect()
    opening.open("b", make)
    assert len(made) == 3


def test_a_failed_load_is_raised_to_everyone_and_tried_again(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", 0)
    good = (folder / "config.json").read_text()
    (folder / "config.json").write_text("{")
    for error in together(lambda: load_model(folder), lambda: load_model(folder)):
        assert isinstance(error, ExplorerError) and "cannot be loaded" in str(error)
    (folder / "config.json").write_text(good)
    assert load_model(folder).name == "a"


class Interrupt(BaseException):
    """As a cancelled compile or Ctrl-C throws it, between any two instructions."""


def throw_into(thread: threading.Thread) -> None:
    assert thread.ident is not None
    thrown = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupt)
    )
    assert thrown == 1


@pytest.mark.parametrize("place", ["AutoTokenizer", "AutoConfig", "AutoModelForCausalLM"])
def test_an_interrupt_in_the_middle_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """An interrupt while the library works reaches only the waiting caller."""
    folder = save(tmp_path / "a", 0)
    kind = getattr(transformers, place)
    real = kind.from_pretrained
    entered, thrown, unharmed = threading.Event(), threading.Event(), threading.Event()

    def signalling(*given: Any, **named: Any) -> Any:
        entered.set()
        thrown.wait(WAIT)
        value = real(*given, **named)
        unharmed.set()
        return value

    monkeypatch.setattr(kind, "from_pretrained", signalling)
    caught: list[BaseException] = []

    def load() -> None:
        try:
            load_model(folder, dtype="bfloat16")
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    assert entered.wait(WAIT)
    throw_into(thread)
    thrown.set()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert [type(error) for error in caught] == [Interrupt]
    monkeypatch.undo()
    for dtype in (torch.bfloat16, torch.float32):
        opened = load_model(folder, dtype=dtype)
        assert opened.model.dtype == dtype and not opened.model.lm_head.weight.is_meta
        assert opened.read([5, 6]).logits.isfinite().all()
    # The library was not hit, although the one who waited was: its load came to an end.
    assert unharmed.is_set()
    assert torch.get_default_dtype() == torch.float32
    assert not torch.zeros(2).is_meta
    assert torch.nn.Linear(2, 2).weight.abs().sum() > 0


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    moment = threading.Event()
    for _ in range(int(WAIT / 0.01)):
        if holds():
            return
        moment.wait(0.01)
    pytest.fail("it never came to hold")


def test_a_load_whose_caller_gave_up_does_not_begin() -> None:
    opening = Opening[threading.Event]()
    inside, go_on = threading.Event(), threading.Event()
    begun: list[str] = []

    def first() -> threading.Event:
        inside.set()
        go_on.wait(WAIT)
        return go_on

    def second() -> threading.Event:
        begun.append("second")
        return go_on

    def wait_for(make: Callable[[], threading.Event], key: str) -> threading.Thread:
        trying = threading.Event()

        def work() -> None:
            try:
                trying.set()  # From here on an interrupt is caught below.
                opening.open(key, make)
            except Interrupt:
                begun.append("interrupted")

        thread = threading.Thread(target=work)
        thread.start()
        assert trying.wait(WAIT)
        return thread

    one = wait_for(first, "a")
    assert inside.wait(WAIT)
    two = wait_for(second, "b")
    # A thread that is being started goes by the number of the one that starts it, and would be hit.
    until(lambda: sum(t.name == "load_model" and t.is_alive() for t in threading.enumerate()) == 2)
    throw_into(two)
    two.join(WAIT)
    go_on.set()
    one.join(WAIT)
    assert opening.open("c", lambda: go_on) is go_on
    assert begun == ["interrupted"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_that_is_forked_in_the_middle_can_open() -> None:
    opening = Opening[threading.Event]()
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> threading.Event:
        inside.set()
        go_on.wait(WAIT)
        return go_on

    thread = threading.Thread(target=opening.open, args=("a", slow))
    thread.start()
    assert inside.wait(WAIT)
    child = os.fork()
    if child == 0:
        os._exit(0 if isinstance(opening.open("b", threading.Event), threading.Event) else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(WAIT)
    assert status == 0
