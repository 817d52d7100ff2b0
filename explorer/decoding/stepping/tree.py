"""The tree of all visited positions of a session: positions as nodes, steps as edges.

A node is a token path. Its mask, distribution and draws follow from the path and from the `Setting`
alone, so they are computed once, kept, and shared by all forks. A value in a node is filled in once
and never changed. Draws are kept too: logits that are computed again with another cache may differ
in the last bit, and a revisited position must still give the same token.

`trace_of` makes the trace of a path: 10 ms for a thousand steps at 131,072 tokens, all of it for
collecting the mentioned tokens.

The tree is not thread-safe: sessions hold a lock around it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from explorer.alphabet import in_quotes
from explorer.arguments import shown, whole_number
from explorer.budget import Meter
from explorer.decoding.models.arguments import meant_token
from explorer.decoding.models.model import (
    LanguageModel,
    LogitsStore,
    Message,
    following_key,
    path_key,
)
from explorer.decoding.sampling.sampler import Sampler, drawn_token, uniform
from explorer.decoding.speculation.drafting import Drafting, Drafts, DrawPlace
from explorer.decoding.stepping.healing import Heal
from explorer.decoding.stepping.rule import Forced, Rule, StateMask, forced_run, prefilled_run
from explorer.decoding.trace.recording import (
    MAX_CLASSES_SHOWN,
    MaskRows,
    MentionedTokens,
    Rejection,
    SeenClasses,
)
from explorer.decoding.trace.records import (
    ChosenBy,
    Measured,
    Position,
    Proposal,
    Step,
    Timing,
    WrittenText,
    added,
    measure,
)
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded, ContextFull, ExplorerError
from explorer.languages.stages.restricted import Restricted
from explorer.tokens.words import DONE

_MEASURED_KEPT: Final = 4

_TOKENS_BETWEEN_LOOKS: Final = 1024
"""The number of tokens that are followed between checks of the clock."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Everything that determines a position, besides the tokens before it.

    Args:
        model: ``None`` for a run from given ids.
        max_tokens: The token budget, EOS included; ``None`` for none.
        masking_budget: Whether the budget is part of the masks.
        healed: The end of the prompt with which the output begins; empty without healing.
        budget_asked: The caller's ``masking_budget``; ``None`` for yes if the machine knows how
            many tokens its texts still need.
        drafting: A second model that proposes tokens; ``None`` for none.
        restrict: The restriction on every constraint of the run.
        begun: The ids of the caller's ``response_prefix``.
        prefixed: The number of these at the end of ``prompt_ids``: those that healing left there.
    """

    model: LanguageModel | None
    rule: Rule
    prompt: str | tuple[Message, ...] | None
    prompt_ids: tuple[int, ...]
    sampler: Sampler
    max_tokens: int | None
    masking_budget: bool
    top_k: int
    heal: Heal = False
    healed: str = ""
    budget_asked: bool | None = None
    forced: Forced = "step"
    drafting: Drafting | None = None
    restrict: Restricted | None = None
    begun: tuple[int, ...] = ()
    prefixed: int = 0

    def remaining(self, index: int) -> int | None:
        """The remaining token budget of the mask after ``index`` tokens; ``None`` for no limit."""
        if self.max_tokens is None or not self.masking_budget:
            return None
        return self.max_tokens - index


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """The token that the sampler draws at a position.

    Args:
        number: The deciding random number; ``None`` if none was used.
        proposal: The proposal of a draft; ``None`` without one.
    """

    token: int
    number: float | None
    proposal: Proposal | None = None


@dataclass(eq=False, slots=True)
class StepNode:
    """A node of the tree: a token path.

    Args:
        parent: The node one token before; ``None`` at the start.
        step: The step that leads here; ``None`` at the start.
        position: The record of the position; ``None`` until it is computed.
    """

    parent: StepNode | None
    step: Step | None
    index: int
    state: int
    written: WrittenText = WrittenText()  # noqa: RUF009 - A frozen value.
    log_prob_model: float | None = 0.0
    log_prob_constrained: float | None = 0.0
    position: Position | None = None
    row: bytes = b""
    kept_row: bytes = b""
    key: bytes = b""
    children: dict[tuple[int, ChosenBy, str | float | None], StepNode] = field(
        default_factory=lambda: dict[tuple[int, ChosenBy, str | float | None], StepNode]()
    )
    drawn: dict[tuple[int, int], DrawnToken] = field(
        default_factory=lambda: dict[tuple[int, int], DrawnToken]()
    )

    @property
    def text(self) -> str:
        """The text up to here; half a character at its end shows as U+FFFD."""
        return bytes(self.written).decode("utf-8", errors="replace")

    def line(self) -> list[StepNode]:
        """The nodes from the start to here."""
        nodes: list[StepNode] = [self]
        while (above := nodes[-1].parent) is not None:
            nodes.append(above)
        return nodes[::-1]


@dataclass(frozen=True, slots=True)
class RecordedMask:
    """The packed rows and counts of a mask, for a trace."""

    row: bytes
    kept_row: bytes
    num_allowed: int
    over_budget: int


class StepTree:
    """All visited paths of a session and its forks under one setting.

    Args:
        logits: The cache that reads the model; ``None`` without a model.
    """

    def __init__(self, setting: Setting, logits: LogitsStore | None) -> None:
        self.setting = setting
        self.logits = logits
        self.root = StepNode(None, None, 0, setting.rule.start, key=path_key(setting.prompt_ids))
        # The last path: the next one is mostly one token longer.
        self._path: tuple[StepNode, tuple[int, ...]] = (self.root, setting.prompt_ids)
        self._measured: OrderedDict[int, tuple[StepNode, Measured]] = OrderedDict()
        self._rows: dict[bytes, bytes] = {}
        self._recorded: dict[int, RecordedMask] = {}
        vocabulary = setting.rule.vocabulary
        self._runs: dict[bytes, tuple[int, ...]] = {}
        self._seen = SeenClasses(len(vocabulary), vocabulary.eos_ids)
        # The seed and stream of the last walk decide which proposals are read ahead, but do not
        # affect the draws.
        self._numbers = (0, 0)
        self._drafts: Drafts | None = None
        if setting.drafting is not None:
            self._drafts = Drafts(setting.drafting, setting.rule, setting.sampler)

    def ids(self, node: StepNode) -> tuple[int, ...]:
        """The prompt's ids followed by those of a node's path."""
        last, path = self._path
        if node.step is not None and node.parent is last:
            path = path + (node.step.token,)  # noqa: RUF005 - One copy of a long path, not two.
        elif node is not last:
            own = [step.token for step in (entry.step for entry in node.line()) if step is not None]
            path = (*self.setting.prompt_ids, *own)
        self._path = node, path
        return path

    def mask(self, node: StepNode) -> StateMask:
        """The mask at a node, within the token budget."""
        return self.setting.rule.mask(node.state, self.setting.remaining(node.index))

    def mask_rows(self, nodes: Sequence[StepNode]) -> MaskRows | None:
        """The masks of a path with known positions, for a trace; ``None`` without a constraint."""
        rows, kept_rows = [node.row for node in nodes], [node.kept_row for node in nodes]
        return self.setting.rule.mask_rows(rows, kept_rows, self._seen)

    def position(self, node: StepNode) -> Position:
        """The record of a node, computed now if it is not known."""
        if node.position is None:
            distribution = None
            if self.logits is None or node.state == DONE:
                recorded = self._recorded_mask(node, None)
            else:
                began = time.perf_counter()
                mask = self.mask(node)
                spent = _milliseconds(began)
                recorded = self._recorded_mask(node, mask)
                try:
                    distribution = self._measure(node, mask, spent).distribution
                except ContextFull:
                    # The text is valid; only the next distribution is not available.
                    if node.parent is None:
                        raise
            node.row, node.kept_row = recorded.row, recorded.kept_row
            node.position = Position(
                index=node.index,
                state=node.state,
                char_state=self.setting.rule.byte_state(node.state),
                written=node.written,
                num_allowed=recorded.num_allowed,
                over_budget=recorded.over_budget,
                log_prob_model=node.log_prob_model,
                log_prob_constrained=node.log_prob_constrained,
                distribution=distribution,
            )
        return node.position

    def _recorded_mask(self, node: StepNode, mask: StateMask | None) -> RecordedMask:
        """The record of a node's mask, cached by state if there is no token budget."""
        limited = self.setting.remaining(node.index) is not None
        recorded = None if limited else self._recorded.get(node.state)
        if recorded is None:
            mask = mask or self.mask(node)
            row, kept_row = (
                self._rows.setdefault(packed, packed) for packed in (mask.row, mask.kept_row)
            )
            count = int(np.count_nonzero(mask.allowed))
            recorded = RecordedMask(row, kept_row, count, mask.over_budget)
            if not limited:
                self._recorded[node.state] = recorded
        return recorded

    def measured(self, node: StepNode) -> Measured | None:
        """The full distributions at a node, cached or computed again."""
        if self.logits is None or node.state == DONE:
            return None
        self.position(node)
        kept = self._measured.get(id(node))
        return kept[1] if kept is not None else self._measure(node, self.mask(node), 0.0)

    def draws_with(self, seed: int, stream: int) -> None:
        """Set the seed and stream that the next draws are likely to use."""
        self._numbers = (seed, stream)

    def draw(self, node: StepNode, seed: int, stream: int) -> DrawnToken:
        """The token that the sampler draws at a node.

        Args:
            seed, stream: The seed and the stream of random numbers; the position is the node's
                index.

        Raises:
            ExplorerError: There is no model.
        """
        key = (seed, stream)
        if key not in node.drawn:
            self.draws_with(seed, stream)
            measured = self.measured(node)
            if measured is None:
                raise ExplorerError(
                    "This run has no model to choose a token.",
                    remedy="Choose one with step(token=...), or make a Session with a model.",
                )
            number = uniform(seed, stream, node.index)
            token = drawn_token(measured.drawable, number)
            proposal = None
            if self._drafts is not None:
                proposal = self._drafts.judged(self._place(node, seed, stream), token)
            drawn = DrawnToken(token, None if self.setting.sampler.greedy else number, proposal)
            if drawn.token < 0:
                raise ExplorerError(
                    "The sampler leaves nothing to draw.",
                    remedy="Look at the logits of this position: Session.logits().",
                    evidence={"position": node.index, "state": node.state},
                )
            node.drawn[key] = drawn
        return node.drawn[key]

    def forced_run(self, node: StepNode) -> tuple[int, ...]:
        """The consecutive tokens from a node on that are each the only one allowed.

        The end of the text is excluded, because nothing is read after it.
        """
        return forced_run(self.setting.rule, node.state, self.setting.remaining(node.index))

    def prefilled(self, node: StepNode) -> StepNode | None:
        """The node after the tokenizer's own next token of a forced text.

        It is ``None`` if there is a choice, or if the run does not prefill.
        """
        if self.setting.forced != "prefill" or node.state < 0:
            return None
        run = self._runs.pop(node.key, None)
        if run is None:
            remaining = self.setting.remaining(node.index)
            run = prefilled_run(self.setting.rule, node.state, remaining)
            if self.logits is not None and not self.logits.holds(node.key):
                self.logits.read_ahead(self.ids(node), run, "prefilled", key=node.key)
        if not run:
            return None
        child = self.choose(node, run[0], "prefilled")
        self._runs = {child.key: run[1:]} if run[1:] else {}
        return child

    def choose(
        self,
        node: StepNode,
        token: int,
        chosen_by: ChosenBy,
        number: float | None = None,
        known_log_prob: float | None = None,
        proposal: Proposal | None = None,
        role: str = "",
    ) -> StepNode:
        """The node after one more token, an existing one if the step was taken before."""
        child = node.children.get((token, chosen_by, role or number))
        if child is not None:
            return child
        state = self.setting.rule.step(node.state, token)
        if state is None:
            raise ExplorerError(
                f"Token {token} is not allowed in state {node.state}.",
                remedy="Choose one of those that Session.allowed() has.",
                evidence={"token": token, "state": node.state},
            )
        measured = self.measured(node)
        model, filtered, constrained, rank = known_log_prob, None, None, None
        if measured is not None:
            model = float(measured.model[token])
            filtered = float(measured.filtered[token])
            constrained = float(measured.constrained[token])
            rank = measured.rank(token)
        data = self.setting.rule.vocabulary.tokens[token]
        step = Step(
            token=token,
            data=data,
            chosen_by=chosen_by,
            before=self.position(node),
            log_prob_model=model,
            log_prob_filtered=filtered,
            log_prob_constrained=constrained,
            rank=rank,
            uniform=number,
            proposal=proposal,
            role=role,
        )
        child = StepNode(
            parent=node,
            step=step,
            index=node.index + 1,
            state=state,
            written=node.written.plus(data),
            log_prob_model=added(node.log_prob_model, model),
            log_prob_constrained=added(node.log_prob_constrained, constrained),
            key=following_key(node.key, token),
        )
        node.children[token, chosen_by, role or number] = child
        return child

    def follow(
        self,
        tokens: Sequence[int],
        log_probs: Sequence[float | None],
        chosen_by: ChosenBy,
        meter: Meter | None = None,
    ) -> list[StepNode]:
        """The nodes along some tokens from the root, as far as the masks allow them.

        Args:
            meter: The time limit; ``None`` for none.

        Raises:
            BudgetExceeded: The time is up.
        """
        line = [self.root]
        for token, log_prob in zip(tokens, log_probs, strict=True):
            node = line[-1]
            if meter is not None and node.index % _TOKENS_BETWEEN_LOOKS == 0:
                _check_time(meter, len(tokens))
            if not self._follows(node, token):
                break
            line.append(self.choose(node, token, chosen_by, None, log_prob))
        return line

    def _follows(self, node: StepNode, token: int) -> bool:
        """Whether the mask of a node allows an id, possibly one outside the vocabulary."""
        if node.state == DONE:
            return False
        if self.setting.remaining(node.index) is None:
            return self.setting.rule.step(node.state, token) is not None  # Needs no mask.
        allowed = self.mask(node).allowed
        return 0 <= token < len(allowed) and bool(allowed[token])

    def _place(self, node: StepNode, seed: int, stream: int) -> DrawPlace:
        remaining = self.setting.remaining(node.index)
        return DrawPlace(self.ids(node), node.state, node.index, remaining, seed, stream)

    def _measure(self, node: StepNode, mask: StateMask, mask_milliseconds: float) -> Measured:
        if self.logits is None:
            raise ExplorerError("This run has no model.", remedy="Make a Session with a model.")
        began = time.perf_counter()
        ids = self.ids(node)
        if self.setting.forced == "run" and not self.logits.holds(node.key):
            self.logits.read_ahead(ids, self.forced_run(node), key=node.key)
        if self._drafts is not None and not self.logits.holds(node.key):
            run = self._drafts.run(self._place(node, *self._numbers))
            with suppress(ContextFull):  # Near the end of the context tokens are read one by one.
                self.logits.read_ahead(ids, run, "proposed", key=node.key)
        reading = self.logits.read(ids, node.key)
        read = _milliseconds(began)
        began = time.perf_counter()
        measured = measure(reading.logits, mask.allowed, self.setting.sampler, self.setting.top_k)
        timing = Timing(read, mask_milliseconds, _milliseconds(began))
        measured = replace(
            measured,
            distribution=replace(
                measured.distribution,
                timing=timing,
                computed=reading.computed,
                note=reading.note,
            ),
        )
        # The node is kept too, so that its `id` stays unique.
        self._measured[id(node)] = (node, measured)
        while len(self._measured) > _MEASURED_KEPT:
            self._measured.popitem(last=False)
        return measured


def _check_time(meter: Meter, count: int) -> None:
    try:
        meter.check_time(f"Reading {count:,} ids")
    except BudgetExceeded as error:
        remedy = "Read fewer ids, or raise the limit with Budget(seconds=...)."
        raise error.advising(remedy) from None


def _milliseconds(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 4)


@dataclass(frozen=True, slots=True)
class Unread:
    """The ids after the end of a line, the first of which is not allowed there.

    Args:
        log_probs: The natural log-probability of each under its model, if known.
    """

    ids: tuple[int, ...] = ()
    log_probs: tuple[float | None, ...] = ()

    @classmethod
    def beyond(
        cls,
        line: Sequence[StepNode],
        ids: Sequence[int],
        log_probs: Sequence[float | None],
        eos_ids: Collection[int],
    ) -> Unread:
        """The given ids that a line does not contain.

        After the end of text, further ends of text are padding and are omitted.
        """
        read = len(line) - 1
        if line[-1].state == DONE and set(ids[read:]) <= set(eos_ids):
            return cls()
        return cls(tuple(ids[read:]), tuple(log_probs[read:]))


def trace_of(
    tree: StepTree,
    nodes: Sequence[StepNode],
    *,
    seed: int,
    stream: int,
    rejection: Rejection | None = None,
    unread: tuple[int, ...] = (),
) -> Trace:
    """The trace of a path; calls the model for positions not known yet.

    Computing the mask of a new state may exceed the machine's budget. The trace then ends with the
    position before it, so that the text so far is not lost.

    Raises:
        BudgetExceeded: The mask of the start exceeds the budget.
    """
    setting, rule = tree.setting, tree.setting.rule
    positions = _known_positions(tree, nodes)
    if len(positions) < len(nodes):
        nodes, rejection, unread = nodes[: len(positions)], None, ()
    steps = tuple(node.step for node in nodes if node.step is not None)
    masks = tree.mask_rows(nodes)
    return Trace(
        model=None if setting.model is None else setting.model.name,
        prompt=setting.prompt,
        prompt_ids=setting.prompt_ids,
        tokens=_mentioned(rule, masks, positions, steps, rejection),
        sampler=setting.sampler,
        seed=seed,
        stream=stream,
        max_tokens=setting.max_tokens,
        masking_budget=setting.masking_budget,
        source=rule.source,
        num_states=rule.machine.num_states,
        num_char_states=rule.num_byte_states,
        masks=masks,
        positions=positions,
        steps=steps,
        rejection=rejection,
        unread=unread,
        draft=None if setting.drafting is None else setting.drafting.name,
        prefixed=setting.prefixed,
        made_with=rule.machine.constraint,
    )


def _known_positions(tree: StepTree, nodes: Sequence[StepNode]) -> tuple[Position, ...]:
    """The positions of a path, up to the first whose mask exceeds the budget."""
    positions: list[Position] = []
    for node in nodes:
        try:
            positions.append(tree.position(node))
        except BudgetExceeded:
            if not positions:
                raise
            break
    return tuple(positions)


def _mentioned(
    rule: Rule,
    masks: MaskRows | None,
    positions: Sequence[Position],
    steps: Sequence[Step],
    rejection: Rejection | None,
) -> MentionedTokens:
    """The tokens that a trace mentions."""
    vocabulary = rule.vocabulary
    mentioned = {step.token for step in steps} | set(vocabulary.eos_ids)
    mentioned |= {step.proposal.token for step in steps if step.proposal is not None}
    if rejection is not None and 0 <= rejection.token < len(vocabulary):
        mentioned.add(rejection.token)
    for position in positions:
        if position.distribution is not None:
            mentioned |= {entry.token for entry in position.distribution.candidates}
    if masks is not None:
        mentioned.update(masks.examples(MAX_CLASSES_SHOWN))
    return MentionedTokens.of(vocabulary, mentioned)


def checked_position(k: object, length: int, index: int) -> int:
    """The argument, if it is a position of a line.

    Raises:
        ExplorerError: There is no such position.
    """
    try:
        return whole_number("k", k, 0, length)
    except ExplorerError as error:
        raise ExplorerError(
            f"There is no position {shown(k)}: this line has positions 0 to {length}, and "
            f"the cursor is at {index}.",
            remedy="Stay within the line, or add tokens with step().",
            evidence={"position": k, "length": length, "index": index},
        ) from error


def checked_distance(move: str, n: object, most: int) -> int:
    """The number of tokens to move, if there are that many.

    Raises:
        ExplorerError: There are fewer, or it is not a whole number.

    Example:
        >>> checked_distance("back", 9, 4)
        Traceback (most recent call last):
        explorer.errors.ExplorerError: back(9) goes too far: there are 4 tokens to go back over. ...
    """
    distance = whole_number("n", n)
    if distance > most:
        tokens = "is 1 token" if most == 1 else f"are {most:,} tokens"
        over = "back over" if move == "back" else "forward over"
        raise ExplorerError(
            f"{move}({shown(distance)}) goes too far: there {tokens} to go {over}.",
            remedy=f"Give n from 0 to {most}.",
            evidence={"n": distance, "most": most},
        )
    return distance


def is_open(node: StepNode, limit: int | None) -> bool:
    """Whether another token can follow a node."""
    return node.state != DONE and (limit is None or node.index < limit)


def check_open(node: StepNode, limit: int | None) -> None:
    """Refuse a node after which no token can follow.

    Raises:
        ExplorerError: The text has ended, or the token budget is used up.
    """
    if node.state == DONE:
        raise ExplorerError(
            f"The text has ended: {in_quotes(node.text)}.",
            remedy="Go back() or fork() to write another one.",
            evidence={"text": node.text},
        )
    if not is_open(node, limit):
        raise ExplorerError(
            f"The {limit} tokens of max_tokens are used up.",
            remedy="Go back(), or make a Session with a larger max_tokens.",
            evidence={"max_tokens": limit},
        )


def permitted(tree: StepTree, node: StepNode, token: int | str) -> int:
    """The id of a user's token, if the mask of a node allows it.

    Raises:
        ExplorerError: The mask does not allow it, or it is not one token.
    """
    rule = tree.setting.rule
    vocabulary = rule.vocabulary
    wanted = meant_token(vocabulary, token)
    allowed = tree.mask(node).allowed
    if 0 <= wanted < len(allowed) and allowed[wanted]:
        return wanted
    known = 0 <= wanted < len(vocabulary)
    data = vocabulary.tokens[wanted] if known else None
    why = "is not allowed"
    if not known:
        why = f"is not an id of the vocabulary, which has {len(vocabulary):,}"
    elif rule.step(node.state, wanted) is not None:
        why = "would not leave enough of max_tokens to end the text"
    said = "" if data is None else in_quotes(data.decode(errors="surrogateescape")) + " "
    raise ExplorerError(
        f"Token {wanted} {said}{why}; after {in_quotes(node.text)}, "
        f"in state {node.state}, {int(allowed.sum()):,} ids are allowed.",
        remedy="Choose one of them (Session.allowed()), or ask explain why it is masked.",
        evidence={"token": wanted, "state": node.state, "allowed": int(allowed.sum())},
    )
