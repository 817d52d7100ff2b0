"""Places in a drawing: no overlaps, the same every time, one axis, every engine."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

import pytest

import explorer
from explorer.automata.machine import run
from explorer.tokens.token_dfa import TokenDFA
from tests.evidence import few
from tests.widgets.figures.cases import toy_dfa, toy_vocabulary
from widgets.figures.drawing.columns import engines
from widgets.figures.drawing.geometry import Engine, Layout
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.token_dfa import STEP, ahead, token_figure

PATTERNS = [
    "(foo)+d",
    "a|b|c|(de)*",
    r"((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])",
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    '"([^"\\\\]|\\\\["nt])*"',
    "(ab|a(c|d){3}|e+f)*g",
]


def compiled(pattern: str) -> explorer.TokenDFA:
    tokens = [bytes([b]) for b in range(256)] + [b"12", b"25", b"foo", b"ab", b'"a', b"cd"]
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    return explorer.compile(explorer.regex(pattern), vocabulary)


def overlaps(layout: Layout) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    nodes = [(name, node) for name, node in layout.nodes.items() if node.r > 0]
    for (one, a), (two, b) in itertools.combinations(nodes, 2):
        if math.hypot(a.x - b.x, a.y - b.y) < a.r + b.r:
            found.append((one, two))
    return found


def machine_figures(dfa: TokenDFA, tokens: Iterable[int]) -> dict[str, MachineFigure]:
    return {
        "character_fsa": character_figure(dfa),
        "detokenizing_fst": detokenizing_figure(dfa.vocabulary, tokens),
        "token_dfa": token_figure(dfa),
    }


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_state_overlaps_and_nothing_leaves_the_frame(pattern: str, engine: Engine) -> None:
    figures = machine_figures(compiled(pattern), [97, 98, 256, 257, 258, 259])
    for name, layout in lay_out_figures(figures, engine=engine).items():
        assert overlaps(layout) == []
        assert set(layout.nodes) == {node.id for node in figures[name].nodes}
        assert set(layout.edges) == {edge.id for edge in figures[name].edges}
        for node in layout.nodes.values():
            assert node.r <= node.x <= layout.width - node.r
            assert node.r <= node.y <= layout.height - node.r
        for edge in layout.edges.values():
            assert edge.box[0] >= 0 and edge.box[2] <= layout.width
            assert edge.box[1] >= 0 and edge.box[3] <= layout.height


def test_an_overlap_would_be_seen() -> None:
    layout = lay_out_figures({"character_fsa": character_figure(toy_dfa())})["character_fsa"]
    nodes = {**layout.nodes, "twin": layout.nodes["c2"]}
    assert overlaps(Layout(1, 1, nodes, {})) == [("c2", "twin")]


@pytest.mark.parametrize("engine", few(engines(), 1))
def test_the_same_figures_give_the_same_layout(engine: Engine) -> None:
    figures = machine_figures(compiled(PATTERNS[2]), [256, 257])
    first = {
        name: found.to_dict() for name, found in lay_out_figures(figures, engine=engine).items()
    }
    again = {
        name: found.to_dict() for name, found in lay_out_figures(figures, engine=engine).items()
    }
    assert first == again
    assert first["character_fsa"]["engine"] == engine


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_state_has_one_place_in_both_machines(pattern: str) -> None:
    found = lay_out_figures(machine_figures(compiled(pattern), [97]))
    one, other = found["character_fsa"], found["token_dfa"]
    assert one.width == other.width
    # A state in the middle of a character is one of the token DFA alone.
    shared = [name for name in other.nodes if f"c{name[1:]}" in one.nodes]
    assert {name[1:] for name in one.nodes} == {name[1:] for name in shared}
    drop = other.nodes[shared[0]].y - one.nodes[f"c{shared[0][1:]}"].y
    for name in shared:
        assert other.nodes[name].x == pytest.approx(one.nodes[f"c{name[1:]}"].x)
        assert other.nodes[name].y == pytest.approx(one.nodes[f"c{name[1:]}"].y + drop)


def test_curves_begin_and_end_at_their_states() -> None:
    figure = detokenizing_figure(toy_vocabulary(), range(5))
    layout = lay_out_figures({"detokenizing_fst": figure})["detokenizing_fst"]
    for edge in figure.edges:
        path = layout.edges[edge.id].path
        points = [tuple(map(float, p)) for p in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
        for (x, y), name in ((points[0], edge.source), (points[-1], edge.target)):
            node = layout.nodes[name]
            assert math.hypot(x - node.x, y - node.y) < node.r + 8


def test_three_hundred_states_are_laid_out_whole() -> None:
    dfa = compiled("(a|b(c|d)){98}e")
    figures = machine_figures(dfa, [97, 98])
    assert 190 < len(figures["character_fsa"].nodes) <= 300
    for layout in lay_out_figures(figures).values():
        assert overlaps(layout) == []


def test_ahead_is_small_keeps_places_and_shows_every_arc_from_here() -> None:
    dfa = compiled("(a|b){700}x")
    machine = dfa.constraint.dfa
    before: dict[str, tuple[float, float]] = {}
    for length in (1, 2, 3):
        path = run(machine, machine.start, b"a" * length).tolist()
        figures, layouts = ahead(dfa, path)
        here = path[-1]
        targets = {e.target for e in figures["character_fsa"].edges if e.source == f"c{here}"}
        assert targets == {f"c{machine.table[here, machine.symbol_class[97]]}"}
        for name, figure in figures.items():
            assert len(figure.nodes) < 40 and not figure.complete
            assert overlaps(layouts[name]) == []
        places = {n: (p.x, p.y) for n, p in layouts["character_fsa"].nodes.items()}
        for state in path[:-1]:
            name = f"c{state}"
            if name in before:
                assert places[name] == pytest.approx(before[name])
        before = places


def test_states_ahead_stand_where_the_path_will_have_them() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"food"], eos_ids=[4])
    dfa = explorer.compile(explorer.regex(".{1,2000}"), vocabulary)
    machine = dfa.constraint.dfa
    before, after = (
        ahead(dfa, run(machine, machine.start, text).tolist(), dfa.walk(tokens))[1]
        for text, tokens in ((b"foo", [2]), (b"foofood", [2, 3]))
    )
    for name, layout in before.items():
        assert overlaps(layout) == []
        letter = name[0] if name[0] == "c" else "q"
        states = [node for node in layout.nodes if node[1:].isdecimal()]
        assert len(states) == 8  # Four of the path, four to come.
        for places in (layout.nodes, after[name].nodes):
            start = places[f"{letter}0"]
            steps = [(places[node].x - start.x, places[node].y - start.y) for node in states]
            assert steps == [pytest.approx((k * STEP, 0)) for k in range(8)]


def test_without_graphviz_our_own_layout_steps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = machine_figures(compiled(PATTERNS[2]), [256])
    monkeypatch.setenv("PATH", "")
    found = lay_out_figures(figures, engine="dot")
    assert found["character_fsa"].engine == "own"
    assert overlaps(found["character_fsa"]) == []
    assert "dot" not in engines()


def test_a_layout_that_takes_too_long_is_given_up() -> None:
    figures = machine_figures(compiled(PATTERNS[2]), [256])
    assert lay_out_figures(figures, engine="pygraphviz", timeout=0.001)["token_dfa"].engine == "own"
