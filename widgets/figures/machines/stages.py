"""The construction as a lesson: composed with ε, ε-free, determinized, trimmed.

The machines are pynini's (`explorer.automata.textbook.composition`), over the few tokens that are
shown; the token DFA itself comes from one walk over all tokens. The caption of each stage says what
changed; parts that the next step removes are dashed; the end of the text is a separate arc.

A state of the composition is a pair: a state q of the character FSA, and r, the part of an
unfinished token that the detokenizing FST has written. Between two tokens it has the same name as
in the token DFA, so that both are lit together; within a token, or if there is no such token state,
it has a name of its own. The composition can be watched pair by pair: for each of its arcs the two
arcs that it is made of are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Final

from explorer.automata.machine import NO_ARC, whole_table
from explorer.automata.textbook.composition import NO_TOKEN, Stage, composition_stages
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text, tokens_label
from widgets.figures.machines.character_fsa import (
    CharacterView,
    character_edges,
    character_view,
)
from widgets.figures.machines.detokenizing_figure import prefix_node, prefix_text
from widgets.figures.machines.machine_figure import (
    Edge,
    FigureNode,
    MachineFigure,
    NodeKind,
    check_size,
)

ALGORITHM_1: Final = (
    "Make the root, where a token begins: texts start and end there.",
    "For each token lay a path from the root, a state for each beginning of its bytes; tokens that "
    "begin alike share states.",
    "An arc inside a path reads nothing (ε) and writes one byte.",
    "The last arc reads the token, writes its last byte and leads back to the root.",
    "EOS is read at the root, writes nothing and ends the text.",
)
"""The steps of the detokenizing FST (Koo, Liu & He 2024, Algorithm 1), in our words."""

ALGORITHM_2: Final = (
    "Begin with the pair (start of the FSA, root of the FST).",
    "From a pair (q, r): where the FST writes a byte from r to r′ and the FSA reads it from q to "
    "q′, draw an arc to (q′, r′) that reads what the FST reads.",
    "Take out ε: what a token needs several arcs for becomes one arc, from root to root.",
    "Determinize: from each state at most one arc per token.",
    "Trim: a state from which no text can end goes, or decoding would be stuck in it.",
    "Where the FSA accepts, EOS ends the text.",
)
"""The steps of the token DFA (Koo, Liu & He 2024, Algorithm 2), in our words."""

STEP_OF: Final = {"composed": 1, "ε-free": 2, "determinized": 3, "trimmed": 4}
"""The step of Algorithm 2 that makes each stage, counted from 0."""


@dataclass(frozen=True)
class Made:
    """One stage as a drawing, with the step that made it.

    Args:
        figure: The machine; its caption says what the step changed.
        sources: For each arc of the composition, in the order of construction: its name, the arc of
            the detokenizing FST, and that of the character FSA (``None`` in the middle of a
            character that may be several). Empty for the other stages.
        step: The step of `ALGORITHM_2` that makes it, from 0.
    """

    figure: MachineFigure
    sources: tuple[tuple[str, str, str | None], ...]
    step: int

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON, as the page reads them; without the layout."""
        return {
            "figure": self.figure.to_dict(),
            "sources": [list(arcs) for arcs in self.sources],
            "step": self.step,
            "algorithm": list(ALGORITHM_2),
            "first": list(ALGORITHM_1),
        }


def stages_made(machine: TokenMachine, tokens: Iterable[int]) -> tuple[Made, ...]:
    """The stages of the composition over some tokens.

    Args:
        tokens: Ids; those that are not text are left out.

    Returns:
        Four stages, in order.

    Raises:
        BudgetExceeded: The composition could be too large.
        ExplorerError: A stage has too many states to be drawn, or the constraint is not finite.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> for made in stages_made(dfa, range(5)):
        ...     print(made.figure.caption)
        composed: 8 states, 10 arcs, 5 of them ε
        ε-free: 8 states, 13 arcs: the 5 ε arcs went, 8 arcs of whole tokens came
        determinized: 4 states, 7 arcs: 4 states within tokens went
        trimmed: 4 states, 7 arcs: nothing to do, each state can reach an end
    """
    vocabulary, byte_machine = machine.vocabulary, whole_table(machine.byte_machine)
    if byte_machine is None:
        raise ExplorerError(
            "The construction composes two finite machines, and this constraint is not one.",
            remedy="Step through it: its token machine is computed as it is used.",
        )
    if byte_machine.over_tokens:
        raise ExplorerError(
            "The construction is shown for constraints over text, but this one is about tokens: "
            "its detokenizing transducer also writes where each token ends.",
            remedy="Step through it, or look at a pattern without TEXT_TOKEN and its like.",
        )
    shown = [
        token
        for token in dict.fromkeys(tokens)
        if 0 <= token < len(vocabulary) and vocabulary.tokens[token] is not None
    ]
    stages = composition_stages(vocabulary, byte_machine, shown)
    table = table_of(machine)
    known = range(byte_machine.num_states) if table is None else table.char_state.tolist()
    named = [_names(stage, frozenset(known)) for stage in stages]
    made: list[Made] = []
    for number, (stage, names) in enumerate(zip(stages, named, strict=True)):
        goes = set(names) - set(named[number + 1]) if number + 1 < len(stages) else set[str]()
        before = stages[number - 1] if number else None
        figure = _figure(vocabulary, stage, names, goes, _caption(stage, before))
        view = character_view(machine)
        sources = _sources(vocabulary, stage, names, view) if stage.name == "composed" else ()
        made.append(Made(figure, sources, STEP_OF[stage.name]))
    return tuple(made)


def _names(stage: Stage, token_states: Set[int]) -> list[str]:
    """The node of each state: that of the token DFA if it is one of its states."""
    check_size(stage.num_states, whole=True)
    owners: dict[int, int] = {}
    for state in sorted(stage.between):
        if stage.characters[state] in token_states:
            owners.setdefault(stage.characters[state], state)
    names = [
        f"s{stage.characters[state]}.{stage.prefixes[state].hex()}"
        if stage.characters[state] != NO_ARC
        else f"s-{state}"
        for state in range(stage.num_states)
    ]
    for char, state in owners.items():
        names[state] = f"q{char}"
    # Several states may hold the same pair; each has a name of its own.
    seen: dict[str, int] = {}
    for state, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[state] = f"{name}~{seen[name] - 1}"
    return names


def _caption(stage: Stage, before: Stage | None) -> str:
    """The caption of a stage: its sizes, and what the step to it changed."""
    words = f"{stage.name}: {stage.num_states:,} states, {len(stage.arcs):,} arcs"
    if before is None:
        return f"{words}, {stage.num_epsilons:,} of them ε"
    states = before.num_states - stage.num_states
    arcs = len(before.arcs) - len(stage.arcs)
    if stage.name == "ε-free":
        if not before.num_epsilons:
            return f"{words}: nothing to do, no arc reads ε"
        came = len(stage.arcs) - (len(before.arcs) - before.num_epsilons)
        return (
            f"{words}: the {before.num_epsilons:,} ε arcs went, {came:,} arcs of whole tokens came"
        )
    if stage.name == "determinized":
        if not states and not arcs:
            return f"{words}: nothing to do, no state has two arcs for one token"
        inner = before.num_states - len(before.between)
        return f"{words}: {inner:,} states within tokens went" + (
            f", {states - inner:,} more merged" if states > inner else ""
        )
    if not states:
        return f"{words}: nothing to do, each state can reach an end"
    return f"{words}: {states:,} dead ends and {arcs:,} arcs went"


def _figure(
    vocabulary: Vocabulary, stage: Stage, names: Sequence[str], goes: Set[str], caption: str
) -> MachineFigure:
    nodes = [_node(stage, state, names[state], names[state] in goes) for state in range(len(names))]
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
    if vocabulary.eos_ids and stage.accepting:
        nodes.append(FigureNode("done", "", "done", title="the text has ended"))
        edges += [
            Edge(names[state], "done", "EOS", "the text may end here", len(vocabulary.eos_ids))
            for state in sorted(stage.accepting)
        ]
    return MachineFigure("stage", caption, True, tuple(nodes), tuple(edges))


def _sources(
    vocabulary: Vocabulary, stage: Stage, names: Sequence[str], view: CharacterView
) -> tuple[tuple[str, str, str | None], ...]:
    """For each arc of the composition, pair by pair, the two arcs that it is made of."""
    sources: dict[str, tuple[str, str, str | None]] = {}
    reached = {stage.start}
    waiting = [stage.start]
    leaving: dict[int, list[tuple[int, int]]] = {}
    for source, token, target in stage.arcs:
        leaving.setdefault(source, []).append((token, target))
    for state in waiting:
        for token, target in leaving.get(state, ()):
            prefix = stage.prefixes[state]
            data = stage.prefixes[target] if token == NO_TOKEN else vocabulary.tokens[token] or b""
            last = data[-1:]
            inner = prefix_node(b"" if token != NO_TOKEN else data)
            ends = [stage.characters[state], stage.characters[target]]
            (outer,) = character_edges(view, ends, last, "characters")
            name = f"{names[state]}-{names[target]}"
            sources.setdefault(name, (name, f"{prefix_node(prefix)}-{inner}", outer))
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return tuple(sources.values())


def _node(stage: Stage, state: int, name: str, goes: bool) -> FigureNode:
    char = stage.characters[state]
    prefix = prefix_text(stage.prefixes[state]) or "r"
    pair = stage.name in ("composed", "ε-free")
    if char == NO_ARC:
        title = "no text of tokens leads here"
    elif name.startswith("q"):
        title = f"state {char}"
    elif state in stage.between:
        title = f"character state {char}: a dead end, no token leads on to the end"
    else:
        title = f"character state {char}, within a token"
    if pair and char != NO_ARC:
        where = "at its root" if prefix == "r" else f"after {prefix}"
        title = f"the pair ({char}, {prefix}): {title}; the FST is {where}"
    if goes:
        title += "; the next step takes it away"
    kind: NodeKind = "dot" if char == NO_ARC else "ghost" if goes else "state"
    label = "" if char == NO_ARC else f"{char},{prefix}" if pair else str(char)
    return FigureNode(name, label, kind, state in stage.accepting, state == stage.start, title)
