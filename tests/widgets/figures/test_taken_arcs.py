"""In a still, an arc that was taken is named by the token that took it."""

from __future__ import annotations

import re

import explorer
from explorer.analysis.session import Session
from widgets.figures.snapshot import snapshot


def test_a_taken_arc_of_many_tokens_is_named_by_the_taken_one() -> None:
    """Two digits of ten tokens each, in byte order 0 first: the run takes 7 and then 3."""
    digits = explorer.Vocabulary.from_bytes([*(str(k).encode() for k in range(10))], eos_ids=[10])
    trace = Session.from_ids(digits, explorer.regex("[0-9]{2}"), [7, 3, 10]).trace
    machine = explorer.compile(explorer.regex("[0-9]{2}"), digits)
    labels = [set(re.findall(r">(\S+ \+9)<", snapshot(trace, k, machine).svg)) for k in range(3)]
    # At the start 7 is about to be taken, then 3; the other arc keeps its own name.
    assert labels == [{"7 +9"}, {"7 +9", "3 +9"}, {"7 +9", "3 +9"}]
