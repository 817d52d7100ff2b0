"""Step through constrained decoding: forwards, backwards, sideways.

A walk is a cursor in a tree of immutable steps (`explorer.decoding.stepping.tree`). Going back
forgets nothing, a fork shares what is behind it, and the trace is the path from the start to the
cursor. `explorer.Session` is a walk that can also say why; it is what users, widgets and the
command line hold.

The random number of a step is a function of (seed, stream, position), not of what was drawn
before. So every way through back, fork and jump gives the same tokens, and a token that the user
chooses uses up no number. A position that was visited replays what was drawn there.

Only the walk changes; everything it hands out is a value. One lock per walk and its forks
makes that safe from any thread. A caller that works from what it has *seen*, as a page does, names
the `generation` that it saw, and its request is dropped if the walk has moved on since
(`Walk.request`).

Cost of a step, besides the model's: 0.5 ms at 4,000 tokens and 6 ms at 131,072 on one CPU core,
nearly all of it for what is recorded. Text without a record is written by
`explorer.decoding.batches.generate`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, Self

from explorer.arguments import instance, listed, whole_number, wrong
from explorer.budget import Budget, Meter
from explorer.decoding.models.arguments import (
    LAST_SEED,
    LAST_STREAM,
    ResponsePrefix,
    checked_log_probs,
    checked_model,
    meant_token,
)
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.proposing import AnyDraft
from explorer.decoding.stepping.feeding import before_others
from explorer.decoding.stepping.healing import Heal
from explorer.decoding.stepping.logits_store import LogitsStore
from explorer.decoding.stepping.rule import Forced
from explorer.decoding.stepping.settings import (
    UNCHANGED,
    Restrict,
    RunOptions,
    Unchanged,
    asked,
    edited,
    given,
)
from explorer.decoding.stepping.standing import (
    Standing,
    Unread,
    check_open,
    checked_distance,
    is_open,
    permitted,
)
from explorer.decoding.stepping.tree import StepNode, StepTree
from explorer.decoding.trace.records import Step
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

_REPORT: Final = "This is a fault of the toolkit; please report it with the constraint."

LONGEST_RUN: Final = 1024
"""How many tokens `Walk.run` adds at most where nothing else says when to stop."""


class Walk(Standing):
    """Constrained decoding, one token at a time; users hold an `explorer.Session`.

    Args:
        lm: The language model; see `load_model`.
        constraint: What the text must be: a `Constraint`, a token machine for the model's
            vocabulary (as `explorer.compile` makes it), or ``None`` for no constraint.
        prompt: A text to go on with, messages for the model's chat template, or their ids
            (`HuggingFaceModel.prompt`), which the trace keeps as the text that they write.
        sampler: How a token is chosen; default greedy.
        seed: Of the random numbers, 0 to 2**64 - 1.
        stream: Which sequence of random numbers; row b of a batch draws from stream b.
        budget: Limits for compiling the constraint.
        max_tokens: The most tokens the text may have, EOS included. With it, a token is allowed
            only if the text can still be ended in time, as far as ``masking_budget`` says.
        masking_budget: Whether ``max_tokens`` takes part in the mask, so that the text ends in
            time; with ``False`` it is cut off. By default it does where the machine knows the
            fewest tokens to the end (every table, every grammar, and every machine of a few
            texts); else the text may be cut off, and `Trace.masking_budget` says so. ``True``
            insists, and refuses a machine that does not know them.
        top_k: How many of the likeliest tokens of each distribution the trace keeps.
        logits_bytes: How much memory full logits may take (`logits`); beyond it they are read
            from the model again.
        heal: Whether the output may begin inside the prompt's last token: that token is taken
            back, and the text begins with what it writes (`healed`). EOS apart, ``max_tokens``
            counts the tokens that write it again. ``"prompt"`` makes the prompt's text the
            beginning of a canonical constraint instead: the output writes it again, in the
            tokenizer's own tokens, and the boundary is where they put it.
        forced: ``"run"`` reads a run of tokens that are the only ones allowed in one forward pass
            of a model that can (`RunLanguageModel`); the steps, their text and their
            probabilities are those of ``"step"``, and the trace notes it. With ``"prefill"`` `run`
            takes the tokenizer's own tokens wherever a text is forced, however else it might be
            cut into tokens; the trace says *prefilled*.
        draft: A smaller model with the same vocabulary that proposes tokens, which ``lm`` checks in
            one pass (speculative decoding), or a `Drafting` that says how, or a `Counting` that
            proposes from counts. Texts are those without it; each step says what was proposed.
        restrict: What every constraint of the session is kept to, as `Constraint.restrict` has it:
            a name such as ``"ascii"``, or arguments such as ``{"scripts": ["Latin"]}``. It stays
            when the constraint is edited.
        response_prefix: What the answer begins with, after the prompt and before the constrained
            text: a text, or its tokens as texts or as ids. The model reads it; the text and the
            trace's steps begin after it.

    Raises:
        ConstraintError: The constraint is something else, such as a string.
        ExplorerError: ``lm`` is not a language model, the budget is too small for the constraint,
            or the prompt cannot be encoded.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As `explorer.compile` has it.

    Example:
        >>> import torch
        >>> from explorer import regex
        >>> from explorer.decoding.models.model import Reading
        >>> from explorer.vocabulary import Vocabulary
        >>> class Uniform:  # Any object with these four members is a language model.
        ...     name = "uniform"
        ...     vocabulary = Vocabulary.from_bytes(
        ...         [b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5]
        ...     )
        ...     def encode_prompt(self, prompt):
        ...         return ()
        ...     def read(self, tokens):
        ...         return Reading(torch.zeros(6))
        >>> session = Walk(Uniform(), regex("(foo)+d"), sampler=Sampler(1.0), seed=1)
        >>> session.run().text
        'food'
        >>> session.back(2)
        >>> step = session.step(token="foo")  # Not what the sampler took; that stays a branch.
        >>> session.text, step.forced, round(step.before.distribution.z, 3)
        ('foo', False, 0.5)
    """

    def __init__(
        self,
        lm: LanguageModel,
        constraint: Constraint | TokenMachine | None,
        prompt: Prompt = "",
        *,
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        stream: int = 0,
        budget: Budget | None = None,
        max_tokens: int | None = None,
        masking_budget: bool | None = None,
        top_k: int = 10,
        logits_bytes: int = 256_000_000,
        heal: Heal = False,
        forced: Forced = "step",
        draft: AnyDraft = None,
        restrict: Restrict = None,
        response_prefix: ResponsePrefix = "",
    ) -> None:
        lm = checked_model(lm)
        seed = whole_number("seed", seed, 0, LAST_SEED)
        stream = whole_number("stream", stream, 0, LAST_STREAM)
        logits_bytes = whole_number("logits_bytes", logits_bytes)
        options = RunOptions(
            sampler=sampler,
            budget=budget,
            max_tokens=max_tokens,
            masking_budget=masking_budget,
            top_k=top_k,
            heal=heal,
            forced=forced,
            draft=draft,
            restrict=restrict,
            response_prefix=response_prefix,
        )
        setting = asked(lm, constraint, prompt, options)
        self._begin(StepTree(setting, LogitsStore(lm, logits_bytes)), seed, stream, budget)

    @classmethod
    def from_ids(
        cls,
        vocabulary: Vocabulary,
        constraint: Constraint | TokenMachine | None,
        ids: Sequence[int | str],
        logprobs: Sequence[float | None] | None = None,
        prompt: Prompt | None = None,
        *,
        budget: Budget | None = None,
    ) -> Self:
        """A run from elsewhere: ids that some engine wrote, held against a constraint. No model.

        An id that is not allowed is a finding, not an error: the session ends before it, and
        `rejection` says where. EOS ids after the end are padding and left out.

        Args:
            vocabulary: What the ids mean.
            constraint: What the text was meant to be.
            ids: Token ids, the prompt's not included; also the text of a token in place of its id.
            logprobs: Natural log-probability of each id under its model, where it is known.
            prompt: For display only.
            budget: Limits for compiling the constraint; its seconds hold for reading the ids too.

        Returns:
            A session whose cursor is at the end of what is allowed.

        Raises:
            ExplorerError: An id is not a whole number, a text is not one token, or the
                log-probabilities do not fit.
            BudgetExceeded: Compiling or reading took too long.

        Example:
            >>> from explorer import regex
            >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"d", b"x"], eos_ids=[4])
            >>> session = Walk.from_ids(vocab, regex("(foo)+d"), [0, 1, 3, 2, 4])
            >>> session.text, session.rejection
            ('foo', Rejection(index=2, token=3, state=2))
        """
        vocabulary = instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        given_ids = listed("ids", ids, "a list of token ids")
        tokens = [meant_token(vocabulary, token) for token in given_ids]
        known: list[float | None] = [None] * len(tokens)
        if logprobs is not None:
            known = checked_log_probs(logprobs, len(tokens))
        setting = given(vocabulary, constraint, prompt, budget)
        session = cls.__new__(cls)
        session._begin(StepTree(setting, None), 0, 0, budget)
        session._read_ids(tokens, known, Meter(budget))
        return session

    # --- moving -------------------------------------------------------------------------------

    def step(self, token: int | str | None = None) -> Step:
        """Add one token.

        Args:
            token: ``None`` for the sampler's choice, which is the same whenever it is asked for
                here; an id; or a text that is exactly one token.

        Returns:
            The step.

        Raises:
            ExplorerError: The text has ended, the budget is used up, the token is masked, or the
                text is not one token.
        """
        with self._lock:
            node, tree = self._node, self._tree
            check_open(node, tree.setting.max_tokens)
            if token is None:
                drawn = tree.draw(node, self._seed, self._stream)
                child = tree.choose(
                    node, drawn.token, "sampler", drawn.number, proposal=drawn.proposal
                )
            else:
                child = tree.choose(node, permitted(tree, node, token), "user")
            return self._advance(child)

    def take_forced(self) -> tuple[Step, ...]:
        """Take all tokens from here on that are the only ones allowed, in one go.

        A model that can (`RunLanguageModel`) reads them in one forward pass.

        Returns:
            The steps; none where the model has a choice or does not write, or the text ends.
        """
        with self._lock:
            tree, node = self._tree, self._node
            run = before_others(tree.setting.rule, self.ids, tree.forced_run(node))
            if tree.logits is not None:
                tree.logits.read_ahead(tree.ids(node), run, key=node.key)
            return tuple(self._advance(tree.choose(self._node, token, "sampler")) for token in run)

    def back(self, n: int = 1) -> None:
        """Go back. What is ahead stays, for `forward`.

        Args:
            n: How many tokens.

        Raises:
            ExplorerError: There are fewer.
        """
        with self._lock:
            self._move(self._at - checked_distance("back", n, self._at))

    def forward(self, n: int = 1) -> None:
        """Take again the steps that `back` went back over.

        Args:
            n: How many tokens.

        Raises:
            ExplorerError: There are fewer ahead.
        """
        with self._lock:
            ahead = len(self._line) - 1 - self._at
            self._move(self._at + checked_distance("forward", n, ahead))

    def jump(self, k: int) -> None:
        """Go to a position of this line.

        Args:
            k: How many tokens are to stand before the cursor, 0 to `length`.

        Raises:
            ExplorerError: There is no such position.
        """
        with self._lock:
            self._move(k)

    def fork(self, seed: int | None = None) -> Self:
        """Make another session at the same place, which shares all that is known.

        Args:
            seed: Of its random numbers. Default: the same, so that it goes on in the same way.
        """
        with self._lock:
            other = self._twin(self._line[: self._at + 1], self._at)
            if seed is not None:
                other._seed = whole_number("seed", seed, 0, LAST_SEED)
            self._forks = (*self._forks, other)
            return other

    def copy(self) -> Self:
        """Copy the line with a cursor of its own, to look around without moving this one.

        It shares all that is known. What is ahead of the cursor goes along, and unlike a fork it
        is not listed in `forks`.

        Example:
            >>> vocab = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
            >>> session = Walk.from_ids(vocab, None, [0, 1, 0])
            >>> session.jump(1)
            >>> ahead = session.copy()
            >>> ahead.jump(ahead.length)
            >>> session.text, ahead.text
            ('a', 'aba')
        """
        with self._lock:
            other = self._twin(self._line, self._at)
            other._unread = self._unread
            return other

    def run(
        self, max_tokens: int | None = None, until: Callable[[Step], bool] | None = None
    ) -> Trace:
        """Add tokens until the text ends, or somebody else must write (`explorer.phase`).

        Another thread may move the cursor meanwhile; then this run is stale and stops.

        Args:
            max_tokens: Add at most so many. It only stops the run; the session's ``max_tokens`` is
                the budget that the mask respects, so that the text is complete in time. Default:
                the session's budget, else `LONGEST_RUN`.
            until: Called with each step; true stops the run after it.

        Returns:
            The trace up to the cursor.
        """
        own = self._tree.setting.max_tokens
        limit = LONGEST_RUN if own is None else own
        if max_tokens is not None:
            limit = whole_number("max_tokens", max_tokens)
        if until is not None and not callable(until):
            raise wrong("until", until, "a function of a step")
        seen = self._generation
        for _ in range(limit):
            with self.request(seen) as fresh:
                rule = self._tree.setting.rule
                if not fresh or not self._open() or rule.waits_for(self.ids):
                    break
                child = self._tree.prefilled(self._node)
                # `waits_for` was asked above; a session's own `step` would ask it again.
                step = Walk.step(self) if child is None else self._advance(child)
                seen = self._generation
            if until is not None and until(step):
                break
        return self.trace

    @contextmanager
    def request(self, seen: int) -> Generator[bool]:
        """Hold the session for a request that was made from what was seen earlier.

        Args:
            seen: The `generation` that was seen.

        Yields:
            Whether it is still the present one. If not, the request is stale: drop it.

        Example:
            >>> vocab = Vocabulary.from_bytes([b"a"], eos_ids=[1])
            >>> session = Walk.from_ids(vocab, None, [])
            >>> seen = session.generation
            >>> for click in range(2):  # Two clicks on one sight of the session: one step.
            ...     with session.request(seen) as fresh:
            ...         if fresh:
            ...             _ = session.step(token="a")
            >>> session.text
            'a'
        """
        with self._lock:
            yield seen == self._generation

    def edit(
        self,
        *,
        constraint: Constraint | TokenMachine | Unchanged | None = UNCHANGED,
        prompt: Prompt | Unchanged = UNCHANGED,
        sampler: Sampler | Unchanged = UNCHANGED,
    ) -> Self:
        """Change the question and keep as much of the answer as still fits.

        The longest prefix of the tokens that the new constraint allows stays, marked as kept; the
        cursor stays where it is, or goes to the end of that prefix. If anything raises, nothing
        is changed.

        Args:
            constraint: The new constraint; ``None`` for none.
            prompt: The new prompt.
            sampler: The new way of choosing.

        Returns:
            A fork that holds the session as it was before, also in `forks`.

        Raises:
            ExplorerError: As the constructor has it.
        """
        with self._lock:
            old = self._tree.setting
            setting = edited(
                old, self._budget, constraint=constraint, prompt=prompt, sampler=sampler
            )
            tree = StepTree(setting, self._tree.logits)
            tokens, known = self._all_ids()
            line = tree.follow(tokens, known, "kept")
            kept = len(line) - 1
            fork = self.copy()
            at, unread = min(self._at, kept), self._unread
            if old.model is None:
                at = kept
                unread = Unread.beyond(line, tokens, known, self.vocabulary.eos_ids)
            forks, generation = (*self._forks, fork), self._generation + 1
            # All at once: an interrupt comes before it or after it.
            self._generation, self._tree, self._line, self._at = generation, tree, line, at
            self._unread, self._forks = unread, forks
            return fork

    # --- inside the lock ----------------------------------------------------------------------

    def _twin(self, line: list[StepNode], at: int) -> Self:
        other = type(self).__new__(type(self))
        other._begin(self._tree, self._seed, self._stream, self._budget)
        other._lock = self._lock
        other._line, other._at = list(line), at
        return other

    def _advance(self, child: StepNode) -> Step:
        if child.step is None:
            raise ExplorerError("A step leads nowhere.", remedy=_REPORT)
        # Counted before anything changes: an interrupt in between leaves no trace that is stale.
        self._generation += 1
        ahead = self._line[self._at + 1 : self._at + 2]
        if ahead != [child]:
            # A line of 100,000 tokens is not copied for each more; what was seen of it stays.
            if self._at + 1 == len(self._line):
                self._line.append(child)
            else:
                self._line = [*self._line[: self._at + 1], child]
            self._unread = Unread()
        self._at += 1
        return child.step

    def _move(self, k: int) -> None:
        k = self._checked(k)
        self._generation += 1
        self._at = k

    def _open(self) -> bool:
        return is_open(self._node, self._tree.setting.max_tokens)

    def _read_ids(self, ids: Sequence[int], known: Sequence[float | None], meter: Meter) -> None:
        self._line = self._tree.follow(ids, known, "given", meter)
        self._unread = Unread.beyond(self._line, ids, known, self.vocabulary.eos_ids)
        self._at = len(self._line) - 1

    def _all_ids(self) -> tuple[list[int], list[float | None]]:
        """All ids of the line, those that were rejected included."""
        steps = [node.step for node in self._line if node.step is not None]
        if self.lm is not None:
            # Under another constraint or prompt the model's opinion is asked again.
            return [step.token for step in steps], [None] * len(steps)
        ids = [step.token for step in steps] + list(self._unread.ids)
        return ids, [step.log_prob_model for step in steps] + list(self._unread.log_probs)
