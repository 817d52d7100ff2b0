"""The settings that all tests share: the number of examples, and the tokenizers to find.

`EXPLORER_LONG_EXAMPLES` raises the number of Hypothesis examples per property (``make test-long``);
`EXPLORER_TOKENIZERS` names a folder with further real tokenizers.
"""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

import explorer
from tests.evidence import LONG, SHORT

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
    # A script of pynini's, which is run and never imported, and a benchmark beside it.
    collect_ignore = ["languages/grammar/algorithm_three.py", "bench/constructions.py"]


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
