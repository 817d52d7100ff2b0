"""Steps of the textbook: refinement, reaching, transduction, detokenizing."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, Literal, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.alphabet import EPSILON, byte_label, readable, token_label
from explorer.automata.construction import minimize as merging
from explorer.automata.construction.minimize import by_head, by_target, minimize, steps_from
from explorer.automata.construction.operations import equivalent
from explorer.automata.construction.subset import determinize
from explorer.automata.construction.transduce import (
    NOTHING,
    Transducer,
    image_of,
    in_turn,
    origins_of,
    smallest,
)
from explorer.automata.interchange.openfst import dfa_to_fst, fst_from_arrays, fst_to_dfa
from explorer.automata.machine import Bool, Dfa, Nfa
from explorer.automata.textbook.composition import fst_letters
from explorer.automata.textbook.detokenizing import detokenizing_fst
from explorer.automata.textbook.steps import Subsets, pairs_of, rounds_of, subsets_of
from explorer.automata.tree.layout import lay_out
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, VocabularyError
from explorer.languages.constraint import regex
from explorer.languages.regex import parse
from explorer.vocabulary import Vocabulary
from tests.evidence import calls_of, examples
from tests.optional import pynini
from tests.patterns import vocabularies
from widgets.lessons.lettered import acceptor, dfa_letters, matched, subset_letters

# The lessons' own subset construction and minimization, held equal to the engine's.


PATTERNS = [
    "ab", "a(aa)*", "a+|b+", "a+|ab", r"([0-9]+)?\.[0-9]+", "(foo)+d", "(a|b)*a(a|b)(a|b)",
    "(yes|no|maybe)?", "[a-c]x|[b-d]y", "a{2,5}", "",
]  # fmt: skip


def nfa_of(pattern: str) -> Nfa:
    return lay_out(parse(pattern).root, Meter())


def run(found: Subsets, data: bytes) -> bool:
    state = 0
    for byte in data:
        after = [t for s, low, high, t in found.arcs if s == state and low <= byte <= high]
        if not after:
            return False
        (state,) = after
    return state in found.accepting


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_sets_are_a_deterministic_machine_of_the_pattern(pattern: str) -> None:
    nfa = nfa_of(pattern)
    mine, theirs = subsets_of(nfa), determinize(nfa, Meter())
    # The fast one leaves out states that only ε leaves, so it may have fewer sets.
    assert len(mine.sets) >= theirs.num_states
    for word in (b"", b"a", b"ab", b"aa", b"aaa", b"23.37", b"food", b"maybe", b"by", b"aab"):
        assert run(mine, word) == theirs.accepts(word)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_blocks_are_the_states_of_the_minimal_machine(pattern: str) -> None:
    nfa = nfa_of(pattern)
    rounds = rounds_of(subsets_of(nfa))
    minimal = minimize(determinize(nfa, Meter()), Meter())
    assert len(set(rounds[-1])) == minimal.num_states
    # The blocks are the minimal machine, arc by arc.
    found, blocks = subsets_of(nfa), rounds[-1]
    arcs = {(blocks[s], low, high, blocks[t]) for s, low, high, t in found.arcs}
    quotient = Subsets(
        tuple(frozenset([k]) for k in sorted(set(blocks))),
        tuple(sorted(arcs)),
        frozenset(blocks[k] for k in found.accepting),
    )
    assert matched(subset_letters(quotient), dfa_letters(minimal)) is not None
    # Each round only splits blocks.
    for before, after in pairwise(rounds):
        assert len(set(after)) > len(set(before))
        assert len(set(zip(before, after, strict=True))) == len(set(after))


def test_the_sets_can_be_many_and_are_counted() -> None:
    assert len(subsets_of(nfa_of("(a|b)*a(a|b){5}")).sets) >= 2**6
    with pytest.raises(BudgetExceeded):
        subsets_of(nfa_of("(a|b)*a(a|b){12}"), Meter(Budget(states=500)))


@pytest.mark.parametrize("form", ["compact", "original"])
@pytest.mark.parametrize("pattern", ["(foo)+d", "foo|for", "f*(oo)*"])
def test_the_pairs_are_pyninis_composition(
    pattern: str, form: Literal["compact", "original"]
) -> None:
    pynini = pytest.importorskip("pynini")

    vocabulary = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
    constraint = regex(pattern)
    transducer = cast(Any, detokenizing_fst(vocabulary, form))
    theirs = pynini.compose(transducer, constraint.fsa, connect=False)
    letters = dfa_letters(constraint.dfa)
    single = [(s, one, t) for s, read, _, t in letters.arcs for one in read.split()]
    reads = acceptor(letters.num_states, single, letters.accepting)
    found = pairs_of(fst_letters(transducer), reads)
    assert matched(found.machine, fst_letters(theirs.project("input"))) is not None
    assert sum(arc.new for arc in found.arcs) == len(found.pairs) - 1


# Equal states by refinement, beside Moore's rounds.


@st.composite
def machines(draw: st.DrawFn) -> tuple[Dfa, Bool]:
    """Machines with many equal states, and which of them lie on an accepting path."""
    different, classes = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    states = different * draw(st.integers(1, 6))
    # Each state has copies; an arc leads to any copy of its target, most often of the next state.
    names = np.arange(states) % different
    table = random.integers(-1, different, (different, classes))
    table[:, 0] = np.where(random.random(different) < 0.9, np.arange(different) + 1, table[:, 0])
    copies = different * random.integers(0, states // different, (states, classes))
    table = np.where(table[names] < 0, -1, table[names] % different + copies).astype(np.int32)
    accepting = (random.random(different) < draw(st.sampled_from([0.05, 0.5])))[names]
    symbol_class = np.minimum(np.arange(256), classes - 1).astype(np.int32)
    useful = merging._trim(table, accepting, 0)[0]  # pyright: ignore[reportPrivateUsage]
    return Dfa(symbol_class, table, accepting, 0), useful


def in_rounds(dfa: Dfa, useful: Bool, rounds: int | None = None) -> list[int]:
    """The block of each state after rounds that each compare one more symbol; −1 if useless."""
    blocks = [int(end) if kept else -1 for end, kept in zip(dfa.accepting, useful, strict=True)]
    while rounds is None or rounds > 0:
        rows = [(b, *(blocks[t] if t >= 0 else -1 for t in row)) if b >= 0 else None
                for b, row in zip(blocks, dfa.table.tolist(), strict=True)]  # fmt: skip
        number = {row: k for k, row in enumerate(dict.fromkeys(row for row in rows if row))}
        after = [-1 if row is None else number[row] for row in rows]
        if len(number) == len({*blocks} - {-1}):
            break
        blocks, rounds = after, None if rounds is None else rounds - 1
    return blocks


def refined(dfa: Dfa, useful: Bool, quantum: int) -> tuple[list[int], list[int], int]:
    """The blocks by refinement, a state of each, and how often it paused."""
    _, offset, source = merging._trim(dfa.table, dfa.accepting, 0)  # pyright: ignore[reportPrivateUsage]
    parts, slots, progress = merging.blocks_at_first(dfa.accepting, useful)
    pauses = 0
    while not merging.refine(dfa.table, offset, source, parts, slots, progress, quantum):
        pauses += 1
    firsts = parts[1][parts[5, : progress[0]]]
    return parts[0].tolist(), firsts.tolist(), pauses


def same_parts(one: list[int], other: list[int]) -> bool:
    pairs = {*zip(one, other, strict=True)}
    return len(pairs) == len({*one}) == len({*other})


@given(machines(), st.sampled_from([0, 10, 1000]))
@settings(max_examples=examples(200))
def test_refinement_and_rounds_agree(drawn: tuple[Dfa, Bool], quantum: int) -> None:
    dfa, useful = drawn
    blocks, firsts, _ = refined(dfa, useful, quantum)
    wanted = in_rounds(dfa, useful)
    assert same_parts(blocks, wanted)
    assert [blocks[state] for state in firsts] == list(range(len(firsts)))


def test_a_round_too_few_differs() -> None:
    """A mutant: blocks of states that were compared too little are not the answer."""
    states = 12
    table = np.minimum(np.arange(states, dtype=np.int32) + 1, states - 1)[:, None]
    table[-1] = 0
    accepting = np.arange(states) == states - 1
    dfa = Dfa(np.zeros(256, np.int32), np.ascontiguousarray(table), accepting, 0)
    useful = np.ones(states, np.bool_)
    blocks, _, pauses = refined(dfa, useful, 0)
    assert same_parts(blocks, in_rounds(dfa, useful)) and pauses > 5
    assert not same_parts(blocks, in_rounds(dfa, useful, 4))


def test_refinement_looks_at_the_clock() -> None:
    """Once for each piece of the work, of which a large machine has many."""

    def looks(states: int) -> int:
        table = np.random.default_rng(0).integers(0, states, (states, 20)).astype(np.int32)
        symbol_class = np.minimum(np.arange(256), 19).astype(np.int32)
        dfa = Dfa(symbol_class, table, np.arange(states) == 0, 0)
        return calls_of(lambda: merging.minimize(dfa, Meter()), Meter.check_time)

    assert looks(200_000) > looks(6) + 2


# Searches over arcs against sets that grow by one step at a time.


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[bool], list[bool], list[bool]]:
    """A table, and which of its states and classes count and where to begin."""
    states, classes = draw(st.integers(0, 7)), draw(st.integers(1, 4))
    rows = st.lists(st.integers(-1, states - 1), min_size=classes, max_size=classes)
    chosen = st.lists(st.booleans(), min_size=states, max_size=states)
    table = draw(st.lists(rows, min_size=states, max_size=states))
    usable = draw(st.lists(st.booleans(), min_size=classes, max_size=classes))
    return table, draw(chosen), usable, draw(chosen)


def steps_by_sets(arcs: list[tuple[int, int]], begin: list[bool]) -> list[int]:
    """The same by growing a set: against the arcs, one more step in each round."""
    found = [int(one) for one in begin]
    for step in range(1, len(begin) + 1):
        at_hand = {s for s, steps in enumerate(found) if steps == step}
        for tail in {tail for tail, head in arcs if head in at_hand}:
            found[tail] = found[tail] or step + 1
    return found


@given(tables())
def test_ways_back_through_a_table(
    drawn: tuple[list[list[int]], list[bool], list[bool], list[bool]],
) -> None:
    table, rows, columns, begin = drawn
    array = np.array(table, np.int32).reshape(len(table), len(columns))
    arcs = [
        (s, target)
        for s, row in enumerate(table)
        for c, target in enumerate(row)
        if rows[s] and columns[c] and target >= 0
    ]
    tails, heads = (np.array([arc[k] for arc in arcs], np.int32) for k in (0, 1))
    expected = steps_by_sets(arcs, begin)
    for offset, source in (
        by_target(array, np.array(rows, np.bool_), np.array(columns, np.bool_)),
        by_head(tails, heads, len(table)),
    ):
        assert steps_from(offset, source, np.array(begin, np.bool_)).tolist() == expected
        into = [sorted(source[offset[s] : offset[s + 1]].tolist()) for s in range(len(table))]
        assert into == [sorted(t for t, h in arcs if h == s) for s in range(len(table))]


# Our composition of small transducers, beside pynini's of the same machines.


PATTERNS_OF_TRANSDUCE = [
    "",
    "a",
    "(ab)*",
    "[abc]*",
    "a+b|c{2,3}",
    "(a|b)*c",
    "[^\\s\\S]",
    "((a|b)(b|c))*",
]


def random_transducer(draw: Random) -> Transducer:
    states = draw.randint(1, 4)
    letters = [NOTHING, *b"abc"]
    rows = sorted(
        (draw.randrange(states), draw.choice(letters), draw.choice(letters), draw.randrange(states))
        for _ in range(draw.randint(0, 9))
    )
    accepting = np.array([draw.random() < 0.6 for _ in range(states)])
    return Transducer(states, np.array(rows, np.int32).reshape(-1, 4), accepting)


def as_fst(transducer: Transducer) -> Any:
    """pynini's form; a byte b has the label b + 1."""
    arcs = transducer.arcs.copy()
    for column in (1, 2):
        silent = arcs[:, column] == NOTHING
        arcs[:, column] = np.where(silent, EPSILON, arcs[:, column] + byte_label(0))
    return cast(Any, fst_from_arrays(transducer.num_states, 0, arcs, transducer.accepting.copy()))


def by_pynini(machine: Dfa, transducer: Transducer, wanted: Dfa | None) -> Dfa:
    pynini = pytest.importorskip("pynini")

    library = pynini
    composed = library.compose(
        cast(Any, dfa_to_fst(machine)).arcsort("olabel"), as_fst(transducer).arcsort("ilabel")
    )
    if wanted is not None:
        after = cast(Any, dfa_to_fst(wanted)).arcsort("ilabel")
        composed = library.compose(composed.arcsort("olabel"), after)
    kept = library.project(composed, "output" if wanted is None else "input").rmepsilon()
    return fst_to_dfa(kept, "explorer", Meter())


@pytest.mark.parametrize("seed", range(60))
def test_images_and_origins_are_pyninis(seed: int) -> None:
    draw = Random(seed)
    machine, wanted = (regex(draw.choice(PATTERNS_OF_TRANSDUCE)).dfa for _ in range(2))
    transducer = random_transducer(draw)
    mine = image_of(machine, transducer, Meter())
    assert equivalent(mine, by_pynini(machine, transducer, None), Meter())
    words = origins_of(machine, transducer, wanted, Meter())
    assert equivalent(words, by_pynini(machine, transducer, wanted), Meter())


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_does_what_its_parts_do(seed: int) -> None:
    draw = Random(1000 + seed)
    first, second = random_transducer(draw), random_transducer(draw)
    both = in_turn(first, second, Meter())
    for pattern in PATTERNS_OF_TRANSDUCE:
        machine = regex(pattern).dfa
        one_by_one = image_of(image_of(machine, first, Meter()), second, Meter())
        assert equivalent(image_of(machine, both, Meter()), one_by_one, Meter()), pattern
        least = smallest(first, Meter())
        assert least.num_states <= first.num_states or least.num_states <= 2**first.num_states
        assert equivalent(
            image_of(machine, least, Meter()), image_of(machine, first, Meter()), Meter()
        )


def test_another_arc_is_noticed() -> None:
    """The oracle can fail: one arc that writes something else makes another image."""
    arcs = np.array([[0, 97, 98, 0], [0, 98, 97, 0]], np.int32)
    swap = Transducer(1, arcs, np.array([True]))
    wrong = Transducer(1, arcs[:, [0, 1, 1, 3]].copy(), np.array([True]))
    machine = regex("aab").dfa
    assert equivalent(image_of(machine, swap, Meter()), regex("bba").dfa, Meter())
    assert not equivalent(
        image_of(machine, wrong, Meter()), by_pynini(machine, swap, None), Meter()
    )


# T_V transduces token sequences to the bytes that they spell, in both forms.


def acceptor_of_detokenizing(labels: list[int]) -> Any:
    arcs = np.array([(k, x, x, k + 1) for k, x in enumerate(labels)], np.int32).reshape(-1, 4)
    accepting = np.zeros(len(labels) + 1, np.bool_)
    accepting[-1] = True
    return fst_from_arrays(len(labels) + 1, 0, arcs, accepting)


def bare(fst: Any) -> Any:
    fst.set_input_symbols(None)
    fst.set_output_symbols(None)
    return fst


@given(vocabularies(), st.data())
@settings(max_examples=examples(40))
def test_a_token_sequence_writes_its_bytes(tokens: list[bytes | None], data: st.DataObject) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    text = [i for i, token in enumerate(vocabulary.tokens) if token]
    ids = data.draw(st.lists(st.sampled_from(text), max_size=5)) if text else []
    written = b"".join(vocabulary.tokens[i] or b"" for i in ids)
    for form in ("compact", "original"):
        fst = bare(explorer.detokenizing_fst(vocabulary, form))  # type: ignore[arg-type]
        out = pynini.compose(acceptor_of_detokenizing([token_label(i) for i in ids]), fst).project(
            "output"
        )
        out = pynini.determinize(out.rmepsilon())
        wanted = acceptor_of_detokenizing([byte_label(b) for b in written])
        assert pynini.equivalent(out, wanted)
        if written:  # It can fail: another text is another language.
            other = acceptor_of_detokenizing([byte_label(b ^ 1) for b in written])
            assert not pynini.equivalent(out, other)


def test_both_forms_are_one_relation(sentencepiece_32k: explorer.Vocabulary) -> None:
    short = [b"a", b"b", b"c", b"ab", b"abc", b" ", b" a", b" ab", b"bc", b"ca"]
    some = [i for i, data in enumerate(sentencepiece_32k.tokens) if data in short]
    assert len(some) >= len(short)
    compact = bare(explorer.detokenizing_fst(sentencepiece_32k, only=some))
    original = bare(explorer.detokenizing_fst(sentencepiece_32k, "original", only=some))
    text = explorer.regex(r"[a-c ]{0,6}").fsa

    def tokenizations(fst: Any) -> Any:
        composed = pynini.compose(fst.copy().arcsort("olabel"), text).project("input")
        return pynini.determinize(composed.rmepsilon()).connect()

    assert pynini.equivalent(tokenizations(compact), tokenizations(original))
    assert compact.num_states() < original.num_states()


def test_symbols_print_readably() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(
        [b" a", b"\n", b"\xc3", "ä".encode(), b"ab", b"ab", b"<b>"], eos_ids=[7]
    )
    fst = explorer.detokenizing_fst(vocabulary)
    names = [name for _, name in fst.input_symbols()]
    assert names == ["ε", "␣a", "\\n", "<C3>", "ä", "ab", "ab#5", "<b>"]
    assert fst.output_symbols().find(byte_label(0xC3)) == "<C3>"
    assert "␣a" in str(fst)


ALIKE = st.text("\\nx0u␣<C3> \n\xe3", max_size=7).map(str.encode)


@given(ALIKE, ALIKE)
def test_readable_tells_backslashes_from_escapes(a: bytes, b: bytes) -> None:
    assert (readable(a) == readable(b)) == (a == b)


def test_names_never_collide() -> None:
    tokens = [b"a", b"a#2", b"a", b"a#2", b"a#2#3"]
    fst = explorer.detokenizing_fst(explorer.Vocabulary.from_bytes(tokens, eos_ids=[5]))
    labels = [label for label, _ in fst.input_symbols()]
    assert labels == [0, 1, 2, 3, 4, 5]
    with pytest.raises(VocabularyError, match="form='nonsense'"):
        explorer.detokenizing_fst(explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1]), "nonsense")  # type: ignore[arg-type]
