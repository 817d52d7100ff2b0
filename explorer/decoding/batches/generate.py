"""Batched constrained generation on the model's device, without a record.

Logits, mask, draw and state stay on the model's device; the host only starts the next step
(`explorer.decoding.batches.token_by_token`). On a CUDA device the step is captured in a graph and
replayed, for a model of which transformers says that it can be compiled whole; for another one a
warning says once why not. Errors are read from the error word at the end.

Row b draws its random numbers from stream b, so each row of a batch gets the tokens that it would
get alone, and that `Session` gets with ``stream=b``, provided that the model computes the same
logits for a batch.

With ``max_tokens`` every text is complete in time: a token is allowed only if the text can still
end within the remaining tokens (`explorer.tokens.masks.needed`; EOS counts). This is not so with
``masking_budget=False``, or if the machine does not know how many tokens its texts still need; then
an unfinished text is cut off and says so.

Cost of a step on a GPU, besides the model's: 3 % more in a graph (`docs/limits.md`), otherwise
about 150 small operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import cast

import torch

from explorer.arguments import flag, listed, plain, whole_number, wrong
from explorer.budget import Budget
from explorer.decoding.batches.constrained_batch import (
    AnyConstraint,
    ConstrainedBatch,
    checked_streams,
    for_each,
)
from explorer.decoding.batches.runs import in_runs
from explorer.decoding.batches.token_by_token import token_by_token
from explorer.decoding.models.arguments import (
    LAST_SEED,
    MOST_TOKENS,
    ResponsePrefix,
    checked_model,
    checked_prompt,
    checked_sampler,
    is_ids,
    prefix_ids,
    prompt_ids,
)
from explorer.decoding.models.model import (
    Batch,
    LanguageModel,
    Prompt,
    ReplayingLanguageModel,
    RunBatch,
)
from explorer.decoding.models.row_by_row import open_batch
from explorer.decoding.sampling.sampler import Drawing, Sampler
from explorer.decoding.speculation.drafting import Draft, Drafting, checked_draft
from explorer.decoding.speculation.texts import GrowingText, speculated
from explorer.decoding.stepping.rule import Forced, Rule, checked_forced
from explorer.decoding.stepping.settings import Restrict, checked_restrict, kept_to
from explorer.errors import ExplorerError
from explorer.languages.stages.restricted import Restricted
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True)
class Generation:
    """One generated text.

    Args:
        tokens: The ids, including the end of text if it was generated.
        data: The bytes they write.
        finished: Whether the text ended by itself; otherwise it was cut off at ``max_tokens``.
        pieces: The bytes of each token; empty for one that is not text, such as the end.
        log_probs_model: The natural log-probability of each token under the model.
        log_probs_constrained: The log-probability of each token under mask and sampler; a greedy
            sampler counts as the mask alone. Both are empty with ``log_probs=False``, and are
            ignored by ``==``, because batches of different sizes round differently.
        forced: The number of tokens that were the only ones allowed and needed no forward pass of
            their own; 0 with ``forced="step"``.
        proposed: The number of tokens for which a draft made a proposal; 0 without a draft.
        accepted: The number of accepted proposals.
        passes: The number of forward passes of the model, if a draft was given; otherwise 0.
        planned: Whether ``max_tokens`` was part of the mask, so that the text was sure to end in
            time; see ``masking_budget``.
    """

    tokens: tuple[int, ...]
    data: bytes
    finished: bool
    pieces: tuple[bytes, ...] = field(default=(), compare=False)
    log_probs_model: tuple[float, ...] = field(default=(), compare=False)
    log_probs_constrained: tuple[float, ...] = field(default=(), compare=False)
    forced: int = field(default=0, compare=False)
    proposed: int = field(default=0, compare=False)
    accepted: int = field(default=0, compare=False)
    passes: int = field(default=0, compare=False)
    planned: bool = field(default=True, compare=False)

    @property
    def text(self) -> str:
        """The text; half a character, at a cut, shows as U+FFFD."""
        return self.data.decode("utf-8", errors="replace")

    @property
    def token_texts(self) -> tuple[str, ...]:
        """The text of each token; half a character shows as U+FFFD."""
        return tuple(piece.decode("utf-8", errors="replace") for piece in self.pieces)

    @property
    def cumulative_model(self) -> tuple[float, ...]:
        """The log-probability under the model of the text up to each token."""
        return tuple(accumulate(self.log_probs_model))

    @property
    def cumulative_constrained(self) -> tuple[float, ...]:
        """The log-probability under the mask and the sampler of the text up to each token."""
        return tuple(accumulate(self.log_probs_constrained))

    @classmethod
    def of(cls, text: GrowingText, vocabulary: Vocabulary, planned: bool = True) -> Generation:
        """A text, up to the first end of text; more ids may follow that."""
        ends = [k for k, token in enumerate(text.tokens) if token in vocabulary.eos_ids]
        tokens = tuple(text.tokens[: ends[0] + 1] if ends else text.tokens)
        # Free text may hold ids that are not text.
        pieces = tuple(vocabulary.tokens[token] or b"" for token in tokens)
        return cls(
            tokens=tokens,
            data=b"".join(pieces),
            finished=bool(ends),
            pieces=pieces,
            log_probs_model=tuple(text.model[: len(tokens)]),
            log_probs_constrained=tuple(text.constrained[: len(tokens)]),
            forced=text.forced,
            proposed=text.proposed,
            accepted=text.accepted,
            passes=text.passes,
            planned=planned,
        )


def generate(
    model: LanguageModel | str,
    prompts: Prompt | Sequence[Prompt],
    constraints: AnyConstraint | Sequence[AnyConstraint] = None,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    max_tokens: int = 64,
    *,
    seed: int = 0,
    masking_budget: bool | None = None,
    streams: Sequence[int] | None = None,
    budget: Budget | None = None,
    forced: Forced = "step",
    log_probs: bool = True,
    response_prefix: ResponsePrefix = "",
    draft: Draft = None,
    restrict: Restrict = None,
) -> list[Generation]:
    """Generate a text for each prompt.

    Args:
        model: The language model, or its name for `load_model`.
        prompts: Texts to continue, conversations, or ids (`HuggingFaceModel.prompt`); a single one
            counts as a list of one.
        constraints: One for all rows, or one for each; ``None``, the default, constrains nothing.
        sampler: By default greedy.
        max_tokens: The most tokens of each text, EOS included.
        seed: The seed of the random numbers, 0 to 2**64 - 1.
        masking_budget: Whether masks make every text end within ``max_tokens``; with ``False``
            texts are cut off. By default they do if the machine knows the fewest tokens to the end
            (every table, every grammar, and every machine of a few texts); otherwise a text may be
            cut off, and `Generation.planned` says so. ``True`` refuses a machine that does not know
            them.
        streams: The stream of random numbers of each row; by default the row's number.
        budget: Limits for compiling the constraints.
        forced: ``"prefill"`` takes a forced text in the tokenizer's own tokens, as in
            `explorer.Session`; ``"run"`` takes tokens that are the only ones allowed without asking
            the model. A run of them is read in one forward pass if the model's layers can do that
            (`RunBatch`); otherwise, and with ``"step"``, they are read one by one. ``"run"`` and
            ``"step"`` give the same texts and log-probabilities.
        log_probs: Whether to return the log-probability of each token, also of forced ones.
        response_prefix: The beginning of each answer, between the prompt and the constrained text:
            a text, or its tokens as texts or as ids. It is not part of the result.
        draft: A smaller model with the same vocabulary that proposes tokens, which the model checks
            several at a time (speculative decoding); or a `Drafting` with options. The texts are
            the same as without it; each row is generated separately.
        restrict: A restriction on every row, even an unconstrained one, as in
            `Constraint.restrict`: a name such as ``"ascii"``, or arguments such as ``{"scripts":
            ["Latin"]}``. `Session` takes the same.

    Returns:
        One text per prompt, in order.

    Raises:
        ExplorerError: ``max_tokens`` is too small for a constraint (found before the model runs),
            the numbers of rows do not match, or the model's logits left nothing to draw.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> from explorer import regex
        >>> from explorer.decoding.models.model import Reading
        >>> class Uniform:  # Any object with these four members is a language model.
        ...     name = "uniform"
        ...     vocabulary = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"d"], eos_ids=[4])
        ...     def encode_prompt(self, prompt):
        ...         return ()
        ...     def read(self, tokens):
        ...         return Reading(torch.zeros(5))
        >>> texts = generate(Uniform(), ["", ""], regex("(foo)+d"), Sampler(1.0), 5, seed=3)
        >>> all(text.finished and len(text.tokens) <= 5 for text in texts)
        True
    """
    model = checked_model(model)
    rows = _prompts(prompts)
    wanted = _all_kept_to(for_each(constraints, len(rows)), checked_restrict(restrict))
    streams = checked_streams(streams)
    if streams is not None and len(streams) != len(rows):
        raise ExplorerError(
            f"{len(streams)} streams for {len(rows)} prompts.",
            remedy="Give one stream for each prompt, or none.",
            evidence={"streams": len(streams), "prompts": len(rows)},
        )
    if masking_budget is not None:
        masking_budget = flag("masking_budget", masking_budget)
    forced = checked_forced(forced)
    log_probs = flag("log_probs", log_probs)
    drafting = checked_draft(draft, model)
    if drafting is not None and forced != "step":
        raise ExplorerError(
            f'draft and forced="{forced}" are two ways to read several tokens at once.',
            remedy="Give one of them. A constrained draft proposes what is forced too.",
            evidence={"forced": forced},
        )
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    drawing = Drawing(checked_sampler(sampler), seed, max_tokens, masking_budget)
    if not rows:
        return []
    asked = _Generating(model, drawing, max_tokens, streams, budget, log_probs)
    # Compile on the CPU first, so that errors of the constraints come before the model runs.
    first = asked.batch_on("cpu", wanted)
    begun = prefix_ids(model, response_prefix)
    ids = [(*prompt_ids(model, prompt), *begun) for prompt in rows]
    if drafting is not None:
        texts = _drafted(asked, drafting, first, ids)
    else:
        texts = _together(asked, forced, first.rules, ids)
    return [
        Generation.of(text, model.vocabulary, plan)
        for text, plan in zip(texts, first.plans, strict=True)
    ]


@dataclass(frozen=True)
class _Generating:
    """The checked arguments of `generate` that its three loops share."""

    model: LanguageModel
    drawing: Drawing
    most_tokens: int
    streams: Sequence[int] | None
    budget: Budget | None
    log_probs: bool

    def batch_on(
        self, device: str | torch.device, constraints: Sequence[AnyConstraint | Rule]
    ) -> ConstrainedBatch:
        """The rows of the batch on a device."""
        return ConstrainedBatch(
            constraints, self.model.vocabulary, self.drawing,
            streams=self.streams, device=device, budget=self.budget,
        )  # fmt: skip


def _together(
    asked: _Generating, forced: Forced, rules: Sequence[Rule], ids: Sequence[tuple[int, ...]]
) -> list[GrowingText]:
    """All texts in one batch, in fixed buffers where the model's device replays steps."""
    model, most = asked.model, asked.most_tokens

    def opened(fixed: bool, reading: Batch) -> list[GrowingText]:
        batch = asked.batch_on(reading.logits.device, rules)
        if forced != "step" and isinstance(reading, RunBatch) and reading.reads_runs:
            texts = in_runs(model, reading, batch, most, asked.log_probs, forced == "prefill")
        else:
            texts = token_by_token(model, reading, batch, most, asked.log_probs, fixed)
        batch.masks.check()
        return texts

    if forced == "step" and isinstance(model, ReplayingLanguageModel):
        with model.static_batch(ids, most) as reading:
            if reading is not None:
                return opened(True, reading)
    return opened(False, open_batch(model, ids))


def _drafted(
    asked: _Generating, drafting: Drafting, first: ConstrainedBatch, ids: Sequence[tuple[int, ...]]
) -> list[GrowingText]:
    """One text after the other, with proposals of a draft."""
    streams = asked.streams or range(len(ids))
    return [
        speculated(
            asked.model, drafting, rule, row, replace(asked.drawing, masking_budget=plan),
            stream=stream, log_probs=asked.log_probs,
        )
        for rule, row, stream, plan in zip(first.rules, ids, streams, first.plans, strict=True)
    ]  # fmt: skip


def _all_kept_to(
    constraints: Sequence[AnyConstraint], stage: Restricted | None
) -> list[AnyConstraint]:
    """The constraints with a restriction; rows that share a constraint share the result."""
    if stage is None:
        return list(constraints)
    kept = {id(constraint): kept_to(constraint, stage) for constraint in constraints}
    return [kept[id(constraint)] for constraint in constraints]


def _prompts(prompts: object) -> list[Prompt]:
    """The prompts as a list; one text, or one conversation, is a list of one."""
    prompts = plain(prompts)
    if isinstance(prompts, str):
        return [prompts]
    if not isinstance(prompts, Sequence) or isinstance(prompts, bytes):
        raise wrong("prompts", prompts, "a text, a conversation, ids or a list of those")
    entries = listed("prompts", cast("object", prompts), "a list of prompts")
    if is_ids(entries) or (entries and all(isinstance(entry, Mapping) for entry in entries)):
        return [checked_prompt(entries)]  # Messages, or ids: one prompt is a list of them.
    return cast("list[Prompt]", entries)
