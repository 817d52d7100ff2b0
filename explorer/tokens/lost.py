"""The part of a constraint that a vocabulary cannot write.

A constraint may accept words that no token sequence spells. The token DFA rightly leaves them out,
but a user wants to know the character states that no token sequence passes through on its way from
the start to an accepting state, and the arcs that none takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.constraint import Constraint
from explorer.tokens.walks.trie import Trie, single_bytes, trie_of
from explorer.tokens.walks.walk import states_reached, walk_trie
from explorer.vocabulary import Vocabulary

STAGE: Final = "The search for what is lost"


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
def _states_before(depth: Int32, after: Int32, path: Int32) -> Int32:
    """The state before each node that a walk visits; ``path`` begins with the walk's start."""
    before = np.empty_like(after)
    for k in range(len(depth)):
        before[k] = path[depth[k] - 1]
        path[depth[k]] = after[k]
    return before


def _mark_used(dfa: Dfa, trie: Trie, kept: Bool, state: int, used: Bool) -> None:
    """Mark every (state, symbol) on the path of a token from a state to a kept one."""
    seen = walk_trie(dfa, trie, state, nodes=True)
    nodes, after = seen.words, seen.targets
    ends = np.append(0, np.cumsum((trie.word[nodes] >= 0) & kept[after]))
    leads_on = ends[np.searchsorted(nodes, trie.skip[nodes])] > ends[:-1]
    path = np.full(trie.max_depth + 1, state, np.int32)
    before = _states_before(trie.depth[nodes], after, path)
    used[before[leads_on], trie.byte[nodes[leads_on]]] = True


def find_lost(dfa: Dfa, vocabulary: Vocabulary, char_state: Int32) -> Lost:
    """Find the states and arcs that token sequences do not use.

    Args:
        char_state: int32[n], the character states that are token states.

    Raises:
        BudgetExceeded: It takes longer than the default budget allows.
    """
    meter = Meter()
    meter.check(STAGE, bytes=6 * dfa.num_symbols * dfa.num_states)
    live = dfa.table[:, dfa.symbol_class] >= 0
    trie = trie_of(vocabulary, dfa)
    over_tokens = dfa.over_tokens
    if not over_tokens and single_bytes(trie)[live.any(axis=0)].all():
        return Lost((), ())
    kept = np.zeros(dfa.num_states, np.bool_)
    kept[char_state] = True
    used = np.zeros((dfa.num_states, dfa.num_symbols), np.bool_)
    for state in char_state.tolist():
        meter.check_time(STAGE)
        _mark_used(dfa, trie, kept, state, used)
    visited = kept.copy()
    visited[dfa.table[:, dfa.symbol_class][used]] = True
    states = np.flatnonzero(~visited)
    source, byte = np.nonzero((live & ~used)[:, :NUM_BYTES])
    return Lost(
        tuple(int(s) for s in states),
        tuple(zip(source.tolist(), byte.tolist(), strict=True)),
    )


def find_lost_lazily(constraint: Constraint, vocabulary: Vocabulary) -> Lost:
    """`find_lost` for a lazy machine: its states are computed first.

    Raises:
        BudgetExceeded: It takes longer than the default budget allows, or the constraint has no
            closed form within it.
    """
    dfa = constraint.for_tokens(Meter())
    trie = trie_of(vocabulary, dfa)
    from explorer.tokens.walks.finishing import Finishing

    finishing = Finishing(dfa, trie)
    meter = Meter()
    states = states_reached(
        dfa, trie, meter, STAGE, lambda state: finishing.can_finish(state, meter)
    )
    return find_lost(dfa, vocabulary, states)
