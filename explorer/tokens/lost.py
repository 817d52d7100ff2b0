"""The part of a constraint that a vocabulary cannot write.

A constraint may accept words that no token sequence spells. The token DFA leaves them out,
rightly, but a user wants to know: which character states can no sequence pass through, and
which arcs can none take, on its way from the start to an accepting state?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.automata.tree.build import is_over_tokens
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.constraint import Constraint
from explorer.tokens.walks.finishing import Finishing, single_bytes
from explorer.tokens.walks.trie import UInt8
from explorer.tokens.walks.written import trie_for
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Lost:
    """Parts of the character FSA that no accepted token sequence uses.

    Args:
        states: Character states.
        arcs: ``(state, byte)`` pairs.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"bb"], eos_ids=[2])
        >>> explorer.compile(explorer.regex("a|b"), vocab).lost.arcs
        ((0, 98),)
    """

    states: tuple[int, ...]
    arcs: tuple[tuple[int, int], ...]

    def __bool__(self) -> bool:
        return bool(self.states or self.arcs)


@jit
def _use(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    kept: Bool, starts: Int32, used: Bool, max_depth: int,
) -> None:  # fmt: skip
    """Mark every (state, byte) on the way of a token between two kept states."""
    states = np.zeros(max_depth + 1, np.int32)
    path = np.zeros(max_depth + 1, np.int32)
    for s in range(starts.shape[0]):
        states[0] = starts[s]
        node = 0
        while node < byte.shape[0]:
            d = depth[node]
            target = table[states[d - 1], symbol_class[byte[node]]]
            if target < 0:
                node = skip[node]
                continue
            states[d] = target
            path[d] = byte[node]
            if word[node] >= 0 and kept[target]:
                for i in range(d, 0, -1):
                    used[states[i - 1], path[i]] = True
            node += 1


def find_lost(dfa: Dfa, vocabulary: Vocabulary, char_state: Int32) -> Lost:
    """Find the states and arcs that token sequences do not use.

    Args:
        dfa: The character FSA.
        vocabulary: The tokens.
        char_state: int32[n], the character states that are token states.

    Raises:
        BudgetExceeded: It takes longer than the default budget allows.
    """
    meter = Meter()
    meter.check("The search for what is lost", bytes=6 * dfa.num_symbols * dfa.num_states)
    live = dfa.table[:, dfa.symbol_class] >= 0
    trie = trie_for(vocabulary, dfa)
    over_tokens = is_over_tokens(dfa)
    if not over_tokens and single_bytes(trie)[live.any(axis=0)].all():
        return Lost((), ())
    kept = np.zeros(dfa.num_states, np.bool_)
    kept[char_state] = True
    used = np.zeros((dfa.num_states, dfa.num_symbols), np.bool_)
    for some in np.array_split(char_state, len(char_state) // 256 + 1):
        meter.check_time("The search for what is lost")
        _use(
            trie.byte, trie.depth, trie.skip, trie.word, dfa.symbol_class, dfa.table, kept, some,
            used, trie.max_depth,
        )  # fmt: skip
    visited = kept.copy()
    visited[dfa.table[:, dfa.symbol_class][used]] = True
    states = np.flatnonzero(~visited)
    source, byte = np.nonzero((live & ~used)[:, :NUM_BYTES])
    return Lost(
        tuple(int(s) for s in states),
        tuple(zip(source.tolist(), byte.tolist(), strict=True)),
    )


def find_lost_lazily(constraint: Constraint, vocabulary: Vocabulary) -> Lost:
    """As `find_lost`, for a machine that does not know its states: they are found first.

    Raises:
        BudgetExceeded: It takes longer than the default budget allows, or the constraint has no
            closed form within it.
    """
    dfa = constraint.for_tokens(Meter())
    finishing = Finishing(dfa, trie_for(vocabulary, dfa))
    meter = Meter()
    met = {dfa.start}
    queue = [dfa.start]
    for state in queue:
        for target in finishing.targets(state, meter):
            if target not in met and finishing.can_finish(target, meter):
                met.add(target)
                queue.append(target)
    return find_lost(dfa, vocabulary, np.array(sorted(met), np.int32))
