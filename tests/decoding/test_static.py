"""A step over fixed buffers draws the tokens of the loop over growing ones, also in a graph."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.initialization import no_init_weights

import explorer
from explorer.analysis.session import Session
from explorer.decoding.batches.constrained_batch import AnyConstraint, ConstrainedBatch
from explorer.decoding.batches.generate import Generation, generate
from explorer.decoding.batches.token_by_token import DrawnColumns, token_by_token
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.models.replayed import Replayed
from explorer.decoding.models.static import StaticBatches, why_not_captured
from explorer.decoding.sampling.sampler import Drawing, Sampler
from explorer.tokens.masks.stored import StoredRows
from tests.decoding.models import KINDS, LINEAR, WITHOUT_CACHE, language_model

SAMPLERS = [
    Sampler(0.0),
    Sampler(1.0),
    Sampler(0.7, top_k=20),
    Sampler(1.3, top_p=0.9),
    Sampler(0.9, min_p=0.02),
]
PATTERNS = [r"(foo)+d", r"[a-z ]{4,30}", None, r"yes|no", r"[0-9-]{3,9}", r"[a-z]+(, [a-z]+)*"]
PROMPTS = ["the", "food or", "{", "2024-05-06 and yes or no", "the quick brown fox jumps over", "a"]


def over_fixed_buffers(
    model: HuggingFaceModel,
    prompts: Sequence[str],
    constraints: Sequence[AnyConstraint],
    drawing: Drawing,
    *,
    streams: Sequence[int] | None = None,
    log_probs: bool = True,
) -> list[Generation]:
    """The texts that `generate` writes where steps are replayed, without a graph on a CPU."""
    most = drawing.max_tokens or 64
    batch = ConstrainedBatch(
        constraints, model.vocabulary, drawing, streams=streams, device=model.device
    )
    reading = model.static.opened([model.encode_prompt(prompt) for prompt in prompts], 1)
    texts = token_by_token(model, reading, batch, most, log_probs, fixed=True)
    batch.masks.check()
    return [Generation.of(text, model.vocabulary) for text in texts]


def constraints_of(model: HuggingFaceModel, *more: str) -> list[AnyConstraint]:
    patterns = [*PATTERNS[: len(PATTERNS) - len(more)], *more]
    return [
        None if pattern is None else explorer.compile(explorer.regex(pattern), model.vocabulary)
        for pattern in patterns
    ]


def without_tables(model: HuggingFaceModel) -> list[AnyConstraint]:
    """A stack, an open schema, lazy machines, a table and none, in one batch."""
    nested = explorer.grammar('root ::= "(" root ")" | "foo" | [a-z]+')
    schema = explorer.json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})
    lazy = [
        explorer.compile(explorer.regex(pattern), model.vocabulary, lazy=True)
        for pattern in (r"[a-z]{4,30}", r"[a-z]+(, [a-z]+)*")
    ]
    of_table = explorer.compile(explorer.regex(r"[0-9-]{3,9}"), model.vocabulary)
    compiled = [explorer.compile(each, model.vocabulary) for each in (nested, schema)]
    return [*compiled, *lazy, of_table, None]


def alike(ours: Sequence[Generation], theirs: Sequence[Generation]) -> None:
    assert [text.tokens for text in ours] == [text.tokens for text in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.log_probs_model == pytest.approx(other.log_probs_model, abs=1e-4)
        assert one.log_probs_constrained == pytest.approx(other.log_probs_constrained, abs=1e-4)


def on(device: str, kind: str) -> HuggingFaceModel:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    if kind == "tiny":
        model = explorer.load_model("tiny", device=device)
        assert isinstance(model, HuggingFaceModel)
        return model
    model = language_model(kind)
    return HuggingFaceModel(copy.deepcopy(model.model).to(device), model.tokenizer, kind)


@pytest.mark.parametrize("kind", [*KINDS, "tiny"])
def test_fixed_buffers_draw_the_same_tokens(kind: str) -> None:
    """Prompts of different length and mixed constraints; the texts outgrow the first buffers."""
    model = on("cpu", kind)
    constraints, streams = constraints_of(model), [5, 4, 3, 2, 1, 0]
    for seed, sampler in enumerate(SAMPLERS):
        theirs = generate(model, PROMPTS, constraints, sampler, 40, seed=seed, streams=streams)
        assert max(len(text.tokens) for text in theirs) > 16
        drawing = Drawing(sampler, seed, 40, None)
        alike(over_fixed_buffers(model, PROMPTS, constraints, drawing, streams=streams), theirs)


@pytest.mark.parametrize("planned", [None, False])
def test_machines_without_a_table_are_followed_on_the_host(planned: bool | None) -> None:
    model = on("cpu", "llama")
    for seed, sampler in enumerate(SAMPLERS):
        theirs = generate(
            model, PROMPTS, without_tables(model), sampler, 30, seed=seed, masking_budget=planned
        )
        drawing = Drawing(sampler, seed, 30, planned)
        alike(over_fixed_buffers(model, PROMPTS, without_tables(model), drawing), theirs)


def test_logits_that_leave_nothing_to_draw_are_named_where_the_host_follows() -> None:
    model = on("cpu", "llama")
    batch = ConstrainedBatch(
        without_tables(model), model.vocabulary, Drawing(Sampler(1.0), 0, 9, False),
        streams=None, device="cpu",
    )  # fmt: skip
    logits = torch.zeros(6, model.width)
    batch.look_up()
    assert not batch.follow(batch.draw(logits))
    logits[2] = torch.nan
    batch.look_up()
    batch.follow(batch.draw(logits))
    with pytest.raises(explorer.errors.ExplorerError, match=r"Row 2 at step 1.*NaN"):
        batch.masks.check()


def test_stored_masks_are_sent_once_and_a_full_table_is_begun_anew() -> None:
    draw = np.random.default_rng(3)
    rows = [draw.integers(2**32, size=3, dtype=np.uint32) for _ in range(2000)]
    stored = StoredRows("cpu")
    for first in (0, 300, 0, 600, 0, 900, 1200, 0, 1500):
        some = [rows[k] for k in draw.integers(first, first + 300, size=400)]
        words = stored.words(stored.places(some)).numpy().view(np.uint32)
        assert np.array_equal(words, np.stack(some))
    assert stored.asked == 3600 and stored.nbytes == 1024 * 3 * 4
    distinct = [len({id(row) for row in rows[k : k + 300]}) for k in (0, 300, 600)]
    assert sum(distinct) * 0.7 < stored.sent < 2400
    words = stored.words(stored.places(rows)).numpy().view(np.uint32)  # More than it has room for.
    assert np.array_equal(words, np.stack(rows)) and stored.nbytes == 4000 * 3 * 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_in_fixed_buffers_goes_on_back_and_sideways(kind: str) -> None:
    """Several texts take turns, as of sessions; the logits are those of reading from the start."""
    known = language_model(kind)
    model = HuggingFaceModel(known.model, known.tokenizer, kind)
    draw = random.Random(kind)
    held = [[draw.randrange(400) for _ in range(draw.randint(1, 9))] for _ in range(6)]
    stepped = rewound = 0
    for _ in range(70):
        text = held[draw.choice([0, 0, 0, 1, 1, 2, 3, 4, 5])]
        back = draw.choice([0, 0, 0, 1, 5]) if len(text) > 6 else 0
        del text[len(text) - back :]
        text += [draw.randrange(400) for _ in range(draw.choice([1, 1, 1, 3, 30]))]
        count = draw.choice([1, 1, 1, 2, 3]) if len(text) > 3 else 1
        logits, computed = model.static.read_text(text, count)
        wanted = torch.stack([reading.logits for reading in known.read_run(text, count)])
        assert torch.allclose(logits, wanted, atol=1e-3), (logits - wanted).abs().max()
        assert count <= computed <= len(text)
        stepped += computed == 1 and not back
        rewound += computed <= 3 and back > 0
        if len(text) > 200:
            del text[5:]
    assert stepped > 1 and rewound > 0


@pytest.mark.parametrize("kind", KINDS)
def test_key_values_in_fixed_buffers_are_continued_in_a_cache_that_grows(kind: str) -> None:
    model = language_model(kind)
    text = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    model.static.read_text(text, 1)
    known = model.static.start([*text[:8], 3, 4])
    assert known is not None and known[1] == 8
    assert model.static.start([9, 9]) is None
    with torch.no_grad():
        output = model.model(input_ids=torch.tensor([[3, 4]]), past_key_values=known[0])
    wanted = model.read([*text[:8], 3, 4]).logits
    assert torch.allclose(output.logits[0, -1], wanted, atol=1e-3)


def test_buffers_are_filled_again() -> None:
    """The key-values of an earlier batch, and its width, change nothing."""
    model = language_model("llama")
    constraints = constraints_of(model)
    ids = [model.encode_prompt(prompt) for prompt in PROMPTS]
    drawing = Drawing(Sampler(1.0), 3, 12, False)
    kept = model.static.opened(ids[::-1], 200)
    addresses = kept.logits.data_ptr(), kept.tokens.data_ptr()
    for _ in range(40):
        kept.step(torch.arange(6))
    again = model.static.opened(ids, 12, kept)
    assert again is kept and (kept.logits.data_ptr(), kept.tokens.data_ptr()) == addresses
    assert model.static.opened(ids[:2], 12, kept) is not kept
    batch = ConstrainedBatch(
        constraints, model.vocabulary, drawing, streams=None, device=model.device
    )
    texts = token_by_token(model, kept, batch, 12, False, fixed=True)
    theirs = generate(
        model, PROMPTS, constraints, Sampler(1.0), 12, seed=3, masking_budget=False,
        log_probs=False,
    )  # fmt: skip
    assert [Generation.of(text, model.vocabulary) for text in texts] == theirs


class Watched(TorchDispatchMode):
    """Refuses what a graph cannot hold: a copy between the host and the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        made = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        for each in (*given, *made):
            # A number that takes part in arithmetic is a tensor without dimensions.
            assert each.device.type == DEVICE or not each.dim(), f"{func} on {each.device}"
        copied = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
        if copied:
            kinds = {each.device.type for each in (*given, *made)}
            assert len(kinds) == 1, f"{func} between {kinds}"
        return result


DEVICE = "meta"
"""A device that is not there: torch works out shapes and devices, and refuses to read a number."""


@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_step_needs_nothing_of_the_host(sampler: Sampler, table: bool) -> None:
    """Model, mask, draw and advance on a device that has no numbers to give.

    Without a table the masks are stored before, and the advance is the host's.
    """
    known, log_probs = language_model("mistral"), sampler.top_p is None
    machines = constraints_of(known) if table else without_tables(known)
    drawing = Drawing(sampler, 3, 20, None)
    batch = ConstrainedBatch(machines, known.vocabulary, drawing, streams=None, device=DEVICE)
    if not table:
        batch.look_up()
    with FakeTensorMode(allow_non_fake_inputs=True), no_init_weights(), torch.device(DEVICE):
        network = transformers.AutoModelForCausalLM.from_config(known.model.config).eval()
        model = HuggingFaceModel(network, known.tokenizer, "fake", known.vocabulary)
        with torch.device("cpu"):
            reading = model.static.opened([[1, 2, 3], [4]] * 3, 20)
            columns = DrawnColumns(reading, batch, 20, log_probs)
            with Watched():
                columns.draw()
                reading.step(columns.following)
                columns.draw()
            with pytest.raises(DataDependentOutputException):
                columns.texts(2)


class OnTheHost(HuggingFaceModel):
    """Hands out its logits as on an Apple GPU, which cannot be simulated further than its name."""

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")


def test_from_an_apple_gpu_the_logits_come_to_the_host() -> None:
    """There a draw, in double precision, is the host's. By shape, on devices that are not there."""
    known = language_model("llama")

    def network(device: str) -> Any:
        with torch.device(device):
            return transformers.AutoModelForCausalLM.from_config(known.model.config).eval()

    with FakeTensorMode(allow_non_fake_inputs=True), no_init_weights():
        apple = HuggingFaceModel(network("mps"), known.tokenizer, "fake", known.vocabulary)
        assert (apple.model.device.type, apple.device.type) == ("mps", "cpu")
        assert apple.static.refusal == "mps has none"

        model = OnTheHost(network(DEVICE), known.tokenizer, "fake", known.vocabulary)
        reading = model.batch([[1, 2, 3], [4]])
        assert reading.logits.device.type == "cpu"
        logits = [
            model.read([1, 2, 3]).logits[None],
            model.read_run([1, 2, 3], 2)[1].logits[None],
            model.read_each([1, 2], [3, 4]),
            reading.step(torch.zeros(2, dtype=torch.int64)),
            reading.extend([[5], [6, 7]], True)[0],
            reading.extend([[5], []], False)[0],
            reading.branch([1, 1, 0]).logits,
        ]
        assert [each.shape[1] for each in logits] == [model.width] * len(logits)
        assert {(each.device.type, each.dtype) for each in logits} == {("cpu", torch.float32)}


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [*KINDS, "tiny"])
def test_a_graph_draws_the_same_tokens(kind: str) -> None:
    """Replayed on a GPU, and launched there one by one; and the buffers are used again."""
    model = on("cuda", kind)
    for seed, sampler in enumerate(SAMPLERS):
        long = seed == 1
        constraints = constraints_of(model, *["[a-z ]{300,}"] * long)
        most = 180 if long else 24
        for log_probs in (True, False):
            ours, theirs = (
                generate(one, PROMPTS, constraints, sampler, most, seed=seed, log_probs=log_probs)
                for one in (model, Launched(model))
            )
            alike(ours, theirs)
        assert not model.static.refusal


class Launched:
    """A model that reads into growing buffers, whatever its device can do."""

    def __init__(self, model: HuggingFaceModel) -> None:
        model = HuggingFaceModel(model.model, model.tokenizer, model.name)
        model.static = Refused(model.model, model.model.forward, "", model.width, lambda _: None)
        self.name, self.vocabulary = model.name, model.vocabulary
        self.encode_prompt, self.read, self.batch = model.encode_prompt, model.read, model.batch
        self.read_run, self.read_each = model.read_run, model.read_each


class Refused(StaticBatches):
    refusal = "it is compared with"  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@pytest.mark.gpu
def test_machines_without_a_table_are_followed_beside_a_graph() -> None:
    model = on("cuda", "llama")
    for seed, sampler in enumerate(SAMPLERS):
        ours, theirs = (
            generate(one, PROMPTS, without_tables(model), sampler, 30, seed=seed)
            for one in (model, Launched(model))
        )
        alike(ours, theirs)


def sessions_alike(model: HuggingFaceModel, forced: Any) -> None:
    """Forth, back, sideways and ahead; two sessions take turns on one model."""
    constraint = explorer.regex(r"[a-z]{4,12}(, [a-z]{3,9}){2,4}")
    settings: dict[str, Any] = {"sampler": Sampler(1.0), "seed": 5, "forced": forced}
    ours = [Session(model, constraint, prompt, **settings) for prompt in PROMPTS[:2]]
    theirs = [Session(Launched(model), constraint, prompt, **settings) for prompt in PROMPTS[:2]]
    for one, other in zip(ours, theirs, strict=True):
        for session in (one, other):
            for _ in range(6):
                session.step()
            session.jump(3)
        ahead = [session.ahead(k=4) for session in (one, other)]
        tokens, others = ([entry.token for entry in entries] for entries in ahead)
        masses, other_masses = ([entry.mass for entry in entries] for entries in ahead)
        assert tokens == others and masses == pytest.approx(other_masses, abs=1e-4)
    for count in (2, 5):
        for session in (*ours, *theirs):
            session.run(max_tokens=count)
    for one, other in zip(ours, theirs, strict=True):
        assert one.trace.ids == other.trace.ids and len(one.trace.ids) > 6


class Everywhere(StaticBatches):
    """Lends fixed buffers on a CPU, too, where nothing is captured."""

    refusal = ""  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@pytest.mark.parametrize("forced", ["step", "run"])
@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_a_session_over_fixed_buffers_draws_the_same_tokens(kind: str, forced: Any) -> None:
    model = on("cpu", kind)
    model.static = Everywhere(
        model.model, model.model.forward, kind, model.width, lambda _: None
    )  # fmt: skip
    sessions_alike(model, forced)
    constraints = constraints_of(model)
    ours, theirs = (
        generate(one, PROMPTS, constraints, Sampler(1.0), 30, seed=3)
        for one in (model, Launched(model))
    )
    alike(ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize("forced", ["step", "run"])
def test_a_session_replays_steps(forced: Any) -> None:
    model = on("cuda", "llama")
    sessions_alike(model, forced)
    assert not model.static.refusal


@pytest.mark.gpu
def test_a_step_that_cannot_be_captured_goes_on_and_says_why() -> None:
    model = on("cuda", "llama")
    model.model.model.register_forward_hook(lambda *_: bool(torch.ones(1, device="cuda").all()))
    with pytest.warns(UserWarning, match="llama .* not replayed"):
        ours = generate(model, PROMPTS, constraints_of(model), Sampler(1.0), 12)
    assert model.static.refusal
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # It is said once.
        theirs = generate(model, PROMPTS, constraints_of(model), Sampler(1.0), 12)
    alike(ours, theirs)


@pytest.mark.gpu
def test_what_is_captured_is_replayed() -> None:
    """Three calls of the step itself: two as they are, and the one that is captured."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    calls, count = [0], torch.zeros(1, device="cuda")

    def step() -> None:
        calls[0] += 1
        count.add_(1)

    replayed = Replayed(step, torch.device("cuda"))
    for _ in range(10):
        replayed()
    assert (calls[0], int(count), replayed.refusal) == (3, 10, "")


def test_models_say_why_they_are_not_replayed() -> None:
    assert language_model("llama").static.refusal == "cpu has none"
    assert [why_not_captured(language_model(k).model) for k in (LINEAR, *WITHOUT_CACHE)] == [
        "Qwen3NextForCausalLM keeps a LinearAttentionLayer",
        "OpenAIGPTLMHeadModel takes no past_key_values",
        "MambaForCausalLM takes no past_key_values",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Nothing is missing on a CPU.
        generate(language_model("llama"), "the", None, max_tokens=3)
