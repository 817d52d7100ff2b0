"""The construction as four figures: composed with ε, ε-free, determinized, trimmed.

The machines are pynini's (`explorer.automata.stages`), over the few tokens that are shown; the
token DFA itself comes from one walk over all tokens. Trimming is the step that keeps decoding out
of dead ends.

A state has the number of the character state that it holds. Between two tokens it is named as in
the token DFA, so that what is lit there is lit here; within a token, or where no token state is, it
has a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.stages import NO_TOKEN, Stage, composition_stages
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text, tokens_label
from widgets.figures.machines.machine_figure import Edge, MachineFigure, Node, check_size


def stage_figures(machine: TokenMachine, tokens: Iterable[int]) -> tuple[MachineFigure, ...]:
    """The stages of the composition over some tokens.

    Args:
        machine: The token machine whose construction is shown.
        tokens: Ids; those that are no text are left out.

    Returns:
        Four figures, in order.

    Raises:
        BudgetExceeded: The composition could be too large.
        ExplorerError: A stage has too many states to be drawn.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> for figure in stage_figures(dfa, range(5)):
        ...     print(figure.caption)
        composed: 8 states, 10 arcs, 5 of them ε; EOS comes after
        ε-free: 8 states, 13 arcs; EOS comes after
        determinized: 4 states, 7 arcs; EOS comes after
        trimmed: 4 states, 7 arcs; EOS comes after
    """
    vocabulary, byte_machine = machine.vocabulary, machine.byte_machine
    if not isinstance(byte_machine, Dfa):
        raise ExplorerError(
            "The construction composes two finite machines, and this constraint is not one.",
            remedy="Step through it: its token machine is worked out as it is used.",
        )
    shown = [
        token
        for token in dict.fromkeys(tokens)
        if 0 <= token < len(vocabulary) and vocabulary.tokens[token] is not None
    ]
    stages = composition_stages(vocabulary, byte_machine, shown)
    table = table_of(machine)
    known = range(byte_machine.num_states) if table is None else table.char_state.tolist()
    token_states = frozenset(known)
    return tuple(stage_figure(vocabulary, stage, token_states) for stage in stages)


def stage_figure(vocabulary: Vocabulary, stage: Stage, token_states: Set[int]) -> MachineFigure:
    """One stage as a figure.

    Args:
        vocabulary: Names its tokens.
        stage: From `composition_stages`.
        token_states: The character states that are states of the token DFA.

    Raises:
        ExplorerError: It has too many states to be drawn.
    """
    check_size(stage.num_states, whole=True)
    owners: dict[int, int] = {}
    for state in sorted(stage.between):
        if stage.characters[state] in token_states:
            owners.setdefault(stage.characters[state], state)
    names = [f"s{state}" for state in range(stage.num_states)]
    for char, state in owners.items():
        names[state] = f"q{char}"
    nodes = tuple(_node(stage, state, names[state]) for state in range(stage.num_states))
    between: dict[tuple[int, int], list[int]] = {}
    for source, token, target in stage.arcs:
        between.setdefault((source, target), []).append(token)
    edges: list[Edge] = []
    for (source, target), tokens in sorted(between.items()):
        texts = ["ε" if t == NO_TOKEN else token_text(vocabulary, t) for t in sorted(tokens)]
        edges.append(
            Edge(
                names[source],
                names[target],
                tokens_label(texts, len(texts)),
                ", ".join(texts),
                len(tokens),
                None,
                tuple(token for token in sorted(tokens) if token != NO_TOKEN),
            )
        )
    words = f"{stage.name}: {stage.num_states:,} states, {len(stage.arcs):,} arcs"
    if stage.num_epsilons:
        words += f", {stage.num_epsilons:,} of them ε"
    words += "; EOS comes after"
    return MachineFigure("stage", words, True, nodes, tuple(edges))


def _node(stage: Stage, state: int, name: str) -> Node:
    char = stage.characters[state]
    if char == NO_ARC:
        title = "no text of tokens leads here"
    elif name.startswith("q"):
        title = f"state {char}"
    elif state in stage.between:
        title = f"character state {char}: a dead end, no token leads on to the end"
    else:
        title = f"character state {char}, within a token"
    return Node(
        name,
        "" if char == NO_ARC else str(char),
        "dot" if char == NO_ARC else "state",
        state in stage.accepting,
        state == stage.start,
        title,
    )
