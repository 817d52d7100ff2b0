"""The places that the editor underlines while no token is selected."""

from __future__ import annotations

import explorer
from widgets.figures.packets import live_spans

LETTERS = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(32, 127)], eos_ids=[95])


def test_a_schema_is_not_underlined_as_a_whole() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    machine = explorer.compile(explorer.json_schema(schema), LETTERS)
    for text in (b"", b'{"a":', b'{"a":1'):
        assert live_spans(machine, text) == ()


def test_a_pattern_is_underlined_where_it_goes_on() -> None:
    machine = explorer.compile(explorer.regex("(foo)+d"), LETTERS)
    assert live_spans(machine, b"foo") == ((1, 2), (6, 7))
    # All of a pattern may be one place.
    assert live_spans(explorer.compile(explorer.regex("a"), LETTERS), b"") == ((0, 1),)
