"""Real vocabularies for the token machines: they come with `mistral-common`."""

from __future__ import annotations

from importlib.resources import files

import pytest

import explorer


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
