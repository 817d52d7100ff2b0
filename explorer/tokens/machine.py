"""The protocol of a machine over tokens: the questions that decoding asks of any kind of machine.

A *token machine* says, in every state, which token ids may come next. Sessions, traces, masks on a
device, explanations, traps, the command line and the widgets use only `TokenMachine`; so a closed
table (`explorer.TokenDFA`), a machine that computes its rows as they are visited
(`explorer.tokens.lazy`), one without a constraint (`explorer.tokens.lazy.Free`) and
future machines are all the same to them.

States are ints: 0 or more, or one of the sentinels `DONE`, `FREE` and `DEAD`
(`explorer.tokens.words`). A machine that discovers its states numbers each when it first meets it
and keeps the number, so a state can stand in a message, a trace and a tensor.

A *capability* is a feature of some machines only. Each has a protocol here and one function that
asks for it by name: `table_of`, `filtered_of`, `planner_of` and `storable_of`. The caller handles
its absence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, ByteMachine, Int32
from explorer.languages.constraint import Constraint
from explorer.tokens.report import Report
from explorer.tokens.words import FREE, UInt32
from explorer.vocabulary import Vocabulary


@runtime_checkable
class TokenMachine(Protocol):
    """A machine over token ids: a start state, a step, and a mask for every state."""

    @property
    def constraint(self) -> Constraint | None:
        """The language, with its source; ``None`` where every text is allowed."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        ...

    @property
    def report(self) -> Report:
        """Times, sizes and the kind of the machine."""
        ...

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes that this one follows; ``None`` without a constraint."""
        ...

    @property
    def start(self) -> int:
        """The state before the first token."""
        ...

    @property
    def num_states(self) -> int:
        """The number of known states: all of a table's, those met so far of another machine."""
        ...

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token; ``None`` where the token is not allowed.

        Raises:
            ExplorerError: There is no such state.
        """
        ...

    def mask(self, state: int) -> UInt32:
        """The mask of a state as packed words, the layout of xgrammar, llguidance and vLLM.

        Returns:
            uint32[ceil(len(vocabulary) / 32)], read-only: bit ``i % 32`` of word ``i // 32`` is
            set where token i may come next; the bits past the vocabulary are 0.
        """
        ...

    def allowed(self, state: int) -> Bool:
        """The mask of a state, one entry per id: bool[len(vocabulary)], read-only."""
        ...

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state; true of `DONE`."""
        ...

    def distance_to_end(self, state: int) -> int | None:
        """The fewest tokens to the end of the text, EOS included; ``None`` where it is not known.

        0 from `DONE`, 1 from `FREE`; ``None`` from `DEAD`, where there is no way to the end.
        """
        ...

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for; `NO_ARC` for a sentinel."""
        ...


@runtime_checkable
class TokenTable(TokenMachine, Protocol):
    """A token machine whose states are all known, as a table of states × token classes."""

    @property
    def table(self) -> NDArray[np.int16] | Int32:
        """int16 or int32[num_states, num_classes], the next state, `DEAD` or `DONE`."""
        ...

    @property
    def token_class(self) -> NDArray[np.uint16] | Int32:
        """uint16 or int32[len(vocabulary)], the class of each id."""
        ...

    @property
    def char_state(self) -> Int32:
        """int32[num_states], the state of `byte_machine` that each state stands for."""
        ...

    @property
    def accepting(self) -> Bool:
        """bool[num_states], where the text may end."""
        ...

    @property
    def distance(self) -> Int32:
        """int32[num_states], the fewest tokens to the end of the text, EOS included."""
        ...

    @property
    def stuck(self) -> Int32:
        """int32[n], states of `byte_machine` that tokens reach and the vocabulary cannot finish."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a filter masks a token.

    Args:
        filter: The filter's name.
        pieces: The bytes of the tokens to be written instead; empty where the filter lets no
            continuation of the text through.
        reason: The reason as a clause; empty where the pieces say it all.
        short: The reason in two or three words; empty where the text has another spelling.
    """

    filter: str
    pieces: tuple[bytes, ...]
    reason: str = ""
    short: str = ""


Mark = Literal["fixed", "bridge"]
"""A filter's remark on a token that it allows: the token is fixed text, which the model was not
asked about, or it crosses a border of terminals."""


class Filtered(TokenMachine, Protocol):
    """A token machine that may stand behind a filter, which masks more than the text does."""

    @property
    def unfiltered(self) -> TokenMachine | None:
        """The machine before the filter; ``None`` where there is no filter."""
        ...

    @property
    def filter_name(self) -> str:
        """The filter's name; empty where there is no filter."""
        ...

    def refusal(self, state: int, token: int) -> Refusal | None:
        """The filter's reason for masking a token that the text allows; else ``None``."""
        ...

    def marks(self, state: int, token: int) -> frozenset[Mark]:
        """The remarks of the filter on a token that is allowed in a state."""
        ...

    def text_to(self, state: int) -> bytes | None:
        """A text that led to a state, not a sentinel; ``None`` where none was recorded.

        A filter's state depends on the tokens before it, so a shortest text to its byte state need
        not lead to it.
        """
        ...


class PlansAhead(Protocol):
    """A machine that may know the fewest tokens to the end from every state."""

    @property
    def knows_distances(self) -> bool:
        """Whether `TokenMachine.distance_to_end` is known in every state."""
        ...

    def mask_within(self, state: int, remaining: int) -> UInt32:
        """The mask of the tokens after which the text can still be ended in time.

        Args:
            state: A state or a sentinel; no budget changes the mask of a sentinel.
            remaining: The number of tokens that may still be written, EOS included.

        Returns:
            As `TokenMachine.mask`; where the budget removes nothing, the same object.
        """
        ...


@runtime_checkable
class Storable(Protocol):
    """A machine that can be written to a file."""

    def save(self, path: str | Path) -> None:
        """Write the machine.

        Raises:
            ExplorerError: The machine has no table.
        """
        ...

    def of_constraint(self, constraint: Constraint) -> Storable:
        """This machine under a constraint of the same texts, such as one with a stage."""
        ...


def table_of(machine: TokenMachine) -> TokenTable | None:
    """The machine as a table, if it is one; else ``None``."""
    return cast("TokenTable", machine) if hasattr(machine, "token_class") else None


def filtered_of(machine: TokenMachine) -> Filtered | None:
    """The machine as one that stands behind a filter; ``None`` where no filter masks anything."""
    behind = cast("Filtered", machine) if hasattr(machine, "filter_name") else None
    return None if behind is None or behind.unfiltered is None else behind


def planner_of(machine: TokenMachine) -> PlansAhead | None:
    """The machine as one that knows all distances to the end; ``None`` where it does not."""
    planner = cast("PlansAhead", machine) if hasattr(machine, "mask_within") else None
    return None if planner is None or not planner.knows_distances else planner


def storable_of(machine: TokenMachine) -> Storable | None:
    """The machine as one that may be saved; `save` may still raise. Else ``None``."""
    return cast("Storable", machine) if hasattr(machine, "of_constraint") else None


def is_free(machine: TokenMachine) -> bool:
    """Whether a machine has no constraint; see `explorer.tokens.lazy.Free`."""
    return machine.start == FREE
