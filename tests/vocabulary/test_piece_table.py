"""Tables from pieces to ids: what is an id, and what only looks like one."""

from __future__ import annotations

import pytest

from explorer.errors import DamagedFile
from explorer.vocabulary.readers.piece_table import ids_of_pieces


@pytest.mark.parametrize("wrong", [True, False, -1, 1.0, "1", None])
def test_an_id_is_a_whole_number_from_0(wrong: object) -> None:
    """JSON's true and false are numbers to Python."""
    with pytest.raises(DamagedFile, match="the piece 'b' has the id") as caught:
        ids_of_pieces({"a": 0, "b": wrong}, "vocab.json")
    assert caught.value.evidence == {"piece": "b", "id": wrong}


def test_ids_need_no_order() -> None:
    assert ids_of_pieces({"a": 7, "b": 0}, "vocab.json") == {"a": 7, "b": 0}
