"""The session that users hold: it steps and explains itself.

Stepping lives in `explorer.decoding` and does not depend on explanations, which are built on top of
traces and machines. This class combines the two, so that a question can be asked at the cursor.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NoReturn, cast

from explorer.analysis.ahead import MOST, Ahead, LookedFrom, no_model
from explorer.analysis.explaining.explanation import Explanation, explain
from explorer.analysis.explaining.groups import MaskReasons
from explorer.analysis.explaining.step import explain_step, reasons_at, states_along
from explorer.analysis.traps import (
    LIKED,
    Trap,
    greedy_traps_ahead,
    grouped_traps,
    machine_traps,
    session_traps,
)
from explorer.arguments import instance, listed, whole_number
from explorer.budget import Budget
from explorer.decoding.stepping.feeding import Fed, check_fed, checked_role, fed_ids, misread_name
from explorer.decoding.stepping.tree import check_open
from explorer.decoding.stepping.walk import Walk
from explorer.decoding.trace.records import Step
from explorer.errors import ContextFull, ExplorerError


class Session(Walk):
    """Constrained decoding one step at a time, forwards, backwards and sideways, with reasons.

    The arguments in short; `explorer.decoding.stepping.walk.Walk` has them in full, with the
    methods that step. This class adds the questions: `explain`, `reasons`, `traps`, `ahead`. Forks,
    copies and the results of `edit` are sessions too.

    Args:
        lm: The language model, or its name for `load_model`.
        constraint: A `Constraint`, a type or a ``response_format`` (as for `compile`), a token
            machine for the model's vocabulary, or ``None`` for unconstrained text.
        prompt: A text to continue, messages for the model's chat template, or token ids.
        sampler: By default greedy.
        seed, stream: The seed and the stream of the random numbers.
        budget: Limits for compiling the constraint.
        max_tokens: The most tokens of the text, EOS included.
        masking_budget: Whether masks make the text end within ``max_tokens``; by default they do if
            the machine can.
        top_k: The number of likeliest tokens of each distribution that the trace keeps.
        logits_bytes: The memory for cached full logits.
        heal: Whether the output may begin inside the prompt's last token; or ``"prompt"``.
        forced: The treatment of forced tokens: ``"step"``, ``"run"`` or ``"prefill"``.
        draft: A source of proposals for speculative decoding.
        restrict: A restriction on every constraint of the session.
        response_prefix: The beginning of the answer, before the constrained text.

    Raises:
        ConstraintError: The constraint is not a constraint, but a string, for example.
        ExplorerError: ``lm`` is not a language model, the budget is too small for the constraint,
            or the prompt cannot be encoded.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
        >>> session = Session.from_ids(vocab, explorer.regex("(foo)+"), [2])
        >>> session.explain(3).stage
        'constraint'
    """

    def feed(self, text_or_ids: Fed, role: str | None = None) -> tuple[Step, ...]:
        """Put in text that the model did not write, such as a tool's result or a user's answer.

        The constraint covers the whole conversation, so one of its phases must allow the text:
        ``phase("result", any_text(), begin=token("<tool>"), role="tool")``. The model reads all of
        it in one pass where it can; then the run goes on, in the same trace. Going back and forks
        work across it.

        Args:
            text_or_ids: A text, which the tokenizer always splits; or a list of texts, names of
                control tokens, and ids.
            role: The role of the writer; default that of the phase, else ``"user"``.

        Returns:
            The steps, ``chosen_by == "fed"``.

        Raises:
            ExplorerError: A token is not allowed there; nothing is put in.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"q", b"y", b"n"], eos_ids=[3])
            >>> turns = explorer.phases(("ask", "q"), ("answer", explorer.choice("y", "n")))
            >>> session = Session.from_ids(vocab, turns, [0])
            >>> [step.role for step in session.feed("y", role="user")], session.text
            (['user'], 'qy')
        """
        with self._lock:
            tree, node = self._tree, self._node
            check_open(node, tree.setting.max_tokens)
            ids = fed_ids(self.vocabulary, text_or_ids)
            role = checked_role(role, self.waits_for)
            index = check_fed(tree.setting, node, ids)
            if index is not None:
                self._refuse(text_or_ids, ids, index)
            if tree.logits is not None:
                tree.logits.read_ahead(tree.ids(node), ids, "fed", key=node.key)
            return tuple(
                self._advance(tree.choose(self._node, token, "fed", role=role)) for token in ids
            )

    def _refuse(self, given: Fed, ids: tuple[int, ...], index: int) -> NoReturn:
        """The error for tokens that are fed and not allowed from one of them on."""
        states = states_along(self.machine, (*self.ids, *ids[:index]))
        text = self.vocabulary.written((*self.ids, *ids[:index]))
        why = explain(self.machine, states[-1], ids[index], text=text)
        said = why.message if not why.allowed else "max_tokens leaves no room for it."
        raise ExplorerError(
            f"What is fed cannot stand here from its token {index} on: {said}",
            remedy=misread_name(self.vocabulary, given)
            or "Give the constraint a phase for it, such as phase('result', any_text(), "
            "role='tool').",
            evidence={"index": index, "token": ids[index], "state": states[-1]},
        )

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """The phases in which the text may go on, each with those around it, the outermost first.

        `Trace.phases` has those of each step. Empty without phases.
        """
        net = self._tree.setting.rule.phases
        if net is None:
            return ()
        pieces = net.alive(self.vocabulary.written(self.ids))
        return tuple(dict.fromkeys(net.names(net.pieces[k].phases) for k in pieces))

    def explain(
        self, token: int | str, position: int | None = None, *, budget: Budget | None = None
    ) -> Explanation:
        """Explain why a token may come next, or may not; this covers sampler and token budget.

        Args:
            token: An id; the spelling of a token, as in `step`; or any other text, which the
                tokenizer splits.
            position: The number of tokens before it; default the cursor's.
            budget: Limits for each of the explanation's searches.

        Raises:
            ExplorerError: The session has no constraint, or no such position.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
            >>> session = Session.from_ids(vocab, explorer.regex("(foo)+"), [2])
            >>> why = session.explain("for", position=0)
            >>> why.allowed, why.byte_offset
            (False, 2)
        """
        return explain_step(self, token, position, budget=budget)

    def reasons(self, position: int | None = None, *, budget: Budget | None = None) -> MaskReasons:
        """The verdict on every id at a position, in a few groups with their probability.

        Args:
            position: The number of tokens before it; default the cursor's.
            budget: Limits for the searches.

        Raises:
            ExplorerError: The session has no constraint, or no such position.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
            >>> session = Session.from_ids(vocab, explorer.regex("(foo)+"), [2])
            >>> [(group.reason, group.count) for group in session.reasons(position=0).groups][:1]
            [('would end a text that is not complete', 1)]
        """
        return reasons_at(self, position, budget=budget)

    def ahead(self, k: int = 10, *, budget: Budget | None = None) -> tuple[Ahead, ...]:
        """Look one step ahead: the probability that stays allowed after each likely next token.

        A token may be likely for the sake of a continuation that the constraint does not have.
        That shows here before the token is taken. The session does not move, and other threads may
        move it meanwhile.

        Args:
            k: The number of allowed tokens to look at, the likeliest first, 1 to 256.
            budget: Limits for each search for the shortest ending; default 100 states.

        Returns:
            One entry for each of them, the likeliest first; ``entry.mass`` is the feasible mass
            that `position` would have after a `step` to ``entry.token``. Empty where the text has
            ended, or its token budget or the model's context is used up.

        Raises:
            ExplorerError: There is no model.

        Example:
            >>> import explorer
            >>> lm = explorer.load_model("tiny")
            >>> stops = explorer.choice([" New York", " Boston"])
            >>> session = Session(lm, stops, "The night train stops at")
            >>> likeliest = session.ahead()[0]  # Greedy decoding takes it; the model means Delhi.
            >>> likeliest.data, round(likeliest.mass, 3), lm.vocabulary.tokens[likeliest.wished]
            (b' New', 0.006, b' Delhi')
        """
        k = whole_number("k", k, 1, MOST)
        place = self.looked_from()
        return () if place is None else place.look(place.likeliest(k), budget=budget)

    def looked_from(self) -> LookedFrom | None:
        """The cursor as a place to look ahead from, as values; ``None`` where no token can follow.

        Raises:
            ExplorerError: There is no model.
        """
        with self._lock:
            node, tree, lm = self._node, self._tree, self.lm
            if lm is None:
                raise no_model()
            if not self._open():
                return None
            try:
                measured = tree.measured(node)
            except ContextFull:
                return None
            if measured is None:
                return None
            return LookedFrom(
                lm=lm,
                rule=tree.setting.rule,
                ids=tree.ids(node),
                index=node.index,
                state=node.state,
                allowed=tree.mask(node).allowed,
                model=measured.model,
                remaining=tree.setting.remaining(node.index),
                last=tree.setting.max_tokens == node.index + 1,
            )

    def traps(self, *, budget: Budget | None = None) -> tuple[Trap, ...]:
        """Find what makes this run go wrong or could, each with its evidence and a remedy.

        The traps of the run come first, then those of its constraint, whose position is ``None``:
        those around the present state before those around earlier ones. Traps that one change would
        remove, such as a ``maxLength``, are one trap, which names its places. With a model, a
        greedy trap at the next step is among those of the run, at the cursor's position (`ahead`):
        the model reads each token once that has at least a quarter of its probability there.

        Args:
            budget: Limits for the search of the constraint's machine.

        Raises:
            ExplorerError: The session has no constraint.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
            >>> session = Session.from_ids(vocab, explorer.regex("f[a-z]*"), [2])
            >>> [(trap.kind, trap.message) for trap in session.traps()]
            [('endless', "After 'f' the text can go on for ever, though it may also end.")]
        """
        if self.constraint is None:
            raise ExplorerError(
                "A session without a constraint masks nothing, so it has no traps.",
                remedy="Give the session a constraint.",
            )
        trace = self.trace
        known = machine_traps(self.machine, budget=budget)
        passed = {position.state for position in trace.positions}
        here = trace.positions[-1].state
        own = sorted(known, key=lambda trap: _distance(trap, here, passed))
        of_run = (*session_traps(self.machine, trace), *self.traps_ahead())
        return (*of_run, *grouped_traps(own))

    def traps_ahead(self, entries: Sequence[Ahead] | None = None) -> tuple[Trap, ...]:
        """The greedy traps of the next step; none without a model.

        Args:
            entries: The answer of `ahead` here, if it is known; by default the likely tokens are
                read.
        """
        place = None if self.lm is None else self.looked_from()
        if place is None:
            return ()
        likely = [token for token in place.likeliest(MOST, least=LIKED) if place.in_time(token)]
        if entries is None:
            entries = place.look(likely, endings=False)
        wanted = "the answer of Session.ahead"
        listing = listed("entries", entries, wanted)
        given = [instance("entries", each, Ahead, wanted) for each in listing]
        known = [entry for entry in given if entry.token in likely]
        return tuple(greedy_traps_ahead(place.rule.machine, place.index, place.state, known))


def _distance(trap: Trap, here: int, passed: Set[int]) -> int:
    """The rank of a trap of the constraint by its place: 0 here, 1 passed, 2 elsewhere."""
    states = trap.evidence.get("states")
    if trap.kind == "visited_only":
        return 3  # It refers to all traps before it.
    around = {trap.state, *(cast("tuple[int, ...]", states) if isinstance(states, tuple) else ())}
    return 0 if here in around else 1 if around & passed else 2
