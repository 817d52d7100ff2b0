"""Processors of logits, and the loop of Hugging Face."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast

import explorer
from explorer.analysis.session import Session
from explorer.decoding.batches.generate import Generation, generate
from explorer.decoding.batches.processor import ConstraintLogitsProcessor
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.row_by_row import RowByRow, open_batch
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.texts import GrowingText
from explorer.errors import ExplorerError
from explorer.tokens.words import DONE
from tests.decoding.models import config, hash_model, language_model, tokenizer
from tests.evidence import few

# `model.generate` of transformers with our processor writes what a session writes.


PATTERNS = [r"(foo)+d", r'"[^"]*"', r"yes|no|maybe", r"[0-9]{4}-[01][0-9]"]
PROMPTS = ["the fox", "the", "is it true or not", "2024-05-06"]
SAMPLERS = [Sampler(0.0), Sampler(1.0), Sampler(0.8, top_k=12, top_p=0.9)]
TOKENS = 14


def run(kind: str, prompts: list[str], processor: Any, **more: Any) -> list[list[int]]:
    """The new ids of each row, padding included."""
    lm = language_model(kind)
    ids = [lm.encode_prompt(prompt) for prompt in prompts]
    longest = max(map(len, ids))
    padded = torch.tensor([[0] * (longest - len(row)) + list(row) for row in ids])
    attention = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in ids])
    settings = {"do_sample": False, "max_new_tokens": TOKENS, "pad_token_id": 0, **more}
    written = lm.model.generate(
        padded, attention_mask=attention, logits_processor=[processor], **settings
    )
    return written[:, longest:].tolist()


def padded(tokens: tuple[int, ...], width: int) -> list[int]:
    return [*tokens, *[0] * (width - len(tokens))]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_model_generate_writes_what_a_session_writes(kind: str, sampler: Sampler) -> None:
    lm = language_model(kind)
    for pattern, prompt in zip(PATTERNS, PROMPTS, strict=True):
        constraint = explorer.regex(pattern)
        processor = ConstraintLogitsProcessor(
            lm.vocabulary, constraint, sampler, seed=4, max_tokens=TOKENS, record=True
        )
        (row,) = run(kind, [prompt], processor)
        session = Session(lm, constraint, prompt, sampler=sampler, seed=4, max_tokens=TOKENS)
        expected = session.run()
        assert expected.finished and list(expected.ids) == row
        (trace,) = processor.traces()
        assert trace.ids == expected.ids and trace.text == expected.text and trace.finished
        assert trace.prompt_ids == expected.prompt_ids
        assert trace.masks == expected.masks
        for ours, theirs in zip(trace.steps, expected.steps, strict=True):
            assert ours.chosen_by == theirs.chosen_by == "sampler"
            assert ours.uniform == theirs.uniform
            assert ours.log_prob_model == pytest.approx(theirs.log_prob_model, abs=1e-4)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_batch_of_mixed_constraints(kind: str, sampler: Sampler) -> None:
    lm = language_model(kind)
    constraints = [explorer.regex(pattern) for pattern in PATTERNS]
    processor = ConstraintLogitsProcessor(
        lm.vocabulary, constraints, sampler, seed=8, max_tokens=TOKENS, record=True
    )
    rows = run(kind, PROMPTS, processor)
    texts = generate(lm, PROMPTS, constraints, sampler, TOKENS, seed=8)
    traces = processor.traces()
    for row, text, trace in zip(rows, texts, traces, strict=True):
        assert padded(text.tokens, len(row)) == row
        assert trace.ids == text.tokens and trace.text == text.text


def test_a_text_that_is_cut_off_is_recorded_without_its_last_token() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(
        lm.vocabulary, explorer.regex("[a-z]{30}"), Sampler(0.0), record=True
    )
    (row,) = run("llama", ["the"], processor, max_new_tokens=5)
    (trace,) = processor.traces()
    assert list(trace.ids) == row[:-1] and not trace.finished


def test_another_choice_is_noticed() -> None:
    """Beams reorder rows; a second run begins anew; a foreign sampler takes other tokens."""
    lm = language_model()

    def made(**more: Any) -> ConstraintLogitsProcessor:
        more = {"sampler": Sampler(0.0), **more}
        return ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z ]{9,}"), **more)

    processor = made()
    run("llama", ["the"], processor)
    with pytest.raises(ExplorerError, match="new processor for each call"):
        run("llama", ["the"], processor)
    processor = made()
    ids, scores = torch.zeros(1, 3, dtype=torch.int64), torch.randn(1, lm.width)
    token = processor(ids, scores).argmax(-1, keepdim=True)
    with pytest.raises(ExplorerError, match=f"token {token.item()} was drawn, but 0 was taken"):
        processor(torch.cat([ids, 0 * token], 1), scores)
    with pytest.raises(ExplorerError, match=r"new processor|was taken"):
        run("llama", ["the"], made(sampler=Sampler(3.0), streams=[0, 1, 2]), num_beams=3)


def by_hand(dfa: explorer.TokenDFA) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A logits processor as one would write it: walk the ids of each row, write -inf."""
    prompt: list[int] = []

    def process(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not prompt:
            prompt.append(input_ids.shape[1])
        masked = torch.full_like(scores, -torch.inf)
        for row, ids in enumerate(input_ids[:, prompt[0] :].tolist()):
            state: int | None = dfa.start
            for token in ids:
                state = (
                    DONE if state == DONE else dfa.step(state, token) if state is not None else None
                )
            if state is None or state == DONE:
                masked[row, list(dfa.vocabulary.eos_ids)] = 0.0
            else:
                allowed = np.flatnonzero(dfa.allowed(state))
                masked[row, allowed] = scores[row, allowed]
        return masked

    return process


@cache
def compiled(pattern: str) -> explorer.TokenDFA:
    return explorer.compile(explorer.regex(pattern), language_model().vocabulary)


def written(rows: list[list[int]]) -> list[str]:
    """The texts, up to their ends."""
    vocabulary = language_model().vocabulary
    return [Generation.of(GrowingText(row), vocabulary).text for row in rows]


LONG = r"[a-z]{4,9}( [a-z]{2,6}){1,3}"
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sample": {"do_sample": True},
    "temperature": {"do_sample": True, "temperature": 3.0},
    "top_k": {"do_sample": True, "top_k": 5, "temperature": 2.0},
    "top_p": {"do_sample": True, "top_p": 0.4, "top_k": 0},
    "several": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4},
    "all beams": {"num_beams": 5, "num_return_sequences": 5},
    "sampled beams": {"num_beams": 3, "do_sample": True, "temperature": 2.0},
    "penalty": {"repetition_penalty": 1.4},
    "lookup": {"prompt_lookup_num_tokens": 4},
    "sampled lookup": {"prompt_lookup_num_tokens": 4, "do_sample": True},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", few(["llama", "gpt2"], 1))
def test_the_choice_is_the_callers(kind: str, name: str) -> None:
    """The library's own ways to choose give what they give with a mask by hand."""
    lm, more = language_model(kind), SETTINGS[name]
    prompts = ["the fox jumps over the lazy dog and the fox", "yes"]
    prompts = prompts[: 1 if "lookup" in name else 2]
    for pattern in (LONG, PATTERNS[0]):
        if name == "all beams" and pattern != LONG:
            continue
        both: list[list[list[int]]] = []
        ours = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex(pattern))
        for processor in (ours, by_hand(compiled(pattern))):
            torch.manual_seed(5)
            both.append(run(kind, prompts, processor, max_new_tokens=30, **more))
        assert both[0] == both[1]
        for row, text in zip(both[0], written(both[0]), strict=True):
            # What was cut off is the beginning of a match.
            ended = any(token in lm.vocabulary.eos_ids for token in row)
            assert re.fullmatch(pattern, text) if ended else len(compiled(pattern).walk(row)) == 31


@pytest.mark.parametrize("sampled", [False, True])
def test_an_assistant_proposes_and_rewinds(sampled: bool) -> None:
    """The processor is asked about several positions ahead, by two models, then behind them."""
    lm = language_model()
    torch.manual_seed(3)
    assistant = transformers.AutoModelForCausalLM.from_config(lm.model.config).eval()
    assistant.generation_config.update(
        eos_token_id=[1, 2], assistant_confidence_threshold=0.0, num_assistant_tokens=5
    )
    asked: list[int] = []

    class Watched(ConstraintLogitsProcessor):
        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            asked.append(input_ids.shape[1])
            return super().__call__(input_ids, scores)

    watched = Watched(lm.vocabulary, explorer.regex(LONG), max_tokens=40)
    torch.manual_seed(1)
    rows = run(
        "llama", ["the fox"], watched,
        assistant_model=assistant, max_new_tokens=40, do_sample=sampled,
    )  # fmt: skip
    (text,) = written(rows)
    assert re.fullmatch(LONG, text)
    assert any(after < before for before, after in pairwise(asked))
    if not sampled:  # A greedy run writes the same with any assistant, and with none.
        plain = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex(LONG), max_tokens=40)
        assert written(run("llama", ["the fox"], plain, max_new_tokens=40)) == [text]


@pytest.mark.parametrize("sampler", [None, explorer.Sampler(0.0)])
def test_numbers_of_another_type_are_refused(sampler: explorer.Sampler | None) -> None:
    vocabulary = language_model().vocabulary
    ids, scores = torch.zeros((1, 1), dtype=torch.int64), torch.zeros((1, len(vocabulary)))
    for kind in (torch.int64, torch.int8, torch.bool, torch.complex64):
        made = ConstraintLogitsProcessor(vocabulary, explorer.regex(LONG), sampler)
        with pytest.raises(ExplorerError, match=rf"scores are of the type {kind}"):
            made(ids, scores.to(kind))
    made = ConstraintLogitsProcessor(vocabulary, explorer.regex(LONG), sampler)
    with pytest.raises(ExplorerError, match=r"input_ids are of the type torch\.float32"):
        made(ids.float(), scores)
    assert made(ids, scores.to(torch.float16)).dtype == torch.float16


def test_ids_that_are_changed_in_place_are_walked_anew() -> None:
    """The ids of the last call are kept as they were, not as a caller's buffer is by now."""
    lm = language_model()
    dfa = compiled(LONG)
    ours, theirs = ConstraintLogitsProcessor(dfa), by_hand(dfa)
    buffer = torch.zeros(3, 12, dtype=torch.int64)
    draw = np.random.default_rng(2)
    for length in range(2, 12):
        scores = torch.randn(3, lm.width)
        masked = ours(buffer[:, :length], scores)
        assert torch.equal(masked, theirs(buffer[:, :length], scores))
        if length < 11:
            buffer[:, length] = masked.argmax(-1)
            buffer[:, 2 : length + 1] = buffer[draw.permutation(3), 2 : length + 1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_every_type_of_scores_and_a_budget(dtype: torch.dtype) -> None:
    lm = language_model()
    ids, scores = torch.zeros(2, 3, dtype=torch.int64), torch.randn(2, lm.width).to(dtype)
    dfa = compiled(PATTERNS[0])
    for left in (3, 4, 9):
        masked = ConstraintLogitsProcessor(dfa, max_tokens=left)(ids, scores.T.contiguous().T)
        allowed = explorer.DeviceMasks([dfa]).allowed(0, dfa.start, left)
        kept = np.flatnonzero(allowed)
        assert (masked[0] > -torch.inf).nonzero()[:, 0].tolist() == kept.tolist()
        assert torch.equal(masked[:, kept], scores[:, kept])


@pytest.mark.parametrize("settings", [{}, {"do_sample": True}, {"num_beams": 3}])
def test_texts_of_a_batch_have_their_own_constraints(settings: dict[str, Any]) -> None:
    lm = language_model()
    constraints = [explorer.regex(pattern) for pattern in PATTERNS]
    processor = ConstraintLogitsProcessor(lm.vocabulary, constraints, max_tokens=TOKENS)
    torch.manual_seed(2)
    texts = written(run("llama", PROMPTS, processor, **settings))
    for pattern, text in zip(PATTERNS, texts, strict=True):
        assert re.fullmatch(pattern, text)


def test_a_budget_and_no_constraint() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z]+"), max_tokens=6)
    (row,) = run("llama", ["the"], processor, max_new_tokens=6, do_sample=True)
    assert re.fullmatch("[a-z]+", written([row])[0]) and row[-1] in (0, *lm.vocabulary.eos_ids)
    with pytest.raises(ExplorerError, match="max_tokens=1"):
        ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z]+"), max_tokens=1)
    # The budget of the mask holds, whatever the library would still write.
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("[a-z]+"), max_tokens=3)
    (row,) = run("llama", ["the"], processor)
    assert len(row) <= 3 and re.fullmatch("[a-z]+", written([row])[0])
    free = run("llama", ["the"], ConstraintLogitsProcessor(lm.vocabulary, None, max_tokens=2))

    def only_tokens(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[:, len(lm.vocabulary) :] = -torch.inf
        return scores

    alone = run("llama", ["the"], only_tokens)
    assert free == alone


def test_a_machine_that_is_worked_out_while_it_is_used() -> None:
    lm = language_model()
    machine = explorer.compile(explorer.regex(LONG), lm.vocabulary, lazy=True)
    for more in ({}, {"num_beams": 3}, {"prompt_lookup_num_tokens": 3}):
        lazy = ConstraintLogitsProcessor(lm.vocabulary, machine)
        table = ConstraintLogitsProcessor(lm.vocabulary, compiled(LONG))
        assert run("llama", ["the"], lazy, **more) == run("llama", ["the"], table, **more)


def test_a_tokenizer_says_what_the_tokens_are() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.tokenizer, explorer.regex("yes|no"))
    assert written(run("llama", ["is it?"], processor))[0] in ("yes", "no")
    for wrong in ("tiny", None, lm.model, np.zeros(())):
        with pytest.raises(ExplorerError, match="a Vocabulary or a fast tokenizer"):
            ConstraintLogitsProcessor(wrong, explorer.regex("yes"))


def test_scores_stay_and_what_is_past_the_vocabulary_is_masked() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo|d"))
    ids, scores = torch.zeros(2, 3, dtype=torch.int64), torch.randn(2, lm.width).half()
    before = scores.clone()
    after = processor(ids, scores)
    assert torch.equal(scores, before) and after.dtype == scores.dtype
    dfa = explorer.compile(explorer.regex("foo|d"), lm.vocabulary)
    kept = np.flatnonzero(dfa.allowed(dfa.start))
    for row in range(2):
        assert torch.equal((after[row] > -torch.inf).nonzero()[:, 0], torch.tensor(kept))
        assert torch.equal(after[row, kept], before[row, kept])


def test_a_row_that_was_led_astray_can_only_end() -> None:
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo"))
    ids = torch.zeros(1, 3, dtype=torch.int64)
    processor(ids, torch.zeros(1, lm.width))
    after = processor(torch.cat([ids, ids[:, :2]], 1), torch.full((1, lm.width), torch.nan))
    assert (after[0] > -torch.inf).nonzero()[:, 0].tolist() == list(lm.vocabulary.eos_ids)


def test_a_token_machine_is_a_vocabulary_and_a_constraint() -> None:
    """A machine knows its vocabulary, so that it may stand alone; a vocabulary may not."""
    vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    machine = explorer.compile(explorer.regex("ab"), vocab)
    ids, scores = torch.tensor([[1, 1]]), torch.tensor([[0.0, 9.0, 1.0, 0.0]])
    alone = ConstraintLogitsProcessor(machine)(ids, scores)
    assert torch.equal(alone, ConstraintLogitsProcessor(vocab, machine)(ids, scores))
    with pytest.raises(explorer.errors.ExplorerError, match="No constraint is given"):
        ConstraintLogitsProcessor(vocab)


def test_a_processor_that_nobody_called_says_so() -> None:
    """Continuous batching drops processors in silence; then the text is free, and that is said."""
    lm = language_model()
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo"))
    with pytest.warns(RuntimeWarning, match=r"without having been called.*generate_batch"):
        del processor
    processor = ConstraintLogitsProcessor(lm.vocabulary, explorer.regex("foo"))
    processor(torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, lm.width))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del processor


# Prompts, ends and limits of a transformers model; and objects that are not such models.


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
