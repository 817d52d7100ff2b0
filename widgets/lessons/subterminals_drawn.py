"""The scanner of a grammar's terminals, and the subterminal tree of a place in it, as pictures.

Figures 3 and 4 of Beurer-Kellner, Fischer, Vechev (2024), for any grammar over terminals and any
vocabulary: which terminals a token runs through, and which of those ways the parser prunes.
"""

from __future__ import annotations

from typing import Final

from explorer.alphabet import in_quotes
from explorer.arguments import instance, whole_number
from explorer.automata.textbook.detokenizing import readable
from explorer.errors import ExplorerError
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.schemes.lookahead import Lookahead, Threads
from explorer.tokens.schemes.subterminals import BORDER, SubterminalNode, scanner_arcs
from explorer.tokens.schemes.terminals import TerminalGrammar
from widgets.figures.drawing.labels import ranges_label, token_names
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import Mark, document, machine, text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.snapshot import Snapshot
from widgets.lessons.drawn_stages import drawn_figure

MOST: Final[int] = 80
"""The most arcs of a tree that are drawn."""

_WANTED: Final = "a machine that lookahead_machine(...) made"


def scanner_picture(grammar: TerminalGrammar, terminal: str = "") -> Snapshot:
    """The character scanner: the machine of each terminal, and ε to what may stand beside it.

    Args:
        grammar: Terminals and rules.
        terminal: Draw the machine of this one alone.

    Raises:
        ExplorerError: There is no such terminal.

    Example:
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> print(scanner_picture(sums, "plus").text)
        The scanner of plus: 2 states
        0 -+-> 1
        start 0; a terminal may end in 1
    """
    instance("grammar", grammar, TerminalGrammar, "a TerminalGrammar")
    if terminal and terminal not in grammar.machines:
        raise ExplorerError(
            f"There is no terminal {in_quotes(terminal)}.",
            remedy=f"Give one of {', '.join(grammar.machines)}.",
        )
    names = [terminal] if terminal else list(grammar.terminals)
    arcs = scanner_arcs(grammar)
    first = grammar.expected(grammar.first_chart)
    nodes: list[FigureNode] = []
    edges: list[Edge] = []
    for name in names:
        dfa = grammar.machines[name]
        begins = bool(terminal) or name in first
        numbers = range(len(nodes), len(nodes) + dfa.num_states)
        nodes += [
            FigureNode(
                f"{name}-{state}", str(number), "state", dfa.is_accepting(state),
                state == dfa.start and begins,
            )
            for state, number in enumerate(numbers)
        ]  # fmt: skip
        for source, read, target in arcs[name]:
            label = ranges_label(_ranges(read))
            if source == dfa.start and not terminal:
                label = f"{name}: {label}"
            edges.append(Edge(f"{name}-{source}", f"{name}-{target}", label, label, len(read)))
        if terminal:
            continue
        for state in range(dfa.num_states):
            for beside in grammar.adjacent[name] if dfa.is_accepting(state) else ():
                start = grammar.machines[beside].start
                edges.append(Edge(f"{name}-{state}", f"{beside}-{start}", "ε", "ε", 1))
    caption = f"{len(nodes)} states"
    what = terminal or "all terminals"
    made = drawn_figure(
        MachineFigure("stage", caption, True, tuple(nodes), tuple(edges)), f"The scanner of {what}"
    )
    svg, words, title = (
        part.replace("the text may end in", "a terminal may end in")
        for part in (made.svg, made.text, made.title)
    )
    return Snapshot(svg, words, title)


def _ranges(read: bytes) -> list[tuple[int, int]]:
    """Bytes as ranges."""
    found: list[tuple[int, int]] = []
    for byte in sorted(read):
        if found and found[-1][1] == byte - 1:
            found[-1] = found[-1][0], byte
        else:
            found.append((byte, byte))
    return found


def subterminal_picture(scheme: FilteredMachine[Threads], state: int | None = None) -> Snapshot:
    """The subterminal tree of a place: which terminals a token completes, and where it ends.

    An arc to a single ring is a terminal that is completed within a token; an arc to a double ring
    has the tokens that end there, and the terminal that they end in. Blue is what the parser and k
    let through here; a dashed ring is what they prune.

    Args:
        scheme: The machine, for its grammar, vocabulary and k.
        state: One of its states; default the start. Step it to see the tree of the next place.

    Raises:
        ExplorerError: There are more than `MOST` arcs, or no such state.

    Example:
        >>> from explorer import Vocabulary
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> vocab = Vocabulary.from_bytes([b"12", b"+", b"+1"], eos_ids=[3])
        >>> from explorer.tokens.schemes.lookahead import lookahead_machine
        >>> scheme = lookahead_machine(sums, vocab, 0)
        >>> print(subterminal_picture(scheme, scheme.step(scheme.start, 0)).text)
        Inside int, k = 0: 3 tokens, 2 allowed
        12: in int, allowed
        int -> +: in plus, allowed
        int -> plus -> +1: in int, pruned
    """
    rule = instance("scheme", getattr(scheme, "filter", scheme), Lookahead, _WANTED)
    state = scheme.start if state is None else whole_number("state", state, 0)
    threads = sorted(scheme.known(state))
    nodes = [FigureNode("n", "", "state", False, True)]
    edges: list[Edge] = []
    lines: list[str] = []
    lit: set[str] = set()
    allowed: set[int] = set()
    asked: set[int] = set()
    grammar, k = rule.grammar, rule.most

    def below(node: SubterminalNode, chart: int | None, name: str, path: tuple[str, ...]) -> None:
        expected = frozenset[str]() if chart is None else grammar.expected(chart)
        for number, ((terminal, parts), ids) in enumerate(node.tokens.items()):
            through = terminal in expected and (k is None or parts <= k + 1)
            leaf = f"{name}-t{number}"
            words = token_names(scheme.vocabulary, ids[:6]) + (("…",) if len(ids) > 6 else ())
            nodes.append(FigureNode(leaf, "", "state" if through else "ghost", accepting=True))
            said = f"{' '.join(words)} in {terminal}"
            edges.append(Edge(name, leaf, said, said, len(ids)))
            asked.update(ids)
            if through:
                lit.add(f"{name}-{leaf}")
                allowed.update(ids)
            way = "".join(f"{one} -> " for one in path)
            lines.append(
                f"{way}{' '.join(words)}: in {terminal}, {'allowed' if through else 'pruned'}"
            )
        for number, (terminal, child) in enumerate(node.children.items()):
            after = None if chart is None else grammar.after(chart, terminal)
            inner = f"{name}-{number}"
            nodes.append(FigureNode(inner, "", "state" if after is not None else "ghost"))
            edges.append(Edge(name, inner, readable(terminal.encode()), terminal, 1))
            if after is not None:
                lit.add(f"{name}-{inner}")
            below(child, after, inner, (*path, terminal))

    (chart, place), *others = threads
    below(rule.tree(place), chart, "n", ())
    if len(edges) > MOST:
        raise ExplorerError(
            f"The tree has {len(edges)} arcs.",
            remedy="Use a grammar of few terminals and a vocabulary of few tokens.",
        )
    where = "At a border of terminals" if place == BORDER else f"Inside {place[0]}"
    more = f" (one of {len(threads)} ways to cut the text so far)" if others else ""
    bound = "any k" if k is None else f"k = {k}"
    title = f"{where}{more}, {bound}: {len(asked)} tokens, {len(allowed)} allowed"
    figure = MachineFigure("stage", "", True, tuple(nodes), tuple(edges))
    layout = lay_out_figures({"stage": figure})["stage"]
    lit_edges: dict[str, Mark] = {
        edge.id: "past" for edge in edges if f"{edge.source}-{edge.target}" in lit
    }
    drawn = machine(figure, layout, {}, lit_edges)
    described, alt = "\n".join([title, *lines]), "; ".join([title, *lines])
    parts = [
        text(12, 22, title, size=13, bold=True),
        f'<g transform="translate(10 40)">{drawn}</g>',
    ]
    width = max(layout.width + 20, len(title) * 7.6 + 24)
    return Snapshot(document(width, layout.height + 50, alt, parts), described, alt)
