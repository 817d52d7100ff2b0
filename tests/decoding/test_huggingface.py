"""Prompts, ends and limits of a transformers model; and objects that are not such models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.huggingface import ENTRIES, HuggingFaceModel
from explorer.decoding.models.row_by_row import RowByRow, open_batch
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from tests.decoding.models import config, hash_model, language_model, tokenizer

START = 0


def with_tokenizer(wrapped: Any) -> HuggingFaceModel:
    return HuggingFaceModel(language_model("llama").model, wrapped, "other")


def test_a_text_gets_its_special_tokens_once() -> None:
    model = language_model("llama")
    plain = tuple(tokenizer().encode("the fox", add_special_tokens=False))
    assert model.encode_prompt("the fox") == (START, *plain)
    assert model.encode_prompt("<s>the fox") == (START, *plain)
    assert model.encode_prompt("") == (START,)


def test_messages_go_through_the_template_and_nothing_is_doubled() -> None:
    model = language_model("llama")
    ids = model.encode_prompt([{"role": "user", "content": "yes"}])
    text = "<s>[user]yes\n[assistant]"
    assert list(ids) == tokenizer().encode(text, add_special_tokens=False)
    assert ids.count(START) == 1
    session = Session(model, explorer.regex("no"), [{"role": "user", "content": "yes"}])
    assert session.trace.prompt_ids == ids


def test_an_end_that_a_tokenizer_adds_is_taken_away() -> None:
    own = Tokenizer.from_str(tokenizer().backend_tokenizer.to_str())
    own.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    wrapped = PreTrainedTokenizerFast(tokenizer_object=own, bos_token="<s>", eos_token="</s>")
    model = with_tokenizer(wrapped)
    ids = model.encode_prompt("the fox")
    assert ids[0] == 0 and 1 not in ids
    assert model.encode_prompt("") == (0,)


def test_without_a_beginning_an_empty_prompt_is_the_end() -> None:
    own = Tokenizer.from_str(tokenizer().backend_tokenizer.to_str())
    own.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=own, eos_token="</s>")
    assert with_tokenizer(wrapped).encode_prompt("") == (1,)


def test_logits_wider_than_the_tokenizer_are_masked_in_the_tail() -> None:
    model = language_model("llama")
    assert model.width == 448 > len(model.vocabulary)
    session = Session(model, None, "yes", sampler=Sampler(5.0))
    assert all(token < len(model.vocabulary) for token in session.run(60).ids)


def test_logits_narrower_than_the_tokenizer_leave_ids_unused() -> None:
    small = config("llama")
    small.vocab_size = 300
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(small).eval()
    made.generation_config.eos_token_id = [1, 2]
    model = HuggingFaceModel(made, tokenizer(), "narrow")
    assert all(data is None for data in model.vocabulary.tokens[300:])
    assert any("300 logits" in note for note in model.vocabulary.notes)
    session = Session(model, explorer.regex("[a-z ]{1,9}"), "a", sampler=Sampler(3.0))
    assert all(token < 300 for token in session.run().ids)
    # The tokenizer may know more than the model reads; that is said, not sent.
    tall = next(t for t in range(300, len(tokenizer())) if tokenizer().decode([t]).isalpha())
    with pytest.raises(ExplorerError, match="the model reads 300"):
        model.encode_prompt(tokenizer().decode([tall]))


def test_any_model_makes_a_batch() -> None:
    model = hash_model()
    prompts = [[1], [2, 3]]
    batch = open_batch(model, prompts)
    assert isinstance(batch, RowByRow)
    assert torch.equal(batch.logits[1], model.read([2, 3]).logits)
    assert torch.equal(batch.step(torch.tensor([7, 8]))[0], model.read([1, 7]).logits)


def test_a_trace_says_where_a_cache_did_not_help() -> None:
    session = Session(language_model("qwen3_next"), None, "yes, the fox", sampler=Sampler(1.0))
    session.run(2 * ENTRIES)  # So far back that no cache of that length is left.
    session.jump(1)
    session.step(token=77)
    notes = [p.distribution.note for p in session.trace.positions if p.distribution is not None]
    assert "linear attention" in notes[-1] and "linear attention" in session.run(1).summary()


@pytest.mark.skipif(
    not os.environ.get("EXPLORER_TOKENIZERS"), reason="EXPLORER_TOKENIZERS names no tokenizers"
)
def test_a_real_tokenizer_of_gpt2() -> None:
    folder = Path(os.environ["EXPLORER_TOKENIZERS"]) / "gpt2"
    read = transformers.GPT2Tokenizer(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    torch.manual_seed(0)
    made = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64)
    ).eval()
    model = HuggingFaceModel(made, read, "random-gpt2")
    assert len(model.vocabulary) == model.width == 50257
    pattern = explorer.regex("(yes|no), [a-zé ]{1,20}")
    for seed in range(5):
        trace = Session(
            model, pattern, "Is it?", sampler=Sampler(1.0), seed=seed, max_tokens=12
        ).run()
        assert trace.finished and pattern.accepts(trace.text)
