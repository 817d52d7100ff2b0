"""The settings that all tests share: the number of examples, and the tokenizers to find.

`EXPLORER_LONG_EXAMPLES` raises the number of Hypothesis examples per property (``make test-long``);
`EXPLORER_TOKENIZERS` names a folder with further real tokenizers.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import explorer
from tests.evidence import LONG, SHORT

if TYPE_CHECKING:
    from jupyter_client.manager import KernelManager

# One thread per process: the workers share the cores, and two threads each would wait for theirs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline: on a busy machine a time limit per example tests the machine. Examples are drawn anew
# in a long run and repeatably in a short one, so that a failure of `make test` is one's own.
settings.register_profile(
    "short",
    deadline=None,
    max_examples=SHORT,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=LONG or SHORT,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("long" if LONG else "short")


if find_spec("pynini") is None:
    # A script of pynini's, which is run and never imported.
    collect_ignore = ["languages/grammar/algorithm_three.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and never look for it among what was collected.

    The tests and the libraries that they import are some millions of objects, which live to the
    end; each search for garbage would go through all of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """What was collected may go when the process ends; libraries complain where it stays."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def sentencepiece_32k() -> explorer.Vocabulary:
    """Mistral's SentencePiece vocabulary with byte fallback, 32,768 ids."""
    path = files("mistral_common") / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    return explorer.Vocabulary.from_file(str(path))


@pytest.fixture(scope="session")
def tekken_131k() -> explorer.Vocabulary:
    """Mistral's Tekken, byte-level BPE, 131,072 ids."""
    return explorer.Vocabulary.from_file(
        str(files("mistral_common") / "data" / "tekken_240911.json")
    )


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """One kernel for all notebooks: importing the libraries takes longer than a cell.

    Who runs a notebook in it removes the variables of the one before.
    """
    from jupyter_client.manager import KernelManager

    folder = tmp_path_factory.mktemp("kernel")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
            patch.setenv(f"JUPYTER_{name}", str(folder / name.lower()))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(cwd=str(folder))
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()
