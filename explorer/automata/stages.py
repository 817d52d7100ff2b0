"""The construction as OpenFST does it: composed, ε-free, determinized, trimmed.

`explorer.compile` reaches the result in one walk. These are the steps of the definition (Koo, Liu
& He 2024, section 3), by pynini, for a few tokens and a small machine: to be looked at, and to
see what each step is for. The end of the text is left out; it is an arc from each accepting
state.

Cost: pynini's operations cannot be interrupted, so the sizes are checked before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, cast

from explorer.alphabet import EPSILON, label_token
from explorer.automata import openfst
from explorer.automata.detokenizing import detokenizing_fst
from explorer.automata.machine import Dfa
from explorer.automata.pynini_bridge import dfa_to_fst
from explorer.budget import Budget, Meter
from explorer.vocabulary import Vocabulary

LIMITS: Final = Budget(states=20_000, arcs=500_000, seconds=5.0)
"""For the composition: states of the character FSA × states of the restricted T_V."""

NO_TOKEN: Final = -1
"""An arc that reads nothing."""

STAGES: Final = ("composed", "ε-free", "determinized", "trimmed")


@dataclass(frozen=True, slots=True)
class Stage:
    """A machine over token ids on the way to the token DFA.

    Args:
        name: One of `STAGES`.
        num_states: States are ``0 .. num_states - 1``.
        start: The start state.
        arcs: ``(source, token, target)``; `NO_TOKEN` for ε.
        accepting: The accepting states.
    """

    name: str
    num_states: int
    start: int
    arcs: tuple[tuple[int, int, int], ...]
    accepting: frozenset[int]

    @property
    def num_epsilons(self) -> int:
        """How many arcs read nothing."""
        return sum(token == NO_TOKEN for _, token, _ in self.arcs)


def composition_stages(
    vocabulary: Vocabulary, machine: Dfa, only: Collection[int]
) -> tuple[Stage, ...]:
    """T_V ∘ A for some tokens, step by step.

    Args:
        vocabulary: The tokens.
        machine: The character FSA.
        only: The ids to compose with; text tokens.

    Returns:
        The four stages, in order.

    Raises:
        BudgetExceeded: The composition could be too large to look at.
        VocabularyError: ``only`` names an id that is no text token.

    Example:
        >>> from explorer.automata.constraint import regex
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> found = composition_stages(vocab, regex("(foo)+d").dfa, range(5))
        >>> [(stage.name, stage.num_states, stage.num_epsilons) for stage in found][-1]
        ('trimmed', 4, 0)
    """
    import pynini

    operations = cast(Any, pynini)  # Its stubs leave out keyword arguments and base classes.
    transducer = cast(Any, detokenizing_fst(vocabulary, only=only))
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    Meter(LIMITS).check(
        "Composing for a picture", states=transducer.num_states() * max(machine.num_states, 1)
    )
    acceptor = cast(Any, dfa_to_fst(machine))
    composed = operations.compose(transducer, acceptor, connect=False)
    composed = operations.project(composed, "input")
    free = composed.copy()
    free.rmepsilon(connect=False)
    single = operations.determinize(free)
    trimmed = single.copy()
    trimmed.connect()
    machines = (composed, free, single, trimmed)
    return tuple(_stage(name, fst) for name, fst in zip(STAGES, machines, strict=True))


def _stage(name: str, fst: Any) -> Stage:
    if fst.start() < 0:
        return Stage(name, 0, -1, (), frozenset())
    states, start, arcs, accepting = openfst.read(fst.write_to_string())
    found = tuple(
        (source, NO_TOKEN if label == EPSILON else label_token(label), target)
        for source, label, _, target in arcs.tolist()
    )
    return Stage(name, states, start, found, frozenset(accepting.nonzero()[0].tolist()))
