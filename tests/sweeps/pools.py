"""Models and tasks for other processes; a function that is sent there must be found by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explorer.decoding.models.model import Prompt, Reading
from tests.decoding.models import hash_model

DEADLY = "tests_sweeps_deadly"
"""The variable that names a folder: the first process to read a prompt 'die' dies, once a file."""


def opened() -> Any:
    """The hash model; each process that opens it leaves a file, where a folder is named."""
    folder = os.environ.get(DEADLY)
    if folder:
        (Path(folder) / f"opened-{os.getpid()}").open("x").close()
    return hash_model()


class Deadly:
    """A model whose process dies when it reads a prompt."""

    name = "deadly"
    vocabulary = hash_model().vocabulary

    def __init__(self, times: int) -> None:
        self._times = times

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        if prompt == "die":
            for k in range(self._times):
                mark = Path(os.environ[DEADLY]) / f"died-{k}"
                if not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
        return hash_model().encode_prompt(prompt)

    def read(self, tokens: Sequence[int]) -> Reading:
        return hash_model().read(tokens)


def dies_once() -> Any:
    return Deadly(1)


def dies_always() -> Any:
    return Deadly(10**6)
