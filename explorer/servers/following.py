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
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from explorer.analysis.explaining.explanation import Explanation, History, explain
from explorer.arguments import counted, shown
from explorer.automata.machine import NO_ARC
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.servers.run import ENDINGS, ServedToken, ServerRun, after_mark, marks_of, parser_is_on
from explorer.servers.tables import sentence
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.spelling import fewest_tokens, longest_spelled
from explorer.tokens.walks.tokenizations import check_time, read_tokenizations
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

_HALF: Final = "\ufffd"
# The share of a log's tokens that must have the logged text here; some servers show a few tokens
# in another form.
_LEAST_AGREEING: Final = 0.9


def bytes_of(ids: Iterable[int], vocabulary: Vocabulary, *, names: bool = False) -> bytes:
    """The bytes of some ids, those outside of the vocabulary left out.

    Args:
        names: Whether control tokens are spelled by their names.
    """
    return b"".join(
        vocabulary.tokens[token] or (vocabulary.special.get(token, "").encode() if names else b"")
        for token in ids
        if 0 <= token < len(vocabulary)
    )


@dataclass(frozen=True, slots=True)
class IdentifiedRun:
    """The ids of a run's answer.

    Args:
        ids: The ids.
        text: The text, if only that is known; then ``ids`` are one tokenization of it, or empty.
            ``None`` where the tokens are known.
        notes: How they were found, as sentences.
        mark: The mark that ended the reasoning before the answer; empty without one.
        log_probs: The log-probability of each id, where the log names the tokens.
    """

    ids: tuple[int, ...]
    text: str | None = None
    notes: tuple[str, ...] = ()
    mark: str = ""
    log_probs: tuple[float | None, ...] = ()

    def data(self, vocabulary: Vocabulary) -> bytes:
        """The bytes of the answer."""
        return bytes_of(self.ids, vocabulary) if self.text is None else self.text.encode()


def identify(run: ServerRun, vocabulary: Vocabulary) -> IdentifiedRun:
    """Find the id of each token of a run's answer.

    Raises:
        ExplorerError: The ids have another text in this vocabulary than in the log.
    """
    if not run.tokens or (ids := _looked_up(run.tokens, vocabulary)) is None:
        return _of_text(run, vocabulary)
    known = _answer(run, ids, vocabulary)
    if all(token.token is not None for token in run.tokens):
        _check_meaning(run, vocabulary)
        return known
    # Where the texts are not the bytes, a space was lost, for example.
    if run.text is not None and known.data(vocabulary) != run.text.encode():
        return _of_text(run, vocabulary)
    return replace(known, notes=(sentence("found"), *known.notes))


def _check_meaning(run: ServerRun, vocabulary: Vocabulary) -> None:
    """Refuse a run whose ids have another text in this vocabulary."""
    compared = [
        (index, token, held)
        for index, token in enumerate(run.tokens)
        # A token that is decoded alone may lose the space that it begins with, or half a character.
        if token.text is not None and _HALF not in token.text
        if (held := bytes_of([token.token or 0], vocabulary))
    ]
    wrong = [row for row in compared if str(row[1].text).strip(" ").encode() != row[2].strip(b" ")]
    if len(compared) - len(wrong) < _LEAST_AGREEING * len(compared):
        index, token, held = wrong[0]
        raise ExplorerError(
            f"{run.place} was written with another tokenizer: {counted(len(wrong), 'token')} of "
            f"{len(compared)} mean other text here. The first is token {index}, id {token.token}: "
            f"{shown(token.text)} in the log, {shown(held)} in the vocabulary.",
            remedy="Give the tokenizer of the model that the server ran: --tokenizer PATH.",
            evidence={"index": index, "token": token.token, "log": token.text, "held": held},
        )


def _looked_up(tokens: Sequence[ServedToken], vocabulary: Vocabulary) -> tuple[int, ...] | None:
    """The ids of tokens, found by their bytes where the log has none; ``None`` where the vocabulary
    lacks one."""
    named = {name: token for token, name in vocabulary.special.items()}
    ids: list[int] = []
    for token in tokens:
        text = token.text or ""
        data = text.encode() if token.data is None else token.data
        lost = not data or (_HALF in text and data == text.encode())  # It was decoded alone.
        by_bytes = named.get(text) or next(iter(() if lost else vocabulary.ids_of(data)), None)
        if token.token is None and by_bytes is None:
            return None
        ids.append(by_bytes or 0 if token.token is None else token.token)
    return tuple(ids)


def _answer(run: ServerRun, ids: tuple[int, ...], vocabulary: Vocabulary) -> IdentifiedRun:
    """The tokens of the answer: those after the reasoning, where a server has taken that off."""
    log_probs = tuple(token.log_prob for token in run.tokens)
    whole = IdentifiedRun(ids, log_probs=log_probs)
    data, text = whole.data(vocabulary), (run.text or "").encode()
    if not parser_is_on(run):
        return whole
    pieces = [bytes_of([token], vocabulary, names=True) for token in ids]
    at, mark = after_mark(b"".join(pieces), marks_of(run))
    sizes = map(len, pieces)
    if not mark and text and data.endswith(text):
        at, sizes = len(data) - len(text), (len(bytes_of([token], vocabulary)) for token in ids)
    skipped = bisect_left([*accumulate(sizes, initial=0)], at)
    skipped = len(ids) if not mark and not text and run.reasoning else skipped
    if not skipped:
        return whole
    left = shown(b"".join(pieces[:skipped]).decode(errors="replace"))
    note = f"The first {counted(skipped, 'token')} are not of the answer and were left out: {left}."
    return IdentifiedRun(ids[skipped:], None, (note,), mark, log_probs[skipped:])


def _of_text(run: ServerRun, vocabulary: Vocabulary) -> IdentifiedRun:
    text = run.text
    if text is None and run.tokens:
        text = "".join(token.text or "" for token in run.tokens)
    if not text:
        return IdentifiedRun((), text)
    notes = [sentence("other_tokens" if run.tokens else "no_tokens")]
    # A text beside its reasoning has had the reasoning taken off.
    at, mark = after_mark(text.encode(), () if run.reasoning else marks_of(run))
    if mark:
        text = text.encode()[at:].decode()
        notes.append(sentence("reasoning_off", mark=mark))
    if run.finish in ENDINGS["limited"] and text.endswith(_HALF):
        text = text.rstrip(_HALF)
        notes.append(sentence("half"))
    return IdentifiedRun(own_split(text, vocabulary), text, tuple(notes), mark)


def own_split(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokenizer's own tokens of a text, without the space that some put before every text.

    Returns:
        Ids that write a prefix of the text, nearly always all of it; empty without a
        tokenizer.
    """
    ids, data = vocabulary.encode(text) or (), text.encode()
    first = bytes_of(ids[:1], vocabulary)
    if data.startswith(first):
        return ids
    if not first.startswith(b" ") or not data.startswith(first[1:]):
        return ()
    # The first token is replaced by the one without its space, if there is one.
    return (*vocabulary.ids_of(first[1:])[:1], *ids[1:]) if first != b" " else ids[1:]


_TOKENS_BETWEEN_LOOKS = 1024


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run under one reading of its constraint: the part that it allows.

    Args:
        machine: The constraint over the vocabulary.
        run: The tokens or the text of the answer.
        ids: The allowed tokens; for a text, one tokenization of its allowed part.
        states: int[len(ids) + 1], before each of them and after the last.
        rest: The ids after them that a session reads, the masked one first; empty
            where nothing is masked. For a text, one possible continuation.
        certain: Whether the first of ``rest`` was certainly written.
        byte: The first byte of the text that is not allowed; ``None`` without one, and for
            known tokens.
        complete: Whether the text is allowed as a whole.
        unspelled: The first byte of the text that no tokens of the vocabulary write, whatever the
            constraint; the text was then judged by its bytes alone. ``None`` in nearly every case.
    """

    machine: TokenMachine
    run: IdentifiedRun
    ids: tuple[int, ...]
    states: tuple[int, ...]
    rest: tuple[int, ...] = ()
    certain: bool = True
    byte: int | None = None
    complete: bool = False
    unspelled: int | None = None

    @property
    def masked(self) -> int | None:
        """The id that is masked, or for a text one that may be; ``None`` without one."""
        return self.rest[0] if self.rest else None

    @property
    def stop(self) -> int | None:
        """The place of the first masked byte, else token; ``None`` where nothing is masked."""
        return len(self.ids) if self.rest and self.byte is None else self.byte

    def why(self, token: int, budget: Budget | None = None) -> Explanation:
        """The reason why a token is masked after the allowed ones."""
        state, history = self.states[-1], History(self.states, self.ids)
        text = self.machine.vocabulary.written(self.ids)
        return explain(self.machine, state, token, text=text, history=history, budget=budget)

    @property
    def data(self) -> bytes:
        """The bytes of the allowed tokens."""
        return bytes_of(self.ids, self.machine.vocabulary)

    @property
    def before(self) -> bytes:
        """The bytes that are allowed."""
        return self.data if self.byte is None else (self.run.text or "").encode()[: self.byte]

    @property
    def after(self) -> bytes:
        """The bytes after them."""
        return self.run.data(self.machine.vocabulary)[len(self.before) :]


def follow_run(
    run: IdentifiedRun, machine: TokenMachine, budget: Budget | None = None
) -> RunReading:
    """Follow a run through a machine; in a text, names of control tokens may be these tokens.

    A log with a text alone spells control tokens out. That reading is taken where the
    constraint has control tokens and the machine follows it further than the plain text.

    Args:
        run: The tokens of the run, or its text.
        budget: Limits on the reading; its seconds count.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter, vocabulary = Meter(budget), machine.vocabulary
    if run.text is None:
        return _follow_ids(run, machine, meter)
    read, byte_machine = _follow_text(run, machine, meter), machine.byte_machine
    if byte_machine is None or not byte_machine.reads_letters or read.complete:
        return read
    if ids := _split_at_names(run.text, vocabulary):
        named = _follow_ids(
            IdentifiedRun(ids, None, (sentence("names_read"), *run.notes[1:])), machine, meter
        )
        size = len(bytes_of(named.ids, vocabulary, names=True))
        return named if named.complete or size > len(read.data) else read
    return read


def _follow_text(run: IdentifiedRun, machine: TokenMachine, meter: Meter) -> RunReading:
    data, byte_machine = (run.text or "").encode(), machine.byte_machine
    read = read_tokenizations(machine, data, run.ids, meter)
    made = RunReading(machine, run, read.ids, read.states, certain=False)
    if read.writable == len(data):
        complete = read.num_bytes == len(data) and machine.is_final(read.states[-1])
        return replace(made, complete=complete)
    spelled = longest_spelled(trie_of(machine.vocabulary, byte_machine), data)
    if spelled < len(data) and byte_machine is not None and not byte_machine.over_tokens:
        state = byte_machine.start
        for at, byte in enumerate(data):
            state = byte_machine.step(state, byte)
            if state == NO_ARC:
                return replace(made, byte=at, unspelled=spelled)
        return replace(made, complete=byte_machine.is_accepting(state), unspelled=spelled)
    rest = () if read.refused is None else (read.refused,)
    if rest and run.ids[: len(read.ids) + 1] == (*read.ids, *rest):
        rest = run.ids[len(read.ids) :]  # The tokenizer's own, to the end of the text.
    # The text may also spell the name of a control token, which masks treat as writing nothing.
    names = [name.encode() for name in machine.vocabulary.special.values() if name]
    named = data.startswith(tuple(names), read.num_bytes)
    return replace(made, rest=rest, certain=read.only and not named, byte=read.writable)


def _split_at_names(text: str, vocabulary: Vocabulary) -> tuple[int, ...] | None:
    """The ids of a text that contains names of control tokens; ``None`` without such a name,
    or where no tokens spell the rest."""
    known = {name: token for token in vocabulary.letters if (name := vocabulary.special.get(token))}
    longest_first = map(re.escape, sorted(known, key=len, reverse=True))
    parts = re.split(f"({'|'.join(longest_first)})", text) if known else [text]
    ids = list[int]()
    for part in parts:
        own = (known[part],) if part in known else own_split(part, vocabulary)
        if bytes_of(own, vocabulary, names=True) != part.encode():
            own = fewest_tokens(trie_of(vocabulary, None), part.encode())
        if own is None:
            return None
        ids += own
    return tuple(ids) if len(parts) > 1 else None


def _follow_ids(run: IdentifiedRun, machine: TokenMachine, meter: Meter) -> RunReading:
    """Follow ids through a machine, up to the first that it masks."""
    ids, states = run.ids, [machine.start]
    for index, token in enumerate(ids):
        if index % _TOKENS_BETWEEN_LOOKS == 0:
            check_time(meter, len(ids), "id")
        inside = states[-1] != DONE and 0 <= token < len(machine.vocabulary)
        following = machine.step(states[-1], token) if inside else None
        if following is None:
            # After the end of text, further control tokens are padding.
            ended = states[-1] == DONE and not bytes_of(ids[index:], machine.vocabulary)
            rest = () if ended else ids[index:]
            return RunReading(machine, run, ids[:index], tuple(states), rest, complete=ended)
        states.append(following)
    complete = states[-1] == DONE or machine.is_final(states[-1])
    return RunReading(machine, run, ids, tuple(states), complete=complete)
