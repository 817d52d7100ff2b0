"""The file with the figure of a run: its own script, the run's values, nothing to fetch."""

from __future__ import annotations

import json
import re

import pytest

from tests.widgets.figures.cases import toy_session
from widgets.figures.panels.tokens import over_time

pytest.importorskip("plotly")

from widgets.figures.panels.plotly_figures import trace_page


def test_the_page_needs_no_network_and_holds_the_values() -> None:
    trace = toy_session().trace
    html = trace_page(trace)
    tags = set(re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", html.split("<body>")[1]))
    assert all("src=" not in tag and "href=" not in tag for tag in tags)
    assert 3_000_000 < len(html.encode()) < 8_000_000
    drawn = re.search(r'Plotly\.newPlot\(\s*"trace",\s*(\[.*?\]),\s*\{"', html, re.DOTALL)
    assert drawn is not None
    first = json.JSONDecoder().raw_decode(drawn[1])[0][0]
    assert first["name"] == "feasible mass"
    assert first["y"] == list(over_time(trace).z)
