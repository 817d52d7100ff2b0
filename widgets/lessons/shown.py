"""A machine in words: what a picture shows, for whoever cannot see it."""

from __future__ import annotations

from widgets.figures.machines.machine_figure import MachineFigure


def figure_words(figure: MachineFigure) -> list[str]:
    """The arcs of a machine, one on a line, and where it starts and may end.

    Args:
        figure: The machine.
    """
    names = {node.id: node.label or node.id for node in figure.nodes}
    lines = [f"{names[e.source]} -{e.label}-> {names[e.target]}" for e in figure.edges]
    starts = ", ".join(names[node.id] for node in figure.nodes if node.start)
    ends = ", ".join(names[node.id] for node in figure.nodes if node.accepting)
    return [*lines, f"start {starts}; the text may end in {ends or 'no state'}"]
