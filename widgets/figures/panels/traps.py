"""Traps for the page: the danger, the evidence in a few lines, and the remedy.

A trap of a run stands at a position of the token strip; a trap of the constraint alone has no
position. Tokens in the evidence stay ids, because the page shows tokens as boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from explorer.analysis import Trap
from explorer.tokens.machine import TokenMachine
from widgets.figures.machines.character_view import character_view

NAMES: Final[Mapping[str, str]] = {
    "whitespace_loop": "White space for ever",
    "endless": "No limit to its length",
    "shared_first_token": "Choices share a first token",
    "byte_by_byte": "A character in parts",
    "visited_only": "Not all states were looked at",
    "tiny_mass": "The model means something else",
    "greedy_trap": "Greedy trap",
    "prompt_boundary": "The prompt ends inside a token",
    "unlikely_end": "The end is never likely",
}
"""A heading for each kind."""

SHOWN: Final = 8
"""How many values of a list of evidence are shown."""

_LABELS: Final[Mapping[str, str]] = {
    "log_prob": "its log-probability, nats",
    "may_end": "may the text end there?",
    "only_whitespace": "is only white space allowed?",
    "share_of_mask": "share of the mask",
    "wished": "the model's first choice after it",
    "z": "feasible mass",
    "z_after": "feasible mass after it",
}
_TOKENS: Final = frozenset({"token", "tokens", "wished"})


def trap_packet(trap: Trap, machine: TokenMachine) -> dict[str, object]:
    """A trap as plain values for JSON.

    Args:
        trap: The trap.
        machine: Its machine; a token state is named as it is drawn, by its character state.

    Returns:
        ``facts`` are the evidence: each has a ``label`` and either ``tokens`` (ids) or ``text``.

    Example:
        >>> import explorer
        >>> from explorer.analysis import machine_traps
        >>> vocab = explorer.Vocabulary.from_bytes([b" ", b"x"], eos_ids=[2])
        >>> dfa = explorer.compile(explorer.regex(" *x"), vocab)
        >>> packet = trap_packet(machine_traps(dfa)[0], dfa)
        >>> packet["title"], packet["facts"][-1]
        ('White space for ever', {'label': 'tokens', 'tokens': [0]})
    """
    return {
        "kind": trap.kind,
        "title": NAMES[trap.kind],
        "message": trap.message,
        "remedy": trap.remedy,
        "position": trap.position,
        "facts": [
            _fact(name, value)
            for name, value in {**trap.evidence, **_drawn(trap, machine)}.items()
            if value != ()
        ],
    }


def _drawn(trap: Trap, machine: TokenMachine) -> dict[str, object]:
    """The states of the evidence as the pictures number them; dots have no number there."""
    states = trap.evidence.get("states")
    if not isinstance(states, tuple):
        return {}
    named = character_view(machine).arcs
    chars = {machine.byte_state(state) for state in cast("tuple[int, ...]", states)}
    return {"states": tuple(sorted(char for char in chars if char in named))}


def _fact(name: str, value: object) -> dict[str, object]:
    label = _LABELS.get(name, name.replace("_", " "))
    values = list(cast("Iterable[object]", value)) if isinstance(value, tuple) else [value]
    if name in _TOKENS:
        return {"label": label, "tokens": values[:SHOWN]}
    shown = ", ".join(map(_text, values[:SHOWN]))
    return {"label": label, "text": f"{shown}, …" if len(values) > SHOWN else shown}


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case bytes():
            return repr(value)[1:]
        case str():
            return repr(value)
        case _:
            return str(value)
