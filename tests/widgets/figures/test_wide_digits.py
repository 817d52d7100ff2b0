"""A pattern whose digits are those of all scripts is said to be one, with what to write instead."""

from __future__ import annotations

import re
import sys

import pytest

import explorer
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.packets import machine_packet, narrower

BYTES = explorer.Vocabulary.from_bytes([bytes([b]) for b in range(256)], eos_ids=[256])


@pytest.mark.parametrize("pattern", [r"\d{3}", r"(?=.*\d)[a-z\d]{3,6}", r"a|\d\\d"])
def test_what_is_offered_means_ten_digits_and_nothing_else_changes(pattern: str) -> None:
    machine = explorer.compile(explorer.regex(pattern), BYTES)
    said = narrower(machine)
    if said is None:
        # Some of the digits are on an arc of their own: nothing is claimed.
        assert pattern == r"(?=.*\d)[a-z\d]{3,6}"
        return
    count = sum(re.fullmatch(r"\d", chr(code)) is not None for code in range(sys.maxunicode + 1))
    assert f"{count} digits" in str(said["said"])
    assert machine_packet(machine)["narrower"] == said
    texts = ["123", "٣٤٥", "12", "a", r"1\d", r"٣\d", "d", "5", "1x"]
    patterns = said["patterns"]
    assert isinstance(patterns, list)
    for other in patterns:
        for text in texts:
            ascii_only = re.fullmatch(pattern, text, re.ASCII) is not None
            assert (re.fullmatch(str(other), text) is not None) == ascii_only


@pytest.mark.parametrize("pattern", ["[0-9]{3}", r"(?a)\d{3}", r"\\d", "abc"])
def test_of_other_patterns_nothing_is_said(pattern: str) -> None:
    assert narrower(explorer.compile(explorer.regex(pattern), BYTES)) is None


def test_by_characters_a_pattern_of_many_byte_states_has_few() -> None:
    machine = explorer.compile(explorer.regex(r"(?=.*\d)[a-z\d]{3,6}"), BYTES)
    assert machine.constraint is not None and machine.constraint.dfa.num_states > 100
    figure = character_figure(machine)
    assert len(figure.nodes) <= 14 and not [node for node in figure.nodes if node.kind == "dot"]
    assert len(character_figure(machine, "bytes").nodes) > 100
