"""A server's log-probabilities beside those of the model, token by token.

The model reads the run's prompt and its tokens, in a session under the same constraint. A server's
numbers are of one of two kinds: before the mask (``model``) or under it (``constrained``); both are
given, and the kind with which the server's agree. By its source, vLLM masks before it takes the
logarithm, so its numbers are those under the mask; SGLang and TGI were not checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from explorer.alphabet import without_controls
from explorer.arguments import counted
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.servers.following import follow_named
from explorer.servers.run import ServedToken, ServerRun
from explorer.servers.verdict import identified_run
from explorer.tokens.machine import TokenMachine

if TYPE_CHECKING:  # They come with torch, which is loaded once a run is read with a model.
    from explorer.analysis.session import Session
    from explorer.decoding.models.model import LanguageModel

AGREEING: Final = 0.02
"""The largest difference of equal log-probabilities: servers compute in 16 bits."""

_LEAST_PART: Final = 0.9

Agreement = Literal["model", "constrained", "both", "neither", "unknown"]
"""The kind of the model's numbers with which a server's agree."""


@dataclass(frozen=True, slots=True)
class NumbersBeside:
    """The log-probabilities of one token.

    Args:
        token: Its id.
        text: Its text.
        server: The server's number, where the log has one.
        model: The model's own number.
        constrained: The number under the mask, at temperature 1 and without filters.
    """

    token: int
    text: str
    server: float | None
    model: float
    constrained: float


@dataclass(frozen=True)
class RunBeside:
    """A run with the model's numbers; it prints as a table.

    Args:
        run: The run.
        session: The session with the model, at the end of the text that the constraint allows.
        rows: One for each token that was read.
        agrees: The kind of the model's numbers with which the server's agree.
        notes: Remarks for the reader, as sentences.
    """

    run: ServerRun
    session: Session
    rows: tuple[NumbersBeside, ...]
    agrees: Agreement
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{'token':>8}  {'server':>9}  {'model':>9}  {'masked':>9}  text"]
        for row in self.rows:
            server = "" if row.server is None else f"{row.server:.4f}"
            numbers = f"{row.model:>9.4f}  {row.constrained:>9.4f}"
            lines.append(f"{row.token:>8}  {server:>9}  {numbers}  {row.text!r}")
        lines.append(f"The server's log-probabilities {_AGREEING[self.agrees]}.")
        return without_controls("\n".join([*lines, *(f"Note: {note}" for note in self.notes)]))


_AGREEING: Final[dict[Agreement, str]] = {
    "model": "are the model's own, before the mask",
    "constrained": "are those under the mask",
    "both": "are the model's own; the mask changes none of them",
    "neither": "are neither the model's own nor those under the mask: another model, another "
    "prompt, a temperature, or filters",
    "unknown": "are not in the log",
}


def run_beside(
    run: ServerRun,
    lm: LanguageModel,
    constraint: Constraint | TokenMachine | None = None,
    *,
    budget: Budget | None = None,
) -> RunBeside:
    """Compare a run's log-probabilities with a model's.

    Args:
        run: The run.
        lm: The model that wrote it, or another with its tokenizer.
        constraint: The constraint of the text; default that of the request.
        budget: Limits for compiling it.

    Raises:
        ExplorerError: The run is of another tokenizer, or longer than the model reads.
    """
    from explorer.decoding.models.arguments import checked_model

    lm = checked_model(lm)
    identified, wanted, _ = identified_run(run, lm.vocabulary, constraint)
    session, notes = _opened(run, lm, wanted, budget)
    tokens = identified.tokens
    if identified.text is not None:
        # For a text, take a tokenization that the constraint allows, if there is one.
        tokens = tuple(
            map(ServedToken, follow_named(identified, session.machine, budget)[1].written)
        )
    rows: list[NumbersBeside] = []
    for token in tokens:
        if session.finished or token.token is None or not _allowed(session, token.token):
            break
        step = session.step(token=token.token)
        rows.append(
            NumbersBeside(
                token.token,
                step.text or session.trace.tokens.show(token.token),
                token.log_prob,
                step.log_prob_model or 0.0,
                step.log_prob_constrained or 0.0,
            )
        )
    if len(rows) < len(tokens) and not session.finished:
        verb = "is" if len(rows) == 1 else "are"
        said = f"{len(rows)} of the {counted(len(tokens), 'token')} written {verb} allowed."
        notes = (*notes, said)
    return RunBeside(run, session, tuple(rows), _agreement(rows), (*notes, *identified.notes))


def _allowed(session: Session, token: int) -> bool:
    allowed = session.allowed()
    return token < len(allowed) and bool(allowed[token])


def _opened(
    run: ServerRun,
    lm: LanguageModel,
    constraint: Constraint | TokenMachine | None,
    budget: Budget | None,
) -> tuple[Session, tuple[str, ...]]:
    """A session after the run's prompt, whose ids are used if the log has them."""
    from explorer.analysis.session import Session
    from explorer.decoding.sampling.sampler import Sampler

    sampler = Sampler(temperature=1.0)
    empty = tuple(lm.encode_prompt(""))
    ids = run.prompt_ids
    if ids is not None and ids[: len(empty)] == empty and all(token >= 0 for token in ids):
        try:
            session = Session(
                lm, constraint, "", sampler=sampler, budget=budget,
                response_prefix=list(ids[len(empty) :]),
            )  # fmt: skip
        except ExplorerError:
            pass  # The model lacks some of these ids: the prompt's text is read below.
        else:
            return session, ()
    notes: tuple[str, ...] = ()
    if run.prompt is None:
        notes = ("The log has no prompt: the model read none.",)
    session = Session(lm, constraint, run.prompt or "", sampler=sampler, budget=budget)
    own = tuple(lm.encode_prompt(run.prompt or ""))
    if ids is not None and own != ids:
        notes = (
            f"The server read a prompt of {counted(len(ids), 'token')}, the model here one of "
            f"{len(own)}: the numbers are after another prompt.",
        )
    return session, notes


def _agreement(rows: list[NumbersBeside]) -> Agreement:
    known = [row for row in rows if row.server is not None]
    if not known:
        return "unknown"
    near = {
        kind: sum(abs((row.server or 0.0) - getattr(row, kind)) <= AGREEING for row in known)
        for kind in ("model", "constrained")
    }
    of_model, of_mask = (count >= _LEAST_PART * len(known) for count in near.values())
    if of_model and of_mask:
        return "both" if near["model"] == near["constrained"] else (
            "model" if near["model"] > near["constrained"] else "constrained"
        )  # fmt: skip
    return "model" if of_model else "constrained" if of_mask else "neither"
