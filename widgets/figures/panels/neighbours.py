"""A stage of the tokens at one place: which token it refuses beside the last one, and what the
tokenizer would write instead.

A stage of the tokens is a relation between neighbours. All pairs of a vocabulary could not be
looked at; those of one place can: the tokens that the text allows next are few, and of them the
stage refuses some. They are found by asking the machine before the stage and the one behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.textbook.detokenizing import readable
from explorer.decoding.trace.trace import Trace
from explorer.languages.stages.canonical import Canonical
from explorer.languages.stages.spellings import WithoutIsolatedSpaces, WithoutRedundantBytes
from explorer.languages.stages.stage import PipelineStage
from explorer.tokens.machine import Filtered, TokenMachine, filtered_of
from widgets.figures.drawing.labels import token_names, token_text

SHOWN: Final = 8
"""How many refused pairs are shown, the likeliest first, and how many allowed ones."""

NAMES: Final[dict[type[PipelineStage], str]] = {
    Canonical: "canonical",
    WithoutIsolatedSpaces: "isolated space",
    WithoutRedundantBytes: "redundant bytes",
}
"""The name of the filter that a stage becomes."""


def machine_behind(machine: TokenMachine, stage: PipelineStage) -> Filtered | None:
    """The machine right behind a stage of the tokens; ``None`` where the stage is not in it.

    Args:
        machine: The machine behind all stages.
        stage: The stage.
    """
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
    """The relation of a stage at a position: pairs that it refuses, and some that it lets through.

    Args:
        machine: The machine of the session.
        stage: One of its stages.
        trace: The record.
        k: A position.
        probabilities: The model's, for the order of the pairs; by id without them.

    Returns:
        Plain values for JSON: ``last``, the text of the token before; ``pairs``, each with
        ``token``, ``id``, ``share`` (in per cent), ``refused`` and ``instead``, the tokens that
        would be written in place of both; ``refused`` and ``allowed``, how many there are. ``None``
        where the stage is not a stage of the tokens, or is switched off.

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
                found = behind.refusal(state, token)
                row["instead"] = [readable(piece) for piece in found.pieces] if found else []
            rows.append(row)
    return {
        "last": token_text(vocabulary, ids[-1]) if ids else "",
        "pairs": rows,
        "refused": len(refused),
        "allowed": len(through),
    }


def _follow(machine: TokenMachine, ids: Iterable[int]) -> int | None:
    """The state after some tokens; ``None`` where one of them is not allowed."""
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
