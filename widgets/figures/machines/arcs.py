"""The arcs of a token machine as a drawing joins them: by node, as numbers, with words on request.

All tokens between two nodes are one edge. If the machine is a table, an edge opens into its token
classes, the largest first, and its count is the sum of theirs. In a machine that is not a table,
only the states that were met have arcs, and an edge holds all tokens from one node to another.

A token state has the name of its character state, ``q7``. If several token states have the same
character state, as in a machine filtered by the token before, the first that was met has that name
and the others are ``q7~1``, ``q7~2``; all from the twelfth on share a node.

Cost: for a table, the classes of the states that are asked for; otherwise a few milliseconds per
state at 131,072 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, whole_table
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, TokenTable, table_of
from explorer.tokens.walks.failing import fail_words
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DEAD, DEAD_CLASS, DONE, EOS_CLASS
from widgets.figures.drawing.labels import token_text, tokens_label
from widgets.figures.machines.character_fsa import Form, character_view
from widgets.figures.machines.machine_figure import Edge, TokenGroup

GROUPS_SHOWN: Final = 12
"""The most token classes that an edge opens into; their total number is shown beside them."""

TOKENS_SHOWN: Final = 6
"""The most tokens of an edge or of a class that are named."""

MOST_TWINS: Final = 12
"""The most token states with one character state that have nodes; later ones share the last."""

NAMED: Final = 64
"""The most tokens of an edge for which all of them are looked at for its label."""

LOOKED_AT: Final = 2_000
"""The most tokens of an edge or of a class that are looked at to find the plainest."""

STEPPED: Final = 2_000
"""The most tokens of a state that are followed one by one."""


class Arcs(Protocol):
    """The edges that leave token states, for a drawing."""

    @property
    def members(self) -> Mapping[str, Sequence[int]]:
        """The token states that each node stands for."""
        ...

    def name(self, state: int) -> str:
        """The node of a token state; ``done`` where the text has ended."""
        ...

    def sizes(self, source: str) -> dict[str, int]:
        """The number of tokens that lead from a node to each other node."""
        ...

    def edges(
        self, states: Sequence[int], targets: Iterable[str] | None = None
    ) -> tuple[Edge, ...]:
        """The edges of token states that one node stands for, in words."""
        ...

    def tokens(self, source: str, target: str) -> NDArray[np.int64]:
        """All ids that lead from one node to another, ascending."""
        ...


def arcs_of(machine: TokenMachine, form: Form = "characters") -> Arcs:
    """The arcs of a token machine.

    Args:
        form: In the byte form every state in the middle of a character is a node of its own.
    """
    table = table_of(machine)
    return MetArcs(machine, form) if table is None else TableArcs(table, form)


@memo
def _names(machine: TokenMachine, form: Form) -> list[str]:
    """The names of the states of a machine; `state_names` adds to them."""
    return []


def state_names(machine: TokenMachine, form: Form = "characters") -> Sequence[str]:
    """The node of each token state that is known, in order.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"d"], eos_ids=[3])
        >>> state_names(explorer.compile(explorer.regex("(foo)+d"), vocab))
        ['q0', 'q1', 'q3', 'q4']
    """
    names = _names(machine, form)
    if len(names) < machine.num_states:
        known = range(len(names), machine.num_states)
        states = [machine.byte_state(state) for state in known]
        view = character_view(machine, states)
        taken: dict[str, int] = {}
        for name in names:
            stem = name.split("~")[0]
            taken[stem] = taken.get(stem, 0) + 1
        for state in states:
            joined = form == "characters" and view.collapsed and not view.between(state)
            stem = "qmid" if joined else f"q{state}"
            count = taken[stem] = min(taken.get(stem, 0) + 1, MOST_TWINS)
            names.append(stem if joined or count == 1 else f"{stem}~{count - 1}")
    return names


def node_of(machine: TokenMachine, state: int, form: Form = "characters") -> str:
    """The node of a token state; ``done`` for a sentinel."""
    return state_names(machine, form)[state] if state >= 0 else "done"


def token_group(table: TokenTable, token_class: int, ids: NDArray[np.integer]) -> TokenGroup:
    """One token class in words."""
    first = _plainest(table, ids)
    texts = [token_text(table.vocabulary, token) for token in first]
    label = tokens_label(texts, len(ids)) if texts else ""
    if token_class == EOS_CLASS:
        label = "EOS"
    return TokenGroup(token_class, len(ids), label, tuple(first))


@memo
def _groups(table: TokenTable) -> dict[int, TokenGroup]:
    """The classes of a table that were put into words; `TableArcs` adds to them."""
    return {}


@memo
def class_ids(table: TokenTable) -> tuple[NDArray[np.int64], ...]:
    """The ids of each token class, ascending; computed once."""
    order = np.argsort(table.token_class, kind="stable")
    sizes = np.bincount(table.token_class, minlength=table.table.shape[1])
    return tuple(np.split(order, np.cumsum(sizes)[:-1]))


@memo
def _sizes(table: TokenTable) -> NDArray[np.int64]:
    """The number of allowed ids of each token class; 0 for the dead class."""
    sizes = np.array([len(ids) for ids in class_ids(table)])
    sizes[DEAD_CLASS] = 0
    return sizes


@memo
def _members(table: TokenTable, form: Form) -> Mapping[str, Sequence[int]]:
    """The token states of each node; a table has all its states, so they are gathered once."""
    members: dict[str, list[int]] = {}
    for state, name in enumerate(state_names(table, form)):
        members.setdefault(name, []).append(state)
    return members


class TableArcs:
    """The arcs of a table, by token class.

    Args:
        form: In the byte form every state in the middle of a character is a node of its own.
    """

    def __init__(self, table: TokenTable, form: Form = "characters") -> None:
        self.table = table
        self.names = state_names(table, form)
        self.members = _members(table, form)
        self._ids = class_ids(table)
        self._sizes = _sizes(table)
        self._known = _groups(table)

    def name(self, state: int) -> str:
        """The node of a token state; ``done`` where the text has ended."""
        return self.names[state] if state >= 0 else "done"

    def classes(self, states: Iterable[int]) -> dict[str, list[int]]:
        """The token classes that lead to each target, from some states taken together."""
        targets: dict[str, dict[int, None]] = {}
        for state in states:
            row = self.table.table[state]
            for class_ in np.flatnonzero((row != DEAD) & (self._sizes > 0)).tolist():
                target = int(row[class_])
                name = "done" if target == DONE else self.names[target]
                targets.setdefault(name, {})[class_] = None
        return {name: list(numbers) for name, numbers in targets.items()}

    def sizes(self, source: str) -> dict[str, int]:
        """The number of tokens that lead from a node to each other node."""
        leads = self.classes(self.members.get(source, ()))
        return {name: int(self._sizes[classes].sum()) for name, classes in leads.items()}

    def edges(
        self, states: Sequence[int], targets: Iterable[str] | None = None
    ) -> tuple[Edge, ...]:
        """The edges of token states that one node stands for, in words; see `Arcs`."""
        source = self.names[states[0]]
        leads = self.classes(states)
        wanted = leads if targets is None else [name for name in targets if name in leads]
        return _in_order(self._edge(source, name, leads[name]) for name in wanted)

    def tokens(self, source: str, target: str) -> NDArray[np.int64]:
        """All ids that lead from one node to another, ascending."""
        leads = self.classes(self.members.get(source, ()))
        ids = [self._ids[class_] for class_ in leads.get(target, ())]
        return np.sort(np.concatenate(ids)) if ids else np.empty(0, np.int64)

    def _edge(self, source: str, target: str, classes: list[int]) -> Edge:
        sizes = self._sizes
        classes.sort(key=lambda class_: (-int(sizes[class_]), class_))
        groups: list[TokenGroup] = []
        for class_ in classes[:GROUPS_SHOWN]:
            if class_ not in self._known:
                self._known[class_] = token_group(self.table, class_, self._ids[class_])
            groups.append(self._known[class_])
        count = int(sizes[classes].sum())
        tokens = [token for group in groups for token in group.tokens][:TOKENS_SHOWN]
        every: list[int] = []
        if len(tokens) < count <= NAMED:
            every = [token for class_ in classes for token in self._ids[class_].tolist()]
        words = _words(self.table, tokens, every, count, len(classes), classes == [EOS_CLASS])
        return Edge(source, target, *words, count, None, tuple(tokens), tuple(groups), len(classes))


class MetArcs:
    """The arcs of the states of a machine that were met so far.

    Args:
        form: In the byte form every state in the middle of a character is a node of its own.
    """

    def __init__(self, machine: TokenMachine, form: Form = "characters") -> None:
        self.machine = machine
        self.form: Form = form
        # Computing a row may meet more states; those are neighbours, and have no arcs yet.
        self.members: dict[str, list[int]] = {}
        for state, name in enumerate(state_names(machine, form)):
            self.members.setdefault(name, []).append(state)
        self._leads: dict[int, dict[str, NDArray[np.int64]]] = {}

    def name(self, state: int) -> str:
        """The node of a token state; ``done`` where the text has ended."""
        return node_of(self.machine, state, self.form)

    def sizes(self, source: str) -> dict[str, int]:
        """The number of tokens that lead from a node to each other node."""
        return {name: len(ids) for name, ids in self._of(self.members.get(source, ())).items()}

    def edges(
        self, states: Sequence[int], targets: Iterable[str] | None = None
    ) -> tuple[Edge, ...]:
        """The edges of token states that one node stands for, in words; see `Arcs`."""
        source = self.name(states[0])
        leads = self._of(states)
        wanted = leads if targets is None else [name for name in targets if name in leads]
        return _in_order(self._edge(source, name, leads[name]) for name in wanted)

    def tokens(self, source: str, target: str) -> NDArray[np.int64]:
        """All ids that lead from one node to another, ascending."""
        return self._of(self.members.get(source, ())).get(target, np.empty(0, np.int64))

    def _of(self, states: Iterable[int]) -> dict[str, NDArray[np.int64]]:
        targets: dict[str, NDArray[np.int64]] = {}
        for state in states:
            for name, ids in self._row(state).items():
                targets[name] = np.union1d(targets[name], ids) if name in targets else ids
        return targets

    def _row(self, state: int) -> dict[str, NDArray[np.int64]]:
        known = self._leads.get(state)
        if known is None:
            allowed = np.flatnonzero(self.machine.allowed(state))
            targets: dict[int, list[NDArray[np.int64]]] = {}
            for ids in _together(self.machine, state, allowed):
                target = self.machine.step(state, int(ids[0]))
                if target is not None:
                    targets.setdefault(target, []).append(ids)
            by_name: dict[str, list[NDArray[np.int64]]] = {}
            for target, groups in targets.items():
                by_name.setdefault(self.name(target), []).extend(groups)
            known = self._leads[state] = {
                name: np.sort(np.concatenate(groups)) for name, groups in by_name.items()
            }
        return known

    def _edge(self, source: str, target: str, ids: NDArray[np.int64]) -> Edge:
        tokens = _plainest(self.machine, ids)
        every: list[int] = ids.tolist() if len(ids) <= NAMED else []
        words = _words(self.machine, tokens, every, len(ids), 1, target == "done")
        return Edge(source, target, *words, len(ids), None, tuple(tokens))


def _together(
    machine: TokenMachine, state: int, ids: NDArray[np.int64]
) -> Iterable[NDArray[np.int64]]:
    """Tokens in groups, so that one step finds the target of a whole group.

    100,000 steps would take a second. If there are more than `STEPPED` tokens, those that lead to
    the same state of a finite byte machine form a group.
    """
    byte_machine = whole_table(machine.byte_machine)
    if len(ids) <= STEPPED or byte_machine is None:
        return (ids[k : k + 1] for k in range(len(ids)))
    trie = trie_of(machine.vocabulary, byte_machine)
    _, reached, _ = fail_words(trie, byte_machine, machine.byte_state(state))
    of_id = np.full(len(machine.vocabulary), NO_ARC, np.int64)
    of_id[trie.first_id] = reached
    of_id[trie.further_id] = reached[trie.further_word]
    order = ids[np.argsort(of_id[ids], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(of_id[order])) + 1)


def _in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Sort by the number of tokens, the end of the text last."""
    return tuple(sorted(edges, key=lambda e: (e.target == "done", -e.count, e.target)))


def _words(
    machine: TokenMachine,
    tokens: Sequence[int],
    every: Sequence[int],
    count: int,
    num_classes: int,
    end: bool,
) -> tuple[str, str]:
    """The label and the title of an edge."""
    texts = [token_text(machine.vocabulary, token) for token in tokens]
    # The shortest tokens say most; of those, the first in alphabetical order.
    named = sorted((token_text(machine.vocabulary, t) for t in every) if every else texts,
                   key=_short_first)  # fmt: skip
    label = "EOS" if end else tokens_label(named, count)
    shown = ", ".join(texts) + (f" and {count - len(texts):,} more" if count > len(texts) else "")
    number = f" in {num_classes:,} token classes" if num_classes > 1 else ""
    return label, f"{count:,} token{'' if count == 1 else 's'}{number}: {shown}"


def _plainest(machine: TokenMachine, ids: NDArray[np.integer]) -> list[int]:
    """The shortest and plainest tokens, looked for among the first of a large set."""
    tokens = machine.vocabulary.tokens
    some: list[int] = ids[:LOOKED_AT].tolist()
    return sorted(some, key=lambda t: (*_plain_first(tokens[t] or b""), t))[:TOKENS_SHOWN]


def _short_first(text: str) -> tuple[bool, int, str]:
    return not text.isalnum(), len(text), text


def _plain_first(data: bytes) -> tuple[int, int, bytes]:
    printable = data.isascii() and data.decode("ascii").isprintable()
    return (0 if data.isalnum() else 1 if printable else 2), len(data), data


def states_of_bytes(machine: TokenMachine) -> dict[int, list[int]]:
    """The known token states of each state of the byte machine."""
    by_byte_state: dict[int, list[int]] = {}
    for state in range(machine.num_states):
        byte_state = machine.byte_state(state)
        if byte_state != NO_ARC:
            by_byte_state.setdefault(byte_state, []).append(state)
    return by_byte_state
