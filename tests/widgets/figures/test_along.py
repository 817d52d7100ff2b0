"""The columns along the text agree with the machines, for any constraint and any tokens."""

from __future__ import annotations

from typing import Any, cast

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.automata.machine import NO_ARC
from widgets.figures.panels.along import COLUMNS, along_text
from widgets.figures.panels.tokens import bars
from widgets.toy import ToyModel, toy_constraint

TOKENS = [b"a", b"b", "é".encode(), "é".encode()[:1], "é".encode()[1:], b"ab", "aé".encode(), b"("]


def found(session: Session, k: int) -> dict[str, Any]:
    trace, machine = session.trace, session.machine
    packet = along_text(trace, k, machine, bars(trace, k, machine))
    assert packet is not None
    return cast("dict[str, Any]", packet)


@pytest.mark.parametrize(
    "constraint",
    [
        explorer.regex("(a|b|é)+"),
        explorer.grammar('start: "(" start | /[abé]+/', syntax="lark"),
        explorer.regex("(ab|aé|é)*(é|b)*|a.*"),
    ],
)
def test_a_column_is_a_state_of_each_machine(constraint: explorer.Constraint) -> None:
    vocabulary = explorer.Vocabulary.from_bytes(TOKENS, eos_ids=[8])
    session = Session.from_ids(vocabulary, constraint, [0, 2, 5, 3, 4, 6])
    trace, machine = session.trace, session.machine
    for k in range(len(trace.steps) + 1):
        columns = found(session, k)
        data = trace.positions[k].data
        assert len(columns["fsa"]) == len(columns["fst"]) == len(columns["pairs"])
        assert len(columns["text"]) + 1 == len(columns["fsa"])
        # A token ends where there is a pair, and there the FST is at its root.
        roots = [i for i, prefix in enumerate(columns["fst"]) if prefix == "r"]
        assert roots == [i for i, pair in enumerate(columns["pairs"]) if pair is not None]
        assert roots == [0, *(to for _, to, _, _ in columns["tokens"])]
        states = [machine.byte_state(p.state) for p in trace.positions[: k + 1]]
        assert [columns["fsa"][i] for i in roots] == [str(state) for state in states]
        # Halves of a character have a column each, whole ones one.
        halves = sum(text.startswith("<") for text in columns["text"])
        assert len(columns["text"]) == len(data.decode(errors="ignore")) + (halves + 1) // 2
        # Ahead: an allowed token leads to a pair, a masked one fails where the machine does.
        for token in columns["ahead"]:
            after = machine.step(trace.positions[k].state, token["id"])
            assert (token["pair"] is None) == (after is None)
            assert token["pair"] is None or token["fails"] is None
        for level in columns["next"]:
            assert 0 < len(level["states"]) <= 3
            for _, to, label in level["arcs"]:
                assert to < len(level["states"])
                assert label
        assert NO_ARC not in states


def test_the_end_of_the_text_has_a_column_of_its_own() -> None:
    session = Session(ToyModel(), toy_constraint())
    for token in (2, 4, 5):
        session.step(token)
    columns = found(session, 3)
    assert columns["text"][-1] == ""
    assert (columns["reads"][-1], columns["writes"][-1]) == ("ε", "EOS : ε")
    assert columns["pairs"][-1] == "end"
    assert (columns["next"], columns["ahead"]) == ([], [])


def test_of_a_long_text_the_last_columns_are_shown() -> None:
    session = Session(ToyModel(), toy_constraint())
    for _ in range(20):
        session.step(2)
    columns = found(session, 20)
    assert COLUMNS <= len(columns["text"]) < COLUMNS + 4
    assert columns["left_out"] == 20 - len(columns["tokens"])
    # Of what comes next the likeliest allowed tokens, and up to three masked ones.
    ahead = columns["ahead"]
    assert [one["fails"] is None and one["pair"] is not None for one in ahead][:3] == [True] * 3
    assert len(ahead) <= 6
    for_ = next(one for one in ahead if one["text"] == ["f", "o", "r"])
    assert (for_["fails"], for_["pair"]) == (2, None)


def test_without_a_constraint_there_is_nothing_to_read() -> None:
    session = Session(ToyModel(), None)
    assert along_text(session.trace, 0, session.machine, ()) is None
