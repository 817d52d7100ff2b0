"""The protocol of a language model: its tokens, a prompt as ids, the logits after ids.

A model here is a pure function: the same ids give the same next-token logits, whatever was asked
before. That is why a session can go back, fork and jump without telling the model. A model that
keeps key-values of what it has read does so out of sight, and reports what it had to read again.

Any object with these four members will do; it need not be a transformer. This one predicts as a
compressor does: the logit of a token is how many bits it costs, negated, after what was written.

    >>> import zlib
    >>> import numpy as np, torch
    >>> from explorer.vocabulary import Vocabulary
    >>> class Compressor:
    ...     name = "zlib"
    ...     vocabulary = Vocabulary.from_bytes([b"ab", b"ba", b"zq"], eos_ids=[3])
    ...     def encode_prompt(self, prompt):
    ...         return tuple(self.vocabulary.tokens.index(prompt[i : i + 2].encode())
    ...                      for i in range(0, len(prompt), 2))
    ...     def bits(self, tokens):
    ...         text = b"".join(self.vocabulary.tokens[t] or b"" for t in tokens)
    ...         return 8 * len(zlib.compress(text))
    ...     def read(self, tokens):
    ...         cost = [self.bits([*tokens, t]) - self.bits(tokens) for t in range(4)]
    ...         return Reading(-torch.tensor(cost, dtype=torch.float32))
    >>> model = Compressor()
    >>> isinstance(model, LanguageModel)
    True
    >>> int(model.read(model.encode_prompt("abababababab")).logits[:3].argmax())
    0

It does not sample and knows no constraint; see `explorer.decoding.stepping.walk`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from explorer.vocabulary import Vocabulary

Message = Mapping[str, str]
"""One turn of a conversation: ``{"role": "user", "content": "..."}``."""

Prompt = str | Sequence[Message] | Sequence[int]
"""A text to go on with, a conversation for the model's chat template, or the ids of either."""


@dataclass(frozen=True, eq=False)
class Reading:
    """The answer of a model after some ids.

    Args:
        logits: float[W], the next-token logits, on the model's device; W may exceed the
            vocabulary. Left as it is by everyone who reads it.
        computed: How many ids the model had to read for it; the others came from its cache.
        note: Why it read more than the last ids, as a sentence; empty if it did not.
    """

    logits: Tensor
    computed: int = 0
    note: str = ""


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model as a pure function of token ids. May be called from any thread."""

    @property
    def name(self) -> str:
        """The model's name in a trace."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens; ids at or past the width of its logits are not text (`with_width`)."""
        ...

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids that the model is to read before the first token, special ones included.

        Args:
            prompt: A text, or messages; of ids it is not asked.
        """
        ...

    def read(self, tokens: Sequence[int]) -> Reading:
        """The next-token logits after exactly these ids.

        Args:
            tokens: The prompt's ids and all tokens since.
        """
        ...


@runtime_checkable
class RunLanguageModel(LanguageModel, Protocol):
    """A language model that reads several tokens that are known beforehand in one forward pass."""

    def read_run(self, tokens: Sequence[int], count: int) -> Sequence[Reading]:
        """The next-token logits after each of the last prefixes of some ids.

        Args:
            tokens: The prompt's ids and all tokens since.
            count: How many prefixes: all ids, all but the last, and so on; at least 1.

        Returns:
            A reading for each, the shortest prefix first.
        """
        ...


@runtime_checkable
class EachLanguageModel(LanguageModel, Protocol):
    """A language model that reads several tokens that may each come next in one forward pass."""

    def read_each(self, tokens: Sequence[int], following: Sequence[int]) -> Tensor:
        """The next-token logits after some ids and one more, for each of several next ids.

        It may be called while another thread reads, and does not make that thread wait.

        Args:
            tokens: The prompt's ids and all tokens since.
            following: The ids that may come next.

        Returns:
            float32[len(following), W], on the model's device.
        """
        ...


class Batch(Protocol):
    """Several texts that a model reads abreast, one token each at a time."""

    @property
    def logits(self) -> Tensor:
        """float32[B, W], the next-token logits of each row, on the model's device."""
        ...

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row.

        Args:
            tokens: int64[B] on the model's device.

        Returns:
            float32[B, W], also kept as `logits`.
        """
        ...


@runtime_checkable
class BranchingBatch(Batch, Protocol):
    """A batch whose rows can go on in several ways: what was read is shared, not read again."""

    def branch(self, rows: Sequence[int]) -> BranchingBatch:
        """Go on from some rows; this batch stays as it is.

        Args:
            rows: Numbers of rows of this batch, in any order; one may stand there several times.

        Returns:
            A batch of as many rows, with the logits that they have here.
        """
        ...


@runtime_checkable
class RunBatch(Batch, Protocol):
    """A batch that reads several tokens in each row in one forward pass, not the same number."""

    @property
    def reads_runs(self) -> bool:
        """Whether the model's layers can do that for these rows."""
        ...

    def extend(self, runs: Sequence[Sequence[int]], every: bool) -> Tensor:
        """Read a run of tokens in each row.

        Args:
            runs: Ids for each row; a row without any keeps its logits.
            every: Whether the logits after all tokens are wanted, or only the last ones.

        Returns:
            float32[B, n, W]: the logits after the last n tokens of each row, n being the longest
            run, or 1; those of a shorter run stand at the end. The last ones are kept as `logits`.
        """
        ...


@runtime_checkable
class BatchedLanguageModel(LanguageModel, Protocol):
    """A language model that reads several texts in one forward pass."""

    def batch(self, prompts: Sequence[Sequence[int]]) -> Batch:
        """Read the prompts.

        Args:
            prompts: Ids of each row; the lengths may differ.
        """
        ...
