"""Canonical tokenization as one automaton over token ids, written out.

What a tokenizer would write for any text at all is a regular language of token sequences (Berglund
et al. 2024; Cognetta & Okazaki 2024): an automaton C that is worked out once for a tokenizer, and
that any machine over tokens can be intersected with. `explorer.compile(c.canonical())` never
writes it out: it follows it where texts lead. Here it stands whole, so that it can be looked at,
exported and intersected by hand.

Cost: a mask and a step for each arc; states grow with the tokens that can stand last, and arcs with
their pairs. Letters and GPT-2's first merges of them: 46 ids, 8 states and 344 arcs; 126 ids, 43
and 5,018; 426 ids, 164 and 64,273, in 7 s. So it is for small vocabularies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from explorer.alphabet import token_label
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.automata.machine import Int32
from explorer.automata.textbook.detokenizing import readable
from explorer.budget import Budget, Meter
from explorer.languages.constraint import regex
from explorer.tokens.compile import compile
from explorer.tokens.states import DONE
from explorer.vocabulary import Vocabulary

STAGE: Final = "Writing out canonical tokenization"


@dataclass(frozen=True, eq=False)
class CanonicalAutomaton:
    """The token sequences that a tokenizer would write, of any text; state 0 is the start.

    Args:
        arcs: int32[arcs, 3], rows ``(source, token, target)``.
        accepting: The states in which a text may end.
    """

    vocabulary: Vocabulary
    num_states: int
    arcs: Int32
    accepting: frozenset[int]

    @property
    def fst(self) -> Any:
        """The automaton as a pynini acceptor; token id t has the label t + 1."""
        labels = self.arcs[:, 1] + token_label(0)
        rows = np.column_stack([self.arcs[:, 0], labels, labels, self.arcs[:, 2]])
        ends = np.zeros(self.num_states, np.bool_)
        ends[list(self.accepting)] = True
        return fst_from_arrays(self.num_states, 0, rows.astype(np.int32), ends)

    @property
    def drawn(self) -> DrawnTransducer:
        """The automaton to be looked at: as a transducer, it writes the tokens that it reads."""
        names = [readable(data) if data else "" for data in self.vocabulary.tokens]
        arcs = cast("list[tuple[int, int, int]]", self.arcs.tolist())
        rows = tuple((s, names[token], names[token], t) for s, token, t in arcs)
        return DrawnTransducer(self.num_states, rows, self.accepting)

    def __repr__(self) -> str:
        return f"CanonicalAutomaton({self.num_states:,} states, {len(self.arcs):,} arcs)"


def canonical_automaton(vocabulary: Vocabulary, budget: Budget | None = None) -> CanonicalAutomaton:
    """Write canonical tokenization out for a tokenizer.

    Args:
        vocabulary: One that knows its tokenizer.
        budget: Limits on states, arcs and seconds.

    Raises:
        UnsupportedTokenizer: The tokenizer is not followed.
        BudgetExceeded: The automaton is larger; the error has the size that was reached.

    Example:
        >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        >>> pieces = {"a": 0, "b": 1, "ab": 2, ".": 3}
        >>> tokenizer = Tokenizer(models.BPE(pieces, [("a", "b")]))
        >>> tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False, use_regex=False)
        >>> tokenizer.decoder = decoders.ByteLevel()
        >>> made = canonical_automaton(Vocabulary.from_tokenizer(tokenizer, eos_ids=[3]))
        >>> [(s, read, t) for s, read, _, t in made.drawn.arcs]  # No b after a: that is ab.
        [(0, 'a', 1), (0, 'b', 0), (0, 'ab', 0), (1, 'a', 1), (1, 'ab', 0)]
    """
    meter = Meter(budget)
    constraint = regex(r"(?s:.*)").canonical(vocabulary)
    machine = compile(constraint, vocabulary, meter.budget)
    number = {machine.start: 0}
    waiting = [machine.start]
    rows: list[tuple[int, int, int]] = []
    ends: list[int] = []
    for state in waiting:
        for token in np.flatnonzero(machine.allowed(state)).tolist():
            target = machine.step(state, token)
            if target == DONE:
                ends.append(number[state])
            elif target is not None:
                if target not in number:
                    number[target] = len(number)
                    waiting.append(target)
                rows.append((number[state], token, number[target]))
        meter.check(STAGE, states=len(number), arcs=len(rows), bytes=100 * len(rows))
    return _joined(vocabulary, len(number), rows, set(ends))


def _joined(
    vocabulary: Vocabulary, count: int, rows: list[tuple[int, int, int]], ends: set[int]
) -> CanonicalAutomaton:
    """The smallest automaton of the same sequences: states that no sequence tells apart are one."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for source, token, target in rows:
        leaving[source].append((token, target))
    block = [int(state in ends) for state in range(count)]
    while True:
        keys: dict[object, int] = {}
        after = [
            keys.setdefault(
                (block[state], tuple((token, block[target]) for token, target in leaving[state])),
                len(keys),
            )
            for state in range(count)
        ]
        if len(keys) == len(set(block)):
            break
        block = after
    numbers: dict[int, int] = {}
    first: list[int] = []
    for state in range(count):
        if block[state] not in numbers:
            numbers[block[state]] = len(numbers)
            first.append(state)
    arcs = [
        (numbers[block[state]], token, numbers[block[target]])
        for state in first
        for token, target in leaving[state]
    ]
    accepting = frozenset(numbers[block[state]] for state in ends)
    return CanonicalAutomaton(
        vocabulary, len(first), np.array(arcs, np.int32).reshape(-1, 3), accepting
    )
