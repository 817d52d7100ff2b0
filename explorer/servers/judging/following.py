"""How far a token machine follows what a server wrote.

Tokens that a log names are followed one by one, and the first that is masked is certain. Where
there is a text alone, it may have been cut into tokens in many ways, and all of them are followed
(`explorer.tokens.walks.tokenizations`): the first byte that no tokens write is certain, and the
token only where no other one could stand there.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.build import is_over_tokens
from explorer.budget import Budget, Meter
from explorer.servers.judging.identifying import IdentifiedRun
from explorer.tokens.machine import TokenMachine
from explorer.tokens.states import DONE
from explorer.tokens.walks.spelling import longest_spelled
from explorer.tokens.walks.tokenizations import check_time, read_tokenizations
from explorer.tokens.walks.trie import trie_of

_TOKENS_BETWEEN_LOOKS = 1024


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What a machine allows of a run.

    Args:
        ids: The tokens that are allowed; of a text, one way of writing what is.
        states: int[len(ids) + 1], before each of them and after the last.
        data: The bytes that they write.
        rest: The ids after them that a session is given to read, the masked one first; empty
            where nothing is masked. Of a text, one way of going on.
        certain: Whether the first of ``rest`` is what was written, not only what may have been.
        byte: The first byte of the text that is not allowed; ``None`` where all of it is, and for
            tokens that are known.
        complete: Whether the text may end after what is allowed.
        unspelled: The first byte of the text that no tokens of the vocabulary write, whatever the
            constraint; the text was judged by its bytes alone. ``None`` in nearly every case.
    """

    ids: tuple[int, ...]
    states: tuple[int, ...]
    data: bytes
    rest: tuple[int, ...] = ()
    certain: bool = True
    byte: int | None = None
    complete: bool = False
    unspelled: int | None = None

    @property
    def state(self) -> int:
        """The state after what is allowed."""
        return self.states[-1]

    @property
    def written(self) -> tuple[int, ...]:
        """The ids that are allowed, and those after them."""
        return (*self.ids, *self.rest)

    @property
    def stopped(self) -> bool:
        """Whether something is masked: a token, or a byte of a text."""
        return bool(self.rest) or self.byte is not None


def follow_run(
    found: IdentifiedRun, machine: TokenMachine, budget: Budget | None = None
) -> JudgedRun:
    """Follow what was written through a machine.

    Args:
        found: The tokens of the run, or its text.
        machine: The machine, for the vocabulary that the run was identified with.
        budget: Its seconds hold for the reading.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter = Meter(budget)
    if found.text is None:
        return _of_ids(found.ids, machine, meter)
    data = found.text.encode()
    read = read_tokenizations(machine, data, found.ids, meter)
    before = data[: read.num_bytes]
    if read.writable == len(data):
        complete = read.num_bytes == len(data) and machine.is_final(read.states[-1])
        return JudgedRun(read.ids, read.states, before, certain=False, complete=complete)
    spelled = longest_spelled(trie_of(machine.vocabulary), data)
    byte_machine = machine.byte_machine
    if spelled < len(data) and byte_machine is not None and not is_over_tokens(byte_machine):
        byte, complete = _of_bytes(byte_machine, data)
        return JudgedRun(read.ids, read.states, before, (), False, byte, complete, spelled)
    rest = () if read.refused is None else (read.refused,)
    if rest and found.ids[: len(read.ids) + 1] == (*read.ids, *rest):
        rest = found.ids[len(read.ids) :]  # The tokenizer's own, to the end of the text.
    # The text may also be the name of a control token, which writes nothing as far as masks go.
    named = any(data.startswith(name.encode(), read.num_bytes) for name in _names(machine))
    return JudgedRun(read.ids, read.states, before, rest, read.only and not named, read.writable)


def _of_bytes(machine: ByteMachine, data: bytes) -> tuple[int | None, bool]:
    """The first byte that a machine over bytes does not read, and whether all of it is a word."""
    state = machine.start
    for at, byte in enumerate(data):
        state = machine.step(state, byte)
        if state == NO_ARC:
            return at, False
    return None, machine.is_accepting(state)


def _names(machine: TokenMachine) -> tuple[str, ...]:
    """The names of the vocabulary's control tokens."""
    return tuple(filter(None, machine.vocabulary.special.values()))


def _of_ids(ids: tuple[int, ...], machine: TokenMachine, meter: Meter) -> JudgedRun:
    vocabulary = machine.vocabulary
    states = [machine.start]
    data = bytearray()
    for index, token in enumerate(ids):
        if index % _TOKENS_BETWEEN_LOOKS == 0:
            check_time(meter, len(ids), "id")
        inside = states[-1] != DONE and 0 <= token < len(vocabulary)
        following = machine.step(states[-1], token) if inside else None
        if following is None:
            # After the end of text, more ends of text are padding.
            ended = states[-1] == DONE and set(ids[index:]) <= set(vocabulary.eos_ids)
            rest = () if ended else ids[index:]
            return JudgedRun(ids[:index], tuple(states), bytes(data), rest, complete=ended)
        data += vocabulary.tokens[token] or b""
        states.append(following)
    complete = states[-1] == DONE or machine.is_final(states[-1])
    return JudgedRun(ids, tuple(states), bytes(data), complete=complete)
