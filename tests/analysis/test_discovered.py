"""Constraints without a closed form within their budget are explained, traced and trapped too."""

from __future__ import annotations

from pathlib import Path

import explorer
from explorer.analysis import explain, explain_text, machine_traps
from explorer.analysis.session import Session
from explorer.automata.machine import Dfa
from explorer.vocabulary import Vocabulary

TOKENS = [b'"', b"a", b"ab", b"abab", b"\\", b"n", "é".encode(), b"\xc3", b"x", b"12", b"1"]
VOCABULARY = Vocabulary.from_bytes([*TOKENS, None], eos_ids=[len(TOKENS)])
SMALL = explorer.Budget(states=2000)

LONG = r'"(?:[a-z]|\\n){3,4000}"[0-9]{2}'
SHORT = r'"(?:[a-z]|\\n){3,14}"[0-9]{2}'
"""The same with a bound that a table holds; after a few characters nothing tells them apart."""


def test_it_is_explained_as_the_closed_form_is() -> None:
    long = explorer.compile(explorer.regex(LONG), VOCABULARY, SMALL)
    short = explorer.compile(explorer.regex(SHORT), VOCABULARY)
    assert long.report.byte_machine == "discovered" and not isinstance(long.byte_machine, Dfa)
    here, there = long.start, short.start
    for token in (0, 2, 3, 0):
        for asked in range(len(TOKENS) + 1):
            ours, theirs = explain(long, here, asked), explain(short, there, asked)
            assert ours.allowed == theirs.allowed and ours.stage == theirs.stage
            assert ours.expected == theirs.expected
            texts = [
                [place.text for part in found.parts for place in part.positions]
                for found in (ours, theirs)
            ]
            assert texts[0] == [text.replace("{3,14}", "{3,4000}") for text in texts[1]]
            assert ours.prose.replace("4000", "14") == theirs.prose
        after, beside = long.step(here, token), short.step(there, token)
        assert after is not None and beside is not None
        here, there = after, beside


def test_a_place_is_named_by_its_count() -> None:
    """Only a run with the counts knows what may come after the fewest and before the most."""
    long = explorer.regex("(?:ab){3,9000}c")
    assert [p.text for p in explain_text(long, "ababx").parts[0].positions] == ["a"]
    assert [p.text for p in explain_text(long, "abababx").parts[0].positions] == ["a", "c"]
    assert [p.text for p in explain_text(long, "ab" * 9000 + "x").parts[0].positions] == ["c"]


def test_a_session_runs_over_it_and_its_trace_reads_back(tmp_path: Path) -> None:
    machine = explorer.compile(explorer.regex(LONG), VOCABULARY, SMALL)
    session = Session.from_ids(VOCABULARY, machine, [0, 3, 1, 0, 9])
    trace = session.trace
    assert trace.text == '"ababa"12' and all(p.char_state >= 0 for p in trace.positions)
    trace.save(tmp_path / "trace")
    again = explorer.Trace.load(tmp_path / "trace")
    assert [p.state for p in again.positions] == [p.state for p in trace.positions]
    assert again.constraint is not None and again.constraint.source == machine.constraint.source
    session.back()
    assert session.trace.text == '"ababa"' and not session.explain(1).allowed
    assert {trap.kind for trap in machine_traps(machine)} == {"visited_only"}


def test_a_text_is_read_where_no_table_holds_the_language() -> None:
    long = explorer.regex("(?:[ab]{0,5000}c){0,5000}")
    assert long.accepts("ab" * 2500 + "c" + "ac") and not long.accepts("a" * 5001 + "c")
    found = explain_text(long, "a" * 5001)
    assert found.verdict.byte_offset == 5000 and found.verdict.expected == b"c"
