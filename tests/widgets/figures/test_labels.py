"""Words in drawings: none over a state, none over another, none cut off, on every preset."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

import explorer
from explorer.decoding.models.load import load_model
from tests.presets import presets_of
from widgets import kinds
from widgets.figures.drawing.geometry import Layout, Routed
from widgets.figures.drawing.labels import tokens_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.drawn import draw_whole
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.stages import stages_made


@cache
def drawings(preset: str) -> dict[str, tuple[MachineFigure, Layout]]:
    """All machines of a preset with the tiny model's vocabulary, T_V over what is allowed first."""
    vocabulary = load_model("tiny").vocabulary
    chosen = next(p for p in presets_of("first") if p.name == preset)
    dfa = explorer.compile(kinds.constraint_of_kind(chosen.kind, chosen.text), vocabulary)
    tokens = [t for t in dfa.allowed(dfa.start).nonzero()[0].tolist() if vocabulary.tokens[t]][:10]
    found: dict[str, tuple[MachineFigure, Layout]] = {}
    for form in ("characters", "bytes"):
        drawn = draw_whole(dfa, form)
        found |= {f"{n} {form}": (f, drawn.layouts[n]) for n, f in drawn.figures.items()}
    figures = {"detokenizing_fst": detokenizing_figure(vocabulary, tokens)}
    figures |= {
        f"stage {k}": one
        for k, one in enumerate([made.figure for made in stages_made(dfa, tokens)])
    }
    layouts = lay_out_figures(figures)
    return found | {name: (figure, layouts[name]) for name, figure in figures.items()}


def shown(figure: MachineFigure, layout: Layout) -> dict[str, Routed]:
    words = {edge.id for edge in figure.edges if edge.label}
    return {n: place for n, place in layout.edges.items() if n in words and not place.tucked}


def faults(figure: MachineFigure, layout: Layout) -> list[tuple[str, str]]:
    """Labels that lie on a state, on another label, or outside the frame."""
    places = shown(figure, layout)
    found: list[tuple[str, str]] = []
    for (one, a), (two, b) in itertools.combinations(places.items(), 2):
        wide = min(a.box[2], b.box[2]) > max(a.box[0], b.box[0])
        if wide and min(a.box[3], b.box[3]) > max(a.box[1], b.box[1]):
            found.append((one, two))
    for name, place in places.items():
        left, top, right, bottom = place.box
        for state, node in layout.nodes.items():
            dx, dy = max(left - node.x, node.x - right, 0), max(top - node.y, node.y - bottom, 0)
            if node.r and dx * dx + dy * dy < node.r * node.r:
                found.append((name, state))
        if left < 0 or top < 0 or right > layout.width or bottom > layout.height:
            found.append((name, "frame"))
    return found


@pytest.mark.parametrize("preset", [p.name for p in presets_of("first")])
def test_no_label_lies_on_a_state_or_a_label_or_is_cut(preset: str) -> None:
    for name, (figure, layout) in drawings(preset).items():
        assert faults(figure, layout) == [], name
        for place in layout.edges.values():
            assert place.box[2] - place.box[0] >= 0


def test_all_labels_of_the_presets_have_a_place() -> None:
    tucked = sum(
        place.tucked
        for preset in presets_of("first")
        for _, layout in drawings(preset.name).values()
        for place in layout.edges.values()
    )
    assert tucked == 0


def test_a_fault_would_be_seen() -> None:
    figure, layout = drawings("choices")["token_dfa characters"]
    name, place = next(iter(shown(figure, layout).items()))
    source = layout.nodes[next(e.source for e in figure.edges if e.id == name)]
    moved = place.moved(source.x - place.x, source.y - place.y)
    spoilt = Layout(layout.width, layout.height, layout.nodes, {**layout.edges, name: moved})
    assert any(name in pair for pair in faults(figure, spoilt))
    small = Layout(10.0, 10.0, layout.nodes, layout.edges)
    assert any("frame" in pair for pair in faults(figure, small))


@pytest.mark.parametrize("preset", [p.name for p in presets_of("first")])
def test_drawings_are_low_and_read_from_left_to_right(preset: str) -> None:
    figure, layout = drawings(preset)["character_fsa characters"]
    assert layout.height < 400
    start = next(node.id for node in figure.nodes if node.start)
    assert layout.nodes[start].x == min(node.x for node in layout.nodes.values())
    if preset in ("choices", "ISO date-time", "IPv4", "JSON record"):  # No circles.
        for edge in figure.edges:
            assert layout.nodes[edge.source].x < layout.nodes[edge.target].x


def test_labels_of_tokens_are_short_and_say_how_many() -> None:
    assert tokens_label(["5", "3", "4"], 3) == "3-5"
    assert tokens_label(["a", "b"], 2) == "a  b"
    assert tokens_label(["00", "01"], 100) == "00 +99"
    assert len(tokens_label(["abcdefghijkl"], 131_072)) <= 18
