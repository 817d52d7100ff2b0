"""A search over a machine that discovers its states stops by itself, and what asked for it says so.

The machine here has 2^26 states, and a way to the end passes 26 of them: no search comes that far.
"""

from __future__ import annotations

import pytest

import explorer
from explorer.analysis import explain, explain_all
from explorer.analysis.verdict.background import DISCOVERED
from explorer.errors import BudgetExceeded
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from widgets.figures.panels.reasons import more_packet

HUGE = "(a|b)*a(a|b){25}"
VOCABULARY = Vocabulary.from_bytes([b"a", b"b", b"z"], eos_ids=[3])
A, Z = 0, 2
NEVER = "The search for a place where it would be allowed stopped: "
LIMIT = f"states; the limit is {DISCOVERED.states:,}."


@pytest.fixture(scope="module")
def machine() -> TokenMachine:
    room = explorer.Budget(states=200_000)
    return explorer.compile(explorer.regex(HUGE), VOCABULARY, room, lazy=True)


def _met(machine: TokenMachine) -> int:
    """The number of byte states met so far."""
    assert machine.byte_machine is not None
    return machine.byte_machine.num_states


def test_an_explanation_is_whole_and_says_that_the_search_stopped(
    machine: TokenMachine,
) -> None:
    machine.allowed(machine.start)  # The tokens near a masked one are read from the mask.
    met = _met(machine)
    masked, allowed = explain(machine, machine.start, Z), explain(machine, machine.start, A)
    assert NEVER in masked.paragraph and LIMIT in masked.paragraph
    assert "The search for a way to the end stopped: " in allowed.paragraph
    assert LIMIT in allowed.paragraph
    assert _met(machine) == met
    with pytest.raises(BudgetExceeded):
        masked.after  # noqa: B018
    answer = masked.to_dict()
    assert answer["after"] is None and answer["stopped"] == list(masked.stopped) != []


def test_a_stopped_search_is_not_begun_again(machine: TokenMachine) -> None:
    masked = explain(machine, machine.start, Z)
    assert masked.stopped
    met = _met(machine)
    assert NEVER in masked.paragraph and masked.to_dict()["stopped"]
    assert _met(machine) == met


def test_a_budget_that_was_given_rules() -> None:
    pattern = explorer.regex("(a|b)*a(a|b){12}")
    small = explorer.compile(pattern, VOCABULARY, explorer.Budget(states=2000))
    assert small.report.byte_machine == "discovered"
    machine = explorer.compile(pattern, VOCABULARY, explorer.Budget(states=100_000), lazy=True)
    few = explain(machine, machine.start, Z, budget=explorer.Budget(states=50))
    assert "the limit is 50." in few.paragraph


def test_the_page_says_so_too(machine: TokenMachine) -> None:
    for token in (A, Z):
        packet = more_packet(explain(machine, machine.start, token))
        assert packet["stopped"] and LIMIT in str(packet["stopped"])
        assert packet["after"] is None and packet["completion"] is None
        assert not packet["nowhere"]  # It is not known that it stays masked.


@pytest.mark.long
def test_a_state_too_far_to_search_for_is_explained_after_the_text_that_led_there() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"x", b"y", b"!", b"ab"], eos_ids=[6])
    pairs = explorer.grammar('root ::= "a" root "x" | "b" root "y" | "!"')
    machine = explorer.compile(pairs, vocabulary)
    state = machine.start
    for _ in range(10):  # 2^20 texts are not longer.
        after = machine.step(state, 5)
        assert after is not None
        state = after
    met = _met(machine)
    why = explain(machine, state, 2)
    assert why.verdict.prefix == b"ab" * 10 and why.assumed_prefix
    assert why.prose == explain(machine, state, 2, text=b"ab" * 10).prose
    assert explain_all(machine, state).groups == explain_all(machine, state, text=b"ab" * 10).groups
    assert _met(machine) == met
    assert machine.step(state, 5) is not None


@pytest.mark.parametrize("one", [True, False])
def test_asking_discovers_nothing_in_the_machine_that_decides(one: bool) -> None:
    """Twelve members in any order: there are 2^12 states between two of them."""
    names = [f"p{k}" for k in range(12)]
    schema = {
        "type": "object", "properties": {name: {"type": "integer"} for name in names},
        "required": names, "additionalProperties": False,
    }  # fmt: skip
    every = [bytes([k]) for k in range(256)]
    vocabulary = Vocabulary.from_bytes([*every, None], eos_ids=[256])
    constraint = explorer.json_schema(schema, property_order="any")
    room = explorer.Budget(states=3_000)
    machine = explorer.compile(constraint, vocabulary, room, lazy=True)
    text = ",".join(f'"p{k}":1' for k in reversed(range(12)))
    state = machine.start
    for byte in f"{{{text[:-7]}".encode():
        machine.allowed(state)
        after = machine.step(state, byte)
        assert after is not None
        state = after
    met = _met(machine)
    if one:
        why = explain(machine, state, ord("}"))
        assert why.stage == "constraint" and why.verdict.prefix.endswith(b'"p1":1')
        assert why.completion is None
    else:
        assert explain_all(machine, state).num_allowed
    assert _met(machine) == met
    assert machine.step(state, ord(",")) is not None
