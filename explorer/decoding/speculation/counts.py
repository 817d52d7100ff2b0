"""A draft without weights: the tokens that were counted at each place of a machine.

At many places of a structured text the next token is nearly always the same: after ``{"`` the first
name, after a name ``":``. After a few texts such tokens can be proposed without a second model
(Beurer-Kellner, Fischer, Vechev 2024, section 3.6). A *place* is the state of the byte machine if
that is finite; for a machine with a stack, its state and the rule to which it returns, because the
whole stack differs at every depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import torch

from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, Prompt, Reading
from explorer.errors import ContextFull
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary


class TokenCounts:
    """A `LanguageModel` for drafts of one prompt, with the frequencies of counted tokens.

    Args:
        lm: The model for which tokens are proposed.
        prompt: The prompt of all texts.
        machine: The token machine of the constraint.
        least: The share of a place's count that its most frequent token needs.
        seen: The count that a place needs.
        otherwise: The model that is asked at places with less; ``None`` for no proposal there.

    Example:
        >>> import explorer
        >>> from explorer.decoding.speculation.drafting import Drafting
        >>> lm, prompt = explorer.load_model("tiny"), "The capital of France is"
        >>> towns = explorer.compile(explorer.choice([" Paris.", " Rome."]), lm.vocabulary)
        >>> counts = TokenCounts(lm, prompt, towns, seen=1)
        >>> (first,) = explorer.generate(lm, prompt, towns)
        >>> counts.learn(first.tokens)
        >>> (text,) = explorer.generate(lm, prompt, towns, draft=Drafting(counts, ahead=8))
        >>> text.text, text.proposed, text.accepted, text.passes
        (' Paris.', 3, 3, 1)
    """

    def __init__(
        self,
        lm: LanguageModel,
        prompt: Prompt,
        machine: TokenMachine,
        *,
        least: float = 0.5,
        seen: int = 3,
        otherwise: LanguageModel | None = None,
    ) -> None:
        self._ids = checked_model(lm).encode_prompt(prompt)
        self._machine, self._least, self._seen = machine, least, seen
        self._otherwise = otherwise
        self._counts: dict[Hashable, Counter[int]] = {}
        self._last: tuple[tuple[int, ...], int | None] = (), machine.start

    @property
    def name(self) -> str:
        """The name in a trace."""
        return "counts" if self._otherwise is None else f"counts and {self._otherwise.name}"

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the machine."""
        return self._machine.vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids of the one prompt."""
        del prompt
        return self._ids

    def learn(self, ids: Iterable[int]) -> None:
        """Count the tokens of a text, from its start up to the first that is not allowed."""
        state: int | None = self._machine.start
        for token in ids:
            before, state = state, self._machine.step(state, token)
            if state is None:
                return
            self._counts.setdefault(self._place(before), Counter())[token] += 1

    def read(self, tokens: Sequence[int]) -> Reading:
        """The logarithms of the counts at the place after some tokens.

        Raises:
            ContextFull: Too little was counted there, and no other model was given.
        """
        state = self._state(tuple(tokens[len(self._ids) :]))
        known = None if state is None else self._counts.get(self._place(state))
        counts = known or Counter[int]()
        few = counts.total() < max(1, self._seen)
        if few or max(counts.values()) < self._least * counts.total():
            if self._otherwise is not None:
                return self._otherwise.read(tokens)
            raise ContextFull(
                "Too few tokens were counted here to propose one.",
                remedy="Learn more texts, or give another model as `otherwise`.",
            )
        logits = torch.full((len(self.vocabulary),), -torch.inf)
        logits[list(counts)] = torch.tensor(list(counts.values()), dtype=torch.float32).log()
        return Reading(logits, 0)

    def _state(self, written: tuple[int, ...]) -> int | None:
        """The state after some tokens; reading on by one token costs one step."""
        known, state = self._last
        if written[:-1] != known:
            known, state = (), self._machine.start
        for token in written[len(known) :]:
            state = None if state is None else self._machine.step(state, token)
        self._last = written, state
        return state

    def _place(self, state: int) -> Hashable:
        characters, here = self._machine.byte_machine, self._machine.byte_state(state)
        if characters is None or characters.stacks is None:
            return here
        stack = characters.stacks.symbols(here)
        if stack is not None:
            return stack[0], stack[1][:1]
        return frozenset(inner for inner, _ in characters.stacks.heads(here))
