"""The ids of a run's tokens, and the part of the run that a token machine allows.

Tokens that a log names are followed one by one, and the first masked one is certain. A text alone
may have been cut into tokens in many ways, and all of them are followed
(`explorer.tokens.walks.tokenizations`): the first byte that no tokens write is certain, but a
masked token only if no other token could stand there.

A log has ids, or the bytes or text of each token, or a text alone. Ids are used after a check that
they have the logged texts in this vocabulary. Bytes and texts are looked up in the vocabulary, and
count if together they write the text. Otherwise, and for a text alone, only the text is known: the
model may have cut it into tokens in many ways. The tokenizer's own way is one of them, without
anything that it puts before every text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.arguments import counted, shown
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.memo import memo
from explorer.servers.phases import answer_begins
from explorer.servers.reasoning import after_mark, marks_of, names_shown, parser_is_on
from explorer.servers.run import LIMITED, ServedToken, ServerRun
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.spelling import fewest_tokens, longest_spelled
from explorer.tokens.walks.tokenizations import check_time, read_tokenizations
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

_HALF: Final = "\ufffd"
_LEAST_AGREEING: Final = 0.9
"""The share of a log's tokens that must have the logged text here; some servers show a few tokens
in another form."""


@dataclass(frozen=True, slots=True)
class IdentifiedRun:
    """The tokens of a run's answer with their ids.

    Args:
        tokens: The tokens; each has an id.
        skipped: The number of tokens before the answer.
        text: The text, if only that is known; then ``tokens`` are one tokenization of it, or
            empty. ``None`` where the tokens are known.
        mark: The mark that ended the reasoning before the answer; empty without one.
    """

    tokens: tuple[ServedToken, ...]
    skipped: int
    text: str | None
    notes: tuple[str, ...]
    mark: str = ""

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids."""
        return tuple(token.token for token in self.tokens if token.token is not None)

    @property
    def is_empty(self) -> bool:
        """Whether there is no answer."""
        return not self.tokens and not self.text


def identify(run: ServerRun, vocabulary: Vocabulary) -> IdentifiedRun:
    """Find the id of each token of a run's answer.

    Raises:
        ExplorerError: The ids have another text in this vocabulary than in the log.
    """
    if run.tokens and all(token.token is not None for token in run.tokens):
        _check_meaning(run, vocabulary)
        return _answer(run, run.tokens, vocabulary, ())
    tokens = _looked_up(run, vocabulary) if run.tokens else None
    if tokens is not None:
        note = "The log has no ids; they were found by what each token writes."
        known = _answer(run, tokens, vocabulary, (note,))
        if run.text is None or _written(known.ids, vocabulary) == run.text.encode():
            return known
    return _of_text(run, vocabulary)


def _check_meaning(run: ServerRun, vocabulary: Vocabulary) -> None:
    """Refuse a run whose ids have another text in this vocabulary."""
    asked = wrong = 0
    first: tuple[int, ServedToken] | None = None
    for index, token in enumerate(run.tokens):
        held = _data(token.token, vocabulary)
        if token.text is None or _HALF in token.text or held is None:
            continue  # The log does not show the token's own bytes.
        asked += 1
        # A token that is decoded alone may lose the space that it begins with.
        if token.text.encode().strip(b" ") != held.strip(b" "):
            wrong += 1
            first = first or (index, token)
    if first is not None and asked - wrong < _LEAST_AGREEING * asked:
        index, token = first
        held = _data(token.token, vocabulary)
        raise ExplorerError(
            f"{run.place} was written with another tokenizer: {counted(wrong, 'token')} of {asked} "
            f"mean other text here. The first is token {index}, id {token.token}: "
            f"{shown(token.text)} in the log, {shown(held)} in the vocabulary.",
            remedy="Give the tokenizer of the model that the server ran: --tokenizer PATH.",
            evidence={"index": index, "token": token.token, "log": token.text, "held": held},
        )


def _written(ids: Sequence[int], vocabulary: Vocabulary) -> bytes:
    return b"".join(_data(token, vocabulary) or b"" for token in ids)


def _data(token: int | None, vocabulary: Vocabulary) -> bytes | None:
    inside = token is not None and token < len(vocabulary)
    return vocabulary.tokens[token] if inside and token is not None else None


def _looked_up(run: ServerRun, vocabulary: Vocabulary) -> tuple[ServedToken, ...] | None:
    """The tokens with ids, found by their bytes; ``None`` where the vocabulary lacks one."""
    known = _by_bytes(vocabulary)
    named = {name: token for token, name in vocabulary.special.items()}
    tokens: list[ServedToken] = []
    for token in run.tokens:
        if token.token is None and token.text in named:
            # A control token is shown by its name.
            tokens.append(replace(token, token=named[token.text]))
            continue
        data = token.data if token.data is not None else (token.text or "").encode()
        shown_alone = token.text is not None and _HALF in token.text
        if shown_alone and data == (token.text or "").encode():
            return None  # A half character was decoded alone, and its bytes are lost.
        if token.token is None and data not in known:
            return None
        tokens.append(replace(token, token=known[data] if token.token is None else token.token))
    if run.text is not None:
        whole = b"".join(vocabulary.tokens[one.token or 0] or b"" for one in tokens)
        if not whole.endswith(run.text.encode()):
            return None  # The texts are not the bytes: a space was lost, for example.
    return tuple(tokens)


@memo
def _by_bytes(vocabulary: Vocabulary) -> dict[bytes, int]:
    """The lowest id for each byte string of the vocabulary."""
    ids: dict[bytes, int] = {}
    for token, data in enumerate(vocabulary.tokens):
        if data:
            ids.setdefault(data, token)
    return ids


def _answer(
    run: ServerRun,
    tokens: Sequence[ServedToken],
    vocabulary: Vocabulary,
    notes: tuple[str, ...],
) -> IdentifiedRun:
    """The tokens of the answer: those after the reasoning, where a server has taken that off."""
    whole = IdentifiedRun(tuple(tokens), 0, None, notes)
    if not parser_is_on(run):
        return whole
    pieces = names_shown([token.token for token in tokens], vocabulary)
    reasoned = after_mark(pieces, marks_of(run))
    if reasoned is None and not run.text and run.reasoning:
        return replace(whole, tokens=(), skipped=len(tokens))
    skipped, mark = reasoned or (_before(run.text or "", tokens, vocabulary), "")
    if not skipped:
        return whole
    before = b"".join(pieces[:skipped]).decode(errors="replace")
    note = (
        f"The first {counted(skipped, 'token')} are not of the answer and were left out: "
        f"{shown(before)}."
    )
    return IdentifiedRun(tuple(tokens[skipped:]), skipped, None, (*notes, note), mark)


def _before(text: str, tokens: Sequence[ServedToken], vocabulary: Vocabulary) -> int:
    """The number of tokens before those that write a text, which is at the end of all."""
    sizes = [len(_data(token.token, vocabulary) or b"") for token in tokens]
    written = b"".join(_data(token.token, vocabulary) or b"" for token in tokens)
    if not text or not written.endswith(text.encode()):
        return 0
    left, skipped = len(written), 0
    while left > len(text.encode()):
        left -= sizes[skipped]
        skipped += 1
    return skipped


def _of_text(run: ServerRun, vocabulary: Vocabulary) -> IdentifiedRun:
    text = run.text
    if not text and not run.tokens:
        return IdentifiedRun((), 0, text, ())
    if text is None:
        text = "".join(token.text or "" for token in run.tokens)
    why = (
        "The log has a text and no tokens"
        if not run.tokens
        else "The log's tokens do not write its text with this tokenizer"
    )
    note = (
        f"{why}, so the text was judged, whichever way it was cut into tokens. The session shows "
        "one way; the model may have taken another, and log-probabilities are not known."
    )
    notes = (note,)
    # A text beside its reasoning has had the reasoning taken off.
    reasoned = None if run.reasoning else after_mark([text.encode()], marks_of(run))
    mark = "" if reasoned is None else reasoned[1]
    if mark:
        text = text.encode()[answer_begins(text.encode(), mark) :].decode()
        notes = (*notes, f"The reasoning up to {mark} was left out.")
    if run.finish in LIMITED and text.endswith(_HALF):
        text = text.rstrip(_HALF)
        notes = (*notes, "The text was cut within a character, which was left out.")
    own = tuple(ServedToken(token) for token in own_split(text, vocabulary))
    return IdentifiedRun(own, 0, text, notes, mark)


def own_split(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokenizer's own tokens of a text, without the space that some put before every text.

    Returns:
        Ids that write a prefix of the text, nearly always all of it; empty without a
        tokenizer.
    """
    ids = vocabulary.encode(text) or ()
    data = text.encode()
    if not ids or _written(ids[:1], vocabulary) == data[: len(_data(ids[0], vocabulary) or b"")]:
        return ids
    first = _data(ids[0], vocabulary) or b""
    if not first.startswith(b" ") or not data.startswith(first[1:]):
        return ()
    # The first token is replaced by the one without its space, if there is one.
    return (*vocabulary.ids_of(first[1:])[:1], *ids[1:]) if first != b" " else ids[1:]


_TOKENS_BETWEEN_LOOKS = 1024


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The part of a run that a machine allows.

    Args:
        ids: The allowed tokens; for a text, one tokenization of its allowed part.
        states: int[len(ids) + 1], before each of them and after the last.
        rest: The ids after them that a session reads, the masked one first; empty
            where nothing is masked. For a text, one possible continuation.
        certain: Whether the first of ``rest`` was certainly written.
        byte: The first byte of the text that is not allowed; ``None`` without one, and for
            known tokens.
        unspelled: The first byte of the text that no tokens of the vocabulary write, whatever the
            constraint; the text was then judged by its bytes alone. ``None`` in nearly every case.
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
        """The state after the allowed part."""
        return self.states[-1]

    @property
    def written(self) -> tuple[int, ...]:
        """The allowed ids and those after them."""
        return (*self.ids, *self.rest)

    @property
    def stopped(self) -> bool:
        """Whether a token or a byte of the text is masked."""
        return bool(self.rest) or self.byte is not None


def follow_run(
    identified: IdentifiedRun, machine: TokenMachine, budget: Budget | None = None
) -> JudgedRun:
    """Follow a run through a machine.

    Args:
        identified: The tokens of the run, or its text.
        budget: Limits on the reading; its seconds count.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter = Meter(budget)
    if identified.text is None:
        return _of_ids(identified.ids, machine, meter)
    data = identified.text.encode()
    read = read_tokenizations(machine, data, identified.ids, meter)
    before = data[: read.num_bytes]
    if read.writable == len(data):
        complete = read.num_bytes == len(data) and machine.is_final(read.states[-1])
        return JudgedRun(read.ids, read.states, before, certain=False, complete=complete)
    spelled = longest_spelled(trie_of(machine.vocabulary, machine.byte_machine), data)
    byte_machine = machine.byte_machine
    if spelled < len(data) and byte_machine is not None and not byte_machine.over_tokens:
        byte, complete = _of_bytes(byte_machine, data)
        return JudgedRun(read.ids, read.states, before, (), False, byte, complete, spelled)
    rest = () if read.refused is None else (read.refused,)
    if rest and identified.ids[: len(read.ids) + 1] == (*read.ids, *rest):
        rest = identified.ids[len(read.ids) :]  # The tokenizer's own, to the end of the text.
    # The text may also spell the name of a control token, which masks treat as writing nothing.
    named = any(data.startswith(name.encode(), read.num_bytes) for name in _names(machine))
    return JudgedRun(read.ids, read.states, before, rest, read.only and not named, read.writable)


def follow_named(
    identified: IdentifiedRun, machine: TokenMachine, budget: Budget | None = None
) -> tuple[IdentifiedRun, JudgedRun]:
    """Follow a run; in a text, names of control tokens may be read as these tokens.

    A log with a text alone spells control tokens out. That reading is taken where the
    constraint has control tokens and the machine follows it further than the plain text.

    Args:
        identified, budget: As in `follow_run`.

    Raises:
        BudgetExceeded: The time is up.
    """
    judged = follow_run(identified, machine, budget)
    byte_machine = machine.byte_machine
    if identified.text is None or byte_machine is None or not byte_machine.reads_letters:
        return identified, judged
    ids = None if judged.complete else _split_at_names(identified.text, machine.vocabulary)
    if ids is None:
        return identified, judged
    note = (
        "The names of control tokens in the text were read as those tokens. The rest was cut as "
        "the tokenizer cuts it; the model may have cut it otherwise."
    )
    notes = (note, *identified.notes[1:])
    named = IdentifiedRun(tuple(map(ServedToken, ids)), 0, None, notes)
    read = follow_run(named, machine, budget)
    spelled = sum(len(_shown(token, machine.vocabulary)) for token in read.ids)
    if read.complete or spelled > len(judged.data):
        return named, read
    return identified, judged


def _shown(token: int, vocabulary: Vocabulary) -> bytes:
    """The bytes of a token in a text that spells control tokens out."""
    return vocabulary.tokens[token] or vocabulary.special.get(token, "").encode()


def _split_at_names(text: str, vocabulary: Vocabulary) -> tuple[int, ...] | None:
    """The ids of a text that contains names of control tokens; ``None`` without such a name,
    or where no tokens spell the rest."""
    known = {name: token for token in vocabulary.letters if (name := vocabulary.special.get(token))}
    if not known:
        return None
    longest_first = sorted(known, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
    if len(parts) == 1:
        return None
    ids = list[int]()
    for part in parts:
        if part in known:
            ids.append(known[part])
            continue
        own: tuple[int, ...] | None = own_split(part, vocabulary) if part else ()
        if _written(own, vocabulary) != part.encode():
            own = fewest_tokens(trie_of(vocabulary, None), part.encode())
        if own is None:
            return None
        ids += own
    return tuple(ids)


def _of_bytes(machine: ByteMachine, data: bytes) -> tuple[int | None, bool]:
    """The first byte that a machine over bytes does not read, and whether the text is a word."""
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
            # After the end of text, further control tokens are padding.
            padding = all(_data(each, vocabulary) is None for each in ids[index:])
            ended = states[-1] == DONE and padding
            rest = () if ended else ids[index:]
            return JudgedRun(ids[:index], tuple(states), bytes(data), rest, complete=ended)
        data += vocabulary.tokens[token] or b""
        states.append(following)
    complete = states[-1] == DONE or machine.is_final(states[-1])
    return JudgedRun(ids, tuple(states), bytes(data), complete=complete)
