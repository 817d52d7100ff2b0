"""One token through all three machines, byte by byte: slow motion, hovering, and asking why.

The id enters T_V, its bytes come out, the character FSA moves with each, and the last one
completes the arc of the token DFA. Every edge that a walk names is an edge of the figures; where
the character FSA is drawn by characters, all bytes of a character light that character's arc.
"""

from __future__ import annotations

from itertools import pairwise

from explorer.analysis.explaining.explanation import explain
from explorer.automata.machine import NO_ARC
from explorer.tokens.failing import run
from explorer.tokens.states import DONE
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.drawing.labels import byte_text, token_text
from widgets.figures.machines.character_fsa import Form, character_view
from widgets.figures.machines.detokenizing_figure import prefix_node
from widgets.figures.panels.reasons import in_short


def walk_packet(
    dfa: TokenDFA,
    state: int,
    token: int,
    *,
    text: bytes | None = None,
    form: Form = "characters",
    explanation: bool = True,
) -> dict[str, object]:
    """What a token does in all three machines.

    Args:
        dfa: The token DFA.
        state: A token state or a sentinel.
        token: An id, allowed or not.
        text: The text so far, in bytes; default a shortest one that leads to the state.
        form: How the character FSA is drawn.
        explanation: Also the verdict, as a plain mapping.

    Returns:
        Plain values for JSON: ``token``, ``text``, ``bytes``, ``labels`` (one per byte), ``path``
        (one entry per byte read: ``byte``, ``from``, ``to``, ``edge_c``, ``edge_t``),
        ``failed_at`` (the offset of the byte that fails), ``edge_q``, ``reason``, ``explanation``.

    Raises:
        ExplorerError: There is no such state, or the text does not lead to it.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> found = walk_packet(dfa, dfa.walk([2])[-1], 3)
        >>> found["failed_at"], found["reason"], [step["edge_c"] for step in found["path"]]
        (2, 'r: expects o', ['c3-c1', 'c1-c2', None])
    """
    vocabulary = dfa.vocabulary
    data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
    view = character_view(dfa)
    char_state = int(dfa.char_state[state]) if state >= 0 else NO_ARC
    states = run(dfa.constraint.dfa, char_state, data or b"").tolist()
    failed = next((k for k, after in enumerate(states[1:]) if after == NO_ARC), None)
    arcs = character_edges(dfa, states, form)
    path: list[dict[str, object]] = []
    for k, byte in enumerate(data or b""):
        if failed is not None and k > failed:
            break
        before = prefix_node((data or b"")[:k])
        after = "t" if k + 1 == len(data or b"") else prefix_node((data or b"")[: k + 1])
        path.append(
            {
                "byte": byte,
                "from": states[k],
                "to": states[k + 1],
                "edge_c": arcs[k],
                "edge_t": f"{before}-{after}",
            }
        )
    target = dfa.step(state, token)
    edge_q: str | None = None
    if target is not None and state >= 0:
        name = "done" if target == DONE else f"q{view.node(int(dfa.char_state[target]))}"
        edge_q = f"q{view.node(char_state)}-{name}"
    found = explain(dfa, state, token, text=text) if explanation else None
    return {
        "token": token,
        "text": token_text(vocabulary, token),
        "bytes": list(data or b""),
        "labels": [byte_text(byte) for byte in data or b""],
        "path": path,
        "failed_at": failed,
        "edge_q": edge_q,
        "allowed": target is not None,
        "reason": None if found is None else in_short(found.verdict),
        "explanation": None if found is None else found.to_dict(lazy=False),
    }


def character_edges(dfa: TokenDFA, states: list[int], form: Form) -> list[str | None]:
    """The edge of the character FSA that each byte of a run lights.

    Args:
        dfa: The token DFA.
        states: Character states along some bytes; -1 from the first failure on.
        form: How the machine is drawn.

    Returns:
        One edge id per byte; ``None`` where no arc is taken.
    """
    view = character_view(dfa)
    found: list[str | None] = []
    for k, (before, after) in enumerate(pairwise(states)):
        if before == NO_ARC or after == NO_ARC:
            found.append(None)
        elif form == "bytes" or (before in view.arcs and after in view.arcs):
            found.append(f"c{before}-c{after}")
        else:
            # Inside a character: its arc, if the run holds all of it, else the dots.
            begin = next((j for j in range(k, -1, -1) if states[j] in view.arcs), None)
            end = next((j for j in range(k + 1, len(states)) if states[j] in view.arcs), None)
            if begin is not None and end is not None:
                found.append(f"c{states[begin]}-c{states[end]}")
            else:
                both = {before, after} - set(view.arcs) <= view.dots
                found.append(f"c{view.node(before)}-c{view.node(after)}" if both else None)
    return found
