"""Words stand clear of every arc, by geometry: on the toy, the model's picture and all presets."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import explorer
from explorer.decoding.models.load import load_model
from tests.presets import preset_named, presets_of
from tests.widgets.figures.cases import toy_dfa
from tests.widgets.figures.clear import Collision, collisions
from widgets import kinds
from widgets.figures.drawing.geometry import Layout
from widgets.figures.drawing.labels import tokens_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.drawn import draw_whole
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.stages import stages_made

DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
MONTHS = ("07", "12", "08", "05", "10", "04", "11", "06", "01", "02")

DENSE = {"JSON record": 140}
"""Token DFAs of hundreds of arcs between a few dozen states: so many labels at most lie on another
arc. None of the drawings hides one."""

CROWDED = {"quoted text": 3, "countries": 5, "countries in any case": 14}
"""A few of each drawing, likewise."""

NAMES = (*(preset.name for preset in presets_of("first")), "countries", "countries in any case")

MOST_SET_IN = 40
"""Labels of all presets' drawings together that are set into their own arc, dense ones left out."""

Drawings = dict[str, tuple[MachineFigure, Layout]]


def machines(dfa: explorer.TokenDFA, tokens: list[int]) -> Drawings:
    drawn = draw_whole(dfa)
    pairs = {name: (figure, drawn.layouts[name]) for name, figure in drawn.figures.items()}
    figures = {"detokenizing_fst": detokenizing_figure(dfa.vocabulary, tokens)}
    if dfa.num_states < 40:
        made = enumerate(stages_made(dfa, tokens))
        figures |= {f"stage {number}": stage.figure for number, stage in made}
    layouts = lay_out_figures(figures)
    return pairs | {name: (figure, layouts[name]) for name, figure in figures.items()}


@cache
def offered(name: str) -> Drawings:
    vocabulary = load_model("tiny").vocabulary
    preset = preset_named(name)
    dfa = explorer.compile(kinds.constraint_of_kind(preset.kind, preset.text), vocabulary)
    allowed = dfa.allowed(dfa.start).nonzero()[0].tolist()
    return machines(dfa, [token for token in allowed if vocabulary.tokens[token]][:10])


def crossed(drawings: Drawings) -> list[tuple[str, Collision]]:
    """The things under labels, except their own arcs."""
    return [
        (name, found)
        for name, (figure, layout) in drawings.items()
        for found in collisions(figure, layout)
        if found.kind != "own arc"
    ]


def set_in(drawings: Drawings) -> int:
    return sum(
        found.kind == "own arc"
        for figure, layout in drawings.values()
        for found in collisions(figure, layout)
    )


def test_labels_of_the_toy_stand_clear_of_everything() -> None:
    drawings = machines(toy_dfa(), list(range(5)))
    assert crossed(drawings) == [] and set_in(drawings) == 0


def test_labels_of_the_picture_with_a_model_stand_clear_of_everything() -> None:
    vocabulary = load_model("tiny").vocabulary
    dfa = explorer.compile(explorer.regex(DATE), vocabulary)
    tokens = [vocabulary.tokens.index(month.encode()) for month in MONTHS]
    drawings = machines(dfa, tokens)
    assert crossed(drawings) == [] and set_in(drawings) == 0


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in DENSE else name for name in NAMES],
)
def test_labels_of_presets_lie_on_no_other_arc_state_or_label(name: str) -> None:
    found = crossed(offered(name))
    if name in DENSE or name in CROWDED:
        assert {one.kind for _, one in found} <= {"arc"}
        labels = {(drawing, one.label) for drawing, one in found}
        assert len(labels) <= (DENSE | CROWDED)[name]
    else:
        assert found == []


def test_few_labels_interrupt_their_own_arc() -> None:
    assert sum(set_in(offered(name)) for name in NAMES if name not in DENSE) <= MOST_SET_IN


def test_all_labels_of_the_presets_have_a_place() -> None:
    drawings = [offered(preset.name) for preset in presets_of("first")]
    places = [layout.edges.values() for drawn in drawings for _, layout in drawn.values()]
    assert not any(place.tucked for edges in places for place in edges)


@pytest.mark.parametrize("preset", [preset.name for preset in presets_of("first")])
def test_drawings_are_low_and_read_from_left_to_right(preset: str) -> None:
    figure, layout = offered(preset)["character_fsa"]
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


def test_a_label_on_an_arc_would_be_seen() -> None:
    figure, layout = machines(toy_dfa(), list(range(5)))["token_dfa"]
    arc, loop = layout.edges["q0-q4"], layout.edges["q3-q3"]
    x, y = (arc.reach[0] + arc.reach[2]) / 2, arc.reach[3]
    spoilt = {**layout.edges, "q3-q3": replace(loop, x=x, y=y)}
    found = collisions(figure, Layout(layout.width, layout.height, layout.nodes, spoilt))
    assert Collision("q3-q3", "arc", "q0-q4") in found
    touched = {**layout.edges, "q3-q3": replace(loop, x=arc.tip[0], y=arc.tip[1])}
    found = collisions(figure, Layout(layout.width, layout.height, layout.nodes, touched))
    assert Collision("q3-q3", "state", "q4") in found
