"""Words of the page that a first reader must understand, where Python says them."""

from __future__ import annotations

import explorer
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.panels.reasons import NAMES


def test_states_inside_a_character_are_counted_apart() -> None:
    """The numbers of two drawings differ by the states where half a character was read."""
    letters = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    machine = explorer.compile(explorer.regex("[äöü]{60}x"), letters)
    figure = character_figure(machine, only=range(3))
    assert machine.byte_machine is not None
    states = machine.byte_machine.num_states
    assert "of 62 states" in figure.caption
    assert f"{states - 62} more states lie inside characters of several bytes" in figure.about


def test_every_kind_of_trap_has_a_name_in_words() -> None:
    from typing import get_args

    from explorer.analysis.traps import Kind

    assert set(NAMES) == set(get_args(Kind))
    assert all("_" not in name for name in NAMES.values())
