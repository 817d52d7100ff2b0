"""A step over fixed buffers that a GPU replays without Python.

Launching a decoding step operation by operation costs more than the step: a model of a billion
weights takes 13 ms a step that way on an H200, and 2.5 ms if the step was captured in a CUDA graph
once and is replayed. A step can be captured if it reads and writes the same tensors each time and
asks for no number on the host.

The first calls run as they are: they are real steps, and they warm up what the capture may not
allocate. The next call is captured and replayed from then on. A step that cannot be captured runs
as it is, and `refusal` says why. On other devices every step does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch

_WARM_UP: Final = 2


class Replayed:
    """A step without arguments and results, captured after its first calls.

    Args:
        step: Reads and writes the same tensors each time, and leaves no other trace.
        device: The device of those tensors.

    Example:
        >>> count = torch.zeros(1)
        >>> step = Replayed(lambda: count.add_(1), torch.device("cpu"))
        >>> step(), step(), count.item()
        (None, None, 2.0)
    """

    def __init__(self, step: Callable[[], object], device: torch.device) -> None:
        self._step, self._device = step, device
        self._graph: torch.cuda.CUDAGraph | None = None
        self._calls = 0
        self.refusal = "" if device.type == "cuda" else f"{device.type} has no graphs"
        """The reason why the step is not captured; empty if it was or may still be."""

    def __call__(self) -> None:
        """Take the step."""
        self._calls += 1
        if self._graph is None and not self.refusal and self._calls > _WARM_UP:
            self._capture()
        if self._graph is not None:
            self._graph.replay()
        elif self.refusal:
            self._step()
        else:
            self._on_side_stream()

    def _on_side_stream(self) -> None:
        """Run the step on a stream of its own, as a capture requires of the steps before it."""
        side, here = torch.cuda.Stream(self._device), torch.cuda.current_stream(self._device)
        side.wait_stream(here)
        with torch.cuda.stream(side):
            self._step()
        here.wait_stream(side)

    def _capture(self) -> None:
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream(self._device)
        try:
            # Other threads of a notebook may go on allocating meanwhile.
            with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
                self._step()
        except Exception as error:  # A model's own code may raise anything when it is captured.
            cause = error.__cause__ or error
            self.refusal = str(cause).strip().partition("\n")[0] or type(cause).__name__
            return
        self._graph = graph
