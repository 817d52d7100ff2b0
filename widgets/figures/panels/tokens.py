"""The bars: the likeliest tokens in three columns, masked ones in their place with the reason.

The order is the model's own, so that a masked token stays where the model wants it. The figures
beside the bars (allowed count, feasible mass, entropy, divergence, rank of what was taken) are the
record's own figures; nothing is worked out again.

Tokens as rows with their probabilities: those that a search finds or the page names.

The token strip: prompt and output as boxed tokens, with marks for how each came about.

Tokens are boxed so that spaces and punctuation can be told from prose. Surprisal, -log2 of the
model's own probability, has a scale of its own. *Forced* means that one token was allowed, not
that one was likely; *intervention* means that the model's first choice was masked.

The run as lines: feasible mass, entropy, allowed count and chosen probability, by position. The
figures are the record's. A place where a figure is not known (a run without a model, the position
after the end) is ``None``, and the line has a gap there: it is not zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from explorer.alphabet import readable
from explorer.analysis.session import Session
from explorer.analysis.verdict.asked import spelled_ids
from explorer.automata.machine import NO_ARC, run
from explorer.decoding.trace.records import Position, Step, measure
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine, filtered_of
from explorer.tokens.walks.failing import READ, fail_words
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DONE, FREE
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import name_without_text, token_text
from widgets.figures.panels.mask import allowed_at, count_at
from widgets.figures.panels.reasons import short_reasons
from widgets.figures.told import Rejected, Strip, TokenBox

BARS: Final = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One token in the three distributions.

    Args:
        model, filtered, constrained: Probabilities, 0 to 1.
    """

    id: int
    text: str
    model: float
    filtered: float
    constrained: float
    allowed: bool
    reason: str | None
    taken: bool

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON, with four digits, because a page stores many positions."""
        return {
            "id": self.id,
            "text": self.text,
            "model": float(f"{self.model:.4g}"),
            "filtered": float(f"{self.filtered:.4g}"),
            "constrained": float(f"{self.constrained:.4g}"),
            "allowed": self.allowed,
            "reason": self.reason,
            "taken": self.taken,
        }


def table_text(trace: Trace, token: int) -> str:
    """A token of a trace as one line; its id if the trace does not mention it."""
    data = trace.tokens.data.get(token)
    if data:
        return readable(data)
    return name_without_text(token, trace.tokens.special, trace.tokens.eos_ids)


def bars(
    trace: Trace, k: int, machine: TokenMachine, most: int = BARS, *, reasons: bool = True
) -> tuple[Bar, ...]:
    """The bars of a position, the model's likeliest first; with the reasons of masked ones."""
    position = trace.positions[k]
    if position.distribution is None:
        return ()
    taken = trace.steps[k].token if k < len(trace.steps) else -1
    candidates = list(position.distribution.candidates)
    shown = candidates[:most]
    for entry in candidates[most:]:
        if entry.token == taken and shown:
            shown[-1] = entry
    masked = any(not entry.allowed for entry in shown)
    reason = masked_because(position, machine) if reasons and masked else None
    return tuple(
        [
            Bar(
                entry.token,
                token_text(machine.vocabulary, entry.token),
                math.exp(entry.model),
                math.exp(entry.filtered),
                math.exp(entry.constrained),
                entry.allowed,
                reason(entry.token) if reason and not entry.allowed else None,
                entry.token == taken,
            )
            for entry in shown
        ]
    )


def masked_because(position: Position, machine: TokenMachine) -> Callable[[int], str]:
    """A function from a token to why a position masks it, the token budget included."""
    if position.finished:
        return lambda token: "the text has ended"
    if position.state == FREE:
        return lambda token: "masked"
    reason = short_reasons(machine, position.state, position.data)
    return lambda token: reason(token) or "over the token budget"


MOST_FOUND: Final = 12
"""The most tokens that are listed."""

Packet = dict[str, object]


def search_packet(
    session: Session, trace: Trace, k: int, machine: TokenMachine, query: str
) -> Packet:
    """Tokens by text, bytes or id: first those that match exactly, then the likeliest others.

    Args:
        query: A token's readable text or a part of it, an id (``#2024``), or bytes in hexadecimal
            (``0x66``).

    Returns:
        ``rows`` of the first `MOST_FOUND`, and the total number as ``count``.
    """
    same, parts = matching(session.vocabulary, query)
    rows = token_rows(session, trace, k, machine, [*same, *parts], first=len(same))
    return {"rows": rows, "count": len(same) + len(parts)}


def token_rows(
    session: Session,
    trace: Trace,
    k: int,
    machine: TokenMachine,
    ids: Sequence[int],
    *,
    first: int = 0,
) -> list[Packet]:
    """The likeliest of some tokens, as the bars show them."""
    vocabulary, position, allowed = session.vocabulary, trace.positions[k], allowed_at(trace, k)
    weights = np.zeros((3, len(vocabulary)))
    if session.lm is not None and position.state != DONE:
        measured = measure(session.logits(k), allowed, trace.sampler, 1)
        for row, logs in enumerate((measured.model, measured.filtered, measured.constrained)):
            known = np.exp(logs[: weights.shape[1]])
            weights[row, : len(known)] = known
    listed = np.asarray(ids, np.int64)
    later = np.arange(len(listed)) >= first
    best: list[int] = listed[np.lexsort((listed, -weights[0, listed], later))][:MOST_FOUND].tolist()
    reason = masked_because(position, machine)
    return [
        {
            "id": token,
            "text": token_text(vocabulary, token),
            "allowed": bool(allowed[token]),
            "reason": None if allowed[token] else reason(token),
            "model": float(weights[0, token]),
            "filtered": float(weights[1, token]),
            "constrained": float(weights[2, token]),
        }
        for token in best
    ]


MOST_NEAR: Final = 6
"""The most masked tokens in a list without a model."""

MOST_LOOKED: Final = 1_000
"""The number of nearest tokens among which those that can be read are looked for."""


def listed_packet(session: Session, trace: Trace, k: int, machine: TokenMachine) -> Packet:
    """The tokens of a position without a model: allowed ones, then those that fail latest.

    Returns:
        ``rows``, the first `MOST_FOUND` allowed ones, by id, and at most `MOST_NEAR` masked ones;
        ``count``, the number of allowed ones.
    """
    allowed = allowed_at(trace, k)
    ids: list[int] = np.flatnonzero(allowed).tolist()
    rows = token_rows(session, trace, k, machine, ids)
    state = trace.positions[k].state

    def prints(token: int) -> bool:
        data = machine.vocabulary.tokens[token]
        return data is not None and data.decode(errors="surrogateescape").isprintable()

    if machine.byte_machine is not None and state >= 0:
        trie = trie_of(machine.vocabulary, machine.byte_machine)
        fails, _, _ = fail_words(trie, machine.byte_machine, machine.byte_state(state))
        # A token that is read and masked all the same cannot end there: nothing is nearer.
        score = np.where(fails == READ, trie.max_depth, fails)
        score[allowed[trie.first_id]] = -1
        # What can be read comes before control characters; low ids are common tokens.
        order = np.lexsort((trie.first_id, -score))[:MOST_LOOKED]
        late = [(-int(score[word]), int(trie.first_id[word])) for word in order if score[word] >= 0]
        late.sort(key=lambda one: (one[0], not prints(one[1])))
        near = [token for _, token in late[:MOST_NEAR]]
        known = {row["id"]: row for row in token_rows(session, trace, k, machine, near)}
        rows += [known[token] for token in near]
    return {"rows": rows, "count": len(ids)}


def matching(vocabulary: Vocabulary, query: str) -> tuple[list[int], list[int]]:
    """The tokens that a query names, and those whose text or bytes contain it.

    Args:
        query: As for `search_packet`.

    Example:
        >>> vocabulary = Vocabulary.from_bytes([b"1", b"21", b"b"], eos_ids=[3])
        >>> matching(vocabulary, "1"), matching(vocabulary, "#1")
        (([0], [1]), ([1], []))
    """
    wanted = query.replace(" ", "␣")
    named = int(query[1:]) if query[:1] == "#" and query[1:].isdecimal() else None
    data = None
    if query.lower().startswith("0x"):
        with suppress(ValueError):
            data = bytes.fromhex(query[2:])
    same: list[int] = []
    parts: list[int] = []
    for token, piece in enumerate(vocabulary.tokens):
        text = token_text(vocabulary, token)
        if token == named or text == wanted or (data is not None and piece == data):
            same.append(token)
        elif wanted in text if data is None else piece is not None and data in piece:
            parts.append(token)
    return same, parts


def ids_to_write(session: Session, text: str) -> tuple[int, ...]:
    """The ids of a text that a user writes at the cursor.

    A token begins where the constraint refuses the text, so that all before it can be taken and
    the reason is about that letter; where no tokens write the rest, it begins before it.

    Raises:
        ExplorerError: The text is empty, or no tokens write it.

    Example:
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> ids_to_write(session, "fooff"), ids_to_write(session, "foofor")
        ((2, 0, 0), (2, 3))
    """
    machine, data = session.machine, text.encode(errors="replace")
    state, byte_machine = session.trace.positions[-1].state, machine.byte_machine
    if byte_machine is not None and state >= 0:
        reached = run(byte_machine, machine.byte_state(state), data)
        good = data[: np.count_nonzero(reached != NO_ARC) - 1].decode(errors="ignore")
        with suppress(ExplorerError):
            parts = [part for part in (good, text[len(good) :]) if part]
            return tuple(token for part in parts for token in spelled_ids(machine, part)[0])
    return spelled_ids(machine, text)[0]


PROMPT_TOKENS: Final = 400
"""The most prompt tokens that are shown, the last ones; the number of the others is shown."""


def surprisal(step: Step) -> float | None:
    """-log2 of the model's probability of a step, in bits; ``None`` if it is not known."""
    if step.log_prob_model is None or not math.isfinite(step.log_prob_model):
        return None
    return max(0.0, -step.log_prob_model / math.log(2))


def strip_token(trace: Trace, k: int, machine: TokenMachine | None = None) -> TokenBox:
    """One output token as the strip shows it; see `strip_packet`.

    A line has hundreds of them and is stored in the notebook, so default values are left out:
    ``forced``, ``intervention`` and ``eos`` are present if they are true, ``by`` if it is not the
    sampler. If a draft proposed a token, ``accepted`` is true or ``rejected`` is the proposal's
    text. ``again`` is true if the token begins inside the end of the prompt that healing opened.
    With the machine of a scheme, ``bridge`` is true if it crosses a border of terminals, and
    ``fixed`` if it is text that a template tokenized beforehand.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> step = session.step(4)
        >>> token = strip_token(session.trace, 0)
        >>> token["id"], token["text"], token["by"], "eos" in token
        (4, 'food', 'user', False)
    """
    step, healed = trace.steps[k], trace.healed.encode()
    bits = surprisal(step)
    box: TokenBox = {
        "id": step.token,
        "text": table_text(trace, step.token),
        "surprisal": None if bits is None else round(bits, 3),
    }
    if step.chosen_by != "sampler":
        box["by"] = step.chosen_by
    proposal = step.proposal
    if proposal is not None and not proposal.accepted:
        box["rejected"] = table_text(trace, proposal.token)
    marks = {
        "again": bool(healed) and len(step.before.data) < len(healed),
        "accepted": proposal is not None and proposal.accepted,
        "forced": step.forced,
        "intervention": step.intervention,
        "eos": step.token in trace.tokens.eos_ids,
    }
    scheme = None if machine is None else filtered_of(machine)
    if scheme is not None:
        marks |= dict.fromkeys(scheme.marks(step.before.state, step.token), True)
    return cast(TokenBox, box | {name: True for name, there in marks.items() if there})


def rejected_token(trace: Trace, machine: TokenMachine) -> Rejected | None:
    """The first token of a run from elsewhere that the constraint does not allow.

    Returns:
        ``id``, ``text``, ``at`` (the number of tokens before it), ``reason`` in a few words, and
        ``unread``, the number of ids after it; ``None`` if all tokens were allowed.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> run = Session.from_ids(ToyModel().vocabulary, toy_constraint(), [2, 3, 0, 0])
        >>> rejected_token(run.trace, run.machine)
        {'id': 3, 'text': 'for', 'at': 1, 'reason': 'r: expects o', 'unread': 2}
    """
    rejection = trace.rejection
    if rejection is None:
        return None
    text = table_text(trace, rejection.token)
    reason = masked_because(trace.positions[rejection.index], machine)(rejection.token)
    return {
        "id": rejection.token,
        "text": text,
        "at": rejection.index,
        "reason": reason,
        "unread": len(trace.unread),
    }


def strip_packet(trace: Trace, vocabulary: Vocabulary | None = None) -> Strip:
    """The boxes of prompt and output.

    Args:
        trace: The record.
        vocabulary: All tokens, for the prompt; without it the prompt is one box of text.

    Returns:
        Plain values for JSON.
    """
    shown = trace.prompt_ids[-PROMPT_TOKENS:]
    prompt: list[TokenBox]
    if vocabulary is not None:
        prompt = [{"id": token, "text": token_text(vocabulary, token)} for token in shown]
    else:
        given = trace.prompt if isinstance(trace.prompt, str) else ""
        prompt = [{"id": None, "text": readable(given.encode(errors="replace"))}] if given else []
    for entry in prompt[len(prompt) - trace.prefixed :] if vocabulary is not None else []:
        entry["begins"] = True  # The answer begins with it.
    packet: Strip = {
        "prompt": prompt,
        "prompt_left_out": len(trace.prompt_ids) - len(shown),
        "tokens": [strip_token(trace, j) for j in range(len(trace.steps))],
        "finished": trace.finished,
    }
    # The text of the prompt's last token, if that was taken back (token healing).
    if trace.healed:
        packet["healed"] = readable(trace.healed.encode())
    return packet


Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One value per position.

    Args:
        z: The feasible mass, 0 to 1.
        allowed: The number of allowed ids; 0 after the end.
        chosen: The model's probability of the token taken there; ``None`` at the last position.
    """

    z: Values
    entropy_before: Values
    entropy_after: Values
    allowed: tuple[int, ...]
    chosen: Values
    chosen_constrained: Values
    forced: tuple[bool, ...]
    interventions: tuple[bool, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "z": list(self.z),
            "entropy_before": list(self.entropy_before),
            "entropy_after": list(self.entropy_after),
            "allowed": list(self.allowed),
            "chosen": list(self.chosen),
            "chosen_constrained": list(self.chosen_constrained),
            "forced": list(self.forced),
            "interventions": list(self.interventions),
        }


def over_time(trace: Trace) -> TimeSeries:
    """The lines of a trace."""
    distributions = [position.distribution for position in trace.positions]

    def chosen(logs: list[float | None]) -> Values:
        known = tuple(None if log is None else _round(math.exp(log)) for log in logs)
        return (*known, None)

    return TimeSeries(
        tuple(None if d is None else _round(d.z) for d in distributions),
        tuple(None if d is None else _round(d.entropy_before) for d in distributions),
        tuple(None if d is None else _round(d.entropy_after) for d in distributions),
        tuple(count_at(trace, k) for k in range(len(trace.positions))),
        chosen([step.log_prob_model for step in trace.steps]),
        chosen([step.log_prob_constrained for step in trace.steps]),
        tuple(position.forced for position in trace.positions),
        tuple(d is not None and d.intervention for d in distributions),
    )


def _round(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
