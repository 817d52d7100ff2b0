"""A model is found or it is said where it was looked for; nothing that is found is executed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.load import TINY, load_model
from explorer.decoding.models.tiny import FOLDER
from explorer.errors import ExplorerError
from tests.decoding.models import language_model

needs_tiny = pytest.mark.skipif(
    not (FOLDER / "model.safetensors").is_file(), reason="the tiny model is not trained here"
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model in the form of `save_pretrained`."""
    made = language_model("llama")
    made.model.save_pretrained(tmp_path)
    made.tokenizer.save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No network, and an empty cache."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_folder_gives_the_model_that_was_saved(saved: Path) -> None:
    made, known = load_model(saved), language_model("llama")
    tokens = known.encode_prompt("yes, the fox")
    assert made.encode_prompt("yes, the fox") == tokens
    assert torch.allclose(made.read(tokens).logits, known.read(tokens).logits, rtol=0, atol=1e-5)
    assert made.vocabulary == known.vocabulary
    assert made.name == saved.name


def test_the_ends_are_those_of_tokenizer_and_generation_config(saved: Path) -> None:
    assert load_model(saved).vocabulary.eos_ids == (1, 2)
    path = saved / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": 2}))
    assert load_model(saved).vocabulary.eos_ids == (1, 2)
    path.write_text(json.dumps({"eos_token_id": 1}))
    assert load_model(saved).vocabulary.eos_ids == (1,)


def test_dtype_and_device(saved: Path) -> None:
    half = load_model(saved, device="cpu", dtype="bfloat16")
    assert half.model.dtype == torch.bfloat16
    assert half.read([5, 6]).logits.dtype == torch.float32
    assert load_model(saved, dtype=torch.float64).model.dtype == torch.float64
    assert load_model(saved).device.type == ("cuda" if torch.cuda.is_available() else "cpu")
    wrong: Any = "float8"
    with pytest.raises(ExplorerError, match="no dtype"):
        load_model(saved, dtype=wrong)
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(ExplorerError, match="cannot be used"):
            load_model(saved, device=device)


def test_a_pickle_is_refused_before_it_is_opened(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    (saved / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ExplorerError, match=r"pytorch_model\.bin, a pickle"):
        load_model(saved)


def test_no_weights_and_lacking_shards(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    with pytest.raises(ExplorerError, match="has no weights"):
        load_model(saved)
    index = saved / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2"}}))
    with pytest.raises(ExplorerError, match="lacks 2 of 2 files"):
        load_model(saved)
    index.write_text("[]")
    with pytest.raises(ExplorerError, match="not the index"):
        load_model(saved)


@pytest.mark.parametrize("damaged", ["config.json", "model.safetensors", "tokenizer.json"])
def test_damaged_files_give_one_clear_error(saved: Path, damaged: str) -> None:
    (saved / damaged).write_bytes(b"\x00\x01")
    with pytest.raises(ExplorerError, match="cannot be loaded") as caught:
        load_model(saved)
    assert str(saved) in str(caught.value) and '"tiny"' in str(caught.value)


def test_code_beside_a_model_does_not_run_unasked(saved: Path) -> None:
    path = saved / "config.json"
    config = json.loads(path.read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"},
    }
    path.write_text(json.dumps(config))
    ran = saved / "ran"
    (saved / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: pass\n")
    with pytest.raises(ExplorerError, match="cannot be loaded"):
        load_model(saved)
    assert not ran.exists()


def test_a_missing_name_says_what_was_looked_for_and_where(offline: Path) -> None:
    for name in ("no-such/model", "nosuchmodel"):
        with pytest.raises(ExplorerError) as caught:
            load_model(name)
        text = str(caught.value)
        assert repr(name) in text and str(offline) in text and 'load_model("tiny")' in text
    for name in ("/no/such/folder", "./nothing", "a/b/c", "", "what is this"):
        with pytest.raises(ExplorerError, match="no folder") as caught:
            load_model(name)
        assert 'load_model("tiny")' in str(caught.value)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"holds no config\.json"):
        load_model(tmp_path)


def test_a_model_in_the_cache_is_found_without_a_network(saved: Path, offline: Path) -> None:
    commit = "0" * 40
    snapshot = offline / "models--some--model" / "snapshots" / commit
    refs = offline / "models--some--model" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text(commit)
    shutil.copytree(saved, snapshot, ignore=shutil.ignore_patterns("cache"))
    made = load_model("some/model")
    assert made.name == "some/model"
    assert made.vocabulary == language_model("llama").vocabulary


@needs_tiny
def test_the_embedded_model() -> None:
    made = load_model("tiny")
    assert isinstance(made, HuggingFaceModel) and made.name == TINY
    assert made.width > len(made.vocabulary)
    said = made.read(made.encode_prompt("The capital of France is"))
    assert made.vocabulary.tokens[int(said.logits.argmax())] == b" Paris"
