"""A token machine that has nothing but what the protocol asks for: no table, no distances."""

from __future__ import annotations

from explorer.automata.machine import Bool, ByteMachine
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.report import Report
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary


class Untabled:
    """A machine that shows a `TokenMachine` and no more.

    Args:
        machine: The machine that answers.
    """

    def __init__(self, machine: TokenMachine) -> None:
        self.machine = machine

    @property
    def constraint(self) -> Constraint | None:
        return self.machine.constraint

    @property
    def vocabulary(self) -> Vocabulary:
        return self.machine.vocabulary

    @property
    def report(self) -> Report:
        return self.machine.report

    @property
    def byte_machine(self) -> ByteMachine | None:
        return self.machine.byte_machine

    @property
    def start(self) -> int:
        return self.machine.start

    @property
    def num_states(self) -> int:
        return self.machine.num_states

    def step(self, state: int, token: int) -> int | None:
        return self.machine.step(state, token)

    def mask(self, state: int) -> UInt32:
        return self.machine.mask(state)

    def allowed(self, state: int) -> Bool:
        return self.machine.allowed(state)

    def is_final(self, state: int) -> bool:
        return self.machine.is_final(state)

    def distance_to_end(self, state: int) -> int | None:
        return None

    def byte_state(self, state: int) -> int:
        return self.machine.byte_state(state)
