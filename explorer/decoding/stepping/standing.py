"""The cursor of a walk, with everything that can be read there without moving it.

`Standing` holds the tree of steps, the current line through it and the cursor on that line.
`explorer.decoding.stepping.walk.Walk` adds the moves. Reading under the lock gives a consistent
position even while another thread moves the walk.

Cost of a trace: 10 ms for a thousand steps at 131,072 tokens, all of it for collecting the
mentioned tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from explorer.alphabet import in_quotes
from explorer.arguments import plain, shown, whole_number
from explorer.automata.machine import Bool
from explorer.budget import Budget
from explorer.decoding.models.arguments import meant_token
from explorer.decoding.models.model import LanguageModel, Message
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.tree import Setting, StepNode, StepTree
from explorer.decoding.trace.masks import MaskRows
from explorer.decoding.trace.recording import MAX_CLASSES_SHOWN, MentionedTokens, Rejection
from explorer.decoding.trace.records import Position, Step
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.stages.restricted import Restricted
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary


class Standing:
    """A cursor in a tree of steps, with the properties of its position.

    It is the base class of `Walk`, which has the constructor.
    """

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
        return text_at(self._node)

    @property
    def state(self) -> int:
        """The constraint's state at the cursor."""
        return self._node.state

    @property
    def finished(self) -> bool:
        """Whether the text has ended at the cursor."""
        return self._node.state == DONE

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
                self._trace = (
                    self._generation,
                    trace_of(
                        self._tree,
                        self._line[: self._at + 1],
                        seed=self._seed,
                        stream=self._stream,
                        rejection=self.rejection if at_end else None,
                        unread=self._unread.ids[1:] if at_end else (),
                    ),
                )
            return self._trace[1]

    def __repr__(self) -> str:
        with self._lock:
            model = self.lm.name if self.lm is not None else None
            ahead = self.length - self._at
            more = f", {ahead} ahead" if ahead else ""
            constraint = self.constraint if self.constraint is not None else "free"
            name = type(self).__name__
            return f"{name}({model!r}, {constraint}, {self._at} tokens{more}: {self.text!r})"

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


# Checks of arguments, made before anything moves.


def text_at(node: StepNode) -> str:
    """The text up to a node; half a character at its end shows as U+FFFD."""
    return bytes(node.written).decode("utf-8", errors="replace")


def checked_position(k: object, length: int, index: int) -> int:
    """The argument, if it is a position of a line.

    Raises:
        ExplorerError: There is no such position.
    """
    k = plain(k)
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= length:
        raise ExplorerError(
            f"There is no position {shown(k)}: this line has positions 0 to {length}, and "
            f"the cursor is at {index}.",
            remedy="Stay within the line, or add tokens with step().",
            evidence={"position": k, "length": length, "index": index},
        )
    return k


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
            f"The text has ended: {in_quotes(text_at(node))}.",
            remedy="Go back() or fork() to write another one.",
            evidence={"text": text_at(node)},
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
        f"Token {wanted} {said}{why}; after {in_quotes(text_at(node))}, "
        f"in state {node.state}, {int(allowed.sum()):,} ids are allowed.",
        remedy="Choose one of them (Session.allowed()), or ask explain why it is masked.",
        evidence={"token": wanted, "state": node.state, "allowed": int(allowed.sum())},
    )
