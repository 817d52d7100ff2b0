"""Static pictures of the machines in a pipeline: a constraint, a stage, spellings, a scanner.

`machine_picture` and `stage_picture` draw the machine of a constraint, or of one of its stages.

`spelling_picture` draws all the ways to write one text in tokens: the token DFA of the text, each
state at the offset in the text that it stands for. The marked way is that of the canonical filter:
the tokens that the tokenizer itself writes.

`scanner_picture` and `subterminal_picture` draw the scanner of a grammar's terminals, and the
subterminal tree of a place in it. They are figures 3 and 4 of Beurer-Kellner, Fischer, Vechev
(2024), for any grammar over terminals and any vocabulary: the terminals that a token runs through,
and which of these ways the parser prunes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.alphabet import in_quotes, readable
from explorer.arguments import instance, whole_number
from explorer.budget import Meter
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, literal
from explorer.languages.stages.staged import stages_of
from explorer.tokens.compile import compile
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.lookahead import Lookahead, Threads
from explorer.tokens.schemes.subterminals import BORDER, SubterminalNode, scanner_arcs
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import ranges_label, token_names
from widgets.figures.drawing.svg import Mark
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.panels.pipeline import LIMITS, stage_figure, transducer_figure
from widgets.figures.snapshot import Snapshot
from widgets.lessons.lettered import figure_words, titled


def machine_picture(constraint: Constraint, title: str = "", *, in_bytes: bool = False) -> Snapshot:
    """The character FSA of a constraint: states are circles, a double ring accepts.

    Args:
        constraint: A language with few states.
        title: The title; default the call that makes the constraint.
        in_bytes: Draw bytes, and the states in the middle of a character.

    Raises:
        ExplorerError: There are too many states to be drawn.

    Example:
        >>> import explorer
        >>> print(machine_picture(explorer.regex("a|b")).text)
        regex('a|b'): 2 states
        0 -a b-> 1
        start 0; the text may end in 1
    """
    constraint = instance("constraint", constraint, Constraint, "a Constraint")
    figure = stage_figure(constraint.dfa, in_bytes=in_bytes)
    return drawn_figure(figure, title or str(constraint))


def stage_picture(constraint: Constraint, number: int = -1, title: str = "") -> Snapshot:
    """The machine or the transducer of one of a constraint's stages.

    Args:
        constraint: A constraint with stages.
        number: The number of the stage, counted from 0; default the last one.
        title: The title; default the call that makes the stage.

    Raises:
        ExplorerError: There is no such stage, or it has no machine that could be drawn.

    Example:
        >>> import explorer
        >>> print(stage_picture(explorer.regex("[a-c]+").restrict(chars="ab")).text.splitlines()[1])
        0 -a b-> 0
    """
    constraint = instance("constraint", constraint, Constraint, "a Constraint")
    stages = stages_of(constraint.source)
    number = whole_number("number", number, None)
    if not -len(stages) <= number < len(stages):
        raise ExplorerError(f"There is no stage {number}.", remedy="Put a stage around it first.")
    stage, _ = stages[number]
    relation = stage.transducer(Meter(LIMITS))
    if relation is not None:
        return drawn_figure(transducer_figure(relation), title or str(stage))
    dfa = stage.picture(Meter(LIMITS))
    if dfa is None:
        raise ExplorerError(
            f"The stage {stage} is a relation between tokens, not a machine over bytes.",
            remedy="Draw the spellings of a text with spelling_picture.",
        )
    return drawn_figure(stage_figure(dfa, in_bytes=stage.in_bytes), title or str(stage))


def drawn_figure(figure: MachineFigure, title: str) -> Snapshot:
    """A machine under its title, laid out."""
    return titled(f"{title}: {figure.caption}", figure, figure_words(figure))


LONGEST: Final = 24
"""The longest text that is drawn, in bytes."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """Every sequence of tokens that writes a text.

    Args:
        arcs: ``(from, token, to)``, with offsets in the text in bytes.
    """

    text: str
    count: int
    own: tuple[int, ...]
    arcs: tuple[tuple[int, int, int], ...]


def spellings_of(vocabulary: Vocabulary, written: str) -> Spellings:
    """Every sequence of tokens that writes a text, and the tokenizer's own.

    Args:
        vocabulary: The tokens, with their tokenizer.
        written: The text.

    Raises:
        ExplorerError: The text is empty or has more than `LONGEST` bytes, or the rules of the
            tokenizer are not supported.

    Example:
        >>> import explorer
        >>> found = spellings_of(explorer.load_model("tiny").vocabulary, "Rome")
        >>> found.count, len(found.own)
        (7, 1)
    """
    data = written.encode()
    if not 0 < len(data) <= LONGEST:
        raise ExplorerError(
            f"A text of {len(data)} bytes cannot be drawn with all its spellings.",
            remedy=f"Use a text of 1 to {LONGEST} bytes.",
        )
    dfa = compile(literal(written), vocabulary)
    place = {dfa.start: 0}
    counts = {dfa.start: 1}
    arcs: list[tuple[int, int, int]] = []
    for state in _sorted_states(dfa, vocabulary, place):
        for token in _text_tokens(dfa, vocabulary, state):
            target = dfa.step(state, token)
            if target is not None:
                counts[target] = counts.get(target, 0) + counts[state]
                arcs.append((place[state], token, place[target]))
    total = next(counts[state] for state, at in place.items() if at == len(data))
    return Spellings(written, total, _own(vocabulary, written), tuple(arcs))


def _sorted_states(dfa: TokenMachine, vocabulary: Vocabulary, place: dict[int, int]) -> list[int]:
    """The states that tokens reach, by offset in the text; the offsets are added to ``place``."""
    waiting = [dfa.start]
    for state in waiting:
        for token in _text_tokens(dfa, vocabulary, state):
            target = dfa.step(state, token)
            if target is not None and target not in place:
                place[target] = place[state] + len(vocabulary.tokens[token] or b"")
                waiting.append(target)
    return sorted(place, key=lambda state: place[state])


def _text_tokens(dfa: TokenMachine, vocabulary: Vocabulary, state: int) -> list[int]:
    ids = dfa.allowed(state).nonzero()[0].tolist()
    return [int(token) for token in ids if token not in vocabulary.eos_ids]


def _own(vocabulary: Vocabulary, written: str) -> tuple[int, ...]:
    """The tokens of the only path through the canonical machine."""
    dfa = compile(literal(written).canonical(), vocabulary)
    state, ids = dfa.start, list[int]()
    while not dfa.is_final(state):
        (token,) = _text_tokens(dfa, vocabulary, state)
        ids.append(token)
        after = dfa.step(state, token)
        if after is None:
            break
        state = after
    return tuple(ids)


def spelling_picture(lm: LanguageModel, written: str, *, most: int = 60) -> Snapshot:
    """All the ways to write a text, from left to right; the tokenizer's own way is thick and blue.

    Args:
        lm: A model, for its tokens.
        written: A text of at most `LONGEST` bytes.
        most: The most arcs that are drawn.

    Raises:
        ExplorerError: The text is too long, or there are more arcs.

    Example:
        >>> import explorer
        >>> print(spelling_picture(explorer.load_model("tiny"), "Rome").text.splitlines()[0])
        7 ways to write 'Rome' in tokens; the tokenizer writes Rome
    """
    vocabulary = checked_model(lm).vocabulary
    spellings = spellings_of(vocabulary, written)
    most = whole_number("most", most, 1)
    if len(spellings.arcs) > most:
        raise ExplorerError(
            f"{len(spellings.arcs)} tokens can take part in a spelling of {written!r}.",
            remedy="Draw a shorter text, or give a larger `most`.",
        )
    own: set[str] = set()
    at = 0
    for token in spellings.own:
        after = at + len(vocabulary.tokens[token] or b"")
        own.add(f"s{at}-s{after}")
        at = after
    labels: dict[tuple[int, int], list[str]] = {}
    for a, token, b in spellings.arcs:
        labels.setdefault((a, b), []).append(*token_names(vocabulary, [token]))
    places = sorted({0, *(b for _, _, b in spellings.arcs)})
    nodes = tuple(
        FigureNode(f"s{place}", str(place), "state", place == places[-1], place == 0)
        for place in places
    )
    edges = tuple(
        Edge(f"s{a}", f"s{b}", " or ".join(words), ", ".join(words), len(words))
        for (a, b), words in labels.items()
    )
    figure = MachineFigure("stage", "", True, nodes, edges)
    pieces = " ".join(token_names(vocabulary, spellings.own))
    ways = "1 way" if spellings.count == 1 else f"{spellings.count:,} ways"
    words = f"{ways} to write {written!r} in tokens; the tokenizer writes {pieces}"
    arcs = [f"{a} -{' or '.join(said)}-> {b}" for (a, b), said in labels.items()]
    return titled(words, figure, arcs, edges=dict.fromkeys(own, "past"))


MOST: Final[int] = 80
"""The most arcs of a tree that are drawn."""

_WANTED: Final = "a machine that lookahead_machine(...) made"


def scanner_picture(grammar: TerminalGrammar, terminal: str = "") -> Snapshot:
    """The character scanner: the machine of each terminal, and ε arcs to those that may follow it.

    Args:
        grammar: Terminals and rules.
        terminal: Draw only the machine of this terminal.

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
    ranges: list[tuple[int, int]] = []
    for byte in sorted(read):
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1] = ranges[-1][0], byte
        else:
            ranges.append((byte, byte))
    return ranges


def subterminal_picture(scheme: FilteredMachine[Threads], state: int | None = None) -> Snapshot:
    """The subterminal tree of a place: the terminals that a token completes, and where it ends.

    An arc to a single ring is a terminal that is completed within a token; an arc to a double ring
    has the tokens that end there, and the terminal that they end in. Blue arcs are those that the
    parser and k allow here; dashed rings are those that they prune.

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
    lit_edges: dict[str, Mark] = {
        edge.id: "past" for edge in edges if f"{edge.source}-{edge.target}" in lit
    }
    return titled(title, figure, lines, edges=lit_edges)
