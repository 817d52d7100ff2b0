"""The token DFA as a figure: the character FSA as a language model meets it.

A token state carries the name of the character state that it is; a character state that no token
ends in keeps its place as a ghost. All tokens between two states are one edge: its count is the sum
of its token classes' counts, so that the edges out of a state sum to what the state allows. An
edge opens into its classes, the largest first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from explorer.tokens.states import DEAD, DEAD_CLASS, DONE, EOS_CLASS
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.character_fsa import CharacterView, character_view, expects
from widgets.figures.labels import token_text, tokens_label
from widgets.figures.machine_figure import Edge, MachineFigure, Node, NodeKind, TokenGroup

GROUPS_SHOWN: Final = 12
"""How many token classes an edge opens into; the number of all is beside them."""

TOKENS_SHOWN: Final = 6
"""How many tokens of an edge or of a class are named."""

EDGES_SHOWN: Final = 400
"""How many edges are drawn at once; of more, those of the states that are asked for."""


def token_group(dfa: TokenDFA, token_class: int) -> TokenGroup:
    """One token class in words.

    Args:
        dfa: The token DFA.
        token_class: A class.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"c"], eos_ids=[3])
        >>> dfa = explorer.compile(explorer.regex("[ab]+c"), vocab)
        >>> token_group(dfa, int(dfa.token_class[0])).label
        'a  b'
    """
    ids = dfa.tokens_of_class[token_class]
    tokens = dfa.vocabulary.tokens
    # The shortest say most; a class may have a hundred thousand, so only some are looked at.
    some: list[int] = ids[:200].tolist()
    first = sorted(some, key=lambda t: (len(tokens[t] or b""), t))[:TOKENS_SHOWN]
    texts = [token_text(dfa.vocabulary, token) for token in first]
    label = tokens_label(texts, len(ids)) if texts else ""
    if token_class == EOS_CLASS:
        label = "EOS"
    return TokenGroup(token_class, len(ids), label, tuple(first))


def state_edges(
    dfa: TokenDFA, state: int, known: dict[int, TokenGroup] | None = None
) -> tuple[Edge, ...]:
    """The edges out of one token state, between nodes of the figure.

    Args:
        dfa: The token DFA.
        state: A token state, 0 or more.
        known: Groups that were made already; filled.

    Returns:
        One edge per node that tokens lead to, the most tokens first; ``done`` last.
    """
    view = character_view(dfa)
    known = {} if known is None else known
    row = dfa.table[state]
    sizes = [len(ids) for ids in dfa.tokens_of_class]
    targets: dict[str, list[int]] = {}
    for class_ in np.flatnonzero(row != DEAD).tolist():
        target = int(row[class_])
        if class_ == DEAD_CLASS or not sizes[class_]:
            continue
        name = "done" if target == DONE else f"q{view.node(int(dfa.char_state[target]))}"
        targets.setdefault(name, []).append(class_)
    source = f"q{view.node(int(dfa.char_state[state]))}"
    edges: list[Edge] = []
    for name, classes in targets.items():
        classes.sort(key=lambda class_: (-sizes[class_], class_))
        groups: list[TokenGroup] = []
        for class_ in classes[:GROUPS_SHOWN]:
            if class_ not in known:
                known[class_] = token_group(dfa, class_)
            groups.append(known[class_])
        edges.append(_edge(dfa, source, name, groups, sum(sizes[c] for c in classes), len(classes)))
    return tuple(sorted(edges, key=lambda e: (e.target == "done", -e.count, e.target)))


def _edge(
    dfa: TokenDFA, source: str, target: str, groups: list[TokenGroup], count: int, number: int
) -> Edge:
    tokens = tuple(token for group in groups for token in group.tokens)[:TOKENS_SHOWN]
    texts = [token_text(dfa.vocabulary, token) for token in tokens]
    label = groups[0].label if number == 1 else tokens_label(texts, count)
    shown = ", ".join(texts) + (f" and {count - len(texts):,} more" if count > len(texts) else "")
    classes = f" in {number:,} token classes" if number > 1 else ""
    title = f"{count:,} token{'' if count == 1 else 's'}{classes}: {shown}"
    return Edge(source, target, label, title, count, None, tokens, tuple(groups), number)


def token_figure(
    dfa: TokenDFA,
    only: Iterable[int] | None = None,
    sources: Iterable[int] | None = None,
    *,
    most: int = EDGES_SHOWN,
) -> MachineFigure:
    """The token DFA.

    Args:
        dfa: The token DFA.
        only: Draw these character states alone, for machines too large to be drawn whole.
        sources: Token states whose edges are drawn first, where there are more than ``most``.
        most: How many edges are drawn.

    Returns:
        Nodes ``q<character state>`` and ``done``.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> figure = token_figure(explorer.compile(explorer.regex("(foo)+d"), vocab))
        >>> [node.id for node in figure.nodes if node.kind == "ghost"]
        ['q2']
        >>> [edge.label for edge in figure.edges if edge.source == "q3"]
        ['f', 'foo', 'food']
    """
    view = character_view(dfa)
    machine = dfa.constraint.dfa
    wanted = None if only is None else set(only)
    token_state = {char: q for q, char in enumerate(dfa.char_state.tolist())}
    drawn = [
        state
        for state in sorted(view.arcs) + sorted(view.dots)
        if (wanted is None or state in wanted) and not (view.collapsed and state in view.dots)
    ]
    nodes = [_node(dfa, view, state, token_state.get(state)) for state in drawn]
    alias: dict[str, str] = {}
    if view.collapsed and wanted is None and view.dots:
        nodes.append(Node("qmid", "…", "dot", title="states in the middle of a character, as one"))
        alias = {f"q{state}": "qmid" for state in sorted(view.dots)}
    nodes.append(Node("done", "", "done", title="the text has ended"))
    names = {node.id for node in nodes}
    order = dict.fromkeys([*(sources or ()), *range(dfa.num_states)])
    known: dict[int, TokenGroup] = {}
    edges: dict[str, Edge] = {}
    complete = wanted is None
    for state in order:
        if (
            int(dfa.char_state[state]) == machine.start
            or wanted is None
            or (f"q{view.node(int(dfa.char_state[state]))}" in names)
        ):
            if len(edges) >= most:
                complete = False
                break
            for edge in state_edges(dfa, state, known):
                if edge.source in names and edge.target in names:
                    before = edges.get(edge.id)
                    edges[edge.id] = edge if before is None else _together(before, edge)
    caption = "same states, tokens on the arcs"
    if not complete:
        caption = f"{len(edges):,} arcs shown, not all"
    return MachineFigure("token_dfa", caption, complete, tuple(nodes), tuple(edges.values()), alias)


def _together(one: Edge, other: Edge) -> Edge:
    """Edges of states that one dot stands for."""
    return Edge(
        one.source,
        one.target,
        one.label,
        one.title,
        one.count + other.count,
        None,
        one.tokens,
        one.groups,
        max(one.num_groups, other.num_groups),
    )


def _node(dfa: TokenDFA, view: CharacterView, state: int, token_state: int | None) -> Node:
    machine = dfa.constraint.dfa
    middle = state not in view.arcs
    kind: NodeKind = "ghost" if token_state is None else "dot" if middle else "state"
    title = f"character state {state}: no token ends here"
    if token_state is not None:
        title = f"state {state}: expects {expects(dfa, state)}"
    return Node(
        f"q{state}",
        "" if middle else str(state),
        kind,
        bool(machine.accepting[state]) and token_state is not None,
        state == machine.start,
        title,
    )
