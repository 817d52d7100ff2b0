"""The protocol of a language model: its tokens, a prompt as ids, the logits after ids.

A model here is a pure function: the same ids give the same next-token logits, whatever was asked
before. So a session can go back, fork and jump without telling the model. A model that caches
key-values does so internally, and reports how much it had to read again.

Any object with these four members is a model; it need not be a transformer. This one predicts like
a compressor: the logit of a token is the negated number of bits that it costs after the text.

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
"""A text to continue, a conversation for the model's chat template, or the ids of either."""


@dataclass(frozen=True, eq=False)
class Reading:
    """The output of a model after some ids.

    Args:
        logits: float[W], the next-token logits, on the model's device; W may exceed the
            vocabulary. Must not be changed.
        computed: The number of ids that the model had to read; the others came from its cache.
        note: The reason why cached ids were read again, as a sentence; empty if none were.
    """

    logits: Tensor
    computed: int = 0
    note: str = ""


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model as a pure function of token ids, callable from any thread."""

    @property
    def name(self) -> str:
        """The model's name in a trace."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Its vocabulary; ids from the width of its logits on are not text (`with_width`)."""
        ...

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids of a prompt, including special tokens, to be read before the first token.

        Args:
            prompt: A text, or messages; it is not called for ids.
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
    """A language model that reads several known tokens in one forward pass."""

    def read_run(self, tokens: Sequence[int], count: int) -> Sequence[Reading]:
        """The next-token logits after each of the last prefixes of some ids.

        Args:
            tokens: The prompt's ids and all tokens since.
            count: The number of prefixes: all ids, all but the last, and so on; at least 1.

        Returns:
            A reading for each, the shortest prefix first.
        """
        ...


@runtime_checkable
class EachLanguageModel(LanguageModel, Protocol):
    """A language model that reads several alternative next tokens in one forward pass."""

    def read_each(self, tokens: Sequence[int], following: Sequence[int]) -> Tensor:
        """The next-token logits after some ids followed by each of several alternatives.

        It may be called while another thread reads, without making that thread wait.

        Args:
            tokens: The prompt's ids and all tokens since.
            following: The alternative next ids.

        Returns:
            float32[len(following), W], on the model's device.
        """
        ...


class Batch(Protocol):
    """Several texts that a model reads together, one token each at a time."""

    @property
    def logits(self) -> Tensor:
        """The next-token logits of each row, float32[B, W], on the model's device."""
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
    """A batch whose rows can continue in several ways and share what was already read."""

    def branch(self, rows: Sequence[int]) -> BranchingBatch:
        """A new batch that continues some rows; this one is not changed.

        Args:
            rows: Row numbers of this batch, in any order and possibly repeated.

        Returns:
            A batch with one row for each number and the same logits.
        """
        ...


@runtime_checkable
class RunBatch(Batch, Protocol):
    """A batch that reads a different number of tokens in each row in one forward pass."""

    @property
    def reads_runs(self) -> bool:
        """Whether the model's layers support this for these rows."""
        ...

    def extend(self, runs: Sequence[Sequence[int]], every: bool) -> Tensor:
        """Read a run of tokens in each row.

        Args:
            runs: The ids for each row; a row without ids keeps its logits.
            every: Whether the logits after all tokens are wanted, or only after the last.

        Returns:
            float32[B, n, W]: the logits after the last n tokens of each row, with n the length of
            the longest run, or 1; those of a shorter run are at the end. The last ones are kept as
            `logits`.
        """
        ...


@runtime_checkable
class BatchedLanguageModel(LanguageModel, Protocol):
    """A language model that reads several texts in one forward pass."""

    def batch(self, prompts: Sequence[Sequence[int]]) -> Batch:
        """Read several prompts.

        Args:
            prompts: The ids of each row; the lengths may differ.
        """
        ...
