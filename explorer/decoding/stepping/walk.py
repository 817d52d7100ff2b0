"""Step through constrained decoding: forwards, backwards, sideways.

A walk is a cursor in a tree of immutable steps (`explorer.decoding.stepping.tree`). Going back
discards nothing, a fork shares the steps before it, and the trace is the path from the start to the
cursor. `explorer.Session` is a walk that can also explain masks; users, widgets and the command
line use it.

The random number of a step is a function of (seed, stream, position), not of earlier draws. So
every combination of back, fork and jump gives the same tokens, and a token that the user chooses
uses up no number. A visited position replays its draw.

Only the walk is mutable; everything it returns is a value. One lock shared by a walk and its forks
makes it thread-safe. A caller that acts on what it has *seen*, such as a page, passes the
`generation` that it saw, and its request is dropped if the walk has changed since (`Walk.request`).

Cost of a step, besides the model's: 0.5 ms at 4,000 tokens and 6 ms at 131,072 on one CPU core,
nearly all of it for the record. `explorer.decoding.batches.generate` generates text without a
record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Self

from torch import Tensor

from explorer.arguments import instance, listed, whole_number, wrong
from explorer.automata.machine import Bool
from explorer.budget import Budget, Meter
from explorer.decoding.models.arguments import (
    LAST_SEED,
    LAST_STREAM,
    ResponsePrefix,
    checked_log_probs,
    checked_model,
    meant_token,
)
from explorer.decoding.models.model import LanguageModel, LogitsStore, Message, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.drafting import Draft
from explorer.decoding.stepping.feeding import before_others
from explorer.decoding.stepping.healing import Heal
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
from explorer.decoding.stepping.tree import (
    Setting,
    StepNode,
    StepTree,
    Unread,
    check_open,
    checked_distance,
    checked_position,
    is_open,
    permitted,
    trace_of,
)
from explorer.decoding.trace.recording import (
    Rejection,
)
from explorer.decoding.trace.records import Position, Step
from explorer.decoding.trace.trace import Trace
from explorer.errors import REPORT_IT, ExplorerError
from explorer.languages.constraint import Constraint, GivenConstraint
from explorer.languages.stages.restricted import Restricted
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

LONGEST_RUN: Final = 1024
"""The most tokens that `Walk.run` adds if there is no other limit."""


class Walk:
    """Constrained decoding, one token at a time; users hold an `explorer.Session`.

    Args:
        lm: The language model, or its name for `load_model`.
        constraint: A `Constraint`, a type or a ``response_format``, a token machine for the model's
            vocabulary (made by `explorer.compile`), or ``None`` for unconstrained text.
        prompt: A text to continue, messages for the model's chat template, or their ids
            (`HuggingFaceModel.prompt`), which the trace keeps as the text that they write.
        sampler: By default greedy.
        seed: The seed of the random numbers, 0 to 2**64 - 1.
        stream: The stream of random numbers; row b of a batch draws from stream b.
        budget: Limits for compiling the constraint.
        max_tokens: The most tokens of the text, EOS included. A token is then allowed only if the
            text can still end in time, subject to ``masking_budget``.
        masking_budget: Whether ``max_tokens`` is part of the mask, so that the text ends in time;
            with ``False`` it is cut off. By default it is if the machine knows the fewest tokens to
            the end (every table, every grammar, and every machine of a few texts); otherwise the
            text may be cut off, and `Trace.masking_budget` says so. ``True`` refuses a machine that
            does not know them.
        top_k: The number of likeliest tokens of each distribution that the trace keeps.
        logits_bytes: The memory for cached full logits (`logits`); beyond it they are computed
            again.
        heal: Whether the output may begin inside the prompt's last token: that token is removed,
            and the text begins with its text (`healed`), whose tokens count towards ``max_tokens``.
            ``"prompt"`` makes the prompt's text the beginning of a canonical constraint instead:
            the output repeats it in the tokenizer's own tokens, which decide on the boundary.
        forced: ``"run"`` reads a run of forced tokens in one forward pass if the model can
            (`RunLanguageModel`); the steps, their text and their probabilities are those of
            ``"step"``, and the trace notes it. With ``"prefill"`` `run` takes the tokenizer's own
            tokens for every forced text, even if it could be split differently; the trace says
            *prefilled*.
        draft: A smaller model with the same vocabulary that proposes tokens, which ``lm`` checks in
            one pass (speculative decoding); or a `Drafting` with options. The texts are the same as
            without it; each step records the proposal.
        restrict: A restriction on every constraint of the session, as in `Constraint.restrict`: a
            name such as ``"ascii"``, or arguments such as ``{"scripts": ["Latin"]}``. It stays when
            the constraint is edited.
        response_prefix: The beginning of the answer, between the prompt and the constrained text: a
            text, or its tokens as texts or as ids. The model reads it; the text and the trace's
            steps begin after it.

    Raises:
        ConstraintError: The constraint is not a constraint, but a string, for example.
        ExplorerError: ``lm`` is not a language model, the budget is too small for the constraint,
            or the prompt cannot be encoded.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> from explorer import choice, load_model
        >>> cities = choice([" Paris", " Rome"])
        >>> session = Walk(load_model("tiny"), cities, "The capital of France is")
        >>> session.run().text
        ' Paris'
        >>> session.jump(0)
        >>> step = session.step(token=" Rome")  # Not what the sampler took; that stays a branch.
        >>> session.text, step.forced
        (' Rome', False)
    """

    def __init__(
        self,
        lm: LanguageModel | str,
        constraint: GivenConstraint | TokenMachine | None,
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
        draft: Draft = None,
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
        constraint: GivenConstraint | TokenMachine | None,
        ids: Sequence[int | str],
        logprobs: Sequence[float | None] | None = None,
        prompt: Prompt | None = None,
        *,
        budget: Budget | None = None,
    ) -> Self:
        """A run without a model: ids that another engine produced, checked against a constraint.

        An id that is not allowed is a result, not an error: the session ends before it, and
        `rejection` says where. EOS ids after the end are padding and are omitted.

        Args:
            vocabulary: The vocabulary of the ids.
            constraint: The constraint that the text was meant to satisfy.
            ids: Token ids without the prompt's; a token may also be given by its text.
            logprobs: The natural log-probability of each id under its model, if known.
            prompt: For display only.
            budget: Limits for compiling the constraint; its seconds also limit reading the ids.

        Returns:
            A session with the cursor after the last allowed id.

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
        session._line = session._tree.follow(tokens, known, "given", Meter(budget))
        session._unread = Unread.beyond(session._line, tokens, known, vocabulary.eos_ids)
        session._at = len(session._line) - 1
        return session

    # --- reading ------------------------------------------------------------------------------

    @property
    def setting(self) -> Setting:
        """The checked arguments of the run; an edit replaces them."""
        return self._tree.setting

    @property
    def lm(self) -> LanguageModel | None:
        """The language model; ``None`` for a run from given ids."""
        return self._tree.setting.model

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return self._tree.setting.rule.vocabulary

    @property
    def machine(self) -> TokenMachine:
        """The token machine that computes the masks; `Free` without a constraint."""
        return self._tree.setting.rule.machine

    @property
    def constraint(self) -> Constraint | None:
        """The constraint on the text; ``None`` without one."""
        return self.machine.constraint

    @property
    def prompt(self) -> str | tuple[Message, ...] | None:
        """The text or the messages that the run continues."""
        return self._tree.setting.prompt

    @property
    def healed(self) -> str:
        """The end of the prompt that the text repeats; see ``heal``."""
        return self._tree.setting.healed

    @property
    def restrict(self) -> Restricted | None:
        """The restriction of every constraint of the session; ``None`` without one."""
        return self._tree.setting.restrict

    @property
    def sampler(self) -> Sampler:
        """The sampler that chooses tokens."""
        return self._tree.setting.sampler

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return self._seed

    @property
    def index(self) -> int:
        """The position of the cursor: the number of tokens before it."""
        return self._at

    @property
    def length(self) -> int:
        """The number of tokens of the line, including those ahead of the cursor."""
        return len(self._line) - 1

    @property
    def generation(self) -> int:
        """The number of changes of the cursor or of the setting; see `request`."""
        return self._generation

    @property
    def forks(self) -> tuple[Self, ...]:
        """The walks that were forked from this one, by `fork` and by `edit`."""
        return self._forks

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids up to the cursor, without the prompt's."""
        with self._lock:
            return tuple(step.token for step in self._steps())

    @property
    def text(self) -> str:
        """The text up to the cursor; half a character at its end shows as U+FFFD."""
        return self._node.text

    @property
    def state(self) -> int:
        """The constraint's state at the cursor."""
        return self._node.state

    @property
    def finished(self) -> bool:
        """Whether the text has ended at the cursor."""
        return self._node.state == DONE

    @property
    def waits_for(self) -> str:
        """The role that must write next (`explorer.phase`); empty if the model may."""
        with self._lock:
            return self._tree.setting.rule.waits_for(self.ids)

    @property
    def position(self) -> Position:
        """The recorded position at the cursor; calls the model if it is not known yet."""
        with self._lock:
            return self._tree.position(self._node)

    @property
    def rejection(self) -> Rejection | None:
        """The first id of a run from given ids that is not allowed."""
        with self._lock:
            if not self._unread.ids:
                return None
            last = self._line[-1]
            return Rejection(last.index, self._unread.ids[0], last.state)

    def allowed(self) -> Bool:
        """The mask at the cursor, token budget included.

        Returns:
            bool[len(vocabulary)], read-only.
        """
        with self._lock:
            return self._tree.mask(self._node).allowed

    def logits(self, k: int | None = None) -> Tensor:
        """The model's own logits at a position, cached or computed again.

        Args:
            k: A position of this line; by default the cursor's.

        Returns:
            float[W], on the model's device; must not be changed.

        Raises:
            ExplorerError: There is no model, or no such position.
        """
        with self._lock:
            node = self._node if k is None else self._line[self._checked(k)]
            if self._tree.logits is None:
                raise ExplorerError(
                    "This run has no model, so it has no logits.",
                    remedy="Make a Session with a model.",
                )
            return self._tree.logits.read(self._tree.ids(node), node.key).logits

    @property
    def trace(self) -> Trace:
        """The trace from the start to the cursor; calls the model for positions not known yet.

        If computing the mask at the cursor exceeds the machine's budget, it ends one token earlier.
        """
        with self._lock:
            if self._trace is None or self._trace[0] != self._generation:
                at_end = self._at == self.length
                trace = trace_of(
                    self._tree, self._line[: self._at + 1], seed=self._seed, stream=self._stream,
                    rejection=self.rejection if at_end else None,
                    unread=self._unread.ids[1:] if at_end else (),
                )  # fmt: skip
                self._trace = self._generation, trace
            return self._trace[1]

    def __repr__(self) -> str:
        with self._lock:
            model = self.lm.name if self.lm is not None else None
            ahead = self.length - self._at
            more = f", {ahead} ahead" if ahead else ""
            constraint = self.constraint if self.constraint is not None else "free"
            name = type(self).__name__
            return f"{name}({model!r}, {constraint}, {self._at} tokens{more}: {self.text!r})"

    # --- moving -------------------------------------------------------------------------------

    def step(self, token: int | str | None = None) -> Step:
        """Add one token.

        Args:
            token: ``None`` for the sampler's choice, which is always the same at this position; an
                id; or the spelling of a token: its text, or the name of a control token that no
                token writes as text. A token that ends the text can be given only by its id.

        Raises:
            ExplorerError: The text has ended, the budget is used up, the token is masked, or the
                text is not one token; or nothing is given and another role must write
                (`waits_for`).
        """
        with self._lock:
            node, tree = self._node, self._tree
            if token is None:
                if role := self.waits_for if self._open() else "":
                    raise ExplorerError(
                        f"The {role} writes next, not the model.",
                        remedy="Put it in with feed(...), or give step a token.",
                        evidence={"role": role},
                    )
                return self.sampled()
            check_open(node, tree.setting.max_tokens)
            return self._advance(tree.choose(node, permitted(tree, node, token), "user"))

    def sampled(self) -> Step:
        """Add the token that the sampler draws, also where another role must write.

        Raises:
            ExplorerError: The text has ended, the budget is used up, or there is no model.
        """
        with self._lock:
            node, tree = self._node, self._tree
            check_open(node, tree.setting.max_tokens)
            drawn = tree.draw(node, self._seed, self._stream)
            child = tree.choose(node, drawn.token, "sampler", drawn.number, proposal=drawn.proposal)
            return self._advance(child)

    def take_forced(self) -> tuple[Step, ...]:
        """Add all following forced tokens at once.

        A model that can (`RunLanguageModel`) reads them in one forward pass.

        Returns:
            The steps; none if there is a choice, another role must write, or the text ends.
        """
        with self._lock:
            tree, node = self._tree, self._node
            run = before_others(tree.setting.rule, self.ids, tree.forced_run(node))
            if tree.logits is not None:
                tree.logits.read_ahead(tree.ids(node), run, key=node.key)
            return tuple(self._advance(tree.choose(self._node, token, "sampler")) for token in run)

    def back(self, n: int = 1) -> None:
        """Move the cursor back by n tokens, which stay ahead for `forward`.

        Raises:
            ExplorerError: There are fewer tokens before the cursor.
        """
        with self._lock:
            self._move(self._at - checked_distance("back", n, self._at))

    def forward(self, n: int = 1) -> None:
        """Move the cursor forward by n tokens over steps taken before.

        Raises:
            ExplorerError: There are fewer tokens ahead.
        """
        with self._lock:
            ahead = len(self._line) - 1 - self._at
            self._move(self._at + checked_distance("forward", n, ahead))

    def jump(self, k: int) -> None:
        """Move the cursor to a position of this line.

        Args:
            k: The number of tokens before the cursor, 0 to `length`.

        Raises:
            ExplorerError: There is no such position.
        """
        with self._lock:
            self._move(k)

    def fork(self, seed: int | None = None) -> Self:
        """Make another session at the same position, which shares all computed steps.

        Args:
            seed: The seed of its random numbers; by default the same, so that it continues with the
                same tokens.
        """
        with self._lock:
            other = self._twin(self._line[: self._at + 1], self._at)
            if seed is not None:
                other._seed = whole_number("seed", seed, 0, LAST_SEED)
            self._forks = (*self._forks, other)
            return other

    def copy(self) -> Self:
        """Copy the session with a cursor of its own, to look around without moving this one.

        It shares all computed steps. Unlike a fork it keeps the steps ahead of the cursor and is
        not listed in `forks`.

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
        """Add tokens until the text ends or another role must write (`explorer.phase`).

        If another thread moves the cursor meanwhile, the run is stale and stops.

        Args:
            max_tokens: The most tokens to add. It only stops the run, while the session's
                ``max_tokens`` is the budget that the mask keeps. By default the session's budget,
                otherwise `LONGEST_RUN`.
            until: Called with each step; a true result stops the run after it.

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
                if not fresh or not self._open() or self.waits_for:
                    break
                child = self._tree.prefilled(self._node)
                step = self.sampled() if child is None else self._advance(child)
                seen = self._generation
            if until is not None and until(step):
                break
        return self.trace

    @contextmanager
    def request(self, seen: int) -> Generator[bool]:
        """Lock the session for a request that is based on an earlier generation.

        Args:
            seen: The `generation` that the caller saw.

        Yields:
            Whether it is still the current one. If not, the request is stale and should be dropped.

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
        constraint: GivenConstraint | TokenMachine | Unchanged | None = UNCHANGED,
        prompt: Prompt | Unchanged = UNCHANGED,
        sampler: Sampler | Unchanged = UNCHANGED,
    ) -> Self:
        """Change the constraint, the prompt or the sampler, and keep as many tokens as possible.

        The longest prefix of the tokens that the new constraint allows stays, marked as kept; the
        cursor stays, or moves to the end of that prefix. If an error is raised, nothing changes.

        Args:
            constraint: The new constraint; ``None`` for none.
            prompt: The new prompt.
            sampler: The new sampler.

        Returns:
            A fork with the previous state of the session, also listed in `forks`.

        Raises:
            ExplorerError: As in the constructor.
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
            # Assigned together, to keep the window for an interrupt small.
            self._generation, self._tree, self._line, self._at = generation, tree, line, at
            self._unread, self._forks = unread, forks
            return fork

    # --- inside the lock ----------------------------------------------------------------------

    def _begin(self, tree: StepTree, seed: int, stream: int, budget: Budget | None) -> None:
        """Put the cursor at the root of a tree."""
        self._tree = tree
        tree.draws_with(seed, stream)
        self._seed = seed
        self._stream = stream
        self._budget = budget
        self._lock = threading.RLock()
        self._line: list[StepNode] = [tree.root]
        self._at = 0
        self._generation: int = 0
        self._forks: tuple[Self, ...] = ()
        self._unread = Unread()
        self._trace: tuple[int, Trace] | None = None

    @property
    def _node(self) -> StepNode:
        # Each attribute is read once, so the result is consistent even without the lock.
        line, at = self._line, self._at
        return line[min(at, len(line) - 1)]

    def _steps(self) -> Iterator[Step]:
        for node in self._line[1 : self._at + 1]:
            if node.step is not None:
                yield node.step

    def _checked(self, k: int) -> int:
        return checked_position(k, self.length, self._at)

    def _twin(self, line: list[StepNode], at: int) -> Self:
        other = type(self).__new__(type(self))
        other._begin(self._tree, self._seed, self._stream, self._budget)
        other._lock = self._lock
        other._line, other._at = list(line), at
        return other

    def _advance(self, child: StepNode) -> Step:
        if child.step is None:
            raise ExplorerError("A step leads nowhere.", remedy=REPORT_IT)
        # Incremented before any change, so that an interrupt leaves no stale cached trace.
        self._generation += 1
        ahead = self._line[self._at + 1 : self._at + 2]
        if ahead != [child]:
            # Appending avoids copying a line of 100,000 tokens at each step.
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

    def _all_ids(self) -> tuple[list[int], list[float | None]]:
        """All ids of the line, including the rejected ones, with their known log-probabilities."""
        steps = [node.step for node in self._line if node.step is not None]
        if self.lm is not None:
            # The model computes the log-probabilities again under another constraint or prompt.
            return [step.token for step in steps], [None] * len(steps)
        ids = [step.token for step in steps] + list(self._unread.ids)
        return ids, [step.log_prob_model for step in steps] + list(self._unread.log_probs)
