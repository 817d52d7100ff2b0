"""The pipeline of a constraint as a bar: pattern → stages of the text → tokens → stages of the
tokens; and one of its stages as a drawing.
"""

from __future__ import annotations

from explorer.automata.byte_intervals import byte_intervals
from explorer.automata.interchange.interegular_bridge import Piece, character_arcs
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.sources.registry import name_of
from explorer.languages.stages.stage import DrawnTransducer, TextStage, stages_alone
from explorer.languages.stages.staged import stages_of, unstaged
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import ranges_label
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.machine_figure import WHOLE, Edge, FigureNode, MachineFigure

LIMITS = Budget(states=20_000, seconds=5.0)
"""For the machine of a stage, which is drawn only if it has few states."""

MOST_DRAWN = 60
"""Up to so many states the machine of a stage is drawn; more could not be read in a panel."""


def pipeline_packet(source: Source | None, vocabulary: Vocabulary) -> dict[str, object]:
    """The bar.

    Args:
        source: The source of the constraint, with its stages; ``None`` without a constraint.
        vocabulary: The tokens.

    Returns:
        Plain values for JSON: ``pattern``, the kind of the source; ``tokens``, how many ids there
        are; ``stages``, each with ``title``, ``about``, ``on`` and ``level``; and ``offered``, the
        stages that could be added.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1])
        >>> packet = pipeline_packet(explorer.regex("a").canonical().source, vocab)
        >>> [(stage["title"], stage["level"], stage["on"]) for stage in packet["stages"]]
        [('canonical', 'tokens', True)]
    """
    stages = () if source is None else stages_of(source)
    there = {stage.kind for stage, _ in stages}
    return {
        "pattern": "" if source is None else name_of(unstaged(source)),
        "tokens": len(vocabulary),
        "stages": [
            {
                "title": stage.title,
                "about": stage.about,
                "on": on,
                "level": "text" if isinstance(stage, TextStage) else "tokens",
            }
            for stage, on in stages
        ],
        "offered": []
        if source is None
        else [
            {"kind": stage.kind, "title": stage.title, "about": stage.about}
            for stage in stages_alone()
            if stage.kind not in there
            and (vocabulary.encoder is not None or not stage.of_tokenizer)
        ],
    }


def stage_packet(source: Source, number: int) -> dict[str, object]:
    """One stage: what it does, and its machine where that can be drawn.

    Args:
        source: The source of the constraint.
        number: Which of its stages.

    Returns:
        ``title``, ``about``, ``call``, and ``figure`` and ``layout``; in place of those ``drawn``,
        a sentence that says why there is no drawing.
    """
    stage, on = stages_of(source)[number]
    packet: dict[str, object] = {
        "title": stage.title,
        "about": stage.about,
        "call": str(stage),
        "on": on,
        "figure": None,
        "layout": None,
        "drawn": "",
    }
    try:
        relation = stage.transducer(Meter(LIMITS))
        if relation is not None:
            figure = transducer_figure(relation)
            layout = lay_out_figures({"stage": figure})["stage"]
            return {**packet, "figure": figure.to_dict(), "layout": layout.to_dict()}
        machine = stage.picture(Meter(LIMITS))
    except BudgetExceeded as error:
        return {**packet, "drawn": f"It is too large to be drawn: {error.message}"}
    if machine is None:
        return {**packet, "drawn": "It is a relation between tokens, not a machine over bytes."}
    figure = stage_figure(machine, in_bytes=stage.in_bytes)
    if len(figure.nodes) > min(MOST_DRAWN, WHOLE):
        return {**packet, "drawn": f"Its machine has {len(figure.nodes):,} states."}
    layout = lay_out_figures({"stage": figure})["stage"]
    return {**packet, "figure": figure.to_dict(), "layout": layout.to_dict()}


def transducer_figure(relation: DrawnTransducer) -> MachineFigure:
    """The transducer of a stage, with what is read and what is written on its arcs.

    Args:
        relation: The transducer.

    Example:
        >>> from explorer.languages.stages.stage import DrawnTransducer
        >>> loop = DrawnTransducer(1, ((0, " ", "▁", 0),), frozenset([0]))
        >>> [edge.label for edge in transducer_figure(loop).edges]
        ['␣ : ▁']
    """
    labels: dict[tuple[int, int], list[str]] = {}
    for source, read, written, target in relation.arcs:
        sides = ("ε" if not side else "␣" if side == " " else side for side in (read, written))
        labels.setdefault((source, target), []).append(" : ".join(sides))
    nodes = tuple(
        FigureNode(f"s{state}", str(state), "state", state in relation.accepting, state == 0)
        for state in range(relation.num_states)
    )
    edges = tuple(
        Edge(f"s{a}", f"s{b}", "   ".join(words), ", ".join(words), len(words))
        for (a, b), words in labels.items()
    )
    return MachineFigure("stage", f"{len(nodes):,} states", True, nodes, edges)


def stage_figure(machine: Dfa, *, in_bytes: bool = False) -> MachineFigure:
    """The machine of a stage, with characters on its arcs, or with bytes.

    Args:
        machine: The minimal machine.
        in_bytes: Draw bytes, and the states in the middle of a character.

    Example:
        >>> from explorer import regex
        >>> [(edge.label, edge.target) for edge in stage_figure(regex("[a-c]ä").dfa).edges]
        [('a-c', 's1'), ('ä', 's2')]
    """
    steps = byte_intervals(machine)
    arcs: dict[int, list[Piece]] = (
        dict(enumerate(steps)) if in_bytes else character_arcs(machine, steps)
    )
    numbers = {state: number for number, state in enumerate(arcs)}
    nodes = tuple(
        FigureNode(
            f"s{number}",
            str(number),
            "state",
            bool(machine.accepting[state]),
            state == machine.start,
        )
        for state, number in numbers.items()
    )
    edges: list[Edge] = []
    for state, number in numbers.items():
        groups: dict[int, list[tuple[int, int]]] = {}
        for low, high, target in arcs[state]:
            groups.setdefault(target, []).append((low, high))
        for target, ranges in groups.items():
            label = ranges_label(ranges, in_bytes=in_bytes)
            count = sum(high - low + 1 for low, high in ranges)
            edges.append(Edge(f"s{number}", f"s{numbers[target]}", label, label, count))
    return MachineFigure("stage", f"{len(nodes):,} states", True, nodes, tuple(edges))
