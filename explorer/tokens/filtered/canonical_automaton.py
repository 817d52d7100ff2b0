"""Canonical tokenization as one complete automaton over token ids.

The tokenizations that a tokenizer writes for all texts are a regular language of token sequences
(Berglund et al. 2024; Cognetta & Okazaki 2024): an automaton C that is computed once for a
tokenizer and intersected with any machine over tokens. `explorer.compile(c.canonical())` never
builds it as a whole but follows it where texts lead. Here it is built, to be looked at, exported
and intersected by hand.

Cost: a mask and a step for each arc; states grow with the tokens that can stand last, arcs with
pairs of tokens. Letters and GPT-2's first merges: 46 ids, 8 states and 344 arcs; 126 ids, 43
and 5,018; 426 ids, 164 and 64,273, in 7 s. So it is for small vocabularies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from explorer.alphabet import readable, token_label
from explorer.automata.construction.minimize import minimize
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.automata.machine import NO_ARC, Dfa, Int32
from explorer.budget import Budget, Meter
from explorer.languages.constraint import regex
from explorer.tokens.compile import compile
from explorer.tokens.filtered.table import after_each, exhausted
from explorer.vocabulary import Vocabulary

STAGE: Final = "Writing out canonical tokenization"


@dataclass(frozen=True, eq=False)
class CanonicalAutomaton:
    """The token sequences that a tokenizer would write for some text; state 0 is the start.

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
        """The automaton for drawing: as a transducer that writes the tokens that it reads."""
        names = [readable(data) if data else "" for data in self.vocabulary.tokens]
        arcs = cast("list[tuple[int, int, int]]", self.arcs.tolist())
        rows = tuple((s, names[token], names[token], t) for s, token, t in arcs)
        return DrawnTransducer(self.num_states, rows, self.accepting)

    def __repr__(self) -> str:
        return f"CanonicalAutomaton({self.num_states:,} states, {len(self.arcs):,} arcs)"


def canonical_automaton(vocabulary: Vocabulary, budget: Budget | None = None) -> CanonicalAutomaton:
    """Build the automaton of a tokenizer's canonical tokenizations.

    Args:
        vocabulary: One that knows its tokenizer.
        budget: Limits on states, arcs and seconds.

    Raises:
        UnsupportedTokenizer: The tokenizer's rules are not supported.
        BudgetExceeded: The automaton is larger; the error names the size that was reached.

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
    arcs = 0

    def ways(state: int) -> Iterator[tuple[int, int]]:
        nonlocal arcs
        for token, target in after_each(machine, state):
            arcs += 1
            meter.check(STAGE, arcs=arcs, bytes=100 * arcs)
            yield token, target

    rows = exhausted(machine.start, ways, meter, 4 * len(vocabulary))
    number = {state: k for k, state in enumerate(rows)}
    table = np.full((len(rows), len(vocabulary)), NO_ARC, np.int32)
    for row, there in zip(table, rows.values(), strict=True):
        row[[*there]] = [number[state] for state in there.values()]
    accepting = np.array([machine.is_final(state) for state in rows])
    tokens = np.arange(len(vocabulary), dtype=np.int32)
    small = minimize(Dfa(tokens, table, accepting, 0), meter)
    targets = small.table[:, small.symbol_class]
    source, token = np.nonzero(targets != NO_ARC)
    leading = np.column_stack([source, token, targets[source, token]]).astype(np.int32)
    ends = frozenset(np.flatnonzero(small.accepting).tolist())
    return CanonicalAutomaton(vocabulary, small.num_states, leading, ends)
