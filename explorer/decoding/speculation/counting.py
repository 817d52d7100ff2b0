"""Proposals from counts of the tokens seen at the same place of the machine, without a draft model.

At many places of a structured text the next token is nearly always the same: after ``{"`` the first
name, after a name ``":``. So the tokens at each place of the machine are counted; after a few texts
the most frequent ones are proposed, several at a time, and checked in one forward pass of the model
(Beurer-Kellner, Fischer, Vechev 2024, section 3.6). The texts are the same as without proposals up
to rounding: in float32 a pass over several tokens changes a logit by about 1e-5, so in about 1 of
10,000 draws a random number at the boundary of two tokens draws the other one. A model loaded with
``dtype=torch.float64`` avoids this (`tests/decoding/test_rounding.py`).

A *place* is the state of the scanner and that of the parser: the state of the byte machine if that
is finite; for a machine with a stack, its state and the rule to which it returns, because the whole
stack differs at every depth.

Cost: one table look-up per proposal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from threading import RLock

from explorer.arguments import instance, real_number, whole_number, wrong
from explorer.decoding.speculation.drafting import MOST_AHEAD, Drafting
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE


class TokenCounts:
    """Thread-safe counts of the tokens seen at each place of a machine.

    Args:
        machine: The token machine to which the places belong.

    Raises:
        ExplorerError: It is not a token machine.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> machine = explorer.compile(explorer.regex("(ab)+"), vocab)
        >>> counts = TokenCounts(machine)
        >>> for ids in ([2, 3], [2, 3], [0, 1, 3]):
        ...     counts.learn(ids)
        >>> counts.likeliest(machine.start)[0], round(counts.likeliest(machine.start)[1], 2)
        (2, 0.67)
    """

    def __init__(self, machine: TokenMachine) -> None:
        if not isinstance(machine, TokenMachine):  # pyright: ignore[reportUnnecessaryIsInstance] - A user may give anything.
            remedy = "Make it with explorer.compile(constraint, vocabulary)."
            raise wrong("machine", machine, "a token machine", remedy=remedy)
        self._machine = machine
        self._counts: dict[Hashable, Counter[int]] = {}
        self._lock = RLock()

    @property
    def machine(self) -> TokenMachine:
        """The token machine to which the places belong."""
        return self._machine

    def __len__(self) -> int:
        """The number of places with counts."""
        return len(self._counts)

    def add(self, state: int, token: int) -> None:
        """Count a token.

        Args:
            state: The state of the machine before the token.
        """
        with self._lock:
            self._counts.setdefault(self._place(state), Counter())[token] += 1

    def learn(self, ids: Iterable[int]) -> None:
        """Count the tokens of a text.

        Args:
            ids: The ids from the start; counting stops at the first that is not allowed.

        Raises:
            ExplorerError: An entry is not an id.
        """
        state: int | None = self._machine.start
        for token in ids:
            token = whole_number("token", token, 0)
            before, state = state, self._machine.step(state, token)
            if state is None:
                return
            self.add(before, token)
            if state == DONE:
                return

    def likeliest(self, state: int) -> tuple[int, float, int] | None:
        """The most frequent token at the place of a state.

        Returns:
            The token, its share, and the total count of the place; ``None`` for a new place.
        """
        with self._lock:
            counts = self._counts.get(self._place(state))
            if not counts:
                return None
            # Ties go to the lowest id, so that the order of counting does not matter.
            token = max(counts, key=lambda one: (counts[one], -one))
            return token, counts[token] / counts.total(), counts.total()

    def _place(self, state: int) -> Hashable:
        characters, here = self._machine.byte_machine, self._machine.byte_state(state)
        if characters is None or characters.stacks is None:
            return here
        stack = characters.stacks.symbols(here)
        if stack is not None:
            return stack[0], stack[1][:1]
        return frozenset(inner for inner, _ in characters.stacks.heads(here))


@dataclass(frozen=True, eq=False)
class Counting:
    """Proposals from counts, in place of a draft model: ``generate(..., draft=Counting(...))``.

    Args:
        counts: The counts, which are updated with each generated text.
        ahead: The number of tokens proposed before the model reads them in one pass, 0 to 64.
        least: The share of a place's count that a token needs to be proposed.
        seen: The count that a place needs before anything is proposed.
        draft: A second model that proposes if the counts do not.

    Raises:
        ExplorerError: An argument is invalid.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> towns = explorer.compile(explorer.choice([" Paris.", " Rome."]), lm.vocabulary)
        >>> counting = Counting(TokenCounts(towns), seen=1)
        >>> for _ in range(2):
        ...     (text,) = explorer.generate(lm, "The capital of France is", towns, draft=counting)
        >>> text.text, text.proposed, text.accepted, text.passes
        (' Paris.', 3, 3, 1)
    """

    counts: TokenCounts
    ahead: int = 8
    least: float = 0.5
    seen: int = 3
    draft: Drafting | None = None

    def __post_init__(self) -> None:
        remedy = "Make them with TokenCounts(machine)."
        instance("counts", self.counts, TokenCounts, "counts of tokens", remedy=remedy)
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 0, MOST_AHEAD))
        object.__setattr__(self, "seen", whole_number("seen", self.seen, 1))
        least = real_number("least", self.least, "a share from 0 to 1")
        if not 0 <= least <= 1:
            raise wrong("least", self.least, "a share from 0 to 1")
        if self.draft is not None:
            instance("draft", self.draft, Drafting, "a Drafting")

    @property
    def name(self) -> str:
        """Its name in a trace."""
        return "counts" if self.draft is None else f"counts and {self.draft.name}"

    def guess(self, state: int) -> tuple[int, float] | None:
        """The token that the counts propose, and the logarithm of its share."""
        likeliest = self.counts.likeliest(state)
        if likeliest is None or likeliest[2] < self.seen or likeliest[1] < self.least:
            return None
        return likeliest[0], math.log(likeliest[1])

    def check_machine(self, machine: TokenMachine) -> None:
        """Refuse a machine other than that of the counts.

        Raises:
            ExplorerError: It is another machine, whose states mean other places.
        """
        if machine is not self.counts.machine:
            raise ExplorerError(
                "The counts are of another machine: their places mean something else here.",
                remedy="Compile the constraint once, and give that machine to TokenCounts and as "
                "the constraint.",
            )
