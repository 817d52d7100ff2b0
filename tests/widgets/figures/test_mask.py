"""The masks of a page without a kernel, against the trace itself."""

from __future__ import annotations

from explorer.analysis.session import Session
from tests.widgets.figures.cases import toy_session
from widgets.figures.packets import trace_packet
from widgets.figures.panels.mask import unpack_bits
from widgets.toy import ToyModel


def test_the_page_without_a_kernel_has_the_masks_of_the_trace() -> None:
    run = toy_session()
    trace, stored = run.trace, trace_packet(run.trace, run.machine)
    rows, positions = stored["rows"], stored["positions"]
    assert isinstance(rows, list) and isinstance(positions, list)
    assert len(set(rows)) == len(rows)
    for k, position in enumerate(positions):
        row = unpack_bits(rows[position["row"]], trace.num_classes)
        allowed = trace.allowed(k) & (not trace.positions[k].finished)
        assert row[trace.token_class].tolist() == allowed.tolist()


def test_without_a_constraint_there_are_no_rows() -> None:
    free = Session(ToyModel(), None)
    free.step()
    stored = trace_packet(free.trace, free.machine)
    positions = stored["positions"]
    assert isinstance(positions, list)
    assert stored["rows"] == [] and {position["row"] for position in positions} == {-1}
