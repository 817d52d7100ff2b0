"""A token machine that has nothing but what the protocol asks for: no table, no distances."""

from __future__ import annotations

from explorer.automata.machine import Bool, ByteMachine
from explorer.languages.constraint import Constraint
from explorer.tokens.report import Report
from explorer.tokens.token_dfa import TokenDFA
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary


class Untabled:
    """A token DFA that shows a `TokenMachine` and no more.

    Args:
        dfa: The machine that answers.
    """

    def __init__(self, dfa: TokenDFA) -> None:
        self._dfa = dfa

    @property
    def constraint(self) -> Constraint | None:
        return self._dfa.constraint

    @property
    def vocabulary(self) -> Vocabulary:
        return self._dfa.vocabulary

    @property
    def report(self) -> Report:
        return self._dfa.report

    @property
    def byte_machine(self) -> ByteMachine | None:
        return self._dfa.byte_machine

    @property
    def start(self) -> int:
        return self._dfa.start

    @property
    def num_states(self) -> int:
        return self._dfa.num_states

    def step(self, state: int, token: int) -> int | None:
        return self._dfa.step(state, token)

    def mask(self, state: int) -> UInt32:
        return self._dfa.mask(state)

    def allowed(self, state: int) -> Bool:
        return self._dfa.allowed(state)

    def is_final(self, state: int) -> bool:
        return self._dfa.is_final(state)

    def distance_to_end(self, state: int) -> int | None:
        return None

    def byte_state(self, state: int) -> int:
        return self._dfa.byte_state(state)
