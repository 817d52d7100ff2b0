"""The record of a session: everything that the views show, readable without a model.

A trace is a value. The views, the command line and the exports read nothing but traces, so a saved
run looks exactly like a live one. It consists of positions and the steps between them
(`explorer.decoding.trace.records`), with their common data (`explorer.decoding.trace.recording`):
the constraint's source, the masks, and the bytes of each mentioned token. The masks are rows over
classes of tokens, in the same form for every kind of machine (`explorer.decoding.trace.recording`).

It holds not the whole vocabulary but its fingerprint and the mentioned tokens: those chosen, the
candidates, and a few of each token class, so that an edge or a mask can name examples. It does not
hold full logits; the session has those (`Session.logits`).

Cost: about a kilobyte per step, in memory and as JSON, plus the token classes once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.arguments import file_path
from explorer.decoding.trace.reading import fields_of_json
from explorer.decoding.trace.recording import MentionedTokens, Recording
from explorer.decoding.trace.records import Step
from explorer.decoding.trace.writing import MOST_BYTES, to_json
from explorer.files import file_errors, write_whole

_TOKEN_WIDTH = 18

HEADER = (
    f"{'step':>4}  {'token':<{_TOKEN_WIDTH}} {'allowed':>9}  {'mass Z':>7}  {'p model':>7}  "
    f"{'p constr':>8}  {'bits':>11}  remarks"
)
"""The columns of `step_line`: "bits" is the entropy before and after the mask."""


def step_line(tokens: MentionedTokens, step: Step) -> str:
    """A step as one line of a table."""
    before = step.before
    distribution = before.distribution
    shown = _fit(tokens.show(step.token))
    mass = entropy = ""
    if distribution is not None:
        mass = _share(distribution.log_z)
        entropy = f"{distribution.entropy_before:5.2f} {distribution.entropy_after:5.2f}"
    return (
        f"{step.index:>4}  {shown:<{_TOKEN_WIDTH}} {before.num_allowed:>9,}  {mass:>7}  "
        f"{_share(step.log_prob_model):>7}  {_share(step.log_prob_constrained):>8}  {entropy:>11}  "
        f"{'; '.join(remarks(tokens, step))}"
    ).rstrip()


def remarks(tokens: MentionedTokens, step: Step) -> Iterator[str]:
    """Short remarks on what is unusual about a step."""
    distribution = step.before.distribution
    if step.chosen_by == "user":
        yield "chosen by the user"
    elif step.chosen_by == "kept":
        yield "kept"
    elif step.chosen_by == "fed":
        yield f"fed by {step.role}" if step.role else "fed"
    elif step.chosen_by == "prefilled":
        yield "prefilled"
    if step.forced:
        yield "forced"
    if step.proposal is not None and not step.proposal.accepted:
        yield f"draft {_fit(tokens.show(step.proposal.token))}, rejected"
    if distribution is not None and distribution.intervention:
        first = _fit(tokens.show(distribution.first_choice))
        yield f"masked {first} ({_share(distribution.first_choice_log_prob)})"
    if step.before.over_budget:
        yield f"budget removed {step.before.over_budget:,}"
    if distribution is not None and distribution.note:
        yield distribution.note


def trace_summary(trace: Recording) -> str:
    """The run as a table, with a heading and a note on how it ended."""
    return "\n".join(_summary_lines(trace))


def _summary_lines(trace: Recording) -> Iterator[str]:
    yield f"model       {trace.model or 'none: a run from elsewhere'}"
    if trace.prompt is not None:
        shown = trace.prompt if isinstance(trace.prompt, str) else str(list(trace.prompt))
        yield f"prompt      {_fit(repr(shown), 80)} ({len(trace.prompt_ids)} tokens)"
    yield f"constraint  {_fit(str(trace.constraint) if trace.constraint else 'none', 80)}"
    if trace.model is not None:
        budget = "no token budget" if trace.max_tokens is None else f"max_tokens {trace.max_tokens}"
        yield f"sampler     {trace.sampler}, seed {trace.seed}, {budget}"
    yield ""
    yield HEADER
    for step in trace.steps:
        yield step_line(trace.tokens, step)
    yield ""
    yield f"text        {trace.text!r}"
    yield f"ended       {ending(trace)}"
    last = trace.positions[-1]
    if last.log_prob_model is not None and trace.steps:
        yield (
            f"log-prob    model {last.log_prob_model:.3f}, under the constraint "
            f"{_nats(last.log_prob_constrained)}"
        )
    changed = sum(step.intervention for step in trace.steps)
    forced = sum(step.forced for step in trace.steps)
    yield f"steps       {len(trace.steps)}, interventions {changed}, forced {forced}"
    proposals = [step.proposal for step in trace.steps if step.proposal is not None]
    if trace.draft is not None:
        taken = sum(proposal.accepted for proposal in proposals)
        yield f"draft       {trace.draft}: {taken} of {len(proposals)} proposals taken"


def ending(trace: Recording) -> str:
    """A sentence on how the run ended, or that it has not."""
    last = trace.positions[-1]
    if trace.rejection is not None:
        rejection = trace.rejection
        shown = trace.tokens.show(rejection.token)
        return (
            f"rejected: token {rejection.index} is {rejection.token} {shown}, which state "
            f"{rejection.state} does not allow ({last.num_allowed:,} others are)"
        )
    if trace.finished:
        return "with the end of text" + (", matching" if trace.source is not None else "")
    if trace.max_tokens is not None and len(trace.steps) >= trace.max_tokens:
        unplanned = "" if trace.masking_budget else ", which took no part in the mask"
        return f"cut off by max_tokens{unplanned}"
    return f"not yet: {last.num_allowed:,} tokens are allowed next"


def _fit(text: str, width: int = _TOKEN_WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _share(log_prob: float | None) -> str:
    """The probability of a log-probability, in at most seven characters."""
    if log_prob is None:
        return ""
    value = math.exp(log_prob)
    return f"{value:.4f}" if value >= 0.0001 or value == 0 else f"{value:.1e}"


def _nats(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


@dataclass(frozen=True, repr=False)
class Trace(Recording):
    """The record of a session from its start to its cursor.

    Made by `Session.trace` and `Trace.load`.

    Attributes:
        model: The model's name; ``None`` for a run without one.
        prompt: The prompt as given: a text, messages, or ``None``.
        prompt_ids: The ids that the model read before the first token.
        tokens: The mentioned tokens of the vocabulary.
        sampler: The temperature and the filters.
        seed: The seed of the random numbers.
        stream: The stream of the random numbers.
        max_tokens: The token budget, EOS included; ``None`` for none.
        masking_budget: Whether the budget is part of the mask.
        source: The constraint's source as a plain mapping; ``None`` without a constraint.
        num_states: The number of states that the token machine knew when the trace was made; 0
            without a constraint.
        num_char_states: The number of states that the byte machine knew then.
        masks: The masks of all positions; ``None`` without a constraint.
        positions: n + 1 positions; position k is after k tokens.
        steps: n steps; step k leads from position k to position k + 1.
        rejection: The first token of another engine's run that is not allowed.
        unread: The ids after it, which were not checked.
        draft: The name of the source of proposals; ``None`` without one.
        prefixed: The number of ``prompt_ids`` at the end that begin the answer
            (``response_prefix``).
        made_with: The constraint itself, if the trace comes from a live session; it is not saved.

    Example:
        >>> import tempfile
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for"], eos_ids=[4])
        >>> trace = explorer.Session.from_ids(vocab, explorer.regex("(foo)+"), [2]).trace
        >>> trace.text, len(trace.steps), len(trace.positions)
        ('foo', 1, 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace.save(f"{folder}/run.json")
        ...     Trace.load(f"{folder}/run.json").text
        'foo'
    """

    def summary(self) -> str:
        """The run as a table for a terminal, one line per step."""
        return trace_summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Trace({self.model!r}, {len(self.steps)} steps: {self.text!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as versioned JSON.

        Args:
            path: The file; an existing one is replaced, or left unchanged if that fails.

        Raises:
            FileError: The file cannot be written.
        """
        write_whole(file_path("path", path), to_json(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a saved trace, without a model or a tokenizer; nothing in it is executed.

        Args:
            path: A file that `save` wrote.

        Raises:
            FileError: The file cannot be read.
            DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
        """
        given = file_path("path", path)
        with file_errors(given), open(given, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        return from_json(data, str(given))


def from_json(data: bytes, file: str = "the trace") -> Trace:
    """The trace of a JSON document.

    Args:
        data: The output of `explorer.decoding.trace.writing.to_json`.
        file: The name of the file, for messages.

    Raises:
        DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
    """
    return Trace(**fields_of_json(data, file))
