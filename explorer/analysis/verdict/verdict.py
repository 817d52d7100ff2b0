"""The verdict on one token at one place: its stage, and where and why its bytes fail.

With p the bytes read so far, t the token's bytes and L the constraint's language as UTF-8:

*failing offset*  the least i such that no word of L starts with ``p + t[:i+1]``;
*expected*        the bytes b for which ``p + t[:i] + b`` starts a word of L;
*writable*        the expected bytes that this vocabulary can write and still finish;
*dead end*        ``p + t`` starts a word of L, but no tokens of this vocabulary complete it.

Where no byte fails, i is the length of t: `Verdict.expected` then says what may follow.

The byte machine is trimmed, so "starts a word" is "has a state". The token machine is trimmed by
what the vocabulary can write, so "can finish" is one question to its `Background`. No search is
needed.

Cost: microseconds, and the length of the text once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from explorer.alphabet import (
    LETTER,
    TOKEN_END,
    between_letters,
    character_start,
    letter,
    split_tail,
    without_letters,
)
from explorer.analysis.characters.view import Characters
from explorer.analysis.verdict.background import Background
from explorer.automata.machine import NO_ARC, ByteMachine, run
from explorer.automata.token_marks import ANY_ID, control_tokens_from
from explorer.automata.tree.charset import CharSet
from explorer.automata.words import shortest_word
from explorer.errors import BudgetExceeded
from explorer.tokens.control import in_own_letters
from explorer.tokens.machine import Refusal, filtered_of
from explorer.tokens.walks.spelling import longest_spelled
from explorer.tokens.walks.trie import after_token, token_end, written
from explorer.tokens.words import DEAD, DONE, FREE

Stage = Literal[
    "beyond_vocabulary",
    "not_text",
    "empty_token",
    "end_of_text",
    "constraint",
    "dead_end",
    "filtered",
    "allowed",
]

Mark = Literal["", "end", "id"]

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""The stages, in the order in which they are decided."""


@dataclass(frozen=True, slots=True)
class Move:
    """One byte of a token, read by the machine over bytes.

    Args:
        before: The byte state before it.
        after: The byte state after it; -1 if no arc reads the byte, and reading stops.
    """

    byte: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """A word that a dead end leads to, and the part of it that tokens can write.

    Args:
        witness: A shortest word of the language through the token.
        offset: The number of its bytes that can be written, with the text and the token.
    """

    witness: bytes
    offset: int


@dataclass(frozen=True)
class Verdict:
    """The decision whether a token may come next, with the evidence.

    Args:
        stage: The stage that decided; see `STAGES`.
        token: The id; ``None`` for text without a tokenizer.
        data: The token's bytes; ``None`` if it writes none.
        prefix: The text read so far.
        state: The token state, or a sentinel; -1 without a tokenizer.
        char_state: The byte state after the text; -1 if the text has left the constraint.
        byte_offset: The failing offset; ``None`` where no byte fails.
        char_offset: The number of whole characters of the token before the failing one; a
            character that began before the token counts once the token ends it.
        expected: The bytes that may stand at the failing offset, or after the token, ascending.
        writable: Those that the vocabulary can write and still finish; ``None`` without one, and
            where finding them would take too long.
        may_end: Whether the text before the token is complete.
        could_end: Whether the text is complete before the failing character, or after the token.
        char_begin: Where the failing character begins, as an offset into ``prefix + data``.
        expected_chars: The characters that may stand there; ``None`` where no byte fails and the
            text ends between two characters, see ``expected``.
        mid_character: Whether the text before the token ends within a character.
        walk: The token's bytes up to the failing one, through the machine over bytes.
        dead_end: The evidence of the stage ``dead_end``.
        ended_by: The id that ended the text before the token, if it has ended and that is known.
        mark: What a machine that reads the ends of tokens could read at the failing place, or after
            the token, besides bytes: the ``"end"`` of the token, an ``"id"``, or nothing.
        control: The control tokens that could stand at the failing place, as they are shown.
        refusal: For the stage "filtered": the filter's reason.
    """

    stage: Stage
    token: int | None
    data: bytes | None
    prefix: bytes
    state: int
    char_state: int
    byte_offset: int | None
    char_offset: int | None
    expected: bytes
    writable: bytes | None
    may_end: bool
    char_begin: int
    expected_chars: CharSet
    mid_character: bool
    walk: tuple[Move, ...]
    dead_end: DeadEnd | None = None
    ended_by: int | None = None
    mark: Mark = ""
    refusal: Refusal | None = None
    could_end: bool = False
    control: tuple[str, ...] = ()

    @property
    def here(self) -> int:
        """The byte state after everything that was read."""
        if not self.walk:
            return self.char_state
        last = self.walk[-1]
        return last.before if last.after == NO_ARC else last.after

    @property
    def ends_too_soon(self) -> bool:
        """Whether the machine reads every byte of the token, but not its end."""
        return self.stage == "constraint" and bool(self.data) and self.byte_offset is None

    @property
    def allowed(self) -> bool:
        """Whether the token may come next."""
        return self.stage == "allowed"

    @property
    def ended(self) -> bool:
        """Whether the text had ended before the token."""
        return self.token is not None and self.state == DONE

    @property
    def left(self) -> bool:
        """Whether the text before the token has left the constraint, so that there is no state."""
        return self.token is not None and self.state == DEAD

    @property
    def read(self) -> bytes:
        """The text and the bytes of the token that were read."""
        return self.prefix + (self.data or b"")[: self.byte_offset]

    @property
    def failing_byte(self) -> int | None:
        """The byte that fails."""
        return None if self.byte_offset is None or not self.data else self.data[self.byte_offset]

    @property
    def rest(self) -> bytes:
        """The bytes of the token or text after the one that fails."""
        return (
            b"" if self.failing_byte is None else (self.data or b"")[(self.byte_offset or 0) + 1 :]
        )


def judge(
    background: Background, state: int, token: int, prefix: bytes, ended_by: int | None = None
) -> Verdict:
    """The verdict on an id.

    Args:
        token: Any int; ids outside the vocabulary have a stage of their own.
        prefix: The text read so far, which leads to the state.
        ended_by: The id that ended it, if it has ended and that is known.
    """
    machine, byte_machine = background.machine, background.byte_machine
    vocabulary = machine.vocabulary
    inside = 0 <= token < len(vocabulary)
    data = vocabulary.tokens[token] if inside else None
    ends = token in vocabulary.eos_ids
    byte_state = machine.byte_state(state)
    # Without a constraint no machine reads the text, so nothing can fail.
    offered = b"" if data is None or state == FREE else data
    read = _read(byte_machine, background.characters, prefix, byte_state, offered, state == DONE)
    symbols = written(vocabulary, byte_machine, token) if inside and data is None else b""
    after = _after(byte_machine, read)
    if data is None:  # A token that is not text may be expected.
        after = after_token(byte_machine, byte_state, symbols)
    if state == FREE:
        allowed = True
    elif ends:
        allowed = machine.is_final(state)
    else:
        allowed = after != NO_ARC and background.can_finish(after)
    empty = b"" if token in vocabulary.empty_ids else None
    stage = _stage(RecordedToken(token, data or empty, inside, ends, allowed), after)
    # A filter may still mask a token, or EOS, that the text allows; and if a text is a dead end
    # under the filter alone, the filter is the reason.
    refusal = None
    reads = stage in ("allowed", "dead_end") or (ends and stage == "end_of_text")
    filtered = filtered_of(machine)
    if reads and state >= 0 and filtered is not None:
        refusal = filtered.refusal(state, token)
        stage = "filtered" if refusal is not None else stage
    writable: bytes | None = b""
    if state >= 0:
        writable = background.writable(byte_state, (data or b"")[: read.byte_offset])
    dead_end = None
    if stage == "dead_end":
        told = prefix + (data or vocabulary.letters.get(token, b""))
        with suppress(BudgetExceeded):  # That it is one is known; the evidence is not.
            dead_end = _dead_end(background, after, told)
    return replace(
        read, stage=stage, token=token, data=data, state=state, writable=writable,
        dead_end=dead_end, ended_by=ended_by, refusal=refusal,
    )  # fmt: skip


def _mark(machine: ByteMachine, state: int) -> Mark:
    """The symbol besides bytes that a machine could read in a state: `end`, `id`, or none."""
    if state == NO_ARC:
        return ""
    if machine.over_tokens and machine.step(state, TOKEN_END) != NO_ARC:
        return "end"
    return "id" if machine.step(state, LETTER) != NO_ARC else ""


def control_at(machine: ByteMachine, state: int) -> tuple[str, ...]:
    """The control tokens that a machine could read in a state, as a sentence names them."""
    if state == NO_ARC:
        return ()
    pairs = control_tokens_from(machine, state)
    others = {target for token, target in pairs if token is None}
    # The beginning of a name that is treated apart has a state of its own, and leads on as others.
    named = (token for token, target in pairs if token is None or target not in others)
    tokens = dict.fromkeys(named)
    shown = [f"token {each}" if isinstance(each, int) else each or ANY_ID for each in tokens]
    return tuple(sorted(shown, key=ANY_ID.__eq__))  # "Any other id" comes last.


def judge_text(machine: ByteMachine, text: bytes) -> Verdict:
    """The verdict on a text without a tokenizer; the text may contain letters of control tokens.

    Its stage is `allowed` for a word, `end_of_text` for a prefix of one, else `constraint`.
    Offsets in bytes count those of letters; characters are those of the text alone.
    """
    characters = Characters(machine)
    walk: tuple[Move, ...] = ()
    base = begin = 0  # The offsets of the present part, and of the last one that was read.
    read = _read(machine, characters, b"", machine.start, b"", False)
    failed: int | None = None
    for part in between_letters(text):
        if isinstance(part, tuple):
            part = letter(*part)
            states = run(machine, read.here, part).tolist()
            walk += tuple(map(Move, part, states, states[1:]))
            if states[-1] == NO_ARC:  # A control token is one symbol: it fails at its beginning.
                failed = base
                break
            begin = base + len(part)
            read = _read(machine, characters, b"", states[-1], b"", False)
        else:
            begin = base
            read = _read(machine, characters, b"", read.here, part, False)
            walk += read.walk
            if read.byte_offset is not None:
                failed = base + read.byte_offset
                break
        base += len(part)
    stage: Stage = "constraint"
    if failed is None and machine.start != NO_ARC:
        stage = "allowed" if machine.is_accepting(read.here) else "end_of_text"
    begin += read.char_begin
    whole = without_letters(text[:begin]).decode(errors="replace")
    return replace(
        read, stage=stage, data=text, char_state=machine.start, byte_offset=failed,
        char_offset=None if failed is None else len(whole),
        may_end=machine.start != NO_ARC and machine.is_accepting(machine.start),
        char_begin=begin, walk=walk, mark="id" if read.control else "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordedToken:
    """The facts about an id that decide, from a vocabulary or from the record of a run.

    Args:
        data: Its bytes; ``b""`` for an empty token, ``None`` for an id that is not text.
        inside: Whether it is in the vocabulary.
        ends: Whether it ends the text.
        allowed: Whether the constraint allows it here.
    """

    token: int
    data: bytes | None
    inside: bool
    ends: bool
    allowed: bool


def judge_recorded(
    machine: ByteMachine, prefix: bytes, state: int, asked: RecordedToken,
    ended_by: int | None = None, byte_state: int | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on an id from a record of a run, without its vocabulary.

    Args:
        state: The token state that was recorded, or a sentinel.
        ended_by: The id that ended the text, if it has ended.
        byte_state: The recorded byte state; default the state after the text.
    """
    data = asked.data
    if state == DONE:
        byte_state = NO_ARC
    elif byte_state is None:
        byte_state = int(run(machine, machine.start, prefix)[-1])
    read = _read(machine, Characters(machine), prefix, byte_state, data or b"", state == DONE)
    stage = _stage(asked, NO_ARC if data is None else _after(machine, read))
    return replace(
        read, stage=stage, token=asked.token, data=data or None, state=state, ended_by=ended_by
    )


def _after(machine: ByteMachine, read: Verdict) -> int:
    """The byte state after the end of a token that was read; `NO_ARC` if it cannot end there."""
    failed = read.byte_offset is not None or read.here == NO_ARC
    return NO_ARC if failed else token_end(machine, read.here)


def _stage(asked: RecordedToken, after: int) -> Stage:
    """The stage that decides about a token, given the byte state after it; filters apart."""
    if not asked.inside:
        return "beyond_vocabulary"
    if asked.allowed:
        return "allowed"
    if asked.ends:
        return "end_of_text"
    if asked.data == b"":
        return "empty_token"
    if after != NO_ARC:
        return "dead_end"
    return "not_text" if asked.data is None else "constraint"


def _read(
    machine: ByteMachine,
    characters: Characters,
    prefix: bytes,
    state: int,
    data: bytes,
    ended: bool,
) -> Verdict:
    """The part of a verdict that does not depend on the vocabulary: some bytes, read after a text.

    Args:
        ended: Whether the text has ended.
    """
    if LETTER in data:  # A byte of no text, as 0xFF is; here it would begin a letter.
        data = data.replace(bytes([LETTER]), b"\xff")
    states = run(machine, state, data).tolist()
    failed = next((k for k, after in enumerate(states[1:]) if after == NO_ARC), None)
    if state == NO_ARC:
        failed = 0 if data else None
    count = len(data) if failed is None else failed
    moves = min(count + 1, len(data))
    walk = tuple(Move(data[k], states[k], states[k + 1]) for k in range(moves))
    here = states[count]
    whole = prefix + data
    at = len(prefix) + count
    begin = character_start(whole, at)
    if begin < len(prefix):
        # The character began in the text: its first state is on the text's own path.
        # Over token ends that path is unknown, because a text does not determine its tokens.
        unknown = state == NO_ARC or machine.over_tokens
        origin = NO_ARC if unknown else int(run(machine, machine.start, prefix[:begin])[-1])
        tail = prefix[begin:]
    else:
        origin, tail = states[begin - len(prefix)], b""
    chars = characters.expected(origin, tail)
    ends = sum(
        1
        for k in range(len(prefix) + 1, min(begin, at) + 1)
        if k == len(whole) or not 0x80 <= whole[k] < 0xC0 or k == begin
    )
    return Verdict(
        "constraint", None, data, prefix, -1, state, failed,
        char_offset=None if failed is None else ends,
        expected=machine.expected(here).replace(bytes([LETTER]), b""),
        writable=None,
        may_end=machine.is_accepting(state) or ended,
        char_begin=begin,
        expected_chars=chars,
        mid_character=bool(split_tail(prefix)[1]),
        walk=walk,
        mark=_mark(machine, here),
        could_end=begin >= len(prefix) and origin != NO_ARC and machine.is_accepting(origin),
        control=control_at(machine, here),
    )  # fmt: skip


def _dead_end(background: Background, state: int, text: bytes) -> DeadEnd:
    """A shortest word through a byte state, and the furthest byte that tokens can write."""
    machine = background.byte_machine
    rest = shortest_word(machine, state)
    if machine.reads_letters:
        rest = in_own_letters(background.machine.vocabulary, machine, state, rest)
    return DeadEnd(text + rest, len(text) + longest_spelled(background.trie, rest))
