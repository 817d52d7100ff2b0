"""The token DFA as a figure: the character FSA as a language model meets it.

A token state carries the name of the character state that it is; a character state that no token
ends in keeps its place as a ghost. All tokens between two states are one edge: its count is the sum
of its token classes' counts, so that the edges out of a state sum to what the state allows. An
edge opens into its classes, the largest first. Where one dot stands for many states, an edge holds
each class once, whichever of them it leaves from.

Past `EDGES_SHOWN` edges a drawing is cut to the largest of each state and says so in its caption;
what one needs beyond it is `widgets.figures.machines.present`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from explorer.tokens.states import DEAD, DEAD_CLASS, DONE, EOS_CLASS
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.drawing.labels import token_text, tokens_label
from widgets.figures.machines.character_fsa import CharacterView, Form, character_view, expects
from widgets.figures.machines.machine_figure import Edge, MachineFigure, Node, NodeKind, TokenGroup

GROUPS_SHOWN: Final = 12
"""How many token classes an edge opens into; the number of all is beside them."""

TOKENS_SHOWN: Final = 6
"""How many tokens of an edge or of a class are named."""

EDGES_SHOWN: Final = 400
"""How many edges are drawn at once; of more, the largest of each state."""

NAMED: Final = 64
"""Up to so many tokens an edge's label looks at all of them."""

_groups: WeakKeyDictionary[TokenDFA, dict[int, TokenGroup]] = WeakKeyDictionary()


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
    # The shortest and plainest say most; of a hundred thousand only some are looked at.
    some: list[int] = ids[:2_000].tolist()
    first = sorted(some, key=lambda t: (*_plain_first(tokens[t] or b""), t))[:TOKENS_SHOWN]
    texts = [token_text(dfa.vocabulary, token) for token in first]
    label = tokens_label(texts, len(ids)) if texts else ""
    if token_class == EOS_CLASS:
        label = "EOS"
    return TokenGroup(token_class, len(ids), label, tuple(first))


class Arcs:
    """The edges of a token DFA as a drawing joins them: by node, in numbers; words when asked for.

    Args:
        dfa: The token DFA.
        form: In the byte form every state is a node of its own.
    """

    def __init__(self, dfa: TokenDFA, form: Form = "characters") -> None:
        view = character_view(dfa)
        chars: list[int] = dfa.char_state.tolist()
        self.dfa = dfa
        self.names = [f"q{c if form == 'bytes' else view.node(c)}" for c in chars]
        self.members: dict[str, list[int]] = {}
        for state, name in enumerate(self.names):
            self.members.setdefault(name, []).append(state)
        self._sizes = np.bincount(dfa.token_class, minlength=dfa.table.shape[1])
        self._sizes[DEAD_CLASS] = 0
        self._known = _groups.setdefault(dfa, {})

    def classes(self, states: Iterable[int]) -> dict[str, list[int]]:
        """Where the tokens of some states lead, as one: each target's token classes."""
        targets: dict[str, dict[int, None]] = {}
        for state in states:
            row = self.dfa.table[state]
            for class_ in np.flatnonzero((row != DEAD) & (self._sizes > 0)).tolist():
                target = int(row[class_])
                name = "done" if target == DONE else self.names[target]
                targets.setdefault(name, {})[class_] = None
        return {name: list(found) for name, found in targets.items()}

    def sizes(self, source: str) -> dict[str, int]:
        """How many tokens lead from a node to each other."""
        found = self.classes(self.members.get(source, ()))
        return {name: int(self._sizes[classes].sum()) for name, classes in found.items()}

    def edges(
        self, states: Sequence[int], targets: Iterable[str] | None = None
    ) -> tuple[Edge, ...]:
        """The edges of token states that one node stands for, in words.

        Args:
            states: At least one.
            targets: To these nodes alone.
        """
        source = self.names[states[0]]
        leads = self.classes(states)
        wanted = leads if targets is None else [name for name in targets if name in leads]
        edges = [self._edge(source, name, leads[name]) for name in wanted]
        return tuple(sorted(edges, key=lambda e: (e.target == "done", -e.count, e.target)))

    def _edge(self, source: str, target: str, classes: list[int]) -> Edge:
        dfa = self.dfa
        sizes = self._sizes
        classes.sort(key=lambda class_: (-int(sizes[class_]), class_))
        groups: list[TokenGroup] = []
        for class_ in classes[:GROUPS_SHOWN]:
            if class_ not in self._known:
                self._known[class_] = token_group(dfa, class_)
            groups.append(self._known[class_])
        count = int(sizes[classes].sum())
        tokens = tuple(token for group in groups for token in group.tokens)[:TOKENS_SHOWN]
        texts = [token_text(dfa.vocabulary, token) for token in tokens]
        named = sorted(texts, key=_short_first)
        if len(tokens) < count <= NAMED:
            every = [t for class_ in classes for t in dfa.tokens_of_class[class_].tolist()]
            # The shortest say most, and of those the first in the alphabet's order.
            named = sorted((token_text(dfa.vocabulary, t) for t in every), key=_short_first)
        label = "EOS" if classes == [EOS_CLASS] else tokens_label(named, count)
        shown = ", ".join(texts) + (
            f" and {count - len(texts):,} more" if count > len(texts) else ""
        )
        number = f" in {len(classes):,} token classes" if len(classes) > 1 else ""
        title = f"{count:,} token{'' if count == 1 else 's'}{number}: {shown}"
        return Edge(source, target, label, title, count, None, tokens, tuple(groups), len(classes))


def _short_first(text: str) -> tuple[bool, int, str]:
    return not text.isalnum(), len(text), text


def _plain_first(data: bytes) -> tuple[int, int, bytes]:
    printable = data.isascii() and data.decode("ascii").isprintable()
    return (0 if data.isalnum() else 1 if printable else 2), len(data), data


def state_edges(dfa: TokenDFA, state: int) -> tuple[Edge, ...]:
    """The edges out of one token state, between nodes of the figure.

    Args:
        dfa: The token DFA.
        state: A token state, 0 or more.

    Returns:
        One edge per node that tokens lead to, the most tokens first; ``done`` last.
    """
    return Arcs(dfa).edges([state])


def token_figure(
    dfa: TokenDFA,
    only: Iterable[int] | None = None,
    sources: Iterable[int] | None = None,
    *,
    most: int | None = None,
    form: Form = "characters",
) -> MachineFigure:
    """The token DFA.

    Args:
        dfa: The token DFA.
        only: Draw these character states alone, for machines too large to be drawn whole.
        sources: Token states whose edges are drawn first, where there are more than ``most``.
        most: How many edges are drawn, and all of ``sources`` in any case; default
            `EDGES_SHOWN`, or one for each node where there are more.
        form: In the byte form every state in the middle of a character is a dot of its own.

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
    collapsed = view.collapsed and form == "characters"
    wanted = None if only is None else set(only)
    token_state = {char: q for q, char in enumerate(dfa.char_state.tolist())}
    middle = sorted(
        view.dots if form == "characters" else set(range(len(view.steps))) - set(view.arcs)
    )
    drawn = [
        state
        for state in [*sorted(view.arcs), *(() if collapsed else middle)]
        if wanted is None or state in wanted
    ]
    nodes = [_node(dfa, view, state, token_state.get(state)) for state in drawn]
    alias: dict[str, str] = {}
    if collapsed and wanted is None and view.dots:
        title = f"{len(view.dots):,} states in the middle of a character, as one"
        nodes.append(Node("qmid", "…", "dot", title=title))
        alias = {f"q{state}": "qmid" for state in sorted(view.dots)}
    nodes.append(Node("done", "", "done", title="the text has ended"))
    names = {node.id for node in nodes}
    arcs = Arcs(dfa, form)
    first = dict.fromkeys(arcs.names[state] for state in sources or ())
    # The largest edge of each node, then the next: so that a cut drawing still holds together.
    listed: list[tuple[int, int, str, str]] = []
    for number, source in enumerate(dict.fromkeys([*first, *arcs.members])):
        if source in names:
            sizes = arcs.sizes(source)
            order = sorted((n for n in sizes if n in names), key=lambda n: (-sizes[n], n))
            for rank, target in enumerate(order):
                listed.append((-1 if source in first else rank, number, source, target))
    listed.sort()
    always = sum(entry[0] < 0 for entry in listed)
    most = max(EDGES_SHOWN, len(nodes)) if most is None else most
    chosen: dict[str, list[str]] = {}
    for _, _, source, target in sorted(listed[: max(most, always)], key=lambda e: e[1]):
        chosen.setdefault(source, []).append(target)
    edges = [
        edge
        for source, targets in chosen.items()
        for edge in arcs.edges(arcs.members[source], targets)
    ]
    caption = "same states, tokens on the arcs"
    if wanted is not None:
        caption = f"{len(edges):,} arcs shown, not all"
    elif len(edges) < len(listed):
        caption = f"{len(edges):,} of {len(listed):,} arcs, all from here"
    complete = wanted is None and len(edges) == len(listed)
    return MachineFigure("token_dfa", caption, complete, tuple(nodes), tuple(edges), alias)


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
