"""A model is found or it is said where it was looked for; nothing that is found is executed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.errors import ExplorerError
from tests.decoding.models import SMALL, config, language_model, tokenizer


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
    with pytest.raises(ExplorerError, match="not a dtype"):
        load_model(saved, dtype=wrong)
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(ExplorerError, match="cannot be used"):
            load_model(saved, device=device)


def test_a_pickle_is_refused_before_it_is_opened(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    (saved / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ExplorerError, match=r"cannot be loaded: .*model\.safetensors"):
        load_model(saved)


def test_no_weights_and_lacking_shards(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    with pytest.raises(ExplorerError, match=r"cannot be loaded: .*model\.safetensors"):
        load_model(saved)
    index = saved / "model.safetensors.index.json"
    shards = {"metadata": {}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    for text in (json.dumps(shards), "[]", '{"weight_map": {}}'):
        index.write_text(text)
        with pytest.raises(ExplorerError, match="cannot be loaded"):
            load_model(saved)


@pytest.mark.parametrize("damaged", ["config.json", "model.safetensors", "tokenizer.json"])
def test_damaged_files_give_one_clear_error(saved: Path, damaged: str) -> None:
    (saved / damaged).write_bytes(b"\x00\x01" * 200_000)
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
    with pytest.raises(ExplorerError, match=r"code of its own .* not run") as caught:
        load_model(saved)
    assert "trust_remote_code=True" in caught.value.remedy and "auto_map" in caught.value.message
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


ARCHITECTURES: dict[str, Any] = {
    "gpt_neox": transformers.GPTNeoXConfig(
        vocab_size=448, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=256,
    ),
    "opt": transformers.OPTConfig(
        vocab_size=448, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=48,
        max_position_embeddings=256, word_embed_proj_dim=32,
    ),
    "qwen2": transformers.Qwen2Config(
        **{key: value for key, value in SMALL.items() if key != "head_dim"},
        tie_word_embeddings=True,
    ),
}  # fmt: skip


def save(kind: str, folder: Path) -> Any:
    """A random model of some architecture, in the form of `save_pretrained`."""
    settings = ARCHITECTURES.get(kind) or config(kind)
    settings.bos_token_id, settings.eos_token_id, settings.pad_token_id = 0, 1, 1
    torch.manual_seed(1)
    made = transformers.AutoModelForCausalLM.from_config(settings).eval()
    made.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return made


def change(folder: Path, **settings: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@pytest.mark.parametrize("trusted", [None, "no", "False", "never", 1, 0, np.True_, [True]])
def test_only_true_itself_runs_code(saved: Path, trusted: Any) -> None:
    with pytest.raises(ExplorerError, match="runs the Python code that comes with the model"):
        load_model(saved, trust_remote_code=trusted)


def test_code_runs_when_it_is_trusted(saved: Path) -> None:
    """So that the refusals above are not refusals of everything."""
    path = saved / "config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"auto_map": {"AutoConfig": "own.Own"}})
    )
    ran = saved / "ran"
    (saved / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Own: pass\n")
    load_model(saved)
    assert not ran.exists()
    with pytest.raises(ExplorerError):
        load_model(saved, trust_remote_code=True)
    assert ran.exists()


def sharded(folder: Path, name: object) -> None:
    """Give the weights another name, and an index that points there."""
    keys = list(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": dict.fromkeys(keys, name)})
    )


def test_shards_in_the_folder_are_read(saved: Path) -> None:
    sharded(saved, "a.safetensors")
    assert load_model(saved).vocabulary == language_model("llama").vocabulary


def test_no_pickle_and_no_kernel_is_opened(saved: Path) -> None:
    kept = (saved / "config.json").read_text()
    for setting in ({"transformers_weights": "own.bin"}, {"attn_implementation": "some/kernel"}):
        change(saved, **setting)
        with pytest.raises(ExplorerError, match=r"can be code: '(own\.bin|some/kernel)'"):
            load_model(saved)
        (saved / "config.json").write_text(kept)
    sharded(saved, "weights.bin")
    # It would be opened without a word.
    torch.save(load_file(saved / "a.safetensors"), saved / "weights.bin")
    with pytest.raises(ExplorerError, match=r"can be code: 'weights\.bin'"):
        load_model(saved)


def test_links_of_the_hugging_face_cache_are_followed(saved: Path, offline: Path) -> None:
    repository = offline / "models--some--model"
    snapshot, blobs = repository / "snapshots" / ("0" * 40), repository / "blobs"
    for folder in (snapshot, blobs, repository / "refs"):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    for k, path in enumerate(sorted(saved.iterdir())):
        if path.is_file():
            shutil.copy(path, blobs / f"{k:064}")
            (snapshot / path.name).symlink_to(f"../../blobs/{k:064}")
    assert load_model("some/model").vocabulary == language_model("llama").vocabulary


@pytest.mark.parametrize(
    "kind", ["gpt2", "llama", "gpt_neox", "mamba", "opt", "qwen2", "gemma2", "openai-gpt"]
)
def test_a_model_that_was_saved_whole_raises_no_alarm(tmp_path: Path, kind: str) -> None:
    made = save(kind, tmp_path)
    opened = load_model(tmp_path)
    assert opened.name == tmp_path.name
    with torch.no_grad():
        expected = made(torch.tensor([[1, 5, 6]])).logits[0, -1]
    assert torch.allclose(opened.read([1, 5, 6]).logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("llama", {"num_hidden_layers": 2}, r"9 not expected \(model\.layers\.2\."),
        ("llama", {"num_hidden_layers": 5}, r"18 missing \(model\.layers\.3\..*, …\)"),
        ("llama", {"num_hidden_layers": 0}, "27 not expected"),
        ("gpt2", {"tie_word_embeddings": False}, r"1 missing \(lm_head\.weight\)"),
        ("llama", {"vocab_size": 450}, r"lm_head\.weight: \[448, 32\] in the file, \[450, 32\]"),
        ("llama", {"model_type": "gpt_neox", "architectures": None}, "missing.*not expected"),
        # These would first fill the memory with random numbers.
        ("gpt2", {"model_type": "llama"}, "too few for 32 layers"),
        ("llama", {"num_hidden_layers": 10**7}, "too few for 10,000,000 layers"),
        ("llama", {"intermediate_size": 10**9}, "too few for 3 layers"),
    ],
)
def test_weights_that_do_not_fit_are_listed(
    tmp_path: Path, kind: str, settings: dict[str, object], said: str
) -> None:
    save(kind, tmp_path)
    change(tmp_path, **settings)
    with pytest.raises(ExplorerError, match=f"do not fit its config.json: .*{said}"):
        load_model(tmp_path)


def test_weights_that_do_not_fit_can_be_asked_for_and_the_trace_says_so(tmp_path: Path) -> None:
    save("llama", tmp_path)
    change(tmp_path, num_hidden_layers=4)
    with pytest.raises(ExplorerError, match="9 missing") as caught:
        load_model(tmp_path)
    assert len(caught.value.evidence["missing"]) == 9  # pyright: ignore[reportArgumentType]
    opened = load_model(tmp_path, strict=False)
    session = Session(opened, explorer.regex("[a-z]"), "the")
    assert session.run().model == f"{tmp_path.name} (strict=False: 9 weights missing)"
    with pytest.raises(ExplorerError, match="strict is 'no'"):
        load_model(tmp_path, strict="no")  # pyright: ignore[reportArgumentType]


def test_tables_of_older_releases_raise_no_alarm(tmp_path: Path) -> None:
    """They were stored beside the weights, and follow from the configuration."""
    for kind, tables in {
        "gpt2": ["transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"],
        "gpt_neox": ["gpt_neox.layers.0.attention.bias"],
        "llama": ["model.layers.0.self_attn.rotary_emb.inv_freq"],
    }.items():
        folder = tmp_path / kind
        save(kind, folder)
        path = folder / "model.safetensors"
        weights = load_file(path) | {name: torch.zeros(3) for name in tables}
        save_file(weights, path, {"format": "pt"})
        assert load_model(folder).name == kind
        # Another name is not one of them.
        save_file(weights | {"model.layers.0.extra": torch.zeros(3)}, path, {"format": "pt"})
        with pytest.raises(ExplorerError, match=r"1 not expected \(model\.layers\.0\.extra"):
            load_model(folder)


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"pad_token_id": 10**6}, "AssertionError"),
        ({"num_attention_heads": 3}, "StrictDataclassClassValidationError"),
        ({"dtype": "nope"}, "AttributeError"),
        ({"rope_parameters": {"rope_type": "nope", "rope_theta": 1.0}}, "KeyError"),
        ({"attention_dropout": "much"}, ""),
        ({"model_type": 5}, ""),
        ({"hidden_size": None}, ""),
    ],
)
def test_a_hostile_configuration_gives_one_error_with_its_cause(
    saved: Path, settings: dict[str, object], cause: str
) -> None:
    change(saved, **settings)
    with pytest.raises(ExplorerError, match="cannot be loaded") as caught:
        load_model(saved)
    assert caught.value.__cause__ is not None and not isinstance(
        caught.value.__cause__, ExplorerError
    )
    assert cause in type(caught.value.__cause__).__name__
    assert "\n" not in str(caught.value)


def test_a_pickle_under_another_name(saved: Path) -> None:
    torch.save({"a": torch.zeros(100_000)}, saved / "model.safetensors")
    with pytest.raises(ExplorerError, match=r"cannot be loaded: .*header"):
        load_model(saved)


def test_a_model_that_can_be_built_and_not_run(tmp_path: Path) -> None:
    save("gpt2", tmp_path)
    opened = load_model(tmp_path)
    opened.model.transformer.h[0].attn.head_dim = 7
    with pytest.raises(ExplorerError, match="failed at reading 2 tokens") as caught:
        opened.read([5, 6])
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ExplorerError, match="failed at reading 4 tokens"):
        opened.batch([[5], [5, 6]])


class Raising:
    """A path, and a text of itself, that raise."""

    def __fspath__(self) -> str:
        raise ZeroDivisionError

    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "name",
    ["a" * 300, "a" * 100_000, "/" + "a" * 300, "a/" * 5000, "\0", "a\0/b", "é/ü", "\ud800",
     b"tiny", 5, None, Raising(), np.array("tiny"), Path("\0")],
)  # fmt: skip
def test_names_that_are_none(offline: Path, name: Any) -> None:
    with pytest.raises(ExplorerError) as caught:
        load_model(name)
    assert len(str(caught.value)) < 400
