"""A causal language model of transformers as a `LanguageModel`.

The model is wrapped, not changed: its own forward pass is used. A model whose forward pass takes no
cache of key-values reads every text from its beginning, and each reading says so.

Logits are returned in float32, whatever the type of the weights, because probabilities are compared
in the fourth digit and beyond.

A text prompt gets the special tokens that the tokenizer puts before a text, once; those that it
would put *after* it (some close every text with an end) are removed, because the text continues.
Messages are rendered by the chat template, which writes its own special tokens, so none are added.

A transformer that has already read most of some ids only reads the rest. `KeyValues` keeps a few
caches, each with the ids that it was made from. For new ids it takes the cache that shares the
longest prefix, copies it, crops it to the shared part and returns it; stored caches are never
changed. A layer that grows by concatenation is copied shallowly, because concatenation makes new
tensors: a fork costs microseconds and shares memory. Other layers (linear attention updates in
place) are copied deeply. `crop(-n)` of transformers 5 drops the last n tokens, while version 4 took
the length to keep. Three kinds of layer differ:

- Full attention can be cropped to any length.
- A sliding window discards old keys, and then `crop` raises. They are kept if *recording* is
  switched on before the first token. But `crop` itself then trims the layer to its window, and a
  second, deeper crop would lack keys. So an entry remembers its ``floor``, the shortest length to
  which it can still be cropped.
- Linear attention holds a sum that cannot be undone, so its entry serves only longer texts.
  Several entries are kept, so that a step or two back is usually still cached.

A static cache is not among them, because its tensors are written in place, which a fork would see.
Where a GPU replays steps, `explorer.decoding.models.static` reads instead. An entry holds the
key-values of its text; at most `ENTRIES` are kept. With recording, a sliding window saves no
memory.
"""

# transformers is typed loosely: its models, tokenizers and caches are `Any` for a checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, cast

import torch
from torch import Tensor
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionCacheLayerMixin,
)

from explorer.arguments import check_whole_characters
from explorer.decoding.models.chat import chat_ids
from explorer.decoding.models.model import Message, Prompt, Reading
from explorer.decoding.models.static import StaticBatch, StaticBatches, common
from explorer.errors import ContextFull, ExplorerError
from explorer.vocabulary import Vocabulary

ENTRIES: Final = 8
"""The number of caches that are kept."""

_GROW_BY_CONCATENATION: Final = (DynamicLayer, DynamicSlidingWindowLayer)


@dataclass(frozen=True, eq=False)
class CacheEntry:
    """The stored cache of a text.

    Args:
        cache: The key-values of ``tokens``; must not be changed.
        floor: The shortest length to which ``cache`` can be cropped.
    """

    tokens: tuple[int, ...]
    cache: Cache
    floor: int


@dataclass(frozen=True, eq=False)
class Start:
    """A cache from which a model can continue reading, with the number of tokens in it.

    Args:
        note: The reason why it is shorter than the prefix shared with an earlier text; else empty.
    """

    cache: Cache
    length: int
    floor: int
    note: str = ""


def fork(cache: Cache) -> Cache:
    """A copy that can be extended and cropped without changing the original."""
    twin = copy.copy(cache)
    twin.layers = [
        copy.copy(layer) if type(layer) in _GROW_BY_CONCATENATION else copy.deepcopy(layer)
        for layer in cache.layers
    ]
    return twin


def why_not_croppable(cache: Cache) -> str:
    """The reason why a cache cannot be cropped, as a noun phrase; empty if it can."""
    for layer in cache.layers:
        # A convolution without a recurrent state claims to be croppable, but then its first tokens
        # are not padded, which changes the model's results.
        if isinstance(layer, LinearAttentionCacheLayerMixin):
            return "linear attention"
        recording: bool = getattr(layer, "record_past", False)
        if layer.is_croppable and getattr(layer, "is_sliding", False) and not recording:
            return "a sliding window without recording"
        if not layer.is_croppable:
            return f"a {type(layer).__name__}"
    return ""


def _window(cache: Cache) -> int | None:
    """The shortest sliding window among the layers."""
    sizes = [
        int(layer.sliding_window)
        for layer in cache.layers
        if isinstance(layer, DynamicSlidingWindowLayer)
    ]
    return min(sizes, default=None)


class KeyValues:
    """The store of caches.

    Not thread-safe: its owner holds a lock.
    """

    def __init__(self, empty: Callable[[], Cache]) -> None:
        self._empty = empty
        self._entries: list[CacheEntry] = []  # The least recently used first.

    def __len__(self) -> int:
        """The number of stored caches."""
        return len(self._entries)

    def start(self, tokens: Sequence[int]) -> Start:
        """The longest cached prefix of some ids; at least the last id is left to read."""
        best: tuple[int, CacheEntry] | None = None
        most_shared = 0
        for entry in self._entries:
            shared = min(common(entry.tokens, tokens), len(tokens) - 1)
            most_shared = max(most_shared, shared)
            # An entry can be cropped to any length from its floor on.
            if shared >= entry.floor and (best is None or shared >= best[0]):
                best = (shared, entry)
        if best is None or best[0] == 0:
            note = ""
            if most_shared:
                reason = why_not_croppable(self._entries[-1].cache) or "an earlier crop"
                note = f"The cache cannot be cropped ({reason}): {len(tokens)} tokens read again."
            return Start(self._fresh(), 0, 0, note)
        length, entry = best
        self._entries.remove(entry)
        self._entries.append(entry)
        twin = fork(entry.cache)
        floor = entry.floor
        if drop := len(entry.tokens) - length:
            twin.crop(-drop)
            window = _window(twin)
            if window is not None and len(entry.tokens) >= window:
                floor = length
        note = ""
        if length < most_shared:
            note = (
                f"The cache cannot be cropped to {most_shared} tokens: "
                f"{len(tokens) - length} tokens read again."
            )
        return Start(twin, length, floor, note)

    def keep(self, tokens: Sequence[int], cache: Cache, floor: int) -> None:
        """Store the cache of a text.

        Args:
            cache: The key-values of ``tokens``, owned by the store from now on.
        """
        path = tuple(tokens)
        if why_not_croppable(cache):
            floor = len(path)
        # Entries to which the new one can be cropped are redundant.
        self._entries = [
            entry
            for entry in self._entries
            if not (floor <= entry.floor and path[: len(entry.tokens)] == entry.tokens)
        ]
        self._entries.append(CacheEntry(path, cache, floor))
        del self._entries[:-ENTRIES]

    def _fresh(self) -> Cache:
        cache = self._empty()
        for layer in cache.layers:
            linear = isinstance(layer, LinearAttentionCacheLayerMixin)
            if isinstance(layer, DynamicSlidingWindowLayer) and not linear:
                layer.activate_past_recording()
        return cache


class HuggingFaceModel:
    """A causal language model of transformers.

    Args:
        model: A model with a language-modelling head, on its device, in evaluation mode.
        tokenizer: Its fast tokenizer.
        name: By default the tokenizer's name or path.
        vocabulary: By default read from the tokenizer, with the ends of text of the tokenizer and
            of the generation config.

    Raises:
        UnsupportedTokenizer: The bytes of the tokens cannot be known exactly.
        VocabularyError: No end of text is known, or the logits hold none of them.
    """

    def __init__(
        self, model: Any, tokenizer: Any, name: str = "", vocabulary: Vocabulary | None = None
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._name = name or str(tokenizer.name_or_path) or type(model).__name__
        self._config: Any = model.config.get_text_config(decoder=True)
        head = model.get_output_embeddings()
        self._width = int(self._config.vocab_size if head is None else head.weight.shape[0])
        if vocabulary is None:
            ends = end_ids(tokenizer, model)
            vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_ids=ends or None)
        self._vocabulary = vocabulary.with_width(self._width)
        parameters = inspect.signature(model.forward).parameters
        self._takes_cache = "past_key_values" in parameters
        self._takes_positions = "position_ids" in parameters
        self._last_only: dict[str, Any] = (
            {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        )
        self._key_values = KeyValues(self._empty_cache)
        self.static = StaticBatches(
            model, self._forward, self._name, self._width, self._check_longest
        )
        """The buffers for steps that are replayed, and the reason if they are not."""
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The model's name in a trace."""
        return self._name

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary, cut to the width of the logits."""
        return self._vocabulary

    @property
    def width(self) -> int:
        """The number of logits, often larger than the number of tokens."""
        return self._width

    @property
    def device(self) -> torch.device:
        """The device of the logits: the model's, or the CPU for one on an Apple GPU.

        Draws are summed in double precision, which Apple's GPUs do not have; a copy of a row in
        their shared memory costs less than a step.
        """
        device = torch.device(self._model.device)
        return torch.device("cpu") if device.type == "mps" else device

    @property
    def model(self) -> Any:
        """The model of transformers itself, for `generate` and the like."""
        return self._model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers itself."""
        return self._tokenizer

    @property
    def max_length(self) -> int | None:
        """The longest readable text in tokens, prompt included; ``None`` if unknown."""
        length = getattr(self._config, "max_position_embeddings", None)
        return int(length) if isinstance(length, int) and length > 0 else None

    def __repr__(self) -> str:
        kind = type(self._model).__name__
        return f"HuggingFaceModel({self._name!r}, {kind}, {self._width:,} logits, {self.device})"

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids to read before the first token; see `LanguageModel.encode_prompt`.

        Args:
            prompt: A text, or messages for the chat template.

        Raises:
            ExplorerError: The tokenizer has no chat template, its template refuses the messages,
                or an empty prompt leaves the model nothing to read.
        """
        if isinstance(prompt, str):
            ids = self._encode_text(prompt)
        else:
            ids = chat_ids(self._tokenizer, self._name, cast("Sequence[Message]", prompt))
        return self._within(ids)

    def prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> tuple[int, ...]:
        """The ids of a conversation, rendered by the model's chat template.

        `explorer.Session` and `explorer.generate` accept them as a prompt. The template runs in
        the sandbox of transformers. Text that looks like a control token becomes that token, so
        check untrusted messages first.

        Args:
            messages: ``{"role": "user", "content": "..."}`` and so on, with any further keys that
                the template reads, such as ``tool_calls`` and ``reasoning_content``.
            tools: OpenAI's ``tools``, for a template that lists them.
            template: The name of a template, if the tokenizer has several.
            add_generation_prompt: Whether the model speaks next: the beginning of its turn is
                appended, or, if the last message is the assistant's, that message stays open and
                is continued.

        Raises:
            ExplorerError: The tokenizer has no chat template, or none of that name; the template
                refuses the messages; or an argument is of the wrong type.

        Example:
            >>> import explorer
            >>> lm = explorer.load_model("tiny-chat")
            >>> ids = lm.prompt([{"role": "user", "content": "What is the capital of France?"}])
            >>> lm.tokenizer.decode(ids[-5:])
            '<|im_start|>assistant\\n'
            >>> explorer.Session(lm, explorer.choice([" Yes", " No"]), ids).run().finished
            True
        """
        ids = chat_ids(
            self._tokenizer, self._name, messages, tools, template, add_generation_prompt
        )
        return self._within(ids)

    def _within(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The ids of a prompt, if the model can read all of them."""
        outside = [token for token in ids if not 0 <= token < self._width]
        if outside:
            raise ExplorerError(
                f"The prompt holds the token {outside[0]}, but the model reads {self._width:,}.",
                remedy="Check that the tokenizer belongs to the model.",
                evidence={"token": outside[0], "width": self._width},
            )
        return ids

    def read(self, tokens: Sequence[int]) -> Reading:
        """The next-token logits after exactly these ids; see `LanguageModel.read`.

        Args:
            tokens: At least one id.

        Raises:
            ExplorerError: There is no id, or there are more than the model can read.
        """
        self._check_length([tokens])
        with self._lock, torch.no_grad():
            if not self._takes_cache:
                ids = self._tensor([tokens])
                logits = self._forward(input_ids=ids, use_cache=False, **self._last_only).logits
                note = f"This model keeps no key-values: {len(tokens)} tokens read again."
                return Reading(logits[0, -1].to(self.device, torch.float32), len(tokens), note)
            if (known := self.static.read(tokens, 1)) is not None:
                return Reading(known[0][0], known[1])
            start = self._key_values.start(tokens)
            rest = self._tensor([tokens[start.length :]])
            output = self._forward(
                input_ids=rest, past_key_values=start.cache, use_cache=True, **self._last_only
            )
            self._key_values.keep(tokens, start.cache, start.floor)
            # A copy, because a view of the last row would keep the whole output alive.
            logits = output.logits[0, -1].to(self.device, torch.float32, copy=True)
        return Reading(logits, len(tokens) - start.length, start.note)

    def read_run(self, tokens: Sequence[int], count: int) -> list[Reading]:
        """The logits after the last prefixes in one forward pass; see `RunLanguageModel.read_run`.

        Args:
            tokens: At least ``count`` ids.
            count: The number of prefixes.

        Raises:
            ExplorerError: There are more ids than the model can read.
        """
        self._check_length([tokens])
        some: dict[str, Any] = {"logits_to_keep": count} if self._last_only else {}
        with self._lock, torch.no_grad():
            if (known := self.static.read(tokens, count)) is not None:
                rows, computed, note = *known, ""
            elif not self._takes_cache:
                ids = self._tensor([tokens])
                rows = self._forward(input_ids=ids, use_cache=False, **some).logits[0, -count:]
                computed, note = len(tokens), ""
            else:
                start = self._key_values.start(tokens[: len(tokens) - count + 1])
                rest = self._tensor([tokens[start.length :]])
                output = self._forward(
                    input_ids=rest, past_key_values=start.cache, use_cache=True, **some
                )
                self._key_values.keep(tokens, start.cache, start.floor)
                rows = output.logits[0, -count:]
                computed, note = len(tokens) - start.length, start.note
            logits = [row.to(self.device, torch.float32, copy=True) for row in rows]
        # The first reading reports the tokens of the whole pass.
        return [Reading(row, 0 if k else computed, note) for k, row in enumerate(logits)]

    def read_each(self, tokens: Sequence[int], following: Sequence[int]) -> Tensor:
        """The logits after each of several next ids; see `EachLanguageModel.read_each`.

        Cached key-values of ``tokens`` are used, and nothing new is cached. The lock is not held
        during the pass.

        Raises:
            ExplorerError: There are more ids than the model can read.
        """
        if not self._takes_cache:
            return self.batch([[*tokens, token] for token in following]).logits
        self._check_length([[*tokens, 0]])
        with self._lock:  # At least the id of the next token is left to read.
            known = self.static.start([*tokens, following[0]])
            if known is None:
                start = self._key_values.start([*tokens, following[0]])
                known = start.cache, start.length
        cache, length = known
        with torch.no_grad():
            if length < len(tokens):
                rest = self._tensor([tokens[length:]])
                self._forward(
                    input_ids=rest, past_key_values=cache, use_cache=True, **self._last_only
                )
            column = self._tensor([[token] for token in following])
            if tokens:
                rows = torch.zeros(len(following), dtype=torch.int64, device=self._model.device)
                cache.reorder_cache(rows)  # pyright: ignore[reportArgumentType] - Any tensor will do.
            output = self._forward(
                input_ids=column, past_key_values=cache, use_cache=True, **self._last_only
            )
        return output.logits[:, -1].to(self.device, torch.float32)

    def batch(self, prompts: Sequence[Sequence[int]]) -> HuggingFaceBatch:
        """Read several prompts in one batch; see `BatchedLanguageModel.batch`.

        Args:
            prompts: The ids of each row; shorter ones are padded on the left, with a mask.

        Raises:
            ExplorerError: There is no row, or one is empty or too long.
        """
        if not prompts:
            raise ExplorerError("A batch of no prompts has no logits.", remedy="Give one or more.")
        self._check_length(prompts)
        return HuggingFaceBatch(
            self._forward,
            prompts,
            self._empty_cache() if self._takes_cache else None,
            takes_positions=self._takes_positions,
            last_only=self._last_only,
            check=self._check_longest,
            devices=(self._model.device, self.device),
        )

    def static_batch(
        self, prompts: Sequence[Sequence[int]], more: int
    ) -> AbstractContextManager[StaticBatch | None]:
        """Read several prompts into fixed buffers; see `ReplayingLanguageModel.static_batch`.

        Raises:
            ExplorerError: There is no row, or one is empty or too long.
        """
        self._check_length(prompts)
        return self.static.lent(prompts, more)

    def _forward(self, **inputs: Any) -> Any:
        """Run the model's own forward pass, and convert its errors."""
        try:
            return self._model(**inputs)
        # A model with a faulty configuration may build but fail to run.
        except Exception as error:
            reason = str(error).strip().partition("\n")[0].rstrip(" .:") or type(error).__name__
            raise ExplorerError(
                f"The model {self._name!r} failed at reading {inputs['input_ids'].numel():,} "
                f"tokens: {reason}.",
                remedy="Check its config.json and the memory that is left; the cause is above.",
                evidence={"model": self._name, "error": type(error).__name__},
            ) from error

    def _empty_cache(self) -> Cache:
        return DynamicCache(config=self._model.config)

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        device = self._model.device
        return torch.tensor([list(row) for row in rows], dtype=torch.int64, device=device)

    def _check_length(self, rows: Sequence[Sequence[int]]) -> None:
        shortest, longest = min(map(len, rows)), max(map(len, rows))
        if not shortest:
            raise ExplorerError(
                "The model cannot say what comes first in an empty text.",
                remedy="Give a prompt of at least one token.",
            )
        self._check_longest(longest)

    def _check_longest(self, longest: int) -> None:
        if self.max_length is not None and longest > self.max_length:
            raise ContextFull(
                f"The text has {longest:,} tokens; {self._name} reads at most {self.max_length:,}.",
                remedy="Shorten the prompt, or set max_tokens so that the text ends before.",
                evidence={"tokens": longest, "limit": self.max_length},
            )

    def _encode_text(self, text: str) -> tuple[int, ...]:
        check_whole_characters("The prompt", text)
        plain: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        dressed: list[int] = self._tokenizer.encode(text, add_special_tokens=True)
        before = _before(plain, dressed)
        if before is None:
            return tuple(dressed)  # The added tokens also change the text's own tokens.
        if before and plain[: len(before)] == before:
            before = []  # The text itself begins with them.
        ids = (*before, *plain)
        if ids:
            return ids
        # An empty prompt, and a tokenizer without a begin token: an end of text also separates
        # texts, so it can precede a new one.
        for name in ("bos_token_id", "eos_token_id"):
            token = getattr(self._tokenizer, name, None)
            if isinstance(token, int):
                return (token,)
        raise ExplorerError(
            "The prompt is empty, and this tokenizer has no token that begins a text.",
            remedy="Give a prompt of at least one character.",
        )


def end_ids(tokenizer: Any, model: Any) -> tuple[int, ...]:
    """The ids that end a text, by the tokenizer and by the generation config."""
    declared = [tokenizer.eos_token_id]
    if model.generation_config is not None:
        declared.append(model.generation_config.eos_token_id)
    ends: set[int] = set()
    for entry in declared:
        listed: Iterable[Any] = entry if isinstance(entry, list | tuple) else [entry]
        ends.update(int(token) for token in listed if token is not None)
    return tuple(sorted(ends))


def _before(plain: list[int], dressed: list[int]) -> list[int] | None:
    """The special tokens that a tokenizer puts before a text; ``None`` if it rewrites the text."""
    for start in range(len(dressed) - len(plain) + 1):
        if dressed[start : start + len(plain)] == plain:
            # For an empty text, only the first special token is taken as the one before it.
            return dressed[:start] if plain else dressed[:1]
    return None


class HuggingFaceBatch:
    """A batch of growing texts; made by `HuggingFaceModel.batch`.

    Args:
        cache: An empty dynamic cache; ``None`` for a model without one.
        takes_positions: Whether the model takes position ids, which padding shifts.
        devices: The device of the model, and that of the logits.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        prompts: Sequence[Sequence[int]],
        cache: Cache | None,
        *,
        takes_positions: bool,
        last_only: dict[str, Any],
        check: Callable[[int], None],
        devices: tuple[torch.device, torch.device],
    ) -> None:
        self._check = check
        device, self._logits_device = devices
        self._forward = forward
        self._cache = cache
        self._takes_positions = takes_positions
        self._last_only = last_only
        self._lengths = [len(row) for row in prompts]
        width = max(self._lengths)
        padded = [[0] * (width - len(row)) + list(row) for row in prompts]
        seen = [[0] * (width - len(row)) + [1] * len(row) for row in prompts]
        self._ids = torch.tensor(padded, dtype=torch.int64, device=device)
        self._seen = torch.tensor(seen, dtype=torch.int64, device=device)
        self._positions = (self._seen.cumsum(-1) - 1).clamp(min=0)
        self._logits = self._read(self._ids)

    @property
    def logits(self) -> Tensor:
        """The next-token logits of each row, float32[B, W]."""
        return self._logits

    def step(self, tokens: Tensor) -> Tensor:
        """Read one more token in each row without waiting for the device; see `Batch.step`."""
        column = tokens.reshape(-1, 1).to(self._ids.device)
        self._append(column, torch.ones_like(column), [1] * len(self._lengths))
        self._logits = self._read(column)
        return self._logits

    def branch(self, rows: Sequence[int]) -> HuggingFaceBatch:
        """A new batch that continues some rows; see `BranchingBatch.branch`."""
        twin = copy.copy(self)
        chosen = torch.tensor(list(rows), dtype=torch.int64, device=self._ids.device)
        twin._lengths = [self._lengths[row] for row in rows]
        twin._ids, twin._seen = self._ids[chosen], self._seen[chosen]
        twin._positions = self._positions[chosen]
        twin._logits = self._logits[chosen.to(self._logits_device)]
        if self._cache is not None:
            twin._cache = fork(self._cache)
            twin._cache.reorder_cache(chosen)  # pyright: ignore[reportArgumentType] - Any tensor will do.
        return twin

    @property
    def reads_runs(self) -> bool:
        """Whether rows can be extended by different numbers of tokens; see `RunBatch`.

        Shorter runs are padded, and the padding is masked. A sliding window would count the
        padding, so a batch must then have one row; linear attention would even read it.
        """
        if self._cache is None or not self._takes_positions:
            return False
        kinds = {type(layer) for layer in self._cache.layers}
        if len(self._lengths) == 1:
            return kinds <= {DynamicLayer, DynamicSlidingWindowLayer}
        return kinds == {DynamicLayer}

    def extend(self, runs: Sequence[Sequence[int]], every: bool) -> Tensor:
        """Read a run of tokens in each row; see `RunBatch.extend`."""
        width = max(map(len, runs))
        if not width:
            return self._logits[:, None]
        device = self._ids.device
        ids = [[0] * (width - len(run)) + list(run) for run in runs]
        seen = [[0] * (width - len(run)) + [1] * len(run) for run in runs]
        columns = torch.tensor(ids, dtype=torch.int64, device=device)
        self._append(
            columns,
            torch.tensor(seen, dtype=torch.int64, device=device),
            [len(run) for run in runs],
        )
        logits = self._read_last(columns, width if every else 1)
        empty = torch.tensor([not run for run in runs], device=self._logits_device)
        self._logits = torch.where(empty[:, None], self._logits, logits[:, -1])
        return torch.cat([logits[:, :-1], self._logits[:, None]], dim=1)

    def _append(self, columns: Tensor, seen: Tensor, counts: Sequence[int]) -> None:
        lengths = [a + b for a, b in zip(self._lengths, counts, strict=True)]
        self._check(max(lengths))
        self._lengths = lengths
        places = self._positions[:, -1:] + seen.cumsum(-1)
        self._seen = torch.cat([self._seen, seen], dim=-1)
        self._positions = torch.cat([self._positions, places], dim=-1)
        if self._cache is None:
            self._ids = torch.cat([self._ids, columns], dim=-1)

    def _read(self, ids: Tensor) -> Tensor:
        if self._cache is None:
            ids = self._ids
        return self._read_last(ids, 1)[:, -1]

    def _read_last(self, ids: Tensor, count: int) -> Tensor:
        """The logits after the last ``count`` tokens, float32[B, count, W]."""
        more: dict[str, Any] = {name: count for name in self._last_only}
        if self._takes_positions:
            more["position_ids"] = self._positions[:, -ids.shape[1] :]
        if self._cache is not None:
            more["past_key_values"] = self._cache
        with torch.no_grad():
            output = self._forward(
                input_ids=ids,
                attention_mask=self._seen,
                use_cache=self._cache is not None,
                **more,
            )
        return output.logits[:, -count:].to(self._logits_device, torch.float32)
