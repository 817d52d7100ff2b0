"""Every trap is found where it is set, and not beside it."""

from __future__ import annotations

import json
import time
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.analysis.traps import Trap, machine_traps, prompt_traps, session_traps
from explorer.analysis.traps.of_machine import _components
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.tokens.lazy import LazyMachine
from tests.analysis.table_model import Rule, TableModel
from tests.evidence import calls_of, examples

VOCABULARY = explorer.Vocabulary.from_bytes(
    [b" ", b"\n", b"x", b"{", b"}", b"1", b" x", b"\xc3", b"\xa4", "ö".encode()], eos_ids=[10]
)


def found(constraint: explorer.Constraint, vocabulary: explorer.Vocabulary) -> list[Trap]:
    traps = list(machine_traps(explorer.compile(constraint, vocabulary)))
    assert all(json.dumps(trap.to_dict(), default=repr) and str(trap) for trap in traps)
    return traps


def kinds(pattern: str) -> list[str]:
    return [trap.kind for trap in found(explorer.regex(pattern), VOCABULARY)]


def test_a_loop_of_white_space_is_not_one_of_text() -> None:
    assert kinds(r"\{\s*1\}") == ["whitespace_loop"]
    assert kinds(r"\{[ \n]{0,3}1\}") == []
    assert kinds(r"\{[ x]*1\}") == ["endless"]
    assert kinds("x+") == ["endless"]
    assert kinds("x{1,9}") == []


def test_a_loop_that_allows_nothing_else_is_said_to() -> None:
    blind = explorer.Vocabulary.from_bytes([b" ", b"{", b"  1"], eos_ids=[3])
    (trap,) = found(explorer.regex(r"\{ *1?"), blind)
    assert trap.evidence["only_whitespace"] is False
    share = trap.evidence["share_of_mask"]
    assert isinstance(share, float) and 0 < share < 1
    (trap,) = found(explorer.regex(r" *1"), blind)
    assert trap.kind == "whitespace_loop" and trap.state is not None
    assert "may be written for ever" in trap.message


def test_an_endless_text_may_or_may_not_end() -> None:
    (trap,) = found(explorer.regex("x+"), VOCABULARY)
    assert trap.evidence["may_end"] is True
    (trap,) = found(explorer.regex("x+1"), VOCABULARY)
    assert trap.evidence["may_end"] is False


def test_a_character_in_parts() -> None:
    (trap,) = found(explorer.regex("[äö]"), VOCABULARY)
    assert trap.kind == "byte_by_byte" and trap.evidence["character"] == "ä"
    assert found(explorer.regex("ö"), VOCABULARY) == []
    assert [trap.kind for trap in found(explorer.regex("x.?"), VOCABULARY)] == []


def test_choices_with_one_first_token(tekken_131k: explorer.Vocabulary) -> None:
    texts = ["New York", "New Delhi", "Boston"]
    first = {text: (tekken_131k.encode(text) or (-1,))[0] for text in texts}
    traps = found(explorer.choice(texts), tekken_131k)
    shared = [trap for trap in traps if trap.kind == "shared_first_token"]
    assert first["New York"] == first["New Delhi"]
    assert [trap.evidence["texts"] for trap in shared] == [("New York", "New Delhi")]
    assert found(explorer.choice(["yes", "no"]), tekken_131k) == []


def test_a_prompt_that_ends_in_a_space() -> None:
    assert [trap.kind for trap in prompt_traps(VOCABULARY, "go ")] == ["prompt_boundary"]
    for prompt in ("go", "", None, "go\n"):
        assert prompt_traps(VOCABULARY, prompt) == ()
    alone = explorer.Vocabulary.from_bytes([b" ", b"x"], eos_ids=[2])
    assert prompt_traps(alone, "go ") == ()


def run(pattern: str, rule: Rule, prompt: str = "", tokens: int = 12) -> list[Trap]:
    session = explorer.Session(
        TableModel(VOCABULARY, rule), explorer.regex(pattern), prompt, max_tokens=tokens
    )
    session.run()
    dfa = session.machine
    return list(session_traps(dfa, session.trace))


def test_a_tiny_mass_for_several_steps() -> None:
    traps = run("1{5}", lambda _: {"x": 0.999})
    assert [trap.kind for trap in traps] == ["tiny_mass"]
    assert traps[0].position == 0 and "For 6 steps" in traps[0].message
    assert run("1{5}", lambda _: {"x": 0.5, "1": 0.2, "": 0.2}) == []
    # Two steps are no run.
    assert (
        run("1{5}", lambda text: {"x": 0.999} if len(text) in (1, 2) else {"1": 0.2, "": 0.3}) == []
    )


def test_a_token_liked_for_another_reason() -> None:
    def rule(text: str) -> dict[str, float]:
        return {"{": 0.9} if not text else {"}": 0.98, "1": 0.01} if text == "{" else {"": 0.9}

    (trap,) = run(r"\{1|x", rule)
    assert (trap.kind, trap.position) == ("greedy_trap", 0)
    assert trap.evidence["wished"] == 4
    assert run(r"\{[1}]|x", rule) == []

    # The own continuation is masked, though the mask leaves a third of the probability.
    def less(text: str) -> dict[str, float]:
        return {"{": 0.9} if not text else {"}": 0.6, "1": 0.35} if text == "{" else {"": 0.9}

    assert [trap.kind for trap in run(r"\{1|x", less)] == ["greedy_trap"]
    # Every text begins so: nothing else could have been chosen.
    assert run(r"\{1", rule) == []
    # It wants to end, which is no reason for the token before.
    assert (
        run(r"\{1|x", lambda text: {"{": 0.9} if not text else {"": 0.98, "1": 0.01, "x": 0.001})
        == []
    )


def test_complete_texts_that_never_end() -> None:
    (trap,) = run("x+", lambda _: {"x": 0.999})
    assert trap.kind == "unlikely_end"
    assert run("x+", lambda _: {"x": 0.9, "": 0.05}) == []
    assert run("x{8}", lambda text: {"x": 0.999} if len(text) < 8 else {"": 0.9}) == []


def test_the_trap_of_the_lesson_is_found() -> None:
    """Not has 53 %, for Not sure; the mask leaves 5.09 % of what the model wants after it."""
    model = explorer.load_model("tiny")
    answers = explorer.choice(["Yes", "No", "Not at all"])
    session = explorer.Session(model, answers, "Is the shop open on Sunday?\n")
    session.run()
    traps = session_traps(session.machine, session.trace)
    (trap,) = [trap for trap in traps if trap.kind == "greedy_trap"]
    assert trap.position == 0 and "after it the model wants ' sure'" in trap.message


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_constraint_that_fits_its_prompt_raises_no_alarm(temperature: float) -> None:
    model = explorer.load_model("tiny")
    for prompt, pattern in (
        ("The capital of France is", r" (Paris|London|Rome)\."),
        ("The capital of France is", r" [A-Z][a-z]{2,8}(\.|,)"),
        ("The capital of Italy is", r" [A-Z][a-z]{1,12}\."),
    ):
        run = explorer.Session(
            model, explorer.regex(pattern), prompt,
            sampler=explorer.Sampler(temperature=temperature), seed=1, max_tokens=20,
        )  # fmt: skip
        run.run()
        assert session_traps(run.machine, run.trace) == ()
        assert machine_traps(run.machine) == ()


@given(st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=7, max_size=7))
@settings(max_examples=examples(80))
def test_components_equal_mutual_reachability(edges: list[list[int]]) -> None:
    reach = [set(targets) for targets in edges]
    for _ in edges:
        reach = [found.union(*(reach[t] for t in found)) if found else found for found in reach]
    wanted = {
        tuple(sorted(b for b in range(7) if b in reach[a] and a in reach[b]))
        for a in range(7)
        if a in reach[a]
    }
    assert {tuple(members) for members in _components(edges)} == wanted


def test_a_choice_is_one_however_it_is_written(tekken_131k: explorer.Vocabulary) -> None:
    def shared(pattern: str) -> list[object]:
        return [
            trap.evidence["texts"]
            for trap in found(explorer.regex(pattern), tekken_131k)
            if trap.kind == "shared_first_token"
        ]

    # The shortest first.
    assert shared("(New Delhi|New York|Boston)") == [("New York", "New Delhi")]
    assert shared("New( York)?") == []  # One text that may go on is no choice.
    assert shared("New [A-Z]{3}") == []  # Too many words to be looked at.
    assert shared("New.*") == []


class SlowTokenizer(explorer.Vocabulary):
    """A tokenizer that takes a moment for each text."""

    waits: ClassVar[list[None]] = []

    def encode(self, text: str) -> tuple[int, ...] | None:
        self.waits.append(time.sleep(MOMENT))
        return super().encode(text)


class SlowMachine(LazyMachine):
    """A machine that takes a moment for each mask."""

    waits: ClassVar[list[None]] = []

    def allowed(self, state: int) -> np.ndarray:
        self.waits.append(time.sleep(MOMENT))
        return super().allowed(state)


MOMENT = 0.1


@pytest.mark.parametrize(
    ("slow", "constraint"),
    [
        # Masks of a loop of white space, masks along a way of characters, a tokenizer that encodes.
        (SlowMachine, explorer.regex("( {40})*x")),
        (SlowMachine, explorer.regex("[äö]{40}")),
        (SlowTokenizer, explorer.choice([f"x{k}" for k in range(40)])),
    ],
)
def test_no_search_goes_on_after_its_time(
    slow: type[SlowMachine | SlowTokenizer], constraint: explorer.Constraint
) -> None:
    """Each mask or each text takes a moment, of which three are more than there is time for."""
    kind = SlowTokenizer if slow is SlowTokenizer else explorer.Vocabulary
    vocabulary = kind((*(bytes([b]) for b in range(256)), None), (256,))
    machine: LazyMachine = explorer.compile(constraint, vocabulary, lazy=True)
    if slow is SlowMachine:
        machine = SlowMachine(
            constraint, vocabulary, constraint.dfa, machine.report, explorer.Budget()
        )
    for text in (b" " * 40, "ä".encode() * 39):
        state: int | None = machine.start
        for byte in text:
            state = machine.step(state, byte) if state is not None else None
    slow.waits.clear()
    with pytest.raises(BudgetExceeded, match=r"limit is 0\.25"):
        machine_traps(machine, budget=explorer.Budget(seconds=2.5 * MOMENT))
    assert 1 <= len(slow.waits) <= 3


def test_a_search_in_large_pieces_looks_at_its_clock() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"z", b"az"], eos_ids=[3])
    machine = explorer.compile(explorer.regex("[a-z]{0,100000}"), vocabulary, lazy=True)
    assert calls_of(lambda: machine_traps(machine), Meter.check_time) > 2
