"""Real tokenizers for the tests: mistral-common's package data, and a folder of further ones."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import pytest
from tokenizers import Tokenizer


@pytest.fixture(scope="session")
def mistral_data() -> Path:
    """mistral-common's package data: SentencePiece with byte fallback, and Tekken."""
    return Path(str(resources.files("mistral_common"))) / "data"


@pytest.fixture(scope="session")
def sentencepiece_path(mistral_data: Path) -> Path:
    return mistral_data / "mistral_instruct_tokenizer_240323.model.v3"


@pytest.fixture(scope="session")
def tekken_path(mistral_data: Path) -> Path:
    return mistral_data / "tekken_240911.json"


@pytest.fixture(scope="session")
def further() -> Path:
    """The folder of further real tokenizers."""
    folder = os.environ.get("EXPLORER_TOKENIZERS")
    if not folder:
        pytest.skip("EXPLORER_TOKENIZERS names no folder of further tokenizers")
    return Path(folder)


@pytest.fixture(scope="session")
def neox(further: Path) -> Tokenizer:
    return Tokenizer.from_file(str(further / "gpt-neox" / "tokenizer.json"))


@pytest.fixture(scope="session")
def bert(further: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BERT's vocabulary with the configuration that says how its tokenizer cuts text."""
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_bytes((further / "bert-base-uncased/vocab.txt").read_bytes())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return folder
