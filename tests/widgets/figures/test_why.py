"""Explanations, groups and traps as the page gets them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import explorer
from explorer.analysis import explain_all, machine_traps
from tests.widgets.figures.cases import toy_vocabulary
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.panels.reasons import (
    grouped,
    more_packet,
    trap_packet,
    verdict_packet,
    widening_packet,
)

WORDS = ["ä", "ö", "a", "ab", "-", "7"]


@pytest.fixture
def vocabulary() -> explorer.Vocabulary:
    tokens = [*(word.encode() for word in WORDS), b"\xc3", b"\xb6"]
    return explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])


@pytest.mark.parametrize("token", range(9))
def test_every_packet_can_travel(vocabulary: explorer.Vocabulary, token: int) -> None:
    for pattern in ("[ä]", "a-7", "(a|ab)-"):
        dfa = explorer.compile(explorer.regex(pattern), vocabulary)
        found = explorer.explain(dfa, dfa.start, token)
        packets = [verdict_packet(found), more_packet(found), widening_packet(found)]
        assert json.loads(json.dumps(packets, allow_nan=False)) == packets
        assert (packets[0] or {})["allowed"] is bool(dfa.allowed(dfa.start)[token])


def test_parts_of_a_combination_carry_their_own_patterns(vocabulary: explorer.Vocabulary) -> None:
    both = explorer.regex("a.*") & explorer.regex(".*7")
    dfa = explorer.compile(both, vocabulary)
    packet = verdict_packet(explorer.explain(dfa, dfa.start, WORDS.index("-")))
    patterns = {part["pattern"] for part in packet["parts"]}  # type: ignore[attr-defined]
    assert patterns == {"a.*"}  # Only this operand dies.
    assert packet["spans"] == []  # There is no one pattern whose offsets these could be.
    assert (widening_packet(explorer.explain(dfa, dfa.start, 4)) or {"whole": False})[
        "whole"
    ] is False


def test_groups_after_the_budget(vocabulary: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex("a-?"), vocabulary)
    state = dfa.walk([WORDS.index("a")])[-1]
    weights = np.arange(1.0, 10.0) / 45
    reasons = explain_all(dfa, state, weights)
    mask = dfa.allowed(state).copy()
    whole = grouped(reasons, mask, weights)
    assert whole.packet["allowed"] == 2  # The hyphen and EOS.
    mask[WORDS.index("-")] = False
    cut = grouped(reasons, mask, weights)
    assert cut.packet["allowed"] == 1
    late = cut.packet["groups"][-1]  # type: ignore[index]
    assert late["examples"] == [WORDS.index("-")]
    assert late["mass"] == pytest.approx(weights[WORDS.index("-")])
    for found in (whole, cut):
        groups = found.packet["groups"]
        masses = [group["mass"] for group in groups]  # type: ignore[attr-defined]
        assert float(found.packet["z"]) + sum(masses) == pytest.approx(1)  # type: ignore[arg-type]
        for number, group in enumerate(groups):  # type: ignore[arg-type, var-annotated]
            ids = np.flatnonzero(found.members == number + 1)
            assert group["count"] == len(ids)
            assert group["mass"] == pytest.approx(weights[ids].sum())


@pytest.mark.parametrize(("pattern", "states"), [("(foo)+d", "1, 3"), ("(foo)+|d*for", None)])
def test_a_trap_numbers_states_as_they_are_drawn(pattern: str, states: str | None) -> None:
    dfa = explorer.compile(explorer.regex(pattern), toy_vocabulary())
    trap = next(trap for trap in machine_traps(dfa) if trap.kind == "endless")
    facts = {fact["label"]: fact.get("text") for fact in trap_packet(trap, dfa)["facts"]}  # type: ignore[attr-defined]
    drawn = {node.label for node in token_figure(dfa).nodes if node.kind == "state"}
    named = str(facts["states"]).split(", ")
    assert set(named) <= drawn
    members: list[int] = list(trap.evidence["states"])  # type: ignore[call-overload]
    assert sorted(map(int, named)) == sorted(dfa.char_state[members].tolist())
    assert states is None or facts["states"] == states


def test_a_loop_within_a_character_names_no_dot() -> None:
    """If no token writes a whole character, the loop goes through states without a number."""
    vocabulary = explorer.Vocabulary.from_bytes([b"\xc3", b"\xa4", b"x"], eos_ids=[3])
    dfa = explorer.compile(explorer.regex("ä+x"), vocabulary)
    trap = next(trap for trap in machine_traps(dfa) if trap.kind == "endless")
    (fact,) = [f for f in trap_packet(trap, dfa)["facts"] if f["label"] == "states"]  # type: ignore[attr-defined]
    dots = {node.id[1:] for node in token_figure(dfa).nodes if node.kind == "dot"}
    assert dots and not dots & set(fact["text"].split(", "))
