"""Reasons for a whole mask: the stage, the failing offset and the group of every id.

A mask of 131,072 ids is explained by a dozen sentences: "expects a digit, offered a letter". A
group is a stage, the expectation where its tokens fail, and the kind of text that they offer
there. The twelve heaviest groups keep sentences of their own; the rest is one group,
"other".

Counts add up: the groups' counts and the allowed ids sum to the width. So do masses: the groups'
and the feasible mass sum to the given probability.

Cost: one walk of the trie and a few array operations: milliseconds at 131,072 ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import character_start, remaining_bytes, show_bytes
from explorer.analysis.characters.display import show_characters, show_share
from explorer.analysis.characters.kinds import KINDS, kinds_of
from explorer.analysis.verdict.asked import as_bytes, checked_machine
from explorer.analysis.verdict.background import Background, background_of
from explorer.analysis.verdict.verdict import STAGES, Stage, control_at
from explorer.analysis.wording.words import show_wanted
from explorer.arguments import whole_number
from explorer.automata.machine import NO_ARC, Int32, run
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine, filtered_of
from explorer.tokens.walks.failing import BEFORE, READ
from explorer.tokens.words import DEAD, DONE, FREE

MOST_GROUPS: Final = 12
"""The most groups, "other" not counted."""

EXAMPLES: Final = 6
"""The most ids that a group names."""

ALLOWED: Final = -1
"""In place of a group: the id is allowed."""

_STAGE: Final[dict[Stage, int]] = {stage: k for k, stage in enumerate(STAGES)}


_REASONS: Final[dict[Stage | None, str]] = {
    "dead_end": "leads where this vocabulary cannot finish",
    "filtered": "a filter masks them; the text allows them",
    "end_of_text": "would end a text that is not complete",
    "not_text": "special, control or unused ids, which write no text",
    "empty_token": "empty tokens, which write nothing",
    "beyond_vocabulary": "ids beyond the vocabulary",
}
"""The stages but `constraint` as clauses about several ids."""


@dataclass(frozen=True)
class ReasonGroup:
    """Ids that are masked for the same reason.

    Args:
        stage: The stage that decided; ``None`` for "other", which is mixed.
        expected: The expectation where they fail, in words; empty where there is none.
        offered: The kind of text that they offer there; empty where it does not matter.
        mass: Their probability; ``None`` where none was given.
        examples: Some of them, the likeliest first, else the lowest.
        because: The reason in words where nothing is expected, such as after the end of the text.
    """

    stage: Stage | None
    expected: str
    offered: str
    count: int
    mass: float | None
    examples: tuple[int, ...]
    because: str = ""

    @property
    def reason(self) -> str:
        """The group as a clause.

        Example:
            >>> ReasonGroup("constraint", "'-'", "a letter", 2, None, ()).reason
            "expects '-', offered a letter"
        """
        if self.stage == "constraint":
            return self.because or f"expects {self.expected}, offered {self.offered}"
        return _REASONS.get(self.stage, "other")

    def __str__(self) -> str:
        ids = f"{self.count:,} {'id' if self.count == 1 else 'ids'}"
        if self.mass is None:
            return f"{ids}: {self.reason}"
        return f"{show_share(self.mass)} of the model's probability ({ids}): {self.reason}"


@dataclass(frozen=True, eq=False)
class MaskReasons:
    """The reasons for all ids at one state.

    Args:
        stage: uint8[width], the index into `STAGES`.
        offset: int32[width], the failing offset in the token's bytes; -1 where no byte fails.
        group: int16[width], the index into ``groups``; -1 for allowed ids.
        groups: At most twelve and "other", heaviest first.
        z: Their probability; ``None`` where none was given.
    """

    stage: NDArray[np.uint8]
    offset: Int32
    group: NDArray[np.int16]
    groups: tuple[ReasonGroup, ...]
    num_allowed: int
    z: float | None

    def __str__(self) -> str:
        head = f"{self.num_allowed:,} of {len(self.stage):,} ids are allowed"
        if self.z is not None:
            head += f", with {show_share(self.z)} of the model's probability"
        return "\n".join([head, *map(str, self.groups)])

    def to_dict(self) -> dict[str, object]:
        """The summary as plain values, without the arrays."""
        return {
            "width": len(self.stage),
            "allowed": self.num_allowed,
            "z": self.z,
            "groups": [
                {
                    "stage": group.stage, "expected": group.expected, "offered": group.offered,
                    "count": group.count, "mass": group.mass, "examples": list(group.examples),
                    "reason": group.reason,
                }
                for group in self.groups
            ],
        }  # fmt: skip


def explain_all(
    machine: TokenMachine,
    state: int,
    probabilities: NDArray[np.floating] | None = None,
    *,
    text: str | bytes | None = None,
    budget: Budget | None = None,
) -> MaskReasons:
    """Explain why each id is masked in a state.

    Args:
        state: A state or a sentinel.
        probabilities: float[width], the model's; it may be wider than the vocabulary, as padded
            logits are, and then so is the answer.
        text: The text so far; it only matters in the middle of a character. Default: a
            shortest text.
        budget: Limits for finding that text.

    Raises:
        ExplorerError: There is no such state, there is no constraint, or the probabilities do not
            fit.
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> from explorer.tokens.compile import compile
        >>> from explorer.vocabulary import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b"1", b"-", b"a", b"bc"], eos_ids=[4])
        >>> dfa = compile(regex("[0-9]-[0-9]"), vocab)
        >>> print(explain_all(dfa, dfa.start))
        1 of 5 ids are allowed
        2 ids: expects a digit 0-9, offered a letter
        1 id: would end a text that is not complete
        1 id: expects a digit 0-9, offered punctuation
    """
    background = background_of(checked_machine(machine), budget)
    state = whole_number("state", state, None)
    machine.is_final(state)  # Raises where there is no such state.
    size = len(machine.vocabulary)
    weights = _weights(probabilities, size)
    tail = _tail(background, state, text, Meter(budget))
    if state == FREE:
        codes = _Codes(np.full(size, _STAGE["allowed"], np.int32), np.full(size, READ, np.int32))
    else:
        codes = _judge_all(background, state, tail[1])
    if weights is not None and len(weights) > size:
        more = len(weights) - size
        codes = _Codes(
            np.append(codes.code, np.full(more, _STAGE["beyond_vocabulary"], np.int32)),
            np.append(codes.offset, np.full(more, READ, np.int32)),
            codes.begun,
        )
    name = cache(partial(_expected_name, background, tail=tail))
    return _grouped(codes, weights, _SENTINEL.get(state, ""), name)


@dataclass(frozen=True, eq=False)
class _Codes:
    """The reason for every id as one small number, so that counting takes one pass.

    A stage has its own number. Where the constraint decides, the number is, past the stages, the
    index of the state in ``begun`` times the number of kinds, plus the kind.

    Args:
        code: int32[width].
        offset: int32[width], the failing offset.
        begun: The byte states at which failing characters begin, ascending.
    """

    code: Int32
    offset: Int32
    begun: tuple[int, ...] = ()


def _weights(probabilities: NDArray[np.floating] | None, size: int) -> NDArray[np.float64] | None:
    if probabilities is None:
        return None
    weights = np.asarray(probabilities, np.float64)
    if weights.ndim != 1 or len(weights) < size:
        raise ExplorerError(
            f"Probabilities of shape {list(weights.shape)} do not fit {size:,} ids.",
            remedy="Give one row with a value for each id; it may be wider, not narrower.",
            evidence={"shape": list(weights.shape), "ids": size},
        )
    return weights


def _judge_all(background: Background, state: int, tail: bytes) -> _Codes:
    """The reasons for the ids of the vocabulary, computed word by word."""
    machine, trie = background.machine, background.trie
    vocabulary = machine.vocabulary
    if state >= 0:
        owed = remaining_bytes(tail[0]) + 1 - len(tail) if tail else 0
        fails, reached, begin = background.fail_words(machine.byte_state(state), owed)
    else:
        # The text has ended: everything fails at once, and nothing is expected.
        fails = np.zeros(trie.num_words, np.int32)
        reached = begin = np.full(trie.num_words, NO_ARC, np.int32)
    read = np.flatnonzero(fails == READ)
    kinds = kinds_of(trie)
    # The states at which characters begin are numbered; negative entries are not states.
    met = np.zeros(int(begin.max(initial=0)) + 1 - BEFORE, np.bool_)
    met[begin - BEFORE] = True
    met_states = np.flatnonzero(met)
    place = np.zeros(len(met), np.int32)
    place[met_states] = np.arange(len(met_states), dtype=np.int32)
    # One entry more than there are words: ids without a word have the last.
    code = np.empty(trie.num_words + 1, np.int32)
    offered = kinds.at(np.arange(trie.num_words, dtype=np.int32), np.maximum(fails, 0))
    if state < 0:
        offered = np.zeros_like(offered)  # The reason does not depend on the offer.
    code[:-1] = len(STAGES) + place[begin - BEFORE] * len(KINDS) + offered
    finishes = background.finishing(reached[read])
    code[read] = np.where(finishes, _STAGE["allowed"], _STAGE["dead_end"])
    code[-1] = _STAGE["not_text"]
    of_id = code[background.word_of]
    for token in vocabulary.not_text:
        if of_id[token] >= len(STAGES):
            of_id[token] = _STAGE["not_text"]
    of_id[list(vocabulary.empty_ids)] = _STAGE["empty_token"]
    of_id[list(vocabulary.eos_ids)] = _STAGE[
        "allowed" if machine.is_final(state) else "end_of_text"
    ]
    if filtered_of(machine) is not None:
        # A filter masks each token that the text allows and the mask does not; EOS is one of them.
        if state >= 0 and background.byte_machine.is_accepting(machine.byte_state(state)):
            of_id[list(vocabulary.eos_ids)] = _STAGE["allowed"]
        of_id[(of_id == _STAGE["allowed"]) & ~machine.allowed(state)] = _STAGE["filtered"]
    offset = np.append(fails, np.int32(READ))[background.word_of]
    offset[of_id == _STAGE["not_text"]] = READ
    return _Codes(of_id, offset, tuple((met_states + BEFORE).tolist()))


def _tail(
    background: Background, state: int, text: str | bytes | None, meter: Meter
) -> tuple[int, bytes]:
    """The state at the first byte of a character that the text has begun, and that byte on."""
    if state < 0:
        return NO_ARC, b""
    if text is None:
        text = background.paths.text_of(state, meter)
    data = as_bytes(text)
    begin = character_start(data, len(data))
    machine = background.byte_machine
    if machine.over_tokens:  # A text does not say where its tokens end.
        here = NO_ARC if begin < len(data) else background.machine.byte_state(state)
        return here, data[begin:]
    return int(run(machine, machine.start, data[:begin])[-1]), data[begin:]


_SENTINEL: Final = {
    DONE: "the text has ended",
    DEAD: "no text of the constraint begins like this",
}


def _expected_name(background: Background, state: int, tail: tuple[int, bytes]) -> str:
    """The expected characters in words, given the state at which a character begins."""
    if state == NO_ARC:
        return "only the end of text"
    if state == BEFORE:
        begun = f"the rest of {show_bytes(tail[1])}: " if tail[1] else ""
        return begun + show_characters(background.characters.expected(*tail))
    chars = background.characters.expected(state)
    machine = background.byte_machine
    return show_wanted(chars, control_at(machine, state), machine.is_accepting(state))


def _grouped(
    codes: _Codes, weights: NDArray[np.float64] | None, sentinel: str, name: Callable[[int], str]
) -> MaskReasons:
    """The reasons, given the expectation in words by the state at which a character begins."""
    code = codes.code
    size = len(STAGES) + len(codes.begun) * len(KINDS)
    counts = np.bincount(code, minlength=size)
    present: list[int] = np.flatnonzero(counts).tolist()
    # States with the same expectation in words form one group.
    number: dict[tuple[Stage, str, str], int] = {}
    allowed = _STAGE["allowed"]
    member = np.full(size, ALLOWED, np.int64)
    for packed in present:
        if packed == allowed:
            continue
        stage: Stage = STAGES[packed] if packed < len(STAGES) else "constraint"
        expected = offered = ""
        if packed >= len(STAGES) and not sentinel:
            state, kind = divmod(packed - len(STAGES), len(KINDS))
            expected, offered = name(codes.begun[state]), KINDS[kind]
        member[packed] = number.setdefault((stage, expected, offered), len(number))
    masked = member >= 0
    count = np.zeros(len(number), np.int64)
    np.add.at(count, member[masked], counts[masked])
    mass = z = None
    if weights is not None:
        masses = np.bincount(code, weights, size)
        mass = np.zeros(len(number))
        np.add.at(mass, member[masked], masses[masked])
        z = float(masses[allowed])
    order = np.lexsort((np.arange(len(number)), -count, -(count if mass is None else mass)))
    rank = np.empty(len(number), np.int64)
    rank[order] = np.minimum(np.arange(len(number)), MOST_GROUPS)
    rank_of_code = np.full(size, ALLOWED, np.int16)
    rank_of_code[masked] = rank[member[masked]]
    group = rank_of_code[code]
    labels = list(number)
    listed: list[tuple[Stage, str, str] | None] = [labels[int(k)] for k in order[:MOST_GROUPS]]
    if len(number) > MOST_GROUPS:
        listed.append(None)
    groups = [
        _group(label, np.flatnonzero(group == n), weights, sentinel)
        for n, label in enumerate(listed)
    ]
    stage_of_code = np.full(size, _STAGE["constraint"], np.uint8)
    stage_of_code[: len(STAGES)] = np.arange(len(STAGES))
    num_allowed = int(counts[allowed])
    return MaskReasons(stage_of_code[code], codes.offset, group, tuple(groups), num_allowed, z)


def _group(
    label: tuple[Stage, str, str] | None, ids: NDArray[np.intp],
    weights: NDArray[np.float64] | None, sentinel: str,
) -> ReasonGroup:  # fmt: skip
    mass = None
    first = ids[:EXAMPLES]
    if weights is not None:
        of_ids = weights[ids]
        mass = float(of_ids.sum())
        best = np.argpartition(-of_ids, min(EXAMPLES, len(ids)) - 1)[:EXAMPLES]
        first = ids[best[np.lexsort((ids[best], -of_ids[best]))]]
    stage, expected, offered = label if label is not None else (None, "", "")
    because = sentinel if stage == "constraint" else ""
    return ReasonGroup(stage, expected, offered, len(ids), mass, tuple(first.tolist()), because)
