"""A kind is registered under a text, with a function; anything else is refused there."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.errors import ConstraintError
from widgets.kinds import kinds, register_kind


@pytest.mark.parametrize(("name", "build"), [(None, 1), (3, str), ("a kind", 1), (b"a", str)])
def test_a_wrong_kind_is_refused_and_not_offered(name: Any, build: Any) -> None:
    """The editor's message holds the names of all kinds, so a wrong one broke it."""
    before = kinds()
    with pytest.raises(ConstraintError):
        register_kind(name, build)
    assert kinds() == before
