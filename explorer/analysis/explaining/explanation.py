"""An `Explanation`: why a token is allowed or masked, with the results of searches.

The verdict and the parts of the source are computed at once. Searches of the machine run when their
results are asked for: tokens that would make the token allowed, tokens near it, the change of the
constraint that would let it through, a way to end the text.

Cost: well under a millisecond with a warm machine at 131,072 ids; a lazy part up to some tens of
milliseconds, `cause` up to a dozen machines over bytes. The searches keep to the explanation's
budget.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER, shown_letters
from explorer.analysis.characters.display import half_characters, show_text
from explorer.analysis.explaining.answer import Answered, TextExplanation, explain_text
from explorer.analysis.explaining.searched import (
    Completion,
    Earlier,
    History,
    OverBudget,
    budget_sentence,
    sampler_sentence,
    stopped_sentences,
    unless_stopped,
)
from explorer.analysis.places.deciding import deciding_parts
from explorer.analysis.places.spans import SourcePart
from explorer.analysis.places.widening import Cause, cause_of
from explorer.analysis.verdict.asked import as_bytes, checked_machine, spelled_ids, token_or_text
from explorer.analysis.verdict.background import Background, background_of, measured, sorted_tokens
from explorer.analysis.verdict.verdict import Move, judge
from explorer.analysis.wording.words import show_token
from explorer.arguments import instance, whole_number
from explorer.automata.machine import NO_ARC
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.trie import after_token, written
from explorer.tokens.words import DEAD, DONE

__all__ = [
    "Completion", "Earlier", "Explanation", "History", "TextExplanation", "explain", "explain_text",
    "with_limits",
]  # fmt: skip

if TYPE_CHECKING:  # It comes with torch, which an explanation does not need.
    from explorer.decoding.sampling.sampler import SampledOut

NEAREST: Final = 5
"""The number of near tokens that an explanation names."""

LONGEST_FORCED: Final = 200
"""The most bytes of forced text that are followed."""


@dataclass(frozen=True, eq=False)
class Explanation(Answered):
    """The answer to whether a token may come next, and why.

    Made by `explain`. It also has the fields of `verdict`.

    Args:
        asked: The ids of the text that was asked about, by the tokenizer; one id for an id.
        index: The index in ``asked`` of the explained one: the first that is masked, or the last.
        note: A remark on the tokenization of the text, where one is needed.
        probabilities: float[...], the model's probabilities, for `nearest`.
        history: The path to here, for `earlier`.
        sampled_out: The sampler's reason, from a session; ``over_budget`` is the token budget's.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> from explorer.tokens.compile import compile
        >>> from explorer.vocabulary import Vocabulary
        >>> vocab = Vocabulary.from_bytes(["ä".encode(), "ö".encode()], eos_ids=[2])
        >>> why = explain(compile(regex("[ä]"), vocab), 0, 1)
        >>> why.stage, why.byte_offset, why.expected
        ('constraint', 1, b'\\xa4')
        >>> print(why.message)
        'ö' (id 1) is masked at the start: expects ä; this token writes ö. Expected by [ä] at 0.
    """

    machine: TokenMachine = field(repr=False)
    assumed: bool = False
    same_bytes: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    index: int = 0
    note: str = ""
    probabilities: NDArray[np.floating] | None = field(default=None, repr=False)
    history: History | None = field(default=None, repr=False)
    sampled_out: SampledOut | None = None
    over_budget: OverBudget | None = None
    budget: Budget | None = field(default=None, repr=False)

    # The fields of the verdict.

    @property
    def token(self) -> int:
        """The id that is explained."""
        return self.verdict.token if self.verdict.token is not None else -1

    @property
    def state(self) -> int:
        """The token state before the token."""
        return self.verdict.state

    @property
    def assumed_prefix(self) -> bool:
        """Whether the text before the token is only an example, because none was given."""
        return self.assumed

    @property
    def offered(self) -> bytes:
        """The bytes of the token and those after it in the text; else a control token's name."""
        vocabulary = self.machine.vocabulary
        ids = self.asked[self.index :] if self.verdict.data else ()
        return vocabulary.written(ids) or vocabulary.special.get(self.token, "").encode()

    @property
    def writable(self) -> bytes:
        """The bytes of `expected` that this vocabulary can write and still finish."""
        return self.verdict.writable or b""

    @property
    def walk(self) -> tuple[Move, ...]:
        """The token's bytes through the character FSA, up to the one that fails."""
        return self.verdict.walk

    # Searches, run on first use.

    @cached_property
    def after(self) -> tuple[int, ...] | None:
        """The shortest tokens that, appended from here, make this token allowed next.

        The fewest tokens, and among equals the fewest bytes. Empty if the token is allowed
        now; ``None`` if it is never allowed from here.

        Raises:
            BudgetExceeded: The search stopped at a limit.
        """
        return unless_stopped(self._after)

    @cached_property
    def _after(self) -> tuple[int, ...] | BudgetExceeded | None:
        if self.allowed:
            return ()
        if self.state < 0 or not 0 <= self.token < len(self.machine.vocabulary):
            return None
        state = self.machine.byte_state(self.state)
        paths = self._background.paths
        try:
            return paths.after(state, self.token, paths.meter_of_walks(self.budget))
        except BudgetExceeded as error:
            return error

    @cached_property
    def earlier(self) -> Earlier | None:
        """The last position before this one where the token was allowed; needs a session."""
        if self.history is None or not 0 <= self.token < len(self.machine.vocabulary):
            return None
        for k in range(len(self.history.tokens) - 1, -1, -1):
            if self.machine.step(self.history.states[k], self.token) is not None:
                return Earlier(k, self.history.tokens[k])
        return None

    @cached_property
    def nearest(self) -> tuple[int, ...]:
        """The allowed tokens with the longest common prefix; of those the likeliest or shortest."""
        if self.state < 0:
            return ()
        allowed = self.machine.allowed(self.state)
        if self.probabilities is None:
            _, rank, _ = measured(self.machine.vocabulary)
        else:
            rank = np.zeros(len(allowed))
            given = np.asarray(self.probabilities, np.float64)[: len(allowed)]
            rank[: len(given)] = given
        allowed = allowed.copy()
        if 0 <= self.token < len(allowed):
            allowed[self.token] = False
        return sorted_tokens(self.machine.vocabulary).nearest(
            self.verdict.data or b"", allowed, rank, NEAREST
        )

    @cached_property
    def cause(self) -> Cause | None:
        """The everyday cause, or the smallest change to the one live literal or class, which allows
        the token; ``None`` if no change helps."""
        return cause_of(self.constraint, self.verdict, self.parts, self.offered, self.machine)

    @property
    def completion(self) -> Completion | None:
        """The shortest completion through an allowed token, and the text that it forces.

        Raises:
            BudgetExceeded: The search stopped at a limit.
        """
        return unless_stopped(self._completion)

    @cached_property
    def _completion(self) -> Completion | BudgetExceeded | None:
        if not self.allowed or self.state < 0:
            return None
        vocabulary, background = self.machine.vocabulary, self._background
        text = self.verdict.prefix + vocabulary.written((self.token,))
        if self.token in vocabulary.eos_ids:
            return Completion((), text, b"")
        paths, followed = background.paths, background.byte_machine
        try:
            symbols = written(vocabulary, followed, self.token)
            here = after_token(followed, self.machine.byte_state(self.state), symbols)
            tokens = paths.completion(here, paths.meter_of_walks(self.budget))
            forced = _forced(background, here)
        except BudgetExceeded as error:
            return error
        rest = vocabulary.written(tokens)
        return Completion((*tokens, vocabulary.eos_ids[0]), text + rest, forced)

    @property
    def _background(self) -> Background:
        return background_of(self.machine, self.budget)

    # In words.

    @property
    def limits(self) -> tuple[str, ...]:
        """The sentences about the token budget or the sampler that rules the token out."""
        budget = () if self.over_budget is None else (budget_sentence(self.over_budget),)
        sampler = () if self.sampled_out is None else (sampler_sentence(self.sampled_out),)
        return budget + sampler

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """Further remarks, one sentence each."""
        show = self._show
        hints = [self.note] if self.note else []
        if len(self.asked) > 1:
            pieces = " ".join(show(token) for token in self.asked)
            last = "the last" if self.allowed else "the first that is masked"
            if self.limits:
                last = "the first that cannot be drawn"
            hints.append(f"Of the tokens {pieces} this is number {self.index + 1}, {last}.")
        data = self.verdict.data
        if data and (half := half_characters(data)) and ", which " not in self.prose:
            hints.append(f"{half[0].upper()}{half[1:]}.")
        if self.same_bytes:
            ids = ", ".join(map(str, self.same_bytes[:8]))
            one = len(self.same_bytes) == 1
            hints.append(f"The {'id' if one else 'ids'} {ids} write{'s' * one} the same bytes.")
        if self.allowed:
            return (*hints, *self._completion_hints())
        hints += self._after_hints()
        if self.earlier is not None:
            hints.append(
                f"It was allowed at position {self.earlier.position}, where "
                f"{'it' if self.earlier.chosen == self.token else show(self.earlier.chosen)} "
                "was chosen."
            )
        if self.stage in ("constraint", "dead_end", "end_of_text") and self.nearest:
            what = "Allowed here" if self.stage == "end_of_text" else "Near it and allowed"
            hints.append(f"{what}: {' '.join(dict.fromkeys(map(show, self.nearest)))}.")
        if self.cause is not None and not self.cause.is_everyday:
            hints.append(self.cause.change.remedy)
        return tuple(hints)

    @property
    def stopped(self) -> tuple[str, ...]:
        """The sentences about searches that stopped at a limit; their results are unknown."""
        looked_for = {
            "a way to the end": self._completion,
            "a place where it would be allowed": self._after,
        }
        return stopped_sentences(looked_for)

    def _completion_hints(self) -> list[str]:
        completion = self._completion
        if isinstance(completion, BudgetExceeded):
            return [*self.stopped]
        if completion is None:
            return []
        forced = [f"After it, the text must go on with {show_text(completion.forced)}."]
        complete = f"The shortest complete text through it is {show_text(completion.text)}."
        return [*(forced if completion.forced else []), complete]

    def _after_hints(self) -> list[str]:
        if isinstance(after := self._after, BudgetExceeded):
            return []  # `stopped` says so.
        # After them, the beginning of the token that now fits would mean something else.
        why = self._everyday
        if after and (why is None or (why.change.missing and not self.byte_offset)):
            return [f"It would be allowed after {' '.join(map(self._show, after))}."]
        if after is None and self.stage in ("constraint", "dead_end") and self.nearest:
            return ["However the text goes on, this token stays masked."]
        return []

    def _show(self, token: int) -> str:
        if token in self.machine.vocabulary.eos_ids:
            return self.machine.vocabulary.special.get(token) or f"<{token}>"
        data = self.machine.vocabulary.tokens[token]
        return show_token(self.machine.vocabulary, token, data) if data is None else show_text(data)

    def to_dict(self, *, lazy: bool = True) -> dict[str, object]:
        """Everything as plain values for JSON.

        Args:
            lazy: Also run the searches; without them the answer takes no longer than the
                verdict did.
        """
        values = super().to_dict()
        values |= {
            "assumed_prefix": self.assumed_prefix,
            "same_bytes": list(self.same_bytes),
            "asked": list(self.asked),
            "index": self.index,
            "note": self.note,
            "sampled_out": _plain(self.sampled_out),
            "over_budget": _plain(self.over_budget),
        }
        if not lazy:
            return values
        after = None if isinstance(self._after, BudgetExceeded) else self._after
        completion = None if isinstance(self._completion, BudgetExceeded) else self._completion
        values |= {
            "after": None if after is None else list(after),
            "earlier": _plain(self.earlier),
            "nearest": list(self.nearest),
            "completion": None if completion is None else {
                "tokens": list(completion.tokens),
                "text": shown_letters(completion.text),
                "forced": shown_letters(completion.forced),
            },
            "cause": None if self.cause is None else self.cause.to_dict(),
            "stopped": list(self.stopped),
            "paragraph": self.paragraph,
        }  # fmt: skip
        return values


def _forced(background: Background, here: int) -> bytes:
    """The bytes with which every text goes on from a byte state."""
    machine = background.byte_machine
    if machine.over_tokens:  # What is forced depends on the tokenization.
        return b""
    forced = bytearray()
    while not machine.is_accepting(here) and len(forced) < LONGEST_FORCED:
        following = machine.expected(here)
        if len(following) != 1:
            break
        forced += following
        here = machine.step(here, following[0])
    return bytes(forced)


def _plain(value: Earlier | SampledOut | OverBudget | None) -> dict[str, object] | None:
    return None if value is None else asdict(value)


def explain(
    machine: TokenMachine,
    state: int,
    token: int | str,
    *,
    text: str | bytes | None = None,
    probabilities: NDArray[np.floating] | None = None,
    history: History | None = None,
    budget: Budget | None = None,
) -> Explanation:
    """Explain why a token may come next in a state, or may not.

    Args:
        machine: The token machine, as `explorer.compile` makes it.
        state: A state or a sentinel.
        token: An id, in the vocabulary or not; the spelling of a token: its text, or the name of a
            control token that no token writes as text; or any other text, which the tokenizer
            splits: the first of its tokens that is masked is explained, else the last.
        text: The text so far. Without it, a shortest text that leads to the state is taken, or
            the one that first led there, if a search for a shortest one is over its limits.
        probabilities: float[width], the model's, which rank `Explanation.nearest`.
        history: The path to the state, for `Explanation.earlier`.
        budget: Limits for finding a text that leads to the state, and for each search of the
            explanation.

    Returns:
        The verdict with its evidence. Offsets are in bytes of the token (``byte_offset``) and in
        characters (``char_offset``); ``to_dict()`` gives plain values for JSON.

    Raises:
        ExplorerError: There is no such state, the text does not lead to it, nothing was asked,
            there is no constraint, or an argument is of another type.
        BudgetExceeded: No text was found within the limits, and none led there.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
        >>> dfa = explorer.compile(explorer.regex("(foo)+"), vocab)
        >>> why = explain(dfa, dfa.start, 3)  # 3 is the token "for".
        >>> why.allowed, why.stage, why.byte_offset
        (False, 'constraint', 2)
        >>> why.message[:63]
        "'for' (id 3) is masked at the start: reads 'fo', then expects o"
    """
    machine = checked_machine(machine)
    if probabilities is not None:
        instance("probabilities", probabilities, np.ndarray, "an array of probabilities")
    if history is not None:
        instance("history", history, History, "a History")
    background = background_of(machine, budget)
    state, wanted = whole_number("state", state, None), token_or_text(token)
    if history is not None and machine.vocabulary.letters and history.states[0] == machine.start:
        # The text alone does not say where control tokens are.
        spelled = machine.vocabulary.written(history.tokens)
        text = spelled if LETTER in spelled else text
    prefix, assumed = _prefix(background, state, text, Meter(budget))
    asked, note = ((wanted,), "") if isinstance(wanted, int) else spelled_ids(machine, wanted)
    index = 0
    here = state
    passed: list[int] = []
    while index < len(asked) - 1:
        following = machine.step(here, asked[index])
        if following is None:
            break
        prefix += machine.vocabulary.written(asked[index : index + 1])
        here = following
        passed.append(here)
        index += 1
    if history is not None and index:
        history = History((*history.states, *passed), (*history.tokens, *asked[:index]))
    if index:
        probabilities = None  # They hold for the place before the first of the tokens.
        background = background_of(machine, budget)  # It copies the states met on the way.
    before = history.tokens if history is not None else asked[:index]
    ends = (known for known in before if here == DONE and known in machine.vocabulary.eos_ids)
    verdict = judge(background, here, asked[index], prefix, next(ends, None))
    same = () if verdict.data is None else background.ids_of(asked[index])
    parts: tuple[SourcePart, ...] = ()
    with suppress(BudgetExceeded):  # The verdict is known; its place in the source is not.
        parts = deciding_parts(machine.constraint, verdict, background.byte_machine)
    return Explanation(
        verdict,
        parts,
        machine.constraint,
        machine.vocabulary,
        machine,
        assumed,
        tuple(other for other in same if other != asked[index]),
        asked,
        index,
        note,
        probabilities,
        history,
        budget=budget,
    )


def _prefix(
    background: Background, state: int, text: str | bytes | None, meter: Meter
) -> tuple[bytes, bool]:
    """The text before the token, and whether it is only an example."""
    machine = background.machine
    machine.is_final(state)  # Raises where there is no such state.
    if text is None:
        if state < 0 or state == machine.start:
            return b"", state < DEAD
        return background.paths.text_of(state, meter), True
    given = as_bytes(text)
    if state >= 0:
        wanted = machine.byte_state(state)
        reached = background.state_after(given, wanted)
        if reached != wanted:
            if reached == NO_ARC:
                where = "the constraint rejects it."
                if machine.constraint is not None:
                    where += f" {explain_text(machine.constraint, given).message}"
            else:
                where = f"it leads to {reached}."
            raise ExplorerError(
                f"The text {show_text(given)} does not lead to state {state}, which stands for the "
                f"byte state {wanted}: {where}",
                remedy="Give the text that was written, or leave it out.",
                evidence={"text": given, "state": state, "char_state": reached},
            )
    return given, False


def with_limits(
    explanation: Explanation, sampled_out: SampledOut | None, over_budget: OverBudget | None
) -> Explanation:
    """The same explanation with the reasons of a session's sampler and token budget."""
    return replace(explanation, sampled_out=sampled_out, over_budget=over_budget)
