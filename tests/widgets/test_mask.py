"""The run as a figure, and its absence as a remedy."""

from __future__ import annotations

import sys

import pytest

from explorer.errors import MissingDependency
from widgets.figures.panels.tokens import over_time
from widgets.views.explorer import Explorer


def test_the_figure_of_a_run_and_its_absence_as_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly")
    made = Explorer()
    made.cursor.run(3)
    assert list(made.figure().data[0].y) == list(over_time(made.session.trace).z)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingDependency, match="plotly"):
        made.figure()
    made.close()
