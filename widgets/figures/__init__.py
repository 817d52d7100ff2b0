"""Figures: pure functions from machines and traces to data, DOT and SVG; no widget is imported.

In reading order:

`labels`              characters, bytes and tokens as short, harmless text
`machine_figure`      a machine as nodes and edges with words
`character_fsa`, `detokenizing_figure`, `token_dfa`, `stages`
                      the machines of the pipeline as figures
`dot`, `geometry`, `layout`, `ahead`
                      where they go: Graphviz for places, curves of our own, a strip where too large
`position`, `walk`, `strip`, `distribution`, `reasons`, `mask`, `over_time`
                      what is shown of a step, a token, a run
`packets`             what travels to a page
`snapshot`, `plotly_figure`
                      a static picture of one position, an interactive one of a run
"""

from __future__ import annotations

from widgets.figures.drawing.layout import lay_out
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.detokenizing_figure import detokenizing_figure, relevant_tokens
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.machines.walk import walk_packet
from widgets.figures.packets import machine_packet, trace_packet, vocabulary_packet
from widgets.figures.panels.strip import strip_packet
from widgets.figures.position import position_packet

__all__ = [
    "MachineFigure",
    "character_figure",
    "detokenizing_figure",
    "lay_out",
    "machine_packet",
    "position_packet",
    "relevant_tokens",
    "strip_packet",
    "token_figure",
    "trace_packet",
    "vocabulary_packet",
    "walk_packet",
]
