"""Batched constrained generation on the model's device, without a record.

Logits, mask, draw and state stay where the model is; the host only starts the next step. Whether
all rows have ended is asked without waiting for the answer: a flag is copied back while the next
steps run, so that a few steps too many may be started and are thrown away. What went wrong is read
from the error word at the end.

Row b draws its random numbers from stream b, so a batch gives each row the tokens it would get
alone, and `Session` the same again with ``stream=b``, as far as the model's own arithmetic gives a
batch the same logits.

With ``max_tokens`` every text is complete in time: a token is allowed only if the text can still be
ended within what remains (`explorer.tokens.needed`; EOS counts). ``masking_budget=False`` leaves
that out, and a text that is not finished by then is cut off and says so.

Cost of a step, besides the model's: one launch where Triton is, else about 150 small operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from explorer.arguments import flag, listed, whole_number, wrong
from explorer.budget import Budget
from explorer.decoding.batches.constrained_batch import (
    AnyConstraint,
    ConstrainedBatch,
    checked_streams,
    for_each,
)
from explorer.decoding.models.arguments import (
    LAST_SEED,
    MOST_TOKENS,
    call_model,
    checked_model,
    checked_sampler,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.models.row_by_row import open_batch
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.tokens.error_word import ints
from explorer.tokens.states import FREE
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True)
class Generation:
    """One text.

    Args:
        tokens: The ids, the end of text included where it was written.
        data: The bytes they write.
        finished: Whether the text was ended; if not, it was cut off at ``max_tokens``.
    """

    tokens: tuple[int, ...]
    data: bytes
    finished: bool

    @property
    def text(self) -> str:
        """The text. Half a character, at a cut, shows as U+FFFD."""
        return self.data.decode("utf-8", errors="replace")

    @classmethod
    def of(cls, row: Sequence[int], vocabulary: Vocabulary) -> Generation:
        """The text of ids, up to the first end of text.

        Args:
            row: Ids, perhaps with more after the end.
            vocabulary: What they mean.
        """
        ends = [k for k, token in enumerate(row) if token in vocabulary.eos_ids]
        tokens = tuple(row[: ends[0] + 1] if ends else row)
        # Free text may hold ids that are not text.
        data = b"".join(vocabulary.tokens[token] or b"" for token in tokens)
        return cls(tokens, data, bool(ends))


def generate(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    constraints: AnyConstraint | Sequence[AnyConstraint],
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    max_tokens: int = 64,
    *,
    seed: int = 0,
    masking_budget: bool = True,
    streams: Sequence[int] | None = None,
    budget: Budget | None = None,
) -> list[Generation]:
    """Write a text for each prompt.

    Args:
        model: The language model; see `load_model`.
        prompts: Texts to go on with, or conversations.
        constraints: One for all rows, or one for each; ``None`` leaves a row free.
        sampler: How tokens are chosen; default greedy.
        max_tokens: The most tokens of each text, EOS included.
        seed: Of the random numbers, 0 to 2**64 - 1.
        masking_budget: Whether texts are made to end in time; else they are cut off.
        streams: Each row's stream of random numbers; default its number.
        budget: Limits for compiling the constraints.

    Returns:
        One text per prompt, in their order.

    Raises:
        ExplorerError: ``max_tokens`` is too small for a constraint (said before the model is
            asked), numbers do not fit, or the model's logits left nothing to draw.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As `explorer.compile` has it.

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
    wanted = for_each(constraints, len(rows))
    streams = checked_streams(streams)
    if streams is not None and len(streams) != len(rows):
        raise ExplorerError(
            f"{len(streams)} streams for {len(rows)} prompts.",
            remedy="Give one stream for each prompt, or none.",
            evidence={"streams": len(streams), "prompts": len(rows)},
        )
    masking_budget = flag("masking_budget", masking_budget)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    sampler = checked_sampler(sampler)
    if not rows:
        return []

    def batch_on(device: str | torch.device) -> ConstrainedBatch:
        return ConstrainedBatch(
            wanted, model.vocabulary, sampler, seed=seed, streams=streams, max_tokens=max_tokens,
            masking_budget=masking_budget, device=device, budget=budget,
        )  # fmt: skip

    # What is wrong with the constraints is said before the model reads anything.
    wanted = [rule.machine for rule in batch_on("cpu").rules]
    reading = open_batch(model, [prompt_ids(model, prompt) for prompt in rows])
    batch = batch_on(reading.logits.device)
    ended = _Ended(reading.logits.device)
    logits = reading.logits
    taken: list[Tensor] = []
    for _ in range(max_tokens):
        tokens = batch.draw(logits)
        taken.append(tokens)
        if len(taken) == max_tokens or ended.all(batch.rows.states):
            break
        # A frozen row must give the model some id; what comes of it is not used.
        following = tokens.clamp(min=0)
        logits = call_model(model, "step", lambda: reading.step(following))  # noqa: B023 - Asked now.
    columns = torch.stack(taken, dim=1)
    batch.masks.check()
    return [Generation.of(ints(row), model.vocabulary) for row in columns.cpu()]


class _Ended:
    """Whether every row has ended, asked without making the host wait for a GPU."""

    def __init__(self, device: torch.device) -> None:
        self._waits = device.type != "cuda"
        if not self._waits:
            self._flag = torch.zeros(1, dtype=torch.bool, pin_memory=True)
            self._event: torch.cuda.Event | None = None

    def all(self, states: Tensor) -> bool:
        # DEAD rows are over as well; the error word says why.
        over = ((states != FREE) & (states < 0)).all()
        if self._waits:
            return bool(over)
        if self._event is not None and self._event.query():
            if bool(self._flag):
                return True
            self._event = None
        if self._event is None:
            self._flag.copy_(over.unsqueeze(0), non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()  # pyright: ignore[reportUnknownMemberType]
        return False


def _prompts(prompts: object) -> list[Prompt]:
    if isinstance(prompts, str) or not isinstance(prompts, Sequence):
        remedy = "Give a list, also for one prompt."
        raise wrong("prompts", prompts, "a list of prompts", remedy=remedy)
    entries = listed("prompts", cast("object", prompts), "a list of prompts")
    return cast("list[Prompt]", entries)
