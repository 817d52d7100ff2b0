"""Machines from elsewhere: damaged ones are refused by name, and never reach a kernel."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.construction.minimize import minimize
from explorer.automata.interchange.validate import checked_dfa, checked_nfa
from explorer.automata.machine import Dfa
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ConstraintError, DamagedFile, ExplorerError
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.evidence import examples
from tests.optional import interegular_fsm
from tests.patterns import patterns

GIVEN = explorer.regex("(foo)+d").dfa


def checked(**changes: Any) -> Dfa:
    parts: dict[str, Any] = {
        "symbol_class": GIVEN.symbol_class,
        "table": GIVEN.table,
        "accepting": GIVEN.accepting,
        "start": GIVEN.start,
    }
    parts |= changes
    return checked_dfa(**parts)


def changed(array: np.ndarray[Any, Any], place: Any, value: object) -> np.ndarray[Any, Any]:
    copy = array.copy()
    copy[place] = value
    return copy


DAMAGED: dict[str, dict[str, Any]] = {
    "entry past the states": {"table": changed(GIVEN.table, (0, 0), 2_000_000_000)},
    "entry below -1": {"table": changed(GIVEN.table, (0, 0), -2)},
    "entry past int32": {"table": [[2**40] * GIVEN.num_classes] * GIVEN.num_states},
    "entry past every integer": {"table": [[2**80] * GIVEN.num_classes] * GIVEN.num_states},
    "entries with fractions": {"table": GIVEN.table.astype(np.float64)},
    "entries of text": {"table": [["1"] * GIVEN.num_classes] * GIVEN.num_states},
    "rows of different lengths": {"table": [[0, 1], [0]]},
    "table of one dimension": {"table": [0] * GIVEN.num_states},
    "no table": {"table": None},
    "a number as table": {"table": 7},
    "no states": {"table": []},
    "no classes": {"table": [[]] * GIVEN.num_states},
    "class past the table": {"symbol_class": changed(GIVEN.symbol_class, 0, GIVEN.num_classes)},
    "class below 0": {"symbol_class": changed(GIVEN.symbol_class, 0, -(2**31))},
    "255 bytes": {"symbol_class": GIVEN.symbol_class[:255]},
    "257 bytes": {"symbol_class": np.append(GIVEN.symbol_class, 0)},
    "accepting too short": {"accepting": GIVEN.accepting[:-1]},
    "accepting as numbers": {"accepting": GIVEN.accepting.astype(np.int32)},
    "accepting nowhere": {"accepting": np.zeros_like(GIVEN.accepting)},
    "start past the states": {"start": GIVEN.num_states},
    "start of an empty machine": {"start": -1},
    "start a text": {"start": "0"},
    "start true": {"start": True},
    "not minimal": {"start": 1},
    "not text": {"symbol_class": np.where(np.arange(256) == 255, GIVEN.symbol_class[102],
                                          GIVEN.symbol_class)},
}  # fmt: skip


@pytest.mark.parametrize("changes", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_machine_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DamagedFile) as caught:
        checked(**changes)
    assert "machine" in caught.value.message and caught.value.remedy


@given(patterns())
@settings(max_examples=examples(25))
def test_what_we_make_is_sound(pattern: str) -> None:
    dfa = explorer.regex(pattern).dfa
    again = checked_dfa(
        dfa.symbol_class.tolist(), dfa.table.tolist(), dfa.accepting.tolist(), dfa.start
    )
    assert again.start == dfa.start and np.array_equal(again.accepting, dfa.accepting)
    assert np.array_equal(again.symbol_class, dfa.symbol_class)
    assert again.table.shape == dfa.table.shape and np.array_equal(again.table, dfa.table)
    assert again.table.dtype == np.int32 and again.table.flags.c_contiguous


@given(st.data())
@settings(max_examples=examples(120))
def test_one_changed_value_is_refused_or_another_sound_machine(data: st.DataObject) -> None:
    """Whatever is accepted can be run: minimal, over text, every number in range."""
    name = data.draw(st.sampled_from(["symbol_class", "table", "accepting"]))
    array: Any = getattr(GIVEN, name).copy()
    place = data.draw(st.integers(0, array.size - 1))
    wild = st.sampled_from([-(2**31), -2, -1, 0, 1, 2, 3, 4, 5, 6, 2_000_000_000, 2**31 - 1])
    array.flat[place] = data.draw(wild if name != "accepting" else st.booleans())
    try:
        dfa = checked(**{name: array})
    except DamagedFile:
        return
    assert minimize(dfa, Meter()).num_states == dfa.num_states
    for word in explorer.Constraint(source_from_dict(_imported(dfa))).examples(3):
        word.encode()


def _imported(dfa: Dfa) -> dict[str, object]:
    return {
        "kind": "imported",
        "origin": "from_fst",
        "symbol_class": dfa.symbol_class.tolist(),
        "table": dfa.table.tolist(),
        "accepting": dfa.accepting.tolist(),
        "start": dfa.start,
    }


def test_an_imported_source_is_checked_when_it_is_read() -> None:
    source = explorer.Constraint.from_fst(explorer.regex("(foo)+d").fsa, labels="explorer").source
    saved = json.loads(json.dumps(source_to_dict(source)))
    assert explorer.Constraint(source_from_dict(saved)).accepts("food")
    saved["table"][0][0] = 2_000_000_000
    with pytest.raises(DamagedFile, match="2,000,000,000"):
        source_from_dict(saved)


def test_an_imported_machine_without_words_is_saved_and_read() -> None:
    nothing = explorer.Constraint.from_fst((explorer.regex("a") & explorer.regex("b")).fsa)
    again = explorer.Constraint(source_from_dict(source_to_dict(nothing.source)))
    assert again.is_empty()


def test_arcs_are_checked_too() -> None:
    sound: tuple[Any, ...] = (2, 0, [(0, 97, 97, 1)], [(1, 0)], [1])
    assert checked_nfa(*sound).num_states == 2
    for k, wrong in [
        (0, 0), (0, "2"), (1, 2), (1, -1), (2, [(0, 97, 97, 2)]), (2, [(0, 97, 256, 1)]),
        (2, [(0, 98, 97, 1)]), (2, [(-1, 97, 97, 1)]), (2, [(0, 97)]), (3, [(0, 2)]), (4, [2]),
        (4, [0.5]),
    ]:  # fmt: skip
        parts = [*sound]
        parts[k] = wrong
        with pytest.raises(ExplorerError):
            checked_nfa(*parts)


def test_size_is_announced() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        checked_dfa([0] * 256, [[0]] * 5000, [True] * 5000, 0, meter=Meter(Budget(states=4999)))
    assert (caught.value.resource, caught.value.reached) == ("states", 5000)


def _fsm(**changes: Any) -> Any:
    symbols: Any = {"a": 0}
    parts: dict[str, Any] = {
        "alphabet": interegular_fsm.Alphabet(symbols), "states": {0, 1}, "initial": 0,
        "finals": {1}, "map": {0: {0: 1}},
    }  # fmt: skip
    made = interegular_fsm.FSM(**parts)
    made.__dict__.update(changes)  # The class checks only some of this itself.
    return made


@pytest.mark.parametrize(
    "changes",
    [{"initial": 7}, {"finals": frozenset({7})}, {"map": {0: {0: 7}}}, {"map": {7: {0: 1}}},
     {"map": {0: {7: 1}}}],
    ids=["initial", "final", "target", "source", "class"],
)  # fmt: skip
def test_an_fsm_that_names_what_it_does_not_have(changes: dict[str, Any]) -> None:
    assert explorer.Constraint.from_fsm(_fsm()).accepts("a")
    with pytest.raises(ConstraintError):
        explorer.Constraint.from_fsm(_fsm(**changes))
