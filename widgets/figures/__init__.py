"""Figures: pure functions from machines and traces to data and SVG; no widget is imported.

In reading order:

`drawing`             the parts of every drawing: labels, places, curves
`machines`            the machines of the pipeline as nodes and edges, and what is lit in them
`panels`              the data beside them: tokens, probabilities, reasons, the mask
`told`                the packets that a page is sent without asking, as types
`packets`             the values that a page gets once, and at each step
`snapshot`            a static picture of one position
`animation`           an animated picture of a run, of the same parts
"""

from __future__ import annotations

from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.detokenizing_figure import detokenizing_figure, shown_tokens
from widgets.figures.machines.lit import walk_packet
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.packets import machine_packet, position_packet, trace_packet, vocabulary_packet
from widgets.figures.panels.tokens import strip_packet

__all__ = [
    "MachineFigure",
    "character_figure",
    "detokenizing_figure",
    "lay_out_figures",
    "machine_packet",
    "position_packet",
    "shown_tokens",
    "strip_packet",
    "token_figure",
    "trace_packet",
    "vocabulary_packet",
    "walk_packet",
]
