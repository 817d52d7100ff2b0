"""Tables from pieces to ids: what is an id, and what only looks like one."""

from __future__ import annotations

from explorer.vocabulary.readers.piece_table import ids_of_pieces


def test_ids_need_no_order() -> None:
    assert ids_of_pieces({"a": 7, "b": 0}, "vocab.json") == {"a": 7, "b": 0}
