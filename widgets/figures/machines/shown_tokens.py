"""The choice of the tokens that are drawn: the few of 131,072 that make "FSA ∘ FST = token DFA"
readable.

Allowed tokens come first, because they are the arcs that leave the present state of the token DFA:
the token that was taken, the likeliest allowed ones, then some of every arc. Then come the
likeliest masked ones, which the model wanted and the mask refused. Tokens that a person asked for
are always there. A byte is a state of the drawing and some tokens are long, so their bytes are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from widgets.figures.machines.arcs import arcs_of, node_of
from widgets.figures.machines.detokenizing_figure import LONGEST
from widgets.figures.machines.machine_figure import MachineFigure

ALL_TOKENS: Final = 16
"""Up to so many tokens a vocabulary is shown whole."""

TOKENS_SHOWN: Final = 10
"""How many tokens a step shows, those that were asked for not counted."""

MASKED_LEAST: Final = 3
"""How many of them are masked tokens, if the model finds any likely."""

BYTES_SHOWN: Final = 72
"""How many bytes they may have together, which goes out per step."""

SHOWN_LEAST: Final = 3
"""How many are shown however long they are."""

MOST_COMPOSED: Final = 48
"""The number of tokens with which the construction is shown."""


def shown_tokens(
    trace: Trace, k: int, machine: TokenMachine, also: Iterable[int] = ()
) -> tuple[int, ...]:
    """The tokens that the detokenizing FST shows at a position.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine.
        also: Ids that a person asked for; always among them.

    Returns:
        Ids of text tokens, each once: those asked for, then allowed ones, then masked ones.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> shown_tokens(session.trace, 0, session.machine)
        (0, 1, 2, 3, 4)
    """
    tokens = machine.vocabulary
    if len(tokens) <= ALL_TOKENS:
        return tuple(t for t, data in enumerate(tokens.tokens) if data and len(data) <= LONGEST)
    position = trace.positions[k]
    allowed = trace.allowed(k)
    taken = [trace.steps[k].token] if k < len(trace.steps) else []
    found = position.distribution
    likely = [] if found is None else [entry.token for entry in found.candidates]
    # Logits may be wider than the vocabulary; what is past it is not a token.
    likely = [token for token in likely if token < len(allowed)]
    able = [token for token in likely if allowed[token]]
    wished = [token for token in likely if not allowed[token]]
    if position.state >= 0:
        able = leaving(machine, position.state, able)
    able = [t for t in dict.fromkeys([*taken, *able]) if allowed[t]]
    room = TOKENS_SHOWN - min(MASKED_LEAST, len(wished))
    chosen = [*able[:room], *wished][:TOKENS_SHOWN]
    asked = list(dict.fromkeys(also))
    shown = list(asked)
    left = BYTES_SHOWN
    for token in chosen:
        data = tokens.tokens[token]
        size = len(data or b"")
        if size > LONGEST:
            continue
        left -= size
        if size and token not in shown and (left >= 0 or len(shown) < SHOWN_LEAST + len(asked)):
            shown.append(token)
    return tuple(shown)


def leaving(machine: TokenMachine, state: int, likely: Sequence[int]) -> list[int]:
    """Tokens of the arcs that leave a state: one of every arc, then the likely ones, then more.

    Args:
        machine: The token machine.
        state: A token state, 0 or more.
        likely: Allowed tokens, the likeliest first; an arc is shown with the likeliest of its own.
    """
    arcs = arcs_of(machine)
    edges = [edge for edge in arcs.edges([state]) if edge.target != "done"]
    first: list[int] = []
    for edge in edges:
        own = set(arcs.tokens(edge.source, edge.target).tolist())
        first += [token for token in [*likely, *(edge.tokens or ())] if token in own][:1]
    named = zip_longest(*(edge.tokens or () for edge in edges))
    return [*first, *likely, *(token for one in named for token in one if token is not None)]


def masked_tokens(trace: Trace, k: int, tokens: Iterable[int]) -> tuple[int, ...]:
    """The tokens of a list that are masked at a position."""
    allowed = trace.allowed(k)
    return tuple(token for token in tokens if not allowed[token])


def composed_tokens(
    machine: TokenMachine, state: int, figure: MachineFigure, shown: Sequence[int]
) -> tuple[int, ...]:
    """The tokens with which the construction is shown: at least those of the drawn token DFA.

    Args:
        machine: The token machine.
        state: Where we are; its arcs come first.
        figure: The token DFA as it is drawn.
        shown: The tokens that the detokenizing FST shows.

    Returns:
        Ids: those shown, then of each arc the first token that it names, then the next of each; at
        most `MOST_COMPOSED`, and one of each arc in any case.
    """
    here = node_of(machine, state) if state >= 0 else ""
    edges = sorted(figure.edges, key=lambda edge: edge.source != here)
    named = [edge.tokens or () for edge in edges if edge.target != "done"]
    first = [tokens[0] for tokens in named if tokens]
    rest = [token for one in zip_longest(*named) for token in one if token is not None]
    least = list(dict.fromkeys([*shown, *first]))
    more = [token for token in dict.fromkeys(rest) if token not in set(least)]
    return tuple([*least, *more[: max(MOST_COMPOSED - len(least), 0)]])
