"""The textbook composition with pynini, in one go and stage by stage.

Koo, Liu & He 2024, Algorithm 2: compose the detokenizing FST with the character FSA, keep the input
side, and determinize. `compose` is that, token by token: the definition. Tokens of one word over
byte classes can share an arc first (`explorer.tokens.closed_form.textbook`), which changes nothing
but the size, and `explorer.tokens.closed_form.assemble` computes the same machine without writing
the composed one down. Nothing in pynini can be interrupted: the clock is looked at between its
operations.

`composition_stages` gives the machines in between (composed, ε-free, determinized, trimmed) for a
few tokens and a small machine, so that each step can be looked at and understood. There the end of
the text is left out; it is an arc from each accepting state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from explorer.alphabet import EPSILON, label_byte, label_token, token_label
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange import openfst
from explorer.automata.interchange.libraries import installed
from explorer.automata.interchange.openfst import dfa_to_fst
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.textbook.detokenizing import detokenizing_fst
from explorer.budget import Budget, Meter
from explorer.memo import memo
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pynini


def fst_letters(fst: pynini.Fst) -> DrawnTransducer:
    """A pynini machine as a drawing, with labels from its symbol tables, or as characters.

    Example:
        >>> import pynini
        >>> fst_letters(pynini.cross("ab", "x")).arcs
        ((0, 'a', 'x', 1), (1, 'b', '', 2))
    """
    machine = cast(Any, fst)  # pynini's stubs leave out its symbol tables.
    tables = (machine.input_symbols(), machine.output_symbols())
    states, start, arcs, accepting = openfst.arrays_of(fst)
    number = {start: 0}
    for k in range(states):
        number.setdefault(k, len(number))

    def words(label: int, side: int) -> str:
        if label == EPSILON:
            return ""
        table = tables[side]
        return chr(label) if table is None else str(table.find(label))

    rows = sorted(
        (number[source], words(read, 0), words(written, 1), number[target])
        for source, read, written, target in arcs.tolist()
    )
    ends = frozenset(number[k] for k in accepting.nonzero()[0].tolist())
    return DrawnTransducer(states, tuple(rows), ends)


COMPOSING: Final = "Composition by pynini"


@memo
def _transducer(vocabulary: Vocabulary) -> pynini.Fst:
    """T_V without symbol tables, its arcs sorted for composition."""
    transducer = cast(Any, detokenizing_fst(vocabulary))
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    return transducer.arcsort("olabel")


def compose(vocabulary: Vocabulary, dfa: Dfa, meter: Meter) -> tuple[int, Int32, Bool]:
    """The deterministic machine over token ids, from a T_V with an arc for every token.

    ``compile(method="pynini")`` makes the same machine sooner, from words over byte classes.

    Args:
        dfa: The character FSA, over bytes; its language is not empty.

    Returns:
        As `deterministic`, with token ids.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    start, arcs, accepting = deterministic(_transducer(vocabulary), dfa_to_fst(dfa), meter)
    arcs[:, 1] -= token_label(0)
    return start, arcs, accepting


def deterministic(
    transducer: pynini.Fst, acceptor: pynini.Fst, meter: Meter
) -> tuple[int, Int32, Bool]:
    """Compose, project to the input, remove ε, determinize, connect: Algorithm 2 by pynini.

    Args:
        transducer: Its arcs sorted by output label.
        acceptor: What reads the transducer's output.

    Returns:
        The start state; int32[arcs, 3], rows ``(source, input label, target)``; bool[states],
        whether the text may end. No states if nothing that the transducer writes is accepted.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    fsts = installed("pynini", "Composition with OpenFST")
    meter.check_time(COMPOSING)
    operations: tuple[Callable[[Any], Any], ...] = (
        lambda machine: machine.project("input"),
        lambda machine: machine.rmepsilon(),
        fsts.determinize,
        lambda machine: machine.connect(),
    )
    machine = fsts.compose(transducer, acceptor)
    for operation in operations:
        meter.check(COMPOSING, states=machine.num_states())
        machine = operation(machine)
    meter.check(COMPOSING, states=machine.num_states())
    num_states, start, arcs, accepting = openfst.read_fst(machine.write_to_string())
    meter.check(COMPOSING, states=num_states, arcs=len(arcs), bytes=32 * len(arcs))
    return start, arcs[:, [0, 1, 3]], accepting


LIMITS: Final = Budget(states=20_000, arcs=500_000, seconds=5.0)
"""The limits of the stages; ``states`` counts pairs of a character state and a state of T_V."""

NO_TOKEN: Final = -1
"""The token of an arc that reads nothing."""

STAGES: Final = ("composed", "ε-free", "determinized", "trimmed")


@dataclass(frozen=True, slots=True)
class Stage:
    """A machine over token ids on the way to the token DFA.

    Args:
        name: One of `STAGES`.
        arcs: ``(source, token, target)``; `NO_TOKEN` for ε.
        characters: The character state of each state; `NO_ARC` if it has no character state.
        between: The states between two tokens; the others are within one.
        prefixes: The bytes of the unfinished token that each state has written; empty between two
            tokens.
    """

    name: str
    num_states: int
    start: int
    arcs: tuple[tuple[int, int, int], ...]
    accepting: frozenset[int]
    characters: tuple[int, ...] = ()
    between: frozenset[int] = frozenset()
    prefixes: tuple[bytes, ...] = ()

    @property
    def num_epsilons(self) -> int:
        """The number of ε-arcs."""
        return sum(token == NO_TOKEN for _, token, _ in self.arcs)


def composition_stages(
    vocabulary: Vocabulary, machine: Dfa, only: Collection[int]
) -> tuple[Stage, ...]:
    """T_V ∘ A for some tokens, step by step.

    Returns:
        The four stages, in order.

    Raises:
        BudgetExceeded: The composition could be too large for a picture.
        VocabularyError: ``only`` names an id that is not a text token.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> stages = composition_stages(vocab, regex("(foo)+d").dfa, range(5))
        >>> [(stage.name, stage.num_states, stage.num_epsilons) for stage in stages][-1]
        ('trimmed', 4, 0)
    """
    operations = installed("pynini", "Composition step by step")
    transducer = cast(Any, detokenizing_fst(vocabulary, only=only))
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    Meter(LIMITS).check(
        "Composing for a picture", states=transducer.num_states() * max(machine.num_states, 1)
    )
    acceptor = cast(Any, dfa_to_fst(machine))
    composed = operations.compose(transducer, acceptor, connect=False)
    pairs = _pairs(composed, transducer, machine)
    composed = operations.project(composed, "input")
    free = composed.copy()
    free.rmepsilon(connect=False)
    single = operations.determinize(free)
    trimmed = single.copy()
    trimmed.connect()
    # Removing ε keeps the states; a state then stands for the text of the tokens that reach it.
    return (
        _stage("composed", composed, pairs),
        _stage("ε-free", free, pairs),
        *(
            _stage(name, fst, _after_tokens(fst, vocabulary, machine))
            for name, fst in (("determinized", single), ("trimmed", trimmed))
        ),
    )


def _pairs(composed: Any, transducer: Any, machine: Dfa) -> dict[int, tuple[bytes, int]]:
    """The bytes written of a token and the state of A, for each state of T_V ∘ A."""
    if composed.start() < 0:
        return {}
    _, root, inner, _ = openfst.read_fst(transducer.write_to_string())
    leads = {(s, token, byte): t for s, token, byte, t in inner.tolist()}
    written = {root: b""}
    for source, _, byte, target in _in_order(transducer):
        if target not in written:
            written[target] = written[source] + bytes([label_byte(byte)])
    place_of = {composed.start(): (root, machine.start)}
    for source, token, byte, target in _in_order(composed):
        prefix, state = place_of[source]
        if byte != EPSILON:
            state = _after(machine, state, bytes([label_byte(byte)]))
        place_of.setdefault(target, (leads[prefix, token, byte], state))
    return {number: (written[prefix], state) for number, (prefix, state) in place_of.items()}


def _after_tokens(fst: Any, vocabulary: Vocabulary, machine: Dfa) -> dict[int, tuple[bytes, int]]:
    """The state of A after the tokens' text, for each state of a deterministic machine."""
    if fst.start() < 0:
        return {}
    place_of = {fst.start(): (b"", machine.start)}
    for source, token, _, target in _in_order(fst):
        data = vocabulary.tokens[label_token(token)] or b""
        place_of.setdefault(target, (b"", _after(machine, place_of[source][1], data)))
    return place_of


def _in_order(fst: Any) -> Iterator[tuple[int, int, int, int]]:
    """The reachable arcs, each after an arc into its source."""
    _, start, arcs, _ = openfst.read_fst(fst.write_to_string())
    leaving: dict[int, list[tuple[int, int, int, int]]] = {}
    for source, token, byte, target in arcs.tolist():
        leaving.setdefault(source, []).append((source, token, byte, target))
    seen, waiting = {start}, [start]
    for state in waiting:
        for arc in leaving.get(state, ()):
            yield arc
            if arc[3] not in seen:
                seen.add(arc[3])
                waiting.append(arc[3])


def _stage(name: str, fst: Any, held: Mapping[int, tuple[bytes, int]]) -> Stage:
    if fst.start() < 0:
        return Stage(name, 0, -1, (), frozenset())
    states, start, arcs, accepting = openfst.read_fst(fst.write_to_string())
    stages = tuple(
        (source, NO_TOKEN if label == EPSILON else label_token(label), target)
        for source, label, _, target in arcs.tolist()
    )
    return Stage(
        name,
        states,
        start,
        stages,
        frozenset(accepting.nonzero()[0].tolist()),
        tuple(held.get(state, (b"", NO_ARC))[1] for state in range(states)),
        frozenset(state for state in range(states) if state in held and not held[state][0]),
        tuple(held.get(state, (b"", NO_ARC))[0] for state in range(states)),
    )


def _after(machine: Dfa, state: int, data: bytes) -> int:
    """The state after some bytes; `NO_ARC` if a byte has no arc."""
    for byte in data:
        if state == NO_ARC:
            break
        state = int(machine.table[state, machine.symbol_class[byte]])
    return state
