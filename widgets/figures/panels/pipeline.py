"""The pipeline of a constraint as a bar: pattern → stages of the text → tokens → stages of the
tokens; and one of its stages as a drawing.

A stage of the tokens is a relation between neighbours. All pairs of a vocabulary are too many, but
at one position there are few: `neighbours_packet` has the tokens that the text allows next and the
stage refuses after the last one, with the tokens that the tokenizer would write instead. They are
found by comparing the machines before and after the stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import readable
from explorer.automata.drawn import byte_intervals
from explorer.automata.interchange.interegular_bridge import Piece, character_arcs
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget, Meter
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded, UnsupportedTokenizer
from explorer.languages.sources.registry import name_of
from explorer.languages.stages.stage import DrawnTransducer, PipelineStage, TextStage, stages_alone
from explorer.languages.stages.staged import stages_of, unstaged
from explorer.languages.stages.tokens import Canonical, WithoutIsolatedSpaces, WithoutRedundantBytes
from explorer.tokens.machine import Filtered, TokenMachine, filtered_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import ranges_label, token_names, token_text
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.machine_figure import WHOLE, Edge, FigureNode, MachineFigure

LIMITS = Budget(states=20_000, seconds=5.0)
"""The limits for the machine of a stage, which is drawn only if it has few states."""

MOST_DRAWN = 60
"""The most states of a stage's machine that is drawn; more could not be read in a panel."""


def pipeline_packet(source: Source | None, vocabulary: Vocabulary) -> dict[str, object]:
    """The bar.

    Args:
        source: The source of the constraint, with its stages; ``None`` without a constraint.

    Returns:
        Plain values for JSON: ``pattern``, the kind of the source; ``tokens``, the number of ids;
        ``stages``, each with ``title``, ``about``, ``on`` and ``level``; and ``offered``, the
        stages that can be added.

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
    """One stage: its description, and its machine if that can be drawn.

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
    except UnsupportedTokenizer as error:
        return {**packet, "drawn": f"It is the tokenizer's own function: {error.message}"}
    if machine is None:
        return {**packet, "drawn": "It is a relation between tokens, not a machine over bytes."}
    figure = stage_figure(machine, in_bytes=stage.in_bytes)
    if len(figure.nodes) > min(MOST_DRAWN, WHOLE):
        return {**packet, "drawn": f"Its machine has {len(figure.nodes):,} states."}
    layout = lay_out_figures({"stage": figure})["stage"]
    return {**packet, "figure": figure.to_dict(), "layout": layout.to_dict()}


def transducer_figure(relation: DrawnTransducer) -> MachineFigure:
    """The transducer of a stage, with the texts that are read and written on its arcs.

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


SHOWN: Final = 8
"""The most refused pairs that are shown, the likeliest first, and the most allowed ones."""

NAMES: Final[dict[type[PipelineStage], str]] = {
    Canonical: "canonical",
    WithoutIsolatedSpaces: "isolated space",
    WithoutRedundantBytes: "redundant bytes",
}
"""The name of the filter that a stage becomes."""


def machine_behind(machine: TokenMachine, stage: PipelineStage) -> Filtered | None:
    """The machine right after a stage of the tokens; ``None`` if the stage is not in it."""
    name = NAMES.get(type(stage))
    here = filtered_of(machine)
    while here is not None and here.filter_name != name:
        here = None if here.unfiltered is None else filtered_of(here.unfiltered)
    return here


def neighbours_packet(
    machine: TokenMachine,
    stage: PipelineStage,
    trace: Trace,
    k: int,
    probabilities: NDArray[np.float64] | None = None,
) -> dict[str, object] | None:
    """The relation of a stage at a position: pairs that it refuses, and some that it allows.

    Args:
        probabilities: The model's, for the order of the pairs; by id without them.

    Returns:
        Plain values for JSON: ``last``, the text of the token before; ``pairs``, each with
        ``token``, ``id``, ``share`` (in per cent), ``refused`` and ``instead``, the tokens that
        would be written in place of both; ``refused`` and ``allowed``, their numbers. ``None`` if
        the stage is not a stage of the tokens, or is switched off.

    Example:
        >>> import explorer
        >>> from explorer.languages.stages.staged import stages_of
        >>> lm = explorer.load_model("tiny")
        >>> session = explorer.Session(lm, explorer.regex("[A-Z][a-z]+").canonical())
        >>> _ = session.step(lm.vocabulary.ids_of(b"R")[0])
        >>> stage = stages_of(session.constraint.source)[0][0]
        >>> found = neighbours_packet(session.machine, stage, session.trace, 1)
        >>> [(pair["token"], pair["instead"]) for pair in found["pairs"] if pair["refused"]][2]
        ('o', ['Ro'])
    """
    behind = machine_behind(machine, stage)
    before = None if behind is None else behind.unfiltered
    if behind is None or before is None:
        return None
    ids = [step.token for step in trace.steps[:k]]
    state, plain = _follow(behind, ids), _follow(before, ids)
    if state is None or plain is None or state < 0 or plain < 0:
        return None
    vocabulary = machine.vocabulary
    allowed = behind.allowed(state)
    text = np.array([data is not None for data in vocabulary.tokens])
    refused = np.flatnonzero(before.allowed(plain) & ~allowed & text)
    through = np.flatnonzero(allowed & text)
    rows: list[dict[str, object]] = []
    for chosen, no in ((refused, True), (through, False)):
        for token in _likeliest(chosen, probabilities):
            row: dict[str, object] = {
                "token": token_names(vocabulary, [token])[0],
                "id": token,
                "share": None if probabilities is None else round(100 * probabilities[token], 3),
                "refused": no,
                "instead": [],
            }
            if no:
                refusal = behind.refusal(state, token)
                row["instead"] = [readable(piece) for piece in refusal.pieces] if refusal else []
            rows.append(row)
    return {
        "last": token_text(vocabulary, ids[-1]) if ids else "",
        "pairs": rows,
        "refused": len(refused),
        "allowed": len(through),
    }


def _follow(machine: TokenMachine, ids: Iterable[int]) -> int | None:
    """The state after some tokens; ``None`` if one of them is not allowed."""
    state: int | None = machine.start
    for token in ids:
        state = None if state is None else machine.step(state, token)
    return state


def _likeliest(ids: NDArray[np.int64], probabilities: NDArray[np.float64] | None) -> list[int]:
    """The likeliest of some tokens, at most `SHOWN`."""
    if probabilities is not None:
        inside = ids[ids < len(probabilities)]
        ids = inside[np.argsort(-probabilities[inside], kind="stable")]
    return [int(token) for token in ids[:SHOWN]]
