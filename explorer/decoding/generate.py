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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import cast

import torch
from torch import Tensor

from explorer.arguments import flag, listed, whole_number
from explorer.automata.constraint import Constraint
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    LAST_SEED,
    LAST_STREAM,
    checked_model,
    checked_sampler,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.models.row_by_row import open_batch
from explorer.decoding.sampling import reference
from explorer.decoding.sampling.reference import Rows
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.tokens.device import DeviceMasks
from explorer.tokens.error_word import ints
from explorer.tokens.states import DONE, FREE
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

AnyConstraint = Constraint | TokenDFA | None
"""What the text of a row must be; ``None`` leaves it free."""


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


class Batch:
    """The constraints of some rows, and where each row stands.

    Shared by `generate` and `explorer.decoding.processor`.

    Args:
        constraints: One for each row.
        vocabulary: The model's tokens.
        sampler: How tokens are chosen.
        seed: Of the random numbers.
        streams: Each row's stream of random numbers; default 0, 1, ...
        max_tokens: The token budget of each row; ``None`` for none.
        masking_budget: Whether the budget takes part in the mask.
        device: Where the logits are.
        budget: Limits for compiling the constraints.

    Raises:
        ExplorerError: The budget is too small for a constraint, or a constraint is none.
    """

    def __init__(
        self,
        constraints: Sequence[AnyConstraint],
        vocabulary: Vocabulary,
        sampler: Sampler,
        *,
        seed: int,
        streams: Sequence[int] | None,
        max_tokens: int | None,
        masking_budget: bool,
        device: str | torch.device,
        budget: Budget | None = None,
    ) -> None:
        # A constraint that several rows share is compiled once and has one table.
        rules: dict[int, Rule] = {}
        for constraint in constraints:
            if id(constraint) not in rules:
                rules[id(constraint)] = Rule.of(constraint, vocabulary, budget)
        self.rules = [rules[id(constraint)] for constraint in constraints]
        if masking_budget:
            for rule in self.rules:
                rule.check_budget(max_tokens)
        machines = [rule.dfa for rule in rules.values() if rule.dfa is not None]
        self.masks = DeviceMasks(machines, device=device, vocabulary=vocabulary)
        self.sampler = sampler
        self.seed = seed
        self.rows = Rows.start(
            [rule.start for rule in self.rules],
            [0 if rule.dfa is None else machines.index(rule.dfa) for rule in self.rules],
            list(range(len(self.rules)) if streams is None else streams),
            device=device,
            max_tokens=max_tokens if masking_budget else None,
        )
        self._has_free_rows = any(rule.dfa is None for rule in self.rules)
        self._eos = torch.tensor(vocabulary.eos_ids, device=device)
        self._step = _step_for(self.masks.device)

    def draw(self, logits: Tensor) -> Tensor:
        """One token for each row, and on to the next state. Does not wait for the device.

        Args:
            logits: float[B, W]; left as they are.

        Returns:
            int64[B]; -1 where nothing could be drawn, EOS in rows that have ended.
        """
        tokens = self._step(self.masks, self.sampler, logits, self.rows, self.seed)
        if self._has_free_rows:
            # To a machine FREE is a state like others; a text ends with EOS all the same.
            states = self.rows.states
            states.masked_fill_((states == FREE) & torch.isin(tokens, self._eos), DONE)
        return tokens


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
    max_tokens = whole_number("max_tokens", max_tokens, 1)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    sampler = checked_sampler(sampler)
    if not rows:
        return []

    def batch_on(device: str | torch.device) -> Batch:
        return Batch(
            wanted, model.vocabulary, sampler, seed=seed, streams=streams, max_tokens=max_tokens,
            masking_budget=masking_budget, device=device, budget=budget,
        )  # fmt: skip

    # What is wrong with the constraints is said before the model reads anything.
    wanted = [rule.dfa for rule in batch_on("cpu").rules]
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
        logits = reading.step(tokens.clamp(min=0))
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


def _step_for(
    device: torch.device,
) -> Callable[[DeviceMasks, Sampler, Tensor, Rows, int], Tensor]:
    if device.type == "cuda" and find_spec("triton") is not None:
        from explorer.decoding.sampling import fused

        return fused.step

    def plain(
        masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
    ) -> Tensor:
        return reference.step(masks, sampler, logits.clone(), rows, seed)

    return plain


def _prompts(prompts: object) -> list[Prompt]:
    if isinstance(prompts, str) or not isinstance(prompts, Sequence):
        raise ExplorerError(
            f"`prompts` is {prompts!r}, not a list of prompts.",
            remedy="Give a list, also for one prompt.",
            evidence={"prompts": prompts},
        )
    return list(prompts)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def checked_streams(streams: object) -> list[int] | None:
    """The streams of random numbers of some rows; ``None`` for those of their numbers.

    Raises:
        ExplorerError: They are no streams.
    """
    if streams is None:
        return None
    return [
        whole_number("a stream", stream, 0, LAST_STREAM)
        for stream in listed("streams", streams, "a list of whole numbers, one for each row")
    ]


def for_each(
    constraints: AnyConstraint | Sequence[AnyConstraint], count: int
) -> list[AnyConstraint]:
    """The constraint of each row.

    Args:
        constraints: One for all, or one for each.
        count: How many rows there are.

    Raises:
        ExplorerError: There are not so many.
    """
    # A string is a sequence too; as a constraint it is refused with a reason, by `Rule`.
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        return [cast("AnyConstraint", constraints)] * count
    if len(constraints) != count:
        raise ExplorerError(
            f"{len(constraints)} constraints for {count} rows.",
            remedy="Give one for each row, or one for all.",
            evidence={"constraints": len(constraints), "rows": count},
        )
    return list(constraints)
