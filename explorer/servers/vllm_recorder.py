"""A logits processor that records vLLM's output and masks; a standalone file.

Copy it beside your server, or name it by its full path: it imports nothing of this package, and
vLLM only where it is installed. Each run becomes a line of JSON, which ``explorer why --run FILE``
reads: the prompt's ids, the ids that were written, and for each of them its log-probability, the
likeliest alternatives, and the number of ids that the mask left.

It is a ``LogitsProcessor`` class of vLLM 1, checked against 0.33::

    EXPLORER_RECORD=runs.jsonl vllm serve MODEL \\
        --logits-processors explorer.servers.vllm_recorder:RunRecorder

    LLM(model=MODEL, logits_processors=[RunRecorder])          # offline

vLLM applies the mask of a grammar before it calls logits processors. So the log-probabilities are
those under the mask, like the ones that vLLM reports, before temperature and filters. A recorder
changes no logits. It still declares that it is not argmax-invariant, because vLLM skips
argmax-invariant processors where every request is greedy.

A run is written when its request leaves the batch, which vLLM reports with the next request, or at
the end of the process. A token is known when the next one is asked for; the last token of a run
written at the end of the process may be missing, and the line says so (``"ended": false``).

Cost: for each step a log-softmax of the batch's logits and, for each request, a copy of one number
and of the likeliest few to the host, which waits for the device. Not for production traffic.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

KIND = "vllm recorder"
VERSION = 1
PATH_VARIABLE = "EXPLORER_RECORD"
"""The environment variable that names the file; default ``runs.jsonl`` in the current folder."""

TOP = 5
"""The number of likeliest tokens of each step that are recorded."""

_LOCK = threading.Lock()


def _base() -> type:
    """vLLM's abstract class where it is installed, so that the engine accepts a subclass."""
    if find_spec("vllm") is None:
        return object
    return import_module("vllm.v1.sample.logits_processor.interface").LogitsProcessor


_Base: Any = _base()


@dataclass
class RecordedRun:
    """One request while it runs.

    Args:
        request: The constraint of the request, as vLLM's parameters have it.
        prompt_ids: The ids of the prompt, where they are known.
        output_ids: The ids so far; vLLM goes on writing into this list.
        model: The model's name.
    """

    request: Mapping[str, Any]
    prompt_ids: Sequence[int] | None
    output_ids: Sequence[int]
    model: str | None = None
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    log_probs: Tensor | None = None

    def see(self, log_probs: Tensor) -> None:
        """Record the step whose token is drawn next.

        Args:
            log_probs: float[W], of this request, under the mask.
        """
        self.settle()
        finite = log_probs.isfinite()
        count = min(TOP, int(finite.sum()))
        values, ids = log_probs.topk(count)
        top = [[int(token), float(value)] for token, value in zip(ids, values, strict=True)]
        self.steps.append({"num_allowed": int(finite.sum()), "top": top, "log_prob": None})
        self.log_probs = log_probs

    def settle(self) -> None:
        """Set the log-probability of the last step's token, if the token is known by now."""
        index = len(self.steps) - 1
        if self.log_probs is None or index < 0 or index >= len(self.output_ids):
            return
        token = self.output_ids[index]
        if 0 <= token < self.log_probs.shape[-1]:  # -1 is a token that is not known yet.
            value = float(self.log_probs[token])
            self.steps[index]["log_prob"] = value if value > -1e30 else None
            self.log_probs = None

    def line(self, *, ended: bool) -> str:
        """The run as a line of JSON.

        Args:
            ended: Whether the request has left the batch.
        """
        self.settle()
        ids = [int(token) for token in self.output_ids]
        while ids and ids[-1] < 0:
            ids.pop()
        return json.dumps(
            {
                "kind": KIND,
                "version": VERSION,
                "model": self.model,
                "request": dict(self.request),
                "prompt_token_ids": None if self.prompt_ids is None else list(self.prompt_ids),
                "token_ids": ids,
                "steps": self.steps[: len(ids)],
                "ended": ended,
            }
        )


class RunFile:
    """The file that runs are added to, a line at a time.

    Args:
        path: The file; default that of `PATH_VARIABLE`.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path or os.environ.get(PATH_VARIABLE) or "runs.jsonl"

    def add(self, run: RecordedRun, *, ended: bool) -> None:
        """Write a run.

        Args:
            run: The run.
            ended: Whether its request has left the batch.
        """
        with _LOCK, open(self.path, "a", encoding="utf-8") as file:
            file.write(run.line(ended=ended) + "\n")


class RunRecorder(_Base):
    """vLLM 1: a recorder of every request of a batch.

    Args:
        vllm_config: vLLM's configuration; the model's name is read from it.
        device, is_pin_memory: Given by vLLM; not used.
    """

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        del device, is_pin_memory
        model = getattr(getattr(vllm_config, "model_config", None), "model", None)
        self.model = model if isinstance(model, str) else None
        self.file = RunFile()
        self.runs: dict[int, RecordedRun] = {}
        atexit.register(self.close)

    def is_argmax_invariant(self) -> bool:
        """False, so that vLLM calls it for greedy requests too."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the changes of the batch: first requests that left, then new ones, then moves.

        Args:
            batch_update: vLLM's ``BatchUpdate``, or ``None`` where nothing changed.
        """
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._end(index)
        for index, params, prompt_ids, output_ids in batch_update.added:
            self._end(index)  # A new request may take the place of an old one.
            asked = request_of(params)
            self.runs[index] = RecordedRun(asked, prompt_ids, output_ids, self.model)
        for first, second, direction in batch_update.moved:
            here, there = self.runs.pop(first, None), self.runs.pop(second, None)
            if here is not None:
                self.runs[second] = here
            if there is not None:
                if direction.name == "SWAP":
                    self.runs[first] = there
                else:
                    self.file.add(there, ended=True)

    def apply(self, logits: Tensor) -> Tensor:
        """Record the step of each request; the logits are returned unchanged.

        Args:
            logits: float[B, W], under the mask of each request.

        Returns:
            The same tensor.
        """
        if self.runs:
            log_probs = logits.float().log_softmax(-1)
            for index, run in self.runs.items():
                if index < len(log_probs):
                    run.see(log_probs[index].clone())
        return logits

    def close(self) -> None:
        """Write the runs that are still in the batch when the process ends."""
        for run in self.runs.values():
            self.file.add(run, ended=False)
        self.runs.clear()

    def _end(self, index: int) -> None:
        run = self.runs.pop(index, None)
        if run is not None:
            self.file.add(run, ended=True)


_ASKED: tuple[str, ...] = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


def request_of(params: Any) -> dict[str, Any]:
    """The constraint of vLLM's ``SamplingParams``, as the keys of a request.

    Args:
        params: The parameters of a request.
    """
    asked: dict[str, Any] = {}
    for name in ("structured_outputs", "guided_decoding"):
        given = getattr(params, name, None)
        values = {key: getattr(given, key, None) for key in (*_ASKED, *_OPTIONS)}
        values = {key: value for key, value in values.items() if value not in (None, False)}
        if values:
            asked[name] = values
    for name in ("temperature", "top_p", "top_k", "min_p", "seed", "max_tokens"):
        value = getattr(params, name, None)
        if isinstance(value, int | float):
            asked[name] = value
    return asked


_OPTIONS: tuple[str, ...] = ("disable_any_whitespace", "whitespace_pattern")
