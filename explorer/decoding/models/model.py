"""The protocol of a language model, and what it returns: checked, and kept.

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

`reading_of` calls a model and checks the logits that it returns. `LogitsStore` keeps those of
visited positions within a memory budget. Logits depend only on the ids that were read, so these are
the key: a fork, another constraint or another sampler finds them again. The key is a digest of 128
bits, because the ids of 5,000 consecutive positions would take 100 MB. A run computes each key from
the previous one (`following_key`), so that a step of a long run costs no more than a step of a
short one. Beyond the budget the least recently used logits are dropped and computed again when
asked for. They take half a megabyte for each position at 131,072 float32 logits, on the model's
device.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar, cast, runtime_checkable

from torch import Tensor

from explorer.arguments import wrong
from explorer.errors import ExplorerError
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


@runtime_checkable
class ReplayingLanguageModel(LanguageModel, Protocol):
    """A language model whose device can replay a step that was captured once."""

    def static_batch(
        self, prompts: Sequence[Sequence[int]], more: int
    ) -> AbstractContextManager[Batch | None]:
        """Read several prompts into fixed buffers, for the time of a ``with`` block.

        Args:
            prompts: The ids of each row; the lengths may differ.
            more: The most tokens that will be read after the longest prompt.

        Returns:
            A batch whose logits are always the same tensor, overwritten by each step; ``None`` if
            the model or its device cannot do that.
        """
        ...


T = TypeVar("T")


def call_model(lm: LanguageModel, method: str, ask: Callable[[], T]) -> T:
    """Call a model, and turn its exception into an `ExplorerError` with that as the cause.

    Raises:
        ExplorerError: The model raised.
    """
    try:
        return ask()
    except ExplorerError:
        raise
    except Exception as error:  # A user's own model may raise anything.
        reason = str(error).strip().partition("\n")[0].rstrip(" .:")
        raise ExplorerError(
            f"`{method}` of the model {lm.name!r} raised {type(error).__name__}"
            f"{f': {reason}' if reason else ''}.",
            remedy="Its own traceback stands above this one.",
            evidence={"model": lm.name, "error": type(error).__name__},
        ) from error


def reading_of(lm: LanguageModel, ids: Sequence[int]) -> Reading:
    """The model's reading after some ids, checked.

    Returns:
        Its reading; the logits are one row of floating-point numbers that covers at least all text
        tokens of the vocabulary. NaN and infinity are reported later, when a token is drawn.

    Raises:
        ExplorerError: The model raised, or returned something else.
    """
    return checked_reading(lm, call_model(lm, "read", lambda: lm.read(ids)))


def checked_reading(lm: LanguageModel, given: object) -> Reading:
    """The result of a model's ``read``, checked as in `reading_of`.

    Raises:
        ExplorerError: It is not a valid reading.
    """
    remedy = "Return Reading(logits) from `read`, with the next-token logits, float[W]."
    name = f"What the model {lm.name!r} reads"
    if not isinstance(given, Reading):
        raise wrong(name, given, "a Reading", remedy=remedy)
    logits = cast("object", given.logits)
    if not isinstance(logits, Tensor):
        raise wrong(f"{name}, its logits,", logits, "a tensor", remedy=remedy)
    if logits.dim() != 1 or not logits.is_floating_point() or not len(logits):
        raise ExplorerError(
            f"The model {lm.name!r} gives logits of shape {list(logits.shape)} and "
            f"{logits.dtype}, not one row of floating-point numbers.",
            remedy="Give the next-token logits, float[W], from `read`.",
            evidence={"shape": list(logits.shape), "dtype": str(logits.dtype)},
        )
    width, vocabulary = len(logits), lm.vocabulary
    # Ids past the logits that are neither text nor an end of text are never allowed anyway.
    if width < len(vocabulary) and (
        any(data is not None for data in vocabulary.tokens[width:])
        or any(end >= width for end in vocabulary.eos_ids)
    ):
        raise ExplorerError(
            f"The model {lm.name!r} gives {width:,} logits, but its vocabulary has "
            f"{len(vocabulary):,} tokens.",
            remedy="Check that the tokenizer is the model's, or give vocabulary.with_width(W).",
            evidence={"width": width, "tokens": len(vocabulary)},
        )
    return given


class LogitsStore:
    """A cache of logits by the ids that were read; not thread-safe, its owner holds a lock."""

    def __init__(self, model: LanguageModel, max_bytes: int) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, Tensor] = OrderedDict()
        self._notes: dict[bytes, Reading] = {}  # Readings made ahead, until they are asked for.
        self._bytes = 0

    def __contains__(self, tokens: object) -> bool:
        """Whether the logits after some ids are cached."""
        return isinstance(tokens, tuple) and self.holds(path_key(cast("tuple[int, ...]", tokens)))

    def holds(self, key: bytes) -> bool:
        """Whether the logits of a key are cached."""
        return key in self._kept

    def read_ahead(
        self,
        tokens: Sequence[int],
        run: Sequence[int],
        kind: str = "forced",
        *,
        key: bytes | None = None,
    ) -> None:
        """Read the logits after some ids, and after each of a run of further ids, in one pass.

        Does nothing if the run is empty or the model reads no runs; `read` then reads one by one.

        Raises:
            ExplorerError: The model does not return a row of logits for each.
        """
        model = self._model
        if not run or not isinstance(model, RunLanguageModel):
            return
        path = (*tokens, *run)
        count = len(run) + 1
        readings = call_model(model, "read_run", lambda: model.read_run(path, count))
        if len(readings) != count:
            raise ExplorerError(
                f"The model {model.name!r} gives {len(readings)} readings for {count} prefixes.",
                remedy="Return one Reading for each from `read_run`.",
            )
        if key is None:
            keys = [path_key(path[:end]) for end in range(len(tokens), len(path) + 1)]
        else:
            keys = list(accumulate(run, following_key, initial=key))
        note = f"Read in one pass with a run of {len(run)} {kind} tokens."
        for own, reading in zip(keys, readings, strict=True):
            checked = checked_reading(model, reading)
            self._keep(own, checked.logits)
            self._notes[own] = Reading(checked.logits, checked.computed, note)

    def _keep(self, key: bytes, logits: Tensor) -> None:
        more = _size(logits) - (_size(self._kept[key]) if key in self._kept else 0)
        self._kept[key] = logits
        self._bytes += more
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            dropped, old = self._kept.popitem(last=False)
            self._notes.pop(dropped, None)
            self._bytes -= _size(old)

    def read(self, tokens: Sequence[int], key: bytes | None = None) -> Reading:
        """The logits after some ids, from the cache or from the model.

        Raises:
            ExplorerError: The model does not return a row of logits.
        """
        path = tuple(tokens)
        key = path_key(path) if key is None else key
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return self._notes.pop(key, None) or Reading(kept)
        reading = reading_of(self._model, path)
        self._keep(key, reading.logits)
        return reading


def path_key(path: tuple[int, ...]) -> bytes:
    """The key of some ids."""
    return hashlib.blake2b(array("q", path).tobytes(), digest_size=16).digest()


def following_key(key: bytes, token: int) -> bytes:
    """The key of a path that is one token longer.

    It differs from `path_key` of the whole path, so a store must be used either with such keys or
    with ids alone.

    Example:
        >>> following_key(path_key((1, 2)), 3) == following_key(path_key((1, 2)), 3)
        True
    """
    return hashlib.blake2b(key + token.to_bytes(8, "little"), digest_size=16).digest()


def _size(logits: Tensor) -> int:
    return logits.numel() * logits.element_size()
